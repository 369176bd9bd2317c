"""Whatever comes in: what `fit` hands back is within the budget, valid, and says what was said."""

from __future__ import annotations

import json
import os
import random
import re
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import plimsoll
import proof
from amounts import examples
from attacks import attacked_history
from bulky import bulky_history
from generated import FORMATS, random_broken_history, random_history
from hostile import random_hostile_history
from plimsoll.compaction.importance import OPEN_ERROR
from plimsoll.errors import CannotFit
from plimsoll.policy.budget import Level, LoadLines
from plimsoll.policy.policy import STEP_LEVELS, Policy
from plimsoll.policy.presets import PRESETS
from strategies import field_soups

POLICIES = tuple(PRESETS)
SHARES = (0.02, 0.1, 0.3, 0.6, 0.75, 0.9, 0.97, 1.0, 1.3)
SHORT_MARK_TOKENS = 12
"""The cost of the shortest mark, with the frame of its message in any format."""

SMALL_CASES = 1_600
HOSTILE_CASES = 1_200
ODD_CASES = 600
SOAK_CASES = 100_000
SOAK_HOSTILE_CASES = 60_000
SOAK_ODD_CASES = 60_000
REVERSIBLE = ("collapse", "offload", "clip")
LINES = (0.7, 0.85, 0.95, 1.0)
"""Shares of the budget at which a policy begins to act, or may do more."""
MODELS = ("gpt-4o", "gpt-4o", "gpt-4", "claude-sonnet-4-5", "no-such-model")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One history, a budget and a policy, all made from a number."""

    seed: int
    format: str
    policy: str | Policy
    budget: int
    messages: list[dict[str, Any]]
    valid: bool
    model: str = "gpt-4o"


def case_of(number: int) -> Case:
    """Formats in turn; a third of the histories valid; one in eight is several histories after each other."""
    rng = random.Random(number)
    format = FORMATS[number % len(FORMATS)]
    valid = rng.random() < 0.35
    messages: list[dict[str, Any]] = []
    for part in range(rng.choice((1, 1, 1, 1, 1, 1, 1, 5))):
        made = (random_history if valid else random_broken_history)(rng, format)
        body = [wire for wire in made if not messages or wire.get("role") not in ("system", "developer")]
        messages += json.loads(re.sub(r'"(fc_)?call_(?=[0-9])', rf'"\1call_{part}_', json.dumps(body)))
    budget = max(10, int(plimsoll.count_tokens(messages, format=format) * rng.choice(SHARES)))
    policy = rng.choice(("fill", "fill", "ladder", "ladder", *POLICIES))
    return Case(seed=number, format=format, policy=policy, budget=budget, messages=messages, valid=valid)


def hostile_case_of(number: int) -> Case:
    """What real clients get wrong, with any policy, for any model, in budgets of every size: on a line, and far too small."""
    rng = random.Random(number)
    format, model = FORMATS[number % len(FORMATS)], rng.choice(MODELS)
    messages = random_hostile_history(rng, format)
    tokens = plimsoll.count_tokens(messages, format=format, model=model)
    near_line = int(tokens / rng.choice(LINES)) + rng.choice((-1, 0, 1))
    budget = max(1, rng.choice((rng.randint(1, 60), near_line, near_line, int(tokens * rng.choice(SHARES)))))
    policy = rng.choice(("fill", "ladder", *POLICIES)) if rng.random() < 0.6 else random_policy(rng)
    return Case(seed=number, format=format, policy=policy, budget=budget, messages=messages, valid=False, model=model)


def odd_case_of(number: int) -> Case:
    """Large histories, mostly under a policy that removes nothing by itself: what leaves, the final cut removes."""
    rng = random.Random(number)
    format = FORMATS[number % len(FORMATS)]
    messages = bulky_history(rng, format) if rng.random() < 0.5 else attacked_history(rng, format).wires
    policy = random_policy(rng)
    if rng.random() < 0.8:
        policy = replace(policy, fill=False, steps=tuple(step for step in policy.steps if step in REVERSIBLE))
    budget = max(1, int(plimsoll.count_tokens(messages, format=format) * rng.choice((0.05, 0.1, 0.3, 0.6))))
    return Case(seed=number, format=format, policy=policy, budget=budget, messages=messages, valid=False)


def random_policy(rng: random.Random) -> Policy:
    """Any steps in any order, with any lines and caps."""
    soft = rng.choice((0.6, 0.7, 0.9))
    caps: dict[str, Any] = {
        "keep_last_messages": rng.choice((1, 3)),
        "keep_last_turns": 2,
        "keep_tokens": rng.choice((0.2, 100)),
        "keep_fraction": 0.3,
        "message_tokens_max": rng.choice((50, 0.2)),
        "summary_tokens_max": rng.choice((60, 300)),
    }
    return Policy(
        name="random",
        steps=tuple(rng.sample(tuple(STEP_LEVELS), rng.randint(0, len(STEP_LEVELS)))),
        lines=LoadLines(soft=soft, warn=rng.choice((soft, 0.92)), hard=0.95, target=rng.choice((0.1, 0.3, 0.5))),
        levels_up=rng.choice((0, 0, 1, 2)),
        fill=rng.random() < 0.2,
        act_at=rng.choice((Level.normal, Level.aggressive, Level.emergency)),
        summary_share=rng.choice((0.05, 0.3, 0.9)),
        summary_role=rng.choice(("user", "system", "assistant")),
        preview_chars=rng.choice((0, 500)),
        **{name: cap for name, cap in caps.items() if rng.random() < 0.15},
    )


def check(case: Case) -> bool:
    """Assert every promise of `fit` on one case; whether it fitted at all."""
    before = json.dumps(case.messages)
    options: dict[str, Any] = {"format": case.format, "policy": case.policy, "model": case.model}
    try:
        fitted = plimsoll.fit(case.messages, max_tokens=case.budget, **options)
    except CannotFit as refusal:
        assert json.dumps(case.messages) == before
        check_refusal(case, refusal, options)
        return False
    assert json.dumps(case.messages) == before
    check_view(case, fitted, case.budget)
    again = plimsoll.fit(fitted.messages, max_tokens=case.budget, **options)
    assert again.messages == fitted.messages
    if case.valid:
        check_words(case, fitted)
    elif plimsoll.validate(case.messages, format=case.format) == []:
        assert proof.strange_words(fitted.messages, case.messages) == []
    return True


def check_view(case: Case, fitted: plimsoll.Fitted, budget: int) -> None:
    """What is true of every view; and it is as large as the report says."""
    counted = proof.fits(fitted.messages, budget, case.format, case.model)
    check_count(case, fitted, counted)


def check_count(case: Case, fitted: plimsoll.Fitted, counted: int) -> None:
    """The report's size is the result's own count; where Anthropic's messages join, at most their frames above it."""
    blocks = (block for message in fitted.messages for block in message.get("content") or ())
    joins = len(list(blocks)) if case.format == "anthropic" else 0
    assert 0 <= fitted.report.tokens_after - counted <= 12 * joins


