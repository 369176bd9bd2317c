"""`sync`: the whole list at each call, as hosts hold it that are no agents of ours."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

import plimsoll
from plimsoll.errors import FormatError, ReferenceNotFound, SessionExists, StoreFull, StoreUnusable
from plimsoll.protocols import Record, RecordDraft
from plimsoll.store.log import Log

Wire = dict[str, Any]
STORES = ["memory:sync", "{place}", "sqlite:///{place}/all.db"]
BUDGET = 2_000


def turn(number: int) -> list[Wire]:
    """A request, a call with its result, and an answer."""
    call = {"id": f"c{number}", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.py"}'}}
    return [
        {"role": "user", "content": f"request {number}: " + "why is the lease stale? " * 4},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c{number}", "content": f"line {number} of the log\n" * 12},
        {"role": "assistant", "content": f"answer {number}"},
    ]


def conversation(turns: int) -> list[Wire]:
    """A system text and some turns."""
    return [{"role": "system", "content": "be brief"}, *(wire for number in range(turns) for wire in turn(number))]


@pytest.fixture(params=STORES, ids=["memory", "jsonl", "sqlite"])
def session(request: Any, tmp_path: Any) -> Iterator[plimsoll.Session]:
    """A session on each store."""
    store = request.param.format(place=tmp_path)
    with plimsoll.open("host", store=store, max_tokens=BUDGET) as opened:
        yield opened
    plimsoll.delete("host", store=store)


def records(session: plimsoll.Session) -> int:
    """How many records the log has."""
    return session._recorder.log.length


@pytest.mark.slow
def test_a_growing_list_is_appended(session: plimsoll.Session) -> None:
    """Each call takes in what is new; the view fits, and mostly it is the one before with more at its end."""
    messages = conversation(0)
    same, before = 0, None
    for number in range(40):
        messages += turn(number)[:3]
        view = session.sync(messages)
        assert plimsoll.count_tokens(view) <= BUDGET
        assert plimsoll.validate(view) == []
        same += before is not None and view[: len(before)] == before
        before = view
        messages.append(turn(number)[3])

    assert session.history() == messages[:-1]
    assert len(session.history(all=True)) == len(messages) - 1
    assert same >= 0.8 * 39


def test_origins_are_positions_in_the_list(session: plimsoll.Session) -> None:
    """A host finds its own objects by them; a summary has none."""
    messages = conversation(30)
    view = session.sync(messages)

    assert len(view.origins) == len(view) < len(messages)
    assert () in view.origins
    for message, positions in zip(view, view.origins, strict=True):
        if message in messages:
            assert [messages[position] for position in positions] == [message]


def test_the_same_list_again_writes_nothing(session: plimsoll.Session) -> None:
    """A list that says nothing new leaves the log as it is, also with other objects, and in another process."""
    messages = conversation(30)
    view, before = session.sync(messages), records(session)

    assert session.sync(copy.deepcopy(messages)) == view
    assert session.sync(json.loads(json.dumps(messages))) == view
    assert records(session) == before


@pytest.mark.slow
def test_an_edited_message_takes_the_conversation_another_way(session: plimsoll.Session) -> None:
    """What came after an edited message leaves the history and every view; the log, `read` and `fork` still have it."""
    messages = conversation(20)
    session.sync(messages)
    edited = [*messages[:41], {"role": "user", "content": "rather find ORD-9"}]
    view = session.sync(edited)

    assert session.history() == edited
    assert view[-1] == edited[-1]
    assert "request 15" not in json.dumps(view)
    assert not any("request 15" in hit.text for hit in session.recall("request 15"))
    assert session.history(all=True)[: len(messages)] == messages
    assert session.read("m61") == messages[61]["content"]
    with session.fork(at=f"m{len(messages) - 1}", name="old-way") as old:
        assert old.history() == messages


@pytest.mark.parametrize("store", ["memory:", "folder", "sqlite"])
def test_a_fork_has_the_history_as_it_is_now(store: str, tmp_path: Path) -> None:
    """What was removed or changed since does not come back in a fork of what came before the edit."""
    spec = {"folder": str(tmp_path), "sqlite": f"sqlite:///{tmp_path / 'a.db'}"}.get(store, store)
    messages = conversation(12)
    for budget in (900, 100_000):
        with plimsoll.open(f"edited-{budget}", store=spec, max_tokens=budget, format="openai-chat") as session:
            session.sync(messages)
            secret = next(at for at, message in enumerate(messages) if message["role"] == "user" and at > 4)
            held = [*messages[:secret], *messages[secret + 1 :]]
            held[0] = {**held[0], "content": "edited"}
            session.sync(held)
            with session.fork(at=f"m{len(messages) - 1}") as forked:
                assert forked.history() == session.history() == held
                assert plimsoll.validate(forked.view()) == []
            with session.fork(at=f"m{secret + 3}") as forked:
                assert forked.history() == held[: secret + 3]
            with session.fork(at=f"m{secret}") as forked:
                assert forked.history() == messages[: secret + 1]


@pytest.mark.parametrize("store", ["memory:", "folder", "sqlite"])
def test_a_fork_whose_edits_cannot_be_written_does_not_exist(store: str, tmp_path: Path) -> None:
    """A fork is created with the removals of its original or not at all, and a second try with the same name succeeds."""
    spec = {"folder": str(tmp_path), "sqlite": f"sqlite:///{tmp_path / 'a.db'}"}.get(store, store)
    messages = conversation(6)
    append = Log.append

    def failing(log: Log, drafts: Sequence[RecordDraft]) -> list[Record]:
        if any(draft.kind == "edit" for draft in drafts):
            raise StoreUnusable(log.where, reason="sync failed")
        return append(log, drafts)

    with plimsoll.open("a", store=spec, max_tokens=100_000, format="openai-chat") as session:
        session.sync(messages)
        held = [messages[0], *messages[2:]]
        session.sync(held)
        place = session._recorder.kept.store
        with patch.object(Log, "append", failing), pytest.raises(StoreUnusable):
            session.fork(at=f"m{len(messages) - 1}", name="b")
        assert [info.name for info in place.sessions()] == ["a"]
        with session.fork(at=f"m{len(messages) - 1}", name="b") as forked:
            assert forked.history() == held
        assert sorted(info.name for info in place.sessions()) == ["a", "b"]
        with pytest.raises(SessionExists):
            session.fork(at=f"m{len(messages) - 1}", name="b")


@pytest.mark.slow
def test_a_summary_of_what_was_taken_back_is_not_gone_on_from(session: plimsoll.Session) -> None:
    """Where the conversation is taken back behind a summary, the view goes on from before it."""
    messages = conversation(40)
    assert any(not positions for positions in session.sync(messages).origins)
    edited = [*messages[:9], {"role": "user", "content": "something else"}]
    view = session.sync(edited)

    assert view == edited
    assert session.history() == edited


@pytest.mark.slow
def test_another_answer_is_asked_for(session: plimsoll.Session) -> None:
    """Regenerating costs the one answer; the summary and everything before stay byte for byte."""
    messages = conversation(40)
    view = session.sync(messages)
    again = [*messages[:-1], {"role": "assistant", "content": "another answer"}]
    other = session.sync(again)

    assert other[:-1] == view[:-1]
    assert other[-1] == again[-1]
    assert session.history() == again


@pytest.mark.slow
def test_a_system_text_that_changes_each_time_costs_one_record(session: plimsoll.Session) -> None:
    """The text is changed where it stands: nothing is appended again, and the view differs in nothing else."""
    messages = conversation(30)
    view = session.sync(messages)
    for minute in range(5):
        messages[0] = {"role": "system", "content": f"be brief; it is 10:0{minute}"}
        before = records(session)
        other = session.sync(messages)
        assert records(session) == before + 1
        assert other[0] == messages[0]
        assert other[1:] == view[1:]

    assert session.history() == messages
    assert session.history(all=True)[0] == {"role": "system", "content": "be brief"}


def test_an_object_changed_in_place_is_noticed(session: plimsoll.Session) -> None:
    """The very dict that was handed over before is no proof that it says the same."""
    messages = conversation(3)
    session.sync(messages)
    messages[9]["content"] = "changed under the hand"
    view = session.sync(messages)

    assert session.history() == messages
    assert "changed under the hand" in json.dumps(view)


@pytest.mark.slow
def test_what_a_text_beside_many_costs_when_it_changes() -> None:
    """A system text that is another each time costs what is new: no message beside it is read again."""
    messages = conversation(250)
    with plimsoll.open("x", store="memory:", max_tokens=1_000_000) as session:
        session.sync(messages)
        read = session._recorder.meter.format.decode
        counted: list[Any] = []
        with patch.object(type(session._recorder.meter.format), "decode", lambda _, *a: counted.append(a) or read(*a)):
            for minute in range(3):
                messages[0] = {"role": "system", "content": f"be brief; it is 10:0{minute}"}
                messages += turn(300 + minute)
                assert session.sync(messages) == messages
        assert len(counted) < 3 * 5 * len(turn(0))


@pytest.mark.slow
def test_old_results_that_a_host_clears_stay_in_place(session: plimsoll.Session) -> None:
    """A host that replaces old tool results keeps the summary, and appends nothing again."""
    messages = conversation(30)
    session.sync(messages)
    count = len(session.history(all=True))
    messages[3] = {**messages[3], "content": "[cleared]"}
    view = session.sync(messages)

    assert session.history() == messages
    assert len(session.history(all=True)) == count
    assert () in view.origins


@pytest.mark.slow
def test_messages_trimmed_from_the_head_leave_the_summary(session: plimsoll.Session) -> None:
    """A host that slides its own window loses nothing that the summary says, and appends nothing again."""
    messages = conversation(40)
    view = session.sync(messages)
    count = len(session.history(all=True))
    trimmed = [messages[0], *messages[60:], *turn(40)]
    other = session.sync(trimmed)

    assert session.history() == trimmed
    assert len(session.history(all=True)) == count + 4
    assert [message for message in view if "[Summary" in str(message["content"])] == [
        message for message in other if "[Summary" in str(message["content"])
    ]


@pytest.mark.slow
def test_a_view_that_comes_back_is_recognised(session: plimsoll.Session) -> None:
    """A host may go on from the view it was given: the history is still everything that was said."""
    messages = conversation(40)
    view = session.sync(messages)
    held = [*copy.deepcopy(view), {"role": "user", "content": "and now?"}]
    other = session.sync(held)

    assert session.history() == [*messages, held[-1]]
    assert other == held
    assert other.origins == tuple((position,) for position in range(len(held)))


@pytest.mark.slow
def test_a_view_that_comes_back_in_another_process_is_recognised(tmp_path: Any) -> None:
    """Also an earlier one, with a newer compaction in the log."""
    messages = conversation(40)
    with plimsoll.open("host", store=str(tmp_path), max_tokens=BUDGET) as session:
        held = list(copy.deepcopy(session.sync(messages)))
        more = [wire for number in range(40, 80) for wire in turn(number)]
        held += more
        view = session.sync(held)
    with plimsoll.open("host", store=str(tmp_path), max_tokens=BUDGET) as session:
        before = records(session)
        assert session.sync(held) == view
        assert records(session) == before
        assert session.history() == [*messages, *more]


def test_neighbouring_messages_may_be_joined() -> None:
    """Hosts join what one speaker says in a row, as text or as blocks; another host parts it again."""
    apart = [
        {"role": "user", "content": "first"},
        {"role": "user", "content": "second"},
        {"role": "assistant", "content": "yes"},
    ]
    joined = [{"role": "user", "content": "first\n\nsecond"}, apart[2]]
    blocks = [
        {"role": "user", "content": [{"type": "text", "text": "first"}, {"type": "text", "text": "second"}]},
        apart[2],
    ]
    for given, then in ((apart, joined), (apart, blocks), (joined, apart), (blocks, apart)):
        with plimsoll.open("x", store="memory:", max_tokens=BUDGET) as session:
            session.sync(given)
            before = records(session)
            session.sync(then)
            assert records(session) == before
            new = {"role": "user", "content": "third"}
            assert session.sync([*then, new])[-1] == new
            assert session.history() == [*given, new]


def test_reasoning_that_a_host_leaves_out_is_left_out() -> None:
    """The message is known by what it says; what is sent is what the host holds."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "s" * 40}
    said = {"type": "text", "text": "It is stale."}
    question, more = {"role": "user", "content": "why?"}, {"role": "user", "content": "sure?"}
    messages = [question, {"role": "assistant", "content": [thought, said]}, more]
    without = [question, {"role": "assistant", "content": [said]}, more]
    with plimsoll.open("x", store="memory:", max_tokens=BUDGET) as session:
        assert session.sync(messages) == messages
        assert session.sync(without) == without
        assert session.history() == without
        assert session.history(all=True) == messages


