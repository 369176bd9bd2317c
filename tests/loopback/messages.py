"""Anthropic's Messages: what it refuses, and how it answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any

from loopback.agent import Answer
from loopback.chat import pieces
from loopback.rules import NAME, Refusal, compact, leaves, need, objects, only, picture, tools_tokens, twice, words

Wire = dict[str, Any]

_BODY = (
    "model messages max_tokens system tools tool_choice thinking stream temperature top_p top_k stop_sequences metadata "
    "cache_control service_tier output_config"
)
_CITED = "type text cache_control citations"
_BLOCKS = {
    "user": {
        "text": _CITED,
        "image": "type source cache_control",
        "document": "type source cache_control citations context title",
        "tool_result": "type tool_use_id content is_error cache_control toolset_name",
    },
    "assistant": {
        "text": _CITED,
        "thinking": "type thinking signature",
        "redacted_thinking": "type data",
        "tool_use": "type id name input cache_control caller toolset_name",
    },
    "system": {"text": _CITED},
}
_IN_RESULT = {
    "text": _CITED,
    "image": "type source cache_control",
    "document": "type source cache_control title context",
}
_EXTRA = "{where}.{field}: Extra inputs are not permitted"
_MARKS_MAX = 4
_TOOL_NAME_CHARS_MAX = 128
_NO_RESULT = (
    "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must "
    "have a corresponding `tool_result` block in the next message."
)
_NO_CALL = (
    "messages.{}.content: unexpected `tool_use_id` found in `tool_result` blocks: {}. Each `tool_result` block must have a "
    "corresponding `tool_use` block in the previous message."
)
_THINK_FIRST = (
    "messages.{}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is enabled, a "
    "final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and "
    "`tool_result` blocks)."
)
_MODIFIED = (
    "messages.{}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These "
    "blocks must remain as they were in the original response."
)
_THOUGHT = ("thinking", "redacted_thinking")
BINDING = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5", "claude-fable-5-1", "claude-mythos-5-1")
"""Models whose thinking comes back only after the very prefix it was made for, or not at all."""


class Messages:
    """The API as one account sees it. It knows its own signatures, and the thinking before each call it made."""

    def __init__(self) -> None:
        self._signed: dict[str, tuple[str, str]] = {}
        """By signature, the thinking and the prefix that it was made for."""
        self._thought: dict[str, list[Wire]] = {}
        """By the id of each call, the thinking in the same answer."""

    def check(self, body: Wire) -> None:
        """Raise a Refusal for what the API refuses."""
        only(body, _BODY, "", "{field}: Extra inputs are not permitted")
        need(isinstance(body.get("model"), str), "model: Field required")
        need(isinstance(body.get("max_tokens"), int) and body["max_tokens"] > 0, "max_tokens: Field required")
        _check_thinking_asked(body)
        _check_tools(body.get("tools"))
        _check_system(body.get("system"))
        messages = objects(body.get("messages"), "messages")
        need(messages, "messages: at least one message is required")
        for position, message in enumerate(messages):
            _check_message(message, position, is_last=position == len(messages) - 1)
        need(messages[0]["role"] == "user", 'messages: first message must use the "user" role')
        need(not twice(_calls(messages)), "messages: `tool_use` ids must be unique")
        _check_exchanges(messages)
        _check_marks(body)
        self._check_signatures(body)
        if (body.get("thinking") or {}).get("type") == "enabled":
            self._check_last_thinking(messages)

    def _check_signatures(self, body: Wire) -> None:
        binds = body["model"] in BINDING
        made_for = prefixes(body) if binds else [""] * len(body["messages"])
        for position, (message, prefix) in enumerate(zip(body["messages"], made_for, strict=False)):
            for at, block in enumerate(_blocks(message)):
                if block["type"] in _THOUGHT:
                    thinking, own = self._signed.get(block.get("signature") or block.get("data") or "", ("", "?"))
                    good = thinking == block.get("thinking", "") and (own == prefix if binds else own != "?")
                    need(good, f"messages.{position}.content.{at}: Invalid `signature` in `thinking` block")

    def _check_last_thinking(self, messages: Sequence[Wire]) -> None:
        """The last answer keeps its thinking as it was while its calls are being worked on."""
        position = max((at for at, message in enumerate(messages) if message["role"] == "assistant"), default=-1)
        blocks = _blocks(messages[position]) if position >= 0 else []
        calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if not calls or all(call not in self._thought for call in calls):
            return
        thinking = [block for block in blocks if block["type"] in _THOUGHT]
        given = [block for call in calls for block in self._thought.get(call, ())]
        if given:
            need(blocks[0]["type"] in _THOUGHT, _THINK_FIRST.format(position, blocks[0]["type"]))
        unique = [block for at, block in enumerate(given) if block not in given[:at]]
        need(thinking == unique, _MODIFIED.format(position))

    def tokens(self, body: Wire) -> int:
        """3 a message and every text said, pictures by their pixels, the tools, and 3 for the reply."""
        said = sum(3 + words([message["role"]]) + _content_tokens(message["content"]) for message in body["messages"])
        return 3 + said + _content_tokens(body.get("system") or "") + tools_tokens(body.get("tools"))

    def overflow(self, tokens: int, window: int) -> Refusal:
        """What a prompt that is too long is told."""
        return Refusal(f"prompt is too long: {tokens} tokens > {window} maximum")

    def refusal(self, refusal: Refusal) -> Wire:
        """A refusal as the API words it."""
        told = {"type": "invalid_request_error", "message": refusal.message}
        return {"type": "error", "error": told, "request_id": "req_loopback"}

    def respond(self, answer: Answer, number: int, body: Wire) -> Wire:
        """A message; the signatures in it are remembered."""
        thinking = self._think(answer, number, prefixes(body)[-1]) if body.get("thinking") else []
        calls = [
            {"type": "tool_use", "id": f"toolu_{number}_{at}", "name": call.name, "input": call.arguments}
            for at, call in enumerate(answer.calls)
        ]
        self._thought.update({call["id"]: thinking for call in calls})
        text = [{"type": "text", "text": answer.text, "citations": None}] if answer.text else []
        return {
            "id": f"msg_{number}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [*thinking, *text, *calls],
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": {
                "input_tokens": self.tokens(body),
                "output_tokens": 20,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
                "service_tier": "standard",
            },
        }

    def _think(self, answer: Answer, number: int, prefix: str) -> list[Wire]:
        if not answer.thinking:
            return []
        signature = sha256(f"{number}{answer.thinking}".encode()).hexdigest() * 4
        self._signed[signature] = ("" if answer.thinks_hidden else answer.thinking, prefix)
        if answer.thinks_hidden:
            return [{"type": "redacted_thinking", "data": signature}]
        return [{"type": "thinking", "thinking": answer.thinking, "signature": signature}]

    def events(self, response: Wire) -> Iterator[tuple[str | None, Any]]:
        """The message as it is made, block by block."""
        for event in _events(response):
            yield event["type"], event


def prefixes(body: Wire) -> list[str]:
    """Digests of what is before each message, and before the one to come: system text, tools, messages, without cache marks."""
    digest = sha256(_unmarked([body.get("system"), body.get("tools")]).encode())
    found = [digest.hexdigest()]
    for message in body["messages"]:
        digest.update(_unmarked(message).encode())
        found.append(digest.hexdigest())
    return found


def _unmarked(value: object) -> str:
    if isinstance(value, dict):
        return compact([[key, _unmarked(item)] for key, item in sorted(value.items()) if key != "cache_control"])
    return compact(list(map(_unmarked, value)) if isinstance(value, list) else value)


def _events(response: Wire) -> Iterator[Wire]:
    yield {"type": "message_start", "message": {**response, "content": [], "stop_reason": None}}
    yield {"type": "ping"}
    for at, block in enumerate(response["content"]):
        empty, deltas = _streamed(block)
        yield {"type": "content_block_start", "index": at, "content_block": {**block, **empty}}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": at, "delta": delta}
        yield {"type": "content_block_stop", "index": at}
    stopped = {"stop_reason": response["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stopped, "usage": {"output_tokens": 20}}
    yield {"type": "message_stop"}


def _streamed(block: Wire) -> tuple[Wire, list[Wire]]:
    """What of a block is empty at first, and what fills it."""
    match block["type"]:
        case "text":
            return {"text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        case "thinking":
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
            signed = {"type": "signature_delta", "signature": block["signature"]}
            return {"thinking": "", "signature": ""}, [*deltas, signed]
        case "tool_use":
            text = compact(block["input"])
            return {"input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces(text)]
        case _:
            return {}, []


def _check_thinking_asked(body: Wire) -> None:
    asked = body.get("thinking") or {}
    need(
        body["model"] not in BINDING or asked.get("type") != "enabled",
        "thinking.type: 'enabled' is not supported by this model",
    )
    if asked.get("type") == "enabled":
        budget = asked.get("budget_tokens")
        need(isinstance(budget, int) and budget >= 1024, "thinking.enabled.budget_tokens: Input should be >= 1024")
        need(budget < body["max_tokens"], "`max_tokens` must be greater than `thinking.budget_tokens`")
        forced = (body.get("tool_choice") or {}).get("type") in ("any", "tool")
        need(not forced, "Thinking may not be enabled when tool_choice forces tool use.")


def _check_tools(tools: object) -> None:
    found = objects([] if tools is None else tools, "tools")
    for position, tool in enumerate(found):
        only(tool, "name description input_schema cache_control type strict", f"tools.{position}", _EXTRA)
        name = tool.get("name")
        fine = isinstance(name, str) and NAME.fullmatch(name) and len(name) <= _TOOL_NAME_CHARS_MAX
        need(fine, f"tools.{position}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")
        schema = tool.get("input_schema")
        need(
            isinstance(schema, dict) and schema.get("type") == "object",
            f"tools.{position}.input_schema: Field required",
        )
    need(not twice(tool["name"] for tool in found), "tools: Tool names must be unique.")


def _check_system(system: object) -> None:
    if system is None or isinstance(system, str):
        return
    for block in objects(system, "system"):
        need(block.get("type") == "text", "system: Input should be 'text'")
        only(block, _CITED, "system", _EXTRA)
        _check_text(block, "system")


def _check_message(message: Wire, position: int, *, is_last: bool) -> None:
    where = f"messages.{position}"
    only(message, "role content", where, _EXTRA)
    role, content = message.get("role"), message.get("content")
    need(role in _BLOCKS, f"{where}.role: Input should be 'user', 'assistant' or 'system'")
    may_be_empty = is_last and role == "assistant"
    empty = f"{where}: all messages must have non-empty content except for the optional final assistant message"
    need(content is not None, f"{where}.content: Field required")
    if isinstance(content, str):
        need(content or may_be_empty, empty)
        need(content.strip() or not content, f"{where}: text content blocks must contain non-whitespace text")
    else:
        need(objects(content, f"{where}.content") or may_be_empty, empty)
        for at, block in enumerate(_blocks(message)):
            _check_block(block, _BLOCKS[str(role)], f"{where}.content.{at}")
        last = _blocks(message)[-1:]
        ends_thinking = role == "assistant" and last and last[0]["type"] in _THOUGHT
        need(not ends_thinking, f"{where}: The final block in an assistant message cannot be `thinking`.")
    text = content if isinstance(content, str) else (_blocks(message)[-1:] or [{}])[0].get("text", "")
    need(
        not may_be_empty or text == text.rstrip(),
        f"{where}: final assistant content cannot end with trailing whitespace",
    )


def _check_block(block: Wire, allowed: dict[str, str], where: str) -> None:
    kind = block.get("type")
    need(
        kind in allowed,
        f"{where}: Input tag '{kind}' found using 'type' does not match any of the expected tags: {list(allowed)}",
    )
    assert isinstance(kind, str)
    only(block, allowed[kind], f"{where}.{kind}", _EXTRA)
    match kind:
        case "text":
            _check_text(block, where)
        case "image":
            _size(block, where)
        case "thinking":
            need(isinstance(block.get("thinking"), str), f"{where}.thinking.thinking: Field required")
            need(isinstance(block.get("signature"), str), f"{where}.thinking.signature: Field required")
        case "redacted_thinking":
            need(isinstance(block.get("data"), str), f"{where}.redacted_thinking.data: Field required")
        case "tool_use":
            need(isinstance(block.get("input"), dict), f"{where}.tool_use.input: Input should be a valid dictionary")
            name = block.get("name")
            need(isinstance(name, str) and 0 < len(name) <= 200, f"{where}.tool_use.name: Field required")
            _check_id(block.get("id"), f"{where}.tool_use.id")
        case "tool_result":
            _check_id(block.get("tool_use_id"), f"{where}.tool_result.tool_use_id")
            _check_result(block, where)


def _check_id(id: object, where: str) -> None:
    fine = isinstance(id, str) and NAME.fullmatch(id)
    need(fine, f"{where}: String should match pattern '^[a-zA-Z0-9_-]+$'")


def _check_text(block: Wire, where: str) -> None:
    text = block.get("text")
    need(isinstance(text, str), f"{where}.text.text: Field required")
    need(text, f"{where}: text content blocks must be non-empty")
    need(str(text).strip(), f"{where}: text content blocks must contain non-whitespace text")


def _check_result(block: Wire, where: str) -> None:
    content = block.get("content")
    if isinstance(content, list):
        for at, inner in enumerate(objects(content, where)):
            _check_block(inner, _IN_RESULT, f"{where}.tool_result.content.{at}")
    else:
        need(
            content is None or isinstance(content, str), f"{where}.tool_result.content: Input should be a valid string"
        )
    if block.get("is_error"):
        need(content, f"{where}.tool_result: content cannot be empty if `is_error` is true")
        texts = isinstance(content, str) or all(inner["type"] == "text" for inner in content or ())
        need(texts, f"{where}.tool_result: all content must be type `text` if `is_error` is true")


def _size(block: Wire, where: str) -> tuple[int, int]:
    source = block.get("source")
    need(isinstance(source, dict), f"{where}.image.source: Field required")
    assert isinstance(source, dict)
    if source.get("type") == "url":
        need(str(source.get("url")).startswith("https://"), f"{where}.image.source.url: Only HTTPS URLs are supported.")
        return (0, 0)
    need(source.get("type") == "base64", f"{where}.image.source: Input tag does not match any of the expected tags")
    return picture(source.get("media_type"), source.get("data"), f"{where}.image.source.base64")


def _check_exchanges(messages: Sequence[Wire]) -> None:
    """Every call is answered once, at the beginning of the next message; nothing else is."""
    waiting: list[str] = []
    for position, message in enumerate([*messages, {"role": "end", "content": []}]):
        blocks = _blocks(message)
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        first = [block["type"] == "tool_result" for block in blocks[: len(results)]]
        need(all(first), f"messages.{position}: `tool_result` blocks must come first in a message's content")
        several = (
            f"messages.{position}.content: each tool_use must have a single result. Found multiple `tool_result` blocks"
        )
        need(not twice(results), several)
        strangers = [id for id in results if id not in waiting]
        need(not strangers, _NO_CALL.format(position, ", ".join(strangers)))
        missing = [id for id in waiting if id not in results]
        need(not missing, _NO_RESULT.format(position - 1, ", ".join(missing)))
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]


def _check_marks(body: Wire) -> None:
    """No more than four cache marks, long-lived ones before short-lived, none of another kind."""
    system = body.get("system")
    marked = [*(body.get("tools") or ()), *(system if isinstance(system, list) else ())]
    for message in body["messages"]:
        for block in _blocks(message):
            if block["type"] == "tool_result":
                marked += _blocks(block)
            marked.append(block)
    marks = [block["cache_control"] for block in marked if block.get("cache_control")]
    for mark in marks:
        need(
            isinstance(mark, dict) and mark.get("type") == "ephemeral",
            "cache_control: Input tag does not match 'ephemeral'",
        )
    need(len(marks) <= _MARKS_MAX, f"A maximum of 4 blocks with cache_control may be provided. Found {len(marks)}.")
    lives = [mark.get("ttl", "5m") for mark in marks]
    need(set(lives) <= {"5m", "1h"}, "cache_control.ttl: Input should be '5m' or '1h'")
    need(
        "1h" not in lives[lives.index("5m") :] if "5m" in lives else True,
        "a ttl='1h' block must not come after a ttl='5m' block",
    )


def _blocks(message: Wire) -> list[Wire]:
    content = message.get("content")
    return content if isinstance(content, list) else []


def _calls(messages: Sequence[Wire]) -> Iterator[str]:
    for message in messages:
        yield from (block["id"] for block in _blocks(message) if block["type"] == "tool_use")


def _content_tokens(content: object) -> int:
    if isinstance(content, str):
        return words([content])
    total = 0
    for block in content if isinstance(content, list) else ():
        if block["type"] == "image":
            width, height = _size(block, "image")
            total += width * height // 750
        elif block["type"] == "tool_result":
            total += _content_tokens(block.get("content") or "")
        elif block["type"] == "tool_use":
            total += words([block["name"], compact(block["input"])])
        else:
            total += words(leaves(block, frozenset({"type", "signature", "data", "cache_control"})))
    return total
