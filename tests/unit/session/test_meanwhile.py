"""What is said while a model writes a summary: it is in the view, in its place, and nothing is compacted twice for it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

import plimsoll
import proof
from plimsoll.errors import PlanIsStale, SettingError
from plimsoll.store.memory import InMemoryStore
from workloads import talk, turns

Wire = dict[str, Any]
BUDGET = 6_000
PROSE = "The user asked many things about leases and queues, and each was answered in a sentence or two."
CALL: Wire = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "open-1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
}
RESULT: Wire = {"role": "tool", "tool_call_id": "open-1", "content": "the lease is stale"}
LATER: dict[str, list[list[Wire]]] = {
    "a request": [[{"role": "user", "content": "And one more thing: stop."}]],
    "an exchange": [[CALL], [RESULT], [{"role": "assistant", "content": "It is stale."}]],
    "a result": [[RESULT]],
    "a result and a request": [[RESULT, {"role": "user", "content": "Stop."}]],
    "more than the budget": [talk(52, 120)],
}


class Model:
    """A summariser that lets other things happen first, once. `asked` counts."""

    def __init__(self, meanwhile: Callable[[plimsoll.Session], object]) -> None:
        self.meanwhile = meanwhile
        self.session: Any = None
        self.asked = 0

    def write(self, _request: Any) -> str:
        """For callers that do not await: as a tool of the host's would, from within the call."""
        self.asked += 1
        if self.asked == 1:
            self.meanwhile(self.session)
        return PROSE

    async def write_later(self, request: Any) -> str:
        """For callers that await."""
        await asyncio.sleep(0)
        return self.write(request)


def opened(store: Any, model: Model, *, awaits: bool, unanswered: bool = False) -> plimsoll.Session:
    """A session past its lines."""
    summarizer = model.write_later if awaits else model.write
    session = plimsoll.open(
        "s", store=store, max_tokens=BUDGET, summarizer=summarizer, project=False, format="openai-chat"
    )
    session.extend(talk(51, 80))
    if unanswered:
        session.append(CALL)
    model.session = session
    return session


def run(session: plimsoll.Session, how: str) -> list[Wire]:
    """The view after compacting in one of the four ways."""
    match how:
        case "view":
            return session.view()
        case "aview":
            return asyncio.run(session.aview())
        case "compact":
            session.compact()
        case _:
            asyncio.run(session.acompact())
    return session.peek()


WAYS = ("view", "aview", "compact", "acompact")


@pytest.mark.slow
@pytest.mark.spec("W1-08", "W2-10")
@pytest.mark.parametrize("later", LATER)
@pytest.mark.parametrize("how", WAYS)
def test_what_is_said_meanwhile_is_in_the_view(how: str, later: str) -> None:
    """Messages that arrive while the model writes follow the compacted view, valid and within the budget, also after reopening
    (W1-08, W2-10).
    """
    store = InMemoryStore()
    model = Model(lambda session: [session.extend(batch) for batch in LATER[later]])
    with opened(store, model, awaits=how[0] == "a", unanswered=later.startswith("a result")) as session:
        before = len(session.history())
        view = run(session, how)
        said = [message for batch in LATER[later] for message in batch]
        history = session.history()

        assert model.asked >= 1
        assert [*history[before:]] == said
        assert session.compactions()[0].stage == "model"
        assert plimsoll.validate(view, format="openai-chat") == []
        if later != "more than the budget":
            assert view[-len(said) :] == said
            assert (model.asked, len(session.compactions())) == (1, 1)
        elif "view" in how:
            proof.fits(view, BUDGET, "openai-chat")
            assert view[-1] == said[-1]
        done = session.compactions()[-1]
        assert done.tokens_after <= done.tokens_before
    with plimsoll.open("s", store=store, max_tokens=BUDGET, project=False) as again:
        assert json.dumps(again.peek()) == json.dumps(view)


