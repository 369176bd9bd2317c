"""Which policy holds where none is named."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import plimsoll

RULE = (
    "Where no policy is named, a call that fits messages uses the whole budget (`fill`), a session, and `check`, which says when one is "
    "due, act early by load lines (`ladder`), and `window` is the preset `five-turns`."
)
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("call", "policy"),
    [
        (plimsoll.fit, "fill"),
        (plimsoll.afit, "fill"),
        (plimsoll.plan, "fill"),
        (plimsoll.inspect, "fill"),
        (plimsoll.check, "ladder"),
        (plimsoll.window, "five-turns"),
    ],
)
def test_the_default_of_a_call(call: Any, policy: str) -> None:
    """As its signature says."""
    assert inspect.signature(call).parameters["policy"].default == policy


def test_the_default_of_a_session() -> None:
    """Of a new one; a stored one keeps its own."""
    with plimsoll.open("new", store="memory:", max_tokens=1_000) as session:
        assert session.policy.name == "ladder"


@pytest.mark.parametrize("page", ["README.md", "docs/library.md"])
def test_the_rule_is_one_sentence(page: str) -> None:
    """The same wherever it is told."""
    assert RULE in re.sub(r"\s+", " ", (ROOT / page).read_text(encoding="utf-8"))
