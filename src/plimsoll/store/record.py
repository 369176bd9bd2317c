"""The record codec: one record per line. Pure functions; `docs/format.md` specifies the bytes.

    {"n": 17, "m": 12, "k": "message", "t": 1763000000000, "d": {"role":"user"}, "c": "8d3f01aa"}

Both the envelope and the payload are ASCII, but only the envelope has a space after each colon and comma. Quotes inside
strings are escaped, so the six bytes `{"n": ` occur at the start of a record and nowhere else: records can be found again
after damage, and message text cannot imitate one.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NoReturn

from plimsoll.errors import FormatError, LimitExceeded
from plimsoll.formats.wire import ascii_text
from plimsoll.light.dataclass import dataclass
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.limits import RECORD_NESTING_MAX, RECORD_NODES_MAX, RECORD_SIZE_BYTES_MAX
from plimsoll.protocols import Record, RecordDraft

FORMAT: Final = 1
"""Format version written by this module, stored in the session record."""

KINDS: Final = frozenset({"session", "message", "compaction", "rollback", "edit", "pin", "usage", "blob", "note"})
"""Record kinds known to this version."""

START: Final = b'{"n": '
SEAL_SIZE_BYTES: Final = 18
"""`, "c": "` + 8 hexadecimal digits + `"}`."""

RECORD_SIZE_BYTES_MIN: Final = 48
"""A damaged line shorter than this was never a record: an empty line, or part of a broken one."""

_KIND = regex(r"[a-z][a-z0-9_.-]{0,31}")
_SEALED = regex(rb', "c": "[0-9a-f]{8}"\}')
_INTEGER_MAX: Final = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A line that is not a record, with the reason."""

    reason: str


class Span(NamedTuple):
    """A stretch of a log: one record, or bytes that are not a record."""

    offset: int
    """Byte offset; in a store that keeps records by number, the number."""
    line: bytes
    """The bytes without a newline. Empty if too many to hold."""
    size_bytes: int
    record: Record | None
    reason: str


def encode(draft: RecordDraft, *, seq: int, position: int, at_ms: int, batch_left: int = 0) -> bytes:
    """The line of a record, with its newline. A surrogate pair in two halves reads back as one character, a limit of JSON.

    Raises FormatError for a kind or payload that would not read back as it is, LimitExceeded if nested too deeply or too large.
    """
    return _encoded(draft, seq, position, at_ms, batch_left)[0]


def _encoded(draft: RecordDraft, seq: int, position: int, at_ms: int, batch_left: int) -> tuple[bytes, bool]:
    """The line, and whether it reads back as the same payload."""
    kind = draft.kind
    is_known = isinstance(kind, str) and kind in KINDS
    if not is_known and not (isinstance(kind, str) and _KIND.fullmatch(kind)):
        raise FormatError("a record's kind is 1 to 32 of a-z, 0-9, '.', '_' and '-', beginning with a letter")
    if not isinstance(at_ms, int) or abs(at_ms) > _INTEGER_MAX:
        raise FormatError("a record's time is a whole number of milliseconds")
    payload, is_same = payload_text(draft.data) if draft.text is None else (draft.text, True)
    extra = f'"b": {batch_left}, ' if batch_left else ""
    must = '"r": 1, ' if draft.required else ""
    body = f'{{"n": {seq}, "m": {position}, "k": "{kind}", "t": {int(at_ms)}, {extra}{must}"d": {payload}'.encode(
        "ascii"
    )
    line = b"%b%b\n" % (body, seal(body))
    if len(line) > RECORD_SIZE_BYTES_MAX + 1:
        raise LimitExceeded("RECORD_SIZE_BYTES_MAX", allowed=RECORD_SIZE_BYTES_MAX, found=len(line) - 1)
    return line, is_same and is_known


def seal(body: bytes | memoryview) -> bytes:
    """The end of a line: the CRC-32 (IEEE 802.3, as in zlib) of the bytes before it."""
    return b', "c": "%08x"}' % zlib.crc32(body)


def encode_batch(
    drafts: Sequence[RecordDraft], *, seq: int, position: int, now_ms: int
) -> tuple[list[bytes], list[Record]]:
    """Lines for the records of one append, and the records as they will be read back."""
    lines, records = [], []
    left = len(drafts)
    for number, draft in enumerate(drafts, seq):
        left -= 1
        at_ms = now_ms if draft.at_ms is None else draft.at_ms
        line, is_same = _encoded(draft, number, position, at_ms, left)
        lines.append(line)
        made = (
            Record(number, position, draft.kind, at_ms, draft.data, draft.required, left) if is_same else _decoded(line)
        )
        records.append(made)
        position += draft.kind == "message"
    return lines, records


def _decoded(line: bytes) -> Record:
    """Decode a line that was just encoded."""
    record = decode(line.removesuffix(b"\n"))
    assert isinstance(record, Record)
    return record


