"""Pydantic AI: a capability that keeps an agent's model requests inside the context window.

    agent = Agent("openai:gpt-5", capabilities=[PlimsollCapability()])

The run's message history keeps every message; each request is sent a view of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

from plimsoll.errors import MissingExtra, on_failure

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.exceptions import RetryModelRequest
    from pydantic_ai.messages import (
        BinaryContent,
        FilePart,
        ImageUrl,
        ModelMessage,
        ModelRequest,
        ModelResponse,
        RetryFeedbackPart,
        RetryPromptPart,
        SystemPromptPart,
        TextPart,
        ThinkingPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.tools import RunContext
except ImportError as error:
    raise MissingExtra("pydantic-ai", needed_for="plimsoll.adapters.pydantic_ai") from error

from plimsoll.adapters.calls import Managed, ModelCall, Wire, overflow_of, usage
from plimsoll.adapters.parts import call_piece, file_block, function_tool, image_block, result_piece, text_block
from plimsoll.formats.wire import object_in


class PydanticDialect:
    """A response is one message of Chat Completions, a request one for each of its parts."""

    def wires(self, message: ModelMessage) -> Sequence[Wire]:
        """The wire messages of a request or a response."""
        if isinstance(message, ModelResponse):
            return (_said(message),)
        return tuple(_part(part) for part in message.parts)

    def built(self, wire: Wire, origin: ModelMessage | None) -> ModelMessage:
        """A request with one part, or a response; what is not in a wire message is that of the origin."""
        if wire["role"] == "assistant":
            return _response(wire, origin if isinstance(origin, ModelResponse) else None)
        if not isinstance(origin, ModelRequest):
            return ModelRequest(parts=[_new_part(wire)])
        same = next((part for part in origin.parts if _part(part) == wire), None)
        return replace(origin, parts=[same if same is not None else _changed(wire, origin)])


def joined(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """The messages with requests that follow each other as one, as the parts of one turn belong together."""
    found: list[ModelMessage] = []
    for message in messages:
        last = found[-1] if found else None
        if isinstance(last, ModelRequest) and isinstance(message, ModelRequest):
            found[-1] = replace(message, parts=[*last.parts, *message.parts])
        else:
            found.append(message)
    return found


def _part(part: Any) -> Wire:
    match part:
        case SystemPromptPart():
            return {"role": "system", "content": part.content}
        case UserPromptPart():
            said = part.content
            return {"role": "user", "content": said if isinstance(said, str) else [_block(item) for item in said]}
        case ToolReturnPart():
            text = part.model_response_str()
            content = [*([text_block(text)] if text else []), *map(_block, part.files)] if part.files else text
            return result_piece(part.tool_call_id, content)
        case RetryPromptPart() if part.tool_name is not None:
            return {"role": "tool", "tool_call_id": part.tool_call_id, "content": part.model_response()}
        case RetryPromptPart() | RetryFeedbackPart():
            return {"role": "user", "content": part.model_response()}
        case _:
            return {"role": "user", "content": repr(part)}


def _block(item: Any) -> Wire:
    match item:
        case str():
            return text_block(item)
        case ImageUrl():
            return image_block(item.url)
        case BinaryContent():
            return image_block(item.data_uri) if item.is_image else file_block(None, item.data_uri)
        case _:
            return text_block(getattr(item, "content", None) or getattr(item, "url", None) or type(item).__name__)


def _said(message: ModelResponse) -> Wire:
    """A response: its text, its calls, and what else is in it as blocks that stay whole."""
    others = [part for part in message.parts if not isinstance(part, TextPart | ToolCallPart)]
    texts = [part.content for part in message.parts if isinstance(part, TextPart)]
    calls = [
        call_piece(part.tool_call_id, part.tool_name, part.args_as_json_str(), _signature(part))
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    blocks = list(map(_other, others))
    content: Any = "\n\n".join(texts)
    if blocks:
        content = [*blocks, *(text_block(text) for text in texts if text)]
    return {"role": "assistant", "content": content or None} | ({"tool_calls": calls} if calls else {})


def _signature(part: ToolCallPart) -> object:
    return (part.provider_details or {}).get("thought_signature")


def _other(part: Any) -> Wire:
    if isinstance(part, FilePart):
        return _block(part.content)
    return {"type": "thinking", "thinking": part.content if isinstance(part, ThinkingPart) else repr(part)}


def _changed(wire: Wire, origin: ModelRequest) -> Any:
    """The part of a request that a wire message was, with its content."""
    if wire["role"] == "tool":
        for part in origin.parts:
            if isinstance(part, ToolReturnPart) and part.tool_call_id == wire["tool_call_id"]:
                return replace(part, content=_read(wire["content"], part.files))
    users = [part for part in origin.parts if isinstance(part, UserPromptPart)]
    if wire["role"] == "user" and len(users) == 1:
        return replace(users[0], content=_read(wire["content"], users[0].content))
    return _new_part(wire)


def _new_part(wire: Wire) -> Any:
    content = wire.get("content") or ""
    match wire["role"]:
        case "system" | "developer":
            return SystemPromptPart(content=_text(content))
        case "tool":
            return ToolReturnPart(tool_name="unknown", content=_text(content), tool_call_id=wire["tool_call_id"])
        case _:
            return UserPromptPart(content=_read(content, ""))


def _read(content: Any, before: Any) -> Any:
    """Content of a user: the same pictures, and the text as it is now."""
    if isinstance(content, str):
        return content
    known = [] if isinstance(before, str) else [(item, _block(item)) for item in before]
    found: list[Any] = []
    for block in content:
        same = next((item for item, written in known if written == block), None)
        if same is not None:
            found.append(same)
        elif block.get("type") == "image_url":
            found.append(ImageUrl(url=block["image_url"]["url"]))
        else:
            found.append(str(block.get("text", "")))
    return found


def _response(wire: Wire, origin: ModelResponse | None) -> ModelResponse:
    content = wire.get("content") or ""
    asked = {call["id"]: call["function"] for call in wire.get("tool_calls") or ()}
    before = [] if origin is None else list(origin.parts)
    parts: list[Any] = [
        part
        for part in before
        if not isinstance(part, TextPart | ToolCallPart) and not isinstance(content, str) and _other(part) in content
    ]
    if text := _text(content):
        parts.append(TextPart(content=text))
    known = {part.tool_call_id: part for part in before if isinstance(part, ToolCallPart)}
    for id, function in asked.items():
        part = known.get(id) or ToolCallPart(tool_name=function["name"], tool_call_id=id)
        same = part.args is not None and part.args_as_json_str() == function["arguments"]
        parts.append(part if same else replace(part, args=_arguments(function["arguments"])))
    return ModelResponse(parts=parts) if origin is None else replace(origin, parts=parts)


def _arguments(text: str) -> Any:
    found = object_in(text)
    return text if found is None else found


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n\n".join(block["text"] for block in content if isinstance(block.get("text"), str))


_CALL: ContextVar[ModelCall[ModelMessage] | None] = ContextVar("plimsoll_pydantic_ai_call", default=None)
"""The request that this task makes. All its attempts are made inside `wrap_model_request`."""

_IS_AGAIN: ContextVar[bool] = ContextVar("plimsoll_pydantic_ai_is_again", default=False)
"""True once it was refused as too long."""


class PlimsollCapability(Managed[ModelMessage], AbstractCapability[Any]):
    """Sends each model request a view that fits, and keeps everything in a session.

    Conversations are recognised by their messages, unless a name is given. A request that the model refuses as too long is made
    once more with less.
    """

    _dialect = PydanticDialect()

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, handler: Any
    ) -> ModelResponse:
        """Make the request with a view of the messages. What is slow runs in a thread."""
        del ctx
        call = await asyncio.to_thread(self._prepared, request_context)
        before, was_again = _CALL.set(call), _IS_AGAIN.set(False)
        with on_failure(call.released):
            try:
                response: ModelResponse = await handler(replace(request_context, messages=_sent(call, request_context)))
            finally:
                _CALL.reset(before)
                _IS_AGAIN.reset(was_again)
        await asyncio.to_thread(call.answered, self._calls.recorded([response]), _usage(response))
        return response

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        """Ask for another attempt of a request that was refused as too long, once."""
        del ctx, request_context
        call, overflow = _CALL.get(), overflow_of(error)
        if call is None or overflow is None or _IS_AGAIN.get():
            raise error
        _IS_AGAIN.set(True)
        await asyncio.to_thread(call.harder, overflow)
        raise RetryModelRequest

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put less into another attempt."""
        del ctx
        call = _CALL.get()
        if call is None or not _IS_AGAIN.get():
            return request_context
        return replace(request_context, messages=_sent(call, request_context))

    def _prepared(self, request: ModelRequestContext) -> ModelCall[ModelMessage]:
        parameters = request.model_request_parameters
        beside = {
            "model": getattr(request.model, "model_name", None),
            "tools": [
                function_tool(tool.name, tool.description, tool.parameters_json_schema)
                for tool in (*parameters.function_tools, *parameters.output_tools)
            ],
        }
        return self._calls.prepare([*_instructions(request), *request.messages], name=self._name, beside=beside)


def _instructions(request: ModelRequestContext) -> list[ModelMessage]:
    """The instructions as a message, so that they are counted: they are sent beside the messages."""
    parts = request.model_request_parameters.instruction_parts or ()
    text = "\n\n".join(part.content for part in parts if isinstance(part.content, str))
    return [ModelRequest(parts=[SystemPromptPart(content=text)])] if text else []


def _sent(call: ModelCall[ModelMessage], request: ModelRequestContext) -> list[ModelMessage]:
    return joined(call.messages[len(_instructions(request)) :])


def _usage(response: ModelResponse) -> Wire:
    counted = response.usage
    return usage(counted.input_tokens, counted.output_tokens, counted.cache_read_tokens)
