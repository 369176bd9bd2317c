"""A model that writes summaries may fail in every way: the view stays valid and the report says what happened."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

import plimsoll
import proof
from plimsoll.policy.policy import policy_named
from workloads import talk, words, work

GOOD = "The user asked thirty things about leases and queues; each was answered in a sentence or two."
BUDGET = 4_000
HISTORIES = {"talk": talk(11, 90), "work": work(12, 40)}


def raises(error: BaseException) -> Callable[[Any], str]:
    """A summariser that raises."""

    def summarizer(request: Any) -> str:
        raise error

    return summarizer


async def coroutine(request: Any) -> str:
    """A summariser for callers that await."""
    await asyncio.sleep(0)
    return GOOD


async def fails_later(request: Any) -> str:
    """One that fails after it was awaited."""
    await asyncio.sleep(0)
    raise TimeoutError("30 s")


FAILURES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "raises": (raises(RuntimeError("503 upstream")), "RuntimeError"),
    "raises a long text": (raises(RuntimeError("x" * 100_000)), "RuntimeError"),
    "times out": (raises(TimeoutError()), "TimeoutError"),
    "empty": (lambda _: "", "empty"),
    "blank": (lambda _: " \n\n ", "empty"),
    "none": (lambda _: None, "NoneType"),
    "bytes": (lambda _: b"summary", "bytes"),
    "a dict": (lambda _: {"summary": GOOD}, "dict"),
    "refusal": (lambda _: "I'm sorry, but I can't help with that request.", "refusal"),
    "refusal in Chinese": (lambda _: "抱歉，我无法总结这段对话。", "refusal"),
    "error text": (lambda _: "Error: 429 rate limit exceeded, retry later", "error text"),
    "error page": (lambda _: "<html><body>Bad Gateway</body></html>", "error text"),
    "longer than its input": (lambda _: words(Random(1), 60_000), "no gain"),
    "megabytes": (lambda _: "word " * 1_000_000, "too long"),
}


@pytest.mark.slow
@pytest.mark.spec("S1-49", "S2-16")
@pytest.mark.spec("W0-17", "W1-09", "W1-16", "W1-33")
@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_leaves_the_rules_to_speak(name: str, history: str) -> None:
    """Whatever fails, sync or async: rules write the summary, the note says why, and no word of the failure is in the view
    (W1-09, W1-16, W1-33, W0-17).
    """
    summarizer, reason = FAILURES[name]
    fitted = plimsoll.fit(HISTORIES[history], max_tokens=BUDGET, summarizer=summarizer, policy="threshold-80")
    other = asyncio.run(
        plimsoll.afit(HISTORIES[history], max_tokens=BUDGET, summarizer=summarizer, policy="threshold-80")
    )

    assert fitted.report.stage in ("rules", "fit")
    assert reason in (fitted.report.note or "")
    assert len(fitted.report.note or "") < 400
    assert "429 rate" not in str(fitted.messages)
    assert "503 upstream" not in str(fitted.messages)
    proof.fits(fitted.messages, BUDGET, "openai-chat")
    assert other == fitted


@pytest.mark.slow
def test_a_coroutine_given_to_a_caller_that_does_not_await_fails() -> None:
    """A coroutine function is no summariser for `fit`: it counts as failing, and leaves no warning that it was never awaited."""
    summarizer: Any = coroutine
    fitted = plimsoll.fit(HISTORIES["talk"], max_tokens=BUDGET, summarizer=summarizer)

    assert fitted.report.stage == "rules"
    assert "coroutine" in (fitted.report.note or "")


@pytest.mark.slow
def test_an_async_summariser_is_awaited() -> None:
    """`afit` takes coroutine functions and plain ones, and both give the same view."""
    plain = asyncio.run(plimsoll.afit(HISTORIES["talk"], max_tokens=BUDGET, summarizer=lambda _: GOOD))
    awaited = asyncio.run(plimsoll.afit(HISTORIES["talk"], max_tokens=BUDGET, summarizer=coroutine))
    failed = asyncio.run(plimsoll.afit(HISTORIES["talk"], max_tokens=BUDGET, summarizer=fails_later))

    assert plain.report.stage == "model"
    assert awaited == plain
    assert failed.report.note == "summarizer: TimeoutError: 30 s"


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), asyncio.CancelledError()])
def test_a_wish_to_stop_is_no_failure(error: BaseException) -> None:
    """What is meant to end the program ends it."""
    with pytest.raises(type(error)):
        plimsoll.fit(HISTORIES["talk"], max_tokens=BUDGET, summarizer=raises(error))


@pytest.mark.slow
@pytest.mark.spec("S0-07", "S0-31", "S1-44", "S2-31", "S2-30")
def test_good_prose_is_used_and_completed() -> None:
    """A good answer is the summary, in its frame, with facts it left out; the report says that a model wrote it."""
    fitted = plimsoll.fit(HISTORIES["work"], max_tokens=BUDGET, summarizer=lambda _: GOOD)

    assert fitted.report.stage == "model"
    assert fitted.report.note is None
    assert (fitted.report.summary or "").startswith(GOOD)
    assert "LIMIT-7" in (fitted.report.summary or "")
    proof.fits(fitted.messages, BUDGET, "openai-chat")


@pytest.mark.slow
@pytest.mark.spec("W1-15")
def test_the_request_says_what_to_write() -> None:
    """The model is told how long, in which language and about what, and is shown nothing longer than it can read (W1-15)."""
    asked: list[Any] = []
    plimsoll.fit(
        talk(13, 3_000), max_tokens=BUDGET, query="the parser", summarizer=lambda request: asked.append(request) or GOOD
    )

    assert [request.previous for request in asked] == [None, *(GOOD for _ in asked[1:])]
    for request in asked:
        assert 0 < request.tokens_max < BUDGET
        assert (request.language, request.focus) == ("en", "the parser")
        assert [part["role"] for part in request.prompt] == ["system", "user"]
        assert sum(plimsoll.count_tokens(part["content"]) for part in request.prompt) <= 24_000


@pytest.mark.slow
@pytest.mark.spec("S2-28", "S2-32")
@pytest.mark.spec("W1-13", "W2-05")
def test_the_next_summary_goes_on_from_the_last() -> None:
    """A second compaction is given the first one's summary and the new messages, none of the old ones (W1-13, W2-05)."""
    asked: list[Any] = []
    with plimsoll.open(
        "x", store="memory:", max_tokens=BUDGET, summarizer=lambda request: asked.append(request) or GOOD
    ) as session:
        for message in talk(14, 150):
            session.append(message)
            session.view()

    assert len(asked) > 2
    assert all(GOOD in request.previous for request in asked[1:])
    heard = [message.text for request in asked for message in request.messages]
    assert len(heard) == len(set(heard))


