"""Any host that holds a list of messages and hands it over whole, on every store and in every format.

The host appends, edits, takes back, trims, puts in, encodes anew, changes objects in place, takes over the view it was given, and
starts again in a new process. Whatever it does: the history is what the list says, and the log has lost nothing.
"""

from __future__ import annotations

import copy
import json
import random
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
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
from generated import FORMATS, random_history
from plimsoll.errors import CannotFit, StoreFull

Wire = dict[str, Any]
BUDGET = 1_500


def plain(message: Wire) -> str:
    """What a message says, however it is written: text as one block, no null, keys in order."""
    said = {key: value for key, value in message.items() if value is not None}
    if isinstance(said.get("content"), str):
        said["content"] = [{"type": "text", "text": said["content"]}]
    blocks = said.get("content")
    if isinstance(blocks, list):
        said["content"] = [
            {**block, "type": "text"} if str(block.get("type")).endswith("_text") else block for block in blocks
        ]
    return json.dumps(said, sort_keys=True)


def pool(rng: random.Random, format: str) -> list[Wire]:
    """Messages of several valid conversations, one after the other; no call id comes twice."""
    found: list[Wire] = []
    for part in range(5):
        made = [wire for wire in random_history(rng, format) if wire.get("role") not in ("system", "developer")]
        found += json.loads(re.sub(r'"(fc_)?call_(?=[0-9])', rf'"\1call_{part}_', json.dumps(made)))
    return found


def reordered(value: Any) -> Any:
    """The same JSON with the fields of every object in another order."""
    if isinstance(value, dict):
        return {key: reordered(item) for key, item in reversed(value.items())}
    return [reordered(item) for item in value] if isinstance(value, list) else value


