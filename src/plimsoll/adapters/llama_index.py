"""LlamaIndex: a memory that gives an agent's history as a view that fits, and a model that is sent views.

    agent = FunctionAgent(llm=managed(llm), tools=tools)
    response = await agent.run("hello", memory=PlimsollMemory("harbour"))

The memory keeps what is said in each run; the model also fits what an agent gathers while a run is under way.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Self, TypeAlias, TypeVar, Unpack

from plimsoll.errors import MissingExtra, SettingError, on_failure

try:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.llms.llm import LLM
    from llama_index.core.memory.types import BaseMemory
except ImportError as error:
    raise MissingExtra("llama-index", needed_for="plimsoll.adapters.llama_index") from error

from plimsoll.adapters.calls import (
    AdaptedCalls,
    ConversationOptions,
    KeptList,
    ModelCall,
    Wire,
    session_name,
)
from plimsoll.adapters.llama_index_messages import LlamaIndexDialect
from plimsoll.conversations.conversations import Conversations
from plimsoll.conversations.wrapper.clients import class_over
from plimsoll.policy.validation import short_repr
from plimsoll.records.usage import usage_of

L = TypeVar("L", bound=LLM)
Messages: TypeAlias = list[ChatMessage]
_NAMELESS = "unknown"
"""What LlamaIndex calls a model that has no name."""

_IS_SENT: ContextVar[bool] = ContextVar("plimsoll_llama_index_is_sent", default=False)
"""True inside a model: one way of asking it may be made of another."""


class PlimsollMemory(BaseMemory):
    """A memory that keeps every message in a session, also between processes, and gives a view that fits."""

    _calls: Any = PrivateAttr()
    _name: str = PrivateAttr()
    _kept: Any = PrivateAttr()
    _messages: list[ChatMessage] = PrivateAttr(default_factory=list)

    def __init__(self, name: str, **options: Unpack[ConversationOptions]) -> None:
        """Open a session, or create it.

        Args:
            name: Its name. One that a session cannot have is replaced by a name made from its hash.
            **options: store, model, max_tokens, policy, summarizer and so on, as of `plimsoll.open`. The system prompt and tools of
                an agent are not in its memory: leave room for them in max_tokens.

        """
        super().__init__()
        self._name = session_name(name)
        self._calls = AdaptedCalls(LlamaIndexDialect(), options)
        self._kept = KeptList(self._calls.conversations, self._name, "openai-chat")

    @classmethod
    def class_name(cls) -> str:
        """The name of the class."""
        return "PlimsollMemory"

    @classmethod
    def from_defaults(cls, **kwargs: Any) -> Self:
        """A memory with the same options."""
        return cls(**kwargs)

    @property
    def conversations(self) -> Conversations:
        """The conversation, with its session."""
        found: Conversations = self._calls.conversations
        return found

    def get(self, input: str | None = None, **kwargs: Any) -> list[ChatMessage]:  # noqa: ARG002 - the framework's names
        """What to send of the messages."""
        held = self.get_all()
        if not held:
            return []
        call = self._calls.prepare(held, name=self._name)
        call.released()
        return list(call.messages)

    def get_all(self) -> list[ChatMessage]:
        """All messages. Raises StoreError, which is SessionBusy where another process has the session open."""
        return self._held(lambda held: held)

    def put(self, message: ChatMessage) -> None:
        """Add a message."""
        self.put_messages([message])

    def put_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages."""
        self._held(lambda held: [*held, *messages])

    def set(self, messages: list[ChatMessage]) -> None:
        """Replace all messages. Those before stay in the log of the session."""
        self._held(lambda _: list(messages))

    def _held(self, changed: Callable[[list[ChatMessage]], list[ChatMessage]]) -> list[ChatMessage]:
        """What is held after a change. It is read anew where others may have changed it."""
        with self._kept.in_use() as (session, is_current):
            if not is_current:
                self._messages = [LlamaIndexDialect().built(wire, None) for wire in session.history()]
            wanted = changed(self._messages)
            if wanted is not self._messages:
                session.sync(self._calls.recorded(wanted))
                self._messages = wanted
            return list(wanted)

    def reset(self) -> None:
        """Remove all messages. They stay in the log of the session."""
        self.set([])


def managed(llm: L, *, name: str | None = None, **options: Unpack[ConversationOptions]) -> L:
    """A model like the given one that is sent views which fit, with everything kept in sessions.

    A call that is refused as too long is made once more with less.

    Args:
        llm: Any chat model of LlamaIndex. It is not modified.
        name: The session of all conversations; None: each is recognised by its messages.
        **options: As of PlimsollMemory. By default the window is the one that the model's `metadata` has.

    Returns: A model of the same type. `conversations_of` gives its conversations.

    Raises: SettingError for anything that is no model, or managed already.

    """
    if not isinstance(llm, LLM) or isinstance(llm, _Managed):
        raise SettingError("llm", f"a model of LlamaIndex that is not managed is needed, not {short_repr(llm)}")
    kind: Any = class_over(_Managed, type(llm))
    kind.plimsoll_calls = AdaptedCalls(LlamaIndexDialect(), options)
    kind.plimsoll_name = name
    made: L = llm.model_copy()
    object.__setattr__(made, "__class__", kind)
    return made


