"""Calls that are answered before a client sees them: found in an answer, their results, and what the client sees of the answers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from plimsoll.formats.wire import objects_of
from plimsoll.light.dataclass import dataclass
from plimsoll.message import FormatName

Wire = dict[str, Any]

NO_ANSWER: Final = "[The model only searched the earlier conversation, and said nothing.]"
"""What a client is given in the place of an answer in which there is nothing else."""

BETWEEN: Final = "\n\n"
"""Between texts that the model said before and after an inner call, where the API has one text for both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Called:
    """A call in an answer."""

    id: str
    name: str
    arguments: Any
    """An object, or JSON text."""


def calls_in(wires: Iterable[object]) -> list[Called]:
    """The calls in messages or items of any of the three APIs, in order."""
    return [call for wire in wires if isinstance(wire, Mapping) for call in _calls(wire)]


def _calls(wire: Mapping[str, Any]) -> Iterator[Called]:
    if wire.get("type") == "function_call":
        yield Called(id=str(wire.get("call_id")), name=str(wire.get("name")), arguments=wire.get("arguments"))
    for call in objects_of(wire.get("tool_calls")):
        function = call.get("function")
        told = function if isinstance(function, Mapping) else {}
        yield Called(id=str(call.get("id")), name=str(told.get("name")), arguments=told.get("arguments"))
    for block in objects_of(wire.get("content")):
        if block.get("type") == "tool_use":
            yield Called(id=str(block.get("id")), name=str(block.get("name")), arguments=block.get("input"))


def results_for(format: FormatName, answers: Sequence[tuple[Called, str]]) -> list[Wire]:
    """The messages with the results of calls."""
    match format:
        case "anthropic":
            blocks = [{"type": "tool_result", "tool_use_id": call.id, "content": text} for call, text in answers]
            return [{"role": "user", "content": blocks}] if blocks else []
        case "openai-responses":
            return [{"type": "function_call_output", "call_id": call.id, "output": text} for call, text in answers]
        case _:
            return [{"role": "tool", "tool_call_id": call.id, "content": text} for call, text in answers]


def is_inner(wire: Mapping[str, Any], names: Collection[str]) -> bool:
    """True for a call, as it stands in an answer, of one of these tools."""
    function = wire.get("function")
    name = function.get("name") if isinstance(function, Mapping) else wire.get("name")
    return wire.get("type") in ("function", "function_call", "tool_use") and name in names


def joined(format: FormatName, responses: Sequence[Wire], names: Collection[str]) -> Wire:
    """Whole responses to one request as one: what all of them said, without inner calls, and the sum of their usage."""
    found = _JOINED[format](responses, names)
    usage = total([response.get("usage") for response in responses])
    return {**found, "usage": usage} if usage is not None else found


def joined_answer(format: FormatName, said: Sequence[Wire], names: Collection[str]) -> list[Wire]:
    """All that was said in answer to one request as the client got it."""
    match format:
        case "anthropic":
            return [{"role": "assistant", "content": _joined_messages(said, names)["content"]}]
        case "openai-responses":
            return list(_joined_responses([{"output": said}], names)["output"])
        case _:
            return [_joined_chat([{"choices": [{"message": one}]} for one in said], names)["choices"][0]["message"]]


def _joined_chat(responses: Sequence[Wire], names: Collection[str]) -> Wire:
    choices = [choice for response in responses for choice in objects_of(response.get("choices"))[:1]]
    messages = [choice["message"] for choice in choices if isinstance(choice.get("message"), dict)]
    if not choices or not messages:
        return responses[-1]
    texts = [message["content"] for message in messages if isinstance(message.get("content"), str)]
    last, choice = dict(messages[-1]), dict(choices[-1])
    calls = [call for call in objects_of(last.pop("tool_calls", None)) if not is_inner(call, names)]
    last["content"] = BETWEEN.join(filter(None, texts)) or last.get("content")
    if calls:
        last["tool_calls"] = calls
    elif not (last["content"] or last.get("refusal")):
        last["content"] = NO_ANSWER
    if not calls and choice.get("finish_reason") == "tool_calls":
        choice["finish_reason"] = "stop"
    return {**responses[-1], "choices": [{**choice, "message": last}]}


def _joined_responses(responses: Sequence[Wire], names: Collection[str]) -> Wire:
    output = [
        item for response in responses for item in objects_of(response.get("output")) if not is_inner(item, names)
    ]
    said = any(item.get("type") != "reasoning" for item in output)
    return {**responses[-1], "output": output if said else [*output, said_item(NO_ANSWER)]}


def said_item(text: str) -> Wire:
    """An item of the Responses API with a text of the assistant."""
    part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": "msg_plimsoll", "role": "assistant", "status": "completed", "content": [part]}


def _joined_messages(responses: Sequence[Wire], names: Collection[str]) -> Wire:
    content = [
        block for response in responses for block in objects_of(response.get("content")) if not is_inner(block, names)
    ]
    last = dict(responses[-1])
    if not any(block.get("type") not in ("thinking", "redacted_thinking") for block in content):
        content.append({"type": "text", "text": NO_ANSWER})
    if last.get("stop_reason") == "tool_use" and not any(block.get("type") == "tool_use" for block in content):
        last["stop_reason"] = "end_turn"
    return {**last, "content": content}


_JOINED: Final[Mapping[str, Any]] = {
    "openai-chat": _joined_chat,
    "openai-responses": _joined_responses,
    "anthropic": _joined_messages,
}


def total(reports: Iterable[object]) -> Wire | None:
    """The sum of usage reports: their numbers added, all else as in the newest. None if there is none."""
    found: Wire | None = None
    for report in reports:
        if isinstance(report, dict):
            found = report if found is None else _added(found, report)
    return found


def _added(one: Wire, other: Wire) -> Wire:
    return {key: _sum(one.get(key), other.get(key)) for key in dict.fromkeys((*one, *other))}


def _sum(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return _added(one, other)
    if _is_number(one) and _is_number(other):
        return one + other
    return one if other is None else other


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
