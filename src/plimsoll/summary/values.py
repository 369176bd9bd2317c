"""Values from tools as dense rows: grouped by tool and columns, ranked by what each adds to the rows before it."""

from __future__ import annotations

from bisect import bisect_right
from heapq import heapify, heappop, heapreplace
from math import sqrt
from typing import TYPE_CHECKING

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.summary.item import Item
from plimsoll.summary.kept import kept
from plimsoll.summary.ledger.draft import value
from plimsoll.summary.ledger.fact import ID_ENDINGS
from plimsoll.summary.ledger.identifiers import CODES_KEY, codes_in
from plimsoll.summary.ledger.sentences import has_digit, line
from plimsoll.summary.room import bias_of, estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from plimsoll.protocols import TokenCounter
    from plimsoll.summary.ledger import Fact

_CALL = regex(r"([\w.:-]{1,60})\(([^()]{1,60})\)(?: (.{1,40}))?")
"""The label of a row: the tool, its arguments, and the name of the object in the result."""

_CUT = regex(r"…\)?\Z")
_TABLE_ROWS_MIN = 3
"""Rows with the same columns from which on the columns are written once, in the heading."""

_SHARED_CHARS_MAX = 48
_REPEATED, _REPEATED_RECORD = 0.15, 0.45
"""What codes, and the values of a record, are still worth if rows before them have all: a record says which belong together."""

_REUSED = 2.0
"""What values gain if calls took others of their column: the agent goes through them, or needs the same kind again."""

_LIKELY = 4
"""Where calls took one in this many codes of a column, or more, any other of them is likely to be taken."""

_LISTED_MAX = 4
"""Codes of a column from which on each counts less, unless calls took some."""

_SAID_MAX = 2
"""Results of a tool that are equal but for their numbers, from which on each but the newest counts less."""

_DIGITS = dict.fromkeys(range(48, 58))  # removes them

_START_CHARS_MIN = 12
"""A shorter start of a row is useless."""

_SIZE_WEIGHT = 0.2
"""How much the length of a row counts against it, as an exponent: dense rows come before long ones."""


_KEPT_MAX = 4


class _Row(NamedTuple):
    """A fact with the parts of its label."""

    fact: Fact
    tool: str
    asked: str
    """The arguments of the call; empty for a label that is no call."""
    name: str
    columns: str
    cells: dict[str, str] | None
    """The cells by column; None if the text does not have exactly these columns."""

    @property
    def is_codes(self) -> bool:
        """Whether these are the codes of a result by column, which may be needed without each other."""
        return self.fact.key.endswith(CODES_KEY)

    @property
    def table(self) -> tuple[str, str, str]:
        """Rows with the same columns from one tool."""
        return self.tool, self.name, self.columns


@kept(_KEPT_MAX)
def items(facts: tuple[Fact, ...], bias: Callable[[str], float], end: int) -> tuple[Item, ...]:
    """Return the values as items, best first. Rows of one tool with the same columns share a heading that names them once.

    Readings are kept: what leaves a view is often rendered twice, first in less room.
    """
    rows = _told_apart([_read(fact) for fact in facts])
    tables: dict[tuple[str, str, str], list[_Row]] = {}
    tools: dict[str, set[str]] = {}
    for row in rows:
        tables.setdefault(row.table, []).append(row)
        tools.setdefault(row.tool, set()).add(row.asked)
    shared = {table: _shared(found) for table, found in tables.items() if table[2] and len(found) >= _TABLE_ROWS_MIN}
    reused, repeats = _reused(rows), _repeats(rows)
    made: list[Item] = []
    again: list[float] = []
    for place, row in enumerate(rows):
        fact, has_many_calls = row.fact, len(tools[row.tool]) > 1
        worth, order = value(fact, end) * bias(fact.text), (fact.position, place)
        same = shared.get(row.table)
        if row.is_codes and same and len(same) == len(row.cells or ()):
            same = None  # all calls returned the same: their heading would say it again
        if row.is_codes and (cells := row.cells) is not None:
            group, label = _heading(row, "", same or {}, has_many_calls=has_many_calls)
            for at, column in enumerate([column for column in cells if column not in (same or {})] or cells):
                text, factor = reused(row.tool, column, cells[column])
                made.append(Item("identifier", text, worth * factor, (*order, at), group, label))
                again.append(_REPEATED)
            continue
        worth *= repeats(row)
        text, group = _shown(row, same, has_many_calls=has_many_calls)
        if row.cells and all(column.endswith(ID_ENDINGS) for column in row.cells):
            worth *= max(reused(row.tool, column, cell)[1] for column, cell in row.cells.items())
        made.append(Item("identifier", f"{text} ({fact.state})" if fact.state else text, worth, order, group))
        again.append(_REPEATED_RECORD if len(row.cells or ()) > 1 else _REPEATED)
    return tuple(_ranked(made, again))


