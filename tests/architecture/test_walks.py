"""How much of the package the commonest calls enter. A reader can follow what passes through few modules."""

from __future__ import annotations

import sys
from functools import partial
from json import JSONEncoder
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from tests.walks import walk

import plimsoll
from plimsoll.light import dataclass
from plimsoll.message import FormatName
from plimsoll.tokens.counter import clear_cache

FIT_MODULES_MAX = 20
APPEND_MODULES_MAX = 14
APPEND_CALLS_MAX = {"openai-chat": (44, 80, 74), "anthropic": (44, 90, 99)}
"""Functions that run in one append, of a request, a call and a result."""
VIEW_CALLS_MAX = {"openai-chat": (168, 405, 152), "anthropic": (208, 468, 180)}
"""Functions that run in the view after each of them."""


@pytest.fixture(autouse=True)
def _same_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever tests ran before: classes are made as in a process that has made many, counts as in one that counted little."""
    monkeypatch.setattr(dataclass, "CALLS_UNCOMPILED", 0)
    clear_cache()


def exchange(format: str, id: str) -> list[dict[str, Any]]:
    """A request, a call and its result."""
    request = {"role": "user", "content": "Look."}
    if format == "openai-chat":
        called = {"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        result = {"role": "tool", "tool_call_id": id, "content": "three files"}
        return [request, {"role": "assistant", "content": None, "tool_calls": [called]}, result]
    asked = {"type": "tool_use", "id": id, "name": "look", "input": {"path": "a.py"}}
    answer = {"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": "three files"}]}
    said = {"role": "assistant", "content": [{"type": "text", "text": "I look."}, asked]}
    return [request, said, {"role": "user", "content": [answer]}]


SHORT: dict[str, list[dict[str, Any]]] = {
    "user and assistant": [{"role": "user", "content": "Hello there"}, {"role": "assistant", "content": "Good day"}],
    "system and user": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello there"}],
}


@pytest.mark.parametrize("kind", SHORT)
def test_fit_of_two_messages_that_fit_enters_few_modules(kind: str) -> None:
    """What fits is decoded, counted, compared and given back."""
    messages = SHORT[kind]

    def call() -> None:
        assert plimsoll.fit(messages, model="gpt-4o", max_tokens=5_000).messages == messages

    call()
    entered = walk(call)
    assert len(entered) <= FIT_MODULES_MAX, sorted(entered)


def test_an_append_enters_few_modules(tmp_path: Path) -> None:
    """A plain message is decoded, normalized, written, and then has its effect."""
    with plimsoll.open("one", store=str(tmp_path / "store"), model="gpt-4o") as session:
        for kind in SHORT:
            session.extend(SHORT[kind][-2:])
            session.view()

        entered = walk(lambda: session.append({"role": "user", "content": "And then?"}))

    assert len(entered) <= APPEND_MODULES_MAX, sorted(entered)


@pytest.mark.parametrize("format", APPEND_CALLS_MAX)
def test_an_append_runs_few_functions(tmp_path: Path, format: FormatName) -> None:
    """Each message is looked at once: what is checked, encoded and normalized is the new message alone, whatever its format."""
    with plimsoll.open("one", store=str(tmp_path / "store"), model="gpt-4o", format=format) as session:
        session.extend(exchange(format, "c1"))
        session.view()

        ran = [walk(partial(session.append, message)) for message in exchange(format, "c2")]

    for found, most in zip(ran, APPEND_CALLS_MAX[format], strict=True):
        assert found.total() <= most, found


@pytest.mark.parametrize("format", VIEW_CALLS_MAX)
def test_a_view_runs_few_functions(tmp_path: Path, format: FormatName) -> None:
    """Between compactions a view is the one before and the new messages, and these alone are looked at."""
    with plimsoll.open("one", store=str(tmp_path / "store"), model="gpt-4o", format=format) as session:
        session.extend([message for number in range(80) for message in exchange(format, f"c{number}")])
        ran = []
        for message in [*exchange(format, "new"), *exchange(format, "last")]:
            view = session.view()
            session.append(message)
            ran.append(walk(session.view))

    assert len(view) == 246
    for found, most in zip(ran[3:], VIEW_CALLS_MAX[format], strict=True):
        assert found.total() <= most, found


def test_an_append_encodes_a_message_once(tmp_path: Path) -> None:
    """The JSON that shows whether a message reads back as it is, is also the JSON that is written."""
    encoded: list[str] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is JSONEncoder.encode.__code__:
            encoded.append(str(frame.f_locals["o"]))

    with plimsoll.open("one", store=str(tmp_path / "store"), model="gpt-4o", format="openai-chat") as session:
        session.extend(SHORT["system and user"])
        before = sys.getprofile()
        sys.setprofile(note)
        try:
            session.append(exchange("openai-chat", "c1")[1])
        finally:
            sys.setprofile(before)

    assert len(encoded) == 1
