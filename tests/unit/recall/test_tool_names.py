"""The names of the recall tools: none is used twice, and a call reaches the tool it is for."""

from __future__ import annotations

import json
from typing import Any

import pytest

import plimsoll
from plimsoll.errors import SettingError

Wire = dict[str, Any]


def own_tool(name: str, format: str = "openai-chat") -> Wire:
    """A tool of the caller's, as each provider defines one."""
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    match format:
        case "anthropic":
            return {"name": name, "description": "x", "input_schema": schema}
        case "openai-responses":
            return {"type": "function", "name": name, "parameters": schema, "strict": False}
        case _:
            return {"type": "function", "function": {"name": name, "parameters": schema}}


def names(session: plimsoll.Session, format: str = "openai-chat") -> list[str]:
    """What its tools are called."""
    return [tool.get("name") or tool["function"]["name"] for tool in session.tools(format)]


def talk(count: int) -> list[Wire]:
    """Messages of which the first has something to find."""
    first = {"role": "assistant", "content": "The berth of ZQKEY is number 7. " + "tide " * 60}
    rest = ({"role": ("user", "assistant")[n % 2], "content": f"{n} " + "harbour " * 60} for n in range(count))
    return [{"role": "user", "content": "hello"}, first, *rest]


@pytest.mark.parametrize("format", ["openai-chat", "openai-responses", "anthropic"])
def test_names_that_are_taken(format: Any) -> None:
    """If a tool of the caller's is called `read` or `recall`, the recall tool gets another name."""
    own = [own_tool("read", format), own_tool("bash", format)]
    with plimsoll.open("a", store="memory:", tools=own, recall_tools=True) as session:
        assert names(session, format) == ["recall", "read_history"]
        assert [session.is_tool(name) for name in ("recall", "read_history", "read", "bash")] == [
            True,
            True,
            False,
            False,
        ]
        assert "recall" in json.dumps(session.tools(format)[1])
    with plimsoll.open(
        "b", store="memory:", tools=[own_tool("recall", format), own_tool("recall_history", format)]
    ) as session:
        assert names(session, format) == ["recall_history_2", "read"]
    with plimsoll.open("c", store="memory:") as session:
        assert names(session, format) == ["recall", "read"]


def test_names_that_are_given() -> None:
    """`recall_tools` can set their names: summaries, descriptions, results and dispatch use them, also after reopening."""
    place = "memory:names-that-are-given"
    given = {"recall": "search_notes", "read": "open_note"}
    with plimsoll.open("a", store=place, recall_tools=given, max_tokens=900) as session:
        session.extend(talk(20))
        assert names(session) == ["search_notes", "open_note"]
        session.compact()
        assert "search_notes" in json.dumps(session.view())
        answer = session.call_tool("search_notes", {"query": "ZQKEY berth"})
        assert "number 7" in answer
        assert "tide" in session.call_tool("open_note", {"reference": "m1"})
        assert "search_notes" in session.call_tool("open_note", {"reference": "m0.0-00000000"})
        with pytest.raises(SettingError, match="name"):
            session.call_tool("recall", {"query": "ZQKEY"})
    with plimsoll.open("a", store=place) as again:
        assert names(again) == ["search_notes", "open_note"]


@pytest.mark.parametrize(
    "given",
    [
        {"recall": "bash"},
        {"recall": "read"},
        {"read": "a name"},
        {"read": ""},
        {"search": "x"},
        {"recall": 3},
        {3: "x"},
        {"recall": "x", "read": "x"},
        "recall",
        1,
    ],
)
def test_names_that_do_not_do(given: Any) -> None:
    """A name that another tool has, or that no provider accepts, raises one clear error, and nothing is created."""
    place = "memory:names-that-do-not-do"
    with pytest.raises(SettingError, match="recall_tools"):
        plimsoll.open("a", store=place, tools=[own_tool("bash")], recall_tools=given)
    assert plimsoll.sessions(place) == []


def test_own_searches_are_not_found_and_those_of_a_namesake_are() -> None:
    """Calls and results of the recall tools are not indexed under any name; a caller's `recall` is."""
    call = {"id": "c1", "type": "function", "function": {"name": "recall", "arguments": '{"query": "ZQOWN anchor"}'}}
    ours = {"id": "c2", "type": "function", "function": {"name": "recall_history", "arguments": '{"query": "ZQOURS"}'}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "the anchor is up"},
        {"role": "assistant", "content": None, "tool_calls": [ours]},
        {"role": "tool", "tool_call_id": "c2", "content": "nothing"},
        *talk(30),
    ]
    with plimsoll.open("a", store="memory:", tools=[own_tool("recall")], recall_tools=True, max_tokens=900) as session:
        session.extend(messages)
        session.compact()
        assert any("ZQOWN" in hit.text for hit in session.recall("ZQOWN"))
        assert not any("ZQOURS" in hit.text for hit in session.recall("ZQOURS"))


@pytest.mark.slow
def test_a_number_of_hits() -> None:
    """`limit` bounds the hits; the best ones stay."""
    with plimsoll.open("a", store="memory:", max_tokens=900) as session:
        session.extend(talk(60))
        session.compact()
        every = session.recall("harbour")
        assert len(every) > 3
        assert session.recall("harbour", limit=2) == every[:2]
        for odd in (0, -1, "2", 1.5):
            with pytest.raises(SettingError, match="limit"):
                session.recall("harbour", limit=odd)  # type: ignore[arg-type]


def test_a_message_by_its_number() -> None:
    """`m2` reads all the words of a message; pins, forks and bounds take its number in each of the ways it is written."""
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    with plimsoll.open("a", store="memory:") as session:
        session.extend(
            [
                {"role": "user", "content": "zero"},
                {"role": "assistant", "content": "x"},
                {"role": "user", "content": parts},
            ]
        )
        assert session.read("m2") == "one\n\ntwo"
        assert session.read("m2", offset=5) == "two"
        for same in ("m1", "1", 1):
            session.pin(same)
            session.unpin(same)
            assert len(session.messages(before=same)) == 1
            assert len(session.fork(same).history()) == 2
        for odd in ("m3", 3, -1, True, "x", None, 1.0):
            with pytest.raises(SettingError):
                session.pin(odd)  # type: ignore[arg-type]
        with pytest.raises(plimsoll.errors.ReferenceNotFound):
            session.read("m3")