def start_of(item: Item, tokens: int, counter: TokenCounter) -> Item | None:
    """Return a row cut to its first values; None if `tokens` do not hold one of them."""
    start = _words(item.text, tokens, counter).rstrip(" |,")
    return item._replace(text=f"{start} …") if has_digit(start) and len(start) >= _START_CHARS_MIN else None


def best_of(facts: tuple[Fact, ...], end: int, tokens: int, counter: TokenCounter) -> str:
    """Return the best row under its heading, cut to the words that fit: the text of a summary of a few tokens.

    It is empty if not one value fits: a heading alone says nothing.
    """
    rows = items(facts, bias_of(None), end)
    if not rows:
        return ""
    heading = f"{rows[0].group}: " if rows[0].group else ""
    text = heading + rows[0].text
    if counter.upper(text) <= tokens:
        return text
    start = _words(text, tokens, counter).rstrip(" ,|:")
    return start if has_digit(start[len(heading) :]) else ""


def _words(text: str, tokens: int, counter: TokenCounter) -> str:
    """Return the first words of a text that fit, but not all of them."""
    words = text.split(" ")
    count = bisect_right(range(1, len(words)), tokens, key=lambda count: counter.upper(" ".join(words[:count])))
    return " ".join(words[:count])


def _read(fact: Fact) -> _Row:
    label, _, columns = fact.note.partition("\t")
    found, cells = _CALL.fullmatch(label), _cells(fact.text, columns)
    if found is None or not columns:
        return _Row(fact, label, "", "", columns, cells)
    return _Row(fact, found[1], found[2], found[3] or "", columns, cells)


def _told_apart(rows: Sequence[_Row]) -> list[_Row]:
    """Add the number of the message to lines of calls whose names are equal where they are cut: they may be of other days."""
    positions: dict[str, set[int]] = {}
    for row in rows:
        if not row.columns and _CUT.search(row.tool):
            positions.setdefault(row.tool, set()).add(row.fact.position)
    alike = {tool for tool, found in positions.items() if len(found) > 1 and min(found) >= 0}
    return [row._replace(tool=f"{row.tool} m{row.fact.position}") if row.tool in alike else row for row in rows]


def _reused(rows: Sequence[_Row]) -> Callable[[str, str, str], tuple[str, float]]:
    """Return a function from a tool, a column and its codes to their text and factor.

    Codes that no call took come first. They are worth more if calls took others of their column; of many of a column, in one
    result or in those of many calls, of which no call took any, few will be needed.
    """
    taken = {word.strip(",") for row in rows for word in row.asked.split()}
    listed: dict[str, set[str]] = {}
    for row in rows:
        for column, cell in (row.cells or {}).items():
            listed.setdefault(_kind_of(row.tool, column), set()).update(cell.split())

    def reused(tool: str, column: str, cell: str) -> tuple[str, float]:
        codes, every = sorted(cell.split(), key=taken.__contains__), listed[_kind_of(tool, column)]
        new = sum(code not in taken for code in codes) / max(1, len(codes))
        likely = min(1.0, _LIKELY * len(taken & every) / len(every))
        factor = (1.0 - likely) * sqrt(min(1.0, _LISTED_MAX / len(every))) + likely * (1.0 + _REUSED * new)
        return " ".join([column, *codes]), factor

    return reused


