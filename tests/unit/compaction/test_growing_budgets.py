"""A larger budget keeps no fewer messages and constraints, but for what one whole exchange costs."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import plimsoll
from workloads import talk, work

RULES = (
    "Never push to the branch release-{}.",
    "Always run suite_{} before you commit.",
    "Do not touch the file config_{}.yaml.",
    "You must keep the API of module_{} stable.",
)
CONSTRAINTS = 20


def constrained(messages: list[dict[str, Any]], seed: int) -> tuple[list[dict[str, Any]], list[str]]:
    """The conversation with constraints all over it, and what each of them names."""
    rng = random.Random(seed)
    users = [at for at, message in enumerate(messages) if message["role"] == "user"]
    names = [f"{seed}{number:02}" for number in range(CONSTRAINTS)]
    for number, name in enumerate(names):
        at = users[number * len(users) // CONSTRAINTS]
        words = f"{messages[at]['content']}\n{rng.choice(RULES).format(name)}"
        messages[at] = {**messages[at], "content": words}
    return messages, names


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["fill", "ladder"])
@pytest.mark.parametrize("kind", ["talk", "work"])
@pytest.mark.parametrize("seed", [1, 4, 5])
def test_a_tenth_more_keeps_no_fewer(kind: str, policy: str, seed: int) -> None:
    """From a small budget to one in which all fits, by steps of a tenth."""
    messages, names = constrained(talk(seed, 40) if kind == "talk" else work(seed, 28), seed)
    total, budget = plimsoll.count_tokens(messages), 400.0
    kept_before, whole_before = 0, 0
    while budget < 1.1 * total:
        shown = plimsoll.fit(messages, max_tokens=int(budget), policy=policy).messages
        text = json.dumps(shown)
        kept, whole = sum(name in text for name in names), sum(message in messages for message in shown)
        assert kept >= kept_before - 3, int(budget)
        assert whole >= 0.8 * whole_before - 1, int(budget)
        kept_before, whole_before, budget = kept, whole, 1.1 * budget
