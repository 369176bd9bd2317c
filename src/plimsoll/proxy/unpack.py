"""Request bodies that came compressed, unpacked within a limit."""

from __future__ import annotations

import zlib
from typing import Final

_GZIP_BITS: Final = 47
"""For zlib: a gzip or zlib header, found by looking."""


class BodyTooLarge(Exception):
    """A body is larger than allowed, as it is or unpacked."""


def unpacked(raw: bytes, encoding: str, size_bytes_max: int) -> bytes | None:
    """The text of a body; None if it is compressed in a way that is not read here, or damaged. Raises BodyTooLarge."""
    kind = encoding.strip().lower()
    if kind in ("", "identity"):
        return raw
    if kind not in ("gzip", "x-gzip", "deflate"):
        return None
    reader = zlib.decompressobj(_GZIP_BITS)
    try:
        found = reader.decompress(raw, size_bytes_max + 1)
    except zlib.error:
        return None
    if len(found) > size_bytes_max:
        raise BodyTooLarge
    return found if reader.eof and not reader.unused_data else None
