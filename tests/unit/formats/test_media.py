"""Images and files: sizes from headers, and the same medium in every format."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import pytest

from plimsoll.formats.convert import convert
from plimsoll.formats.media import media_of, pixels, size_bytes
from plimsoll.formats.registry import format_named


def png(width: int, height: int) -> bytes:
    """The beginning of a PNG file of that size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + struct.pack(">I", 13)
        + b"IHDR"
        + header
        + struct.pack(">I", zlib.crc32(b"IHDR" + header))
    )


def jpeg(width: int, height: int, before: int = 0) -> bytes:
    """The beginning of a JPEG file of that size, with so many bytes before its frame header."""
    thumb = b"\xff\xe1" + struct.pack(">H", before + 2) + b"\xff" * before
    return b"\xff\xd8" + thumb + b"\xff\xc0" + struct.pack(">HBHH", 17, 8, height, width) + b"\0" * 12


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (png(640, 480), (640, 480)),
        (b"GIF89a" + struct.pack("<HH", 7, 9) + b"\0" * 20, (7, 9)),
        (jpeg(1024, 300), (1024, 300)),
        (jpeg(1024, 300, before=60_000), (1024, 300)),
        (b"RIFF\0\0\0\0WEBPVP8X" + b"\0" * 8 + (99).to_bytes(3, "little") + (49).to_bytes(3, "little"), (100, 50)),
        (b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + ((99) | (49 << 14)).to_bytes(4, "little") + b"\0" * 9, (100, 50)),
        (b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 100, 50) + b"\0\0", (100, 50)),
        (b"\xff\xd8", None),
        (b"\xff\xd8\xff\xe1\0\0" * 9, None),
        (b"not an image at all, just some text", None),
        (b"", None),
    ],
)
def test_pixels(data: bytes, expected: tuple[int, int] | None) -> None:
    """The size is read from the header of each kind of image, and anything else has none."""
    text = base64.b64encode(data).decode()
    assert pixels(text) == expected
    assert pixels("data:x;base64," + text, 14) == expected
    assert size_bytes(text) == len(data)


def test_pixels_of_bad_base64() -> None:
    """Text that is not base64 has no size and raises nothing."""
    assert pixels("!!!?" * 20) is None
    assert pixels("\ud800é" * 20) is None


PICTURE = base64.b64encode(png(32, 16)).decode()
BLOCKS: dict[str, dict[str, Any]] = {
    "openai-chat": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}},
    "openai-responses": {"type": "input_image", "image_url": f"data:image/png;base64,{PICTURE}", "detail": "auto"},
    "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}},
    "ui-parts": {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{PICTURE}"},
}


@pytest.mark.parametrize("format", BLOCKS)
def test_media_are_measured(format: str) -> None:
    """An image in any format says its kind, type, pixels and bytes."""
    media = media_of(BLOCKS[format])
    assert media is not None
    assert (media.kind, media.mime, media.width_px, media.height_px) == ("image", "image/png", 32, 16)
    assert media.size_bytes == len(png(32, 16))


@pytest.mark.parametrize("source", BLOCKS)
@pytest.mark.parametrize("target", BLOCKS)
def test_images_convert_between_all_formats(source: Any, target: Any) -> None:
    """An image converts to every format as that format writes it, and nothing is lost."""
    field = {"ui-parts": "parts"}
    message = {"role": "user", field.get(source, "content"): [BLOCKS[source]]}
    if source == "ui-parts":
        message["id"] = "m"
    converted = convert([message], to=target, format=source)
    assert converted.losses == []
    assert converted.messages[0][field.get(target, "content")] == [BLOCKS[target]]


