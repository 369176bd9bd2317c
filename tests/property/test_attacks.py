"""Attacks in long histories: whatever is planted in one, the view fits, is valid, is not empty, and every loss is marked."""

from __future__ import annotations

import json
import os
import random
import re
from collections.abc import Callable
from typing import Any

import pytest

import plimsoll
import proof
from attacks import Story, attacked_history
from generated import FORMATS
from plimsoll.errors import CannotFit

FIT_CASES = 240
SESSION_CASES = 80
SOAK_CASES = 100_000
CHAIN_EVERY = 3
"""Every so many histories are fitted in a chain, too."""

SHARES = 10
"""Parts of a soak run, each a test of its own."""

FRAME_TOKENS_MAX = 400
"""No attack makes the newest request and the system text cost more than this once they are cut to their marks."""

USED_SHARE_MIN = 0.3
"""A view of a history far over its budget uses at least this share of it."""

TARGET = 0.5
"""A session's view comes down to this share of its budget."""


def story_of(number: int) -> Story:
    """Formats in turn."""
    return attacked_history(random.Random(number), FORMATS[number % len(FORMATS)])


def check_view(
    story: Story, view: list[dict[str, Any]], budget: int, history_tokens: int, excused: Callable[[], bool] = bool
) -> None:
    """What is true of every view: within its budget, valid, and not nearly empty while there is a history to show."""
    used = proof.fits(view, budget, story.format)
    showable = history_tokens - sum(map(proof.tokens, story.sealed))  # at most: not all of them need be in it yet
    enough = used >= USED_SHARE_MIN * min(budget, showable)
    assert enough or excused(), f"{used} of {budget} for {showable}, {len(view)} messages"


def check_fit(number: int) -> None:
    """One history through `fit`, in a budget of any size and by both policies."""
    rng, story = random.Random(-number), story_of(number)
    before, tokens = json.dumps(story.wires), plimsoll.count_tokens(story.wires, format=story.format)
    budget, policy = (
        max(FRAME_TOKENS_MAX, int(tokens * rng.choice((0.1, 0.3, 0.6, 0.9, 0.99)))),
        rng.choice(("fill", "ladder")),
    )
    fitted = plimsoll.fit(story.wires, max_tokens=budget, policy=policy, format=story.format)

    assert json.dumps(story.wires) == before
    check_view(story, fitted.messages, budget, tokens)
    assert not fitted.report.lost or any(map(speaks_for_the_past, fitted.messages)), "a loss without a mark"
    again = plimsoll.fit(fitted.messages, max_tokens=budget, policy=policy, format=story.format)
    assert again.messages == fitted.messages
    if number % CHAIN_EVERY == 0:
        check_chain(story, rng, budget)


def check_chain(story: Story, rng: random.Random, budget: int) -> None:
    """The same history as a host without a session goes on with it: each view with what is new becomes the next one.

    A model that may fail writes summaries, and a person edits some. What left stays marked from view to view.
    """
    told: list[str] = []
    view: list[dict[str, Any]] = []
    at, marked = 0, False
    while at < len(story.wires):
        step = rng.choice((3, 8, 15))
        given = [*view, *story.wires[at : at + step]]
        at += step
        options: dict[str, Any] = {"max_tokens": budget, "format": story.format}
        plan = plimsoll.plan(
            given, summarizer=model_that_may_fail(rng, told) if rng.random() < 0.5 else None, **options
        )
        if plan.summary and rng.random() < 0.3:
            plan = plan.with_summary(f"The contract number is ZQEDIT{at}.\n{plan.summary}")
        fitted = plan.apply()
        view, marked = fitted.messages, marked or bool(fitted.report.lost)
        check_view(story, view, budget, 0)
        assert not marked or any(map(speaks_for_the_past, view)), "a loss without a mark"


def model_that_may_fail(rng: random.Random, told: list[str]) -> Callable[[object], str]:
    """A summarizer that raises at half of its calls. What it tells at the others holds a word that is nowhere else."""

    def model(_: object) -> str:
        if rng.random() < 0.5:
            raise TimeoutError("down")
        told.append(f"ZQTOLD{len(told)}y{rng.randrange(10**6)}")
        return f"The contract is {told[-1]}; never drop production. The work on the quay goes on as planned."

    return model


