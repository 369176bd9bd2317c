"""How many objects a session holds that the garbage collector must visit: a full collection stops every thread for them."""

import gc
import json

import pytest

import plimsoll
from plimsoll.compaction.entries import Entries, same_rows, shown_whole, summaries_in
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.formats.atoms import atoms_of
from plimsoll.formats.openai_chat.format import FORMAT
from plimsoll.message import text_message
from plimsoll.recall.index import Index

WORDS_PER_MESSAGE = 60


class Scales:
    """Counts every message as one token."""

    counted = 0

    def __call__(self, _message: object) -> int:
        """One."""
        self.counted += 1
        return 1


@pytest.fixture(autouse=True, scope="module")
def _earlier_objects_are_left_out() -> None:
    """The collector visits none of the objects of earlier tests, which takes seconds in a process that ran thousands."""
    gc.collect()  # what was left unclosed is found now or never
    gc.freeze()


def tracked() -> set[int]:
    """The objects that the collector would visit, by identity."""
    gc.collect()
    return set(map(id, gc.get_objects()))


def words(number: int) -> str:
    """A text of words that no other text has."""
    return " ".join(f"w{number}x{n}" for n in range(WORDS_PER_MESSAGE))


def test_a_search_index_has_no_object_for_each_word():
    """An index of thousands of words has two tracked objects for a message at most."""
    index = Index()
    index.add(text_message("user", words(0)), 0)
    before = tracked()
    for number in range(1, 100):
        index.add(text_message("user", words(number)), number)
    assert len(tracked() - before) < 2 * 100
    assert len(index.segments[-1].units) >= 100 * WORDS_PER_MESSAGE


CALLS = 100


def worked(number: int) -> list[dict]:
    """A call of a tool and its result."""
    function = {"name": "read_file", "arguments": json.dumps({"path": f"src/p{number}.py"})}
    call = {"id": f"call_{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": call["id"], "content": f"line {number} " * 40},
    ]


def blocks(number: int) -> list[dict]:
    """The same as Anthropic's blocks."""
    call = {"type": "tool_use", "id": f"call_{number}", "name": "read_file", "input": {"path": f"src/p{number}.py"}}
    said = [{"type": "text", "text": f"line {number} " * 40}]
    return [
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}, call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call["id"], "content": said}]},
    ]


def said(turn, count: int) -> list[dict]:
    """A conversation of so many calls."""
    return [{"role": "user", "content": "Go."}, *(one for number in range(count) for one in turn(number))]


def held_by(store, name: str, messages: list[dict], budget: int) -> tuple[int, int]:
    """Number of tracked objects of a session once it has the messages, and after its view."""
    before = tracked()
    with plimsoll.open(name, store=store, max_tokens=budget) as session:
        session.extend(messages)
        filled = len(tracked() - before)
        session.view()
        return filled, len(tracked() - before)


@pytest.mark.parametrize("turn", [worked, blocks])
def test_the_messages_of_a_session_are_no_tracked_objects(turn, tmp_path):
    """A session holds as many tracked objects for 401 messages as for 101, before its view and after it."""
    held_by(tmp_path, "before", said(turn, 50), 200_000)  # loads what is loaded once
    few, few_seen = held_by(tmp_path, "few", said(turn, 50), 200_000)
    many, many_seen = held_by(tmp_path, "many", said(turn, 200), 200_000)
    assert many - few < 60
    assert many_seen - few_seen < 60


def test_rows_at_rest_keep_every_field_of_a_message():
    """Messages that rested are as before: counted once, and placed, cut, joined and inserted as they were."""
    scales = Scales()
    shown = [FORMAT.decode(wire, position) for position, wire in enumerate(worked(1))]
    fields = [{}, {"position": 7}, {"whole": False}, {"apart": True}, {"joined": True}, {"origin": "made"}]
    made = [ViewMessage(shown=message, count_message=scales, **given) for message in shown for given in fields]
    entries, count = Entries(made), len(made)
    before = [(one.message, one.position, one.origin, one.whole, one.apart, one.joined) for one in entries]
    assert made[0].tokens == 1
    entries.rest(0, count)
    assert all(isinstance(row, tuple) for row in entries.rows)
    assert [(one.message, one.position, one.origin, one.whole, one.apart, one.joined) for one in entries] == before
    assert [entries.tokens_from(0), entries.tokens_from(0), scales.counted] == [count] * 3
    assert same_rows([*made], entries.rows) == 1  # the others were counted while they rested
    assert entries.recounted(scales).tokens_from(1) == count - 1


