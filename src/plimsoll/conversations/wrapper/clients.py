"""`plimsoll.wrap`: a client of an official SDK, with its context managed. It sends views, and its copies do too."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from typing import Any, TypeVar

from plimsoll.compaction.drive import AsyncSummarizer
from plimsoll.conversations.conversations import Conversations
from plimsoll.conversations.wrapper.exchange import WrappedRequest, exchange_for
from plimsoll.errors import SessionNotFound, SettingError, on_failure
from plimsoll.light.dataclass import dataclass
from plimsoll.policy.policy import PolicyChoice
from plimsoll.policy.validation import short_repr
from plimsoll.protocols import Durability
from plimsoll.session.session import Session
from plimsoll.store.open import StoreSpec
from plimsoll.store.paths import safe_name
from plimsoll.tokens.counter import CounterChoice

SDKS = ("openai", "anthropic")
_STATE = "_plimsoll_state"


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappedState:
    """What a wrapped client has besides its own attributes, and shares with its copies."""

    conversations: Conversations
    name: str | None
    plain: type
    """The class of the client that was wrapped."""
    refusals: type[Exception]
    """The SDK's error for what a provider refuses."""

    @property
    def post(self) -> Callable[..., Any]:
        """How that class sends a request; the first argument is the client."""
        kind: Any = self.plain
        found: Callable[..., Any] = kind.post
        return found

    def exchange(self, path: str, body: object) -> WrappedRequest | None:
        """What a request begins."""
        return exchange_for(self.conversations, self.name, path, body)


class _Wrapped:
    """What wrapped clients share. It comes before the SDK's own class."""

    _plimsoll_state: WrappedState

    @property
    def plimsoll(self) -> Session:
        """The session of the newest request. Raises SessionNotFound before the first."""
        for conversation in reversed(list(self._plimsoll_state.conversations)):
            return conversation.session
        reason = "the client has no session before its first request"
        raise SessionNotFound(self._plimsoll_state.name or "", reason=reason)

    def copy(self, **options: Any) -> Any:
        """A copy of the client with other options, which keeps the same conversations."""
        state = self._plimsoll_state
        plain: Any = twin(self, state.plain)
        return wrapped(plain.copy(**options), state)

    def with_options(self, **options: Any) -> Any:
        return self.copy(**options)


class WrappedClient(_Wrapped):
    """A client whose calls return when they are done."""

    def post(self, path: str, **given: Any) -> Any:
        """Send a request with a view in the place of its messages, and record the answer."""
        state = self._plimsoll_state
        send = partial(state.post, self)
        exchange = state.exchange(path, given.get("body"))
        if exchange is None:
            return send(path, **given)
        with on_failure(exchange.released):
            try:
                response = send(path, **{**given, "body": exchange.body})
            except state.refusals as refusal:
                body = exchange.other(refusal)
                if body is None:
                    raise
                response = send(path, **{**given, "body": body})
        if given.get("stream") and _is_stream(response):
            response._iterator = exchange.read(response._iterator)  # noqa: SLF001 - what the stream is iterated by
            response.close = exchange.closing(response.close)
        else:
            exchange.answered(response)
        return response


class WrappedAsyncClient(_Wrapped):
    """A client whose calls are awaited. What is slow runs in a thread."""

    async def post(self, path: str, **given: Any) -> Any:
        """Send a request with a view in the place of its messages, and record the answer."""
        from asyncio import to_thread  # noqa: PLC0415 - not needed by clients whose calls return when they are done

        state = self._plimsoll_state
        send = partial(state.post, self)
        exchange = await to_thread(state.exchange, path, given.get("body"))
        if exchange is None:
            return await send(path, **given)
        with on_failure(exchange.released):
            try:
                response = await send(path, **{**given, "body": exchange.body})
            except state.refusals as refusal:
                body = await to_thread(exchange.other, refusal)
                if body is None:
                    raise
                response = await send(path, **{**given, "body": body})
        if given.get("stream") and _is_stream(response):
            response._iterator = await exchange.aread(response._iterator)  # noqa: SLF001 - what the stream is iterated by
            response.close = exchange.closing(response.close)
        else:
            await to_thread(exchange.answered, response)
        return response


def wrapped(client: Any, state: WrappedState) -> Any:
    """The same client, of a class that is its own and wrapped. It shares its connections with the one given."""
    is_awaited = any(one.__name__ == "AsyncAPIClient" for one in type(client).__mro__)
    base = WrappedAsyncClient if is_awaited else WrappedClient
    made = twin(client, class_over(base, state.plain))
    made.__dict__[_STATE] = state
    return made


