"""One conversation of a host, kept as a session: what to send for each of its requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from threading import RLock
from typing import Any

from plimsoll.compaction.view_message import Origins
from plimsoll.conversations.content import RequestContent
from plimsoll.conversations.inner_searches import ROUNDS_MAX, InnerCalls, before_answer, found_by, inner_calls
from plimsoll.conversations.open_here import WAIT_S, taken
from plimsoll.conversations.prefix import Listing, said
from plimsoll.conversations.redaction import Redaction
from plimsoll.conversations.settings import Settings
from plimsoll.errors import PlimsollError, StoreError
from plimsoll.formats.intake import received
from plimsoll.formats.overflow import Overflow
from plimsoll.formats.requests import RequestParts, api_of, parts_of, with_messages, with_more, with_tools
from plimsoll.light.dataclass import dataclass, field, replace
from plimsoll.message import FormatName
from plimsoll.records.usage import Usage, usage_of
from plimsoll.session.session import Session
from plimsoll.tokens.counter import counter_for

HARDER_SHARE = 0.6
"""A request that the provider found too long, without saying by how much, is brought to this share of its size."""

SAFETY_SHARE = 0.95
"""Where the provider said how long it was, it is brought to this share of what was allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A request to send."""

    body: Mapping[str, Any]
    """The body that was given, the same object, or a copy with other messages."""
    changed: bool = False
    """True if it is a copy with other messages."""
    conversation: HostConversation | None = field(default=None, repr=False)
    """None if the provider keeps the conversation, or the body is none that can be read."""
    tokens: int = 0
    """Upper bound of the tokens of the messages and tools that are sent."""
    budget_tokens: int = 0
    """What these may use."""
    room_tokens: int = 0
    """What may be added before anything of the conversation is changed; 0 if the body was."""
    problem: str | None = None
    """What went wrong; the request can be sent all the same."""
    find_origins: Callable[[], Origins] | None = field(default=None, repr=False)
    """Gives for each message of a changed body the positions of the given messages that it came from."""
    number: int = 0
    """Number of the request in its conversation."""
    searches: int = 0
    """Answers to it so far that only searched."""
    offers_tools: bool = False
    """True if the model may search with the tools of recall: before the answer is handed on, ask `searched` of the conversation."""


class HostConversation:
    """A conversation that a host holds. Used from one thread at a time; others wait."""

    def __init__(
        self, name: str, format: FormatName, settings: Settings, rename: Callable[[HostConversation], str]
    ) -> None:
        """`rename` gives the name of another session, for when this one cannot be written."""
        self.name = name
        self.format = format
        self.known = Listing(system=b"", messages=())
        """The newest list of the host."""
        self.opening = ""
        """How the list begins that was used last, by which it is looked up."""
        self.answer: frozenset[int] = frozenset()
        """What was said in the answer to it."""
        self.awaited = 0
        """Requests without an answer so far."""
        self.load = (0, 0)
        """The tokens of what was sent last, and the budget of it."""
        self.is_compacted = False
        """True if that was a view."""
        self.lock = RLock()
        self.closings = 0
        """How often others were let have the session."""
        self._settings = settings
        self._rename = rename
        self._session: Session | None = None
        self._model: str | None = None
        self._limit_tokens: int | None = None  # what the provider was found to take, where that is less than the budget
        self._credentials: tuple[str, ...] = ()
        self._number = 0
        self._is_repaired = False
        self._inner = InnerCalls()
        self._moved: str | None = None  # why the session has another name now, until that was said
        self._title: str | None = None  # how its first request begins
        self._is_recovered = False  # True once the searches of an earlier time were looked for

    @property
    def session(self) -> Session:
        """The session that keeps it. Raises StoreError."""
        with self.lock:
            if self._session is None:
                self._session = self._opened()
            return self._session

    def own_session(self) -> Session:
        """The session of this name and no other: its host reads its list from there. Raises StoreError."""
        with self.lock:
            if self._session is None:
                self._session = self._taken(WAIT_S)
            return self._session

    @property
    def is_open(self) -> bool:
        """True if its session is open."""
        return self._session is not None

    def prepare(  # noqa: PLR0913 - what is known of a request
        self,
        request: Mapping[str, Any],
        *,
        credentials: Iterable[str] = (),
        window_tokens: int | None = None,
        overflow: Overflow | None = None,
        repair: bool = False,
        content: RequestContent | None = None,
    ) -> Prepared:
        """The body to send for a request of this conversation. Nothing that goes wrong is raised.

        Args:
            request: The body, in one of the three APIs. It is not modified.
            credentials: The keys that came with it, which are never recorded.
            window_tokens: The model's window, where it is known to differ.
            overflow: What the provider said when it found the body prepared last too long: compact harder.
            repair: The provider refused that body for another reason: from now on send what it takes by its rules.
            content: What the request says, if it was read already.

        Returns: The same body if it fits and nothing was compacted before, else one with the view.

        """
        parts = parts_of(request, self.format)
        if parts is None:
            return Prepared(body=request)
        with self.lock:
            self.awaited += overflow is None and not repair
            self._is_repaired = self._is_repaired or repair
            self._number += 1
            if overflow is None and not repair:
                self._inner.open = []
            self._credentials = tuple(credentials)
            budget = self._settings.budget_of(parts, parts.model, window_tokens)
            try:
                content = content or self._settings.reader.read(parts, self._credentials)
                found = self._synced(request, parts, content, budget, overflow)
                moved, self._moved = self._moved, None
                return replace(found, number=self._number, problem=moved)
            except StoreError as error:
                self.close()
                limit = min(budget, self._limit_tokens or budget)
                return replace(
                    stateless(request, parts, limit, self._settings, problem=str(error), conversation=self),
                    number=self._number,
                )
            except (PlimsollError, RecursionError) as error:
                return Prepared(body=request, conversation=self, budget_tokens=budget, problem=str(error))

    def answered(
        self,
        message: Any = None,
        usage: Any = None,
        *,
        to: Prepared | None = None,
        found: Sequence[Any] | None = None,
    ) -> str | None:
        """Record the reply to the request prepared last, and calibrate by the usage that the provider reported.

        Args:
            message: A message, a whole response, or a list of items; None: there was none.
            usage: The provider's usage object, plain or of its SDK, or a Usage; None: it said nothing.
            to: The request that it answers: nothing is recorded if another was prepared since. None: the newest.
            found: What `found_beside` gave for it. None: that is asked now, where the model may search.

        Returns: What went wrong, or None. Nothing is raised.

        """
        with self.lock:
            self.awaited = max(0, self.awaited - 1)
            if to is not None and to.number != self._number:
                return None
            try:
                wires = received(
                    list(message) if isinstance(message, list | tuple) else [] if message is None else [message]
                ).wires
                self._report(usage)
                self._record(wires, found)
            except StoreError as error:
                self.close()
                return str(error)
            except (PlimsollError, RecursionError) as error:
                return str(error)
        return None

    def counted(self, usage: Any, *, to: Prepared) -> None:
        """Calibrate by what the provider counted of a request whose answer comes with the next list. Nothing is raised."""
        with self.lock, suppress(PlimsollError, RecursionError):
            if to.number == self._number:
                self._report(usage)

    def searched(self, request: Mapping[str, Any], message: Any, usage: Any, *, to: Prepared) -> Prepared | None:
        """The request to send next after an answer that did nothing but search; None if the answer is for the host.

        Args:
            request: The host's request.
            message: The answer, as for `answered`.
            usage: The provider's usage object.
            to: What was sent.

        """
        parts = parts_of(request, self.format)
        calls, others = inner_calls(message)
        if parts is None or not to.offers_tools or not calls or others:
            return None
        with self.lock:
            if to.searches >= ROUNDS_MAX:
                return None
            to = replace(to, searches=to.searches + 1)
            is_last = to.searches == ROUNDS_MAX
            found = found_by(calls, self._search, self.format, is_last=is_last)
            if to.number == self._number:
                try:
                    self._report(usage)
                    self._inner.open += [*self._kept(message), *found]
                    content = self._settings.reader.read(parts, self._credentials)
                    found_next = self._synced(request, parts, content, to.budget_tokens, None)
                    return replace(found_next, number=to.number, searches=to.searches)
                except (PlimsollError, RecursionError):
                    self._number += 1  # it goes on beside the session, which nothing of it is recorded in
                    self._inner.open = []
        return replace(to, body=with_more(to.body, parts, [*message, *found]), find_origins=None)

    def found_beside(self, message: Sequence[Any]) -> list[Any]:
        """What the searches find that an answer for the host has beside its own calls."""
        calls, _ = inner_calls(message)
        with self.lock:
            return found_by(calls, self._search, self.format, is_last=False) if calls else []

    def released(self) -> None:
        """The request prepared last gets no answer: it failed, or its host has gone."""
        with self.lock:
            self.awaited = max(0, self.awaited - 1)

    def close(self) -> None:
        """Close the session, which is opened again when it is needed."""
        with self.lock:
            self.closings += 1
            self._shut()

    def _shut(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()

    def _record(self, wires: Sequence[Any], found: Sequence[Any] | None) -> None:
        """Record an answer, and what its searches found that came together with calls of the host's tools."""
        self.answer = said(wires)
        if not wires:
            return
        redact = Redaction(self._credentials, is_on=self._settings.redact)
        recorded = redact(list(wires))
        calls, _ = inner_calls(wires) if self._settings.recall_tools else ([], [])
        if calls or self._inner.open:
            recorded += found_by(calls, self._search, self.format, is_last=False) if found is None else found
            self._inner.secrets += redact.occurrences
            self._inner.learn([*self._inner.open, *recorded], before_answer(self.known.messages))
            self._inner.open = []
        self.session.extend(recorded)

    def _kept(self, message: Sequence[Any]) -> list[Any]:
        """An answer that its host does not get, with placeholders for secrets that are put back when it is sent again."""
        redact = Redaction(self._credentials, is_on=self._settings.redact)
        kept = list(redact(list(message)))
        self._inner.secrets += redact.occurrences
        return kept

    def _search(self, name: str, arguments: Any) -> str:
        return self.session.call_tool(name, arguments)

    def _synced(
        self,
        request: Mapping[str, Any],
        parts: RequestParts,
        content: RequestContent,
        budget: int,
        overflow: Overflow | None,
    ) -> Prepared:
        model = self._settings.model or parts.model
        redaction = content.redaction
        redaction.note(self._inner.secrets)
        self.known, self.answer = content.listing, frozenset()
        if model != self._model and self._model is not None:
            self._shut()
        self._model = model
        allowed = max(1, min(budget, self._limit_tokens or budget) - self._hidden(redaction))
        self._title = content.title
        session = self.session
        if overflow is not None:
            allowed = self._learn(parts, session, allowed, overflow, model)
        given = content.messages
        has_inner = self._inner.is_of(content.listing)
        given = self._inner.expanded(given, content.listing) if has_inner else given
        view = session.sync(given, system=content.system, tools=parts.tools, max_tokens=allowed)
        found = session.check()
        tokens = found.current_tokens + allowed - found.max_tokens
        self.load, self.is_compacted = (tokens, budget), session.is_shortened
        as_given = not self.is_compacted and not has_inner and (not self._is_repaired or view == content.messages)
        if as_given and found.current_tokens <= found.max_tokens:
            acts_at = min(found.threshold, found.max_tokens) if self._settings.is_lazy else 0
            room = max(0, acts_at - found.current_tokens - 1)
            return Prepared(body=request, conversation=self, tokens=tokens, budget_tokens=budget, room_tokens=room)
        body = with_messages(request, parts, redaction.restored(list(view)))
        offered = None
        if self._settings.recall_tools and self.is_compacted and (api := api_of(self.format)) is not None:
            offered = with_tools(body, session.tools(api))
        return Prepared(
            body=offered or body,
            changed=True,
            conversation=self,
            tokens=tokens,
            budget_tokens=budget,
            find_origins=None if has_inner else lambda: view.origins,
            offers_tools=offered is not None,
        )

    def _learn(self, parts: RequestParts, session: Session, allowed: int, overflow: Overflow, model: str | None) -> int:
        """A smaller budget, from what the provider said."""
        found = session.check()
        sent = min(allowed, found.current_tokens + max(0, allowed - found.max_tokens))
        window, counted = overflow.window_tokens, overflow.counted_tokens
        self._settings.learn(model or self._settings.default_model, window, sent)
        share = HARDER_SHARE
        if window and counted and counted > window - (parts.reserve_tokens or 0) > 0:
            share = SAFETY_SHARE * (window - min(parts.reserve_tokens or 0, window // 2)) / counted
        self._limit_tokens = max(1, int(sent * min(share, SAFETY_SHARE)))
        return self._limit_tokens

    def _hidden(self, redaction: Redaction) -> int:
        """Tokens by which secrets are longer than their placeholders."""
        if not redaction.occurrences:
            return 0
        count = counter_for(self._settings.model or self._model).upper
        return sum(max(0, count(secret) - count(mark)) for mark, secret in redaction.occurrences)

    def _report(self, usage: Any) -> None:
        dump = getattr(usage, "model_dump", None)
        found = usage if isinstance(usage, Usage) else usage_of(dump() if callable(dump) else usage)
        if found is not None and self._session is not None:
            self._session.record_usage(found.prompt_tokens, found.completion_tokens, found.cached_tokens)

    def _opened(self) -> Session:
        try:
            session = self._taken()
        except StoreError as error:
            self.name = self._rename(self)
            session = self._taken()
            self._moved = f"{error}; the conversation is kept as {self.name!r}"
        if self._settings.recall_tools and not self._is_recovered:
            self._inner.recover(session.history())
        self._is_recovered = True
        return session

    def _taken(self, wait_s: float = 0) -> Session:
        about = self.name, self.format, self._model, self._title
        return taken(self, lambda waits_s: self._settings.open(*about, waits_s), wait_s)


def stateless(  # noqa: PLR0913 - what a request is, and what went wrong
    request: Mapping[str, Any],
    parts: RequestParts,
    budget: int,
    settings: Settings,
    *,
    problem: str,
    conversation: HostConversation | None = None,
) -> Prepared:
    """The body to send without a session: its messages fitted by themselves."""
    unchanged = Prepared(body=request, conversation=conversation, budget_tokens=budget, problem=problem)
    fitted = settings.fitted(parts, budget)
    if fitted is None:
        return unchanged
    if fitted.report.tokens_before <= fitted.report.budget:
        return replace(unchanged, tokens=fitted.report.tokens_before)
    body, tokens = with_messages(request, parts, fitted.messages), fitted.report.tokens_after
    return replace(unchanged, body=body, changed=True, tokens=tokens, find_origins=lambda: fitted.origins)
