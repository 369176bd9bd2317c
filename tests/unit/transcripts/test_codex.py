"""Reading Codex rollout files."""

import json

import pytest

from plimsoll.errors import LimitExceeded
from plimsoll.formats.convert import validate
from plimsoll.limits import TRANSCRIPT_COMPACTIONS_MAX
from plimsoll.transcripts.codex_replay import SUMMARY_PREFIX
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.source import LastCompaction, LineReader
from plimsoll.transcripts.values import Transcript

META = {"id": "t1", "timestamp": "2026-01-01T00:00:00Z", "cwd": "/w", "cli_version": "0.128.0"}


def _line(kind, **payload):
    return {"timestamp": "2026-01-01T00:00:01Z", "type": kind, "payload": payload}


def _item(**payload):
    return _line("response_item", **payload)


def _event(kind, **payload):
    return _line("event_msg", type=kind, **payload)


def _message(role, text):
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def _user(text):
    return _item(**_message("user", text))


def _agent(text):
    return _item(**_message("assistant", text))


def _turn(number, *rows):
    return [_event("task_started", turn_id=f"t{number}"), _event("user_message", message="x"), *rows]


def _data(*rows):
    return "".join(json.dumps(row) + "\n" for row in [_line("session_meta", **META), *rows]).encode()


def _read(*rows) -> Transcript:
    found = load_file(_data(*rows))
    assert isinstance(found, Transcript)
    assert found.tool == "codex"
    assert validate(found.view(), format="openai-responses") == []
    return found


def _words(wire):
    if wire["type"] == "message":
        return "".join(part["text"] for part in wire["content"])
    return wire.get("output") or wire.get("arguments") or wire.get("input") or wire["type"]


def _said(transcript):
    return [_words(wire) for wire in transcript.view()]


def _kinds(transcript):
    return sorted({finding.kind for finding in transcript.findings})


def test_response_items_are_the_conversation():
    """Items are sent as they are, without their null fields; events and contexts are not sent."""
    reasoning = {"type": "reasoning", "summary": [], "content": None, "encrypted_content": "opaque"}
    rows = [
        _user("go"),
        _line("turn_context", model="gpt-x"),
        _event("agent_reasoning", text="t"),
        _item(**reasoning),
        _agent("went"),
    ]
    found = _read(*rows)
    assert found.view()[1] == {"type": "reasoning", "summary": [], "encrypted_content": "opaque"}
    assert _said(found) == ["go", "reasoning", "went"]
    assert (found.meta.session_id, found.meta.cwd, found.meta.model) == ("t1", "/w", "gpt-x")


def test_the_base_instructions_are_the_system_text():
    """`base_instructions` of the first line is what the tool sends as instructions."""
    raw = (
        json.dumps(_line("session_meta", **META, base_instructions={"text": "be good"}))
        + "\n"
        + json.dumps(_user("go"))
    )
    found = load_file(raw.encode())
    assert isinstance(found, Transcript)
    assert found.system == "be good"


def test_a_replacement_history_takes_the_place_of_everything_before():
    """The view after `compacted` is its replacement and what came after; the messages it kept are known by index."""
    summary = _message("user", f"{SUMMARY_PREFIX}\nwhat happened")
    replacement = [_message("user", "go"), summary]
    rows = [_user("go"), _agent("went"), _line("compacted", message="", replacement_history=replacement), _user("more")]
    found = _read(*rows)
    assert _said(found) == ["go", summary["content"][0]["text"], "more"]
    (compaction,) = found.compactions
    assert (compaction.position, compaction.summary, compaction.kept) == (2, "what happened", ((0, 1),))
    assert all(m.on_path for m in found.messages)


def test_an_opaque_summary_is_kept_as_it_is():
    """A summary only its provider can read is passed on untouched and named as such."""
    opaque = {"type": "compaction", "encrypted_content": "gAAAA"}
    found = _read(_user("go"), _line("compacted", message="", replacement_history=[opaque]), _user("more"))
    assert found.view()[0] == opaque
    assert found.compactions[0].opaque == opaque
    assert found.compactions[0].summary is None


def test_without_a_replacement_user_messages_and_the_summary_stay():
    """Old files: the user's own words stay, the environment and earlier summaries do not, the summary is last."""
    rows = [
        _user("<environment_context>x</environment_context>"),
        _user("one"),
        _agent("a"),
        _user(f"{SUMMARY_PREFIX}\nolder"),
        _user("two"),
    ]
    found = _read(*rows, _line("compacted", message="the summary"))
    assert _said(found) == ["one", "two", "the summary"]
    assert found.compactions[0].kept == ((1, 2), (4, 5))


def test_without_a_replacement_the_newest_twenty_thousand_tokens_stay():
    """The message at the edge is cut in its middle, older ones go."""
    found = _read(_user("gone"), _user("b" * 60_000), _user("c" * 40_000), _line("compacted", message="s"))
    shown = _said(found)
    assert len(shown) == 3
    assert "5000 tokens truncated" in shown[0]
    assert len(shown[0]) < 40_100
    assert shown[1] == "c" * 40_000


def test_a_rollback_drops_the_newest_turns():
    """`thread_rolled_back` takes turns out of the view; the history marks them as left."""
    rows = [
        *_turn(1, _user("one"), _agent("a")),
        *_turn(2, _user("two"), _agent("b")),
        _event("thread_rolled_back", num_turns=1),
        _user("three"),
    ]
    found = _read(*rows)
    assert _said(found) == ["one", "a", "three"]
    assert [m.on_path for m in found.messages] == [True, True, False, False, True]


