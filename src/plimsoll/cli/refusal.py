"""What stops a command: one clear line and an exit status."""

from __future__ import annotations

DONE, REFUSED, WRONG_USAGE, LOSSY = 0, 1, 2, 3
"""The last: it is done, and what could not be carried was listed."""
BROKEN_PIPE, INTERRUPTED = 141, 130
"""As a shell reports the signals: the reader of the output has closed it, and Ctrl-C."""


class Refused(Exception):
    """A command cannot go on. Its text is the line to show."""


class WrongUsage(Exception):
    """Options that do not go together. Its text is the line to show."""
