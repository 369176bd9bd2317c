"""Strands Agents: a conversation manager that keeps an agent's model calls inside the context window.

    agent = Agent(model=model, tools=tools, conversation_manager=PlimsollConversationManager())

The agent's list keeps every message; each model call is sent a view of it.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Any, cast

from plimsoll.errors import MissingExtra, on_failure

try:
    from strands.agent.conversation_manager import ConversationManager
    from strands.hooks import AgentInitializedEvent, HookRegistry
    from strands.middleware import InvokeModelContext, InvokeModelStage, ModelStopReason
    from strands.types.content import Message
    from strands.types.exceptions import ContextWindowOverflowException
except ImportError as error:
    raise MissingExtra("strands", needed_for="plimsoll.adapters.strands") from error

from plimsoll.adapters.calls import Managed, ModelCall, Wire, usage
from plimsoll.adapters.parts import (
    PartsDialect,
    arguments_of,
    blocks_of,
    call_piece,
    content_of,
    data_url,
    dumped,
    file_block,
    function_tool,
    image_block,
    result_piece,
    text_block,
    text_of,
)

if TYPE_CHECKING:
    from strands import Agent


class StrandsDialect(PartsDialect[Message, Wire]):
    """A user's message holds the results of all calls before it. A system prompt is a message with the role `system`."""

    def role(self, message: Message) -> str:
        """Its own role."""
        return str(message["role"])

    def parts(self, message: Message) -> Sequence[Wire]:
        """Its blocks."""
        return cast("list[Wire]", list(message["content"]))

    def piece(self, part: Wire) -> Wire | None:  # noqa: PLR0911 - one for each kind of block
        """How a block is written. A mark for the cache is not."""
        match part:
            case {"text": str(text)}:
                return text_block(text)
            case {"toolUse": call}:
                signature = call.get("reasoningSignature")
                return call_piece(call["toolUseId"], call["name"], dumped(call["input"]), signature)
            case {"toolResult": result}:
                return result_piece(result["toolUseId"], content_of(self.pieces(result["content"])))
            case {"json": value}:
                return text_block(dumped(value))
            case {"image": media}:
                return image_block(_address(media, f"image/{media['format']}"))
            case {"document": media}:
                return file_block(
                    media.get("name"), _address(media, f"application/{media.get('format', 'octet-stream')}")
                )
            case {"reasoningContent": {"reasoningText": said}}:
                return {"type": "thinking", "thinking": said.get("text") or ""}
            case {"reasoningContent": {"redactedContent": bytes(data)}}:
                return {"type": "redacted_thinking", "data": b64encode(data).decode()}
            case {"cachePoint": _}:
                return None
            case _:
                return text_block(dumped(part))

    def part(self, piece: Wire, origin: Wire | None) -> Wire:
        """A block with the content of a piece."""
        given = origin or {}
        if piece.get("role") == "tool":
            before = given.get("toolResult") or {"status": "success"}
            content = self.matched(blocks_of(piece["content"]), before.get("content", ()))
            return {"toolResult": {**before, "toolUseId": piece["tool_call_id"], "content": content}}
        if piece.get("type") == "function":
            call = {"toolUseId": piece["id"], "name": piece["function"]["name"], "input": arguments_of(piece)}
            return {"toolUse": {**(given.get("toolUse") or {}), **call}}
        return {"text": text_of(piece)}

    def message(self, role: str, parts: list[Wire], origin: Message | None) -> Message:
        """A message; results are a user's."""
        given = cast("Wire", origin or {})
        return cast("Message", {**given, "role": "user" if role == "tool" else role, "content": parts})


def _address(media: Wire, media_type: str) -> str:
    """Where the content of a block is, or the content itself."""
    source: Any = media.get("source") or {}
    if isinstance(source.get("bytes"), bytes):
        return data_url(source["bytes"], media_type)
    uri = (source.get("location") or {}).get("uri")
    return uri if isinstance(uri, str) else f"data:{media_type},{dumped(source)}"


