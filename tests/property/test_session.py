"""Any sequence of operations on a session, on every store, against a model of it: a list of messages and the views seen."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import plimsoll
import proof
from amounts import examples
from plimsoll.errors import FormatError, SettingError, StoreFull

Wire = dict[str, Any]
BUDGET = 900
WORDS = "the worker keeps a stale lease so the next batch reads old offsets and order ORD-7 waits 修复 问题".split()


def text(number: int, size: int) -> str:
    """Some words that differ by number."""
    return " ".join([f"n{number}", *(WORDS[(number * 7 + at) % len(WORDS)] for at in range(size))])


@st.composite
def batches(draw: st.DrawFn) -> list[Wire]:
    """What comes at once: words of either side, an exchange, a call alone, a late or unasked result, an empty message."""
    number = draw(st.integers(0, 99))
    size = draw(st.sampled_from((0, 3, 40, 40, 150, 900)))
    kind = draw(st.sampled_from(("user", "assistant", "exchange", "parallel", "call", "result", "empty", "system")))
    ids = [f"call_{number}", f"call_{number}b"]
    calls = [{"id": id, "type": "function", "function": {"name": "read", "arguments": '{"path":"a.py"}'}} for id in ids]
    results = [{"role": "tool", "tool_call_id": id, "content": text(number, size)} for id in ids]
    match kind:
        case "exchange":
            return [{"role": "assistant", "content": None, "tool_calls": calls[:1]}, results[0]]
        case "parallel":
            return [{"role": "assistant", "content": "two", "tool_calls": calls}, results[1], results[0]]
        case "call":
            return [{"role": "assistant", "content": None, "tool_calls": calls}]
        case "result":
            return results[:1]
        case "empty":
            return [{"role": "user", "content": ""}]
        case _:
            return [{"role": kind, "content": text(number, size)}]


def _is_placeholder(message: Wire) -> bool:
    """Whether it stands for a result that has not come."""
    return "[No result" in str(message)


class Sessions(RuleBasedStateMachine):
    """One session and what it must be. `seen` holds, for each compaction, the view before it and how much had been said."""

    spec: Any = None
    compactions = Bundle("compactions")

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.history: list[Wire] = []
        self.before: dict[str, tuple[int, str]] = {}
        self.forks = 0
        self.pins: set[str] = set()
        self.session = self.open()

    def open(self) -> plimsoll.Session:
        """The session as it is found in its store."""
        store = self.spec.format(place=self.place)
        return plimsoll.open("one", store=store, max_tokens=BUDGET, format="openai-chat")

    def shown(self) -> str:
        """The view as it stands, without the compaction that may be due."""
        return json.dumps(self.session._recorder.written())

    @initialize()
    def begin(self) -> None:
        """A first request, so that there is something to say."""
        self.say([{"role": "user", "content": "Find ORD-7."}])

    def say(self, messages: list[Wire]) -> None:
        """Append and remember."""
        ids = self.session.extend(messages)
        assert ids == [f"m{len(self.history) + at}" for at in range(len(messages))]
        self.history += messages

    @rule(messages=batches())
    def append(self, messages: list[Wire]) -> None:
        """Appending only adds: the view before it, without placeholders of results, begins the view after it.

        A result that comes late must stand beside its call: then only what is before the first placeholder stays as it is.
        """
        view = self.session._recorder.written()
        awaited = {message["tool_call_id"] for message in view if _is_placeholder(message)}
        is_late = any(message.get("tool_call_id") in awaited for message in messages)
        self.say(messages)
        after = self.session._recorder.written()
        if is_late:
            before = list(takewhile(lambda message: not _is_placeholder(message), view))
        else:
            before, after = [[one for one in shown if not _is_placeholder(one)] for shown in (view, after)]
        assert after[: len(before)] == before

    @rule(messages=st.lists(batches(), min_size=2, max_size=5))
    def extend(self, messages: list[list[Wire]]) -> None:
        """Several at once."""
        self.say([message for batch in messages for message in batch])

    @rule(wrong=st.sampled_from([{"role": "wizard", "content": "x"}, {"content": 3}, [], "x", None]))
    def append_what_is_none(self, wrong: Any) -> None:
        """What is no message changes nothing, the good ones before it in the same call included."""
        shown = self.shown()
        with pytest.raises(FormatError):
            self.session.extend([{"role": "user", "content": "good"}, wrong])
        assert self.shown() == shown

    @rule(messages=batches(), operation=st.sampled_from(["extend", "compact", "pin", "rollback"]))
    def fail_to_write(self, messages: list[Wire], operation: str) -> None:
        """A log that cannot be written leaves everything as it was."""
        shown, count = self.shown(), len(self.session.compactions())
        with failing(self.session):
            try:
                match operation:
                    case "extend":
                        self.session.extend(messages)
                    case "compact":
                        assert self.session.compact().id is None
                    case "pin":
                        self.session.pin("m0")
                    case _:
                        self.session.rollback()
            except (StoreFull, SettingError):
                pass
        assert self.shown() == shown
        assert len(self.session.compactions()) == count

    @rule(target=compactions)
    def view(self) -> Any:
        """What is to be sent fits, is valid, and is the same when asked again."""
        shown, count = self.shown(), len(self.session.compactions())
        view = self.session.view()
        assert plimsoll.count_tokens(view, format="openai-chat") <= BUDGET
        assert proof.least_tokens(view) <= BUDGET
        assert plimsoll.validate(view, format="openai-chat") == []
        assert self.session.view() == view
        made = self.session.compactions()[count:]
        assert len(made) <= 1
        for compaction in made:
            self.before[compaction.id] = (len(self.history), shown)
        return made[0].id if made else ""

    @rule(target=compactions, focus=st.sampled_from([None, "ORD-7", ""]))
    def compact(self, focus: str | None) -> Any:
        """A preview changes nothing and says what compacting then does; compacting makes the view smaller, or nothing."""
        shown = self.shown()
        plan = self.session.preview(focus=focus)
        planned = plan.apply()
        assert self.shown() == shown
        done = self.session.compact(focus=focus)
        assert (done.tokens_before, done.tokens_after) == (plan.report.tokens_before, plan.report.tokens_after)
        if done.id is None:
            assert self.shown() == shown
            return ""
        assert json.loads(self.shown()) == planned.messages
        assert done.tokens_after < done.tokens_before
        self.before[done.id] = (len(self.history), shown)
        return done.id

    @rule(target=compactions, messages=batches())
    def compact_meanwhile(self, messages: list[Wire]) -> Any:
        """What is said while a model writes the summary is in the view behind it, and rolling back gives all of it."""
        shown = self.shown()

        def summarizer(_request: Any) -> str:
            nonlocal shown
            self.say(messages)
            shown = self.shown()
            return "Things were asked and answered."

        done = plimsoll.Session(self.session._recorder, summarizer=summarizer).compact()
        if done.id is None:
            assert self.shown() == shown
            return ""
        self.before[done.id] = (len(self.history), shown)
        return done.id

    @rule(id=compactions)
    def roll_back(self, id: str) -> None:
        """Undoing gives the view from before back, byte for byte where nothing was said since; reapplying undoes that."""
        in_force = {done.id for done in self.session.compactions() if not done.undone}
        if id not in in_force:
            with pytest.raises(SettingError):
                self.session.rollback(id or "c0")
            return
        after = self.shown()
        newest = max(in_force, key=lambda found: int(found[1:])) == id
        said, before = self.before[id]
        assert self.session.rollback(id).undone
        if said == len(self.history):
            assert self.shown() == before
        if newest:
            back = self.shown()
            self.session.reapply(id)
            assert self.shown() == after
            self.session.rollback(id)
            assert self.shown() == back

    @rule(data=st.data())
    def reapply(self, data: st.DataObject) -> None:
        """Any compaction that was undone may be taken up again."""
        undone = [done.id for done in self.session.compactions() if done.undone]
        if not undone:
            with pytest.raises(SettingError):
                self.session.reapply()
            return
        id = data.draw(st.sampled_from(undone))
        assert not self.session.reapply(id).undone
        assert id in {done.id for done in self.session.compactions() if not done.undone}

    @rule(data=st.data(), pinned=st.booleans())
    def pin(self, data: st.DataObject, pinned: bool) -> None:
        """Pinning is remembered and changes nothing that is shown now."""
        shown = self.shown()
        id = f"m{data.draw(st.integers(0, len(self.history) - 1))}"
        (self.session.pin if pinned else self.session.unpin)(id)
        (self.pins.add if pinned else self.pins.discard)(id)
        assert self.shown() == shown
        assert {f"m{position}" for position in self.session._recorder.state.facts.pins} == self.pins

    @rule()
    def reopen(self) -> None:
        """Opened again, it shows the same, byte for byte, and knows the same."""
        shown, check, stats = self.shown(), self.session.check(), self.session.stats()
        done = [found.to_dict() for found in self.session.compactions()]
        self.session.close()
        self.session = self.open()
        assert self.shown() == shown
        assert (self.session.check().current_tokens, self.session.stats()) == (check.current_tokens, stats)
        assert [found.to_dict() for found in self.session.compactions()] == done
        assert {f"m{position}" for position in self.session._recorder.state.facts.pins} == self.pins

    @precondition(lambda self: self.forks < 2)
    @rule(data=st.data())
    def fork(self, data: st.DataObject) -> None:
        """A fork has the same history up to its point and, taken at the end, the same view; what it does leaves the other alone."""
        self.forks += 1
        at = data.draw(st.none() | st.integers(0, len(self.history) - 1))
        shown = self.shown()
        with self.session.fork(None if at is None else f"m{at}") as fork:
            assert fork.history() == (self.history if at is None else self.history[: at + 1])
            if at is None:
                assert json.dumps(fork._recorder.written()) == shown
            fork.append({"role": "user", "content": "elsewhere"})
            assert plimsoll.validate(fork.view(), format="openai-chat") == []
        assert self.shown() == shown

    @invariant()
    def nothing_is_lost(self) -> None:
        """Every message ever appended is there, whole, and the view is valid even before a compaction that is due."""
        assert self.session.history() == self.history
        view = json.loads(self.shown())
        assert plimsoll.validate(view, format="openai-chat") == []
        assert self.session.status().current_tokens == plimsoll.count_tokens(view, format="openai-chat")

    def teardown(self) -> None:
        """Nothing stays behind."""
        self.session.close()
        if self.spec.startswith("memory:"):
            for info in plimsoll.sessions(self.spec):
                plimsoll.delete(info.name, self.spec)
        shutil.rmtree(self.place)


@contextmanager
def failing(session: plimsoll.Session) -> Iterator[None]:
    """The session's log with a full disk."""
    with patch.object(type(session._recorder.log), "append", side_effect=StoreFull("somewhere")):
        yield


class InFolder(Sessions):
    """JSON lines in a directory."""

    spec = "{place}"


class InDatabase(Sessions):
    """One SQLite file."""

    spec = "sqlite:///{place}/all.db"


class InMemory(Sessions):
    """Memory shared by a label."""

    spec = "memory:state-machine"


_COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck)}
pytestmark = pytest.mark.spec("W1-03", "W1-04", "W1-05", "W1-23", "W1-34")
TestInFolder = InFolder.TestCase
TestInFolder.settings = settings(max_examples=examples(25), stateful_step_count=25, **_COMMON)
TestInDatabase = InDatabase.TestCase
TestInDatabase.settings = settings(max_examples=examples(25), stateful_step_count=25, **_COMMON)
TestInMemory = InMemory.TestCase
TestInMemory.settings = settings(max_examples=examples(60), stateful_step_count=30, **_COMMON)


@pytest.mark.soak
@pytest.mark.parametrize("machine", [InFolder, InDatabase, InMemory])
def test_long_lives(machine: type[Sessions]) -> None:
    """Two thousand longer lives on each store."""
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples(2_000), stateful_step_count=60, **_COMMON)
    )
