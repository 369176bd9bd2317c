"""The flow around one model call that all adapters share: a framework's messages come in, and those to send go out."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Generic, Protocol, Self, TypeAlias, TypedDict, TypeVar, Unpack

from plimsoll.compaction.drive import AsyncSummarizer
from plimsoll.compaction.view_message import Origins
from plimsoll.conversations.conversation import HostConversation, Prepared
from plimsoll.conversations.conversations import Conversations
from plimsoll.errors import RequestNotManaged, SessionBusy, SettingError, UnsafeName, on_failure, warn
from plimsoll.formats.overflow import Overflow, overflow_in
from plimsoll.formats.wire import AnyBlocks
from plimsoll.message import FormatName
from plimsoll.policy.policy import PolicyChoice
from plimsoll.policy.validation import short_repr
from plimsoll.protocols import Durability
from plimsoll.session.session import Session
from plimsoll.store.open import StoreSpec
from plimsoll.store.paths import safe_name
from plimsoll.tokens.counter import CounterChoice

Wire: TypeAlias = dict[str, Any]
M = TypeVar("M")
T = TypeVar("T")
_CAUSES_MAX = 8
"""Errors behind an error that are read."""


class ConversationOptions(TypedDict, total=False):
    """The options that every adapter takes: those of `Conversations`, as `plimsoll.open` has them."""

    store: StoreSpec
    model: str | None
    max_tokens: int | None
    policy: PolicyChoice | None
    counter: CounterChoice
    summarizer: AsyncSummarizer | None
    redact: bool
    durability: Durability
    open_max: int


class Dialect(Protocol[M]):
    """How a framework's messages are written in one of the wire formats, and read back."""

    def wires(self, message: M) -> Sequence[Wire]:
        """The wire messages that a message of the framework stands for, in order."""

    def built(self, wire: Wire, origin: M | None) -> M:
        """A message of the framework with the content of a wire message, and the id and metadata of `origin`."""


class AdaptedCalls(Generic[M]):
    """Prepares the model calls of one agent. Thread-safe."""

    def __init__(self, dialect: Dialect[M], options: ConversationOptions, format: FormatName = "openai-chat") -> None:
        self.conversations = conversations_for(options)
        self._dialect = dialect
        self._format = format
        self._list = "input" if format == "openai-responses" else "messages"

    def prepare(
        self,
        messages: Sequence[M],
        *,
        name: str | None = None,
        beside: Mapping[str, Any] | None = None,
        window_tokens: int | None = None,
    ) -> ModelCall[M]:
        """Take in the whole list of messages, and say what to send.

        Args:
            messages: The list as the framework holds it. Neither it nor its messages are modified.
            name: What the framework calls this conversation; None: it is recognised by its messages.
            beside: Other fields of the request, as its API names them: model, tools, instructions, longest reply.
            window_tokens: The model's window, where the framework knows it.

        """
        wires: list[Wire] = []
        spans: list[range] = []
        for message in messages:
            found = self._dialect.wires(message)
            spans.append(range(len(wires), len(wires) + len(found)))
            wires += found
        given = [self._marked(wire) for wire in wires]
        body = {**{key: value for key, value in (beside or {}).items() if value is not None}, self._list: given}
        known_as = None if name is None else session_name(name)
        prepared = self.conversations.prepare(body, format=self._format, name=known_as, window_tokens=window_tokens)
        return ModelCall(body, prepared, lambda now: self._given_back(messages, wires, spans, now))

    def recorded(self, messages: Iterable[M]) -> list[Wire]:
        """The wire messages of an answer."""
        return [self._marked(wire) for message in messages for wire in self._dialect.wires(message)]

    def _marked(self, wire: Wire) -> Wire:
        """The message as one whose blocks the framework writes for the provider: other blocks than OpenAI's may be in it."""
        is_marked = self._format == "openai-chat" and isinstance(wire.get("content"), list)
        return AnyBlocks(wire) if is_marked else wire

    def _given_back(
        self, messages: Sequence[M], wires: Sequence[Wire], spans: Sequence[range], prepared: Prepared
    ) -> list[M]:
        """The framework's own messages where they are unchanged, and others in the place of the rest."""
        if not prepared.changed or prepared.find_origins is None:
            return list(messages)
        view, origins = prepared.body[self._list], prepared.find_origins()
        owners = {place: index for index, span in enumerate(spans) for place in span}
        found: list[M] = []
        at = 0
        while at < len(view):
            owner = owners.get(origins[at][0]) if len(origins[at]) == 1 else None
            whole = None if owner is None else spans[owner]
            if owner is not None and whole and _is_whole(whole, at, view, origins, wires):
                found.append(messages[owner])
                at += len(whole)
            else:
                found.append(self._dialect.built(view[at], None if owner is None else messages[owner]))
                at += 1
        return found


def _is_whole(span: range, at: int, view: Sequence[Wire], origins: Origins, wires: Sequence[Wire]) -> bool:
    """True if all the wire messages of a span are in the view from there on, as they were given."""
    places = range(at, at + len(span))
    return places.stop <= len(view) and all(
        origins[place] == (of,) and view[place] == wires[of] for place, of in zip(places, span, strict=True)
    )


