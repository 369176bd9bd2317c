"""Views whose messages went out joined: what fits so is not cut because its parts would cost more apart."""

from __future__ import annotations

from typing import Any

import pytest

import plimsoll
from plimsoll.policy.policy import LoadLines, Policy
from plimsoll.summary.frame import omission

STRICT = Policy(name="strict", steps=("offload",), lines=LoadLines(soft=0.9, warn=0.92, hard=0.95, target=0.5))
SENTENCE = "The old crane moved a pallet to the next berth while the clerk wrote it down. "


def text(words: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": words}


@pytest.mark.slow
@pytest.mark.parametrize("marks", [1, 2, 3])
@pytest.mark.parametrize("policy", [STRICT, "fill", "ladder"])
def test_a_joined_view_that_fits_stays_as_it_is(marks: int, policy: Any) -> None:
    """In a budget of just its size, and of a few tokens more than that."""
    notices = [text(omission(3 + n, "en")) for n in range(marks)]
    view = [
        {"role": "user", "content": [text(SENTENCE * 2), *notices, text(SENTENCE)]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "run", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": SENTENCE * 6}]},
        {"role": "assistant", "content": SENTENCE.strip()},
    ]
    size = plimsoll.count_tokens(view, format="anthropic")
    for budget in range(size, size + 12 * marks + 4):
        fitted = plimsoll.fit(view, max_tokens=budget, format="anthropic", policy=policy)
        if policy != "ladder":
            assert fitted.messages == view
        again = plimsoll.fit(fitted.messages, max_tokens=budget, format="anthropic", policy=policy)
        assert again.messages == fitted.messages


@pytest.mark.parametrize("policy", ["fill", "ladder"])
def test_the_reported_size_is_that_of_the_merged_messages(policy: Any) -> None:
    """A summary that is sent in one message with the request before it costs one frame: the report counts what is sent."""
    words = "the load line of a ship " * 30
    messages = [
        {"role": role, "content": f"{number} {words}"} for number in range(12) for role in ("user", "assistant")
    ]
    whole = plimsoll.count_tokens(messages, format="anthropic")

    fitted = plimsoll.fit(messages, max_tokens=whole // 3, format="anthropic", policy=policy)

    assert isinstance(fitted.messages[0]["content"], list)
    assert fitted.report.tokens_after == plimsoll.count_tokens(fitted.messages, format="anthropic")