def class_over(mixin: type, plain: type) -> type:
    """A subclass of a framework's class that is named as it is, of which the mixin's methods come first."""
    about = {"__module__": plain.__module__, "__doc__": plain.__doc__, "__qualname__": plain.__qualname__}
    return type(plain.__name__, (mixin, plain), about)


def twin(client: Any, kind: type) -> Any:
    """An instance of another class with the same attributes, but for what a client makes when it is first used."""
    made: Any = object.__new__(kind)  # the resources of a client are such properties, and hold the client
    lazy = {name for one in kind.__mro__ for name, value in vars(one).items() if isinstance(value, cached_property)}
    made.__dict__.update({name: value for name, value in vars(client).items() if name not in lazy and name != _STATE})
    return made


def sdk_of(client: object) -> str | None:
    """The SDK that a client is of; None for anything else."""
    for kind in type(client).__mro__:
        sdk = kind.__module__.partition(".")[0]
        if sdk in SDKS and kind.__name__ in ("SyncAPIClient", "AsyncAPIClient"):
            return sdk
    return None


def refusals_of(sdk: str) -> type[Exception]:
    """The error that an SDK raises for what a provider refuses."""
    found: type[Exception] = sys.modules[sdk].APIStatusError
    return found


def _is_stream(response: object) -> bool:
    return hasattr(response, "_iterator") and not isinstance(response, Mapping)


Client = TypeVar("Client")


def wrap(  # noqa: PLR0913 - the options of conversations
    client: Client,
    *,
    name: str | None = None,
    store: StoreSpec = None,
    model: str | None = None,
    max_tokens: int | None = None,
    policy: PolicyChoice | None = None,
    summarizer: AsyncSummarizer | None = None,
    counter: CounterChoice = None,
    redact: bool = False,
    durability: Durability = "os",
) -> Client:
    """A client like the given one whose requests fit the context window, with everything kept in sessions.

    Works for clients of `openai` and `anthropic`, sync and async, and their subclasses. The host goes on to pass its whole list of
    messages to each call of Chat Completions, Responses or Messages, whichever method makes it. A request that fits is sent as it
    is. One that the provider refuses as too long is made once more with less. Answers are recorded when they end, also streamed.

    Args:
        client: An instance of OpenAI, AsyncOpenAI, Anthropic or AsyncAnthropic. It is not modified.
        name: The session of all requests; None: each conversation is recognised by its messages and has one of its own.
        store: As in `open`.
        model: The model to count by; None: the one that each request names.
        max_tokens: The budget of messages and tools; None: the model's window less the reply that a request asks for.
        policy: None: act only on what does not fit, and come down to half of the budget. A mapping replaces fields of that.
        summarizer: As in `open`.
        counter: As in `open`.
        redact: Replace secrets by placeholders in what is recorded. What is sent has them.
        durability: As in `open`.

    Returns: A client of the same type. Its attribute `plimsoll`, or `session_of(client)`, is the session of the newest request. Its
        copies, by `copy` or `with_options`, keep the same sessions.

    Raises: SettingError for anything else and for a client that is wrapped already, UnsafeName.

    """
    sdk = sdk_of(client)
    if sdk is None:
        raise SettingError("client", f"a client of openai or anthropic is needed, not {short_repr(client)}")
    if isinstance(client, WrappedClient | WrappedAsyncClient):
        raise SettingError("client", "is wrapped already")
    state = WrappedState(
        conversations=Conversations(
            store,
            model=model,
            max_tokens=max_tokens,
            policy=policy,
            counter=counter,
            summarizer=summarizer,
            redact=redact,
            durability=durability,
        ),
        name=None if name is None else safe_name(name),
        plain=type(client),
        refusals=refusals_of(sdk),
    )
    made: Client = wrapped(client, state)
    return made


def session_of(client: object) -> Session:
    """The session of the newest request of a wrapped client, as its attribute `plimsoll`, which type checkers do not know of.

    Raises SettingError for a client that is not wrapped, SessionNotFound before the first request.
    """
    if not isinstance(client, WrappedClient | WrappedAsyncClient):
        raise SettingError("client", f"a client from plimsoll.wrap is needed, not {short_repr(client)}")
    return client.plimsoll
