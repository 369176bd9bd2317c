"""The bytes of a session file, from disk or memory, decompressed and split into lines."""

from __future__ import annotations

import hashlib
import io
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol, TypeAlias

from plimsoll.dataclass import dataclass
from plimsoll.errors import LimitExceeded, MissingExtra, SettingError, SourceChanged, StoreUnusable
from plimsoll.limits import (
    ARCHIVE_RATIO_MAX,
    ARCHIVE_SIZE_BYTES_FREE,
    MESSAGE_SIZE_BYTES_MAX,
    TRANSCRIPT_LINES_MAX,
    TRANSCRIPT_SIZE_BYTES_MAX,
)
from plimsoll.transcripts.values import Finding

Readable: TypeAlias = "str | os.PathLike[str] | bytes"

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_GZIP_MAGIC = b"\x1f\x8b\x08"
_GZIP_WBITS = 31
"""zlib's code for a gzip header and the largest window."""
_PACKED_CHUNK_BYTES = 1024
"""Bytes decompressed at once. At the worst compression ratio they become 32 MiB, which bounds memory."""


@dataclass(slots=True)
class Source:
    """A file, or bytes. Content is read on demand and not stored, so that large files are never in memory as a whole."""

    given: Readable
    whole: bool = True
    """Whether the last line ends in a line feed. Known after all lines were read, like the attributes below."""
    findings: tuple[Finding, ...] = ()
    size_bytes: int = 0
    _digest: bytes = b""

    def lines(self) -> Iterator[bytes]:
        """The lines, without line feeds; U+2028 and the like do not end one. A broken archive yields its readable part and a
        finding.

        Raises StoreUnusable if the file cannot be read, MissingExtra for an archive without a decompressor, and LimitExceeded
        beyond TRANSCRIPT_SIZE_BYTES_MAX, TRANSCRIPT_LINES_MAX, MESSAGE_SIZE_BYTES_MAX for a line or ARCHIVE_RATIO_MAX for an
        archive.
        """
        digest, size_bytes, line = hashlib.sha256(), 0, b"\n"
        with _opened(self.given) as file:
            archive = _archive(file)
            for line in _checked(_raw_lines(file) if archive is None else _rejoined(archive.chunks())):
                digest.update(line)
                size_bytes += len(line)
                yield line.removesuffix(b"\n")
        self.whole, self.findings = line.endswith(b"\n"), () if archive is None else archive.findings
        self.size_bytes, self._digest = size_bytes, digest.digest()

    def data(self) -> bytes:
        """The decompressed bytes that `lines` yielded, read again. Raises what `lines` raises, and SourceChanged if they have
        changed.
        """
        if isinstance(self.given, bytes) and not is_archive(self.given):
            return self.given
        with _opened(self.given) as file:
            archive = _archive(file)
            data = file.read(self.size_bytes) if archive is None else b"".join(_rejoined(archive.chunks()))
        if hashlib.sha256(data).digest() != self._digest:
            raise SourceChanged(ascii(self.given)[:200], reason="it was written to while it was read; try again")
        return data


def stem_of(path: str) -> str:
    """The name of a file without the suffixes of its format and compression."""
    name = re.split(r"[/\\]", path)[-1]
    for ending in (".zst", ".gz", ".jsonl", ".json"):
        name = name.removesuffix(ending)
    return name


def read_head(source: Readable, size_bytes: int) -> bytes:
    """The first bytes, decompressed. Raises what `Source.lines` raises."""
    with _opened(source) as file:
        return _head(file, size_bytes)


@contextmanager
def _opened(source: Readable) -> Iterator[BinaryIO]:
    if isinstance(source, bytes):
        yield io.BytesIO(source)
        return
    try:
        with Path(source).open("rb") as file:
            yield file
    except OSError as error:
        raise StoreUnusable(ascii(str(source)), reason=error.strerror or "it cannot be read") from error
    except TypeError as error:
        raise SettingError("source", f"must be a path or bytes, not {type(source).__name__}") from error
    except ValueError as error:  # a NUL in the path
        raise StoreUnusable(ascii(str(source)), reason="not a path") from error


def _head(file: BinaryIO, size_bytes: int) -> bytes:
    archive = _archive(file)
    if archive is None:
        return file.read(size_bytes)
    head = bytearray()
    for chunk in archive.chunks():
        head += chunk
        if len(head) >= size_bytes:
            break
    return bytes(head[:size_bytes])


