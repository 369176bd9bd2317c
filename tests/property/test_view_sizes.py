"""Whatever cannot be cut, and however small the budget: a view is valid, used, and says what left it."""

from __future__ import annotations

import json
import os
import random
import re
from dataclasses import dataclass
from typing import Any

import pytest

import plimsoll
import proof
from bulky import bulky_history
from generated import FORMATS
from plimsoll.errors import CannotFit

CASES = 400
SESSIONS = 60
SOAK_CASES = 100_000

SPEAKS_FOR_OTHERS = re.compile(
    r"^\[… (?:earlier|前文)\]$|not shown|条消息未显示|\[Summary of messages|\[消息m\d+-m\d+的摘要"
)
SHORT_MARK_TOKENS = 12
"""The cost of the shortest mark, with the frame of its message in any format."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A history, a budget and a policy, all made from a number."""

    format: str
    policy: str
    budget: int
    messages: list[dict[str, Any]]


def case_of(number: int) -> Case:
    """Formats in turn, budgets from 20 to 8,000, as many small ones as large ones."""
    rng = random.Random(number)
    format = FORMATS[number % len(FORMATS)]
    messages = bulky_history(rng, format)
    budget = int(2 ** rng.uniform(4.4, 13))
    return Case(format=format, policy=rng.choice(("fill", "ladder")), budget=budget, messages=messages)


def check(case: Case) -> None:
    """Assert all that is true of every view of such a history."""
    try:
        fitted = plimsoll.fit(case.messages, max_tokens=case.budget, format=case.format, policy=case.policy)
    except CannotFit as refusal:
        needed = refusal.needed_tokens
    else:
        needed = 0
    assert needed < 400
    if needed:
        return
    proof.fits(fitted.messages, case.budget, case.format)
    again = plimsoll.fit(fitted.messages, max_tokens=case.budget, format=case.format, policy=case.policy)
    assert again.messages == fitted.messages
    check_marked(case, fitted.messages, fitted.report)
    goal = case.budget if case.policy == "fill" else case.budget // 2
    check_used(fitted.report, goal)


def check_marked(case: Case, messages: list[dict[str, Any]], report: plimsoll.compaction.result.Report) -> None:
    """Where an exchange left, a summary or a mark speaks for it, unless there is no room for one beside texts of one token."""
    if report.lost:
        shown = [text for message in messages for text in list(proof._values(message))[1:] if text]
        least_tokens = report.tokens_after - sum(proof.tokens(text) - 1 for text in shown)
        is_full = least_tokens + SHORT_MARK_TOKENS > case.budget
        assert is_full or any(map(SPEAKS_FOR_OTHERS.search, shown)), "a loss without a mark"


def check_used(report: plimsoll.compaction.result.Report, goal: int) -> None:
    """A view that uses less than half of its goal has no room for the newest exchange that left, or for the whole of a cut one."""
    room = goal - report.tokens_after
    if room <= goal // 2 or report.tokens_before <= goal:
        return
    for action in report.actions:
        if action.decision in ("shrink", "offload"):
            assert action.tokens_before - action.tokens_after > room
    for action in report.lost[-1:]:
        assert action.tokens_before > room


def check_session(number: int) -> None:
    """The same of a session that grows: every view is valid, within the budget, and speaks for what left it."""
    rng = random.Random(number)
    format = FORMATS[number % len(FORMATS)]
    budget = int(2 ** rng.uniform(8, 13))
    session = plimsoll.open("s", store="memory:", max_tokens=budget, format=format, project=False)
    for _ in range(3):
        for message in renamed(bulky_history(rng, format), rng):
            session.append(message)
            if rng.random() < 0.2:
                check_view_of(session, budget, format)
        check_view_of(session, budget, format)


def renamed(messages: list[dict[str, Any]], rng: random.Random) -> list[dict[str, Any]]:
    """Histories after each other with ids of their own."""
    part = rng.randrange(10**9)
    return json.loads(re.sub(r'"((?:fc_)?call_|srvtoolu_|rs_|m)(?=[0-9])', rf'"\g<1>{part}_', json.dumps(messages)))


def check_view_of(session: plimsoll.Session, budget: int, format: str) -> None:
    """One view."""
    try:
        view = session.view()
    except CannotFit:
        return
    proof.fits(view, budget, format)


@pytest.mark.slow
@pytest.mark.parametrize("number", [71000139, 72000906, 84001034, 97000178])
def test_cases_that_long_runs_found(number: int) -> None:
    """A frame without room for a mark; sixty calls cut to a twentieth because a summary of them had been weighed; arguments
    cut before a sealed part left; a result beside the newest request that was cut only by the second call.
    """
    check(case_of(number))


@pytest.mark.slow
def test_views_are_valid_used_and_marked() -> None:
    """Histories with parts that cannot be cut, and many calls at once, in four formats and budgets of every size."""
    for number in range(CASES):
        check(case_of(number))


@pytest.mark.slow
def test_views_of_sessions_are_valid() -> None:
    """The same while a session grows."""
    for number in range(SESSIONS):
        check_session(number)


@pytest.mark.soak
@pytest.mark.parametrize("share", range(10))
def test_views_are_valid_used_and_marked_for_long(share: int) -> None:
    """The same on 100,000 histories."""
    first = int(os.environ.get("SOAK_SEED", "1000000"))
    for number in range(first + share, first + SOAK_CASES, 10):
        check(case_of(number))
    for number in range(first + share, first + SOAK_CASES // 20, 10):
        check_session(number)
