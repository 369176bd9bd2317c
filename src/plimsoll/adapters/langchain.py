"""LangChain and LangGraph: a middleware that keeps an agent's model calls inside the context window.

    agent = create_agent(model, tools, middleware=[PlimsollMiddleware()], checkpointer=checkpointer)

The agent's state keeps every message; each model call is sent a view of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from plimsoll.errors import MissingExtra

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.exceptions import ContextOverflowError
    from langchain_core.messages import (
        AIMessage,
        BaseMessage,
        HumanMessage,
        SystemMessage,
        ToolMessage,
        convert_to_openai_messages,
    )
    from langchain_core.utils.function_calling import convert_to_openai_tool
except ImportError as error:
    raise MissingExtra("langchain", needed_for="plimsoll.adapters.langchain") from error

from plimsoll.adapters.calls import Managed, ModelCall, Wire, usage
from plimsoll.adapters.parts import call_piece
from plimsoll.formats.wire import object_in

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function"}
_CALL_BLOCKS = frozenset(
    {"tool_use", "tool_call", "tool_call_chunk", "function_call", "input_json_delta", "invalid_tool_call"}
)
"""Blocks of content that repeat a message's `tool_calls` in a provider's own form."""

_SIGNATURES = "__gemini_function_call_thought_signatures__"
"""Where langchain-google-genai has the thought signatures of calls, by their ids."""

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
    asked = [*message.tool_calls, *message.invalid_tool_calls]
    signed = message.additional_kwargs.get(_SIGNATURES) or {}
    return [
        call_piece(
            call["id"] or "",
            call["name"] or "",
            "" if call["args"] is None else call["args"],
            signed.get(call["id"]),
        )
        for call in asked
    ]


def _asked(wire: Wire) -> dict[str, list[Any]]:
    """The calls of a wire message in LangChain's two lists."""
    valid: list[Any] = []
    invalid: list[Any] = []
    for call in wire.get("tool_calls") or ():
        name, text = call["function"]["name"], call["function"]["arguments"]
        arguments = object_in(text)
        if arguments is not None:
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


Handler = Callable[[ModelRequest[Any]], ModelResponse[Any]]
AsyncHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]


class PlimsollMiddleware(Managed[BaseMessage], AgentMiddleware[Any, Any, Any]):
    """Sends each model call a view that fits, and keeps everything in a session.

    The session is named by the thread; without a thread it is recognised by its messages. A call that the provider refuses as too
    long is made once more with less.
    """

    _dialect = LangChainDialect()

    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> ModelResponse[Any]:
        """Call the model with a view of the messages."""
        call = self._prepared(request)
        response = call.asked(lambda messages: handler(_with(request, messages)), ContextOverflowError)
        self._record(call, response)
        return response

    async def awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> ModelResponse[Any]:
        """Call the model with a view of the messages. What is slow runs in a thread."""
        call = await asyncio.to_thread(self._prepared, request)
        response = await call.awaited(lambda messages: handler(_with(request, messages)), ContextOverflowError)
        await asyncio.to_thread(self._record, call, response)
        return response

    def _prepared(self, request: ModelRequest[Any]) -> ModelCall[BaseMessage]:
        system = [] if request.system_message is None else [request.system_message]
        beside = {
            "model": _model_name(request.model),
            "tools": [convert_to_openai_tool(tool) for tool in request.tools],
        }
        return self._calls.prepare([*system, *request.messages], name=self._name or _thread(request), beside=beside)

    def _record(self, call: ModelCall[BaseMessage], response: ModelResponse[Any]) -> None:
        answers = [message for message in response.result if isinstance(message, AIMessage)]
        counted = _usage(answers[-1]) if answers else None
        call.answered(self._calls.recorded(response.result), counted)


def _with(request: ModelRequest[Any], messages: list[Any]) -> ModelRequest[Any]:
    """The same request with other messages. A leading system message is apart from them."""
    if request.system_message is None:
        return request.override(messages=messages)
    first = messages[0] if messages else None
    if isinstance(first, SystemMessage):
        return request.override(system_message=first, messages=messages[1:])
    return request.override(messages=messages)


def _thread(request: ModelRequest[Any]) -> str | None:
    """The thread of the agent's checkpointer, if it has one. Programs also use numbers and UUIDs."""
    found = getattr(getattr(request.runtime, "execution_info", None), "thread_id", None)
    return None if found is None else str(found)


def _model_name(model: Any) -> str | None:
    found = getattr(model, "model_name", None) or getattr(model, "model", None)
    return found if isinstance(found, str) else None


def _usage(answer: AIMessage) -> Mapping[str, Any] | None:
    counted = answer.usage_metadata
    if not counted:
        return None
    cached = (counted.get("input_token_details") or {}).get("cache_read") or 0
    return usage(counted["input_tokens"], counted["output_tokens"], cached)
