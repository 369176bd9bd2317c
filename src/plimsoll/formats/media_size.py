"""Pixel sizes of images, read from the first bytes of the file without decoding the picture."""

from __future__ import annotations

from typing import Final

_HEAD_CHARS: Final = 64
"""Base64 characters that hold the size in a PNG, GIF or WebP file."""

_JPEG_CHARS_MAX: Final = 512 * 1024
"""Base64 characters of a JPEG that are searched for its frame header; thumbnails and profiles come before it."""

_START_OF_FRAME: Final = frozenset({0xC0, 0xC1, 0xC2, 0xC3, 0xC5, 0xC6, 0xC7, 0xC9, 0xCA, 0xCB, 0xCD, 0xCE, 0xCF})
_NO_LENGTH: Final = frozenset({0x01, *range(0xD0, 0xD9)})


def size_bytes(data: str, start: int = 0) -> int:
    """Number of bytes encoded by the base64 text from `start` on."""
    end = len(data)
    while end > start and end > len(data) - 2 and data[end - 1] == "=":
        end -= 1
    return (end - start) * 3 // 4


def pixels(data: str, start: int = 0) -> tuple[int, int] | None:
    """(width, height) of the image whose base64 text begins at `start`; None for anything not recognised."""
    head = _bytes(data[start : start + _HEAD_CHARS])
    if head.startswith(b"\x89PNG\r\n\x1a\n") and len(head) >= 24:
        return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")
    if head[:6] in (b"GIF87a", b"GIF89a") and len(head) >= 10:
        return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return _webp(head)
    if head[:2] == b"\xff\xd8":
        return _jpeg(_bytes(data[start : start + _JPEG_CHARS_MAX]))
    return None


def _bytes(text: str) -> bytes:
    import binascii  # noqa: PLC0415  (only messages with images pay for it)

    clean = "".join(text.split())
    try:
        return binascii.a2b_base64(clean[: len(clean) // 4 * 4])
    except ValueError:
        return b""


def _webp(head: bytes) -> tuple[int, int] | None:
    """The three kinds of WebP: lossy, lossless and extended (https://developers.google.com/speed/webp/docs/riff_container)."""
    kind = head[12:16]
    if kind == b"VP8 " and len(head) >= 30:
        return int.from_bytes(head[26:28], "little") & 0x3FFF, int.from_bytes(head[28:30], "little") & 0x3FFF
    if kind == b"VP8L" and len(head) >= 25:
        bits = int.from_bytes(head[21:25], "little")
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    if kind == b"VP8X" and len(head) >= 30:
        return int.from_bytes(head[24:27], "little") + 1, int.from_bytes(head[27:30], "little") + 1
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """Walk the segments to the first start-of-frame marker (ITU-T T.81, annex B)."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if marker in _START_OF_FRAME:
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        if marker == 0xFF:
            at += 1
        elif marker in _NO_LENGTH:
            at += 2
        else:
            at += 2 + max(2, int.from_bytes(data[at + 2 : at + 4], "big"))
    return None