def test_a_rollback_of_more_turns_than_there_are_keeps_the_beginning():
    """What came before the first turn survives any rollback."""
    developer = _item(type="message", role="developer", content=[{"type": "input_text", "text": "rules"}])
    assert _said(_read(developer, _user("one"), _event("thread_rolled_back", num_turns=9))) == ["rules"]


def test_a_rollback_takes_back_the_compaction_in_its_turn():
    """A compaction made in a turn that is rolled back never happened."""
    compacted = _line("compacted", message="", replacement_history=[_message("user", f"{SUMMARY_PREFIX}\ns")])
    rows = [
        *_turn(1, _user("one"), _agent("a")),
        *_turn(2, _user("two"), compacted, _agent("b")),
        _event("thread_rolled_back", num_turns=1),
    ]
    found = _read(*rows)
    assert _said(found) == ["one", "a"]
    assert found.compactions == ()


@pytest.mark.parametrize(
    ("call", "output"),
    [
        ({"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"}, "function_call_output"),
        ({"type": "custom_tool_call", "name": "f", "input": "x", "call_id": "c"}, "custom_tool_call_output"),
    ],
)
def test_calls_and_outputs_are_paired(call, output):
    """A call without an output is sent as aborted; an output without a call is not sent; both are findings."""
    found = _read(_user("go"), _item(**call))
    assert found.view()[-1] == {"type": output, "call_id": "c", "output": "aborted"}
    assert _kinds(found) == ["no-result"]
    early = {"type": output, "call_id": "c", "output": "too soon"}
    found = _read(_user("go"), _item(**early), _item(**call), _item(**(early | {"output": "ok"})))
    assert _said(found)[-1] == "ok"
    assert len(found.view()) == 3
    assert _kinds(found) == ["orphan-result"]


def test_reasoning_that_led_to_nothing_is_not_sent():
    """A file that ends in reasoning gives a view without it."""
    found = _read(_user("go"), _item(type="reasoning", summary=[], encrypted_content="x"))
    assert _said(found) == ["go"]
    assert _kinds(found) == ["reasoning-alone"]


def test_items_that_are_not_sent_stay_lines():
    """Snapshots and kinds from the future are entries only."""
    found = _read(
        _user("go"), _item(type="ghost_snapshot", ghost_commit={}), _line("world_state", x=1), _line("later", y=2)
    )
    assert _said(found) == ["go"]
    assert len(found.entries) == 5


def test_what_agents_say_to_each_other_is_sent():
    """A line of its own holds what one agent said to another; the tool sends it as an item, and counts it as a turn."""
    sent = {"author": "/root", "recipient": "/root/scout", "other_recipients": [], "trigger_turn": True}
    plain = _line("inter_agent_communication", **sent, content="look at the lock")
    sealed = _line("inter_agent_communication", **sent, content="", encrypted_content="gAAA")
    marks = _line("inter_agent_communication_metadata", trigger_turn=True)
    found = _read(_user("one"), _agent("yes"), plain, marks, sealed)

    head = "Message Type: NEW_TASK\nTask name: /root/scout\nSender: /root\nPayload:\n"
    item = {"type": "agent_message", "author": "/root", "recipient": "/root/scout"}
    assert found.view()[2:] == [
        {**item, "content": [{"type": "input_text", "text": "look at the lock"}]},
        {
            **item,
            "content": [
                {"type": "input_text", "text": head},
                {"type": "encrypted_content", "encrypted_content": "gAAA"},
            ],
        },
    ]
    assert len(found.messages) == 4
    rolled_back = _read(_user("one"), _agent("yes"), plain, _event("thread_rolled_back", num_turns=1))
    assert len(rolled_back.view()) == 2
    reader = LineReader(0, LastCompaction())
    reader.read([json.dumps(plain).encode()])
    assert len(reader.messages) == 1


def test_a_replacement_holds_only_what_is_sent():
    """Snapshots of files and items of unknown types in a replacement history are not sent."""
    listed = [
        _message("user", "kept"),
        {"type": "ghost_snapshot", "ghost_commit": {"id": "a"}},
        {"type": "other"},
        {"type": ["x"]},
        None,
    ]
    found = _read(_user("one"), _line("compacted", message="", replacement_history=listed), _user("two"))

    assert [_words(wire) for wire in found.view()] == ["kept", "two"]
    assert found.compactions[0].replacement == (listed[0],)


def test_items_without_their_fields_are_reported():
    """A call without a call id cannot be sent."""
    found = _read(_user("go"), _item(type="function_call", name="f"))
    assert _kinds(found) == ["bad-message"]


def test_files_from_before_the_envelope_are_read():
    """The first rollouts had the items as lines."""
    rows = [
        {"id": "old", "timestamp": "2025-06-01T00:00:00Z", "instructions": None},
        _message("user", "go"),
        _message("assistant", "went"),
    ]
    found = load_file("\n".join(map(json.dumps, rows)).encode())
    assert isinstance(found, Transcript)
    assert _said(found) == ["go", "went"]


@pytest.mark.slow
def test_too_many_compactions_are_refused():
    """More compactions than any session has are refused by name, not replayed for ever."""
    rows = [_line("compacted", message="s")] * (TRANSCRIPT_COMPACTIONS_MAX + 1)
    with pytest.raises(LimitExceeded):
        load_file(_data(*rows))


def test_every_cut_between_lines_can_be_read():
    """A file that ends after any of its lines gives a valid view."""
    call = {"type": "function_call", "name": "f", "arguments": "{}", "call_id": "c"}
    rows = [*_turn(1, _user("one"), _item(type="reasoning", summary=[], encrypted_content="x"), _item(**call))]
    rows += [
        _item(type="function_call_output", call_id="c", output="r"),
        _line("compacted", message="s"),
        *_turn(2, _agent("b")),
    ]
    for end in range(len(rows) + 1):
        _read(*rows[:end])
