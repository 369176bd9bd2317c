"""Any Python value that a tool may return: shrunk without an exception, within the limit, and never larger than it was."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import json
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

import plimsoll
from plimsoll.truncation.tool_results import render_result

PER_SEED = 100


class Loud:
    """A value on which everything raises."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    def __repr__(self) -> str:
        raise RuntimeError

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]


class LoudMapping(Mapping[str, int]):
    """A mapping that cannot be read."""

    def __getitem__(self, key: str) -> int:
        raise OSError(key)

    def __iter__(self) -> Iterator[str]:
        yield "a"
        raise OSError

    def __len__(self) -> int:
        raise OSError


class LoudList(list[Any]):
    """A list whose items cannot be read."""

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError


class OddText(str):
    """A text that says another thing of itself."""

    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError

    def __len__(self) -> int:
        return 10**9


class OddNumber(float):
    """A number that cannot be subtracted."""

    def __sub__(self, other: Any) -> Any:
        raise ArithmeticError


class LoudError(Exception):
    """An exception without a text."""

    def __str__(self) -> str:
        raise RuntimeError


class Colour(enum.Enum):
    """A member of a set of names."""

    RED = 1


@dataclasses.dataclass
class Row:
    """A record, as tools return them."""

    name: str
    inside: Any


Pair = collections.namedtuple("Pair", "left right")  # noqa: PYI024 - as programs have them


def circle(rng: random.Random) -> Any:
    """A value that is in itself."""
    value: dict[str, Any] = {"rows": [rng.random()]}
    value["rows"].append(rng.choice([value, value["rows"], [value]]))
    return value


def deep(rng: random.Random) -> Any:
    """A value ten thousand levels deep, of lists or objects, or its text."""
    kind = rng.randrange(4)
    if kind > 1:
        return "[" * 10_000 + "]" * 10_000 if kind == 2 else '{"a":' * 10_000 + "1" + "}" * 10_000
    value: Any = "leaf"
    for _ in range(10_000):
        value = [value] if kind else {"a": value}
    return value


WORDS = (
    "error",
    "ok",
    "0",
    "\x1b[31m",
    "\r",
    "\n",
    "\t",
    ",",
    "文",
    "\ud800",
    "\x00",
    "{",
    '"',
    "a.py:3:",
    "diff --git ",
    "<html>",
)


def text(rng: random.Random) -> str:
    """A text of odd words, of some of which there are many."""
    words = [*rng.choices(WORDS, k=rng.randrange(1, 12)), chr(rng.randrange(0x11000))]
    return "".join(rng.choices(words, k=rng.randrange(2_000))) * rng.choice([1, 1, 1, 9])


LEAVES: tuple[Callable[[random.Random], Any], ...] = (
    lambda rng: rng.choice([None, False, True, 0, 0.0, "", b"", [], {}, (), set()]),
    lambda rng: rng.choice([float("nan"), float("inf"), -float("inf"), OddNumber(2), 10**5_000, -(10**400), 1j]),
    lambda rng: rng.randbytes(rng.randrange(400)),
    lambda rng: bytearray(b"ab\xff" * rng.randrange(4)),
    lambda rng: memoryview(rng.randbytes(8)).cast("i"),
    lambda _: Loud(),
    lambda _: LoudError(),
    lambda _: ValueError("no such file"),
    lambda rng: rng.choice(
        [Colour.RED, Row, len, Ellipsis, iter([1]), (n for n in [1]), dt.date.max, decimal.Decimal("NaN")]
    ),
    lambda rng: Row("x", rng.choice([1, Loud()])),
    lambda _: Pair(1, "b"),
    lambda _: LoudMapping(),
    lambda _: LoudList([1, 2]),
    lambda _: OddText("odd"),
    lambda rng: rng.choice(
        [range(10**9), collections.deque([1, 2]), frozenset({1, "a", None}), {1.5: 2, None: 3, (1, 2): 4}]
    ),
    text,
    circle,
    deep,
)


def value_of(rng: random.Random, depth: int = 3) -> Any:
    """A random value, often of many rows alike."""
    kind = rng.randrange(5) if depth else 0
    if kind == 1:
        return [value_of(rng, depth - 1) for _ in range(rng.randrange(6))] * (40 if depth == 1 else 1)
    if kind == 2:
        return {rng.choice(WORDS) * rng.randrange(3): value_of(rng, depth - 1) for _ in range(rng.randrange(6))}
    if kind == 3:
        return [
            {"id": n, "state": rng.choice(["ok", "ok", "failed"]), "x": value_of(rng, 0)}
            for n in range(rng.randrange(60))
        ]
    return rng.choice(LEAVES)(rng)


def check(seed: int, count: int) -> None:
    """So many values: the result is text within the limit, or the whole, and the same at a second call on its own text."""
    rng = random.Random(seed)
    for _ in range(count):
        value, cap = value_of(rng), rng.choice([0, 1, 7, 40, 120, 300, 1_000])
        query = rng.choice([None, None, "error of a.py", "\ud800 文 0"])
        shrunk = plimsoll.shrink(rng.choice(["bash", "", "grep\n"]), value, max_tokens=cap, query=query)

        assert type(shrunk.text) is str
        assert shrunk.tokens_after == plimsoll.count_tokens(shrunk.text)
        assert shrunk.tokens_after <= max(cap, 1)
        assert shrunk.tokens_after <= max(shrunk.tokens_before, 1)
        assert plimsoll.shrink("bash", shrunk.text, max_tokens=max(cap, 1)).text == shrunk.text


@pytest.mark.spec("W3-15")
def test_any_result_is_shrunk() -> None:
    """Circles, bytes, NaN, ten thousand levels, falsy values, and objects on which everything raises."""
    check(0, 8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 6))
def test_many_results_are_shrunk(seed: int) -> None:
    """The same for some hundreds."""
    check(seed, PER_SEED)


@pytest.mark.soak
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_ten_thousand_results_are_shrunk(seed: int) -> None:
    """The same for ten thousand in all."""
    check(seed, PER_SEED)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (ValueError("no such file"), '"ValueError: no such file"'),
        (LoudError(), '"[LoudError]"'),
        (Row("x", Loud()), '{"name":"x","inside":"[Loud]"}'),
        (Pair(1, "b"), '{"left":1,"right":"b"}'),
        (Colour.RED, '"Colour.RED"'),
        (collections.deque([1, 2]), "[1,2]"),
        (LoudMapping(), '"[LoudMapping]"'),
        ([LoudList([1])], '["[LoudList]"]'),
        ([OddText("odd")], '["odd"]'),
    ],
)
def test_records_and_exceptions_have_a_text(value: Any, text: str) -> None:
    """What they hold, and their kind where they cannot be read."""
    assert render_result(value) == text


def test_a_circle_through_a_record_ends() -> None:
    """As one through lists does."""
    row = Row("x", None)
    row.inside = [row]

    assert json.loads(render_result(row)) == {"name": "x", "inside": ["[circular]"]}
