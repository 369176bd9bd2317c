"""Values in tool results with their labels: ids, hashes, ports, URLs, amounts, dates, `key: value`."""

from __future__ import annotations

import json
from collections import Counter
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

from plimsoll.light.regex import regex
from plimsoll.limits import LEDGER_JSON_CHARS_MAX, LEDGER_SCAN_CHARS_MAX
from plimsoll.summary.ledger.errors import is_error_line
from plimsoll.summary.ledger.fact import CAPS, ID_ENDINGS, Fact, is_flag, row_key
from plimsoll.summary.ledger.prose import plain
from plimsoll.summary.ledger.sentences import has_digit, line
from plimsoll.truncation.tables import header_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_VALUE_HINT = regex(r"[0-9@#$:][0-9a-fA-F/.][0-9a-zA-Z/.]")
"""Every value matches this, and it is fast to search; only lines with a match are parsed."""

_APART = r"\s,;|()\[\]{}\"'`"
_WORD = regex(rf"[^{_APART}]+")
_ASCII_CODE = regex(rf"(?<![^{_APART}])[^{_APART}0-9]*+[0-9][^{_APART}]*")
"""A word with a digit, found without making the others."""

_NUMBERED = regex(r"[^ ,\d]*+\d[^ ,]*")
"""A word of a row that has a digit: no other is a code."""

_CODE_CHARS_MIN = 3
_DURATION = regex(r"[0-9.]+(?:ns|us|µs|ms|s|m|h)")
_QUOTES = ".,;:!?()[]{}<>'\"`*|"
_WORDS_MAX = 40
_CLOCK = regex(r"\A\s{0,4}\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.,]{5,15}Z?\]?")
_OF_DIFF = regex(r"index [0-9a-f]{6,40}\.\.[0-9a-f]{6,40}|@@ -[0-9]")
"""What only a program reads of a diff."""

_MEASURED = regex(r"(?:[^\W\d][ =:]{1,3}-?[0-9]{1,9}\.[0-9]{2,9}\b.{0,80}?){2}")
"""Two measured numbers, each behind what it is of: `auc 0.7041 recall 0.4423`."""

_SHAPE = str.maketrans("123456789abcdef", "000000000000000")
_MARKS = dict.fromkeys([*range(48, 58), *range(65, 91), *range(97, 123)])
"""Leaves of a line, without ASCII letters and digits, the spaces and marks, which the rows of a table or a log have in common."""

_LINE_CHARS_MAX = 200
_HEADER_CHARS_MAX = 120
_LINES_MAX, _SHORT_CHARS = 10, 2_400
_ROWS_MAX = 12
_CODES_MAX = 12
CODES_KEY = "|codes"
"""End of the key of the row of all codes in a result."""

_CODES_WEIGHT = 1.8
_LINE_WEIGHT = 0.8
_ALIKE, _ALIKE_MIN = 0.6, 3
"""What a line is still worth of which the output has so many, with the same marks, and at least so many marks."""

_REPORT_LINES_MAX = 24
_TAGGED = regex(r"\A</?[a-z][\w-]*>|</[a-z][\w-]*>\Z")
"""A line with a tag at its start or end is what a program added to a report, such as its usage."""

_LINE_NUMBERS = regex(
    r"(?<=[^\W\d]):[0-9]{1,7}[-–][0-9]{1,7}\b(?!:)|\s?(?:\(|\bat )?\blines? [0-9]{1,7}(?:(?:[-–]|, | and )[0-9]{1,7})+\b\)?"
)
"""Line numbers from where to where: of 144 in recorded reports, later calls read from 3, and as many near by as by chance.

A time has a digit in front of its colon: "10:30-11:00"."""

_DONE_FACTOR = 2.5
"""How much more a row is worth that says what came of a call which did something."""

