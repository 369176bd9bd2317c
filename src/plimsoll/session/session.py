"""A session: one conversation, stored in a log, of which the model sees a view within its budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from plimsoll.compaction.drive import AsyncSummarizer, checked, drive
from plimsoll.compaction.result import Plan, View
from plimsoll.environment.layers import ContextLayers
from plimsoll.errors import Closes, FormatError, PlimsollError
from plimsoll.light.brief import Fact, ShortRepr, pluralize
from plimsoll.message import FormatName, MessageLike
from plimsoll.policy.budget import Check, Status
from plimsoll.policy.policy import Policy, PolicyChoice
from plimsoll.policy.validation import boolean, integer
from plimsoll.protocols import Damage
from plimsoll.records.stats import Stats
from plimsoll.records.usage import Usage
from plimsoll.records.values import Compaction, Trigger
from plimsoll.session.ahead import Ahead
from plimsoll.session.compact import options_for, previewed, viewed
from plimsoll.session.environment import layers, layers_text
from plimsoll.session.messages import HistoryMessage, checked_times, files, newest, one_message
from plimsoll.session.recorder import SessionRecorder, locked
from plimsoll.session.remembering import close, fork
from plimsoll.session.searching import SearchedSession
from plimsoll.session.sharing import SharedSession
from plimsoll.session.syncing import SyncedSession
from plimsoll.session.usage_reports import sent_now, usage_for, usage_from_caller, usages
from plimsoll.summary.file_mentions import FileMention
from plimsoll.tokens.cache import CacheStats


class Session(SyncedSession, SearchedSession, SharedSession, ShortRepr, Closes):
    """One conversation. Created by `plimsoll.open`.

    Sizes are in tokens. Appends are durable on return. A method that raises leaves the session unchanged. A session may be used
    from several threads: methods run one at a time, but the others are not blocked while a model writes a summary. A session that
    is garbage-collected without `close` releases its files and its write lock.
    """

    def __init__(
        self, recorder: SessionRecorder, *, summarizer: AsyncSummarizer | None = None, background: bool = False
    ) -> None:
        super().__init__(recorder, checked(summarizer))
        self._ahead = Ahead(self._turn) if background else None
        self._hold = recorder.held()

    @property
    def name(self) -> str:
        """Name of the session in its store."""
        return self._recorder.log.name

    @property
    def where(self) -> str:
        """Location of the session: a path, or the name of the store."""
        return self._recorder.log.where

    @property
    def message_count(self) -> int:
        """Number of messages ever appended, which is the position of the next one."""
        return self._recorder.log.messages

    @property
    def policy(self) -> Policy:
        """The policy of compactions."""
        return self._recorder.meter.policy

    @property
    def model(self) -> str:
        """The model whose context window and tokenizer are used."""
        return self._recorder.meter.model

    @property
    def options(self) -> dict[str, Any]:
        """The effective options: those given to `open` this time, else those recorded in the session."""
        return dict(self._recorder.kept.options)

    @property
    def summarizer(self) -> AsyncSummarizer | None:
        """The summarizer that writes the prose of summaries. May be replaced, or set to None, at any time."""
        return self._summarizer

    @summarizer.setter
    def summarizer(self, summarizer: AsyncSummarizer | None) -> None:
        """Raises SettingError for an invalid summarizer, and keeps the previous one."""
        self._summarizer = checked(summarizer)

    def append(self, message: MessageLike) -> str:
        """Append a message to the history and return its id. Raises FormatError, LimitExceeded, StoreError.

        Accepts dicts, messages of an SDK, and whole responses. A response may hold several messages; the id is that of the last. A
        response without output appends nothing and returns the id of the newest message.
        """
        added = self.extend([message])
        if added:
            return added[-1]
        newest = self._recorder.log.messages - 1
        if newest < 0:
            raise FormatError("a response without output holds no message", position=0)
        return f"m{newest}"

    @locked
    def extend(self, messages: Sequence[MessageLike], *, times_ms: Sequence[int | None] | None = None) -> list[str]:
        """Append several messages, all or none, and return their ids.

        Args:
            messages: in the order of the history.
            times_ms: Unix time in milliseconds for each, or None for now; None: now for all.

        Raises: FormatError, LimitExceeded, SettingError, StoreError.

        """
        times = () if times_ms is None else checked_times(times_ms, len(messages))
        return [f"m{position}" for position in self._recorder.append(messages, times)]

    @locked
    def times_ms(self) -> list[int]:
        """Unix time in milliseconds of each message of the history."""
        return [record.at_ms for record in self._recorder.state.history.messages()]

    def view(self, query: str | None = None) -> View:
        """The messages to send now: within the budget and valid for the provider. Compacts first if a load line is passed.

        Between compactions a view is the previous one plus the new messages, byte for byte. `query` is the next question: a
        compaction that is due keeps messages relevant to it for longer. The `origins` of the list are positions in the history.
        Raises CannotFit, StoreError.
        """
        view = self._carried(viewed(self._recorder, query, asks_model=self._asks_model, ahead=self._ahead))
        self._prepare()
        return view

    @locked
    def peek(self) -> View:
        """The current view, without compacting. Works on read-only sessions."""
        self._recorder.requests.show(self._recorder.state.event)
        return self._recorder.written()

    @locked
    def check(self) -> Check:
        """Whether a compaction is due, how urgently, and by which load line. Changes and logs nothing."""
        return self._recorder.check()

    @locked
    def status(self) -> Status:
        """How full the view is. Changes nothing."""
        return self._recorder.meter.status(self._recorder.total())

    @locked
    def stats(self) -> Stats:
        """Statistics of the compactions. With `plimsoll.open(stats=False)` nothing is added."""
        return self._recorder.state.facts.stats

    @locked
    def cache_info(self) -> CacheStats:
        """Counters of the cache of messages read back from the log. It never holds the whole history."""
        return self._recorder.message_cache.info()

    @locked
    def can_append(self, message: MessageLike) -> bool:
        """True if the view still fits its budget with this message, without a compaction. Raises FormatError."""
        return self._recorder.total() + self._recorder.cost(message) <= self._recorder.meter.budget.tokens

    def preview(
        self, *, focus: str | None = None, policy: PolicyChoice | None = None, target_tokens: int | None = None
    ) -> Plan:
        """What `compact` would do now. Changes nothing. Raises CannotFit, SettingError."""
        options = options_for(self._recorder, focus, policy, target_tokens)
        steps = previewed(self._recorder, options, asks_model=self._asks_model)
        return drive(steps, self._summarizer, self._recorder.access)

    def compact(  # noqa: PLR0913 - the options of a compaction
        self,
        plan: Plan | None = None,
        *,
        trigger: Trigger = "manual",
        focus: str | None = None,
        policy: PolicyChoice | None = None,
        rebase: bool = False,
        actual_pre_tokens: int | None = None,
        target_tokens: int | None = None,
    ) -> Compaction:
        """Compact now, or apply a plan from `preview`. The compaction is recorded; `rollback` undoes it.

        Args:
            plan: the plan to apply; None: plan now, with the options below.
            trigger: the reason to record.
            focus: keep messages relevant to this text for longer.
            policy: for this compaction only: a name, a Policy, or fields that replace the session's own.
            rebase: if messages were appended after `plan` was made, plan again with its edited summary; False: raise PlanIsStale.
            actual_pre_tokens: the provider's token count before it, if it differs from the last `record_usage`.
            target_tokens: size to reach; None: the policy's target, and at most half of the view.

        Returns: the compaction. If there is nothing to do nothing is recorded, and its `id` is None.

        Raises: CannotFit, PlanIsStale, SettingError, StoreError.

        """
        options = options_for(self._recorder, focus, policy, target_tokens)
        return self._carried(self._compacting(plan, trigger, options, rebase=rebase, actual=actual_pre_tokens))

    @locked
    def compactions(self) -> list[Compaction]:
        """Every compaction, oldest first, including undone ones."""
        return self._recorder.chain().compactions()

    @locked
    def view_after(self, compaction_id: str) -> View:
        """The view right after a compaction. Raises SettingError for an unknown id."""
        return self._recorder.view_after(compaction_id)

    @locked
    def rollback(self, compaction_id: str | None = None) -> Compaction:
        """Undo a compaction (by default the newest in force) and those after it.

        The view is then what it would be without them; messages appended since stay in it. `reapply` undoes this. Raises
        SettingError if no such compaction is in force.
        """
        return self._recorder.rollback(compaction_id)

    @locked
    def reapply(self, compaction_id: str | None = None) -> Compaction:
        """Redo an undone compaction (by default the newest): the view is again based on it.

        Raises SettingError if there is none.
        """
        return self._recorder.reapply(compaction_id)

    @locked
    def history(self, *, all: bool = False) -> list[Any]:
        """Every message of the history in full, in order.

        If `sync` found that the host removed or changed messages, these are the messages as the host holds them; with `all`, every
        message ever appended, in its original form.
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
        """The newest messages of the history in full, in order, with ids and times.

        Bounds that are not given come from the session's `default_filter`; without one all messages are returned. Reads back no
        further than the first bound that is reached.

        Args:
            last: at most this many messages.
            since_ms: none older than this Unix time in milliseconds.
            max_tokens: at most this many tokens in total.
            before: only messages before this one, `"m12"` or 12.
            all: every message ever appended in its original form, without the default filter; `state` says what `sync` did to it.

        Raises: SettingError, StoreError.

        """
        bounds = {"last": last, "since_ms": since_ms, "max_tokens": max_tokens}
        return newest(self._recorder, before=before, all=boolean("all", all), **bounds)

    @locked
    def message(self, message_id: str | int) -> HistoryMessage:
        """One message of the history in full, with its time, by id: `"m12"` or 12. Raises SettingError, StoreError."""
        return one_message(self._recorder, message_id)

    @locked
    def files(self, compaction_id: str | None = None) -> list[FileMention]:
        """The files named in calls and commands, by path; with `compaction_id` those that its summary covers.

        Each compaction stores them, so only newer messages are read. Of very many the least important are dropped. Raises
        SettingError, StoreError.
        """
        return files(self._recorder, compaction_id)

    @locked
    def context(self, query: str | None = None, *, priorities: Mapping[str, int] | None = None) -> ContextLayers:
        """The context of the session in layers: system, session, conversation, tools, workspace.

        System and workspace are as `plimsoll.open` last found them, the session's layer is what it was given, and the others
        are computed from the newest messages. `query` scores each layer by relevance; `priorities` replaces those of some
        layers (`plimsoll.environment.layers.PRIORITIES`). Raises SettingError, StoreError.
        """
        return layers(self._recorder, query=query, priorities=priorities)

    @locked
    def context_text(
        self, max_tokens: int = 400, *, query: str | None = None, priorities: Mapping[str, int] | None = None
    ) -> str:
        """The context as lines for a system prompt. If not all fit, the layers with the highest priority and relevance are kept.

        Raises SettingError, StoreError.
        """
        return layers_text(self._recorder, max_tokens, query=query, priorities=priorities)

    @locked
    def pin(self, message_id: str | int) -> None:
        """Keep a message in every view. Raises SettingError for an id that is not in the history."""
        self._recorder.pin(message_id, pinned=True)

    @locked
    def unpin(self, message_id: str | int) -> None:
        """Unpin a message. Raises SettingError for an id that is not in the history."""
        self._recorder.pin(message_id, pinned=False)

    @locked
    def record_usage(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> None:
        """Record the usage that the provider reported for the last view, and calibrate counts and the budget by it.

        This corrects estimated counts, and reveals tokens of the request that the session does not see, such as a system prompt
        or tools kept by the host. These are held back from the budget (`status().unseen_tokens`); if they would leave nothing,
        views keep a small part and UnseenTokensWarning is given. Reports of less than half of the view are ignored. Call this
        once per request, before or after appending the answer.

        Args:
            prompt_tokens: the whole request including cached tokens: for Anthropic the sum of `input_tokens`,
                `cache_creation_input_tokens` and `cache_read_input_tokens` (if `cached_tokens` is larger, both are added).
            completion_tokens: the answer.
            cached_tokens: the part of the request read from the provider's cache.

        Raises: SettingError.

        """
        report, now = usage_from_caller(prompt_tokens, completion_tokens, cached_tokens), self._recorder
        sent = now.sent or sent_now(now.state, now.log.messages)
        now.record_usage([usage_for(sent, report, now.meter, now.estimates, now.message_cache)], sent.event)

    @locked
    def usage(self, *, last: int | None = None) -> list[Usage]:
        """The newest `last` usage reports, oldest first, with the ids of their answers; None: all.

        Reads back no further than these. Raises SettingError.
        """
        return usages(self._recorder.log, None if last is None else integer("last", last))

    @locked
    def fork(self, at: str | int | None = None, *, name: str | None = None) -> Session:
        """A new session with a copy of the history up to and including message `at` (None: all of it).

        Where that message has left the history, the copy is of the history as it was when the message was the newest.

        Raises SettingError for an id that is not in the history, StoreError.
        """
        return Session(fork(self._recorder, at, name), summarizer=self._summarizer, background=self._ahead is not None)

    @property
    def damage(self) -> tuple[Damage, ...]:
        """Damage found in the log so far. Everything else can be read; `plimsoll verify` checks the whole log."""
        return self._recorder.log.damage

    @property
    def format(self) -> FormatName:
        """The format of its messages; "openai-chat" while there are none."""
        return self._recorder.meter.format.name

    @property
    def system(self) -> Any:
        """The system text that is sent apart from the messages, if given."""
        return self._recorder.meter.system

    def _facts(self) -> Iterable[Fact]:
        """Never waits for another thread, and does not raise for a closed session."""
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

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"session {self.name!r} is neither copied nor stored: keep its name and open it, or fork() it")

    def close(self) -> None:
        """Close the log and release the write lock. Idempotent; any other method then raises SessionClosed."""
        with self._recorder.lock:
            close(self._recorder, self._leave)
