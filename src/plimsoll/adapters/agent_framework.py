"""Microsoft Agent Framework: a chat middleware that keeps an agent's model calls inside the context window.

    agent = Agent(client, tools=tools, middleware=[PlimsollChatMiddleware()])

The agent's session keeps every message; each model call is sent a view of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Unpack

from plimsoll.errors import MissingExtra

try:
    from agent_framework import ChatContext, ChatMiddleware, ChatResponse, FunctionTool, Message
except ImportError as error:
    raise MissingExtra("agent-framework", needed_for="plimsoll.adapters.agent_framework") from error

from plimsoll.adapters.agent_framework_messages import AgentFrameworkDialect
from plimsoll.adapters.calls import AdaptedCalls, ConversationOptions, ModelCall, Wire, overflow_of, usage
from plimsoll.adapters.parts import function_tool
from plimsoll.conversations.conversations import Conversations


class PlimsollChatMiddleware(ChatMiddleware):
    """Sends each model call a view that fits, and keeps everything in a session.

    Conversations are recognised by their messages, unless a name is given. A call that the service refuses as too long is made once
    more with less, unless its answer is streamed.
    """

    def __init__(self, *, name: str | None = None, **options: Unpack[ConversationOptions]) -> None:
        """Keep the conversations of agents.

        Args:
            name: The session of all of them; None: each has its own.
            **options: store, model, max_tokens, policy, summarizer and so on, as of `plimsoll.open`. By default what fits in the
                model's window is sent unchanged.

        """
        self._name = name
        self._dialect = AgentFrameworkDialect()
        self._calls = AdaptedCalls(self._dialect, options)

    @property
    def conversations(self) -> Conversations:
        """The conversations so far, each with its session."""
        return self._calls.conversations

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Call the model with a view of the messages. What is slow runs in a thread."""
        options = context.options or {}
        if options.get("conversation_id"):
            await call_next()  # the service keeps the conversation
            return
        call = await asyncio.to_thread(self._prepared, context)
        self._send(context, call)
        try:
            try:
                await call_next()
            except Exception as refusal:
                overflow = overflow_of(refusal)
                if overflow is None:
                    raise
                await asyncio.to_thread(call.harder, overflow)
                self._send(context, call)
                await call_next()
        except BaseException:
            call.released()
            raise
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


def _instructions(context: ChatContext) -> list[Message]:
    """The instructions as a message, so that they are counted."""
    text = (context.options or {}).get("instructions")
    return [Message("system", [text])] if isinstance(text, str) and text else []


def _usage(counted: Any) -> Wire | None:
    if not counted or not counted.get("input_token_count"):
        return None
    cached = counted.get("cache_read_input_token_count") or 0
    return usage(counted["input_token_count"], counted.get("output_token_count") or 0, cached)
