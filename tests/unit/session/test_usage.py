"""Reported usage: what a provider counts beyond what it was given here is learnt, held back, and readable again."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from plimsoll.errors import SettingError, UnseenTokensWarning
from plimsoll.tokens.counter import counter_for

WORDS = (
    "the load line of a ship marks how deep she may lie in the water when she is laden with cargo and stores".split()
)


def user(text: str) -> dict[str, Any]:
    """A message of the user."""
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    """An answer."""
    return {"role": "assistant", "content": text}


def prose(words: int, seed: int = 0) -> str:
    """So many words, always the same for a seed."""
    rng = random.Random(seed)
    return " ".join(rng.choice(WORDS) for _ in range(words))


def billed(messages: list[dict[str, Any]], *, unseen: int, ratio: float = 1.0) -> int:
    """What a provider counts: the messages by its own vocabulary, and what the host keeps to itself."""
    return unseen + round(ratio * plimsoll.count_tokens(messages, model="gpt-4o"))


def run(
    session: plimsoll.Session, turns: int, *, unseen: int, ratio: float = 1.0, order: str = "report first"
) -> list[int]:
    """A loop of that many turns; what the provider counted for each request."""
    prompts = []
    for turn in range(turns):
        session.append(user(f"turn {turn}: {prose(90 + 40 * (turn % 5), turn)}"))
        prompts.append(billed(session.view(), unseen=unseen, ratio=ratio))
        if order == "report first":
            session.record_usage(prompts[-1], 40)
        session.append(assistant(prose(120, turn)))
        if order == "answer first":
            session.record_usage(prompts[-1], 40)
    return prompts


@pytest.mark.slow
@pytest.mark.spec("S1-14")
@pytest.mark.parametrize("order", ["report first", "answer first"])
@pytest.mark.parametrize(
    ("model", "ratio"),
    [("gpt-4o", 1.0), ("claude-sonnet-4-5", 1.0), ("claude-sonnet-4-5", 1.3), ("no-such-model", 0.9)],
)
@pytest.mark.filterwarnings("ignore::plimsoll.errors.UnknownModelWarning")
def test_unseen_tokens_never_overflow_after_the_first_report(order: str, model: str, ratio: float) -> None:
    """Beside 6,000 tokens that only the provider sees, no request after the first report is over 10,000."""
    with plimsoll.open("loop", store="memory:", model=model, max_tokens=10_000) as session:
        prompts = run(session, 60, unseen=6_000, ratio=ratio, order=order)

        assert max(prompts) <= 10_000
        assert max(prompts) > 8_000  # the room there is gets used


@pytest.mark.spec("S1-14")
def test_the_status_is_what_the_provider_counted() -> None:
    """After a report of 5,000 for a view of about 700 tokens the session says 5,000, and how much of it it was not given."""
    with plimsoll.open("s", store="memory:", max_tokens=20_000) as session:
        session.append(user(prose(650)))
        seen = session.status().current_tokens
        session.view()
        session.record_usage(5_000, 10)
        status, check = session.status(), session.check()

        assert (status.current_tokens, status.unseen_tokens, status.max_tokens) == (5_000, 5_000 - seen, 20_000)
        assert (check.current_tokens, check.unseen_tokens, check.max_tokens) == (5_000, 5_000 - seen, 20_000)
        assert seen < check.threshold - check.unseen_tokens < check.threshold < 20_000
        assert f"{5_000 - seen:,} of them" in status.recommendation
        assert json.loads(json.dumps(status.to_dict()))["unseen_tokens"] == 5_000 - seen


def test_the_offset_follows_when_tools_change() -> None:
    """More than before is believed at once; less when the newest reports agree on it."""
    with plimsoll.open("s", store="memory:", max_tokens=50_000) as session:
        for turn in range(30):
            unseen = 3_000 if turn < 10 or turn >= 20 else 9_000
            session.append(user(prose(60, turn)))
            session.record_usage(billed(session.view(), unseen=unseen), 10)
            session.append(assistant(prose(30, turn)))
            if turn in (9, 10, 19, 29):
                assert session.status().unseen_tokens == pytest.approx(unseen, abs=60)


@pytest.mark.slow
def test_reports_without_unseen_tokens_change_nothing() -> None:
    """A provider that counts what is counted here leaves the budget as it was, in every order of calls."""
    for order in ("report first", "answer first"):
        with plimsoll.open("s", store="memory:", max_tokens=8_000) as session:
            run(session, 30, unseen=0, order=order)
            assert session.status().unseen_tokens == 0


def test_a_report_is_for_the_view_that_was_handed_out() -> None:
    """Messages appended before the report came, and a compaction in between, are not held against it."""
    with plimsoll.open("s", store="memory:", max_tokens=30_000) as session:
        for turn in range(12):
            session.extend([user(prose(200, turn)), assistant(prose(200, turn))])
        session.append(user("and now?"))
        counted = billed(session.view(), unseen=2_000)
        session.append(assistant(prose(900)))
        session.append(user(prose(900)))
        session.compact()
        session.record_usage(counted, 900)

        assert session.status().unseen_tokens == pytest.approx(2_000, abs=60)


def test_reports_without_a_new_view_are_for_the_session_as_it_stands() -> None:
    """A host that takes one view and goes on with its own list reports for what it appended since."""
    with plimsoll.open("s", store="memory:", max_tokens=30_000) as session:
        session.append(user(prose(50)))
        own = session.view()
        for turn in range(8):
            session.record_usage(billed(own, unseen=1_000), 10)
            more = [assistant(prose(300, turn)), user(prose(300, turn))]
            session.extend(more)
            own = [*own, *more]

        assert session.status().unseen_tokens == pytest.approx(1_000, abs=60)


@pytest.mark.parametrize("prompt", [0, 1, 8, 40])
def test_reports_too_small_to_be_of_the_request_are_not_believed(prompt: int) -> None:
    """An input count without its cached part, or of another request, lowers no count."""
    with plimsoll.open("s", store="memory:", model="claude-sonnet-4-5", max_tokens=30_000) as session:
        for turn in range(12):
            session.append(user(prose(400, turn)))
            before = session.status().current_tokens
            session.view()
            session.record_usage(prompt + turn, 10)
            assert session.status().current_tokens == before


def test_more_cached_than_prompt_tokens_are_added() -> None:
    """Anthropic's input tokens do not hold the cached ones: where these are more, both together are the prompt."""
    with plimsoll.open("s", store="memory:", max_tokens=30_000) as session:
        session.append(user(prose(1_000)))
        session.view()
        session.record_usage(12, 30, 6_000)

        assert session.status().current_tokens == 6_012
        assert (session.usage()[0].prompt_tokens, session.usage()[0].cached_tokens) == (6_012, 6_000)


