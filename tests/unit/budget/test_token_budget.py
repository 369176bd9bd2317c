"""The budget shared out by category."""

from __future__ import annotations

import math
import threading

import pytest

from plimsoll.errors import SettingError
from plimsoll.policy.budget import TokenBudget


@pytest.mark.spec("S3-07")
def test_allocations_are_refused_when_they_do_not_fit():
    """Of 10,000 tokens 2,000 and 1,000 are granted, 8,000 more are not, and 7,000 remain."""
    budget = TokenBudget(10_000)

    assert [budget.allocate(*wish) for wish in [("system", 2_000), ("summary", 1_000), ("messages", 8_000)]] == [
        True,
        True,
        False,
    ]
    assert budget.remaining() == 7_000
    assert budget.breakdown() == {"system": 2_000, "summary": 1_000}


def test_a_budget_fills_to_the_last_token():
    """2,000 and 8,000 of 10,000 leave nothing, and nothing more is granted."""
    budget = TokenBudget(10_000)

    assert budget.allocate("system", 2_000)
    assert budget.allocate("messages", 8_000)
    assert budget.remaining() == 0
    assert not budget.allocate("messages", 1)
    assert budget.allocate("messages", 0)


def test_repeated_categories_accumulate():
    """What a category takes adds up, and is given back in part or whole."""
    budget = TokenBudget(100)
    budget.allocate("tools", 30)
    budget.allocate("tools", 20)

    assert budget.breakdown() == {"tools": 50}
    assert budget.release("tools", 10) == 10
    assert budget.remaining() == 60
    assert budget.release("tools") == 40
    assert budget.breakdown() == {}
    assert budget.release("never seen") == 0


def test_caps_and_reservations_bound_categories():
    """A cap stops its category early; a reservation keeps tokens that others cannot take."""
    budget = TokenBudget(100, caps={"tools": 40}, reservations={"reply": 30})

    assert budget.remaining("tools") == 40
    assert not budget.allocate("tools", 41)
    assert budget.allocate("tools", 40)
    assert budget.remaining("messages") == 30
    assert not budget.allocate("messages", 31)
    assert budget.allocate("messages", 30)
    assert budget.allocate("reply", 30)
    assert budget.remaining() == 0


def test_a_budget_shows_its_size_and_what_remains():
    """Its representation has both numbers."""
    budget = TokenBudget(10_000)
    budget.allocate("a", 1_000)

    assert repr(budget) == "TokenBudget(10,000 tokens, 9,000 remaining)"


def test_reset_gives_everything_back():
    """After a reset all tokens remain."""
    budget = TokenBudget(10)
    budget.allocate("a", 10)
    budget.reset()

    assert (budget.remaining(), budget.breakdown()) == (10, {})


@pytest.mark.spec("W3-18")
@pytest.mark.parametrize("amount", [-1, math.nan, math.inf, 1.5, True, "3", None, 10**20])
def test_amounts_that_are_no_amounts_are_refused(amount):
    """Negative, fractional, boolean and absurd amounts are refused and change nothing."""
    budget = TokenBudget(10)

    with pytest.raises(SettingError):
        budget.allocate("a", amount)
    assert budget.breakdown() == {}


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"total_tokens": -1}, "total_tokens"),
        ({"total_tokens": 10, "caps": {"a": -1}}, "caps['a']"),
        ({"total_tokens": 10, "caps": [1]}, "caps"),
        ({"total_tokens": 10, "caps": {1: 1}}, "caps"),
        ({"total_tokens": 10, "reservations": {"a": 6, "b": 5}}, "reservations"),
        ({"total_tokens": 10, "caps": {"a": 1}, "reservations": {"a": 2}}, "reservations['a']"),
    ],
)
def test_impossible_shares_name_their_field(options, field):
    """Caps and reservations that cannot hold are refused by name."""
    with pytest.raises(SettingError) as raised:
        TokenBudget(**options)

    assert raised.value.field == field


def test_releasing_more_than_was_taken_is_refused():
    """A category cannot give back what it does not hold."""
    budget = TokenBudget(10)
    budget.allocate("a", 3)

    with pytest.raises(SettingError):
        budget.release("a", 4)
    with pytest.raises(SettingError):
        budget.allocate(None, 1)
    assert budget.breakdown() == {"a": 3}


def test_threads_never_take_more_than_there_is():
    """Many threads allocating at once together take exactly the total."""
    budget = TokenBudget(1_000)
    granted = []

    def take():
        granted.extend(budget.allocate("shared", 1) for _ in range(300))

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sum(granted) == 1_000
    assert budget.remaining() == 0
