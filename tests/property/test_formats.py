"""What holds for every history in every format."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amounts import examples
from generated import FORMATS
from plimsoll.errors import FormatError, LimitExceeded
from plimsoll.formats.anthropic.codec import NO_OUTPUT
from plimsoll.formats.atoms import atoms_of, has_reasoning, message_of
from plimsoll.formats.convert import convert, validate
from plimsoll.formats.registry import decode_all, format_named
from plimsoll.message import Text, ToolResult
from strategies import broken_histories, field_soups, histories, json_values

quick = settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.too_slow])
PAIRS = [(source, target) for source in FORMATS for target in FORMATS if source != target]


@pytest.mark.parametrize("format", FORMATS)
@quick
@given(data=st.data())
def test_unedited_messages_go_out_as_they_came_in(format: Any, data: st.DataObject) -> None:
    """Encoding a decoded message gives the same JSON text, key order included, and shares nothing with the input."""
    wires = data.draw(histories(format) | broken_histories(format))
    kept = copy.deepcopy(wires)
    found, messages = decode_all(wires, format)
    assert [json.dumps(found.encode(message)) for message in messages] == [json.dumps(wire) for wire in wires]
    assert wires == kept


@pytest.mark.parametrize("format", FORMATS)
@quick
@given(data=st.data())
def test_a_message_and_its_atoms_say_the_same(format: Any, data: st.DataObject) -> None:
    """A message that is decoded again from its atoms is equal to the first one, to the types of its numbers."""
    _, messages = decode_all(data.draw(histories(format) | broken_histories(format)), format)
    held = [atoms for message in messages if (atoms := atoms_of(message)) is not None]
    again = [message_of(atoms, 0) for atoms in held]
    assert again == messages
    assert [has_reasoning(atoms) for atoms in held] == [has_reasoning(message) for message in messages]
    assert [repr(message.wire) for message in again] == [repr(message.wire) for message in messages]


@pytest.mark.parametrize("format", FORMATS)
@quick
@given(data=st.data())
def test_marking_as_edited_changes_nothing(format: Any, data: st.DataObject) -> None:
    """Encoding from the parts, with the wire object as the base, says the same as the wire object of a valid history."""
    wires = data.draw(histories(format))
    found, messages = decode_all(wires, format)
    again = [found.encode(message.with_parts(message.parts)) for message in messages]
    assert [_plain(wire) for wire in again] == [_plain(wire) for wire in wires]


def _plain(wire: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in wire.items() if value is not None}


@pytest.mark.parametrize("format", FORMATS)
@quick
@given(data=st.data())
def test_histories_made_valid_are_valid(format: Any, data: st.DataObject) -> None:
    """The strategies' valid histories have no violations, so that other tests can rely on both."""
    assert validate(data.draw(histories(format)), format=format) == []


@pytest.mark.parametrize("format", FORMATS)
@quick
@given(data=st.data())
def test_parts_alone_are_enough(format: Any, data: st.DataObject) -> None:
    """Without any wire object, each message of a valid history still encodes to a valid history."""
    from dataclasses import replace

    wires = data.draw(histories(format))
    found, messages = decode_all(wires, format)
    if any(type(part).__name__ in ("Media", "Reasoning", "Opaque") for message in messages for part in message.parts):
        return
    bare = [
        replace(message, wire=None, parts=tuple(replace(part, wire=None) for part in message.parts))
        for message in messages
    ]
    again = [found.encode(message) for message in bare]
    assert validate(again, format=format) == []
    assert [message.text for message in decode_all(again, format)[1]] == [message.text for message in messages]


@pytest.mark.parametrize(("source", "target"), PAIRS)
@settings(parent=quick, max_examples=examples(30))
@given(data=st.data())
def test_conversions_of_valid_histories_are_valid(source: Any, target: Any, data: st.DataObject) -> None:
    """A valid history converts to a valid one, with the same words and the same results in the same order."""
    wires = data.draw(histories(source))
    converted = convert(wires, to=target, format=source)
    assert validate(converted.messages, format=target, system=converted.system) == []
    before, after = (decode_all(wires, source)[1], decode_all(converted.messages, target)[1])
    assert _results(after) == _results(before)
    assert json.loads(json.dumps(converted.to_dict())) == converted.to_dict()