def test_a_search_makes_no_messages_of_those_at_rest(monkeypatch):
    """Which are shown whole is read of the rows; of summaries alone the messages are made."""
    shown = [FORMAT.decode(wire, at) for at in range(3) for wire in worked(at)]
    places = [{}, {"origin": "summary"}, {"position": 2}, {"position": 3, "whole": False}, {"position": 4}]
    made = [ViewMessage(shown=one, count_message=len, **given) for one, given in zip(shown, places, strict=False)]
    entries = Entries(made)
    entries.rest(0, len(made) - 1)
    woken = []
    of_row = Entries._entry
    monkeypatch.setattr(Entries, "_entry", lambda entries, row: woken.append(row) or of_row(entries, row))

    assert shown_whole(entries) == shown_whole(made) == {2, 4}
    assert [one.message for one in summaries_in(entries)] == [shown[1]]
    assert len(woken) == 1


def test_a_message_that_was_changed_from_a_number_to_a_truth_value_is_shown_anew(tmp_path):
    """The view after an edit shows what the message says now, also where Python takes both for equal."""
    messages = said(blocks, 40)
    messages[1]["content"][1]["input"] = {"limit": 1}
    with plimsoll.open("s", store=tmp_path, max_tokens=200_000) as session:
        session.sync(messages)
        messages[1]["content"][1]["input"] = {"limit": True}
        assert session.sync(messages)[1]["content"][1]["input"]["limit"] is True


def test_the_atoms_of_a_message_are_not_tracked():
    """The collector drops the tuple from its lists when it first visits it."""
    atoms = atoms_of(FORMAT.decode(worked(1)[0], 0))
    gc.collect()
    assert not gc.is_tracked(atoms)


@pytest.mark.parametrize("turn", [worked, blocks])
def test_a_view_of_messages_that_rested_is_the_same(turn, tmp_path):
    """The views of a session that had its messages at once and of one that saw each are equal, also after compactions."""
    conversation = said(turn, CALLS)
    for number, budget in enumerate((200_000, 2_000)):
        with (
            plimsoll.open(f"once{number}", store=tmp_path, max_tokens=budget) as once,
            plimsoll.open(f"again{number}", store=tmp_path, max_tokens=budget) as again,
        ):
            once.extend(conversation)
            again.extend(conversation)
            again._recorder.state.tally.wake()
            assert once.view() == again.view()
            assert once.compact().tokens_after == again.compact().tokens_after
            assert once.view() == again.view()


def test_a_session_holds_no_facts_between_compactions(tmp_path):
    """The ledger waits for the next compaction as text, and is read from it again."""
    with plimsoll.open("s", store=tmp_path, max_tokens=3_000) as session:
        for number in range(3):
            session.extend([{"role": "user", "content": f"Keep rule {number}."}, *worked(number), *worked(10 + number)])
            session.compact()
        before = session._recorder.ledger(session._recorder.state.base)
        session._recorder._ledgers.rest()
        assert session._recorder.ledger(session._recorder.state.base) == before
        assert any(before.facts.values())
        session.append({"role": "user", "content": "And now this."})
        session.compact()
        assert session._recorder._ledgers._ledger is None


def test_messages_that_were_read_again_are_held_as_atoms(tmp_path):
    """The cache of a session's messages has no object for each that the collector would visit."""
    with plimsoll.open("s", store=tmp_path) as session:
        session.extend(said(worked, CALLS))
        before = tracked()
        found = [session._recorder.message(position, "m") for position in range(2 * CALLS)]
        del found
        assert session._recorder.message_cache.info().entries >= 2 * CALLS
        assert len(tracked() - before) < CALLS
        assert session._recorder.message(1, "m") == FORMAT.decode(worked(0)[0], 1)