class PlimsollConversationManager(Managed[Message], ConversationManager):
    """Sends each model call a view that fits, and keeps everything in a session.

    Conversations are recognised by their messages, unless a name is given. A call that the model refuses as too long is made once
    more with less.
    """

    _dialect = StrandsDialect()

    def register_hooks(self, registry: HookRegistry, **kwargs: Any) -> None:
        """Take part in the model calls of an agent once it is complete."""
        super().register_hooks(registry, **kwargs)
        registry.add_callback(AgentInitializedEvent, self._join)

    def apply_management(self, agent: Agent, **kwargs: Any) -> None:
        """Nothing: the agent's list keeps every message."""

    def reduce_context(self, agent: Agent, e: Exception | None = None, **kwargs: Any) -> None:  # noqa: ARG002 - the framework's names
        """Raise the model's refusal, which comes here after a call with less was refused, too."""
        if e is not None:
            raise e

    def restore_from_session(self, state: dict[str, Any]) -> list[Message] | None:
        """Nothing: a stored list comes back whole, also one that another manager made shorter views of."""
        del state
        return None

    def _join(self, event: AgentInitializedEvent[Any]) -> None:
        event.agent.add_middleware(InvokeModelStage, self._around)

    async def _around(self, context: InvokeModelContext, next_fn: Any) -> AsyncGenerator[Any, None]:
        """Call the model with a view of the messages. What is slow runs in a thread."""
        if context.model.stateful:
            async for event in next_fn(context):
                yield event
            return
        call = await asyncio.to_thread(self._prepared, context)
        end: ModelStopReason | None = None
        with on_failure(call.released):
            try:
                async for event in next_fn(self._with(context, call)):
                    end = event if isinstance(event, ModelStopReason) else end
                    yield event
            except ContextWindowOverflowException:
                await asyncio.to_thread(call.harder)
                async for event in next_fn(self._with(context, call)):
                    end = event if isinstance(event, ModelStopReason) else end
                    yield event
        await asyncio.to_thread(self._record, call, end)

    def _prepared(self, context: InvokeModelContext) -> ModelCall[Message]:
        config = context.model.get_config()
        known = config if isinstance(config, dict) else {}
        beside = {
            "model": known.get("model_id"),
            "max_tokens": known.get("max_tokens"),
            "tools": [
                function_tool(spec["name"], spec["description"], spec["inputSchema"].get("json", spec["inputSchema"]))
                for spec in context.tool_specs or ()
            ],
        }
        window = context.model.context_window_limit
        messages = [*_system(context), *context.messages]
        return self._calls.prepare(messages, name=self._name, beside=beside, window_tokens=window)

    def _with(self, context: InvokeModelContext, call: ModelCall[Message]) -> InvokeModelContext:
        """The same call with other messages. The system prompt is apart from them."""
        if not call.is_changed:
            return context
        before, messages = _system(context), call.messages
        if before and messages and self._dialect.role(messages[0]) == "system":
            first, messages = cast("Wire", messages[0]), messages[1:]
            if first != cast("Wire", before[0]):
                context = context.replace(system_prompt=first["content"])
        return context.replace(messages=self._dialect.joined([_of_a_side(message) for message in messages]))

    def _record(self, call: ModelCall[Message], end: ModelStopReason | None) -> None:
        if end is None or end.stop_reason == "cancelled":
            call.released()
        else:
            call.answered(self._calls.recorded([end.message]), _usage(cast("Wire", end.usage)))


def _system(context: InvokeModelContext) -> list[Message]:
    """The system prompt as a message, so that it is counted."""
    prompt = context.system_prompt
    blocks = [{"text": prompt}] if isinstance(prompt, str) else prompt
    return [cast("Message", {"role": "system", "content": blocks})] if blocks else []


def _of_a_side(message: Message) -> Message:
    """Text of the system that is not the prompt is a user's: there are two sides only."""
    said = cast("Wire", message)
    return message if said["role"] != "system" else cast("Message", {**said, "role": "user"})


def _usage(counted: Wire) -> Wire:
    """Some models report what was cached beside the input, others as part of it; the total is that of both."""
    given, answer = counted["inputTokens"], counted["outputTokens"]
    return usage(max(given, counted.get("totalTokens", 0) - answer), answer, counted.get("cacheReadInputTokens") or 0)
