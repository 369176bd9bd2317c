"""A session that goes on with another provider: its calls and results are converted by the caller, and never become text unnoticed."""

from __future__ import annotations

from typing import Any

import pytest

import plimsoll

CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "Read it."},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "ok"},
]
WIRES: dict[str, list[dict[str, Any]]] = {
    name: plimsoll.convert(CHAT, to=name).messages
    for name in ("openai-chat", "openai-responses", "anthropic", "ui-parts")
}
PAIRS = [(own, other) for own in WIRES for other in WIRES if own != other]


@pytest.mark.parametrize(("own", "other"), PAIRS)
def test_calls_of_another_format_are_refused(own: str, other: str) -> None:
    """Calls and results of another format are refused with the call that converts them, and nothing is changed."""
    with plimsoll.open(store="memory:", format=own) as session:
        session.extend(WIRES[own])
        before = session.view()
        for wire in WIRES[other][1:]:
            for call in (session.append, lambda wire: session.sync([*WIRES[own], wire])):
                with pytest.raises(plimsoll.errors.FormatError, match="nothing was changed"):
                    call(wire)
        assert session.view() == before
        assert session.message_count == len(WIRES[own])
    with pytest.raises(plimsoll.errors.FormatError, match=f"message {len(WIRES[own])}"):
        plimsoll.fit([*WIRES[own], WIRES[other][1]], max_tokens=1_000, format=own)


def test_the_refusal_says_what_to_do() -> None:
    """The error names both formats and the call that converts; converted messages are taken, calls as calls."""
    with plimsoll.open(store="memory:") as session:
        session.extend(CHAT)
        answer = {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "read", "input": {}}]}
        result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "fine"}]}
        with pytest.raises(plimsoll.errors.FormatError) as refused:
            session.append(answer)
        for words in ("in the format anthropic", 'plimsoll.convert(messages, to="openai-chat").messages'):
            assert words in str(refused.value)
        session.extend(plimsoll.convert([answer, result], to=session.format).messages)
        assert session.view()[-2]["tool_calls"][0]["id"] == "t1"
        assert session.view()[-1] == {"role": "tool", "tool_call_id": "t1", "content": "fine"}


def test_text_of_another_format_is_taken() -> None:
    """Blocks that are no calls or results stay what they are: hosts of one format send some of another's."""
    with plimsoll.open(store="memory:") as session:
        session.extend(CHAT)
        session.append({"role": "user", "content": [{"type": "input_text", "text": "And now?"}]})
        assert "And now?" in str(session.view()[-1])