class Hosts(RuleBasedStateMachine):
    """A host and its session. `held` is the host's list, `said` what its history must be."""

    spec: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.place = Path(tempfile.mkdtemp())
        self.format: Any = "openai-chat"
        self.held: list[Wire] = []
        self.said: list[str] = []
        self.own = 0
        self.everything: list[Wire] = []
        self.supply: list[Wire] = []

    def open(self) -> plimsoll.Session:
        """The session as it is found in its store."""
        store = self.spec.format(place=self.place)
        return plimsoll.open("one", store=store, max_tokens=BUDGET, format=self.format)

    @initialize(format=st.sampled_from(FORMATS), seed=st.integers(0, 2**32))
    def begin(self, format: str, seed: int) -> None:
        """An empty list, or one with a system text and a first request."""
        self.format = format
        self.rng = random.Random(seed)
        self.session = self.open()
        self.grow(3)

    def message(self, text: str, role: str = "user") -> Wire:
        """Something that is said."""
        if self.format == "ui-parts":
            return {"id": f"x{self.rng.getrandbits(40)}", "role": role, "parts": [{"type": "text", "text": text}]}
        return {"role": role, "content": text}

    def take(self, count: int) -> list[Wire]:
        """The next messages of the supply."""
        while len(self.supply) < count:
            self.supply += pool(self.rng, self.format)
        taken, self.supply = self.supply[:count], self.supply[count:]
        return taken

    def hold(self, held: list[Wire]) -> None:
        """The host's list is another; its history too, as far as the host holds it in its own words."""
        self.held = held
        self.said = [*self.said[: self.own], *map(plain, held[self.first :])]

    @property
    def first(self) -> int:
        """Index of the first message of the list that is not taken over from a view."""
        return self.taken if self.own else 0

    taken = 0

    @rule(count=st.integers(1, 6))
    def grow(self, count: int) -> None:
        """More is said."""
        self.hold([*self.held, *self.take(count)])
        self.sync()

    @rule()
    def grow_much(self) -> None:
        """So much is said at once that a compaction is due."""
        self.hold([*self.held, *self.take(25)])
        self.sync()

    @rule(data=st.data(), keeps_rest=st.booleans())
    def edit(self, data: st.DataObject, keeps_rest: bool) -> None:
        """Another word in place of a message; what came after it stays, or is gone."""
        if len(self.held) > self.first:
            at = data.draw(st.integers(self.first, len(self.held) - 1))
            new = self.message(f"edited {self.rng.getrandbits(30)}")
            self.hold([*self.held[:at], new, *(self.held[at + 1 :] if keeps_rest else [])])
            self.sync()

    @rule(data=st.data())
    def take_back(self, data: st.DataObject) -> None:
        """The end of the list is gone, perhaps all of it, and something else is said."""
        at = data.draw(st.integers(self.first, len(self.held)))
        self.hold([*self.held[:at], *self.take(data.draw(st.integers(0, 2)))])
        self.sync()

    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        """Some messages in the middle, or at the beginning, are gone."""
        at = data.draw(st.integers(self.first, len(self.held)))
        stop = data.draw(st.integers(at, min(len(self.held), at + 8)))
        self.hold([*self.held[:at], *self.held[stop:]])
        self.sync()

    @rule(data=st.data())
    def put_in(self, data: st.DataObject) -> None:
        """A message comes between the others."""
        at = data.draw(st.integers(self.first, len(self.held)))
        self.hold([*self.held[:at], self.message(f"put in {self.rng.getrandbits(30)}"), *self.held[at:]])
        self.sync()

    @precondition(lambda self: not self.own and self.format != "anthropic")
    @rule()
    def instruct(self) -> None:
        """The list begins with another system text."""
        rest = self.held[1:] if self.held and self.held[0].get("role") in ("system", "developer") else self.held
        self.hold([self.message(f"be brief {self.rng.getrandbits(30)}", "system"), *rest])
        self.sync()

    @precondition(lambda self: not self.own)
    @rule(data=st.data())
    def change_in_place(self, data: st.DataObject) -> None:
        """The very object that was handed over before says something else."""
        texts = [
            wire
            for wire in self.held
            if isinstance(wire.get("content"), str) and wire.get("role") not in ("tool", None)
        ]
        if texts:
            data.draw(st.sampled_from(texts))["content"] = f"changed {self.rng.getrandbits(30)}"
            self.hold(self.held)
            self.sync()

    @rule()
    def encode_anew(self) -> None:
        """Every message is another object that says the same: nothing is written, and the history is what it was."""
        before = self.session._recorder.log.length
        again = [reordered({"name": None, **wire} if "content" in wire else wire) for wire in self.held]
        for wire in again:
            if isinstance(wire.get("content"), str) and wire.get("role") == "user" and wire["content"]:
                kind = "input_text" if self.format == "openai-responses" else "text"
                wire["content"] = [{"type": kind, "text": wire["content"]}]
        view = self.session.sync(again)
        assert self.session._recorder.log.length == before
        assert view == self.session.sync(self.held)
        assert self.session._recorder.log.length == before

    @rule()
    def take_over_the_view(self) -> None:
        """The host holds our view from now on; the history is still all that was said."""
        view = self.session.sync(self.held)
        self.said = [plain(wire) for wire in self.session.history()]
        self.held, self.own, self.taken = list(copy.deepcopy(view)), len(self.said), len(view)
        is_unmarked = len(view) < len(self.said) and all(view.origins)
        if is_unmarked or "[No result" in json.dumps(view):
            self.start_again()
            return
        before = self.session._recorder.log.length
        assert self.session.sync(self.held) == view
        assert self.session._recorder.log.length == before

    @precondition(lambda self: self.own)
    @rule()
    def start_again(self) -> None:
        """The host holds all of the history itself again."""
        self.own = self.taken = 0
        self.hold(self.session.history())
        self.sync()

    @rule()
    def reopen(self) -> None:
        """Another process goes on: the same view, and nothing is written."""
        view, before = self.session.sync(self.held), self.session._recorder.log.length
        self.session.close()
        self.session = self.open()
        assert self.session.peek() == view
        assert self.session.sync(self.held) == view
        assert self.session._recorder.log.length == before

    @rule()
    def compact(self) -> None:
        """A compaction by hand; the list goes on as it was."""
        self.session.compact()
        self.sync()

    @rule()
    def roll_back(self) -> None:
        """Undoing a compaction leaves the list what it was."""
        if any(not done.undone for done in self.session.compactions()):
            self.session.rollback()
            self.sync()

    @rule(count=st.integers(1, 3))
    def fail_to_write(self, count: int) -> None:
        """A list that cannot be written down changes nothing; handed over again it is taken in."""
        shown, history = self.session.peek(), self.session.history()
        held = [*self.held[: max(self.first, len(self.held) - 1)], *self.take(count)]
        with (
            patch.object(type(self.session._recorder.log), "append", side_effect=StoreFull("somewhere")),
            pytest.raises(StoreFull),
        ):
            self.session.sync(held)
        assert self.session.history() == history
        assert self.session.peek() == shown
        self.hold(held)
        self.sync()

    def sync(self) -> None:
        """Hand the list over and look at what comes back."""
        before = copy.deepcopy(self.held)
        try:
            view = self.session.sync(self.held)
        except CannotFit:
            return
        assert self.held == before
        proof.fits(view, BUDGET, self.format)
        self.check_origins(view)
        again = self.session.sync(self.held)
        assert (again, again.origins) == (view, view.origins)

    def check_origins(self, view: Any) -> None:
        """Origins are positions in the list, in order; a message that is unchanged is the one at its origin."""
        assert len(view.origins) == len(view), (self.format, len(view), view.origins)
        assert all(0 <= at < len(self.held) for positions in view.origins for at in positions)
        listed = {plain(wire): at for at, wire in enumerate(self.held)}
        if len(listed) == len(self.held):
            for wire, positions in zip(view, view.origins, strict=True):
                assert plain(wire) not in listed or positions == (listed[plain(wire)],)

    @invariant()
    def history_is_the_list(self) -> None:
        """The history says what the list says, and everything ever said is in the log."""
        if not hasattr(self, "session"):
            return
        assert [plain(wire) for wire in self.session.history()] == self.said
        everything = self.session.history(all=True)
        assert everything[: len(self.everything)] == self.everything
        self.everything = everything

    def teardown(self) -> None:
        """Nothing stays behind."""
        self.session.close()
        if self.spec.startswith("memory:"):
            for info in plimsoll.sessions(self.spec):
                plimsoll.delete(info.name, self.spec)
        shutil.rmtree(self.place)


class InFolder(Hosts):
    """JSON lines in a directory."""

    spec = "{place}"


class InDatabase(Hosts):
    """One SQLite file."""

    spec = "sqlite:///{place}/all.db"


class InMemory(Hosts):
    """Memory shared by a label."""

    spec = "memory:hosts"


_COMMON: Any = {"deadline": None, "suppress_health_check": list(HealthCheck)}
TestInFolder = InFolder.TestCase
TestInFolder.settings = settings(max_examples=examples(6), stateful_step_count=15, **_COMMON)
TestInDatabase = InDatabase.TestCase
TestInDatabase.settings = settings(max_examples=examples(6), stateful_step_count=15, **_COMMON)
TestInMemory = InMemory.TestCase
TestInMemory.settings = settings(max_examples=examples(25), stateful_step_count=20, **_COMMON)


@pytest.mark.soak
@pytest.mark.parametrize("machine", [InFolder, InDatabase, InMemory])
def test_long_lives(machine: type[Hosts]) -> None:
    """Two thousand longer lives on each store."""
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples(2_000), stateful_step_count=60, **_COMMON)
    )
