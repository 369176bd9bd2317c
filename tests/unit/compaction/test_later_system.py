"""System text between messages: the newest of it stays, up to its share of the goal."""

from __future__ import annotations

import json
from typing import Any

import pytest

import plimsoll

NOTE = "From now on every berth is checked twice before a pallet is moved there. " * 4


@pytest.mark.slow
@pytest.mark.parametrize("role", ["system", "developer"])
@pytest.mark.parametrize("format", ["openai-chat", "openai-responses"])
def test_the_newest_system_text_between_messages_stays(role: str, format: Any) -> None:
    """The oldest leaves first: what was said last is what holds."""
    messages: list[dict[str, Any]] = []
    for number in range(30):
        messages.append({"role": "user", "content": f"Go on with step {number}. " + "The crane is slow today. " * 8})
        messages.append({"role": "assistant", "content": f"Step {number} is done. " + "It took a while. " * 8})
        if number % 5 == 2:
            messages.append({"role": role, "content": f"ZQNOTE{number} {NOTE}"})
    view = plimsoll.fit(messages, max_tokens=1_500, policy="fill", format=format, query="step 1").messages
    kept = [number for number in range(30) if f"ZQNOTE{number} " in json.dumps([m for m in view if m["role"] == role])]

    assert kept
    assert kept[-1] == 27
    assert kept == [number for number in range(kept[0], 30) if number % 5 == 2]
    assert len(kept) < 6
