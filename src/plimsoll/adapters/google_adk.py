"""Google Agent Development Kit: a plugin that keeps the model calls of all agents of a runner inside the context window.

    runner = InMemoryRunner(agent=agent, plugins=[PlimsollPlugin()])

The kit's session keeps every event; each model call is sent a view of them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, NamedTuple, Unpack

from plimsoll.errors import MissingExtra

try:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.plugins.base_plugin import BasePlugin
    from google.genai.types import Content, Part
except ImportError as error:
    raise MissingExtra("google-adk", needed_for="plimsoll.adapters.google_adk") from error

from plimsoll.adapters.calls import AdaptedCalls, ConversationOptions, ModelCall, Wire, overflow_of, usage
from plimsoll.adapters.google_adk_messages import AdkDialect, CallIds, without_made_ids
from plimsoll.adapters.parts import function_tool
from plimsoll.conversations.conversations import Conversations

_UNDER_WAY_MAX = 1_024
"""Calls whose answer is awaited. The kit does not say when it gives one up."""


class _UnderWay(NamedTuple):
    """A call of a model, and the ids of the calls of tools in it."""

    call: ModelCall[Content]
    ids: CallIds


class PlimsollPlugin(BasePlugin):
    """Sends each model call a view that fits, and keeps everything in a session.

    Conversations are recognised by their messages, unless a name is given. A plugin cannot make a call again: what a model says
    when it refuses one as too long makes the next one shorter.
    """

    def __init__(self, *, name: str | None = None, **options: Unpack[ConversationOptions]) -> None:
        """Keep the conversations of a runner.

        Args:
            name: The session of all of them; None: each has its own.
            **options: store, model, max_tokens, policy, summarizer and so on, as of `plimsoll.open`. By default what fits in the
                model's window is sent unchanged.

        """
        super().__init__(name="plimsoll")
        self._name = name
        self._dialect = AdkDialect()
        self._calls = AdaptedCalls(self._dialect, options)
        self._under_way: OrderedDict[tuple[str, str], _UnderWay] = OrderedDict()

    @property
    def conversations(self) -> Conversations:
        """The conversations so far, each with its session."""
        return self._calls.conversations

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Put a view in the place of the contents. What is slow runs in a thread."""
        if llm_request.previous_interaction_id:
            return None  # the service keeps the conversation
        key = _key(callback_context)
        self._under_way[key] = await asyncio.to_thread(self._sent, llm_request)
        while len(self._under_way) > _UNDER_WAY_MAX:
            self._under_way.popitem(last=False)[1].call.released()
        return None

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Record an answer. The pieces of one that is streamed come before the whole."""
        if not llm_response.partial and (found := self._under_way.pop(_key(callback_context), None)) is not None:
            await asyncio.to_thread(self._record, found, llm_response)
        return None

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """Let go of a call that failed."""
        del llm_request
        if (found := self._under_way.pop(_key(callback_context), None)) is not None:
            if (overflow := overflow_of(error)) is not None:
                await asyncio.to_thread(found.call.harder, overflow)
            found.call.released()
        return None

    def _sent(self, request: LlmRequest) -> _UnderWay:
        ids = CallIds()
        given = [ids.filled(content) for content in request.contents]
        first = _instruction(request)
        call = self._calls.prepare([*first, *given], name=self._name, beside=_beside(request))
        if call.is_changed:
            originals = {id(copy): content for copy, content in zip(given, request.contents, strict=True)}
            messages = call.messages
            if first and messages and self._dialect.role(messages[0]) == "system":
                if messages[0] is not first[0]:
                    request.config.system_instruction = _text(messages[0])
                messages = messages[1:]
            request.contents = [
                originals.get(id(content)) or without_made_ids(_of_a_side(content))
                for content in self._dialect.joined(messages)
            ]
        return _UnderWay(call, ids)

    def _record(self, found: _UnderWay, response: LlmResponse) -> None:
        if response.content is None:
            found.call.released()
        else:
            found.call.answered(self._calls.recorded([found.ids.filled(response.content)]), _usage(response))


def _key(context: CallbackContext) -> tuple[str, str]:
    """Agents of one invocation ask at the same time, each for itself."""
    return context.invocation_id, context.agent_name


def _instruction(request: LlmRequest) -> list[Content]:
    """The system instruction as a content, so that it is counted."""
    given = request.config.system_instruction
    text = given if isinstance(given, str) else _text(given) if isinstance(given, Content) else ""
    return [Content(role="system", parts=[Part(text=text)])] if text else []


def _text(content: Content) -> str:
    return "\n".join(part.text for part in content.parts or () if part.text)


def _of_a_side(content: Content) -> Content:
    """Text of the system that is not the instruction is a user's: there are two sides only."""
    return content.model_copy(update={"role": "user"}) if content.role == "system" else content


def _beside(request: LlmRequest) -> Mapping[str, Any]:
    declared = [
        declaration
        for tool in request.config.tools or ()
        for declaration in getattr(tool, "function_declarations", None) or ()
    ]
    return {
        "model": request.model,
        "max_tokens": request.config.max_output_tokens,
        "tools": [function_tool(one.name or "", one.description, _parameters(one)) for one in declared],
    }


def _parameters(declaration: Any) -> Any:
    schema = declaration.parameters
    return declaration.parameters_json_schema or (schema and schema.model_dump(mode="json", exclude_none=True))


def _usage(response: LlmResponse) -> Wire | None:
    counted = response.usage_metadata
    if counted is None or not counted.prompt_token_count:
        return None
    answer = (counted.candidates_token_count or 0) + (counted.thoughts_token_count or 0)
    return usage(counted.prompt_token_count, answer, counted.cached_content_token_count or 0)