def check_refusal(case: Case, refusal: CannotFit, options: dict[str, Any]) -> None:
    """A refusal names what it needs: that is more than there was, it is enough, and one less is not."""
    needed = refusal.needed_tokens
    assert refusal.budget_tokens == case.budget < needed
    assert refusal.part
    check_view(case, plimsoll.fit(case.messages, max_tokens=needed, **options), needed)
    with pytest.raises(CannotFit) as again:
        plimsoll.fit(case.messages, max_tokens=needed - 1, **options)
    assert again.value.needed_tokens == needed


def check_words(case: Case, fitted: plimsoll.Fitted) -> None:
    """Kept messages keep order and wording, the frame is whole where it fits, and the tail has no hole."""
    assert proof.strange_words(fitted.messages, case.messages) == []
    check_frame(case, fitted)
    check_tail(case)


def check_frame(case: Case, fitted: plimsoll.Fitted) -> None:
    """System text and the newest user message are there whole whenever together they fit, beside the mark of what left."""
    system = proof.leading_system(case.messages)
    asked = proof.requests(case.messages)[-1:]
    frame = [case.messages[at] for at in (*system, *asked)]
    if any(isinstance(block, dict) and block.get("type") == "tool_result" for block in frame[-1].get("content") or ()):
        return
    mark_tokens = SHORT_MARK_TOKENS if fitted.report.lost else 0
    if plimsoll.count_tokens(frame, format=case.format) + mark_tokens <= case.budget:
        missing = proof.strange_words(frame, fitted.messages)
        assert missing == []


def check_tail(case: Case) -> None:
    """Whatever is older than the newest message that left is there because it must be: system text, the first request,
    the newest one, what was said last, or an error that is still open.
    """
    plan = plimsoll.plan(case.messages, max_tokens=case.budget, format=case.format, policy=case.policy)
    kept = {entry.position for entry in plan.outline.entries if entry.position is not None}
    gone = [at for act in plan.outline.lost for at in range(act.first, act.last + 1) if at not in kept]
    asked = proof.requests(case.messages)
    must_stay = {*proof.leading_system(case.messages), asked[0], asked[-1], *asked_exchange(plan, asked[-1])}
    errors = (range(act.first, act.last + 1) for act in plan.actions if OPEN_ERROR in act.reason)
    must_stay.update(*errors)
    assert [at for at in kept if at < max(gone, default=0) and at not in must_stay] == []


def asked_exchange(plan: plimsoll.Plan, position: int) -> range:
    """The positions of the exchange that a request is part of: Anthropic's results may have words beside them."""
    return next((range(act.first, act.last + 1) for act in plan.actions if act.first <= position <= act.last), range(0))


def test_a_case_that_a_long_run_found() -> None:
    """The notes after the newest request were cut to their marks, which a second call took for the request."""
    assert check(case_of(71003246))