class KeptList:
    """The session in which a framework's memory keeps its list of messages. Thread-safe.

    Other memories of that name may change it: of this process one after the other, of others once this one was closed.
    """

    def __init__(self, conversations: Conversations, name: str, format: FormatName) -> None:
        self._conversations, self._name, self._format = conversations, name, format
        self._seen: tuple[HostConversation, int] | None = None

    @property
    def session(self) -> Session:
        """The session. Raises StoreError, which is SessionBusy where another process has it open."""
        return self._conversation().own_session()

    @contextmanager
    def in_use(self) -> Iterator[tuple[Session, bool]]:
        """The session, and whether nobody else can have changed it since the last time. Raises as `session`."""
        conversation = self._conversation()
        with conversation.lock, on_failure(self._forget):
            session = conversation.own_session()
            before, self._seen = self._seen, (conversation, conversation.closings)
            yield session, self._seen == before

    def _conversation(self) -> HostConversation:
        found = self._conversations.find([], format=self._format, name=self._name)
        if found.name != self._name:  # it could not be had for a call of the model, which another one was kept of
            raise SessionBusy(self._name)
        return found

    def _forget(self) -> None:
        self._seen = None


class Managed(Generic[M]):
    """Base of the classes that a program hands to its framework: the conversations of their model calls, each with its session."""

    _dialect: Dialect[M]
    _format: FormatName = "openai-chat"
    _framework: Mapping[str, Any] = MappingProxyType({})
    """What the framework's own class is made with."""

    def __init__(self, *, name: str | None = None, **options: Unpack[ConversationOptions]) -> None:
        """Keep conversations.

        Args:
            name: The session of all of them; None: each has its own, as the class says. One that a session cannot have is replaced
                by a name made from its hash.
            **options: store, model, max_tokens, policy, summarizer and so on, as of `plimsoll.open`. By default what fits in the
                model's window is sent unchanged.

        Raises: SettingError.

        """
        super().__init__(**self._framework)
        self._name = None if name is None else session_name(name)
        self._calls = AdaptedCalls(self._dialect, options, self._format)

    @property
    def conversations(self) -> Conversations:
        """The conversations so far, each with its session."""
        return self._calls.conversations


class ModelCall(Generic[M]):
    """One call of a model. After it, call `answered` or `released`."""

    def __init__(self, body: Mapping[str, Any], prepared: Prepared, given_back: Callable[[Prepared], list[M]]) -> None:
        self._body = body
        self._prepared = prepared
        self._given_back = given_back
        self.messages = given_back(prepared)
        """The messages to send."""
        if prepared.problem is not None:
            warn(RequestNotManaged(prepared.problem))

    @property
    def conversation(self) -> HostConversation | None:
        """The conversation that it is of; None if nothing is kept of it."""
        return self._prepared.conversation

    @property
    def is_changed(self) -> bool:
        """True if what is sent is not what was given."""
        return self._prepared.changed

    def harder(self, overflow: Overflow | None = None) -> list[M]:
        """The messages to send after the provider refused those before as too long."""
        if self.conversation is not None:
            self._prepared = self.conversation.prepare(self._body, overflow=overflow or Overflow())
            self.messages = self._given_back(self._prepared)
        return self.messages

    def asked(self, ask: Callable[[list[M]], T], *too_long: type[Exception]) -> T:
        """What the model answers to the messages; asked once more with less where it refuses them as too long.

        Its error says so by its words, or is one of `too_long`. A call that fails has no answer.
        """
        with on_failure(self.released):
            with _Refused(too_long) as refused:
                return ask(self.messages)
            return ask(self.harder(refused.overflow))

    async def awaited(self, ask: Callable[[list[M]], Awaitable[T]], *too_long: type[Exception]) -> T:
        """As `asked`. What is slow runs in a thread."""
        with on_failure(self.released):
            with _Refused(too_long) as refused:
                return await ask(self.messages)
            return await ask(await to_thread(self.harder, refused.overflow))

    def answered(self, wires: Sequence[Wire], usage: Mapping[str, Any] | None = None) -> None:
        """Record the answer, and what the provider counted. An empty message is none."""
        if self.conversation is not None:
            said = [wire for wire in wires if wire.get("content") or wire.get("tool_calls")]
            self.conversation.answered(said, usage, to=self._prepared)

    def counted(self, usage: Any) -> None:
        """Record what the provider counted of a call that was let go of: its answer is read elsewhere."""
        if self.conversation is not None:
            self.conversation.counted(usage, to=self._prepared)

    def released(self) -> None:
        """There is no answer."""
        if self.conversation is not None:
            self.conversation.released()


def conversations_for(options: ConversationOptions) -> Conversations:
    """Conversations for a host in this process: as with `plimsoll.open`, what is recorded is whole, unless `redact` is given."""
    given: ConversationOptions = {"redact": False, **options}
    return Conversations(**given)


def session_name(name: str) -> str:
    """A name that a session may have: the same one if it may, else one made from its hash. Raises SettingError for no text."""
    if not isinstance(name, str):
        raise SettingError("name", f"text is needed, not {short_repr(name)}")
    try:
        return safe_name(name)
    except UnsafeName:
        return f"thread-{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def overflow_of(refusal: BaseException) -> Overflow | None:
    """What a model's error says of the context length, or the errors that it came from; None if it is another error."""
    found: BaseException | None = refusal
    for _ in range(_CAUSES_MAX):
        if found is None:
            break
        overflow = overflow_in(getattr(found, "body", None)) or overflow_in({"message": str(found)})
        if overflow is not None:
            return overflow
        found = found.__cause__ or found.__context__
    return None


class _Refused:
    """Ends a block of code that the provider refuses because its messages are too long; other errors pass."""

    def __init__(self, too_long: tuple[type[Exception], ...]) -> None:
        self._too_long = too_long
        self.overflow: Overflow | None = None
        """What the error says of the window."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, Exception):
            self.overflow = overflow_of(error) or (Overflow() if isinstance(error, self._too_long) else None)
        return self.overflow is not None


def usage(prompt_tokens: int, completion_tokens: int, cached_tokens: int) -> Wire:
    """What a provider counted, as Chat Completions reports it. Cached tokens are part of the prompt's."""
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "prompt_tokens_details": {"cached_tokens": cached_tokens},
    }
