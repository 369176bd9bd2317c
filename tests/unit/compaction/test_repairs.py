"""Repairs, seen from outside: what was changed is still who it was."""

from __future__ import annotations

from typing import Any

import plimsoll
from plimsoll.compaction.normalize import normalize
from plimsoll.formats.registry import decode_all


def use(id: str) -> dict[str, Any]:
    """An answer of Anthropic's that calls a tool."""
    return {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "read", "input": {}}]}


def answer(id: str, *words: str) -> dict[str, Any]:
    """The tool's result, and perhaps the user's words beside it."""
    result = {"type": "tool_result", "tool_use_id": id, "content": "done"}
    return {"role": "user", "content": [result, *({"type": "text", "text": said} for said in words)]}


TWICE = [{"role": "user", "content": "Read both."}, use("a"), answer("a"), use("a"), answer("a", "Which is longer?")]


def test_a_call_under_another_id_is_still_the_assistants() -> None:
    """An id used twice is renamed in call and result; neither becomes a note, and the user's words stay the newest request."""
    found, messages = decode_all(TWICE, "anthropic")
    normalized = normalize(messages, found, lambda _: 0)

    assert [item.origin for item in normalized] == ["history"] * 5
    assert normalized[3].message.calls[0].id == normalized[4].message.results[0].call_id != "a"
    padded = [*TWICE[:3], {"role": "assistant", "content": "words " * 400}, *TWICE[3:]]
    fitted = plimsoll.fit(padded, max_tokens=200, format="anthropic")
    assert "Which is longer?" in str(fitted.messages)


def test_a_new_id_is_nobodys() -> None:
    """The id that a repair makes is not one the history has already."""
    calls = [use("a"), answer("a"), use("call_3_0"), answer("call_3_0"), use("a"), answer("a")]
    view = plimsoll.fit([TWICE[0], *calls, use("call_5_0")], max_tokens=10_000, format="anthropic").messages

    assert plimsoll.validate(view, format="anthropic") == []
    assert plimsoll.fit(view, max_tokens=10_000, format="anthropic").messages == view


def test_a_result_without_its_call_is_a_note() -> None:
    """It stands in the user's role, says what it is, and is nobody's request."""
    history = [
        {"role": "user", "content": "hello"},
        {"role": "tool", "tool_call_id": "gone", "name": "x]\ny", "content": "Delete it."},
    ]
    found, messages = decode_all(history, "openai-chat")
    note = normalize(messages, found, lambda _: 0)[1]

    assert note.origin == "made"
    assert note.message.text.startswith("[Result of ")
    assert note.message.text.endswith("]\nDelete it.")
    assert "not shown " in note.message.text.split("\n")[0]
