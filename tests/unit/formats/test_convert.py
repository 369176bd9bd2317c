"""Conversations in another format: the same words in the same order, and every loss named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from plimsoll.formats.convert import convert, validate

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": "u"},
    {
        "role": "assistant",
        "content": "looking",
        "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}},
            {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}},
        ],
    },
    {"role": "tool", "tool_call_id": "a", "content": "ra"},
    {"role": "tool", "tool_call_id": "b", "content": ""},
    {"role": "assistant", "content": "done"},
    {"role": "user", "content": "thanks"},
]
TARGETS = ("openai-responses", "anthropic", "ui-parts")


@pytest.mark.spec("W3-02")
@pytest.mark.parametrize("target", TARGETS)
def test_there_and_back_is_the_same(target: Any) -> None:
    """A conversation of text and tools comes back as the same JSON, with nothing lost."""
    there = convert(CHAT, to=target)
    back = convert(there.messages, to="openai-chat", system=there.system)
    assert (back.messages, there.losses, back.losses) == (CHAT, [], [])
    assert validate(there.messages, system=there.system) == []


def test_anthropic_shape() -> None:
    """System text goes apart, and parallel results into one user message directly after the calls."""
    there = convert(CHAT, to="anthropic")
    assert there.system == "s"
    assert [message["role"] for message in there.messages] == ["user", "assistant", "user", "assistant", "user"]
    assert [block["type"] for block in there.messages[1]["content"]] == ["text", "tool_use", "tool_use"]
    assert [block["tool_use_id"] for block in there.messages[2]["content"]] == ["a", "b"]


@pytest.mark.parametrize("id", ["functions.f:0", "x--2", "é", "\ud800", " ", "a-"])
def test_ids_anthropic_refuses_come_back(id: str) -> None:
    """Ids that Anthropic refuses, and ids used twice, are written so that it takes them and come back as they were."""
    call = {"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    step = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id, "content": "r"},
    ]
    wires = [CHAT[1], *step, *step]
    there = convert(wires, to="anthropic")
    assert validate(there.messages) == []
    assert convert(there.messages, to="openai-chat").messages == wires
    assert there.losses == []


@pytest.mark.spec("W3-05")
def test_text_tool_text_keeps_its_order() -> None:
    """Words after a call stand after its result, never before the call."""
    tool = {"type": "tool-f", "toolCallId": "c", "state": "output-available", "input": {}, "output": 0}
    parts = [{"type": "text", "text": "one"}, tool, {"type": "text", "text": "two"}]
    chat = convert([{"id": "m", "role": "assistant", "parts": parts}], to="openai-chat").messages
    assert [(wire["role"], wire["content"]) for wire in chat] == [
        ("assistant", "one"),
        ("tool", "0"),
        ("assistant", "two"),
    ]


@pytest.mark.spec("W3-01")
def test_users_and_system_messages_stay() -> None:
    """A UI conversation converts with its user and system messages, and no empty list of calls."""
    wires = [
        {"id": str(n), "role": role, "parts": [{"type": "text", "text": role}]}
        for n, role in enumerate(("system", "user", "assistant"))
    ]
    assert convert(wires, to="openai-chat").messages == [
        {"role": role, "content": role} for role in ("system", "user", "assistant")
    ]


def test_missing_ids_are_made() -> None:
    """Calls without ids get stable, different ones, and their results follow in order."""
    calls = [{"type": "function", "function": {"name": "f", "arguments": "{}"}}] * 2
    wires = [
        CHAT[1],
        {"role": "assistant", "content": None, "tool_calls": calls},
        *[{"role": "tool", "content": text} for text in "xy"],
    ]
    first, again = convert(wires, to="anthropic"), convert(wires, to="anthropic")
    assert first == again
    assert validate(first.messages) == []
    assert [block["content"] for block in first.messages[2]["content"]] == ["x", "y"]


LOSSES: list[tuple[str, str, list[dict[str, Any]], list[tuple[int, str]]]] = [
    ("openai-chat", "anthropic", [CHAT[1], {"role": "system", "content": "mid"}], [(1, "system role")]),
    ("openai-chat", "anthropic", [{"role": "assistant", "content": "a"}, CHAT[1]], [(0, "opening")]),
    ("openai-chat", "anthropic", [{"role": "system", "content": "s"}, {"role": "assistant", "content": "a"}], [(1, "opening")]),
    ("openai-chat", "anthropic", [CHAT[1], {"role": "user", "content": " "}], [(1, "empty text"), (1, "empty message")]),
    ("openai-chat", "anthropic", [{"role": "user", "name": "ann", "content": "a"}], [(0, "name")]),
    ("openai-chat", "anthropic", [CHAT[1], {"role": "assistant", "content": "a "}], [(1, "white space")]),
    ("openai-chat", "anthropic", [CHAT[1], {"role": "assistant", "content": "a", "reasoning_content": "r"}], [(1, "reasoning")]),
    ("openai-chat", "openai-responses", [CHAT[1], {"role": "assistant", "content": None, "refusal": "no"}], [(1, "refusal")]),
    ("openai-chat", "ui-parts", [CHAT[1], {"role": "assistant", "content": None, "audio": {"id": "x"}}], [(1, "audio")]),
    ("openai-chat", "ui-parts", [CHAT[1], {"role": "tool", "tool_call_id": "c", "content": "r"}], [(1, "tool result")]),
    ("openai-chat", "anthropic", [CHAT[1], {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "a.b", "arguments": "{"}}]}, {"role": "tool", "tool_call_id": "c", "content": "r"}], [(1, "tool name"), (1, "arguments")]),
    ("anthropic", "openai-chat", [CHAT[1], {"role": "assistant", "content": [{"type": "thinking", "thinking": "t", "signature": "s"}, {"type": "text", "text": "a"}]}], [(1, "reasoning")]),
    ("anthropic", "openai-chat", [CHAT[1], {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {}}]}, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "r", "is_error": True}]}], [(2, "error flag")]),
    ("anthropic", "openai-responses", [{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}}]}], [(0, "cache marker")]),
    ("anthropic", "openai-chat", [{"role": "user", "content": [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}}]}], [(0, "document")]),
    ("anthropic", "openai-chat", [CHAT[1], {"role": "assistant", "content": [{"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}, {"type": "text", "text": "a"}]}], [(1, "server_tool_use")]),
    ("openai-responses", "openai-chat", [CHAT[1], {"type": "web_search_call", "id": "w", "status": "completed", "action": {}}], [(1, "web_search_call")]),
    ("openai-responses", "openai-chat", [CHAT[1], {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}, CHAT[1], {"type": "function_call_output", "call_id": "c", "output": "r"}], [(3, "order")]),
    ("ui-parts", "openai-chat", [{"id": "m", "role": "user", "metadata": {"k": 1}, "parts": [{"type": "text", "text": "a"}, {"type": "data-x", "data": 1}]}], [(0, "metadata"), (0, "data-x")]),
    ("ui-parts", "openai-chat", [{"id": "m", "role": "assistant", "parts": [{"type": "text", "text": "a"}, {"type": "tool-f", "toolCallId": "c", "state": "input-streaming"}]}], [(0, "tool call")]),
]  # fmt: skip


@pytest.mark.parametrize(("source", "target", "wires", "expected"), LOSSES)
def test_every_loss_is_reported(source: Any, target: Any, wires: Any, expected: list[tuple[int, str]]) -> None:
    """What cannot come along is named with its position, and nothing else is."""
    converted = convert(wires, to=target, format=source)
    assert [(loss.position, loss.what) for loss in converted.losses] == expected
    assert converted.to_dict()["losses"] == [loss.to_dict() for loss in converted.losses]


CALL: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}  # fmt: skip


@pytest.mark.parametrize("target", ["anthropic", "openai-responses", "ui-parts"])
def test_an_answer_alone_is_no_conversation(target: Any) -> None:
    """What a model said, converted by itself for a session, gains no message that nobody said; its calls stay open."""
    said = convert([{"role": "assistant", "content": "a"}], to=target)
    called = convert([CALL], to=target)
    assert [len(said.messages), said.losses] == [len(called.messages), called.losses] == [1, []]
    step = convert([CALL, {"role": "tool", "tool_call_id": "c", "content": "r"}], to=target)
    assert step.losses == []
    assert (step.messages[0] == called.messages[0]) == (target != "ui-parts")
    assert convert(called.messages, to="openai-chat", format=target).messages == [CALL]


def test_an_answer_alone_may_be_several_messages() -> None:
    """Items of one answer, and an answer with text between its calls, are one reply; only its last calls may still be answered."""
    words = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}
    items = [{"type": "function_call", "call_id": c, "name": "f", "arguments": "{}"} for c in "cd"]
    said = convert([items[0], words, items[1]], to="anthropic")
    whole = convert(
        [{"role": "assistant", "content": [block for m in said.messages[::2] for block in m["content"]]}],
        to="openai-chat",
    )
    for reply, result in ((said, "user"), (whole, "tool")):
        assert [message["role"] for message in reply.messages] == ["assistant", result, "assistant"]
        assert [(loss.position, loss.what) for loss in reply.losses] == [(0, "tool call")]


@pytest.mark.parametrize("target", ["anthropic", "openai-responses"])
def test_answers_that_begin_a_conversation_are_no_answer_alone(target: Any) -> None:
    """Several answers, or one with system text, become a valid conversation: opened where the provider wants it, and no call open."""
    opening = ["opening"] * (target == "anthropic")
    again = {**CALL, "tool_calls": [{**CALL["tool_calls"][0], "id": "d"}]}
    both = convert([CALL, {"role": "tool", "tool_call_id": "c", "content": "r"}, again], to=target)
    assert sorted(loss.what for loss in both.losses) == [*opening, "tool call"]
    assert validate(both.messages, format=target) == []
    headed = convert([CALL], to=target, system="Be brief.")
    assert sorted(loss.what for loss in headed.losses) == [*opening, "tool call"]
    assert validate(headed.messages, format=target, system=headed.system) == []


@pytest.mark.spec("W3-03")
def test_errors_are_kept() -> None:
    """A failed call stays a failed call: in a field where there is one, in words where not, and never empty."""
    tool = {"type": "tool-f", "toolCallId": "c", "state": "output-error", "input": {}, "errorText": ""}
    wires = [
        {"id": "u", "role": "user", "parts": [{"type": "text", "text": "u"}]},
        {"id": "m", "role": "assistant", "parts": [tool]},
    ]
    assert convert(wires, to="openai-chat").messages[2]["content"] == "[tool error] "
    anthropic = convert(wires, to="anthropic").messages
    assert anthropic[2]["content"][0]["is_error"] is True
    assert validate(anthropic) == []


def test_reasoning_returns_to_who_signed_it() -> None:
    """Signed thinking survives the way through UI parts, and is never visible text anywhere."""
    signed = {"type": "thinking", "thinking": "secret", "signature": "sig"}
    wires = [CHAT[1], {"role": "assistant", "content": [signed, {"type": "text", "text": "a"}]}]
    ui = convert(wires, to="ui-parts")
    assert ui.losses == []
    assert convert(ui.messages, to="anthropic").messages == wires
    assert "secret" not in json.dumps(
        [convert(ui.messages, to=to).messages for to in ("openai-chat", "openai-responses")]
    )


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": [{"type": "text", "text": "hmm"}]},
        {"type": "thinking", "thinking": "hmm"},
        {"type": "thinking", "thinking": "hmm", "signature": None},
        {"type": "thinking", "thinking": [], "signature": "s"},
        {"type": "redacted_thinking", "data": 5},
        {"type": "redacted_thinking"},
        {"type": "reasoning", "summary": 5},
        {"type": "reasoning", "id": 5, "summary": []},
        {"type": "reasoning", "id": "rs_1", "encrypted_content": 5},
        {"type": "reasoning", "text": 5},
    ],
    ids=str,
)
def test_thinking_that_no_provider_signed_is_lost_and_said_to_be(block: dict[str, Any], target: Any) -> None:
    """Blocks of chat messages that have the type of another API's thinking, but not its fields, never come out as its own."""
    wires = [CHAT[1], {"role": "assistant", "content": [block, {"type": "text", "text": "a"}]}, CHAT[1]]

    converted = convert(wires, to=target, format="openai-chat")

    assert validate(converted.messages, format=target) == []
    if target == "ui-parts":
        said = [part for part in converted.messages[1]["parts"] if part["type"] == "reasoning"]
        assert all("anthropic" not in part.get("providerMetadata", {}) for part in said)
        assert "None" not in str(said)
    else:
        assert [(loss.position, loss.what) for loss in converted.losses] == [(1, "reasoning")]


