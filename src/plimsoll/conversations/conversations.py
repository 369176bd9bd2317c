"""The conversations of one host: each is found again by the list of messages that is sent."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from secrets import token_hex
from threading import RLock
from typing import Any, Final

from plimsoll.compaction.drive import AsyncSummarizer, checked
from plimsoll.conversations.content import ContentReader, RequestContent
from plimsoll.conversations.conversation import HostConversation, Prepared, stateless
from plimsoll.conversations.inner_searches import TOOLS_TOKENS, as_given
from plimsoll.conversations.prefix import Likeness, Listing, best, likeness, listing
from plimsoll.conversations.settings import Settings, chosen_policy
from plimsoll.errors import Closes, PlimsollError, StoreError
from plimsoll.formats.format import SystemText
from plimsoll.formats.requests import RequestParts, parts_of, parts_of_list
from plimsoll.message import FormatName
from plimsoll.policy.policy import PolicyChoice
from plimsoll.policy.validation import boolean, integer
from plimsoll.protocols import Durability
from plimsoll.session.open import open as open_session
from plimsoll.store.memory import InMemoryStore
from plimsoll.store.open import StoreSpec, check_usable, open_store
from plimsoll.store.paths import safe_name
from plimsoll.tokens.counter import CounterChoice

PREFIX: Final = "c-"
"""Names of sessions that were made here begin with this, then say what their conversation begins with."""

KNOWN_MAX: Final = 1_024
"""Conversations whose list is remembered. Others are looked up in the store."""

STORED_MAX: Final = 8
"""Stored sessions with the same first message that are read to find the one that a list continues."""


class Conversations(Closes):
    """Finds the conversation of each request. Thread-safe.

    A host sends the whole list of messages with each request, and mentions no session. Its conversation is the one whose newest
    list the list continues, or which it holds most of; else it is a new one. A store that fails never stops a request.
    """

    def __init__(  # noqa: PLR0913 - the options of the conversations
        self,
        store: StoreSpec = None,
        *,
        model: str | None = None,
        max_tokens: int | None = None,
        policy: PolicyChoice | None = None,
        counter: CounterChoice = None,
        summarizer: AsyncSummarizer | None = None,
        redact: bool = True,
        recall_tools: bool = False,
        durability: Durability = "os",
        open_max: int = 64,
    ) -> None:
        """Options that `plimsoll.open` has too are as there, but for these.

        Args:
            store: Where the sessions are kept.
            model: The model to count by; None: the one that each request names.
            max_tokens: The budget of messages and tools; None: the model's window less the reply that a request asks for.
            policy: None: act only on what does not fit, and come down to half of the budget. A mapping replaces fields of that.
            counter: Replaces the model's counter of texts.
            summarizer: Writes the prose of summaries; None: rules do.
            redact: Replace secrets by placeholders in what is recorded. What is sent has them.
            recall_tools: Offer the model tools to search and read what left the view of a compacted conversation. Whoever sends
                the requests has to ask `searched` of the conversation before it hands on an answer, as the proxy does.
            durability: What a record survives: "os" a crash of the process, "fsync" a power failure.
            open_max: Sessions that are open at a time.

        Raises: SettingError.

        """
        place = open_store(store, durability=durability)
        self._settings = Settings(
            store=InMemoryStore() if store == "memory:" else place,
            model=model,
            max_tokens=None if max_tokens is None else integer("max_tokens", max_tokens, least=1),
            policy=chosen_policy(policy),
            counter=counter,
            summarizer=checked(summarizer),
            redact=boolean("redact", redact),
            reader=ContentReader(redact=redact),
            recall_tools=boolean("recall_tools", recall_tools),
        )
        self._open_max = integer("open_max", open_max, least=1)
        self._lock = RLock()
        self._known: OrderedDict[str, HostConversation] = OrderedDict()
        """By name, the newest used last."""
        self._alike: dict[str, dict[HostConversation, None]] = {}
        """By how they begin, the newest used last."""
        self._opened: dict[HostConversation, None] = {}
        """Those whose session may be open, the newest used last."""
        self._moved: dict[str, str] = {}
        """The names of sessions that had to be replaced, and those of the others."""
        self._stored: dict[str, list[str]] | None = None
        """Names of stored sessions by what they begin with; None before the store was listed."""

    def check_store(self) -> None:
        """Make sure that conversations can be kept, before the first one is. Raises StoreUnusable, StoreFull."""
        check_usable(self._settings.store)

    def prepare(
        self,
        request: Mapping[str, Any],
        *,
        format: FormatName | None = None,
        name: str | None = None,
        credentials: Iterable[str] = (),
        window_tokens: int | None = None,
    ) -> Prepared:
        """Find the conversation of a request, and the body to send for it. Nothing that goes wrong is raised.

        Args:
            request: The body, in one of the three APIs. It is not modified.
            format: The API; None: found by looking.
            name: The session, where the host says which.
            credentials: The keys that came with the request, which are never recorded.
            window_tokens: The model's window, where it is known to differ.

        Returns: The body. After the reply, call `answered` or `released` of its conversation.

        """
        try:
            parts = parts_of(request, format)
        except (PlimsollError, RecursionError) as error:
            return Prepared(body=request, problem=str(error))
        if parts is None:
            return Prepared(body=request)
        keys = tuple(credentials)
        try:
            content = self._content(parts, keys)
        except (PlimsollError, RecursionError) as error:
            return Prepared(body=request, problem=str(error))
        with self._lock:
            try:
                found = self._found(parts, name, content.listing)
            except StoreError as error:
                budget = self._settings.budget_of(parts, parts.model, window_tokens)
                return stateless(request, parts, budget, self._settings, problem=str(error))
            except (PlimsollError, RecursionError) as error:
                return Prepared(body=request, problem=str(error))
            found.awaited += 1  # nobody else may take it for theirs meanwhile
        try:
            return found.prepare(request, credentials=keys, window_tokens=window_tokens, content=content)
        finally:
            with self._lock:
                found.awaited -= 1
                self._close_idle()

    def free_tokens(self, parts: RequestParts, *, window_tokens: int | None = None) -> int:
        """The tokens that a request may have without anything being changed, whatever conversation it is of."""
        settings = self._settings
        known = settings.acts_at(settings.budget_of(parts, parts.model, window_tokens))
        held = TOOLS_TOKENS if settings.recall_tools else 0
        return min(known, settings.ceilings.get(settings.model or parts.model or "", known)) - 1 - held

    def find(
        self,
        messages: Sequence[Any],
        *,
        system: SystemText = None,
        format: FormatName | None = None,
        name: str | None = None,
    ) -> HostConversation:
        """The conversation that a list of messages continues, or of which it is an edit; else a new one.

        A list with another system text is of the same conversation only if it holds an answer of it: sub-agents that are asked the
        same have conversations of their own. So have equal requests that are made at the same time. Raises FormatError, StoreError.

        Args:
            messages: The whole list, of dicts or objects of an SDK.
            system: System text beside the messages.
            format: The API; None: found by looking.
            name: The session, where the host says which.

        """
        parts = parts_of_list(messages, system, format)
        with self._lock:
            return self._found(parts, name, self._content(parts, ()).listing)

    def _content(self, parts: RequestParts, credentials: Iterable[str]) -> RequestContent:
        return self._settings.reader.read(parts, credentials)

    def close(self) -> None:
        """Close all sessions. Conversations can be found again."""
        with self._lock:
            known = list(self._known.values())
        for conversation in known:
            conversation.close()

    def __len__(self) -> int:
        return len(self._known)

    def __iter__(self) -> Iterator[HostConversation]:
        """The conversations that are remembered, the one used last at the end."""
        with self._lock:
            return iter(list(self._known.values()))

    def _found(self, parts: RequestParts, name: str | None, given: Listing) -> HostConversation:
        if name is not None:
            return self._used(self._named(self._moved.get(safe_name(name), name), parts.format), given)
        alike = reversed(self._alike.get(given.opening, {}))
        known = best((self._likeness(given, one, parts.format), one) for one in alike)
        found = known or self._from_store(given, parts.format) or self._named(_new_name(given), parts.format)
        return self._used(found, given)

    @staticmethod
    def _likeness(given: Listing, one: HostConversation, format: FormatName) -> Likeness | None:
        known = one.known
        if not known.messages or one.format != format or known.opening != given.opening:
            return None
        return likeness(given, known, one.answer, awaited=one.awaited > 0)

    def _named(self, name: str, format: FormatName) -> HostConversation:
        found = self._known.get(name)
        if found is not None and found.format != format:  # one session keeps messages of one API
            name = safe_name(f"{name}-{format}")
            found = self._known.get(name)
        return found or HostConversation(name, format, self._settings, self._renamed)

    def _used(self, conversation: HostConversation, given: Listing) -> HostConversation:
        """Remember a conversation as the one used last, which has this list now."""
        self._forget_beginning(conversation)
        conversation.opening = given.opening
        self._alike.setdefault(given.opening, {})[conversation] = None
        self._opened.pop(conversation, None)
        self._opened[conversation] = None
        self._known[conversation.name] = conversation
        self._known.move_to_end(conversation.name)
        idle = (name for name, one in self._known.items() if one.awaited == 0 and one is not conversation)
        if len(self._known) > KNOWN_MAX and (oldest := next(idle, None)) is not None:
            gone = self._known.pop(oldest)
            self._forget_beginning(gone)
            _close_unless_used(gone)
            if self._stored is not None and gone.name.startswith(PREFIX):
                self._stored.setdefault(_opening_of(gone.name), []).insert(0, gone.name)
        return conversation

    def _forget_beginning(self, conversation: HostConversation) -> None:
        alike = self._alike.get(conversation.opening, {})
        alike.pop(conversation, None)
        if not alike:
            self._alike.pop(conversation.opening, None)

    def _renamed(self, conversation: HostConversation) -> str:
        """Another name for a conversation whose session cannot be written: by another process, or damaged."""
        with self._lock:
            name = _new_name(conversation.known)
            if len(self._moved) < KNOWN_MAX:
                self._moved[conversation.name] = name
            if self._known.get(conversation.name) is conversation:
                self._known[name] = self._known.pop(conversation.name)
        return name

    def _from_store(self, given: Listing, format: FormatName) -> HostConversation | None:
        """The stored conversation that a list continues. It is read once."""
        if self._stored is None:
            self._stored = {}
            for info in self._settings.store.sessions():
                if info.name.startswith(PREFIX):
                    self._stored.setdefault(_opening_of(info.name), []).append(info.name)
        names = [name for name in self._stored.get(given.opening, ()) if name not in self._known][:STORED_MAX]
        read = [one for one in (self._read(name, format) for name in names) if one is not None]
        found: HostConversation | None = best((likeness(given, one.known), one) for one in read)
        return found

    def _read(self, name: str, format: FormatName) -> HostConversation | None:
        """A stored conversation with the list that its session holds; None if it is of another API or cannot be read."""
        try:
            with open_session(name, store=self._settings.store, read_only=True) as session:
                if session.format != format:
                    return None
                conversation = HostConversation(name, format, self._settings, self._renamed)
                conversation.known = listing(as_given(session.history(), format), session.options.get("system"))
        except PlimsollError:
            return None
        return conversation

    def _close_idle(self) -> None:
        """Close the sessions used longest ago, so that at most `open_max` are open."""
        for one in list(self._opened)[: max(0, len(self._opened) - self._open_max)]:
            if one.awaited == 0:
                _close_unless_used(one)
            if not one.is_open:
                del self._opened[one]


def _close_unless_used(conversation: HostConversation) -> None:
    """Close a conversation's session unless a thread is using it, which may be waiting for the one that asks."""
    if conversation.lock.acquire(blocking=False):
        try:
            conversation.close()
        finally:
            conversation.lock.release()


def _new_name(given: Listing) -> str:
    return f"{PREFIX}{given.opening}-{token_hex(6)}"


def _opening_of(name: str) -> str:
    return name.removeprefix(PREFIX).partition("-")[0]
