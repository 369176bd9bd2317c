"""Writing a session file where its tool looks for it: whole or not at all, and never over what nobody has read."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from plimsoll.errors import SourceChanged, StoreUnusable


def write_file(path: str, data: bytes) -> None:
    """Write beside the file and take its place, so that it is never half there. A file that was there keeps its modes.

    Links, folders and devices are refused. Raises StoreUnusable; then what was there is unchanged.
    """
    try:
        _replace(Path(path), data, _mode(Path(path)))
    except (OSError, ValueError) as error:
        raise StoreUnusable(ascii(path), reason=_reason(error)) from error


def replace_file(path: str, data: bytes, *, expected: bytes) -> str | None:
    """Put `data` in the place of a file that holds `expected`, which stays beside it as a backup; the backup's path.

    Data that are the same are not written, and there is no backup.

    Raises SourceChanged where the file holds anything else, also where that happens meanwhile; StoreUnusable.
    """
    file = Path(path)
    try:
        mode, held, before = _mode(file), file.read_bytes(), file.stat()
        _check(path, held, expected)
        if data == expected:
            return None
        backup = _backup(file, mode)
        after = file.stat()
        if (after.st_size, after.st_mtime_ns, after.st_ino) != (before.st_size, before.st_mtime_ns, before.st_ino):
            raise SourceChanged(path, reason="it was written to just now; close the tool that has it open")
        _replace(file, data, mode)
    except (OSError, ValueError) as error:
        raise StoreUnusable(ascii(path), reason=_reason(error)) from error
    return str(backup)


def _check(path: str, held: bytes, expected: bytes) -> None:
    if held == expected:
        return
    if held.startswith(expected):
        raise SourceChanged(path, reason=f"it has grown since; take that in first: plimsoll import --update {path}")
    raise SourceChanged(path, reason="it does not hold what was imported from it")


def _backup(file: Path, mode: int | None) -> Path:
    """A copy of the file under a name that is free, as private as the file itself."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    backup = file.with_name(f"{file.name}.{stamp}.bak")
    handle = os.open(backup, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as copy, file.open("rb") as original:
        shutil.copyfileobj(original, copy)
        copy.flush()
        os.fsync(copy.fileno())
    backup.chmod(stat.S_IMODE(mode or 0o600))
    return backup


def _replace(file: Path, data: bytes, mode: int | None) -> None:
    handle, name = tempfile.mkstemp(prefix=f".{file.name[:40]}.", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as fresh:
            fresh.write(data)
            fresh.flush()
            os.fsync(handle)
        Path(name).chmod(stat.S_IMODE(mode) if mode is not None else 0o600)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _mode(file: Path) -> int | None:
    """The modes of a plain file; None where nothing is there. Raises OSError for anything else."""
    try:
        mode = file.lstat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise OSError(f"it is {'a symbolic link' if stat.S_ISLNK(mode) else 'no plain file'}")
    return mode


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or "it cannot be written"