_FAILURES = frozenset({"error", "errors", "error_code", "fault"})
_REPORT_CHARS_MAX = 120
_SENTENCE_CHARS_MAX = 200
_DEPTH_MAX = 6
_FIELD_CHARS_MAX = 90
_EMPTY_VALUES = frozenset({"", "0", "no", "[]", "()"})
_EMPTY_CELLS_MAX = 2
"""Maximum number of cells with 0 or no in a row."""

_NUMBER_MIN = 1_000
"""A smaller number in a field of ids is a count or an index."""

_EXAMINED_MAX = 14  # candidates, of which some only repeat a shape
_ROW_CHARS_MAX = 140
_TABLE_CHARS_MAX = 200
_TABLE_WEIGHT = 1.5
"""What a small table is worth that is shown whole; of a larger one, the first rows are lines of output."""

_MORE_ROWS = " … "
_DECODER = json.JSONDecoder()


def from_json(text: str, label: str, position: int, *, is_done: bool = False) -> Iterator[Fact]:
    """Yield the codes in a JSON result by field name, then its rows, one fact per object.

    The first row of a call that did something (`is_done`) says what came of it, which nobody wants to do twice.

    Of a text longer than LEDGER_JSON_CHARS_MAX, only the objects in its first LEDGER_SCAN_CHARS_MAX characters are read.
    """
    values = _decoded(text)
    rows: list[tuple[str, str, str]] = []
    for value in values:
        _walk(value, "", rows, 0)
        if len(rows) >= _ROWS_MAX:
            break
    if len(rows) > 1:
        yield from _codes(values, label, position)
    spread = 1.0 if len(rows) <= 2 else 2 / len(rows)
    for name, schema, shown in rows[:_ROWS_MAX]:
        if schema and _repeats(shown, label):
            continue
        cut = line(shown, CAPS["identifier"].text_chars_max)
        named = sum([column.endswith(ID_ENDINGS) for column in schema.split(" ")])
        coded = sum(map(_is_code, _NUMBERED.findall(cut)))
        weight = (1.0 + 0.3 * min(3, named) + 0.25 * min(4, coded)) * (0.4 + 0.6 * spread)
        if not schema:
            weight = _LINE_WEIGHT if _MORE_ROWS in shown else _TABLE_WEIGHT
        if is_done and shown is rows[0][2] and _is_report(cut):
            weight *= _DONE_FACTOR
        heading = f"{label} {name}".strip()
        key = row_key(heading, schema, cut, is_nested=bool(name))
        yield Fact("identifier", key, cut, position, "tool", weight, note=f"{heading}\t{schema}")


def _repeats(row: str, label: str) -> bool:
    """Return whether the call says all cells of a row itself."""
    cells = [cell.partition(" ")[2] for cell in row.split(", ")]
    return all(len(cell) >= _CODE_CHARS_MIN and cell in label for cell in cells)


def _is_report(row: str) -> bool:
    """Return whether a row says what came of a call: an error, or a short one with a code, rather than the whole object.

    "ok yes" says less than the name of the call.
    """
    failed = any(
        name in _FAILURES and value not in _EMPTY_VALUES
        for name, _, value in (cell.partition(" ") for cell in row.split(", "))
    )
    return failed or (len(row) <= _REPORT_CHARS_MAX and bool(codes_in(row)))


def from_sentence(text: str, label: str, position: int, *, is_done: bool = False) -> Iterator[Fact]:
    """Yield a result of one line, which answers the call: an id, an amount, or that something was done."""
    shown = text.strip()
    if "\n" not in shown and len(shown) <= _SENTENCE_CHARS_MAX and (is_done or has_digit(shown)):
        is_known = "://" in shown and shown.rpartition("/")[2] in label  # the address of what the call names
        weight = _DONE_FACTOR if is_done and not is_known else 1.0
        yield Fact("identifier", f"{label}|{shown}", shown, position, "tool", weight, note=f"{label}\t")


