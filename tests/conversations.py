"""The real conversations that lie beside the checkout, in OpenAI chat form and in Anthropic's."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import plimsoll

PLACE = Path(__file__).parents[1].parent / "shared" / "evals" / "convs"

Wire = dict[str, Any]


@cache
def conversations() -> dict[str, list[Wire]]:
    """Every conversation by its id, in OpenAI chat form. Skips the test where they are not there."""
    found = {}
    for path in sorted(PLACE.glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            found[row["id"]] = row["messages"]
    if not found:
        pytest.skip("the conversations of ../shared/evals are not beside this checkout")
    return found


@cache
def anthropic(id: str) -> tuple[list[Wire], Any]:
    """One conversation as Anthropic's messages and the system text beside them."""
    made = plimsoll.convert(conversations()[id], to="anthropic", format="openai-chat")
    return made.messages, made.system


@cache
def longest() -> list[str]:
    """Ids by the length of what they say, longest first."""
    return sorted(conversations(), key=lambda name: -len(json.dumps(conversations()[name])))
