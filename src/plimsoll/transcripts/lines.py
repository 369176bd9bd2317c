"""Parse untrusted JSON lines: size and depth are checked before the parser runs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from plimsoll.light.regex import regex
from plimsoll.limits import NESTING_DEPTH_MAX

if TYPE_CHECKING:
    from plimsoll.transcripts.values import Finding, SourceLine

_STRING = regex(rb'"[^"\\]*+(?:\\.?[^"\\]*+)*+"?', re.DOTALL)
# All quantifiers are possessive, and an unterminated string runs to the end: no backtracking, so it is linear.
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_BOM = b"\xef\xbb\xbf"
_TITLE_CHARS_MAX = 120


def too_deep(raw: bytes) -> bool:
    """Whether the JSON text nests deeper than NESTING_DEPTH_MAX. Linear, not recursive."""
    if raw.count(b"[") + raw.count(b"{") <= NESTING_DEPTH_MAX:
        return False
    depth = 0
    for byte in _STRING.sub(b"", raw).translate(None, _NOT_BRACKETS):
        depth += 1 if byte in b"[{" else -1
        if depth > NESTING_DEPTH_MAX:
            return True
    return False


def parse(raw: bytes) -> Any:
    """Parse one JSON text. Raises only ValueError: if it is not strict JSON, or nested too deeply."""
    if too_deep(raw):
        raise ValueError(f"nested deeper than {NESTING_DEPTH_MAX} levels")
    return _DECODER.decode(raw.removeprefix(_BOM).decode("utf-8", "replace"))


Reduce: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
"""Reduces a line to the fields that are used."""


def read_entries(
    lines: Iterable[bytes], *, start: int = 0, reduce: Reduce | None = None
) -> tuple[list[SourceLine], list[Finding]]:
    """Parse every line, reduce it, and report what is wrong."""
    from plimsoll.transcripts.values import SourceLine  # noqa: PLC0415 - not needed to parse one line

    entries: list[SourceLine] = []
    findings: list[Finding] = []
    for number, raw in enumerate(lines, start):
        value, finding = _read_line(number, raw)
        if value is not None and reduce is not None:
            value = reduce(value)
        entries.append(SourceLine(number=number, value=value))
        if finding is not None:
            findings.append(finding)
    return entries, findings


def with_torn_end(entries: Sequence[SourceLine], findings: Sequence[Finding]) -> list[Finding]:
    """The findings of lines without a final line feed: an unreadable last line is reported as torn."""
    if not findings or findings[-1].line != len(entries) - 1 or entries[-1].value is not None:
        return list(findings)
    torn = _finding(kind="torn-line", detail="the last line was not written to its end", line=len(entries) - 1)
    return [*findings[:-1], torn]


def _finding(*, kind: str, detail: str, line: int) -> Finding:
    from plimsoll.transcripts.values import Finding  # noqa: PLC0415 - as above

    return Finding(kind=kind, detail=detail, line=line)


def _read_line(number: int, raw: bytes) -> tuple[dict[str, Any] | None, Finding | None]:
    if not raw.strip():
        return None, None
    try:
        value = parse(raw)
    except ValueError as error:
        return None, _finding(kind="bad-line", detail=str(error)[:120], line=number)
    if not isinstance(value, dict):
        return None, _finding(kind="bad-line", detail="not a JSON object", line=number)
    if b"\xef\xbf\xbd" not in raw and not _is_utf8(raw):
        return value, _finding(kind="not-utf8", detail="bytes that are not UTF-8 were read as U+FFFD", line=number)
    return value, None


def _is_utf8(raw: bytes) -> bool:
    if raw.isascii():
        return True
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError("a number too large for a float")
    return number


_NAMES: dict[str, str] = {}
_NAMES_MAX = 1_000
"""Number of field names that are interned: they are a large part of the memory for many small lines."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(_NAMES) < _NAMES_MAX:
        return {_NAMES.setdefault(name, name): value for name, value in pairs}
    return {_NAMES.get(name, name): value for name, value in pairs}


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_object)


def dump(value: Mapping[str, Any]) -> str:
    """One line of JSON: compact and ASCII, so that no character inside ends the line."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)


def objects_in(lines: Iterable[bytes]) -> list[Mapping[str, Any]]:
    """The lines that are JSON objects, without those that are anything else or cut."""
    found: list[Mapping[str, Any]] = []
    for line in lines:
        try:
            value = parse(line) if line.removeprefix(_BOM).lstrip()[:1] == b"{" else None
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def first_text(values: Iterable[Mapping[str, Any]], key: str) -> str | None:
    """The first non-empty string that one of the objects has in a field; None if none has."""
    return next((text for value in values if (text := maybe_text(value.get(key))) is not None), None)


def text_of(value: object) -> str:
    """The value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def text_in(content: object) -> str:
    """The text of a message's content: a string, or the texts of its parts, joined by newlines."""
    if isinstance(content, str):
        return content
    return "\n".join(filter(None, (text_of(mapping_of(part).get("text")) for part in list_of(content))))


def maybe_text(value: object) -> str | None:
    """The value if it is a non-empty string, else None."""
    return value if isinstance(value, str) and value else None


def maybe_count(value: object) -> int | None:
    """The value if it is a non-negative integer, else None."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def mapping_of(value: object) -> Mapping[str, Any]:
    """The value if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """The value if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def title(text: str | None) -> str | None:
    """A text as a title: on one line, shortened at a word boundary; None if nothing is left."""
    shown = " ".join((text or "").split())
    if len(shown) <= _TITLE_CHARS_MAX:
        return shown or None
    head = shown[:_TITLE_CHARS_MAX]
    return f"{head.rpartition(' ')[0] or head}…"
