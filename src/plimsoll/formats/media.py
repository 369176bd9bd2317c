"""Images, audio and files: reading them from the blocks of each format, and writing them for another.

Pixel sizes are read from the first bytes of an image, without decoding the picture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal

from plimsoll.formats.wire import json_text
from plimsoll.light.dataclass import dataclass
from plimsoll.message import Media, MediaKind, Opaque, Part, Text, Wire

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


_ANTHROPIC_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF: Final = "application/pdf"
_AUDIO_FORMATS: Final = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
_KINDS: Final[dict[str, MediaKind]] = {"image": "image", "audio": "audio", "video": "video"}
"""By the first half of a media type; any other is a file."""
_DETAILS: Final = frozenset({"auto", "low", "high", "original"})


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaSource:
    """Location of a medium's bytes. One of `data`, `url` and `file_id` is set."""

    kind: MediaKind
    mime: str | None = None
    data: str | None = None
    """Text that holds base64 from `data_start` on: bare base64 or a data URL."""
    data_start: int = 0
    url: str | None = None
    file_id: str | None = None
    file_owner: Literal["openai", "anthropic"] | None = None
    filename: str | None = None
    detail: str | None = None

    @property
    def base64(self) -> str | None:
        """The bare base64 text."""
        return None if self.data is None else self.data[self.data_start :]

    @property
    def data_url(self) -> str | None:
        """The bytes as a data URL; verbatim if they were given as one."""
        if self.data is None or self.data_start:
            return self.data
        return f"data:{self.mime or 'application/octet-stream'};base64,{self.data}"


def media_of(block: Wire) -> Media | None:
    """The medium in a block of any format; None if the block is none or cannot be read."""
    source = source_of(block)
    if source is None:
        return None
    size = pixels(source.data, source.data_start) if source.data is not None and source.kind == "image" else None
    return Media(
        kind=source.kind,
        mime=source.mime,
        width_px=size[0] if size else None,
        height_px=size[1] if size else None,
        size_bytes=None if source.data is None else size_bytes(source.data, source.data_start),
        detail=source.detail,
        wire=block,
    )


def source_of(block: Wire) -> MediaSource | None:
    """The source in a media block of any format; None if it is none or malformed."""
    kind = block.get("type")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    return read(block) if read is not None else None


def _chat_url(block: Wire) -> MediaSource | None:
    kind: MediaKind = "video" if block["type"] == "video_url" else "image"
    holder = block.get(block["type"])
    url = holder.get("url") if isinstance(holder, dict) else holder
    detail = holder.get("detail") if isinstance(holder, dict) else None
    return _from_url(url, kind, detail=detail) if isinstance(url, str) else None


def _chat_audio(block: Wire) -> MediaSource | None:
    holder = block.get("input_audio")
    if not isinstance(holder, dict) or not isinstance(holder.get("data"), str):
        return None
    return MediaSource(kind="audio", mime=f"audio/{holder.get('format') or 'wav'}", data=holder["data"])


def _openai_image(block: Wire) -> MediaSource | None:
    if isinstance(block.get("image_url"), str):
        return _from_url(block["image_url"], "image", detail=block.get("detail"))
    return _openai_file_id("image", block)


def _chat_or_ui_file(block: Wire) -> MediaSource | None:
    if "mediaType" in block:
        return _ui_file(block)
    return _openai_file(block["file"]) if isinstance(block.get("file"), dict) else None


def _openai_file(holder: Wire) -> MediaSource | None:
    name = _text_or_none(holder.get("filename"))
    data, url = holder.get("file_data"), holder.get("file_url")
    if isinstance(data, str) and not data.startswith("data:"):
        return MediaSource(kind="file", data=data, filename=name)
    if isinstance(data, str) or isinstance(url, str):
        return _from_url(data if isinstance(data, str) else str(url), "file", filename=name)
    return _openai_file_id("file", holder, name)


def _openai_file_id(kind: MediaKind, holder: Wire, filename: str | None = None) -> MediaSource | None:
    file_id = _text_or_none(holder.get("file_id"))
    detail = _text_or_none(holder.get("detail"))
    if file_id is None:
        return None
    return MediaSource(kind=kind, file_id=file_id, file_owner="openai", filename=filename, detail=detail)


def _generated_image(item: Wire) -> MediaSource | None:
    result = item.get("result")
    mime = f"image/{item.get('output_format') or 'png'}"
    return MediaSource(kind="image", mime=mime, data=result) if isinstance(result, str) else None


def _ui_file(block: Wire) -> MediaSource | None:
    url, mime = block.get("url"), block.get("mediaType")
    if not isinstance(url, str) or not isinstance(mime, str):
        return None
    return _from_url(
        url, _KINDS.get(mime.split("/", 1)[0], "file"), mime=mime, filename=_text_or_none(block.get("filename"))
    )


