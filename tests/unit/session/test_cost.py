"""What a turn costs, in characters counted and records read: bounded by what is new and by the budget, not by the history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

import plimsoll
import workloads
from plimsoll.formats import registry
from plimsoll.formats.registry import FORMATS, format_named
from plimsoll.store.memory import InMemoryStore
from plimsoll.tokens.exact import ExactCounter

BUDGET = 16_000
TURNS = 360


@dataclass
class Work:
    """Characters given to the tokenizer, messages decoded, records read."""

    counted_chars: int = 0
    decoded: int = 0
    read: int = 0

    def take(self) -> Work:
        """What was done since the last call."""
        done = Work(self.counted_chars, self.decoded, self.read)
        self.counted_chars = self.decoded = self.read = 0
        return done


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Counts the work of everything that runs after it."""
    found = Work()
    _count_chars(monkeypatch, found)
    format = format_named("openai-chat")

    def decoding(*arguments: Any) -> Any:
        found.decoded += 1
        return format.decode(*arguments)

    formats = {**FORMATS, format.name: replace(format, decode=decoding)}
    monkeypatch.setattr(registry, "_loaded", formats.__getitem__)
    log = type(InMemoryStore().create("probe"))
    for name in ("read", "read_back", "read_messages"):
        monkeypatch.setattr(log, name, _counting(getattr(log, name), found))
    return found


def _count_chars(monkeypatch: pytest.MonkeyPatch, found: Work) -> None:
    count, upper, count_all = ExactCounter.count, ExactCounter.upper, ExactCounter.count_all

    def counting(self: Any, text: str) -> int:
        found.counted_chars += len(text)
        return count(self, text)

    def counting_upper(self: Any, text: str) -> int:
        found.counted_chars += len(text)
        return upper(self, text)

    def counting_all(self: Any, texts: Any) -> Any:
        found.counted_chars += sum(map(len, texts))
        return count_all(self, texts)

    monkeypatch.setattr(ExactCounter, "count", counting)
    monkeypatch.setattr(ExactCounter, "upper", counting_upper)
    monkeypatch.setattr(ExactCounter, "count_all", counting_all)


def _counting(read: Any, found: Work) -> Any:
    def counted(self: Any, *arguments: Any) -> Iterator[Any]:
        for record in read(self, *arguments):
            found.read += 1
            yield record

    return counted


def turns_of(session: plimsoll.Session, seed: int, work: Work) -> tuple[list[tuple[int, Work]], list[Work]]:
    """What quiet turns and turns with a compaction cost; for quiet ones with the characters that were new."""
    quiet, busy = [], []
    for turn in workloads.turns(seed, TURNS):
        compactions = session.stats().compactions
        work.take()
        session.extend(turn)
        session.view()
        if session.stats().compactions == compactions:
            quiet.append((len(str(turn)), work.take()))
        else:
            busy.append(work.take())
    return quiet, busy


@pytest.mark.slow
@pytest.mark.spec("WE-10")
def test_a_quiet_turn_costs_what_is_new(work: Work) -> None:
    """Without a compaction only the new messages are counted and decoded, and nothing is read, however long the history
    (WE-10).
    """
    with plimsoll.open("x", store="memory:", max_tokens=BUDGET) as session:
        quiet, busy = turns_of(session, 41, work)

    assert len(busy) > 20
    for new_chars, done in quiet[2:]:
        assert done.counted_chars <= 3 * new_chars + 2_000
        assert done.decoded <= 12
        assert done.read == 0


@pytest.mark.slow
@pytest.mark.spec("W1-32")
def test_a_compaction_costs_what_the_budget_is(work: Work) -> None:
    """The last compactions of a long history read and count no more than the first ones: the view, not the history (W1-32)."""
    with plimsoll.open("x", store="memory:", max_tokens=BUDGET) as session:
        _, busy = turns_of(session, 44, work)
        history = len(session.history())
    early, late = busy[15:25], busy[-10:]

    assert sum(done.read for done in late) <= 2 * sum(done.read for done in early) + 60
    assert max(done.read for done in late) < history / 4
    assert sum(done.counted_chars for done in late) <= 2 * sum(done.counted_chars for done in early)
    assert sum(done.decoded for done in late) <= 2 * sum(done.decoded for done in early) + 60


@pytest.mark.slow
@pytest.mark.spec("S1-33")
@pytest.mark.spec("W1-32")
def test_opening_reads_back_to_the_last_compaction(work: Work) -> None:
    """Opening a long session, and its first view, read and decode what the view holds and not the history (W1-32)."""
    costs = {}
    for turns in (60, TURNS):
        store = InMemoryStore()
        with plimsoll.open("x", store=store, max_tokens=BUDGET, project=False) as session:
            for turn in list(workloads.turns(41, TURNS))[:turns]:
                session.extend(turn)
                session.view()
            history = len(session.history())
        work.take()
        with plimsoll.open("x", store=store, project=False) as session:
            session.view()
        costs[history] = work.take()
    (short, few), (long, many) = costs.items()

    assert long > 5 * short > 500
    assert many.read < long / 4
    assert many.read <= 2 * few.read + 60
    assert many.decoded <= 2 * few.decoded + 60
    assert many.counted_chars <= 2 * few.counted_chars + 20_000


@pytest.mark.spec("WE-10")
def test_asking_changes_and_costs_nothing(work: Work) -> None:
    """What is new is counted once; after that status, check and stats count and read nothing (WE-10)."""
    with plimsoll.open("x", store="memory:", max_tokens=BUDGET) as session:
        for turn in workloads.turns(42, 30):
            session.extend(turn)
        session.status()
        work.take()
        for _ in range(100):
            session.status()
            session.check()
            session.stats()
        done = work.take()

    assert (done.counted_chars, done.decoded, done.read) == (0, 0, 0)


@pytest.mark.spec("WE-10")
def test_a_text_is_counted_once(work: Work) -> None:
    """Fitting the same long conversation again counts almost nothing: counts are kept by content (WE-10)."""
    messages = workloads.work(43, 60)
    plimsoll.fit(messages, max_tokens=200_000)
    first = work.take().counted_chars
    plimsoll.fit(messages, max_tokens=200_000)
    again = work.take().counted_chars

    assert first > 50_000
    assert again < first / 3


def test_appending_counts_nothing(work: Work) -> None:
    """Messages are counted once, when the view or its size is asked for; appending them does not wait for a tokenizer."""
    with plimsoll.open("x", store="memory:", max_tokens=1_000_000) as session:
        work.take()
        for turn in workloads.turns(45, 30):
            session.extend(turn)
        appending = work.take()
        session.check()
        asking = work.take()

    assert appending.counted_chars == 0
    assert asking.counted_chars > 20_000
