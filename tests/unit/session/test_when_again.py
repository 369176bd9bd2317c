"""When a compaction that was undone is made again."""

from __future__ import annotations

import pytest

import plimsoll

BUDGET = 4_000
SENTENCE = "The old crane moved a pallet to the next berth. "


def test_an_undone_compaction_is_made_again_after_a_twentieth_of_the_budget_is_new() -> None:
    """Not at once, or undoing it would be of no use; and not much later, or the view would pass its lines."""
    session = plimsoll.open("s", store="memory:", max_tokens=BUDGET, project=False, policy={"preset": "ladder"})
    while not session.compactions():
        session.append({"role": "user", "content": SENTENCE * 10})
        session.append({"role": "assistant", "content": SENTENCE * 10})
        session.view()
    session.rollback()
    made = len(session.compactions())
    start = plimsoll.count_tokens(session.view())

    while len(session.compactions()) == made:
        before = plimsoll.count_tokens(session.view())
        session.append({"role": "user", "content": SENTENCE})
        session.view()

    assert before + plimsoll.count_tokens(SENTENCE) == pytest.approx(start + BUDGET * 0.05, abs=20)