def _anthropic_source(block: Wire) -> MediaSource | None:
    """Documents given as text or blocks are not media: they are sent, and therefore counted, as text."""
    kind: MediaKind = "image" if block["type"] == "image" else "file"
    source = block.get("source")
    if not isinstance(source, dict):
        return None
    name, mime = _text_or_none(block.get("title")), _text_or_none(source.get("media_type"))
    match source.get("type"):
        case "base64" if isinstance(source.get("data"), str):
            return MediaSource(kind=kind, mime=mime, data=source["data"], filename=name)
        case "url" if isinstance(source.get("url"), str):
            return MediaSource(kind=kind, mime=mime, url=source["url"], filename=name)
        case "file" if isinstance(source.get("file_id"), str):
            return MediaSource(kind=kind, mime=mime, file_id=source["file_id"], file_owner="anthropic", filename=name)
        case _:
            return None


def _from_url(
    url: str, kind: MediaKind, *, mime: str | None = None, detail: object = None, filename: str | None = None
) -> MediaSource:
    how = _text_or_none(detail)
    comma = url.find(",", 0, 256) if url.startswith("data:") else -1
    if comma >= 0 and url[:comma].endswith(";base64"):
        mime = mime or url[5:comma].split(";", 1)[0] or None
        return MediaSource(kind=kind, mime=mime, data=url, data_start=comma + 1, filename=filename, detail=how)
    return MediaSource(kind=kind, mime=mime, url=url, filename=filename, detail=how)


_READERS: Final[dict[str, Callable[[Wire], MediaSource | None]]] = {
    "image_url": _chat_url,
    "video_url": _chat_url,
    "input_audio": _chat_audio,
    "file": _chat_or_ui_file,
    "input_image": _openai_image,
    "computer_screenshot": _openai_image,
    "input_file": _openai_file,
    "image": _anthropic_source,
    "document": _anthropic_source,
    "image_generation_call": _generated_image,
}


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def chat_block(source: MediaSource) -> dict[str, Any] | None:
    """The medium as a content part of a chat user message; None if chat does not support it."""
    where = source.data_url or source.url
    match source.kind:
        case "image" if where is not None:
            detail = {} if source.detail == "auto" else _detail(source)  # auto is the default, so it is omitted
            return {"type": "image_url", "image_url": {"url": where, **detail}}
        case "audio" if source.base64 is not None and (source.mime or "") in _AUDIO_FORMATS:
            audio = {"data": source.base64, "format": _AUDIO_FORMATS[source.mime or ""]}
            return {"type": "input_audio", "input_audio": audio}
        case "file" if source.data is not None:
            return {"type": "file", "file": {"file_data": source.data_url, "filename": _filename(source)}}
        case "file" if source.file_owner == "openai":
            return {"type": "file", "file": {"file_id": source.file_id}}
        case _:
            return None


def responses_block(source: MediaSource) -> dict[str, Any] | None:
    """The medium as an input part of a Responses item; None if Responses does not support it."""
    where = source.data_url or source.url
    detail = _detail(source)
    match source.kind:
        case "image" if where is not None:
            return {"type": "input_image", "image_url": where, "detail": detail.get("detail", "auto")}
        case "image" if source.file_owner == "openai":
            return {"type": "input_image", "file_id": source.file_id, "detail": detail.get("detail", "auto")}
        case "file" if source.data is not None:
            return {"type": "input_file", "filename": _filename(source), "file_data": source.data_url}
        case "file" if source.url is not None:
            return {"type": "input_file", "file_url": source.url}
        case "file" if source.file_owner == "openai":
            return {"type": "input_file", "file_id": source.file_id}
        case _:
            return None


def anthropic_block(source: MediaSource) -> dict[str, Any] | None:
    """The medium as an Anthropic image or document block; None if Anthropic does not support it."""
    kind = "image" if source.kind == "image" else "document"
    allowed = _ANTHROPIC_IMAGES if kind == "image" else {_PDF}
    if source.kind not in ("image", "file"):
        return None
    title = {"title": source.filename} if kind == "document" and source.filename else {}
    if source.data is not None and source.mime in allowed:
        where = {"type": "base64", "media_type": source.mime, "data": source.base64}
    elif source.url is not None and (kind == "image" or (source.mime or _PDF) == _PDF):
        where = {"type": "url", "url": source.url}
    elif source.file_owner == "anthropic":
        where = {"type": "file", "file_id": source.file_id}
    else:
        return None
    return {"type": kind, "source": where, **title}


def ui_block(source: MediaSource) -> dict[str, Any] | None:
    """The medium as a UI file part; None if it is only a provider's file id."""
    where = source.data_url or source.url
    if where is None:
        return None
    fallback = {"image": "image/*", "audio": "audio/*", "video": "video/*", "file": "application/octet-stream"}
    named = {"filename": source.filename} if source.filename else {}
    return {"type": "file", "mediaType": source.mime or fallback[source.kind], **named, "url": where}


def _detail(source: MediaSource) -> dict[str, str]:
    return {"detail": source.detail} if source.detail in _DETAILS and source.detail is not None else {}


def _filename(source: MediaSource) -> str:
    return source.filename or ("document.pdf" if source.mime == _PDF else "document")


def text_and_media(parts: Iterable[Part]) -> tuple[str, tuple[Media, ...]]:
    """A tool result's text and media. Other parts of its content are kept as JSON text."""
    texts: list[str] = []
    media: list[Media] = []
    for part in parts:
        if isinstance(part, Media):
            media.append(part)
        elif isinstance(part, (Text, Opaque)):
            texts.append(part.text if isinstance(part, Text) else json_text(part.wire))
    return "\n".join(texts), tuple(media)