def speaks_for_the_past(message: dict[str, Any]) -> bool:
    """Whether a message holds a summary, or a notice of what is not shown."""
    return bool(
        re.search(
            r"\[(?:Summary of |Previous conv|消息m|\d+ earlier m|前面 \d+ |… earlier\]|… 前文\])",
            json.dumps(message, ensure_ascii=False),
        )
    )


def check_session(number: int, place: str = "memory:") -> None:
    """One history through a session: views, compactions by rules and by a model that may fail, edited ones, undone ones.

    A view is asked for at any place, also while calls wait for their results.
    """
    rng, story = random.Random(-number), story_of(number)
    sizes = [plimsoll.count_tokens([wire], format=story.format) for wire in story.wires]
    budget = max(2 * FRAME_TOKENS_MAX, int(sum(sizes) * rng.choice((0.15, 0.3, 0.6))))
    told: list[str] = []
    model = model_that_may_fail(rng, told) if rng.random() < 0.5 else None
    session = plimsoll.open("one", store=place, max_tokens=budget, format=story.format, summarizer=model, project=False)
    with session:
        at = 0
        while at < len(story.wires):
            step = rng.choice((1, 1, 2, 5))
            session.extend(story.wires[at : at + step])
            at += step
            view = session.view()
            goal = min(int(budget * TARGET), sum(sizes[:at]))
            check_view(story, view, budget, goal, excused=lambda: asked_for(session))
            if rng.random() < 0.1:
                change(rng, session, told)
                check_view(story, session.view(), budget, 0)
        assert session.history() == story.wires
        shown = json.dumps(session.view(), ensure_ascii=False)
        for word in told:
            kept = word in shown or any(word in hit.text for hit in session.recall(word))
            assert kept or not any(word in (made.summary or "") for made in session.compactions()), word


def asked_for(session: plimsoll.Session) -> bool:
    """Whether the newest compaction was asked for: these come down to half of whatever view there is."""
    return [made.trigger for made in session.compactions() if not made.undone][-1:] == ["manual"]


def change(rng: random.Random, session: plimsoll.Session, told: list[str]) -> None:
    """A compaction by hand, perhaps with an edited summary, or one undone."""
    act = rng.choice(("compact", "edit", "rollback"))
    if act == "rollback":
        if any(not made.undone for made in session.compactions()):
            session.rollback()
        return
    plan = session.preview()
    if act == "edit" and plan.summary:
        told.append(f"ZQEDIT{len(told)}y{rng.randrange(10**6)}")
        plan = plan.with_summary(f"The contract number is {told[-1]}.\n{plan.summary}")
    session.compact(plan)


@pytest.mark.slow
def test_attacks_on_fit() -> None:
    """No attack makes `fit` raise, pass its budget, give an invalid or nearly empty view, or lose a message without a mark."""
    run(check_fit, range(FIT_CASES))


@pytest.mark.slow
def test_attacks_on_sessions() -> None:
    """The same of every view of a session; and what a summary told is still found after later compactions."""
    run(check_session, range(SESSION_CASES))


@pytest.mark.soak
@pytest.mark.parametrize("share", range(SHARES))
def test_attacks_on_fit_for_long(share: int) -> None:
    """100,000 histories."""
    run(check_fit, seeds(share))


@pytest.mark.soak
@pytest.mark.parametrize("share", range(SHARES))
def test_attacks_on_sessions_for_long(share: int) -> None:
    """100,000 histories."""
    run(check_session, seeds(share))


def seeds(share: int) -> range:
    """Every tenth of the numbers of a soak run."""
    first = int(os.environ.get("SOAK_SEED", "1000000"))
    return range(first + share, first + int(os.environ.get("SOAK_CASES", SOAK_CASES)), SHARES)


def run(check: Any, numbers: range) -> None:
    """Every case; the failures are told together, each with the number that makes it again."""
    failed: dict[int, str] = {}
    for number in numbers:
        try:
            check(number)
        except (AssertionError, CannotFit) as error:
            failed[number] = f"{type(error).__name__}: {str(error).splitlines()[0][:160]}"
        except Exception as error:  # noqa: BLE001 - an attack may raise anything
            failed[number] = f"{type(error).__name__}: {error}"[:160]
        assert len(failed) < 20, failed
    assert not failed, failed
