"""A session: a conversation with a life of its own. Everything said is in its log; what the model sees is a view of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeAlias

from plimsoll.brief import Fact, ShortRepr, pluralize
from plimsoll.compaction.drive import AsyncSummarizer, checked, drive
from plimsoll.compaction.result import Plan, View
from plimsoll.environment.layers import ContextLayers
from plimsoll.errors import FormatError, PlimsollError
from plimsoll.message import FormatName, MessageLike
from plimsoll.policy.budget import Check, Status
from plimsoll.policy.policy import Policy, PolicyChoice
from plimsoll.protocols import Damage
from plimsoll.records.stats import Stats
from plimsoll.records.usage import Usage
from plimsoll.records.values import Compaction, Trigger
from plimsoll.session.compact import options_for, previewed
from plimsoll.session.environment import layers, layers_text
from plimsoll.session.messages import HistoryMessage, checked_times, files, newest, one_message
from plimsoll.session.recorder import SessionRecorder, locked
from plimsoll.session.searching import SearchedSession
from plimsoll.session.sharing import SharedSession
from plimsoll.session.syncing import SyncedSession
from plimsoll.session.usage_reports import sent_now, usage_of, usage_told, usages
from plimsoll.store.cache import CacheStats
from plimsoll.summary.file_mentions import FileMention
from plimsoll.validation import boolean, integer

PolicyGiven: TypeAlias = "PolicyChoice | None"
"""A policy's name, a policy, or some fields of one in the place of the session's own."""


class Session(SyncedSession, SearchedSession, SharedSession, ShortRepr):
    """One conversation. Make one with `plimsoll.open`.

    Sizes are in tokens. Appending is durable when it returns. A method that raises leaves the session as it was. A session may be
    used from several threads at once: each method is carried out whole, one after the other, and while a model writes a summary
    the others go on. A session that is dropped without `close` lets go of its files and its write lock.
    """

    def __init__(self, recorder: SessionRecorder, *, summarizer: AsyncSummarizer | None = None) -> None:
        super().__init__(recorder, checked(summarizer))
        self._hold = recorder.held()

    @property
    def name(self) -> str:
        """Its name in its store."""
        return self._recorder.log.name

    @property
    def where(self) -> str:
        """Where it is kept: a path, or the store's name."""
        return self._recorder.log.where

    @property
    def message_count(self) -> int:
        """How many messages were ever appended. The next one's number."""
        return self._recorder.log.messages

    @property
    def policy(self) -> Policy:
        """The policy that it compacts by."""
        return self._recorder.meter.policy

    @property
    def model(self) -> str:
        """The model whose window and tokens it goes by."""
        return self._recorder.meter.model

    @property
    def options(self) -> dict[str, Any]:
        """The options that hold: those given to `open` this time, else those that the session remembers."""
        return dict(self._recorder.kept.options)

    @property
    def summarizer(self) -> AsyncSummarizer | None:
        """Who is asked for the prose of summaries. Set another one, or None, at any time: the next request goes to it."""
        return self._summarizer

    @summarizer.setter
    def summarizer(self, summarizer: AsyncSummarizer | None) -> None:
        """Raises SettingError for what cannot be asked; the one before then stays."""
        self._summarizer = checked(summarizer)

    def append(self, message: MessageLike) -> str:
        """Add a message to the end of the history and return its id. Raises FormatError, LimitExceeded, StoreError.

        An SDK's message is taken as it is, and so is a whole response, which may hold several: then the id is that of the last.
        A response without output adds nothing; the id is that of the message before it.
        """
        added = self.extend([message])
        newest = self._recorder.log.messages - 1
        if not added and newest < 0:
            raise FormatError("a response without output holds no message", position=0)
        return added[-1] if added else f"m{newest}"

    @locked
    def extend(self, messages: Sequence[MessageLike], *, times_ms: Sequence[int | None] | None = None) -> list[str]:
        """Add several messages, all or none, and return their ids.

        Args:
            messages: in the order of the history.
            times_ms: for each its Unix time in milliseconds, or None for now; None: now for all.

        Raises: FormatError, LimitExceeded, SettingError, StoreError.

        """
        times = () if times_ms is None else checked_times(times_ms, len(messages))
        return [f"m{position}" for position in self._recorder.append(messages, times)]

    @locked
    def times_ms(self) -> list[int]:
        """When each message of the history was said: Unix time in milliseconds."""
        return [record.at_ms for record in self._recorder.state.history.messages()]

    def view(self, query: str | None = None) -> View:
        """The messages to send now: within the budget, valid for the provider. Compacts first when the load lines say so.

        Between two compactions a view is the one before it and the new messages, byte for byte. `query` says what is asked
        next: a compaction that is due keeps longer what answers it. The list's `origins` say where in the history each message
        was said. Raises CannotFit, StoreError.
        """
        steps = self._viewing(query)
        with self._turn.held():
            return drive(steps, self._summarizer, self._recorder.access)

    @locked
    def peek(self) -> View:
        """The view as it stands: what `view` would give if no compaction were due. Changes nothing, also when only reading."""
        self._recorder.requests.show(self._recorder.state.event)
        return self._recorder.written()

    @locked
    def check(self) -> Check:
        """Whether a compaction is due, how urgently, and by which line. Changes and logs nothing."""
        return self._recorder.check()

    @locked
    def status(self) -> Status:
        """How full the view is. Changes nothing."""
        return self._recorder.meter.status(self._recorder.total())

    @locked
    def stats(self) -> Stats:
        """What compactions have done so far. With `plimsoll.open(stats=False)` nothing is added to it."""
        return self._recorder.state.facts.stats

    @locked
    def cache_info(self) -> CacheStats:
        """How often a message that was read back from the log was still at hand, and how many are held. Never the whole history."""
        return self._recorder.message_cache.info()

    @locked
    def can_append(self, message: MessageLike) -> bool:
        """Whether the view with this message still fits its budget without a compaction. Raises FormatError."""
        return self._recorder.total() + self._recorder.cost(message) <= self._recorder.meter.budget.tokens

    def preview(
        self, *, focus: str | None = None, policy: PolicyGiven = None, target_tokens: int | None = None
    ) -> Plan:
        """What `compact` would do now. Changes nothing. Raises CannotFit, SettingError."""
        options = options_for(self._recorder, focus, policy, target_tokens)
        steps = previewed(self._recorder, options, asks_model=self._asks_model)
        return drive(steps, self._summarizer, self._recorder.access)

    def compact(  # noqa: PLR0913 - what a compaction may be told
        self,
        plan: Plan | None = None,
        *,
        trigger: Trigger = "manual",
        focus: str | None = None,
        policy: PolicyGiven = None,
        rebase: bool = False,
        actual_pre_tokens: int | None = None,
        target_tokens: int | None = None,
    ) -> Compaction:
        """Compact now, or carry out a plan from `preview`. Recorded, and undone by `rollback`.

        Args:
            plan: what to carry out; None: a plan that is made now, by the options below.
            trigger: what the record says of why.
            focus: what is about it stays longer.
            policy: for this once: a name, a Policy, or fields that replace the session's own.
            rebase: a plan made before the newest messages is made anew, with its edited summary, in place of PlanIsStale.
            actual_pre_tokens: what the provider counted before it, where `record_usage` was told something else last.
            target_tokens: what to come down to; None: the policy's target, and at most half of what there is.

        Returns: the compaction; with nothing to do nothing is recorded, and its `id` is None.

        Raises: CannotFit, PlanIsStale, SettingError, StoreError.

        """
        options = options_for(self._recorder, focus, policy, target_tokens)
        steps = self._compacting(plan, trigger, options, rebase=rebase, actual=actual_pre_tokens)
        with self._turn.held():
            return drive(steps, self._summarizer, self._recorder.access)

    @locked
    def compactions(self) -> list[Compaction]:
        """Every compaction carried out, oldest first, those undone since included."""
        return self._recorder.chain().compactions()

    @locked
    def view_after(self, compaction_id: str) -> View:
        """The view that a compaction led to, as it was then. Raises SettingError for an id of no compaction."""
        return self._recorder.view_after(compaction_id)

    @locked
    def rollback(self, compaction_id: str | None = None) -> Compaction:
        """Undo a compaction (by default the newest in force) and those after it: the view is again what it was.

        Messages appended since are in it as they would have been. `reapply` undoes this. Raises SettingError when there is
        no such compaction in force.
        """
        return self._recorder.rollback(compaction_id)

    @locked
    def reapply(self, compaction_id: str | None = None) -> Compaction:
        """Undo a rollback: the view goes on again from a compaction that was undone (by default the newest such).

        Raises SettingError when there is none.
        """
        return self._recorder.reapply(compaction_id)

    @locked
    def history(self, *, all: bool = False) -> list[Any]:
        """Every message appended, whole, in order.

        Where `sync` has found that the host took messages back or changed them, these are the messages as the host holds them;
        with `all` every message that was ever appended, as it came.
        """
        return self._recorder.history(all=all)

    @locked
    def messages(
        self,
        *,
        last: int | None = None,
        since_ms: int | None = None,
        max_tokens: int | None = None,
        before: str | int | None = None,
        all: bool = False,
    ) -> list[HistoryMessage]:
        """The newest messages of the history, in order, each whole and with its id and time.

        Bounds that are not given are those of the session's `default_filter`; without one it gives every message. Reads no
        further back than the bound that is reached first.

        Args:
            last: at most this many messages.
            since_ms: none older than this Unix time in milliseconds.
            max_tokens: together no larger than this.
            before: only those before this message, `"m12"` or 12.
            all: every message that was ever appended, as it came, whatever `sync` has changed since and without the filter.
                `state` says what became of it.

        Raises: SettingError, StoreError.

        """
        bounds = {"last": last, "since_ms": since_ms, "max_tokens": max_tokens}
        return newest(self._recorder, before=before, all=boolean("all", all), **bounds)

    @locked
    def message(self, message_id: str | int) -> HistoryMessage:
        """One message of the history, whole, with its time: `"m12"` or 12. Raises SettingError, StoreError."""
        return one_message(self._recorder, message_id)

    @locked
    def files(self, compaction_id: str | None = None) -> list[FileMention]:
        """The files that calls and commands have named, those a compaction had read of when it is named, in order of path.

        Kept with each compaction, so only messages since the newest are read. Very many are forgotten: the least important first.
        Raises SettingError, StoreError.
        """
        return files(self._recorder, compaction_id)

    @locked
    def context(self, query: str | None = None, *, priorities: Mapping[str, int] | None = None) -> ContextLayers:
        """Where the session runs and what goes on in it: system, session, conversation, tools, workspace.

        System and workspace are as `plimsoll.open` found them last, the session's layer is what it was given; the others are
        gathered from the newest messages now. With a `query` each layer is scored by it; `priorities` replaces those of some
        layers (`plimsoll.environment.layers.PRIORITIES`). Raises SettingError, StoreError.
        """
        return layers(self._recorder, query=query, priorities=priorities)

    @locked
    def context_text(
        self, max_tokens: int = 400, *, query: str | None = None, priorities: Mapping[str, int] | None = None
    ) -> str:
        """The context as lines for a system prompt; where not all fit, the layers of the highest priority and relevance stay.

        Raises SettingError, StoreError.
        """
        return layers_text(self._recorder, max_tokens, query=query, priorities=priorities)

    @locked
    def pin(self, message_id: str | int) -> None:
        """Keep a message in every view. Raises SettingError for an id that is not in the history."""
        self._recorder.pin(message_id, pinned=True)

    @locked
    def unpin(self, message_id: str | int) -> None:
        """Let a message leave again. Raises SettingError for an id that is not in the history."""
        self._recorder.pin(message_id, pinned=False)

    @locked
    def record_usage(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> None:
        """What the provider reported for the view last handed out: counts and the budget go by it from now on.

        By how much estimated counts are off is learnt, and how much the provider counts beyond what it was given here, such as
        a system prompt or tools that the host keeps to itself. That much of the budget is held back (`status().unseen_tokens`);
        where nothing would be left, views keep a small part and UnseenTokensWarning is given. A report of less than half of
        what was sent changes nothing. Call it before or after the answer is appended, once for each request.

        Args:
            prompt_tokens: the whole request, cached tokens included: for Anthropic `input_tokens`,
                `cache_creation_input_tokens` and `cache_read_input_tokens` together (where `cached_tokens` is the larger one,
                both are added).
            completion_tokens: the answer.
            cached_tokens: the part of the request that was read from the provider's cache.

        Raises: SettingError.

        """
        told, now = usage_told(prompt_tokens, completion_tokens, cached_tokens), self._recorder
        sent = now.sent or sent_now(now.state, now.log.messages)
        now.record_usage([usage_of(sent, told, now.meter, now.estimates, now.message_cache)], sent.event)

    @locked
    def usage(self, *, last: int | None = None) -> list[Usage]:
        """The newest `last` reports, oldest first, each with the id of the answer it came with; None: all of them.

        Reads back as far as these are. Raises SettingError.
        """
        return usages(self._recorder.log, None if last is None else integer("last", last))

    @locked
    def fork(self, at: str | int | None = None, *, name: str | None = None) -> Session:
        """A new session with the same history up to and including message `at` (None: all of it), and its own future.

        Raises SettingError for an id that is not in the history, StoreError.
        """
        return Session(self._recorder.fork(at, name), summarizer=self._summarizer)

    @property
    def damage(self) -> tuple[Damage, ...]:
        """What could not be read of the log so far. Everything else is there; `plimsoll verify` looks at all of it."""
        return self._recorder.log.damage

    @property
    def format(self) -> FormatName:
        """The format its messages came in; "openai-chat" while there are none."""
        return self._recorder.meter.format.name

    @property
    def system(self) -> Any:
        """The system text that is sent beside every view, if it was given apart."""
        return self._recorder.meter.system

    def _facts(self) -> Iterable[Fact]:
        """Never waits for another thread, nor raises for a session that is closed."""
        yield "name", repr(self.name)
        lock = self._recorder.lock
        if self._recorder.is_closed:
            yield "state", "closed"
        elif not lock.acquire(blocking=False):
            yield "state", "in use by another thread"
        else:
            try:
                found = [("history", pluralize(self._recorder.log.messages, "message"))]
                found.append(("view", f"view {self._recorder.total():,} of {self._recorder.meter.budget.tokens:,}"))
            except PlimsollError as error:
                found = [("state", type(error).__name__)]
            finally:
                lock.release()
            yield from found

    def close(self) -> None:
        """Let go of the log and its write lock. Closing twice is fine; any other method then raises SessionClosed."""
        with self._recorder.lock:
            self._recorder.close()

    def __enter__(self) -> Self:
        """The session itself; leaving the block closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
