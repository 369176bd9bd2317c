"""Keyed tags: how text of ours is known when it comes back in a message.

Looks prove nothing, because anybody can write what a summary looks like. A tag is an HMAC over the text, so only who has the
key can make one. Reading the key from the machine is left to an outer layer, which passes it in with `use_key`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from plimsoll.regex import regex

TAG_HEX = 8
"""Hex digits of a tag: 32 bits, enough where a forger's only way to try a guess is to send it; more would cost tokens."""

_NOTICE = regex(rf"\[([^\]\n]{{1,300}}) ([0-9a-f]{{{TAG_HEX}}})\](?=\n|\Z)")

KeySource: TypeAlias = Callable[[], bytes]


def _no_key() -> bytes:
    raise RuntimeError("plimsoll.provenance has no key: `use_key` was not called")


_key: KeySource = _no_key


def use_key(source: KeySource) -> None:
    """Take the key from `source` from now on. It is called for each tag, so a key may change while a process runs."""
    global _key  # noqa: PLW0603 - one key a process, set where the package is imported
    _key = source


def tag_of(text: str) -> str:
    """The tag of a text, TAG_HEX hex digits. The same in every process that has the same key."""
    import hmac  # noqa: PLC0415 - loading OpenSSL takes longer than loading plimsoll

    return hmac.new(_key(), text.encode("utf-8", "surrogatepass"), "sha256").hexdigest()[:TAG_HEX]


def is_tagged(text: str, tag: str | None) -> bool:
    """Whether `tag` is the tag of the text."""
    return tag is not None and tag_of(text) == tag


def notice(words: str) -> str:
    """One line of ours in brackets, with its tag. `words` have neither brackets nor line breaks."""
    return f"[{words} {tag_of(words)}]"


def verified_notice(text: str) -> str | None:
    """The words of the notice of ours in a text's first line; None where that is none."""
    found = _NOTICE.match(text) if text.startswith("[") else None
    return found[1] if found is not None and is_tagged(found[1], found[2]) else None
