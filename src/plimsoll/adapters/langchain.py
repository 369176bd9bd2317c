"""LangChain and LangGraph: a middleware that keeps an agent's model calls inside the context window.

    agent = create_agent(model, tools, middleware=[PlimsollMiddleware()], checkpointer=checkpointer)

The agent's state keeps every message; each model call is sent a view of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Unpack

from plimsoll.errors import MissingExtra

try:
    from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
    from langchain_core.exceptions import ContextOverflowError
    from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
    from langchain_core.utils.function_calling import convert_to_openai_tool
except ImportError as error:
    raise MissingExtra("langchain", needed_for="plimsoll.adapters.langchain") from error

from plimsoll.adapters.calls import AdaptedCalls, ConversationOptions, ModelCall, usage
from plimsoll.adapters.langchain_messages import LangChainDialect
from plimsoll.conversations.conversations import Conversations

Handler = Callable[[ModelRequest[Any]], ModelResponse[Any]]
AsyncHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]


class PlimsollMiddleware(AgentMiddleware[Any, Any, Any]):
    """Sends each model call a view that fits, and keeps everything in a session.

    The session is named by the thread; without a thread it is recognised by its messages. A call that the provider refuses as too
    long is made once more with less.
    """

    def __init__(self, *, name: str | None = None, **options: Unpack[ConversationOptions]) -> None:
        """Keep the conversations of an agent.

        Args:
            name: The session of all threads; None: one for each thread.
            **options: store, model, max_tokens, policy, summarizer and so on, as of `plimsoll.open`. By default what fits in the
                model's window is sent unchanged.

        """
        super().__init__()
        self._name = name
        self._calls = AdaptedCalls(LangChainDialect(), options)

    @property
    def conversations(self) -> Conversations:
        """The conversations so far, each with its session."""
        return self._calls.conversations

    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> ModelResponse[Any]:
        """Call the model with a view of the messages."""
        call = self._prepared(request)
        try:
            try:
                response = handler(_with(request, call.messages))
            except ContextOverflowError:
                response = handler(_with(request, call.harder()))
        except BaseException:
            call.released()
            raise
        self._record(call, response)
        return response

    async def awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> ModelResponse[Any]:
        """Call the model with a view of the messages. What is slow runs in a thread."""
        call = await asyncio.to_thread(self._prepared, request)
        try:
            try:
                response = await handler(_with(request, call.messages))
            except ContextOverflowError:
                response = await handler(_with(request, await asyncio.to_thread(call.harder)))
        except BaseException:
            call.released()
            raise
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
    """The thread of the agent's checkpointer, if it has one."""
    about = getattr(request.runtime, "execution_info", None)
    return getattr(about, "thread_id", None)


def _model_name(model: Any) -> str | None:
    found = getattr(model, "model_name", None) or getattr(model, "model", None)
    return found if isinstance(found, str) else None


def _usage(answer: AIMessage) -> Mapping[str, Any] | None:
    counted = answer.usage_metadata
    if not counted:
        return None
    cached = (counted.get("input_token_details") or {}).get("cache_read") or 0
    return usage(counted["input_tokens"], counted["output_tokens"], cached)
