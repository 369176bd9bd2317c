"""Every part as text, for searching and for reading back what was removed.

Binary data is described by kind, type, size and hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any, Final

from plimsoll.formats.media import MediaSource, source_of
from plimsoll.light.brief import pluralize
from plimsoll.light.regex import regex
from plimsoll.message import Media, Opaque, Part, Reasoning, Text, ToolCall, ToolResult

_BYTES = regex(r"[A-Za-z0-9+/_=-]+")
_BYTES_CHARS_MIN: Final = 200
"""Text without spaces of at least this length is treated as base64 or hexadecimal data, a signature or a key."""

_HASH_CHARS: Final = 16


def words_of(part: Part) -> str:
    """The text of a part. Text, arguments and results are verbatim; other fields are lines of `name: value`."""
    match part:
        case Text():
            return part.text
        case Reasoning():
            return part.text or f"[reasoning that its provider encrypted: {len(part.signature or '')} characters]"
        case ToolCall():
            return part.arguments
        case ToolResult():
            return "\n".join([*([part.content] if part.content else []), *map(described, part.media)])
        case Media():
            return described(part)
        case Opaque():
            return "\n".join(_lines(part.wire, ""))


def words_once(part: Part) -> str:
    """The text of a part as version 0.1.0 defined it. References written by that version are verified with it."""
    match part:
        case ToolResult():
            return part.content
        case Media() | Opaque():
            return ""
        case Reasoning():
            return part.text
        case _:
            return words_of(part)


def described(media: Media) -> str:
    """A medium in one line: kind, type, pixels, bytes and their SHA-256, name, address."""
    source = source_of(media.wire or {})
    size = f"{media.width_px}x{media.height_px}" if media.width_px and media.height_px else None
    facts = [media.mime, size, *_facts(source)]
    return f"[{media.kind}: {', '.join(fact for fact in facts if fact)}]" if any(facts) else f"[{media.kind}]"


def _facts(source: MediaSource | None) -> Iterator[str | None]:
    if source is None:
        return
    yield source.filename
    yield source.url
    yield source.file_id and f"file id {source.file_id}"
    if source.base64 is not None:
        data = _decoded(source.base64)
        yield pluralize(len(data), "byte")
        yield f"sha256 {_hash(data)}"


def _decoded(text: str) -> bytes:
    """The decoded base64 text, or the encoded text itself if it is not base64."""
    import binascii  # noqa: PLC0415 - only messages with media pay for it

    try:
        return binascii.a2b_base64(text)
    except ValueError:
        return text.encode("utf-8", "surrogatepass")


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_HASH_CHARS]


def _lines(value: Any, name: str) -> Iterator[str]:
    """Every nested value with its name, whose steps are separated by dots. List positions are omitted."""
    match value:
        case dict():
            for key, inner in value.items():
                yield from _lines(inner, f"{name}.{key}" if name else str(key))
        case list():
            for inner in value:
                yield from _lines(inner, name)
        case str() if len(value) >= _BYTES_CHARS_MIN and _BYTES.fullmatch(value):
            yield f"{name}: [{len(value):,} characters of data, sha256 {_hash(value.encode())}]"
        case None:
            return
        case bool():
            yield f"{name}: {'true' if value else 'false'}"
        case _:
            yield f"{name}: {value}"