def test_a_report_beyond_the_budget_is_said_and_leaves_a_view() -> None:
    """Reported tokens that leave nothing of the budget are warned of once; the newest question is still sent."""
    with plimsoll.open("s", store="memory:", max_tokens=4_000) as session:
        session.append(user("hello"))
        session.view()
        with pytest.warns(UnseenTokensWarning, match="500,000|496,"):
            session.record_usage(500_000, 10)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            session.append(user("What is the load line?"))
            assert session.view()[-1]["content"] == "What is the load line?"
            session.record_usage(500_000, 10)

        assert session.status().max_tokens == 4_000
        assert session.can_append(user("short"))


@pytest.mark.slow
@pytest.mark.parametrize("lines", [{"soft": 0.7, "warn": 8_000, "hard": 0.95}, {"soft": 6_000, "target": 5_000}])
def test_lines_in_tokens_stay_in_order_beside_unseen_tokens(lines: dict[str, Any]) -> None:
    """Marks that were in order in the whole budget never make a report fail."""
    policy = plimsoll.Policy.named("ladder", lines={"soft": 0.7, "warn": 0.85, "hard": 0.95, "target": 0.5, **lines})
    with plimsoll.open("s", store="memory:", max_tokens=10_000, policy=policy) as session:
        prompts = run(session, 40, unseen=6_000)

        assert max(prompts) <= 10_000


@pytest.mark.slow
def test_what_was_learnt_survives_reopening_forks_and_compactions(tmp_path: Any) -> None:
    """A session that is opened again, and a fork of it, count by the reports they were given."""
    with plimsoll.open("s", store=tmp_path, max_tokens=10_000) as session:
        run(session, 25, unseen=5_000)
        assert session.compactions()
        status = session.status()
        with session.fork() as forked:
            assert forked.status() == status
    with plimsoll.open("s", store=tmp_path) as session:
        assert session.status() == status
        session.append(user("go on"))
        session.record_usage(billed(session.peek(), unseen=5_000), 10)
        assert session.status().unseen_tokens == pytest.approx(5_000, abs=60)


@pytest.mark.spec("S1-30")
def test_usage_is_readable_by_message() -> None:
    """What was reported, and by which model, is found with the answer it came with."""
    with plimsoll.open("s", store="memory:", model="gpt-4o", max_tokens=10_000) as session:
        session.append(user("one"))
        session.view()
        session.record_usage(100, 7, 64)
        session.append(assistant("first"))
        session.append(user("two"))
        session.view()
        session.append(assistant("second"))
        session.record_usage(200, 9)
        first, second = session.usage()

        assert (first.id, first.prompt_tokens, first.completion_tokens, first.cached_tokens) == ("m1", 100, 7, 64)
        assert (second.id, second.total_tokens, second.model) == ("m3", 209, "gpt-4o")
        assert [said.usage and said.usage.completion_tokens for said in session.messages()] == [None, 7, None, 9]
        assert first.at_ms is not None
        assert json.loads(json.dumps(first.to_dict()))["cached_tokens"] == 64


