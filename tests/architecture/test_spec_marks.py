"""Every feature and every fault of the specification has a test that carries its id: `@pytest.mark.spec("W0-04")`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

COUNTS = {"S0": 42, "S1": 57, "S2": 35, "S3": 25, "WE": 11, "W0": 21, "W1": 34, "W2": 13, "W3": 20}
"""How many ids each part of the specification has, numbered from 01."""

LATER = {
    **dict.fromkeys(
        ("S2-02", "S2-04", "S2-05", "S2-21", "S2-22", "S2-23", "S2-24", "S2-25", "S2-26", "W2-07"), "the memory"
    ),
}
"""Ids whose feature is not built yet, and what they wait for; they leave the table as it is built."""

UNMARKED = frozenset(
    (
        "S0-02 S0-04 S0-05 S0-06 S0-07 S0-09 S0-15 S0-16 S0-19 S0-20 S0-22 S0-23 S0-24 S0-25 S0-29 S0-31 S0-34 S0-35 "
        "S0-38 S0-39 S0-41 S0-42 S1-01 S1-02 S1-03 S1-04 S1-06 S1-09 S1-13 S1-24 S1-25 S1-26 S1-29 S1-31 S1-32 S1-33 "
        "S1-36 S1-42 S1-44 S1-46 S1-47 S1-49 S1-51 S1-52 S1-53 S1-55 S1-56 S1-57 S2-01 S2-08 S2-12 S2-13 S2-16 S2-27 "
        "S2-28 S2-29 S2-30 S2-31 S2-32 S2-33 S2-34 S2-35 S3-01 S3-04 S3-06 S3-07 S3-11 S3-12 S3-14 S3-19 S3-22 S3-24 "
    ).split()
)
"""Ids that are tested and whose test does not carry them yet."""


def marked_in(tree: ast.AST) -> Iterator[str]:
    """The ids that the marks of one file carry."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.mark.spec":
            yield from (argument.value for argument in node.args if isinstance(argument, ast.Constant))


@pytest.fixture(scope="module")
def marked() -> set[str]:
    """Every id that a test carries."""
    files = TESTS.rglob("test_*.py")
    return {name for path in files for name in marked_in(ast.parse(path.read_text("utf-8")))}


def numbers() -> set[str]:
    """Every id there is."""
    return {f"{part}-{number:02}" for part, count in COUNTS.items() for number in range(1, count + 1)}


def test_every_id_has_a_test(marked: set[str]) -> None:
    """No feature and no fault is without a test, but for those that wait."""
    assert sorted(numbers() - marked - LATER.keys() - UNMARKED) == []


def test_marks_name_what_there_is(marked: set[str]) -> None:
    """No mark names an id that the specification does not have, and no id waits for a mark that it has."""
    assert sorted(marked - numbers()) == []
    assert sorted(UNMARKED & marked) == []
