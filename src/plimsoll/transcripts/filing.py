"""Writing a session file where its tool looks for it: whole or not at all, and never over what nobody has read."""

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
    """Write beside the file and take its place, so that it is never half there. A file that was there keeps its modes.

    Links, folders and devices are refused. Raises StoreUnusable; then what was there is unchanged.
    """
    try:
        file = Path(path)
        with _written_beside(file, _mode(file), *data) as fresh:
            fresh.replace(file)
    except (OSError, ValueError) as error:
        raise StoreUnusable(ascii(path), reason=_reason(error)) from error


def read_file(path: str) -> bytes:
    """What a plain file holds, as it is. Raises StoreUnusable."""
    try:
        _mode(Path(path))
        return Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise StoreUnusable(ascii(path), reason=_reason(error)) from error


def replace_file(path: str, data: bytes, *, expected: bytes, note: Callable[[], None]) -> str | None:
    """Put `data` in the place of a file that holds `expected`, which stays beside it as a backup; the backup's path.

    Data that are the same are not written, and there is no backup. `note` is called before the file changes, when nothing but
    the change itself is left to do: whoever is stopped in between finds the file as it was.

    Raises SourceChanged where the file holds anything else, also where that happens meanwhile; StoreUnusable.
    """
    file = Path(path)
    try:
        mode, before, held = _mode(file), file.stat(), file.read_bytes()
        _check(path, held, expected)
        if data == expected:
            return None
        with _written_beside(file, mode, data) as fresh:
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
        raise SourceChanged(path, reason=f"it has grown since; take that in first: plimsoll import --update {path}")
    raise SourceChanged(path, reason="it does not hold what was imported from it")


def _check_same(path: str, file: Path, before: os.stat_result) -> None:
    after = file.stat()
    if (after.st_size, after.st_mtime_ns, after.st_ino) != (before.st_size, before.st_mtime_ns, before.st_ino):
        raise SourceChanged(path, reason="it was written to just now; close the tool that has it open")


def _undo_if_written(path: str, file: Path, backup: Path, before: os.stat_result) -> None:
    """Bring the old file back where somebody wrote to it in the moment in which it was replaced."""
    if backup.stat().st_ino != before.st_ino:
        return  # a copy, which nobody else writes to
    try:
        _check_same(path, backup, before)
    except SourceChanged:
        backup.replace(file)
        raise


def _backup(file: Path) -> Path:
    """The file under another name that is free; a copy of it where the disk has no second names.

    A tool that has the file open writes on into the backup, so nothing of that is lost.
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
            with _written_beside(file, file.stat().st_mode, file.read_bytes()) as copy:
                copy.replace(backup)
        return backup
    raise AssertionError("names do not end")


@contextmanager
def _written_beside(file: Path, mode: int | None, *data: bytes) -> Iterator[Path]:
    """A new file with these bytes in the same folder; it is gone afterwards unless it was moved."""
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
