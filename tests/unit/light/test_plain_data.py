"""Public values in the hands of code that knows nothing of them: the standard library's functions, copies, pickles."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from typing import Any

import pytest

import plimsoll

MESSAGES: list[dict[str, Any]] = [
    {"role": ("user", "assistant")[n % 2], "content": f"{n} " + "tide and load line " * 40} for n in range(30)
]


def test_a_fitted_conversation_is_plain_data() -> None:
    """`asdict` gives the messages and the report, as JSON can hold them, and `replace` keeps the report."""
    fitted = plimsoll.fit(MESSAGES, max_tokens=2_000)
    found = dataclasses.asdict(fitted)
    assert list(found) == ["messages", "origins", "system", "report"]
    assert json.loads(json.dumps(found))["report"]["tokens_after"] == fitted.report.tokens_after <= 2_000
    changed = dataclasses.replace(plimsoll.fit(MESSAGES, max_tokens=2_000), messages=[])
    assert (changed.messages, changed.report) == ([], fitted.report)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_what_is_computed_late_is_in_copies(again: Any) -> None:
    """Copies of a result that nobody looked at have its report; those of an inspection its page."""
    fitted = again(plimsoll.fit(MESSAGES, max_tokens=2_000))
    assert fitted == plimsoll.fit(MESSAGES, max_tokens=2_000)
    assert fitted.report.tokens_after <= 2_000
    inspection = plimsoll.inspect(MESSAGES, max_tokens=4_000)
    assert again(inspection) == inspection
    assert again(inspection).html() == inspection.html()


def test_a_plan_is_one_value() -> None:
    """A plan never changes, so its copies are itself. It is no data class to others, and cannot be stored: both are said."""
    plan = plimsoll.plan(MESSAGES, max_tokens=2_000)
    assert copy.copy(plan) is copy.deepcopy([plan])[0] is plan
    assert not dataclasses.is_dataclass(plan)
    with pytest.raises(TypeError, match="asdict"):
        dataclasses.asdict(plan)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"a plan cannot be stored; apply\(\) it, or keep to_dict\(\)"):
        pickle.dumps(plan)
    assert json.dumps(plan.to_dict())


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_session_in_a_state_that_is_copied_says_what_to_keep(again: Any) -> None:
    """Frameworks copy and store the states of agents. A second object of a session would write to the same log."""
    with (
        plimsoll.open("quay", store="memory:") as session,
        pytest.raises(
            TypeError, match=r"'quay' is neither copied nor stored: keep its name and open it, or fork\(\) it"
        ),
    ):
        again(session)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_of_a_token_budget_are_apart(again: Any) -> None:
    """What is allocated from one is not from the other."""
    budget = plimsoll.TokenBudget(100, caps={"tools": 50}, reservations={"reply": 10})
    assert budget.allocate("tools", 40)
    copied = again(budget)
    assert copied.breakdown() == budget.breakdown()
    assert copied.allocate("tools", 10)
    assert (copied.remaining("tools"), budget.remaining("tools")) == (0, 10)
