"""`plimsoll.wrap`: a client of the official SDKs, with its context managed."""

from __future__ import annotations

from typing import TypeVar

from plimsoll.compaction.drive import AsyncSummarizer
from plimsoll.conversations.conversations import Conversations
from plimsoll.errors import SettingError
from plimsoll.policy.policy import PolicyChoice
from plimsoll.protocols import Durability
from plimsoll.session.session import Session
from plimsoll.store.open import StoreSpec
from plimsoll.store.paths import safe_name
from plimsoll.tokens.counter import CounterChoice
from plimsoll.validation import short_repr
from plimsoll.wrapper.clients import WrappedAsyncClient, WrappedClient, WrappedState, refusals_of, sdk_of, wrapped

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
