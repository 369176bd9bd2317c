"""Whatever a model wrote as the arguments of a call: histories that hold it are counted, fitted, compacted and searched."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plimsoll
import proof
from amounts import examples
from generated import FORMATS
from plimsoll.summary.ledger.calls import understand
from strategies import json_values

KEYS = (
    "",
    "command",
    "cmd",
    "path",
    "file_path",
    "todos",
    "plan",
    "items",
    "source",
    "patch",
    "input",
    "content",
    "\ud800",
    "a\nb",
)
TOOLS = ("bash", "apply_patch", "str_replace_editor", "read_file", "todo_write", "task", "grep", "lookup")
PATCH = "*** Begin Patch\n*** Update File: src/a.py\n*** End Patch"
ODD_TEXTS = (
    "",
    "null",
    '{"": null}',
    '{"": {"*** ": 1}}',
    '{"a":',
    "[" * 70 + "]" * 70,
    "1e999",
    PATCH,
    json.dumps(PATCH),
    "\ud800",
)

arguments = st.one_of(
    json_values,
    st.dictionaries(st.sampled_from(KEYS), json_values, max_size=4),
    st.sampled_from(
        ({"": PATCH}, {"": None}, {"": True}, {"command": ["bash", "-lc", None]}, {"todos": [None, {"content": 1}]})
    ),
)
texts = arguments.map(json.dumps) | st.sampled_from(ODD_TEXTS) | st.text(max_size=20)


def history(format: str, name: str, text: str) -> list[dict[str, Any]]:
    """Some rounds of a request, a call with these arguments, its result and an answer."""
    return [wire for number in range(5) for wire in _ROUNDS[format](f"call_{number}", name, text)]


def _value(text: str) -> Any:
    """The arguments as data, where they can stand in a message as such: JSON has no infinity, and nests only so deep."""
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)
    except ValueError:
        return {"raw": text}
    return {"raw": text} if "[[[[" in text else value


def _object(text: str) -> dict[str, Any]:
    value = _value(text)
    return value if isinstance(value, dict) else {"value": value}


ASKED, FOUND, ANSWERED = "please look at part " + "alpha " * 30, "found " * 30, "it is done " + "beta " * 30


def _chat(id: str, name: str, text: str) -> list[dict[str, Any]]:
    call = {"id": id, "type": "function", "function": {"name": name, "arguments": text}}
    return [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id, "content": FOUND},
        {"role": "assistant", "content": ANSWERED},
    ]


def _responses(id: str, name: str, text: str) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": ASKED},
        {"type": "function_call", "call_id": id, "name": name, "arguments": text},
        {"type": "function_call_output", "call_id": id, "output": FOUND},
        {"type": "custom_tool_call", "call_id": f"{id}c", "name": name, "input": text},
        {"type": "custom_tool_call_output", "call_id": f"{id}c", "output": FOUND},
        {"role": "assistant", "content": ANSWERED},
    ]


def _anthropic(id: str, name: str, text: str) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": name, "input": _object(text)}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": FOUND}]},
        {"role": "assistant", "content": ANSWERED},
    ]


def _ui(id: str, name: str, text: str) -> list[dict[str, Any]]:
    tool = {
        "type": f"tool-{name}",
        "toolCallId": id,
        "state": "output-available",
        "input": _value(text),
        "output": FOUND,
    }
    said = [{"type": "text", "text": ANSWERED}]
    return [
        {"id": f"u{id}", "role": "user", "parts": [{"type": "text", "text": ASKED}]},
        {"id": f"a{id}", "role": "assistant", "parts": [{"type": "step-start"}, tool, {"type": "step-start"}, *said]},
    ]


_ROUNDS = {"openai-chat": _chat, "openai-responses": _responses, "anthropic": _anthropic, "ui-parts": _ui}


@pytest.mark.slow
@settings(max_examples=examples(100), deadline=None)
@given(st.sampled_from(FORMATS), st.sampled_from(TOOLS), texts, st.sampled_from((150, 400, 900)))
def test_any_arguments_are_fitted_and_compacted(format: str, name: str, text: str, budget: int) -> None:
    """`fit`, a session and `files` take a call with any arguments; what they give fits and is valid."""
    messages = history(format, name, text)
    try:
        fitted = plimsoll.fit(messages, max_tokens=budget, format=format)
        proof.fits(fitted.messages, budget, format)
    except plimsoll.errors.CannotFit:
        pass
    plimsoll.files_mentioned(messages, format=format)
    with plimsoll.open("one", store="memory:", max_tokens=900, format=format, project=False) as session:
        for wire in messages:
            session.append(wire)
            view = session.view()
        proof.fits(view, 900, format)
        session.compact()
        proof.fits(session.view(), 900, format)
        session.files()
        session.context()
        session.recall("part")


@given(st.sampled_from(TOOLS), texts)
def test_any_arguments_are_understood(name: str, text: str) -> None:
    """Reading a call never raises, and gives paths and a command as text."""
    call = understand(name, text)

    assert all(isinstance(path, str) for path in call.paths)
    assert isinstance(call.command, str)


@pytest.mark.parametrize("value", [None, 1, True, 1.5, [], {}])
def test_an_empty_key_is_a_key_like_any_other(value: Any) -> None:
    """Arguments with an empty key are an object; only arguments that are plain text can be a patch."""
    text = json.dumps({"": value, "path": "a.py"})

    assert understand("apply_patch", text).paths == ("a.py",)
    assert understand("apply_patch", PATCH).paths == ("src/a.py",)
