"""Blobs in a folder: each in a file named by its SHA-256, in a subfolder named by the first two digits."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator

from plimsoll.errors import LimitExceeded, ReferenceNotFound, SessionDamaged
from plimsoll.light.regex import regex
from plimsoll.limits import BLOB_REFERENCE_CHARS_MIN, BLOB_SIZE_BYTES_MAX
from plimsoll.policy.validation import short_repr
from plimsoll.store.folder import Folder

_REFERENCE = regex(rf"[0-9a-f]{{{BLOB_REFERENCE_CHARS_MIN},64}}")
_FAN = regex(r"[0-9a-f]{2}")
_READ_SIZE_BYTES = 1 << 20


def is_blob_name(reference: object) -> bool:
    """True if a reference is the SHA-256 of a blob, or a prefix long enough to identify one."""
    return isinstance(reference, str) and _REFERENCE.fullmatch(reference) is not None


def text_of_blob(data: bytes) -> str:
    """The stored text. Bytes that are not valid UTF-8 are shown as escapes."""
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "backslashreplace")


class BlobFolder:
    """The `blobs` folder of a session. Methods raise OSError for failed system calls."""

    def __init__(self, session: Folder, *, name: str, durable: bool) -> None:
        self._session = session
        self._name = name
        self._durable = durable

    def put(self, data: bytes) -> str:
        """Store bytes and return their digest. Replaces a file that no longer holds its bytes."""
        digest = digest_of(data)
        if self._is_stored(digest, data):
            return digest
        with self._session.folder("blobs", create=True) as blobs, blobs.folder(digest[:2], create=True) as fan:
            self._session.write_file(digest, data, durable=self._durable, to=fan)
        return digest

    def get(self, reference: str) -> bytes:
        """The bytes, verified against their digest. Raises ReferenceNotFound, SessionDamaged."""
        fan_name = checked_reference(reference)[:2]
        try:
            with self._session.folder("blobs") as blobs, blobs.folder(fan_name) as fan:
                digest = only_match(reference, fan.names())
                return checked_blob(self._name, digest, read_file(fan, digest))
        except FileNotFoundError:
            raise ReferenceNotFound(reference) from None

    def digests(self) -> Iterator[str]:
        """Yield every digest in order."""
        try:
            blobs = self._session.folder("blobs")
        except FileNotFoundError:
            return
        with blobs:
            for fan_name in blobs.names():
                if _FAN.fullmatch(fan_name):
                    with blobs.folder(fan_name) as fan:
                        names = fan.names()
                    yield from (name for name in names if len(name) == 64 and _REFERENCE.fullmatch(name))

    def _is_stored(self, digest: str, data: bytes) -> bool:
        try:
            return self.get(digest) == data
        except (ReferenceNotFound, SessionDamaged):
            return False


def digest_of(data: bytes) -> str:
    """SHA-256 in hexadecimal. Raises LimitExceeded if too large for a blob, FormatError if not bytes."""
    if len(data) > BLOB_SIZE_BYTES_MAX:
        raise LimitExceeded("BLOB_SIZE_BYTES_MAX", allowed=BLOB_SIZE_BYTES_MAX, found=len(data))
    return hashlib.sha256(data).hexdigest()


def checked_reference(reference: str) -> str:
    """Return the reference if it is a valid digest prefix. Raises ReferenceNotFound."""
    if not isinstance(reference, str) or not _REFERENCE.fullmatch(reference):
        raise ReferenceNotFound(reference if isinstance(reference, str) else short_repr(reference))
    return reference


def only_match(reference: str, digests: list[str]) -> str:
    """The single digest with that prefix. Raises ReferenceNotFound if there is none or more than one."""
    found = [digest for digest in digests if digest.startswith(reference)]
    if len(found) != 1:
        raise ReferenceNotFound(reference)
    return found[0]


def checked_blob(session: str, digest: str, data: bytes) -> bytes:
    """Return the bytes if they match the digest. Raises SessionDamaged."""
    if hashlib.sha256(data).hexdigest() != digest:
        raise SessionDamaged(session, detail=f"the content of blob {digest[:16]} has changed")
    return data


def read_file(folder: Folder, name: str) -> bytes:
    """The bytes of a file, up to just beyond the size of the largest blob. Raises OSError."""
    fd = folder.open_file(name, os.O_RDONLY)
    try:
        portions = []
        offset = 0
        while portion := folder.calls.read_at(fd, _READ_SIZE_BYTES, offset):
            portions.append(portion)
            offset += len(portion)
            if offset > BLOB_SIZE_BYTES_MAX:
                break
        return b"".join(portions)
    finally:
        folder.calls.close(fd)
