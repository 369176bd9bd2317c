"""OpenAI's Chat Completions: what it refuses, and how it answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from loopback.agent import Answer
from loopback.rules import NAME, Refusal, need, objects, only, openai_error, picture, tools_tokens, twice, words

Wire = dict[str, Any]

_BODY = (
    "model messages tools tool_choice parallel_tool_calls stream stream_options temperature top_p max_tokens "
    "max_completion_tokens seed stop user metadata store reasoning_effort response_format n logprobs"
)
_MESSAGE = {
    "system": "role content name",
    "developer": "role content name",
    "user": "role content name",
    "assistant": "role content name refusal audio tool_calls function_call annotations",
    "tool": "role content tool_call_id",
}
_PARTS = {
    "system": ("text",),
    "developer": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
}
_UNKNOWN = "Unknown parameter: '{where}.{field}'."
_ID_CHARS_MAX = 40
_NAME_CHARS_MAX = 64


class Chat:
    """The API as one account sees it."""

    def check(self, body: Wire) -> None:
        """Raise a Refusal for what the API refuses."""
        only(body, _BODY, "body", "Unrecognized request argument supplied: {field}")
        need(isinstance(body.get("model"), str), "you must provide a model parameter")
        messages = objects(body.get("messages"), "messages")
        need(messages, "Invalid 'messages': empty array. Expected an array with minimum length 1.", param="messages")
        _check_tools(body.get("tools"))
        for position, message in enumerate(messages):
            _check_message(message, f"messages[{position}]")
        _check_exchanges(messages)

    def tokens(self, body: Wire) -> int:
        """3 a message and every value said, pictures by their tiles, the tools, and 3 for the reply."""
        return 3 + sum(3 + _message_tokens(message) for message in body["messages"]) + tools_tokens(body.get("tools"))

    def overflow(self, tokens: int, window: int) -> Refusal:
        """What a prompt that is too long is told."""
        reason = f"This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens."
        return Refusal(reason, param="messages", code="context_length_exceeded")

    def refusal(self, refusal: Refusal) -> Wire:
        """A refusal as the API words it."""
        return openai_error(refusal)

    def respond(self, answer: Answer, number: int, body: Wire) -> Wire:
        """A chat completion."""
        calls = [
            {"id": f"call_{number}_{at}", "type": "function", "function": {"name": call.name, "arguments": call.text}}
            for at, call in enumerate(answer.calls)
        ]
        refused = None if calls or answer.text or answer.thinking else "I cannot help with that."
        message = {"role": "assistant", "content": answer.text or None, "refusal": refused, "annotations": []}
        if calls:
            message["tool_calls"] = calls
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": "tool_calls" if calls else "stop",
            "logprobs": None,
        }
        used = self.tokens(body)
        usage = {"prompt_tokens": used, "completion_tokens": 20, "total_tokens": used + 20}
        return {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion",
            "created": 1_700_000_000 + number,
            "model": body["model"],
            "choices": [choice],
            "usage": usage,
        }

    def events(self, response: Wire) -> Iterator[tuple[str | None, Any]]:
        """The completion in chunks: texts and arguments in pieces, as they are made."""
        head = {"id": response["id"], "created": response["created"], "model": response["model"]}
        head["object"] = "chat.completion.chunk"
        choice = response["choices"][0]
        for delta in [{"role": "assistant", "content": "", "refusal": None}, *_deltas(choice["message"])]:
            yield None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None, "logprobs": None}]}
        yield None, {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
        yield None, {**head, "choices": [], "usage": response["usage"]}
        yield None, "[DONE]"


def _deltas(message: Wire) -> Iterator[Wire]:
    for piece in pieces(message["content"] or ""):
        yield {"content": piece}
    for at, call in enumerate(message.get("tool_calls", ())):
        name = {"name": call["function"]["name"], "arguments": ""}
        yield {"tool_calls": [{"index": at, "id": call["id"], "type": "function", "function": name}]}
        for piece in pieces(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": at, "function": {"arguments": piece}}]}


def pieces(text: str, size: int = 60) -> list[str]:
    """A text in pieces, as it is streamed."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def _check_tools(tools: object) -> None:
    if tools is None:
        return
    found = objects(tools, "tools")
    need(found, "Invalid 'tools': empty array. Expected an array with minimum length 1.", param="tools")
    for tool in found:
        function = tool.get("function")
        need(tool.get("type") == "function" and isinstance(function, dict), "Invalid value for 'tools'", param="tools")
        assert isinstance(function, dict)
        check_name(function.get("name"), "tools.function.name")
        parameters = function.get("parameters", {"type": "object"})
        need(isinstance(parameters, dict) and parameters.get("type") == "object", "Invalid schema for function")
    doubled = twice(str(tool["function"]["name"]) for tool in found)
    need(not doubled, f"Tool names must be unique: {doubled}", param="tools")