def _codes(values: list[Any], label: str, position: int) -> Iterator[Fact]:
    """Yield one dense row of all codes in a result by field name, without those of the call that asked for it."""
    codes: dict[str, dict[str, None]] = {}
    _collect(values, "", codes, 0)
    cells = [(key, [code for code in found if code not in label][:_CODES_MAX]) for key, found in codes.items()]
    cells = [(key, found) for key, found in cells if found]
    if cells:
        shown = ", ".join(f"{key} {' '.join(found)}" for key, found in cells)
        cut, schema = line(shown, CAPS["identifier"].text_chars_max), " ".join(key for key, _ in cells)
        weight = _CODES_WEIGHT + 0.1 * min(6, sum(len(found) for _, found in cells))
        yield Fact("identifier", f"{label}{CODES_KEY}", cut, position, "tool", weight, note=f"{label}\t{schema}")


def from_lines(text: str, label: str, position: int, *, without_errors: bool = False) -> Iterator[Fact]:
    """Yield lines with a value; of lines with the same shape, only a few, and none `without_errors` that is an error.

    Lines made like several others are rows of a table or a log, and are worth less than a line that has no like.
    """
    shapes: Counter[str] = Counter()
    marks: Counter[str] = Counter()
    found: list[tuple[str, str, str]] = []
    limit = _LINES_MAX if len(text) < _SHORT_CHARS else _LINES_MAX // 2
    for whole in _hinted(text, _EXAMINED_MAX * 2 if len(text) < _SHORT_CHARS else _EXAMINED_MAX):
        raw = _CLOCK.sub("", whole[:600], count=1)
        shape, mark = raw[:60].translate(_SHAPE), raw[:60].translate(_MARKS)
        shapes[shape] += 1
        marks[mark] += 1
        if shapes[shape] > 3 or not _has_value(raw) or _OF_DIFF.match(raw) or (without_errors and is_error_line(raw)):
            continue
        shown = line(raw, _LINE_CHARS_MAX)
        if len(shown) >= 6:
            _, header = header_of(text, whole)
            found.append((shown, f"{label} [{line(header.strip(' |'), _HEADER_CHARS_MAX)}]" if header else label, mark))
            if len(found) >= limit:
                break
    for taken, (shown, named, mark) in enumerate(found):
        is_alike = min(marks[mark], len(mark)) >= _ALIKE_MIN
        weight = _LINE_WEIGHT / (1 + 0.1 * taken) * (_ALIKE if is_alike else 1.0)
        yield Fact("identifier", shown, shown, position, "tool", weight, note=f"{named}\t")


def _hinted(text: str, most: int) -> Iterator[str]:
    """Yield the first lines that may have a value, at most so many, then the last line of the text."""
    at = 0
    for _ in range(most):
        hint = _VALUE_HINT.search(text, at)
        if hint is None:
            return
        begin = text.rfind("\n", 0, hint.start()) + 1
        at = text.find("\n", hint.end())
        at = len(text) if at < 0 else at
        yield text[begin:at]
    rest = text[at:].rstrip()
    if rest:
        yield rest[rest.rfind("\n") + 1 :]


def _has_value(raw: str) -> bool:
    """Return whether one of the first words of a line is a value, or it has several measured numbers with what they are of."""
    return _MEASURED.search(raw[:400]) is not None or any(
        len(word) > 3 and not word.isalpha() and is_value(word) for word in raw[:400].split()[:_WORDS_MAX]
    )


def is_value(word: str) -> bool:
    """Return whether a word is an id, hash, long number, amount, address or labelled number; not a path, time or version."""
    bare = word.strip(_QUOTES)
    if "://" in bare or ("@" in bare and "." in bare):
        return True
    if bare[:1] in ("#", "$", "€", "£", "¥"):
        return bare[1:2].isdigit()
    label, mark, value = bare.partition("=") if "=" in bare else bare.rpartition(":")
    digits = sum(map(str.isdigit, value))
    if not digits or "/" in value or _DURATION.fullmatch(value) is not None:
        return False
    if digits == len(value):
        return digits >= 6 or (bool(mark) and digits >= 2 and label.isalpha())
    mixed = len(value) >= 6 and digits >= 2 and any(map(str.isalpha, value))
    return mixed or value.count(".") == 3


