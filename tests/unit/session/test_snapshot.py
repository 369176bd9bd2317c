"""A snapshot equals what says the same, and nothing else."""

from __future__ import annotations

import copy
from types import MappingProxyType
from typing import Any

import pytest
from anthropic.types import TextBlock, ToolUseBlock
from openai.types.chat import ChatCompletionMessage

from plimsoll.session.sync.snapshot import Watch, restored, snapshot

CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": "{}"}}
VALUES: list[Any] = [
    None,
    "",
    "1",
    0,
    1,
    -1,
    True,
    False,
    1.0,
    0.0,
    10**5000,
    [],
    [1],
    [True],
    (1,),
    {},
    {"a": 1},
    {"a": 1.0},
    {"b": 1},
]


def answer() -> ChatCompletionMessage:
    """What the SDK of OpenAI hands out, with a call in it and a field that the SDK does not know."""
    return ChatCompletionMessage.model_validate({"role": "assistant", "tool_calls": [CALL], "beyond": {"n": 1}})


def block() -> ToolUseBlock:
    """A block of Anthropic's."""
    return ToolUseBlock(type="tool_use", id="t1", name="read", input={"limit": 1, "deep": [{"x": True}]})


def test_values_equal_only_themselves() -> None:
    """1, 1.0 and True are different JSON, at any depth."""
    for number, value in enumerate(VALUES):
        for other_number, other in enumerate(VALUES):
            for one, two in ((value, other), ([value], [other]), ({"a": [value]}, {"a": [copy.deepcopy(other)]})):
                assert (snapshot(one) == two) is (number == other_number)


def test_no_number_is_never_another() -> None:
    """What is no number equals itself."""
    nan = float("nan")
    assert snapshot([nan]) == [nan]


@pytest.mark.parametrize("make", [answer, block])
def test_an_object_changed_in_place_is_another(make: Any) -> None:
    """At any depth, in declared fields and others."""
    changes: list[Any] = [
        lambda it: setattr(it, "content" if hasattr(it, "content") else "name", "x"),
        lambda it: it.tool_calls.append(it.tool_calls[0]) if hasattr(it, "tool_calls") else it.input.update(limit=True),
        lambda it: (
            setattr(it.tool_calls[0].function, "arguments", "{ }")
            if hasattr(it, "tool_calls")
            else it.input["deep"][0].update(x=1)
        ),
        lambda it: it.beyond.update(n=True) if hasattr(it, "beyond") else it.input.pop("deep"),
    ]
    for change in changes:
        value = make()
        kept = [snapshot({"content": [value]}), snapshot(make())]
        with (watch := Watch(kept)):
            assert kept[0] == {"content": [value]}
        change(value)
        assert kept[0] != {"content": [value]}
        with watch:
            assert kept[0] != {"content": [value]}


def test_another_object_that_says_the_same_is_the_same() -> None:
    """Also of objects within objects; of another class it is another."""
    assert snapshot(answer()) == answer()
    assert snapshot(block()) == block()
    assert snapshot(block()) != block().model_dump()
    other = answer()
    other.tool_calls[0].function.arguments = "{ }"  # type: ignore[index, union-attr]
    assert snapshot(answer()) != other


def test_what_a_snapshot_was_made_of_is_restored() -> None:
    """Objects of an SDK come out as they are sent."""
    text = TextBlock(type="text", text="yes")
    said = {"role": "assistant", "content": [text, block()], "n": 1, "t": (True,), "m": MappingProxyType({"k": None})}
    assert restored(snapshot(said)) == {
        "role": "assistant",
        "content": [{"type": "text", "text": "yes"}, block().model_dump(exclude_none=True)],
        "n": 1,
        "t": [True],
        "m": {"k": None},
    }


def test_an_object_that_only_dumps_itself_is_dumped_to_compare() -> None:
    """Its state may be anywhere."""

    class Own:
        def __init__(self) -> None:
            self.hidden = [1]

        def model_dump(self, **_: Any) -> dict[str, Any]:
            return {"role": "user", "content": str(self.hidden)}

    value = Own()
    kept = snapshot([value])
    assert kept == [value]
    value.hidden.append(2)
    assert kept != [value]