@pytest.mark.spec("S1-14")
def test_a_compaction_says_what_the_provider_counted_before_it() -> None:
    """The newest report since the last compaction, or the number it is given, is in the compaction's record."""
    with plimsoll.open("s", store="memory:", max_tokens=10_000) as session:
        for turn in range(12):
            session.extend([user(prose(150, turn)), assistant(prose(100, turn))])
        session.append(user("now"))
        session.view()
        session.record_usage(6_500, 40)
        first = session.compact()
        for turn in range(12):
            session.extend([user(prose(150, turn)), assistant(prose(100, turn))])
        second = session.compact(actual_pre_tokens=7_777)

        assert (first.actual_pre_tokens, second.actual_pre_tokens) == (6_500, 7_777)
        assert [found.actual_pre_tokens for found in session.compactions()] == [6_500, 7_777]
        assert second.to_dict()["actual_pre_tokens"] == 7_777
        with pytest.raises(SettingError):
            session.compact(actual_pre_tokens=-1)


@pytest.mark.spec("S0-26")
def test_undone_compactions_do_not_count_as_saved() -> None:
    """A rollback takes back what a compaction counted; reapplying it counts it again, in this process and the next."""
    with plimsoll.open("s", store="memory:undone", max_tokens=4_000) as session:
        for turn in range(12):
            session.extend([user(prose(100, turn)), assistant(prose(80, turn))])
        session.compact()
        first = session.stats()
        session.extend([user(prose(400, turn)), assistant(prose(300, turn))])
        session.compact()
        both = session.stats()
        session.rollback()
        assert session.stats() == first
        session.rollback()
        assert session.stats().to_dict()["tokens_saved"] == 0
        session.reapply()
        assert session.stats() in (first, both)


def test_estimated_models_learn_ratio_and_offset_together() -> None:
    """A vocabulary that is not public and a hidden prompt are told apart: the next request is foreseen within 3 %."""
    with plimsoll.open("s", store="memory:", model="claude-sonnet-4-5", max_tokens=60_000) as session:
        text = prose(300)
        ratio = 1.1 * counter_for("gpt-4o").count(text) / counter_for("claude-sonnet-4-5").count(text) * 1.2
        for turn in range(10):
            session.append(user(prose(300, turn)))
            session.record_usage(billed(session.view(), unseen=4_000, ratio=ratio), 10)
            session.append(assistant(prose(200, turn)))
        session.append(user(prose(300)))
        truth = billed(session.view(), unseen=4_000, ratio=ratio)

        assert truth <= session.status().current_tokens <= truth * 1.05
        assert session.status().unseen_tokens == pytest.approx(4_000, rel=0.1)


@pytest.mark.parametrize("again", [False, True])
def test_what_the_provider_counted_holds_again_after_a_rollback(tmp_path: Path, again: bool) -> None:
    """An estimate is larger than the provider's count: an undone compaction would be due again at once."""
    with plimsoll.open("x", store=tmp_path, model="claude-sonnet-4-6", max_tokens=20_000) as session:
        for number in range(12):
            session.append({"role": "user", "content": f"{number}: " + "tell me about the harbour " * 120})
            session.append({"role": "assistant", "content": "it has a crane and a quay " * 60})
        counted = session.check().current_tokens
        session.record_usage(counted * 2 // 3, 20)
        session.append({"role": "user", "content": "and the lighthouse?"})
        before, shown = session.check().current_tokens, session.peek()
        made = session.compact()
        session.view()
        session.record_usage(1_000, 20)
        after = session.check().current_tokens
        session.rollback(made.id)

        assert session.check().current_tokens == before
        assert session.view() == shown
        if again:
            session.reapply()
            assert session.check().current_tokens == after
            session.rollback()
            session.compact()
            session.rollback()
    with plimsoll.open("x", store=tmp_path) as session:
        assert session.check().current_tokens == before
        assert session.view() == shown


def test_what_the_provider_counted_does_not_hold_again_after_an_edit() -> None:
    """The report is of a view with other words: the one of a rollback after an edit is counted here."""
    with plimsoll.open("x", store="memory:", model="claude-sonnet-4-6", max_tokens=20_000) as session:
        told = [user("tell me about the harbour " * 120), assistant("it has a crane and a quay " * 60)] * 6
        session.sync(told)
        estimated = session.check().current_tokens
        session.record_usage(estimated * 2 // 3, 20)
        made = session.compact()
        session.sync([user("tell me about the lighthouse " * 100), *told[1:]])
        session.rollback(made.id)
        reports = [record.data["usage"] for record in session._recorder.log.read() if record.kind == "rollback"]

        assert reports == [None]
