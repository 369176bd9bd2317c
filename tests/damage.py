"""Damage to files of lines: what disks, editors, synchronised folders and other programs do to them, and fields that nobody expects."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

Lines = list[bytes]
Damage = Callable[[Lines, random.Random], bytes]

ODD: tuple[Any, ...] = (
    *(None, "", 0, -1, 1.5, True, [], {}, [None], [[]], {"a": 1}, "\ud800", 10**30, ["x"], "user", "assistant"),
    *([{"type": "text"}], [{"type": "text", "text": None}], [{"type": "tool_result"}], "tool_use"),
)
GARBAGE = (
    *(
        b"{}\n",
        b"[]\n",
        b"null\n",
        b'"x"\n',
        b"\n",
        b"\xff\xfe\n",
        b'{"type":"user"}\n',
        b'{"type":"message","id":1}\n',
    ),
    b'{"type":"response_item","payload":null}\n',
    b'{"type":"assistant","uuid":"u","message":{"content":[null,{"type":"tool_use"}]}}\n',
)


def damaged(raw: bytes, chance: random.Random) -> bytes:
    """The file after one kind of damage."""
    return chance.choice(KINDS)(raw.splitlines(keepends=True), chance)


def _span(lines: Lines, chance: random.Random) -> tuple[int, int]:
    start, end = sorted(chance.sample(range(len(lines) + 1), 2))
    return start, end


def cut_at_a_byte(lines: Lines, chance: random.Random) -> bytes:
    """What is there of a file that was not copied to its end."""
    raw = b"".join(lines)
    return raw[: chance.randrange(1, len(raw))]


def begun_at_a_byte(lines: Lines, chance: random.Random) -> bytes:
    """The end of a file."""
    raw = b"".join(lines)
    return raw[chance.randrange(1, len(raw)) :]


def cut_between_lines(lines: Lines, chance: random.Random) -> bytes:
    """Some whole lines from anywhere in the file."""
    start, end = _span(lines, chance)
    return b"".join(lines[start:end])


def without_lines(lines: Lines, chance: random.Random) -> bytes:
    """One line, a run of lines, or one in five is missing."""
    start, end = _span(lines, chance)
    gone: set[int] | range = chance.choice([range(start, start + 1), range(start, end)])
    if chance.random() < 0.5:
        gone = {number for number in range(len(lines)) if chance.random() < 0.2}
    return b"".join(line for number, line in enumerate(lines) if number not in gone)


def in_another_order(lines: Lines, chance: random.Random) -> bytes:
    """A run of lines backwards, or shuffled, or two lines in each other's place."""
    start, end = _span(lines, chance)
    run = lines[start:end]
    orders = (run[::-1], chance.sample(run, len(run)), [*run[-1:], *run[1:-1], *run[:1]] if len(run) > 1 else run)
    return b"".join([*lines[:start], *chance.choice(orders), *lines[end:]])


def with_lines_twice(lines: Lines, chance: random.Random) -> bytes:
    """A line somewhere else again, a run of lines twice, or the whole file twice."""
    start, end = _span(lines, chance)
    again = [*lines[:start], chance.choice(lines), *lines[start:]]
    return b"".join(chance.choice([again, [*lines[:end], *lines[start:]], [*lines, *lines]]))


def with_other_bytes(lines: Lines, chance: random.Random) -> bytes:
    """Some bits are turned over, or a block was never written."""
    raw = bytearray(b"".join(lines))
    for _ in range(chance.choice([1, 30])):
        raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)
    start = chance.randrange(len(raw))
    if chance.random() < 0.3:
        raw[start : start + 512] = bytes(512)
    return bytes(raw)


def with_other_line_ends(lines: Lines, chance: random.Random) -> bytes:
    """Written by another system, or with two lines on one."""
    start, _ = _span(lines, chance)
    joined = [*lines[:start], *(line.rstrip(b"\n") for line in lines[start : start + 1]), *lines[start + 1 :]]
    return chance.choice([b"".join(lines).replace(b"\n", b"\r\n"), b"".join(joined)])


def with_garbage(lines: Lines, chance: random.Random) -> bytes:
    """A line that no tool writes."""
    start, _ = _span(lines, chance)
    return b"".join([*lines[:start], chance.choice(GARBAGE), *lines[start:]])


def with_odd_fields(lines: Lines, chance: random.Random) -> bytes:
    """Fields gone, or with values of another kind, in one line or in many."""
    changed = list(lines)
    for _ in range(chance.choice([1, 25])):
        number = chance.randrange(len(lines))
        value = json.loads(changed[number])
        _change_a_field(value, chance)
        changed[number] = json.dumps(value).encode() + b"\n"
    return b"".join(changed)


def _change_a_field(value: Any, chance: random.Random) -> None:
    places: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        found = waiting.pop()
        inside = list(found) if isinstance(found, dict) else range(len(found)) if isinstance(found, list) else ()
        places += [(found, key) for key in inside]
        waiting += [found[key] for key in inside]
    if not places:
        return
    holder, key = chance.choice(places)
    if chance.random() < 0.3:
        del holder[key]
    else:
        holder[key] = chance.choice([*ODD, [holder[key]]])


KINDS: tuple[Damage, ...] = (
    cut_at_a_byte,
    begun_at_a_byte,
    cut_between_lines,
    without_lines,
    in_another_order,
    with_lines_twice,
    with_other_bytes,
    with_other_line_ends,
    with_garbage,
    with_odd_fields,
)
"""Every kind of damage. Each gives the bytes of the damaged file."""
