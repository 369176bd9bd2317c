"""Every feature and every fault of the specification has a test that carries its id: `@pytest.mark.spec("W0-04")`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

COUNTS = {"S0": 42, "S1": 57, "S2": 35, "S3": 25, "WE": 11, "W0": 21, "W1": 34, "W2": 13, "W3": 20}
"""How many ids each part of the specification has, numbered from 01."""

LATER: dict[str, str] = {}
"""Ids whose feature is not built yet, and what they wait for; they leave the table as it is built."""


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


@pytest.mark.slow
def test_every_id_has_a_test(marked: set[str]) -> None:
    """No feature and no fault is without a test, but for those that wait."""
    assert sorted(numbers() - marked - LATER.keys()) == []


@pytest.mark.slow
def test_marks_name_what_there_is(marked: set[str]) -> None:
    """No mark names an id that the specification does not have."""
    assert sorted(marked - numbers()) == []
