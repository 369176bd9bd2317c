"""The log of failures of hooks: which error, where and when, and nothing of what was said. Its size is bounded."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from plimsoll.errors import PlimsollError
from plimsoll.hooks.state import folder, write_private

LOG_BYTES_MAX = 64 * 1024


def note_failure(error: BaseException) -> None:
    """Add a line. Never raises: where it cannot be written, it is not."""
    with suppress(OSError, PlimsollError):
        path = folder() / "log"
        line = f"{datetime.now(UTC).isoformat(timespec='seconds')} {type(error).__name__}{_place(error)}\n".encode()
        with open(path, "ab", opener=_private) as file:
            size_bytes = file.tell()
            file.write(line)
        if size_bytes > LOG_BYTES_MAX - len(line):
            kept = path.read_bytes()[-LOG_BYTES_MAX // 2 :]
            write_private(path, kept.partition(b"\n")[2])


def _place(error: BaseException) -> str:
    """The line of plimsoll that raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
