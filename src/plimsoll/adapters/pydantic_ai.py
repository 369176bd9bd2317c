"""Pydantic AI: a capability that keeps an agent's model requests inside the context window.

    agent = Agent("openai:gpt-5", capabilities=[PlimsollCapability()])

The run's message history keeps every message; each request is sent a view of it.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any, Unpack

from plimsoll.errors import MissingExtra

try:
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, SystemPromptPart
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.tools import RunContext
except ImportError as error:
    raise MissingExtra("pydantic-ai", needed_for="plimsoll.adapters.pydantic_ai") from error

from plimsoll.adapters.calls import AdaptedCalls, ConversationOptions, ModelCall, Wire, usage
from plimsoll.adapters.pydantic_ai_messages import PydanticDialect, joined
from plimsoll.conversations.conversations import Conversations


class PlimsollCapability(AbstractCapability[Any]):
    """Sends each model request a view that fits, and keeps everything in a session.

    Conversations are recognised by their messages, unless a name is given.
    """

    def __init__(self, *, name: str | None = None, **options: Unpack[ConversationOptions]) -> None:
        """Keep the conversations of an agent.

        Args:
            name: The session of all of them; None: each has its own.
            **options: store, model, max_tokens, policy, summarizer and so on, as of `plimsoll.open`. By default what fits in the
                model's window is sent unchanged.

        """
        self._name = name
        self._calls: AdaptedCalls[ModelMessage] = AdaptedCalls(PydanticDialect(), options)

    @property
    def conversations(self) -> Conversations:
        """The conversations so far, each with its session."""
        return self._calls.conversations

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, handler: Any
    ) -> ModelResponse:
        """Make the request with a view of the messages. What is slow runs in a thread."""
        del ctx
        call = await asyncio.to_thread(self._prepared, request_context)
        try:
            response: ModelResponse = await handler(replace(request_context, messages=_sent(call, request_context)))
        except BaseException:
            call.released()
            raise
        await asyncio.to_thread(call.answered, self._calls.recorded([response]), _usage(response))
        return response

    def _prepared(self, request: ModelRequestContext) -> ModelCall[ModelMessage]:
        parameters = request.model_request_parameters
        beside = {
            "model": getattr(request.model, "model_name", None),
            "tools": [_described(tool) for tool in (*parameters.function_tools, *parameters.output_tools)],
        }
        return self._calls.prepare([*_instructions(request), *request.messages], name=self._name, beside=beside)


def _instructions(request: ModelRequestContext) -> list[ModelMessage]:
    """The instructions as a message, so that they are counted: they are sent beside the messages."""
    parts = request.model_request_parameters.instruction_parts or ()
    text = "\n\n".join(part.content for part in parts if isinstance(part.content, str))
    return [ModelRequest(parts=[SystemPromptPart(content=text)])] if text else []


def _sent(call: ModelCall[ModelMessage], request: ModelRequestContext) -> list[ModelMessage]:
    return joined(call.messages[len(_instructions(request)) :])


def _described(tool: Any) -> Wire:
    about = {"name": tool.name, "description": tool.description or "", "parameters": tool.parameters_json_schema}
    return {"type": "function", "function": about}


def _usage(response: ModelResponse) -> Wire:
    counted = response.usage
    return usage(counted.input_tokens, counted.output_tokens, counted.cache_read_tokens)
