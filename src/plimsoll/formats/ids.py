"""Tool call ids that every format accepts, and their conversion back to the originals.

Anthropic accepts only letters, digits, `_` and `-`, and each id once in a conversation; OpenAI accepts any text, repeatedly.
An unacceptable id becomes `id--` and the hexadecimal of its UTF-8 bytes; the second use of an id ends in `--2`, and so on. The
same input gives the same ids, so that converting a grown conversation again yields the same prefix.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

from plimsoll.light.regex import regex

SAFE: Final = regex(r"[a-zA-Z0-9_-]+")
_WRITTEN: Final = regex(r"(?:id--(?P<hex>(?:[0-9a-f]{2})+)|(?P<plain>(?:(?!--).)+))(?:--[1-9][0-9]*)?", re.DOTALL)


class UniqueIds:
    """Gives each use of an id in one conversation a unique name."""

    def __init__(self, *, any_text: bool = False, chars_max: int | None = None) -> None:
        self._any_text = any_text
        self._chars_max = chars_max
        self._uses: dict[str, int] = {}

    def named(self, original: str) -> str:
        """The id to write for the next use of `original`."""
        uses = self._uses[original] = self._uses.get(original, 0) + 1
        written = original if self._stands(original) else f"id--{original.encode('utf-8', 'surrogatepass').hex()}"
        return shortened(written if uses == 1 else f"{written}--{uses}", self._chars_max)

    def _stands(self, original: str) -> bool:
        """Whether the id is valid unchanged, and does not look like an encoded one."""
        plain = self._any_text or SAFE.fullmatch(original) is not None
        return plain and "--" not in original and not original.endswith("-")


def shortened(id: str, chars_max: int | None) -> str:
    """The id, or for one that is too long a hash of it. This cannot be reversed."""
    if chars_max is None or len(id) <= chars_max:
        return id
    return f"call_{hashlib.sha256(id.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def original_of(written: str) -> str:
    """The original of an id encoded by `UniqueIds`, or `written` itself if it is not encoded."""
    match = _WRITTEN.fullmatch(written)
    if match is None:
        return written
    if match["hex"] is None:
        return match["plain"]
    try:
        return bytes.fromhex(match["hex"]).decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return written
