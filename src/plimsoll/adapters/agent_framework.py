"""Microsoft Agent Framework: a chat middleware that keeps an agent's model calls inside the context window.

    agent = Agent(client, tools=tools, middleware=[PlimsollChatMiddleware()])

The agent's session keeps every message; each model call is sent a view of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from copy import copy
from typing import Any

from plimsoll.errors import MissingExtra

try:
    from agent_framework import (
        ChatContext,
        ChatMiddleware,
        ChatResponse,
        Content,
        FunctionTool,
        Message,
        ResponseStream,
    )
except ImportError as error:
    raise MissingExtra("agent-framework", needed_for="plimsoll.adapters.agent_framework") from error

from plimsoll.adapters.calls import Managed, ModelCall, Wire, usage
from plimsoll.adapters.parts import (
    PartsDialect,
    blocks_of,
    call_piece,
    content_of,
    dumped,
    file_block,
    function_tool,
    image_block,
    result_piece,
    text_block,
    text_of,
)

_SIDES = {"system": "system", "developer": "system", "assistant": "assistant"}


class AgentFrameworkDialect(PartsDialect[Message, Content]):
    """Results have a role of their own, `tool`; a message with it may hold several."""

    def role(self, message: Message) -> str:
        """Who says it. Results are a user's."""
        return _SIDES.get(message.role, "user")

    def author(self, message: Message) -> str | None:
        """The name of its author."""
        name: str | None = message.author_name
        return name

    def parts(self, message: Message) -> Sequence[Content]:
        """Its contents."""
        return list(message.contents)

    def piece(self, part: Content) -> Wire | None:  # noqa: PLR0911 - one for each kind of content
        """How a content is written. What a service counted is not."""
        match str(part.type):
            case "usage":
                return None
            case "text":
                return text_block(part.text or "")
            case "text_reasoning":
                return {"type": "thinking", "thinking": part.text or part.protected_data or ""}
            case "data" | "uri":
                is_picture = (part.media_type or "").startswith("image/")
                return image_block(part.uri or "") if is_picture else file_block(None, part.uri or "")
            case "function_call":
                return call_piece(part.call_id or "", part.name or "", part.arguments or "{}")
            case "function_result":
                return result_piece(part.call_id or "", self._result(part))
            case _:
                return text_block(dumped(part.to_dict()))

    def _result(self, part: Content) -> Any:
        if part.items:
            return content_of(self.pieces(part.items))
        return part.result if isinstance(part.result, str) else dumped(part.result)

    def part(self, piece: Wire, origin: Content | None) -> Content:
        """A content that says what a piece does."""
        if piece.get("role") == "tool":
            before = () if origin is None else origin.items or ()
            items = self.matched(blocks_of(piece["content"]), before)
            fresh = Content.from_function_result(piece["tool_call_id"], result=items)
            return fresh if origin is None else _like(origin, items=fresh.items, result=fresh.result)
        if piece.get("type") == "function":
            asked = piece["function"]
            if origin is None:
                return Content.from_function_call(piece["id"], asked["name"], arguments=asked["arguments"])
            return _like(origin, arguments=asked["arguments"])
        return Content.from_text(text_of(piece)) if origin is None else _like(origin, text=text_of(piece))

    def message(self, role: str, parts: list[Content], origin: Message | None) -> Message:
        """A message with the id, the author and the properties of its origin."""
        if origin is None:
            return Message(role, parts)
        made = copy(origin)
        made.contents = parts
        made.raw_representation = None
        return made

    def side(self, message: Message) -> str | None:
        """Results that follow each other are of one message; nothing else is joined."""
        return "tool" if message.role == "tool" else None


def _like(origin: Content, **changes: Any) -> Content:
    made = copy(origin)
    for name, value in {**changes, "raw_representation": None}.items():
        setattr(made, name, value)
    return made


class PlimsollChatMiddleware(Managed[Message], ChatMiddleware):
    """Sends each model call a view that fits, and keeps everything in a session.

    Conversations are recognised by their messages, unless a name is given. A call that the service refuses as too long is made once
    more with less, also one whose answer is streamed.
    """

    _dialect = AgentFrameworkDialect()

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Call the model with a view of the messages. What is slow runs in a thread."""
        options = context.options or {}
        if options.get("conversation_id"):
            await call_next()  # the service keeps the conversation
            return
        call = await asyncio.to_thread(self._prepared, context)

        async def ask(_messages: list[Message]) -> None:
            self._send(context, call)
            await _called(context, call_next)

        await call.awaited(ask)
        if isinstance(context.result, ChatResponse):
            await asyncio.to_thread(self._record, call, context.result)
        else:
            call.released()
            context.stream_result_hooks.append(self._recording(call))

    def _prepared(self, context: ChatContext) -> ModelCall[Message]:
        options = context.options or {}
        given = options.get("tools") or ()
        beside = {
            "model": options.get("model") or getattr(context.client, "model", None),
            "max_tokens": options.get("max_tokens"),
            "tools": [
                function_tool(tool.name, tool.description, tool.parameters())
                for tool in (given if isinstance(given, list | tuple) else [given])
                if isinstance(tool, FunctionTool)
            ],
        }
        return self._calls.prepare([*_instructions(context), *context.messages], name=self._name, beside=beside)

    def _send(self, context: ChatContext, call: ModelCall[Message]) -> None:
        """Put the messages of a call in the place of those given. Instructions are apart from them."""
        if not call.is_changed:
            return
        before, messages = _instructions(context), call.messages
        if before and messages and self._dialect.role(messages[0]) == "system":
            first, messages = messages[0], messages[1:]
            if first.text != before[0].text:
                context.options = {**(context.options or {}), "instructions": first.text}
        context.messages = self._dialect.joined(messages)

    def _record(self, call: ModelCall[Message], response: ChatResponse[Any]) -> None:
        call.answered(self._calls.recorded(response.messages), _usage(response.usage_details))

    def _recording(self, call: ModelCall[Message]) -> Callable[[ChatResponse[Any]], Awaitable[None]]:
        """What to do with the answer once its stream was read."""

        async def record(response: ChatResponse[Any]) -> None:
            await asyncio.to_thread(self._record, call, response)

        return record


async def _called(context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
    """Call the model. A service that streams refuses when its stream is read, so the first update is awaited."""
    await call_next()
    stream = context.result
    if not isinstance(stream, ResponseStream):
        return
    updates = aiter(stream)
    first = await anext(updates, None)

    async def again() -> AsyncIterator[Any]:
        update = first
        while update is not None:
            yield update
            update = await anext(updates, None)

    async def whole(_: Any) -> Any:
        return await stream.get_final_response()

    context.result = ResponseStream(again(), finalizer=whole, cleanup_hooks=[stream.close])


def _instructions(context: ChatContext) -> list[Message]:
    """The instructions as a message, so that they are counted."""
    text = (context.options or {}).get("instructions")
    return [Message("system", [text])] if isinstance(text, str) and text else []


def _usage(counted: Any) -> Wire | None:
    if not counted or not counted.get("input_token_count"):
        return None
    cached = counted.get("cache_read_input_token_count") or 0
    return usage(counted["input_token_count"], counted.get("output_token_count") or 0, cached)