PDF = "data:application/pdf;base64,JVBERi0="
PDF_PARTS: dict[str, dict[str, Any]] = {
    "openai-chat": {"type": "file", "file": {"file_data": PDF, "filename": "a.pdf"}},
    "openai-responses": {"type": "input_file", "filename": "a.pdf", "file_data": PDF},
    "anthropic": {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
        "title": "a.pdf",
    },
    "ui-parts": {"type": "file", "mediaType": "application/pdf", "filename": "a.pdf", "url": PDF},
}
SPOKEN: dict[str, dict[str, Any]] = {
    "openai-chat": {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "mp3"}},
    "ui-parts": {"type": "file", "mediaType": "audio/mp3", "url": "data:audio/mp3;base64,AAAA"},
}
AT_AN_ADDRESS: dict[str, dict[str, Any]] = {
    "openai-responses": {"type": "input_file", "file_url": "https://example.org/a.pdf"},
    "anthropic": {"type": "document", "source": {"type": "url", "url": "https://example.org/a.pdf"}},
}
UPLOADED: dict[str, dict[str, Any]] = {
    "openai-chat": {"type": "file", "file": {"file_id": "file-1"}},
    "openai-responses": {"type": "input_file", "file_id": "file-1"},
}


@pytest.mark.parametrize(
    ("source", "target", "blocks"),
    [
        (source, target, blocks)
        for blocks in (PDF_PARTS, SPOKEN, AT_AN_ADDRESS, UPLOADED)
        for source in blocks
        for target in blocks
    ],
)
def test_files_and_sound_convert_between_the_formats_that_hold_them(
    source: Any, target: Any, blocks: dict[str, dict[str, Any]]
) -> None:
    """A file or a sound converts to every format that has a block for it, as that format writes it, and nothing is lost."""
    field = {"ui-parts": "parts"}
    message = {"role": "user", field.get(source, "content"): [blocks[source]]} | (
        {"id": "m"} if source == "ui-parts" else {}
    )
    converted = convert([message], to=target, format=source)
    assert converted.losses == []
    assert converted.messages[0][field.get(target, "content")] == [blocks[target]]


@pytest.mark.parametrize(
    ("document", "lost"),
    [
        (AT_AN_ADDRESS["anthropic"] | {"title": "a.pdf"}, ["title"]),
        (PDF_PARTS["anthropic"] | {"context": "by Ines"}, ["context"]),
    ],
)
def test_of_a_document_what_no_file_says_is_a_loss(document: dict[str, Any], lost: list[str]) -> None:
    """A title becomes the name of a file; where the file has no name, it is lost, as is what is said about the document."""
    converted = convert([{"role": "user", "content": [document]}], to="openai-responses", format="anthropic")
    assert [loss.what for loss in converted.losses] == lost


@pytest.mark.parametrize(
    ("mime", "kind"), [("image/heic", "image"), ("audio/ogg", "audio"), ("video/mp4", "video"), ("text/csv", "file")]
)
def test_a_file_of_a_user_interface_is_of_the_kind_of_its_type(mime: str, kind: str) -> None:
    """The first half of a media type says what a file is; what it does not name is a file."""
    media = media_of({"type": "file", "mediaType": mime, "url": "https://example.org/x"})
    assert media is not None
    assert (media.kind, media.mime) == (kind, mime)


@pytest.mark.parametrize(
    ("source", "block", "target"),
    [
        ("openai-chat", {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, "anthropic"),
        ("openai-chat", {"type": "file", "file": {"file_id": "file-1"}}, "anthropic"),
        ("anthropic", {"type": "image", "source": {"type": "file", "file_id": "f"}}, "openai-chat"),
        ("openai-responses", {"type": "input_file", "file_id": "file-1"}, "ui-parts"),
    ],
)
def test_media_a_format_cannot_hold_are_reported(source: Any, block: dict[str, Any], target: Any) -> None:
    """A medium with no place in the target leaves a note and a loss."""
    converted = convert([{"role": "user", "content": [block]}], to=target, format=source)
    assert [loss.reason for loss in converted.losses] == ["dropped: this format does not support it"]
    assert "left out]" in str(converted.messages)


def test_base64_is_never_text() -> None:
    """The bytes of an image in a tool result are a medium beside the text, not part of it."""
    block = {
        "type": "tool_result",
        "tool_use_id": "c",
        "content": [{"type": "text", "text": "seen"}, BLOCKS["anthropic"]],
    }
    result = format_named("anthropic").decode({"role": "user", "content": [block]}, 0).results[0]
    assert result.content == "seen"
    assert [part.width_px for part in result.media] == [32]