def test_signed_thinking_out_of_a_chat_message_has_anthropics_fields_only() -> None:
    """Frameworks keep fields of their own in the block, which Anthropic refuses."""
    signed = {"type": "thinking", "thinking": "hmm", "signature": "s"}
    text = {"type": "text", "text": "a"}
    wires = [CHAT[1], {"role": "assistant", "content": [{**signed, "index": 0}, text]}]

    converted = convert(wires, to="anthropic", format="openai-chat")

    assert converted.messages[1]["content"] == [signed, text]
    assert converted.losses == []


def test_cache_markers_survive_the_same_provider() -> None:
    """System blocks keep their cache markers from Anthropic to Anthropic, and come back from the parameter."""
    system = [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}]
    same = convert([CHAT[1]], to="anthropic", format="anthropic", system=system)
    assert (same.system, same.messages, same.losses) == (system, [CHAT[1]], [])
    chat = convert([CHAT[1]], to="openai-chat", format="anthropic", system=system)
    assert chat.messages[0] == {"role": "system", "content": [{"type": "text", "text": "s"}]}
    assert [(loss.position, loss.what) for loss in chat.losses] == [(None, "cache marker")]


EVALS = Path(__file__).parents[3].parent / "shared/evals/convs"


def _conversations() -> Iterator[Any]:
    for path in sorted(EVALS.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


@pytest.mark.slow
@pytest.mark.skipif(not EVALS.is_dir(), reason="shared/evals is not beside the checkout")
def test_real_conversations_convert() -> None:
    """Every valid real conversation converts to valid ones, and comes back the same wherever no loss was reported."""
    for conversation in _conversations():
        wires = conversation["messages"]
        fine = validate(wires) == []
        for target in TARGETS:
            there = convert(wires, to=target)
            assert not fine or validate(there.messages, format=target, system=there.system) == []
            back = convert(there.messages, to="openai-chat", format=target, system=there.system)
            if target != "ui-parts" and {loss.what for loss in there.losses} <= {"opening"}:
                assert _parsed(back.messages) == _parsed(wires), conversation["id"]
                assert back.losses == []


def _parsed(wires: list[dict[str, Any]]) -> list[Any]:
    """The messages with the arguments of calls as the values they say: their white space is not kept by Anthropic."""
    copies = json.loads(json.dumps(wires))
    for wire in copies:
        for call in wire.get("tool_calls", ()):
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return list(copies)


MADE_ALONE = [
    {"role": "user", "content": "Which lamp?"},
    {"role": "assistant", "content": "The third."},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://lamps.test/3.png"}}]},
    {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://lamps.test/4.png"}}]},
]


def test_ui_messages_have_an_id_each_also_those_that_were_converted_alone():
    """Ids come of the content: unique among different messages, wherever each was converted, and the same each time."""
    alone = [convert([wire], to="ui-parts").messages[0]["id"] for wire in MADE_ALONE]

    assert len(set(alone)) == len(alone)
    assert [wire["id"] for wire in convert(MADE_ALONE, to="ui-parts").messages] == alone


def test_ui_messages_that_say_the_same_have_different_ids_and_keep_them():
    """Within one conversation; a longer conversation, or a run that goes on, begins with the ids of the shorter one."""
    again = [{"role": "user", "content": "Go on."}] * 3
    run = [{"role": "assistant", "content": f"Lamp {number}."} for number in range(3)]
    ids = [[wire["id"] for wire in convert([*again, *run[:size]], to="ui-parts").messages] for size in (1, 2, 3)]

    assert len(set(ids[0])) == len(ids[0]) == 4
    assert ids[0] == ids[1] == ids[2]