@pytest.mark.slow
@pytest.mark.parametrize("how", WAYS)
def test_the_record_says_what_the_view_is(how: str) -> None:
    """The sizes that the compaction reports are those of the view with what came meanwhile in it, and undoing it gives all."""
    model = Model(lambda session: session.extend(LATER["an exchange"][0] + LATER["an exchange"][1]))
    with opened(InMemoryStore(), model, awaits=how[0] == "a") as session:
        view = run(session, how)
        (done,) = session.compactions()

        assert done.tokens_after == session.status().current_tokens == plimsoll.count_tokens(view)
        assert done.position == len(session.history())
        session.rollback()
        assert session.peek() == session.history()


@pytest.mark.slow
@pytest.mark.parametrize("how", WAYS)
def test_another_compaction_meanwhile(how: str) -> None:
    """A plan for a view that another compaction or a rollback has replaced is made anew, by rules, and never put over it."""

    def meanwhile(session: plimsoll.Session) -> None:
        by_rules = plimsoll.Session(session._recorder)
        by_rules.compact()
        by_rules.append({"role": "user", "content": "LATER"})

    model = Model(meanwhile)
    with opened(InMemoryStore(), model, awaits=how[0] == "a") as session:
        view = run(session, how)
        first, *rest = session.compactions()

        assert model.asked == 1
        assert first.stage == "rules"
        assert len(rest) == ("compact" in how)
        assert view[-1] == {"role": "user", "content": "LATER"}
        proof.fits(view, BUDGET, "openai-chat")


@pytest.mark.slow
def test_compactions_wait_for_each_other() -> None:
    """Two views and a compaction asked for at once ask the model no oftener than one after the other would."""
    model = Model(lambda _: None)
    with opened(InMemoryStore(), model, awaits=True) as session:

        async def at_once() -> list[Any]:
            return await asyncio.gather(session.aview(), session.aview(), session.aview())

        first, *others = asyncio.run(at_once())
        assert others == [first, first]
        assert (model.asked, len(session.compactions())) == (1, 1)
        assert asyncio.run(at_once()) == [first, *others]  # in another event loop


@pytest.mark.slow
def test_awaiting_changes_nothing_else() -> None:
    """With the same messages and the same prose `aview` and `acompact` give what `view` and `compact` give."""
    found = {}
    for how in WAYS:
        with opened(InMemoryStore(), Model(lambda _: None), awaits=how[0] == "a") as session:
            found[how] = run(session, how)

    assert found["view"] == found["aview"]
    assert found["compact"] == found["acompact"]


@pytest.mark.slow
def test_awaiting_a_plan() -> None:
    """`acompact` carries out a plan as `compact` does: as shown, refused when stale, and rebased with the model's new prose."""
    model = Model(lambda _: None)
    with opened(InMemoryStore(), model, awaits=True) as session:
        plan = session.preview()
        session.append({"role": "user", "content": "LATER"})
        with pytest.raises(PlanIsStale):
            asyncio.run(session.acompact(plan))
        edited = asyncio.run(session.acompact(plan.with_summary("My own words."), rebase=True))
        assert (edited.stage, edited.summary) == ("edited", "My own words.")
        assert session.peek()[-1] == {"role": "user", "content": "LATER"}
        session.rollback()
        done = asyncio.run(session.acompact(plan, rebase=True))
        assert (done.stage, done.summary is not None and done.summary.startswith(PROSE)) == ("model", True)


def test_a_plan_is_for_what_was_there_when_it_was_begun() -> None:
    """A preview during which something was said is stale at once."""
    model = Model(lambda session: session.append({"role": "user", "content": "LATER"}))
    with opened(InMemoryStore(), model, awaits=False) as session:
        plan = session.preview()
        with pytest.raises(PlanIsStale):
            session.compact(plan)


@pytest.mark.slow
@pytest.mark.parametrize("trigger", ["import", "", "x" * 500, None, 3])
def test_triggers(trigger: Any) -> None:
    """A compaction that somebody asks for is manual or automatic, and nothing else: "import" means another tool's."""
    with plimsoll.open("s", store="memory:", max_tokens=BUDGET) as session:
        for turn in turns(3, 8):
            session.extend(turn)
        with pytest.raises(SettingError) as refusal:
            session.compact(trigger=trigger)

        assert refusal.value.field == "trigger"
        assert session.compactions() == []
        assert session.compact(trigger="auto").trigger == "auto"
