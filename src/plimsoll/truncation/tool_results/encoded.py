"""Text that no reader reads: base64 as its kind and size, and lines without end in pieces."""

from __future__ import annotations

import binascii
from collections.abc import Sequence

from plimsoll.light.regex import regex
from plimsoll.truncation.tool_results.lines import Look

_BASE64_LINE = regex(r"[A-Za-z0-9+/_-]{16,}={0,2}\Z")
_BASE64_CHARS_MIN = 600
_LINES_LOOKED_AT = 40
_SHOWN_CHARS = 64
_MAGIC = {
    b"\x89PNG": "PNG image",
    b"\xff\xd8\xff": "JPEG image",
    b"GIF8": "GIF image",
    b"RIFF": "RIFF media",
    b"%PDF": "PDF",
    b"PK\x03\x04": "ZIP archive",
    b"\x1f\x8b": "gzip",
    b"\x7fELF": "ELF program",
}
_LONG_LINE_CHARS, _LONG_SHARE, _OTHER_LINES_MAX = 4_000, 0.8, 40
_PIECE = regex(r".{60}[^;}\]>,\s]{0,99}[;}\]>,\s]?|.{1,59}")
_PIECE_CHARS = 160


def is_base64(text: str) -> bool:
    """Whether a text is nothing but base64, in one line or in many of the same length."""
    if len(text) < _BASE64_CHARS_MIN:
        return False
    lines = text[: _LINES_LOOKED_AT * 100].split("\n")
    looked_at = [line.rstrip("\r") for line in (lines if len(lines) == 1 else lines[:-1])]
    if len({len(line) for line in looked_at}) > 1 or not all(_BASE64_LINE.match(line) for line in looked_at):
        return False
    sample = "".join(looked_at)
    return any(char.isdigit() for char in sample) and sample.lower() != sample != sample.upper()


def look_at_base64(lines: Sequence[str]) -> Look:
    """Its beginning; the facts are its kind, its size and its hash."""
    text = "".join(lines)
    size = len(text.rstrip("=")) * 3 // 4
    import hashlib  # noqa: PLC0415 - only for such a text

    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    facts = f"base64 of {size:,} bytes{_kind(text)}, sha256 of the text {digest}"
    return Look([0], facts, lines=[f"{text[:_SHOWN_CHARS]} …"])


def _kind(text: str) -> str:
    try:
        start = binascii.a2b_base64(text[:16].replace("-", "+").replace("_", "/"))
    except (binascii.Error, ValueError):
        return ""
    return next((f" ({kind})" for magic, kind in _MAGIC.items() if start.startswith(magic)), "")


def in_pieces(text: str) -> list[str] | None:
    """A text of hardly more than one line that is far too long, broken where it may be; None for any other."""
    if len(text) < _LONG_LINE_CHARS or text.count("\n") > _OTHER_LINES_MAX:
        return None
    lines = text.split("\n")
    if max(map(len, lines)) < _LONG_SHARE * len(text):
        return None
    return [piece for line in lines for piece in (_PIECE.findall(line) if len(line) > _PIECE_CHARS else [line])]
