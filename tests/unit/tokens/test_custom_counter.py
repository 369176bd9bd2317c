"""A caller's own token counter: it decides in every public entry, and what it does wrong is a typed error."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from plimsoll.errors import CounterError, CounterWarning, PlimsollError, SettingError
from plimsoll.formats.registry import decode_all
from plimsoll.tokens.counter import message_counter_for
from workloads import talk, work

TALK = talk(301, 40)
WORK = work(302, 20)


def words(text: str) -> int:
    """A coarse counter: what stands between spaces."""
    return len(text.split())


def characters(text: str) -> int:
    """A strict counter: every character is a token."""
    return len(text)


class Bytes:
    """A counter as the protocol has it, one of a library that is known to be inexact."""

    name = "bytes by three"
    exact = False

    def count(self, text: str) -> int:
        """A third of its bytes."""
        return len(text.encode("utf-8", "surrogatepass")) // 3

    def upper(self, text: str) -> int:
        """Half of its bytes."""
        return -(-len(text.encode("utf-8", "surrogatepass")) // 2)


class Named:
    """A counter under the name that other libraries use."""

    def count_tokens(self, text: str) -> int:
        """Two for every line."""
        return 2 * len(text.splitlines())


COUNTERS: dict[str, tuple[Any, Callable[[str], int]]] = {
    "words": (words, words),
    "characters": (characters, characters),
    "object": (Bytes(), Bytes().upper),
    "count_tokens": (Named(), Named().count_tokens),
    "method": (Bytes().count, Bytes().count),
    "nothing": (lambda _: 0, lambda _: 0),
}


def size_of(messages: list[Any], count: Callable[[str], int], format: str = "openai-chat") -> int:
    """The tokens of a request, by a counter made here around the function."""
    _, decoded = decode_all(messages, format)  # type: ignore[arg-type]
    return message_counter_for("gpt-4o", choice=count).messages(decoded)


@pytest.mark.slow
@pytest.mark.spec("S0-08")
@pytest.mark.parametrize("name", COUNTERS)
@pytest.mark.parametrize("messages", [TALK, WORK], ids=["talk", "work"])
def test_views_are_within_the_budget_by_that_counter(name: str, messages: list[Any]) -> None:
    """`fit`, `afit`, `plan`, `window`, `check` and `count_tokens` all go by it, whatever it counts."""
    given, counted = COUNTERS[name]
    total = plimsoll.count_tokens(messages, counter=given)
    assert total == size_of(messages, counted)
    budget = max(total // 3, 260)

    fitted = plimsoll.fit(messages, max_tokens=budget, counter=given)
    assert size_of(fitted.messages, counted) == fitted.report.tokens_after <= budget
    assert plimsoll.validate(fitted.messages) == []
    assert asyncio.run(plimsoll.afit(messages, max_tokens=budget, counter=given)).messages == fitted.messages
    assert plimsoll.plan(messages, max_tokens=budget, counter=given).apply().messages == fitted.messages
    seen = plimsoll.window(messages, max_tokens=budget, counter=given)
    assert size_of(seen.messages, counted) == seen.tokens <= budget
    assert plimsoll.check(messages, max_tokens=budget, counter=given).current_tokens == total


@pytest.mark.slow
@pytest.mark.spec("S0-08")
def test_a_counter_decides_what_fits() -> None:
    """The same budget holds all of a talk by a coarse counter, and a part of it by a strict one."""
    budget = plimsoll.count_tokens(TALK)

    assert plimsoll.fit(TALK, max_tokens=budget, counter=words).messages == TALK
    assert len(plimsoll.fit(TALK, max_tokens=budget, counter=characters).messages) < len(TALK) // 2


@pytest.mark.spec("S0-08")
@pytest.mark.parametrize("name", COUNTERS)
def test_one_text_is_cut_by_that_counter(name: str) -> None:
    """`cut` and `shrink` end within their size by it, also where it counts more tokens than characters."""
    given, counted = COUNTERS[name]
    text = "\n".join(f"row {n}: crane {n * 37 % 91} is free" for n in range(400))

    assert counted(plimsoll.cut(text, 60, counter=given).text) <= 60
    shrunk = plimsoll.shrink("run", text, max_tokens=60, counter=given)
    assert counted(shrunk.text) == shrunk.tokens_after <= 60
    thirty = plimsoll.cut(text, 60, counter=lambda text: 30 * len(text)).text
    assert len(thirty) <= 2


def failing(text: str) -> int:
    """A counter that does not count."""
    raise KeyError("vocabulary")


async def late(text: str) -> int:
    """A counter that has to be awaited."""
    return 1


WRONG: dict[str, Any] = {
    "raises": failing,
    "coroutine": late,
    "float": lambda text: len(text) / 4,
    "text": lambda _: "7",
    "nothing": lambda _: None,
    "bool": lambda _: True,
    "negative": lambda _: -1,
    "huge": lambda _: 10**30,
    "arguments": lambda: 1,
    "class": Bytes,
    "number": 3,
    "empty": object(),
    "unknown": "tiktoken",
    "list": [words],
}
CALLS: dict[str, Callable[[Any], Any]] = {
    "fit": lambda counter: plimsoll.fit(TALK, max_tokens=900, counter=counter),
    "afit": lambda counter: asyncio.run(plimsoll.afit(TALK, max_tokens=900, counter=counter)),
    "plan": lambda counter: plimsoll.plan(TALK, max_tokens=900, counter=counter),
    "check": lambda counter: plimsoll.check(TALK, max_tokens=900, counter=counter),
    "window": lambda counter: plimsoll.window(TALK, max_tokens=900, counter=counter),
    "count_tokens": lambda counter: plimsoll.count_tokens(TALK, counter=counter),
    "count a text": lambda counter: plimsoll.count_tokens("text", counter=counter),
    "cut": lambda counter: plimsoll.cut("text " * 50, 9, counter=counter),
    "shrink": lambda counter: plimsoll.shrink("t", "text " * 50, max_tokens=20, counter=counter),
    "open": lambda counter: plimsoll.open("x", store="memory:", counter=counter),
}


@pytest.mark.slow
@pytest.mark.spec("S0-08")
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_counter_is_a_typed_error(wrong: str, call: str) -> None:
    """Whatever a counter raises or gives, callers see a PlimsollError that names the counter or the option."""
    with pytest.raises((CounterError, SettingError)) as raised:
        CALLS[call](WRONG[wrong])

    assert raised.value.name if isinstance(raised.value, CounterError) else raised.value.field == "counter"


@pytest.mark.slow
@pytest.mark.spec("S0-08")
def test_a_counter_that_fails_later_changes_nothing(tmp_path: Path) -> None:
    """A session whose counter fails in the middle has what it had, and works on once the counter does."""
    broken: list[int] = []

    def fragile(text: str) -> int:
        if broken:
            raise OSError("the tokenizer is gone")
        return len(text) // 4

    with plimsoll.open("x", store=str(tmp_path), max_tokens=700, counter=fragile) as session:
        session.extend(TALK[:20])
        before = session.view()
        broken.append(1)
        with suppress(CounterError):  # where only the view counts, it is appended
            session.append({"role": "user", "content": "Is the lease signed? " * 60})
        with pytest.raises(CounterError):
            session.append({"role": "user", "content": f"{session.view()}"})
        broken.clear()
        kept = session.history()
        session.append({"role": "user", "content": "And now?"})
        assert session.history()[: len(kept)] == kept
        assert session.view()[-1]["content"] == "And now?"
        assert before


@pytest.mark.spec("S0-08")
def test_sessions_count_by_it_and_notice_when_it_is_missing(tmp_path: Path) -> None:
    """Given again the session is as it was, without a word; another one, or none, is noticed."""
    with plimsoll.open("x", store=str(tmp_path), max_tokens=2_000, counter=characters) as session:
        session.extend(TALK)
        view, tokens = session.view(), session.status().current_tokens
        assert size_of(view, characters) == tokens <= 2_000
        assert session.compactions()
        with session.fork(name="y") as fork:
            assert fork.status().current_tokens == tokens
    for name in ("x", "y"):
        with plimsoll.open(name, store=str(tmp_path), counter=characters) as session:
            assert (session.view(), session.status().current_tokens) == (view, tokens)
    with pytest.warns(CounterWarning, match="test_custom_counter.characters.*model's own") as told:
        plimsoll.open("x", store=str(tmp_path)).close()
    assert told[0].filename == __file__
    with (
        pytest.warns(CounterWarning, match="bytes by three"),
        plimsoll.open("x", store=str(tmp_path), counter=Bytes()) as session,
    ):
        assert session.peek() == view


@pytest.mark.spec("S0-08", "S3-02")
def test_the_estimating_counter_can_be_chosen(tmp_path: Path) -> None:
    """`counter="estimate"` needs no vocabulary, says less than it may be, and is remembered by a session."""
    exact, estimate = plimsoll.count_tokens(TALK), plimsoll.count_tokens(TALK, counter="estimate")
    assert exact != estimate
    assert exact * 0.9 < estimate < exact * 1.4
    claude = plimsoll.count_tokens(TALK, model="claude-sonnet-4-5", counter="estimate")
    assert claude > estimate

    with plimsoll.open("x", store=str(tmp_path), max_tokens=9_000, counter="estimate") as session:
        session.extend(TALK)
        assert session.status().current_tokens == estimate
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with plimsoll.open("x", store=str(tmp_path)) as session:
            assert session.status().current_tokens == estimate


@pytest.mark.slow
@pytest.mark.spec("S0-08", "WE-11")
def test_reported_usage_corrects_only_what_calls_itself_inexact() -> None:
    """A plain function decides alone what messages weigh; a counter that says it is not exact is corrected as our estimates are."""

    def loop(counter: Any, times: float) -> list[int]:
        sizes = []
        with plimsoll.open("x", store="memory:", max_tokens=200_000, counter=counter) as session:
            for message in [*TALK, *TALK, *TALK]:
                session.append(message)
                status = session.status()
                sizes.append(status.current_tokens - status.unseen_tokens)
                session.record_usage(int(plimsoll.count_tokens(session.view(), counter=Bytes().count) * times), 10)
        return sizes

    assert loop(Bytes().count, 2.0) == loop(Bytes().count, 1.0)
    assert loop(Bytes(), 2.0)[-1] > 1.6 * loop(Bytes(), 1.0)[-1]


@pytest.mark.spec("S0-08")
def test_two_counters_of_one_name_are_told_apart() -> None:
    """What was cut by one counter is not taken for what another one would have cut."""
    messages: list[Any] = [{"role": "user", "content": "look"}, *WORK[1:4], {"role": "user", "content": "x " * 3_000}]

    def counter(step: int) -> Callable[[str], int]:
        return lambda text: len(text.encode()) // 4 if "x x" not in text else len(text) // step

    views = [plimsoll.fit(messages, max_tokens=500, counter=counter(step)).messages for step in (4, 2)]

    assert views[0] != views[1]


@pytest.mark.slow
@pytest.mark.spec("S0-08")
def test_a_counter_is_no_error_where_it_is_slow_or_odd() -> None:
    """A counter that is neither monotone nor additive still ends within the budget, or says that it cannot."""

    def odd(text: str) -> int:
        return (len(text) * 7919) % 251 + len(text) // 8

    for budget in (300, 700, 1_500, 4_000):
        try:
            fitted = plimsoll.fit(WORK, max_tokens=budget, counter=odd)
        except PlimsollError:
            continue
        assert size_of(fitted.messages, odd) <= budget
