"""LiteLLM: a callback that keeps completions inside the context window.

    litellm.callbacks = [PlimsollHandler()]

The host goes on to pass its whole list of messages to each call; the model is sent a view of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from functools import cache, partial
from typing import Any, TypeAlias

from plimsoll.errors import MissingExtra

try:
    import litellm
    from litellm import CustomStreamWrapper, ModelResponse
    from litellm.exceptions import ContextWindowExceededError
    from litellm.integrations.custom_logger import CustomLogger
except ImportError as error:
    raise MissingExtra("litellm", needed_for="plimsoll.adapters.litellm") from error

from plimsoll.adapters.calls import Managed, ModelCall, Wire
from plimsoll.conversations.wrapper.clients import class_over

_CALL: ContextVar[ModelCall[Any] | None] = ContextVar("plimsoll_litellm_call", default=None)
"""The newest call of this task that a callback took part in."""

_IS_MANAGED: ContextVar[bool] = ContextVar("plimsoll_litellm_is_managed", default=False)
"""True while a call of `acompletion` is under way: its messages are a view already."""

_COMPLETION = "acompletion"

Answer: TypeAlias = "ModelResponse | CustomStreamWrapper"


class LiteLLMDialect:
    """Messages are those of Chat Completions, as dictionaries or as LiteLLM's own objects."""

    def wires(self, message: Any) -> Sequence[Wire]:
        """The message as a dictionary, without fields that say nothing: LiteLLM writes them now and then."""
        dump = getattr(message, "model_dump", None)
        found = dump() if callable(dump) else message
        return ({field: value for field, value in found.items() if value is not None or field == "content"},)

    def built(self, wire: Wire, origin: Any) -> Any:  # noqa: ARG002 - a message has all of its metadata in it
        """The message as it is sent."""
        return wire


class PlimsollHandler(Managed[Any], CustomLogger):
    """Sends each completion a view that fits, and keeps everything in a session. Conversations are recognised by their messages.

    As one of `litellm.callbacks` it is for `acompletion`, the router and LiteLLM's proxy. LiteLLM asks no callback before a
    `completion` that is not awaited: call the method of that name. The methods `completion` and `acompletion` also make a call
    that is refused as too long once more with less.
    """

    _dialect = LiteLLMDialect()

    def completion(self, model: str, messages: list[Any], **request: Any) -> Answer:
        """As `litellm.completion`."""
        call = self._prepared({**request, "model": model, "messages": messages})
        ask = partial(litellm.completion, model=model, **request)
        response: Answer = call.asked(lambda now: ask(messages=now), ContextWindowExceededError)
        self._record(call, response)
        return response

    async def acompletion(self, model: str, messages: list[Any], **request: Any) -> Answer:
        """As `litellm.acompletion`. What is slow runs in a thread."""
        call = await asyncio.to_thread(self._prepared, {**request, "model": model, "messages": messages})
        before = _IS_MANAGED.set(True)
        ask = partial(litellm.acompletion, model=model, **request)
        try:
            response: Answer = await call.awaited(lambda now: ask(messages=now), ContextWindowExceededError)
        finally:
            _IS_MANAGED.reset(before)
        await asyncio.to_thread(self._record, call, response)
        return response

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """Put a view in the place of the messages of an awaited completion. LiteLLM calls this."""
        messages = kwargs.get("messages")
        is_completion = getattr(call_type, "value", call_type) == _COMPLETION and isinstance(messages, list)
        if not is_completion or _IS_MANAGED.get():
            return None
        call = self._sent_again(messages)
        if call is None:
            call = await asyncio.to_thread(self._prepared, kwargs)
            call.released()  # LiteLLM says nothing of calls that fail
            _CALL.set(call)
        return {**kwargs, "messages": call.messages}  # its own list, by which the answer is known

    async def async_post_call_success_deployment_hook(self, request_data: Any, response: Any, call_type: Any) -> Any:
        """Record an answer. LiteLLM calls this."""
        call = _CALL.get()
        if call is not None and isinstance(request_data, Mapping) and request_data.get("messages") is call.messages:
            _CALL.set(None)
            await asyncio.to_thread(self._record, call, response)
        del call_type

    def _sent_again(self, messages: Any) -> ModelCall[Any] | None:
        """The newest call, if LiteLLM sends its messages once more."""
        call = _CALL.get()
        if call is None or len(call.messages) != len(messages):
            return None
        return call if self._calls.recorded(call.messages) == self._calls.recorded(messages) else None

    def _prepared(self, request: Mapping[str, Any]) -> ModelCall[Any]:
        beside = {field: request.get(field) for field in ("model", "tools", "max_tokens", "max_completion_tokens")}
        return self._calls.prepare(request["messages"], name=self._name, beside=beside)

    def _record(self, call: ModelCall[Any], response: Any) -> None:
        """Record a whole answer. What a stream says comes with the next list, what it was counted at with its end."""
        if isinstance(response, ModelResponse):
            said = self._calls.recorded([choice.message for choice in response.choices[:1]])
            counted = getattr(response, "usage", None)
            call.answered(said, counted.model_dump() if counted is not None else None)
            return
        call.released()
        if isinstance(response, CustomStreamWrapper):
            stream: Any = response
            stream.__class__ = _counting(stream.__class__)
            stream.plimsoll_call = call


class _Counting:
    """What such a stream does otherwise: it notes what the provider counted, where that is reported (`include_usage`)."""

    plimsoll_call: ModelCall[Any]

    def __next__(self) -> Any:
        plain: Any = super()
        return self._noted(plain.__next__())

    async def __anext__(self) -> Any:
        plain: Any = super()
        return self._noted(await plain.__anext__())

    def _noted(self, chunk: Any) -> Any:
        counted = getattr(chunk, "usage", None)
        if counted is not None:
            self.plimsoll_call.counted(counted.model_dump() if hasattr(counted, "model_dump") else counted)
        return chunk


@cache
def _counting(plain: type) -> type:
    """A class of streams that note it; one for each class of LiteLLM's."""
    return class_over(_Counting, plain)