def _results(messages: Any) -> list[str]:
    """Results by call, in the order of the calls; what a format adds to say failure is left out."""
    by_id: dict[str, str] = {}
    for message in messages:
        for part in message.parts:
            if isinstance(part, ToolResult):
                by_id[part.call_id] = part.content.removeprefix("[tool error] ").replace(NO_OUTPUT, "")
    return [by_id[call.id] for message in messages for call in message.calls if call.id in by_id]


@pytest.mark.parametrize(("source", "target"), PAIRS)
@settings(parent=quick, max_examples=examples(30))
@given(data=st.data())
def test_conversions_of_broken_histories_are_total(source: Any, target: Any, data: st.DataObject) -> None:
    """A broken history converts without an error, and every visible text is still in what comes out."""
    wires = data.draw(broken_histories(source))
    converted = convert(wires, to=target, format=source)
    shown = json.dumps([converted.messages, converted.system], ensure_ascii=False)
    for message in decode_all(wires, source)[1]:
        for part in message.parts:
            if isinstance(part, Text) and part.text.strip() and part.text == part.text.rstrip():
                assert json.dumps(part.text, ensure_ascii=False)[1:-1] in shown


@pytest.mark.parametrize("format", [None, *FORMATS])
@quick
@given(wires=field_soups())
def test_anything_is_read_or_refused(format: Any, wires: Any) -> None:
    """Objects that are nearly messages are decoded, encoded, checked and converted, or refused with a FormatError."""
    kept = copy.deepcopy(wires)
    refused: FormatError | None = None
    try:
        validate(wires, format=format)
        found, messages = decode_all(wires, format)
    except FormatError as error:
        refused = error
    if refused is not None:
        assert refused.position is None or 0 <= refused.position < len(wires)
        return
    for message in messages:
        json.dumps(found.encode(message))
        json.dumps(found.encode(message.with_parts(message.parts)))
    for target in FORMATS:
        json.dumps(convert(wires, to=target, format=format).to_dict())
    assert wires == kept


@settings(max_examples=examples(100), deadline=None)
@given(value=json_values)
def test_tool_outputs_survive_ui_parts(value: Any) -> None:
    """Any JSON output of a tool is kept exactly, and said as text once, never as text of text."""
    part = {"type": "tool-x", "toolCallId": "c", "state": "output-available", "input": {}, "output": value}
    wire = {"id": "m", "role": "assistant", "parts": [part]}
    message = format_named("ui-parts").decode(wire, 0)
    content = message.results[0].content
    assert content == (value if isinstance(value, str) else content)
    if value is not None and not isinstance(value, str):
        assert json.loads(content) == value
    assert format_named("ui-parts").encode(message.with_parts(message.parts)) == wire


@given(depth=st.integers(60, 3000))
@settings(max_examples=examples(20), deadline=None)
def test_nesting_is_limited(depth: int) -> None:
    """Nesting past the limit is refused with a FormatError, never a RecursionError."""
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    wires = [{"role": "user", "content": "x", "extra": value}]
    if depth <= 62:
        assert decode_all(wires)[1]
        return
    for call in (decode_all, validate):
        with pytest.raises(FormatError, match="nested deeper") as caught:
            call(wires)
        assert caught.value.position == 0


@pytest.mark.slow
def test_shared_references_do_not_explode() -> None:
    """An object of forty levels that holds the next one twice is refused at the limit, not copied for ever."""
    value: Any = ["x"]
    for _ in range(40):
        value = [value, value]
    with pytest.raises(LimitExceeded):
        decode_all([{"role": "user", "content": "x", "extra": value}])
