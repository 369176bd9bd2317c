"""What a command hands out and says, and how it ends: results on standard output, all else on standard error."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TextIO

import plimsoll
from plimsoll.report.safe_text import json_safe, one_line

if TYPE_CHECKING:
    from pathlib import Path

    from plimsoll.report.drawing import Drawn

DONE, REFUSED, WRONG_USAGE, LOSSY = 0, 1, 2, 3
"""The last: it is done, and what could not be carried was listed."""
BROKEN_PIPE, INTERRUPTED = 141, 130
"""As a shell reports the signals: the reader of the output has closed it, and Ctrl-C."""


class Refused(Exception):
    """A command cannot go on. Its text is the line to show."""


class WrongUsage(Exception):
    """Options that do not go together. Its text is the line to show."""


def json_text(value: Any, *, indent: int | None = None) -> str:
    """One JSON text. What could command a terminal is escaped, other scripts are not; it reads back as the same value."""
    import json

    separators = None if indent else (",", ":")
    return json_safe(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, separators=separators))


def print_json(value: Any) -> None:
    """A result for programs."""
    emit(f"{json_text(value, indent=2)}\n".encode())


def emit(*data: bytes, out: str | None = None) -> None:
    """To standard output, or to the file `out` (`-` is standard output). Raises Refused, OSError."""
    if out is not None and out != "-":
        from pathlib import Path

        write_file(Path(out), *data)
        return
    sys.stdout.flush()
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:  # a program has put a text stream in its place
        sys.stdout.write(b"".join(data).decode("utf-8", "surrogateescape"))
    else:
        binary.writelines(data)
        binary.flush()


def drop_unwritten(stream: TextIO) -> None:
    """Python flushes the streams as it ends; what cannot be written would be one more error then, and another status."""
    with suppress(OSError, ValueError):
        try:
            stream.flush()
        except OSError:
            number, null = stream.fileno(), os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, number)
            os.close(null)


def write_file(path: Path, *data: bytes) -> None:
    """Write a temporary file in the same folder and rename it, so that the file is never half written. Its modes stay.

    Links are refused: what takes the place of a link is not where it pointed. A device or a pipe is written to as it is.
    Raises Refused, OSError.
    """
    mode = _mode(path)
    from plimsoll.transcripts.atomic_files import temporary_file

    try:
        if mode is not None and not stat.S_ISREG(mode):
            with path.open("wb") as device:
                device.writelines(data)
            return
        with temporary_file(path, 0o666 & ~_umask() if mode is None else mode, *data) as fresh:
            fresh.replace(path)
    except OSError as error:
        error.filename = str(path)  # and not that of the temporary file
        raise


def _mode(path: Path) -> int | None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return None
    except ValueError:
        raise Refused(f"{ascii(str(path))[:80]} is not a path") from None
    if stat.S_ISLNK(mode):
        raise Refused(f"{path} is a symbolic link: name the file itself; nothing was written")
    if stat.S_ISDIR(mode):
        raise Refused(f"{path} is a directory: name a file; nothing was written")
    return mode


def _umask() -> int:
    """Python has no way to look at it without setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


LONG_SIZE_BYTES = 1_000_000
LONG_MESSAGES = 2_000
"""From here on reading and counting take long enough to say so."""


def show(*things: Drawn) -> None:
    """Print on standard output."""
    from plimsoll.report.drawing import draw

    draw(sys.stdout, things)


def tell(*things: Drawn) -> None:
    """Print on standard error."""
    from plimsoll.report.drawing import draw

    draw(sys.stderr, things)


def say(text: str) -> None:
    """One line on standard output."""
    print(one_line(text, 1_000))


def note(text: str) -> None:
    """One line on standard error that is no refusal."""
    print(f"note: {one_line(text, 400)}", file=sys.stderr)


def confirm(question: str, *, refusal: str, done: str) -> None:
    """Ask on the terminal before something is done for good. Raises Refused with what was not done, also without a terminal.

    `done` is what --yes does without asking.
    """
    if not sys.stdin.isatty():
        raise Refused(f"{refusal}: this is no terminal to ask on; --yes {done} without asking")
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Refused(refusal)


@contextmanager
def working(label: str, what: int | plimsoll.Session | None = None) -> Iterator[None]:
    """Show on standard error what is being done and for how long, where that is a terminal.

    Args:
        label: what is done, such as "searching".
        what: a number of bytes, or a session, whose messages count; little work shows nothing. None: the amount is not known.

    """
    is_long, how_much = _amount(what)
    if not is_long or not sys.stderr.isatty():
        yield
        return
    from plimsoll.report.drawing import progress_on

    with progress_on(sys.stderr, f"{label} {how_much}".strip()):
        yield


def _amount(what: int | plimsoll.Session | None) -> tuple[bool, str]:
    """Whether it takes long, and how much it is in words."""
    from plimsoll.report.figures import pluralize, size

    if what is None:
        return True, ""
    if isinstance(what, int):
        return what >= LONG_SIZE_BYTES, size(what)
    return what.message_count >= LONG_MESSAGES, pluralize(what.message_count, "message")