def _raw_lines(file: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: file.readline(MESSAGE_SIZE_BYTES_MAX + 2), b"")


def _checked(lines: Iterator[bytes]) -> Iterator[bytes]:
    total = 0
    for number, line in enumerate(lines):
        total += len(line)
        if number >= TRANSCRIPT_LINES_MAX:
            raise LimitExceeded("TRANSCRIPT_LINES_MAX", allowed=TRANSCRIPT_LINES_MAX)
        if len(line) > MESSAGE_SIZE_BYTES_MAX + 1:
            raise LimitExceeded("MESSAGE_SIZE_BYTES_MAX", allowed=MESSAGE_SIZE_BYTES_MAX)
        if total > TRANSCRIPT_SIZE_BYTES_MAX:
            raise LimitExceeded("TRANSCRIPT_SIZE_BYTES_MAX", allowed=TRANSCRIPT_SIZE_BYTES_MAX)
        yield line


def _rejoined(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Chunks as lines. A line over the limit comes out in one piece and is refused later."""
    parts: list[bytes] = []
    held = 0
    for chunk in chunks:
        *done, rest = chunk.split(b"\n")
        for line in done:
            yield b"".join((*parts, line, b"\n"))
            parts, held = [], 0
        parts.append(rest)
        held += len(rest)
        if held > MESSAGE_SIZE_BYTES_MAX + 1:
            break
    if held:
        yield b"".join(parts)


def is_archive(start: bytes) -> bool:
    """Whether a file with this beginning is compressed."""
    return start.startswith((_ZSTD_MAGIC, _GZIP_MAGIC))


def unpacked(source: Readable) -> bytes:
    """All bytes of a file, decompressed. Raises what `Source.lines` raises."""
    found = Source(source)
    for _ in found.lines():
        pass
    return found.data()


def _archive(file: BinaryIO) -> _Archive | None:
    """The archive in a file, or None. Raises MissingExtra without a decompressor."""
    start = file.read(len(_ZSTD_MAGIC))
    file.seek(0)
    if not is_archive(start):
        return None
    return _Archive(file, *(_zstd() if start == _ZSTD_MAGIC else (lambda: zlib.decompressobj(_GZIP_WBITS), zlib.error)))


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


def _zstd() -> tuple[Callable[[], _Decompressor], type[Exception]]:
    if sys.version_info >= (3, 14):
        from compression import zstd  # noqa: PLC0415 - only an archive needs it

        return zstd.ZstdDecompressor, zstd.ZstdError
    try:
        import zstandard  # noqa: PLC0415 - optional, and only an archive needs it
    except ImportError as error:
        raise MissingExtra("zstd", needed_for="reading a .zst archive") from error
    return (lambda: zstandard.ZstdDecompressor().decompressobj()), zstandard.ZstdError


class _Archive:
    """An archive of any number of frames, decompressed in small steps."""

    def __init__(self, file: BinaryIO, make: Callable[[], _Decompressor], error: type[Exception]) -> None:
        self.findings: tuple[Finding, ...] = ()
        self._file = file
        self._make, self._error = make, error

    def chunks(self) -> Iterator[bytes]:
        """The decompressed bytes. Ends with a finding if the archive is broken. Raises LimitExceeded beyond ARCHIVE_RATIO_MAX."""
        frame = self._make()
        unpacked_bytes = 0
        data = b""
        fresh = True
        while data or (data := self._file.read(_PACKED_CHUNK_BYTES)):
            if frame.eof:
                frame = self._make()
            try:
                unpacked = frame.decompress(data)
            except self._error as error:
                self._report(str(error))
                return
            unpacked_bytes += len(unpacked)
            if unpacked_bytes > ARCHIVE_SIZE_BYTES_FREE + ARCHIVE_RATIO_MAX * self._file.tell():
                raise LimitExceeded("ARCHIVE_RATIO_MAX", allowed=ARCHIVE_RATIO_MAX)
            fresh = frame.eof
            data = frame.unused_data if frame.eof else b""
            yield unpacked
        if not fresh:
            self._report("it ends before its last frame does")

    def _report(self, detail: str) -> None:
        self.findings = (Finding(kind="broken-archive", detail=detail[:120]),)
