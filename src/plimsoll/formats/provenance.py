"""Keyed tags, by which text that plimsoll wrote is recognised when it comes back in a message.

A tag is an HMAC of the text, so text that imitates a summary or a notice is not mistaken for one. The key is read from the
machine by an outer layer, which passes it in with `use_key`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from plimsoll.light.regex import regex

TAG_HEX = 8
"""Hexadecimal digits of a tag. 32 bits suffice, since each guess has to be sent; more would cost tokens."""

_NOTICE = regex(rf"\[([^\]\n]{{1,300}}) ([0-9a-f]{{{TAG_HEX}}})\](?=\n|\Z)")

KeySource: TypeAlias = Callable[[], bytes]


def _no_key() -> bytes:
    raise RuntimeError("plimsoll.formats.provenance has no key: `use_key` was not called")


_key: KeySource = _no_key


def use_key(source: KeySource) -> None:
    """Set the source of the key. It is called for each tag, so the key may change while a process runs."""
    global _key  # noqa: PLW0603 - one key per process, set when the package is imported
    _key = source


def tag_of(text: str) -> str:
    """The tag of a text: TAG_HEX hexadecimal digits. Equal in all processes with the same key."""
    import hmac  # noqa: PLC0415 - loading OpenSSL takes longer than loading plimsoll

    return hmac.digest(_key(), text.encode("utf-8", "surrogatepass"), "sha256").hex()[:TAG_HEX]


def is_tagged(text: str, tag: str | None) -> bool:
    """Whether `tag` is the tag of the text."""
    return tag is not None and tag_of(text) == tag


def notice(words: str) -> str:
    """A line in brackets with its tag. `words` must not contain brackets or line breaks."""
    return f"[{words} {tag_of(words)}]"


def verified_notice(text: str) -> str | None:
    """The words of the notice in the first line of a text, or None if that is not a notice with a valid tag."""
    found = _NOTICE.match(text) if text.startswith("[") else None
    return found[1] if found is not None and is_tagged(found[1], found[2]) else None


def below_notices(text: str) -> str:
    """What stands below the notices that a text begins with."""
    while text.startswith("[") and verified_notice(text) is not None:
        text = text.partition("\n")[2]
    return text
