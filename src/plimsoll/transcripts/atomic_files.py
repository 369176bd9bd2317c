"""Write session files atomically, and never over content that has not been read."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from plimsoll.errors import SourceChanged, StoreUnusable, on_failure


def write_file(path: str, *data: bytes) -> None:
    """Write a file atomically, by renaming a temporary one. An existing file's mode is kept.

    Raises StoreUnusable, also for links, folders and devices; then the old file is unchanged.
    """
    try:
        file = Path(path)
        with temporary_file(file, _mode(file), *data) as fresh:
            fresh.replace(file)
    except (OSError, ValueError) as error:
        raise StoreUnusable(ascii(path), reason=_reason(error)) from error


def read_file(path: str) -> bytes:
    """The bytes of a regular file. Raises StoreUnusable."""
    try:
        _mode(Path(path))
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise StoreUnusable(ascii(path), reason=_reason(error), is_input=True) from error


def replace_file(path: str, data: bytes, *, expected: bytes, note: Callable[[], None]) -> str | None:
    """Replace a file that contains `expected` by `data`. Returns the path of a backup next to it.

    Equal data are not written; then there is no backup. `note` is called just before the replacement, so that an interruption
    in between leaves the old file.

    Raises SourceChanged if the file contains anything else, or is written to meanwhile; StoreUnusable.
    """
    file = Path(path)
    try:
        mode, before, held = _mode(file), file.stat(), file.read_bytes()
        _check(path, held, expected)
        if mode is not None and not mode & 0o222:
            raise StoreUnusable(ascii(path), reason="it is read-only")
        if data == expected:
            return None
        with temporary_file(file, mode, data) as fresh:
            backup = _backup(file)
            with on_failure(backup.unlink):
                note()
                _check_same(path, file, before)
                fresh.replace(file)
        _sync_folder(file.parent)
        _undo_if_written(path, file, backup, before)
    except (OSError, ValueError) as error:
        raise StoreUnusable(ascii(path), reason=_reason(error)) from error
    return str(backup)


def _check(path: str, held: bytes, expected: bytes) -> None:
    if held == expected:
        return
    if held.startswith(expected):
        raise SourceChanged(
            path, reason=f"it has grown since; import the new part first: plimsoll import --update {path}"
        )
    raise SourceChanged(path, reason="it does not contain what was imported from it")


def _check_same(path: str, file: Path, before: os.stat_result) -> None:
    after = file.stat()
    if (after.st_size, after.st_mtime_ns, after.st_ino) != (before.st_size, before.st_mtime_ns, before.st_ino):
        raise SourceChanged(path, reason="it was written to just now; close the tool that has it open")


def _undo_if_written(path: str, file: Path, backup: Path, before: os.stat_result) -> None:
    """Restore the old file if another process wrote to it during the replacement."""
    if backup.stat().st_ino != before.st_ino:
        return  # a copy, to which no other process writes
    try:
        _check_same(path, backup, before)
    except SourceChanged:
        backup.replace(file)
        raise


def _backup(file: Path) -> Path:
    """Link the file to an unused name, or copy it if the file system has no hard links.

    A tool that has the file open continues to write into the backup, so none of that is lost.
    """
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%fZ")
    names = chain([f"{file.name}.{stamp}.bak"], (f"{file.name}.{stamp}-{number}.bak" for number in count(1)))
    for backup in map(file.with_name, names):
        try:
            os.link(file, backup, follow_symlinks=False)
        except FileExistsError:
            continue
        except OSError:
            if backup.exists():
                continue
            with temporary_file(file, file.stat().st_mode, file.read_bytes()) as copy:
                copy.replace(backup)
        return backup
    raise AssertionError("names do not end")


@contextmanager
def temporary_file(file: Path, mode: int | None, *data: bytes) -> Iterator[Path]:
    """A temporary file with these bytes in the same folder, removed on exit unless it was moved."""
    handle, name = tempfile.mkstemp(prefix=f".{file.name[:40]}.", dir=file.parent)
    fresh = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.writelines(data)
            stream.flush()
            os.fsync(handle)
        fresh.chmod(stat.S_IMODE(mode) if mode is not None else 0o600)
        yield fresh
    finally:
        fresh.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _mode(file: Path) -> int | None:
    """The mode of a regular file; None if it does not exist. Raises OSError for anything else."""
    try:
        mode = file.lstat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise OSError(f"it is {'a symbolic link' if stat.S_ISLNK(mode) else 'not a regular file'}")
    return mode


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or "it cannot be written"