def is_output_line(fact: Fact) -> bool:
    """Return whether a value is a line of output: not a row of an object, nor a line of a report or of an earlier summary."""
    return fact.weight <= _LINE_WEIGHT and not fact.note.partition("\t")[2]


def codes_in(text: str) -> list[str]:
    """Return the words of a text that have a digit: ids, amounts, dates."""
    if text.isascii():
        return [word for word in _ASCII_CODE.findall(text) if len(word) >= _CODE_CHARS_MIN]
    return [word for word in _WORD.findall(text) if len(word) >= _CODE_CHARS_MIN and has_digit(word)]


def from_report(text: str, label: str, position: int) -> Iterator[Fact]:
    """Yield lines of a sub-agent's report that contain code, files or numbers, without line numbers, which edits change."""
    taken = 0
    for raw in text.split("\n", 240):
        bare = _LINE_NUMBERS.sub("", plain(raw))
        if (
            12 <= len(bare) <= 600
            and not _TAGGED.search(bare)
            and ("`" in bare or _VALUE_HINT.search(bare) is not None)
        ):
            shown = line(bare, _LINE_CHARS_MAX)
            yield Fact("identifier", shown, shown, position, "tool", 1.5 / (1 + 0.03 * taken), note=f"{label}\t")
            taken += 1
            if taken >= _REPORT_LINES_MAX:
                return


def _decoded(text: str) -> list[Any]:
    """Return the JSON values; of a text that is too long or no JSON, only complete objects near its start. Never raises."""
    if len(text) <= LEDGER_JSON_CHARS_MAX:
        try:
            return [json.loads(text)]
        except (ValueError, RecursionError):
            pass
    head, at = text[:LEDGER_SCAN_CHARS_MAX], 0
    found: list[Any] = []
    while len(found) < _ROWS_MAX and (at := head.find("{", at)) >= 0:
        try:
            value, at = _DECODER.raw_decode(head, at)
        except (ValueError, RecursionError):
            if found or at > 64:
                break
            at += 1
            continue
        found.append(value)
    return found


def _collect(around: dict[str, Any] | list[Any], name: str, codes: dict[str, dict[str, None]], depth: int) -> None:
    """Collect the id-like values in an object or a list by field name, at any depth up to the limit."""
    fields = islice(around.items(), 60) if isinstance(around, dict) else zip(repeat(name), around[: _ROWS_MAX * 2])
    for key, value in fields:
        if isinstance(value, str):
            if len(value) <= 40 and not value.isalpha() and _is_code(value.replace("-", "_")):
                codes.setdefault(key[:40], {})[value] = None
        elif isinstance(value, (dict, list)):
            if depth < _DEPTH_MAX:
                _collect(value, key[:40], codes, depth + 1)
        elif isinstance(value, int) and value >= _NUMBER_MIN and key[:40].endswith(ID_ENDINGS):
            codes.setdefault(key[:40], {})[str(value)] = None


def _walk(value: object, name: str, rows: list[tuple[str, str, str]], depth: int) -> None:
    """Collect `(name, schema, text)` for each object: the schema names its columns, the text holds their values."""
    if depth > _DEPTH_MAX or len(rows) >= _ROWS_MAX:
        return
    if isinstance(value, list) and (table := _table(value)):
        rows.append((name, "", table))
    elif isinstance(value, list):
        for item in value[: _ROWS_MAX * 2]:
            _walk(item, name, rows, depth + 1)
    elif isinstance(value, dict):
        _row(value, name, rows, depth)


