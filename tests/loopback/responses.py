"""OpenAI's Responses: what it refuses where nothing is stored, and how it answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from loopback.agent import Answer
from loopback.chat import check_name, pieces
from loopback.rules import Refusal, need, objects, only, openai_error, picture, tools_tokens, twice, words

Wire = dict[str, Any]

_BODY = (
    "model input instructions tools tool_choice parallel_tool_calls stream store include reasoning temperature top_p "
    "max_output_tokens metadata text truncation user previous_response_id"
)
_ITEMS = {
    "message": "type id role content status phase",
    "function_call": "type id call_id name arguments status namespace caller",
    "function_call_output": "type id call_id output status",
    "reasoning": "type id summary content encrypted_content status",
}
_PREFIX = {"message": "msg", "function_call": "fc", "reasoning": "rs", "function_call_output": "fco"}
_PARTS = {
    "input_text": "type text",
    "input_image": "type image_url file_id detail",
    "output_text": "type text annotations logprobs",
    "refusal": "type refusal",
}
_UNKNOWN = "Unknown parameter: '{where}.{field}'."
_NO_RESULT = "No tool output found for function call {}."
_NO_CALL = "No tool call found for function call output with call_id {}."
_ALONE = "Item '{}' of type 'reasoning' was provided without its required following item."
_WITHOUT = "Item '{}' of type '{}' was provided without its required 'reasoning' item: '{}'."


class Responses:
    """The API as one account sees it. It remembers the reasoning that it gave, what followed it, and each response with what led to it."""

    def __init__(self) -> None:
        self._kept: dict[str, list[Wire]] = {}
        self._sealed: dict[str, Wire] = {}
        self._led_to: dict[str, str] = {}

    def check(self, body: Wire) -> None:
        """Raise a Refusal for what the API refuses."""
        only(body, _BODY, "body", "Unknown parameter: '{field}'.")
        need(isinstance(body.get("model"), str), "Missing required parameter: 'model'.", param="model")
        need(body.get("input"), "Missing required parameter: 'input'.", param="input")
        _check_tools(body.get("tools"))
        before = body.get("previous_response_id")
        need(
            before is None or before in self._kept,
            f"Previous response with id '{before}' not found.",
            param="previous_response_id",
            code="previous_response_not_found",
        )
        if isinstance(body["input"], str) and before is None:
            return
        items = [*self._kept.get(before, ()), *_items(body)]
        for position, item in enumerate(items):
            _check_item(item, f"input[{position}]")
        doubled = twice(item["id"] for item in items if item.get("id"))
        need(not doubled, f"Duplicate item found with id {doubled[:1]}. Remove duplicate items from your input.")
        _check_exchanges(items)
        self._check_reasoning(items)

    def _check_reasoning(self, items: Sequence[Wire]) -> None:
        """Reasoning comes back as it was given, before what it led to, and what it led to not without it."""
        seen: set[str] = set()
        for position, item in enumerate(items):
            id = item.get("id") or ""
            if item.get("type") == "reasoning":
                seen.add(id)
                given = self._sealed.get(id)
                need(
                    given is not None, f"Item with id '{id}' not found. Items are not persisted when `store` is false."
                )
                same = given is not None and all(
                    given[field] == item.get(field) for field in ("summary", "encrypted_content")
                )
                need(
                    same,
                    f"The encrypted content for item {id} could not be verified.",
                    code="invalid_encrypted_content",
                )
                following = items[position + 1] if position + 1 < len(items) else {}
                led = following.get("type") in ("reasoning", "function_call") or following.get("role") == "assistant"
                need(led, _ALONE.format(id), param="input")
                need(
                    not following.get("id") or self._led_to.get(following["id"]) == id, _ALONE.format(id), param="input"
                )
            elif id in self._led_to:
                need(self._led_to[id] in seen, _WITHOUT.format(id, item.get("type"), self._led_to[id]), param="input")

    def tokens(self, body: Wire) -> int:
        """3 an item and every value said, pictures by their tiles, the tools, and 3 for the reply."""
        given = body["input"]
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        said = sum(3 + _item_tokens(item) for item in items)
        return 3 + said + words([body.get("instructions") or ""]) + tools_tokens(body.get("tools"))

    def overflow(self, tokens: int, window: int) -> Refusal:
        """What a prompt that is too long is told."""
        reason = "Your input exceeds the context window of this model. Please adjust your input and try again."
        return Refusal(f"{reason} ({tokens} > {window})", param="input", code="context_length_exceeded")

    def refusal(self, refusal: Refusal) -> Wire:
        """A refusal as the API words it."""
        return openai_error(refusal)

    def respond(self, answer: Answer, number: int, body: Wire) -> Wire:
        """A response; its reasoning is remembered."""
        output: list[Wire] = []
        if answer.text:
            part = {"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []}
            output.append(
                {
                    "type": "message",
                    "id": f"msg_{number}",
                    "role": "assistant",
                    "status": "completed",
                    "content": [part],
                    "phase": "commentary" if answer.calls else "final_answer",
                }
            )
        for at, call in enumerate(answer.calls):
            ids = {"id": f"fc_{number}_{at}", "call_id": f"call_{number}_{at}"}
            made = {"type": "function_call", "name": call.name, "arguments": call.text, "status": "completed", **ids}
            output.append(made)
        if answer.thinking:
            output = [self._reasoning(answer, number, output), *output]
        used = self.tokens(body)
        self._kept[f"resp_{number}"] = [*self._kept.get(body.get("previous_response_id"), ()), *_items(body), *output]
        return {
            "id": f"resp_{number}",
            "object": "response",
            "created_at": 1_700_000_000 + number,
            "status": "completed",
            "model": body["model"],
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": body.get("tools") or [],
            "usage": {
                "input_tokens": used,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": 20,
                "output_tokens_details": {"reasoning_tokens": 5},
                "total_tokens": used + 20,
            },
        }

    def _reasoning(self, answer: Answer, number: int, output: Sequence[Wire]) -> Wire:
        summary = [] if answer.thinks_hidden else [{"type": "summary_text", "text": answer.thinking}]
        sealed = {
            "type": "reasoning",
            "id": f"rs_{number}",
            "summary": summary,
            "encrypted_content": f"gAAAA{number:08}" * 12,
        }
        self._sealed[sealed["id"]] = sealed
        self._led_to.update({item["id"]: sealed["id"] for item in output})
        return sealed

    def events(self, response: Wire) -> Iterator[tuple[str | None, Any]]:
        """The response as it is made, item by item."""
        for sequence, event in enumerate(_events(response)):
            yield event["type"], {**event, "sequence_number": sequence}


def _items(body: Wire) -> list[Wire]:
    given = body["input"]
    return [{"role": "user", "content": given}] if isinstance(given, str) else objects(given, "input")


def _events(response: Wire) -> Iterator[Wire]:
    begun = {**response, "output": [], "status": "in_progress", "usage": None}
    yield {"type": "response.created", "response": begun}
    for at, item in enumerate(response["output"]):
        where = {"output_index": at, "item_id": item["id"]}
        empty = (
            {"content": []}
            if item["type"] == "message"
            else {"arguments": ""}
            if item["type"] == "function_call"
            else {}
        )
        added = {**item, **empty} if item["type"] == "reasoning" else {**item, **empty, "status": "in_progress"}
        yield {"type": "response.output_item.added", "output_index": at, "item": added}
        if item["type"] == "message":
            yield from _text_events(item["content"][0], {**where, "content_index": 0})
        elif item["type"] == "function_call":
            for piece in pieces(item["arguments"]):
                yield {"type": "response.function_call_arguments.delta", "delta": piece, **where}
            done = {"arguments": item["arguments"], "name": item["name"]}
            yield {"type": "response.function_call_arguments.done", **done, **where}
        yield {"type": "response.output_item.done", "output_index": at, "item": item}
    yield {"type": "response.completed", "response": response}


def _text_events(part: Wire, where: Wire) -> Iterator[Wire]:
    yield {"type": "response.content_part.added", "part": {**part, "text": ""}, **where}
    for piece in pieces(part["text"]):
        yield {"type": "response.output_text.delta", "delta": piece, "logprobs": [], **where}
    yield {"type": "response.output_text.done", "text": part["text"], "logprobs": [], **where}
    yield {"type": "response.content_part.done", "part": part, **where}


def _check_tools(tools: object) -> None:
    found = objects([] if tools is None else tools, "tools")
    for tool in found:
        need(tool.get("type") == "function", f"Invalid value: '{tool.get('type')}'.", param="tools")
        only(tool, "type name description parameters strict", "tools", _UNKNOWN)
        check_name(tool.get("name"), "tools.name")
    need(not twice(tool["name"] for tool in found), "Tool names must be unique.", param="tools")


def _check_item(item: Wire, where: str) -> None:
    kind = item.get("type", "message" if "role" in item else None)
    need(kind in _ITEMS, f"Invalid value: '{kind}'. Supported values are: {list(_ITEMS)} ({where})", param=where)
    assert isinstance(kind, str)
    only(item, _ITEMS[kind], where, _UNKNOWN)
    id = item.get("id")
    named = id is None or (isinstance(id, str) and id.startswith(_PREFIX[kind]))
    need(named, f"Invalid '{where}.id': '{id}'. Expected an ID that begins with '{_PREFIX[kind]}'.", param=where)
    need(item.get("status") in (None, "in_progress", "completed", "incomplete"), f"Invalid value for '{where}.status'")
    match kind:
        case "message":
            _check_message(item, where)
        case "function_call":
            check_name(item.get("name"), f"{where}.name")
            need(
                isinstance(item.get("arguments"), str), f"Missing required parameter: '{where}.arguments'.", param=where
            )
        case "function_call_output":
            _check_content(item.get("output"), ("input_text", "input_image"), f"{where}.output")
        case _:
            need(isinstance(id, str), f"Missing required parameter: '{where}.id'.", param=where)
            need(isinstance(item.get("summary"), list), f"Missing required parameter: '{where}.summary'.", param=where)
    if kind.startswith("function_call"):
        call_id = item.get("call_id")
        need(
            isinstance(call_id, str) and 0 < len(call_id) <= 64,
            f"Invalid '{where}.call_id': string too long.",
            param=where,
        )


def _check_message(item: Wire, where: str) -> None:
    role = item.get("role")
    need(role in ("user", "assistant", "system", "developer"), f"Invalid value: '{role}'. ({where}.role)", param=where)
    parts = ("output_text", "refusal") if role == "assistant" else ("input_text", "input_image")
    _check_content(item.get("content"), parts, f"{where}.content")


def _check_content(content: object, allowed: tuple[str, ...], where: str) -> None:
    if isinstance(content, str):
        return
    need(content is not None, f"Missing required parameter: '{where}'.", param=where)
    need(content, f"Invalid '{where}': empty array.", param=where)
    for part in objects(content, where):
        kind = part.get("type")
        need(kind in allowed, f"Invalid value: '{kind}'. Supported values are: {allowed} ({where})", param=where)
        only(part, _PARTS[str(kind)], where, _UNKNOWN)
        if kind == "input_image":
            _size(part, where)
        else:
            field = "refusal" if kind == "refusal" else "text"
            need(isinstance(part.get(field), str), f"Missing required parameter: '{where}.{field}'.", param=where)


def _size(part: Wire, where: str) -> tuple[int, int]:
    url = part.get("image_url")
    need(isinstance(url, str), f"Missing required parameter: '{where}.image_url'.", param=where)
    if str(url).startswith("https://"):
        return (0, 0)
    media_type, _, data = str(url).removeprefix("data:").partition(";base64,")
    return picture(media_type, data, where)


def _check_exchanges(items: Sequence[Wire]) -> None:
    """Every call has one output behind it, and every output a call before it."""
    open_ids: list[str] = []
    answered: set[str] = set()
    for item in items:
        id = item.get("call_id", "")
        if item.get("type") == "function_call":
            need(id not in open_ids and id not in answered, f"Duplicate value for 'call_id': {id}", param="input")
            open_ids.append(id)
        elif item.get("type") == "function_call_output":
            need(id in open_ids, _NO_CALL.format(id), param="input")
            open_ids.remove(id)
            answered.add(id)
    need(not open_ids, _NO_RESULT.format(next(iter(open_ids), "")), param="input")


def _item_tokens(item: Wire) -> int:
    said = [str(item.get(field) or "") for field in ("role", "name", "arguments")]
    pictures = 0
    for field in ("content", "output", "summary"):
        value = item.get(field)
        for part in value if isinstance(value, list) else [{"text": value or ""}]:
            if part.get("type") == "input_image":
                width, height = _size(part, "image")
                pictures += 85 + 170 * -(-width // 512) * -(-height // 512)
            else:
                said.append(part.get("text") or part.get("refusal") or "")
    return words(said) + pictures
