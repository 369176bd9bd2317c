"""What fits and is valid goes back as it came, without the machinery that compacts: with the same result as through it."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import plimsoll
from generated import FORMATS, random_broken_history, random_history
from hostile import random_hostile_history
from plimsoll.errors import PlimsollError

MAKERS = (random_history, random_broken_history, random_hostile_history)
CASES = 600


def answer(call: Any, messages: list[dict[str, Any]], options: dict[str, Any]) -> dict[str, Any] | str:
    """What comes of a call, as data."""
    try:
        found = call(messages, **options)
        return (found if isinstance(found, plimsoll.Fitted) else found.apply()).to_dict()
    except PlimsollError as error:
        return f"{type(error).__name__}: {error}"


def case_of(number: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Any kind of history, in a budget that it mostly fits into."""
    rng = random.Random(number)
    format = FORMATS[number % len(FORMATS)]
    messages = rng.choice(MAKERS)(rng, format)
    options: dict[str, Any] = {"format": format, "policy": rng.choice(("fill", "fill", "ladder", "graded-200k"))}
    if format == "anthropic":
        options["system"] = rng.choice(
            (
                None,
                "Be brief.",
                [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
                [{"type": "text", "text": " "}],
            )
        )
    if rng.random() < 0.3:
        schema: dict[str, Any] = {"type": "object", "properties": {}}
        options["tools"] = [{"name": "look", "input_schema": schema, "cache_control": {"type": "ephemeral"}}]
    tokens = plimsoll.count_tokens(messages, format=format) + 800
    options |= {
        "max_tokens": int(tokens * rng.choice((0.9, 1.0, 1.3, 2.0))) + 1,
        "model": rng.choice(("gpt-4o", "claude-sonnet-4-5")),
    }
    return messages, options


@pytest.mark.slow
@pytest.mark.parametrize("start", range(0, CASES, 50))
def test_fit_gives_what_its_plan_leads_to(start: int) -> None:
    """Messages, origins, system text and report are equal, and so are the errors. The input stays as it was."""
    for number in range(start, start + 50):
        messages, options = case_of(number)
        before = json.dumps(messages)
        assert answer(plimsoll.fit, messages, options) == answer(plimsoll.plan, messages, options), number
        assert json.dumps(messages) == before


def test_what_is_handed_out_can_be_changed() -> None:
    """Neither the input nor the report goes by it."""
    messages = [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]
    fitted = plimsoll.fit(messages, max_tokens=100)
    fitted.messages[0]["content"][0]["text"] = "long " * 500
    assert messages[0]["content"] == [{"type": "text", "text": "Hello"}]
    assert fitted.report.tokens_after == plimsoll.count_tokens(messages)