def conversations_of(llm: LLM) -> Conversations:
    """The conversations of a managed model, each with its session. Raises SettingError for another one."""
    if not isinstance(llm, _Managed):
        raise SettingError("llm", f"a model from managed is needed, not {short_repr(llm)}")
    return llm.plimsoll_calls.conversations


class _Managed:
    """What a managed model does in the place of its own class: each chat is sent a view."""

    plimsoll_calls: ClassVar[AdaptedCalls[ChatMessage]]
    plimsoll_name: ClassVar[str | None]

    def chat(self, messages: Sequence[ChatMessage], **given: Any) -> ChatResponse:
        plain: Any = super()
        ask: Callable[..., ChatResponse] = plain.chat
        if _IS_SENT.get():
            return ask(messages, **given)
        call = _prepared(self, messages, given)
        with _sending():
            response = call.asked(lambda now: ask(now, **given))
        _record(call, response)
        return response

    async def achat(self, messages: Sequence[ChatMessage], **given: Any) -> ChatResponse:
        """Ask the model with a view. What is slow runs in a thread."""
        plain: Any = super()
        ask: Callable[..., Awaitable[ChatResponse]] = plain.achat
        if _IS_SENT.get():
            return await ask(messages, **given)
        call = await asyncio.to_thread(_prepared, self, messages, given)
        with _sending():
            response = await call.awaited(lambda now: ask(now, **given))
        await asyncio.to_thread(_record, call, response)
        return response

    def stream_chat(self, messages: Sequence[ChatMessage], **given: Any) -> Iterator[ChatResponse]:
        """Ask the model with a view. The answer is recorded when it was read."""
        plain: Any = super()
        ask: Callable[..., Iterator[ChatResponse]] = plain.stream_chat
        if _IS_SENT.get():
            return ask(messages, **given)
        call = _prepared(self, messages, given)
        return _read(call, lambda now: iter(ask(now, **given)))

    async def astream_chat(self, messages: Sequence[ChatMessage], **given: Any) -> AsyncIterator[ChatResponse]:
        """Ask the model with a view. The answer is recorded when it was read."""
        plain: Any = super()
        ask: Callable[..., Awaitable[AsyncIterator[ChatResponse]]] = plain.astream_chat
        if _IS_SENT.get():
            return await ask(messages, **given)
        call = await asyncio.to_thread(_prepared, self, messages, given)
        return _aread(call, lambda now: ask(now, **given))


def _prepared(llm: Any, messages: Sequence[ChatMessage], given: dict[str, Any]) -> ModelCall[ChatMessage]:
    about = llm.metadata
    tools = [tool for tool in given.get("tools") or () if isinstance(tool, dict)]
    beside = {
        "model": None if about.model_name == _NAMELESS else about.model_name,
        "tools": tools,
        "max_tokens": about.num_output if about.num_output > 0 else None,
    }
    calls: AdaptedCalls[ChatMessage] = llm.plimsoll_calls
    return calls.prepare(messages, name=llm.plimsoll_name, beside=beside, window_tokens=about.context_window)


@contextmanager
def _sending() -> Iterator[None]:
    before = _IS_SENT.set(True)
    try:
        yield
    finally:
        _IS_SENT.reset(before)


def _read(call: ModelCall[ChatMessage], ask: Callable[[Messages], Iterator[ChatResponse]]) -> Iterator[ChatResponse]:
    """The pieces of an answer. Many models make the request when the first one is read."""
    opened: list[Iterator[ChatResponse]] = []

    def first(messages: Messages) -> ChatResponse | None:
        opened[:] = [ask(messages)]
        return next(opened[0], None)

    with _sending():
        last = piece = call.asked(first)
    counted: Wire | None = None
    with on_failure(call.released):
        while piece is not None:
            yield piece
            last, counted = piece, _counted(piece) or counted
            with _sending():
                piece = next(opened[0], None)
    _record(call, last, counted)


async def _aread(
    call: ModelCall[ChatMessage], ask: Callable[[Messages], Awaitable[AsyncIterator[ChatResponse]]]
) -> AsyncIterator[ChatResponse]:
    """As `_read`."""
    opened: list[AsyncIterator[ChatResponse]] = []

    async def first(messages: Messages) -> ChatResponse | None:
        opened[:] = [aiter(await ask(messages))]
        return await anext(opened[0], None)

    with _sending():
        last = piece = await call.awaited(first)
    counted: Wire | None = None
    with on_failure(call.released):
        while piece is not None:
            yield piece
            last, counted = piece, _counted(piece) or counted
            with _sending():
                piece = await anext(opened[0], None)
    await asyncio.to_thread(_record, call, last, counted)


def _record(call: ModelCall[ChatMessage], response: ChatResponse | None, counted: Wire | None = None) -> None:
    """Record an answer, and what it was counted at: the last piece of a stream need not have that."""
    if response is None:
        call.released()
    else:
        call.answered(LlamaIndexDialect().wires(response.message), _counted(response) or counted)


def _counted(response: ChatResponse) -> Wire | None:
    """The provider's report: integrations hand on its response, as an object or a dictionary, or note the numbers beside it."""
    raw = response.raw
    reports = [
        raw.get("usage") if isinstance(raw, Mapping) else getattr(raw, "usage", None),
        response.additional_kwargs,
    ]
    for report in reports:
        dump = getattr(report, "model_dump", None)
        found = dump() if callable(dump) else report
        if isinstance(found, Mapping) and usage_of(found) is not None:
            return dict(found)
    return None