@pytest.mark.parametrize("seed", [400000994, 700000114])
def test_hostile_cases_that_long_runs_found(seed: int) -> None:
    """A step that was enough for the budget left more than the policy leaves alone; a search's id was used again."""
    assert check(hostile_case_of(seed))


def test_no_message_ends_in_the_thinking_of_a_call_that_left() -> None:
    """Interrupted calls stay longest, so that a later message lost all of its calls and kept the thinking before them."""
    assert check(case_of(102007706))


def test_a_view_opens_with_the_user_after_its_notice_went() -> None:
    """What left was taken back, and the notice that had been the opening was not needed any more."""
    assert check(hostile_case_of(102008786))


def test_a_late_result_goes_back_to_its_place_alone() -> None:
    """It took along the placeholder behind it, past another call of the id that the placeholder answers."""
    assert check(case_of(102009953))


def test_the_final_cut_leaves_nothing_for_another_call_to_cut() -> None:
    """A policy without a step that removes, which acts below the budget: its view was cut to the budget, and again when it came back."""
    assert check(hostile_case_of(92004817))
    assert check(odd_case_of(500856))


def test_a_refusal_names_the_same_least_size_for_every_budget() -> None:
    """A view on trial without its notice labelled the system text; and the notice was left out of the smallest budgets."""
    messages = [{"role": "user", "content": []}, {"role": "system", "content": "approved 1"}]
    policy = Policy(steps=("summarise", "collapse", "ledger", "window", "offload", "clip"))
    for budget in range(1, 15):
        with pytest.raises(CannotFit) as refusal:
            plimsoll.fit(messages, max_tokens=budget, format="anthropic", policy=policy, model="gpt-4o")
        assert refusal.value.needed_tokens == 15
    assert (
        plimsoll.fit(messages, max_tokens=15, format="anthropic", policy=policy, model="gpt-4o").report.tokens_after
        == 15
    )


@pytest.mark.slow
@pytest.mark.spec("W0-15", "W1-12")
def test_fit_keeps_its_promises() -> None:
    """On histories of every kind and format only CannotFit is raised, and only where the frame is too small."""
    fitted = sum(check(case_of(number)) for number in range(SMALL_CASES))

    assert fitted > SMALL_CASES * 0.9


@pytest.mark.slow
def test_fit_keeps_its_promises_on_hostile_histories() -> None:
    """Whatever stands in a history, and wherever: the same promises."""
    for number in range(HOSTILE_CASES):
        check(hostile_case_of(number))


@pytest.mark.slow
def test_fit_keeps_its_promises_under_odd_policies() -> None:
    """Whatever steps a policy has, in whatever order, and wherever it begins to act: the same promises."""
    for number in range(500_700, 500_700 + ODD_CASES):
        check(odd_case_of(number))


@pytest.mark.soak
@pytest.mark.parametrize("share", range(10))
def test_fit_keeps_its_promises_for_long(share: int) -> None:
    """The same on 100,000 histories, on 60,000 hostile ones, and on 60,000 under odd policies."""
    first = int(os.environ.get("SOAK_SEED", "1000000"))
    for number in range(first + share, first + SOAK_CASES, 10):
        check(case_of(number))
    for number in range(first + share, first + SOAK_HOSTILE_CASES, 10):
        check(hostile_case_of(number))
    for number in range(first + share, first + SOAK_ODD_CASES, 10):
        check(odd_case_of(number))


@settings(max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(field_soups(), st.sampled_from((*FORMATS, None)), st.integers(1, 400), st.sampled_from(POLICIES))
def test_near_messages_give_a_typed_error_or_a_view(soup: Any, format: Any, budget: int, policy: str) -> None:
    """Objects made of the formats' own field names are refused with a typed error, or fit and are counted."""
    before = json.dumps(soup)
    try:
        fitted = plimsoll.fit(soup, max_tokens=budget, format=format, policy=policy)
    except plimsoll.errors.PlimsollError:
        fitted = None

    assert json.dumps(soup) == before
    assert fitted is None or fitted.report.tokens_after <= budget


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", ["one letter", "spaces", "digits", "emoji", "json", "lines", "markers"])
def test_one_huge_message_fits(format: str, kind: str) -> None:
    """A million characters in one request come back cut and within the budget."""
    huge = {
        "one letter": "a" * 1_000_000,
        "spaces": " " * 999_999 + "x",
        "digits": "0123456789" * 100_000,
        "emoji": "🏳️‍🌈" * 160_000,
        "json": json.dumps([{"id": n, "name": "worker"} for n in range(30_000)]),
        "lines": "\n".join(f"line {n}" for n in range(100_000)),
        "markers": "[… 12 tokens cut …]" * 50_000,
    }[kind]
    wire = {"parts": [{"type": "text", "text": huge}], "id": "m0"} if format == "ui-parts" else {"content": huge}
    fitted = plimsoll.fit([{"role": "user", **wire}], max_tokens=500, format=format)

    proof.fits(fitted.messages, 500, format)
    assert len(fitted.messages) == 1