def payload_text(data: Mapping[str, Any]) -> tuple[str, bool]:
    """The payload as compact ASCII JSON, and whether it reads back unchanged. Raises FormatError or LimitExceeded.

    JSON has no tuples and joins adjacent surrogate halves.
    """
    if not isinstance(data, dict):
        data = dict(data) if isinstance(data, Mapping) else _refuse(type(data).__name__)
    has_tuples = _check(data)
    try:
        text = ascii_text(data)
    except ValueError as error:  # NaN, infinities, and integers too long for Python to print
        raise FormatError(f"a record's payload is not JSON: {error}") from None
    return text, not (has_tuples or "\\ud" in text)


def decode(line: bytes) -> Record | Unreadable:
    """Decode a line without its newline. Never raises: returns `Unreadable` for anything else."""
    if not line.startswith(START):
        return Unreadable(reason="not the beginning of a record")
    if line[-SEAL_SIZE_BYTES:] != seal(memoryview(line)[:-SEAL_SIZE_BYTES]):
        return Unreadable(reason="the checksum does not match")
    try:
        fields = _DECODER.decode(line.decode("ascii"))
    except (ValueError, RecursionError):
        return Unreadable(reason="not JSON")
    return _record(fields, line)


def spans(line: bytes, offset: int = 0) -> list[Span]:
    """The records in a line that should hold one, and the bytes between them. Only a damaged line yields more than one span.

    `offset` is the offset of the line. Takes linear time.
    """
    whole = decode(line)
    if isinstance(whole, Record):
        return [Span(offset, line, len(line), whole, "")]
    found: list[Span] = []
    at = 0
    for start, stop in _candidates(line):
        inner = decode(line[start:stop])
        if isinstance(inner, Record):
            if start > at:
                found.append(Span(offset + at, line[at:start], start - at, None, whole.reason))
            found.append(Span(offset + start, line[start:stop], stop - start, inner, ""))
            at = stop
    if at < len(line) or not found:
        found.append(Span(offset + at, line[at:], len(line) - at, None, whole.reason))
    return found


def _candidates(line: bytes) -> list[tuple[int, int]]:
    """Possible records in a damaged line: from each start mark to the first seal before the next start mark."""
    starts = [match.start() for match in re.finditer(re.escape(START), line)]
    pairs = []
    for start, end in pairwise([*starts, len(line)]):
        sealed = _SEALED.search(line, start, end)
        if sealed is not None:
            pairs.append((start, sealed.end()))
    return pairs


def _record(fields: Any, line: bytes) -> Record | Unreadable:
    """The record of decoded fields. Unknown fields are kept only in the raw line."""
    try:
        seq, position, at_ms, kind, data = fields["n"], fields["m"], fields["t"], fields["k"], fields["d"]
    except (KeyError, TypeError):
        return Unreadable(reason="a field is missing")
    left = fields.get("b", 0)
    if not (type(seq) is type(position) is type(left) is type(at_ms) is int) or min(seq, position, left) < 0:
        return Unreadable(reason="a number is invalid")
    if type(kind) is not str or type(data) is not dict:
        return Unreadable(reason="the kind is not a string, or the payload not an object")
    return Record(
        seq=seq,
        position=position,
        kind=kind,
        at_ms=at_ms,
        data=data,
        required="r" in fields,
        batch_left=left,
        raw=None if kind in KINDS else line,
    )


_SCALARS: Final = (str, int, float, type(None))  # bool is an int


def _check(data: dict[str, Any]) -> bool:
    """Refuse what `json` would change, or recurse into too deeply or endlessly. Returns True if there are tuples."""
    level: list[Any] = [data]
    nodes = 0
    has_tuples = False
    for _depth in range(RECORD_NESTING_MAX):
        below: list[Any] = []
        for value in level:
            children = _children(value)
            has_tuples = has_tuples or isinstance(value, tuple)
            nodes += len(children)
            if nodes > RECORD_NODES_MAX:
                raise LimitExceeded("RECORD_NODES_MAX", allowed=RECORD_NODES_MAX)
            below += [child for child in children if not isinstance(child, _SCALARS)]
        if not below:
            return has_tuples
        level = below
    raise LimitExceeded("RECORD_NESTING_MAX", allowed=RECORD_NESTING_MAX)


def _children(value: Any) -> Collection[Any]:
    if isinstance(value, dict):
        for key in value:
            if not isinstance(key, str):
                _refuse("a key that is not a str")
        return value.values()
    if isinstance(value, (list, tuple)):
        return value
    return _refuse(type(value).__name__)


def _refuse(what: str) -> NoReturn:
    raise FormatError(f"a record's payload is not JSON: {what}")


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


_DECODER = json.JSONDecoder(parse_constant=_no_constant)