def check_name(name: object, where: str) -> None:
    """A function's name."""
    fine = isinstance(name, str) and NAME.fullmatch(name) and len(name) <= _NAME_CHARS_MAX
    need(fine, f"Invalid '{where}': string does not match pattern '^[a-zA-Z0-9_-]+$'.", param=where)


def _check_message(message: Wire, where: str) -> None:
    role = message.get("role")
    need(role in _MESSAGE, f"Invalid value: '{role}'. Supported values are: {list(_MESSAGE)}", param=where)
    assert isinstance(role, str)
    only(message, _MESSAGE[role], where, _UNKNOWN)
    content = message.get("content")
    if isinstance(content, list):
        need(content, f"Invalid '{where}.content': empty array.", param=where)
        for part in objects(content, f"{where}.content"):
            _check_part(part, role, f"{where}.content")
    elif content is None:
        silent = role == "assistant" and any(
            message.get(field) for field in ("tool_calls", "function_call", "refusal", "audio")
        )
        need(silent, f"Invalid value for 'content': expected a string, got null. ({where})", param=where)
    else:
        need(isinstance(content, str), f"Invalid type for '{where}.content'", param=where)
    if "tool_calls" in message:
        _check_calls(message["tool_calls"], where)
    if role == "tool":
        need(isinstance(message.get("tool_call_id"), str), f"Missing required parameter: '{where}.tool_call_id'.")


def _check_part(part: Wire, role: str, where: str) -> None:
    kind = part.get("type")
    need(kind in _PARTS[role], f"Invalid value: '{kind}'. Supported values are: {_PARTS[role]} ({where})", param=where)
    only(part, f"type {kind}", where, _UNKNOWN)
    if kind in ("text", "refusal"):
        need(isinstance(part.get(str(kind)), str), f"Missing required parameter: '{where}.{kind}'.", param=where)
    else:
        need(isinstance(part.get(str(kind)), dict), f"Missing required parameter: '{where}.{kind}'.", param=where)
    if kind == "image_url":
        _size(part["image_url"].get("url"), where)


def _size(url: object, where: str) -> tuple[int, int]:
    need(isinstance(url, str), f"Missing required parameter: '{where}.image_url.url'.")
    text = str(url)
    if text.startswith("https://"):
        return (0, 0)
    need(text.startswith("data:") and ";base64," in text, f"Invalid image URL in {where}", code="invalid_image_url")
    media_type, _, data = text.removeprefix("data:").partition(";base64,")
    return picture(media_type, data, where)


def _check_calls(calls: object, where: str) -> None:
    found = objects(calls, f"{where}.tool_calls")
    need(found, f"Invalid '{where}.tool_calls': empty array. Expected an array with minimum length 1.", param=where)
    for call in found:
        only(call, "id type function", f"{where}.tool_calls", _UNKNOWN)
        function = call.get("function")
        need(call.get("type") == "function" and isinstance(function, dict), f"Invalid value: {where}.tool_calls.type")
        assert isinstance(function, dict)
        only(function, "name arguments", f"{where}.tool_calls.function", _UNKNOWN)
        check_name(function.get("name"), f"{where}.tool_calls.function.name")
        need(isinstance(function.get("arguments"), str), f"Invalid type for '{where}.tool_calls.function.arguments'")
        id = call.get("id")
        need(isinstance(id, str) and id, f"Missing required parameter: '{where}.tool_calls.id'.")
        need(len(str(id)) <= _ID_CHARS_MAX, f"Invalid '{where}.tool_calls.id': string too long.")
    need(not twice(call["id"] for call in found), f"Duplicate value for 'tool_calls.id' in {where}")


def _check_exchanges(messages: Sequence[Wire]) -> None:
    """Every call is answered once, directly behind the message that makes it; nothing else is."""
    open_ids: list[str] = []
    answered: set[str] = set()
    for position, message in enumerate([*messages, {"role": "end"}]):
        if message["role"] == "tool":
            id = message["tool_call_id"]
            need(id not in answered, f"Duplicate value for 'tool_call_id' of '{id}' in messages[{position}]")
            need(
                id in open_ids,
                f"Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. "
                f"(messages[{position}])",
            )
            open_ids.remove(id)
            answered.add(id)
            continue
        need(
            not open_ids,
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
            f"The following tool_call_ids did not have response messages: {', '.join(open_ids)}",
        )
        open_ids, answered = [call["id"] for call in message.get("tool_calls") or ()], set()


def _message_tokens(message: Wire) -> int:
    content = message.get("content") or ""
    parts = content if isinstance(content, list) else [{"text": content}]
    said = [message["role"], *(part.get("text") or part.get("refusal") or "" for part in parts)]
    for call in message.get("tool_calls") or ():
        said += [call["function"]["name"], call["function"]["arguments"]]
    return words(said) + sum(_tiles(part) for part in parts if part.get("type") == "image_url")


def _tiles(part: Wire) -> int:
    width, height = _size(part["image_url"]["url"], "image")
    return 85 if part["image_url"].get("detail") == "low" else 85 + 170 * -(-width // 512) * -(-height // 512)