def _repeats(rows: Sequence[_Row]) -> Callable[[_Row], float]:
    """Return a function from a row to its factor: below 1 for what a tool says again but for numbers, 1 for the newest."""

    def key(row: _Row) -> tuple[str, str]:
        return row.tool.partition("(")[0], row.fact.text.translate(_DIGITS)

    said: dict[tuple[str, str], list[int]] = {}
    for row in rows:
        if not row.columns:
            said.setdefault(key(row), []).append(row.fact.position)

    def repeats(row: _Row) -> float:
        found = [] if row.columns else said[key(row)]
        is_new = len(found) <= _SAID_MAX or row.fact.position == found[-1]
        return 1.0 if is_new else sqrt(_SAID_MAX / len(found))

    return repeats


def _kind_of(tool: str, column: str) -> str:
    """Return what names the kind of a column's codes: the column, or with a bare `id` the tool as well."""
    return f"{tool} {column}" if column in ID_ENDINGS else column


def _shared(rows: Sequence[_Row]) -> dict[str, str]:
    """The cells that are equal in all rows, by column."""
    cells = rows[0].cells or {}
    for row in rows[1:]:
        own = row.cells or {}
        cells = {column: cell for column, cell in cells.items() if own.get(column) == cell}
    return cells


def _cells(text: str, columns: str) -> dict[str, str] | None:
    cells, names = text.split(", "), columns.split(" ")
    if len(cells) != len(names) or len(set(names)) != len(names):
        return None
    return {name: cell.removeprefix(f"{name} ") for name, cell in zip(names, cells, strict=True)}


def _shown(row: _Row, shared: dict[str, str] | None, *, has_many_calls: bool) -> tuple[str, str]:
    """Return the text of a row and its heading."""
    cells = row.cells
    if shared is None or cells is None:
        place, asked = _heading(row, "", {}, has_many_calls=has_many_calls)
        name = " ".join(filter(None, (asked, row.name)))
        return f"{name}: {row.fact.text}" if name else row.fact.text, place
    columns = " ".join(column for column in cells if column not in shared)
    text = " | ".join(cell for column, cell in cells.items() if column not in shared)
    heading, asked = _heading(row, columns, shared, has_many_calls=has_many_calls)
    return f"{asked}: {text}" if asked else text, heading


def _heading(row: _Row, columns: str, shared: dict[str, str], *, has_many_calls: bool) -> tuple[str, str]:
    """Return the heading of a row's table, and which call the row is of, if there are several."""
    place = f"{row.tool}({row.asked})" if row.asked and not has_many_calls else row.tool
    same = "; ".join(f"{column} {line(cell, _SHARED_CHARS_MAX)}" for column, cell in shared.items())
    if columns or same:
        place = f"{' '.join(filter(None, (place, row.name)))} [{'; '.join(filter(None, (columns, same)))}]"
    return place, row.asked if has_many_calls and row.asked not in row.fact.text else ""


def _ranked(made: Sequence[Item], again: Sequence[float]) -> list[Item]:
    """Greedy by what an item adds for its length, repeated at least the part `again`. Lazy evaluation keeps it near linear."""
    values = [frozenset(codes_in(item.text)) for item in made]
    worth: list[float] = [item.value / (estimate(item.text) + 4) ** _SIZE_WEIGHT for item in made]
    seen: set[str] = set()

    def gain(at: int) -> float:
        new = len(values[at] - seen) / len(values[at]) if values[at] else 1.0
        return -worth[at] * (again[at] + (1 - again[at]) * new)

    heap = [(gain(at), at) for at in range(len(made))]
    heapify(heap)
    ranked: list[Item] = []
    while heap:
        _, at = heap[0]
        now = gain(at)
        if len(heap) > 1 and now > min(heap[1:3])[0] + 1e-9:
            heapreplace(heap, (now, at))
            continue
        heappop(heap)
        kind, text, _, order, group, label, _ = made[at]
        ranked.append(Item(kind, text, float(len(made) - len(ranked)), order, group, label))
        seen |= values[at]
    return ranked
