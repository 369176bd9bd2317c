"""LangChain's messages as Chat Completions messages, and back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_openai_messages,
)

from plimsoll.adapters.calls import Wire

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function"}
_CALL_BLOCKS = frozenset(
    {"tool_use", "tool_call", "tool_call_chunk", "function_call", "input_json_delta", "invalid_tool_call"}
)
"""Blocks of content that repeat a message's `tool_calls` in a provider's own form."""

_KEPT_BLOCKS = frozenset({"text", "image_url", "input_audio", "file", "thinking", "redacted_thinking", "reasoning"})
"""Blocks that are written as they are. Others are rewritten by LangChain where it knows them."""


class LangChainDialect:
    """Each message is one message of Chat Completions."""

    def wires(self, message: BaseMessage) -> Sequence[Wire]:
        """The message with its calls, under its name if it has one."""
        wire: Wire = {"role": _ROLES.get(message.type) or getattr(message, "role", "user")}
        if message.name and wire["role"] != "tool":
            wire["name"] = message.name
        wire["content"] = _content(message)
        if isinstance(message, AIMessage) and (calls := _calls(message)):
            wire["tool_calls"] = calls
            wire["content"] = wire["content"] or None
        if isinstance(message, ToolMessage):
            wire["tool_call_id"] = message.tool_call_id
        return (wire,)

    def built(self, wire: Wire, origin: BaseMessage | None) -> BaseMessage:
        """A message with the wire message's content and calls; everything else is that of the origin."""
        content = wire.get("content") or ""
        if origin is None or _ROLES.get(origin.type) != wire["role"]:
            return _new(wire, content)
        update: dict[str, Any] = {"content": content}
        if isinstance(origin, AIMessage):
            update |= _asked(wire)
            update["additional_kwargs"] = {
                key: value
                for key, value in origin.additional_kwargs.items()
                if key not in ("tool_calls", "function_call")
            }
        return origin.model_copy(update=update)


def _content(message: BaseMessage) -> Any:
    """The content: text, or a list of blocks without those that repeat calls."""
    if isinstance(message.content, str):
        return message.content
    blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in message.content]
    return [_block(block) for block in blocks if block.get("type") not in _CALL_BLOCKS]


def _block(block: Mapping[str, Any]) -> Any:
    if block.get("type") in _KEPT_BLOCKS:
        return dict(block)
    try:
        written = convert_to_openai_messages(HumanMessage(content=[dict(block)]))["content"]
    except (ValueError, KeyError, TypeError):
        return dict(block)
    return written[0] if isinstance(written, list) and len(written) == 1 else {"type": "text", "text": str(written)}


def _calls(message: AIMessage) -> list[Wire]:
    """The calls, those with arguments that are no JSON included."""
    found = [(call["id"], call["name"], json.dumps(call["args"], ensure_ascii=False)) for call in message.tool_calls]
    found += [(call["id"], call["name"] or "", call["args"] or "") for call in message.invalid_tool_calls]
    return [
        {"id": id or "", "type": "function", "function": {"name": name, "arguments": text}} for id, name, text in found
    ]


def _asked(wire: Wire) -> dict[str, list[Any]]:
    """The calls of a wire message in LangChain's two lists."""
    valid: list[Any] = []
    invalid: list[Any] = []
    for call in wire.get("tool_calls") or ():
        name, text = call["function"]["name"], call["function"]["arguments"]
        try:
            arguments = json.loads(text)
        except (ValueError, RecursionError):
            arguments = None
        if isinstance(arguments, dict):
            valid.append({"id": call["id"], "name": name, "args": arguments, "type": "tool_call"})
        else:
            invalid.append({"id": call["id"], "name": name, "args": text, "error": None, "type": "invalid_tool_call"})
    return {"tool_calls": valid, "invalid_tool_calls": invalid}


def _new(wire: Wire, content: Any) -> BaseMessage:
    """A message that the framework's list does not have: a summary, a mark, a result in the place of a missing one."""
    match wire["role"]:
        case "assistant":
            return AIMessage(content=content, **_asked(wire))
        case "tool":
            return ToolMessage(content=content, tool_call_id=wire["tool_call_id"])
        case "system" | "developer":
            return SystemMessage(content=content)
        case _:
            return HumanMessage(content=content)