def test_system_text_may_move_beside_the_messages() -> None:
    """Then it is counted there, and is in no view."""
    messages = conversation(2)
    with plimsoll.open("x", store="memory:", max_tokens=BUDGET) as session:
        session.sync(messages)
        view = session.sync(messages[1:], system="be brief")
        assert view == messages[1:]
        assert session.system == "be brief"
        assert session.history() == messages[1:]


def test_tools_are_counted() -> None:
    """Tool definitions handed over with a list take their part of the budget from then on."""
    tool = {"type": "function", "function": {"name": "read", "description": "reads " * 200, "parameters": {}}}
    with plimsoll.open("x", store="memory:", max_tokens=BUDGET) as session:
        session.sync(conversation(5))
        before = session._recorder.meter.budget.tokens
        session.sync(conversation(5), tools=[tool])
        assert session._recorder.meter.budget.tokens < before - 190


def test_nothing_is_shared_with_the_host(session: plimsoll.Session) -> None:
    """Changing a view changes neither the host's list nor what the session knows."""
    messages = conversation(2)
    view = session.sync(messages)
    view[1]["content"] = "changed"
    view[2]["tool_calls"][0]["function"]["name"] = "other"

    assert messages == conversation(2)
    assert session.sync(messages) == conversation(2)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["text", None, 3, {"role": "user", "content": "x"}, [3], [{"role": "wizard"}]])