def _table(rows: list[Any]) -> str:
    """Return a list of rows of scalars on one line: the first rows and the last. It is empty for any other list."""
    if len(rows) < 2 or not all(isinstance(row, list) and row and not isinstance(row[0], (list, dict)) for row in rows):
        return ""
    shown = ""
    for row in rows[:_ROWS_MAX]:
        told = _told(row)
        if shown and len(shown) + len(told) > _TABLE_CHARS_MAX:
            break
        shown += f"; {told}" if shown else told
    last = _told(rows[-1])
    return shown if shown.endswith(last) else f"{shown}{_MORE_ROWS}{last}"


def _told(row: list[Any]) -> str:
    return line(" | ".join(str(cell)[:60] for cell in row[:_ROWS_MAX]), _ROW_CHARS_MAX)


def _row(
    value: dict[str, Any], name: str, rows: list[tuple[str, str, str]], depth: int, of: tuple[str, str] | None = None
) -> None:
    """Collect the row of an object, and those of the objects in it; `of` is the id of the one around it."""
    shown = [(key, field, _cell(field)) for key, field in list(value.items())[:60]]
    nested = [(key, field) for key, field, cell in shown if cell is None]
    cells = _informative([(key[:40], cell) for key, _, cell in shown if cell is not None])
    if sum(len(cell) for _, cell in cells) > _ROW_CHARS_MAX:
        # A long row keeps its descriptive fields; its ids are collected as codes.
        cells = [pair for pair in cells if not _is_code(pair[1].replace("-", "_"))]
    own = next(((key, cell) for key, _, cell in shown if cell and key.endswith(ID_ENDINGS) and not is_flag(cell)), None)
    if cells:
        rows.append(_joined(name, cells if own or of is None else [of, *cells]))
    for key, field in nested:
        if isinstance(field, dict) and depth < _DEPTH_MAX and len(rows) < _ROWS_MAX:
            _row(field, key[:40], rows, depth + 1, own or of)
        else:
            _walk(field, key[:40], rows, depth + 1)


def _informative(cells: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Drop addresses that extend another cell's, and the empty values of a row that has many."""
    shown = [cell for _, cell in cells]
    idle, first = {""}, ""
    for address in sorted({cell for cell in shown if "://" in cell[:9]}) if "://" in "".join(shown) else ():
        if first and address.startswith(first):
            idle.add(address)
        else:
            first = address
    if sum(map(_EMPTY_VALUES.__contains__, shown)) > _EMPTY_CELLS_MAX:
        idle |= _EMPTY_VALUES
    return [pair for pair in cells if pair[1] not in idle]


def _joined(name: str, cells: list[tuple[str, str]]) -> tuple[str, str, str]:
    return name, " ".join([key for key, _ in cells]), ", ".join([f"{key} {cell}" for key, cell in cells])


def _cell(field: object) -> str | None:
    """Format scalars, lists of scalars and small flat objects. Returns None for a field that needs its own row, "" to skip it."""
    match field:
        case str() if len(field) <= _FIELD_CHARS_MAX and field.isprintable():  # as most fields are
            return field
        case None | bool():
            return "" if field is None else "yes" if field else "no"
        case int() | float() | str():
            return line(str(field), _FIELD_CHARS_MAX)
        case list() if all(isinstance(item, (str, int, float)) for item in field[:40]):
            return line(" ".join(str(item)[:60] for item in field[:40]), 200)
        case dict() if len(field) <= 4 and all(isinstance(item, (str, int, float)) for item in field.values()):
            cells = _informative([(key, str(item)[:60]) for key, item in field.items()])
            shown = " ".join(f"{key} {item}" for key, item in cells)
            return line(f"({shown})", 120) if shown else ""
        case _:
            return None


def _is_code(word: str) -> bool:
    """Return whether a word mixes letters and digits as ids do, unlike names, times and plain numbers."""
    if len(word) <= 4 or word.isalpha() or word.isdigit():  # most words are
        return False
    bare = word.replace("_", "")
    return bare.isalnum() and not bare.isalpha() and not bare.isdigit()
