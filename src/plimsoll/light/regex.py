"""Regular expressions that are compiled when first used.

There are about two hundred, of which a process uses a few. Compiling all at import takes longer than fitting a conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, AnyStr, cast


class _Lazy:
    """Proxy of a compiled pattern. Each method is looked up once and then called directly."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._given = pattern, int(flags)

    def __getattr__(self, name: str) -> Any:
        found = re.compile(*self._given) if name == "_compiled" else getattr(self._compiled, name)
        setattr(self, name, found)
        return found

    def __repr__(self) -> str:
        return f"regex({self._given[0]!r})"


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern that is compiled at its first use, which raises re.error if it is invalid."""
    return cast("re.Pattern[AnyStr]", _Lazy(pattern, flags))


def led(ways: Mapping[str, str]) -> str:
    """A pattern for one of these characters and what follows it: `led({"?!": "", "w": "ho"})` is for `?`, `!` and `who`.

    A search jumps from one such character to the next. For alternatives that do not all begin with plain characters, it tries each
    at each place, which takes two to four times as long.
    """
    return f"[{''.join(ways)}](?:{'|'.join(f'(?<=[{first}]){rest}' for first, rest in ways.items())})"


def rows_of(table: str) -> Iterator[tuple[str, str]]:
    """The rows of a table of patterns: a head, and below it the pattern in indented lines, which are joined."""
    for row in re.split(r"\n(?=\S)", table.strip()):
        head, *lines = row.split("\n")
        yield head, "".join(map(str.strip, lines))