@pytest.mark.slow
@pytest.mark.spec("W2-01")
def test_use_summarizer() -> None:
    """A policy without it asks nobody: a model that would fail is not noticed (W2-01)."""
    on = plimsoll.fit(HISTORIES["talk"], max_tokens=BUDGET, summarizer=lambda _: GOOD)
    off = plimsoll.fit(
        HISTORIES["talk"],
        max_tokens=BUDGET,
        summarizer=lambda _: GOOD,
        policy=policy_named("fill", use_summarizer=False),
    )

    assert (on.report.stage, off.report.stage) == ("model", "rules")


@pytest.mark.slow
@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_a_summariser_is_asked_again(attempts: int) -> None:
    """After a failure it is asked the same once more, or as often as the policy says; the last failure is the one reported."""
    asked: list[Any] = []

    def fails(request: Any) -> str:
        asked.append(request)
        raise RuntimeError(f"attempt {len(asked)}")

    policy = policy_named("fill", **({} if attempts == 2 else {"summarizer_attempts": attempts}))
    fitted = plimsoll.fit(HISTORIES["talk"], max_tokens=BUDGET, summarizer=fails, policy=policy)

    assert len(asked) == attempts
    assert len({id(request) for request in asked}) == 1
    assert (fitted.report.stage, fitted.report.note) == ("rules", f"summarizer: RuntimeError: attempt {attempts}")


@pytest.mark.slow
def test_summarizer_fallback() -> None:
    """Without the fallback what was to be summarised leaves, and a mark says how much."""
    policy = policy_named("fill", summarizer_fallback=False)
    fitted = plimsoll.fit(HISTORIES["talk"], max_tokens=BUDGET, policy=policy, summarizer=raises(RuntimeError("down")))

    assert fitted.report.stage == "window"
    assert fitted.report.note == "summarizer: RuntimeError: down"
    assert "earlier messages are not shown " in str(fitted.messages)
    proof.fits(fitted.messages, BUDGET, "openai-chat")


@pytest.mark.slow
def test_keep_fraction_after_failure() -> None:
    """Where the model failed, the policy's other fraction of the messages stays."""
    policy = policy_named("threshold-80", keep_fraction=0.1, keep_fraction_after_failure=0.3)
    total = int(plimsoll.count_tokens(HISTORIES["talk"]) * 1.2)
    kept = {}
    for name, summarizer in {"good": lambda _: GOOD, "bad": raises(RuntimeError("down"))}.items():
        fitted = plimsoll.fit(HISTORIES["talk"], max_tokens=total, policy=policy, summarizer=summarizer)
        proof.fits(fitted.messages, total, "openai-chat")
        kept[name] = sum(message in HISTORIES["talk"] for message in fitted.messages) / len(HISTORIES["talk"])

    assert 0.05 < kept["good"] < 0.15
    assert 0.25 < kept["bad"] < 0.35


@pytest.mark.slow
@pytest.mark.spec("W1-10")
def test_a_session_reports_the_failure() -> None:
    """A compaction that a model failed says so, and is one all the same; nothing of the history is lost."""
    with plimsoll.open("x", store="memory:", max_tokens=BUDGET, summarizer=raises(TimeoutError("30 s"))) as session:
        session.extend(HISTORIES["talk"])
        view = session.view()

        assert [done.note for done in session.compactions()] == ["summarizer: TimeoutError: 30 s"]
        assert [done.stage for done in session.compactions()] == ["rules"]
        assert session.history() == HISTORIES["talk"]
        proof.fits(view, BUDGET, "openai-chat")


@pytest.mark.parametrize(("tokens_max", "least"), [(3_000, 38), (1_500, 20)])
def test_a_model_that_forgets_costs_few_facts(tokens_max: int, least: int) -> None:
    """What an update omits of the summary before it has the room that the update leaves, and what says most of it stays."""

    def forgets(request: Any) -> str:
        said = " ".join(message.text for message in request.messages)
        return "\n".join(f"- Crate {c} went to bay {b}." for c, b in re.findall(r"crate (ZK\d+) to bay (\d+)", said))

    with plimsoll.open("a", store="memory:", max_tokens=tokens_max, summarizer=forgets) as session:
        for n in range(40):
            calm = "The sea was calm and nobody hurried along the quay. " * 5
            session.append({"role": "user", "content": f"Bring crate ZK{n * 37 + 1000} to bay {n % 9}. {calm}"})
            session.append({"role": "assistant", "content": f"It is done. {calm}"})
            view = str(session.view())
    assert sum(f"ZK{n * 37 + 1000}" in view for n in range(40)) >= least