def test_what_is_no_list_of_messages_is_refused(session: plimsoll.Session, wrong: Any) -> None:
    """A typed error that names the place; nothing was taken in."""
    messages = conversation(2)
    session.sync(messages)
    with pytest.raises(FormatError):
        session.sync(wrong)
    with pytest.raises(FormatError) as found:
        session.sync([*messages, {"role": "wizard", "content": "x"}])

    assert found.value.position == len(messages)
    assert session.history() == messages


def test_a_full_disk_changes_nothing(session: plimsoll.Session, monkeypatch: Any) -> None:
    """A list that cannot be written down is handed over again later."""
    messages = conversation(2)
    view = session.sync(messages)
    with monkeypatch.context() as patch:

        def full(*_: Any) -> int:
            raise StoreFull("somewhere")

        patch.setattr(type(session._recorder.log), "append", full)
        with pytest.raises(StoreFull):
            session.sync([*messages[:5], *turn(9)])
    assert session.peek() == view
    assert session.history() == messages
    session.sync([*messages[:5], *turn(9)])
    assert session.history() == [*messages[:5], *turn(9)]


def test_callers_that_await() -> None:
    """`sync_async` gives what `sync` gives."""
    messages = conversation(30)

    async def main() -> Any:
        async with await plimsoll.aopen("x", store="memory:", max_tokens=BUDGET) as session:
            return await session.sync_async(messages)

    with plimsoll.open("x", store="memory:", max_tokens=BUDGET) as session:
        view = session.sync(messages)
    other = asyncio.run(main())
    assert (other, other.origins) == (view, view.origins)


@pytest.mark.slow
def test_pins_and_references_outlive_an_edit(session: plimsoll.Session) -> None:
    """A message keeps its number; what was read back before can be read back after."""
    messages = conversation(30)
    session.sync(messages)
    session.pin("m5")
    reference = session.recall("line 3 of the log")[0].reference
    text = session.read(reference)
    messages[0] = {"role": "system", "content": "be very brief"}
    session.sync(messages)

    assert session.read(reference) == text
    with pytest.raises(ReferenceNotFound):
        session.read("m900")


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_synced_list_is_summarised_by_the_model(is_async: bool) -> None:
    """Where a compaction is due, `sync` asks the session's summariser, as `view` does."""
    prose, messages = "The user asks again and again why the lease is stale.", conversation(24)
    with plimsoll.open("asked", store="memory:", max_tokens=BUDGET, summarizer=lambda _: prose) as session:
        view = asyncio.run(session.sync_async(messages)) if is_async else session.sync(messages)

        assert session.compactions()[-1].stage == "model"
        assert any(prose in str(message["content"]) for message in view)
