"""A session: a conversation with a life of its own. Everything said is in its log; what the model sees is a view of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from plimsoll.budget import Check, Stats, Status, status_of
from plimsoll.chronicle import Chronicle
from plimsoll.compaction.drive import AsyncSummarizer, adrive, checked, drive
from plimsoll.compaction.engine import Compacting, reworded
from plimsoll.compaction.plan import Outline
from plimsoll.context import ContextLayers
from plimsoll.dialogue import Said, newest
from plimsoll.errors import PlanIsStale
from plimsoll.fitted import Fitted, Plan, report_of
from plimsoll.formats.format import SystemText
from plimsoll.message import FormatName
from plimsoll.payloads import Adopted, Compaction
from plimsoll.ports import Damage
from plimsoll.references import place_of, text_of
from plimsoll.store.cache import CacheStats
from plimsoll.surroundings import layers
from plimsoll.writing import written

if TYPE_CHECKING:
    from plimsoll.recall.finder import Finder
    from plimsoll.recall.search import Hit


class Session:
    """One conversation. Make one with `plimsoll.open`; use it from one thread at a time.

    Sizes are in tokens. Appending is durable when it returns. A method that raises leaves the session as it was.
    """

    def __init__(self, chronicle: Chronicle, *, summarizer: AsyncSummarizer | None = None) -> None:
        self._chronicle = chronicle
        self._summarizer = checked(summarizer)
        self._finder: Finder | None = None

    @property
    def name(self) -> str:
        """Its name in its store."""
        return self._chronicle.log.name

    def append(self, message: Mapping[str, Any]) -> str:
        """Add a message to the end of the history and return its id. Raises FormatError, LimitExceeded, StoreError."""
        return self.extend([message])[0]

    def extend(self, messages: Sequence[Mapping[str, Any]]) -> list[str]:
        """Add several messages, all or none, and return their ids. Raises FormatError, LimitExceeded, StoreError."""
        return [f"m{position}" for position in self._chronicle.append(messages)]

    def view(self, query: str | None = None) -> list[dict[str, Any]]:
        """The messages to send now: within the budget, valid for the provider. Compacts first when the load lines say so.

        Between two compactions a view is the one before it and the new messages, byte for byte. `query` says what is asked
        next: a compaction that is due keeps longer what answers it. Raises CannotFit, StoreError.
        """
        if self._is_due():
            self._commit(drive(self._planning(query), self._summarizer), "auto")
        return self._chronicle.written()

    def peek(self) -> list[dict[str, Any]]:
        """The view as it stands: what `view` would give if no compaction were due. Changes nothing, also when only reading."""
        return self._chronicle.written()

    async def aview(self, query: str | None = None) -> list[dict[str, Any]]:
        """`view` for callers that await; the summariser may be a coroutine function, and disk work stays off the loop."""
        if self._is_due():
            from asyncio import to_thread  # noqa: PLC0415 - callers who do not await need not load it

            outline = await adrive(self._planning(query), self._summarizer)
            await to_thread(self._commit, outline, "auto")
        return self._chronicle.written()

    def check(self) -> Check:
        """Whether a compaction is due, how urgently, and by which line."""
        return self._chronicle.check()

    def status(self) -> Status:
        """How full the view is. Changes nothing."""
        return status_of(self._chronicle.total(), self._chronicle.gauge.lines)

    def stats(self) -> Stats:
        """What compactions have done so far."""
        return self._chronicle.timeline.stats

    def cache_info(self) -> CacheStats:
        """How often a message that was read back from the log was still at hand, and how many are held. Never the whole history."""
        return self._chronicle.originals.info()

    def can_append(self, message: Mapping[str, Any]) -> bool:
        """Whether the view with this message still fits its budget without a compaction. Raises FormatError."""
        return self._chronicle.total() + self._chronicle.cost(message) <= self._chronicle.gauge.budget.tokens

    def preview(self, *, focus: str | None = None) -> Plan:
        """What `compact` would do now. Changes nothing. Raises CannotFit."""
        outline = drive(self._planning(focus, asked=True), self._summarizer)
        return self._plan_of(outline)

    def compact(
        self, plan: Plan | None = None, *, trigger: str = "manual", focus: str | None = None, rebase: bool = False
    ) -> Compaction:
        """Compact now, or carry out a plan from `preview`. Recorded, and undone by `rollback`.

        A plan made before the newest messages raises PlanIsStale; with `rebase` a new one is made and an edited summary is
        put into it. With nothing to do nothing is recorded, and the compaction returned has no id. Raises CannotFit.
        """
        if plan is None:
            return self._commit(drive(self._planning(focus, asked=True), self._summarizer), trigger)
        return self._commit(self._current(plan, rebase=rebase).outline, trigger)

    async def acompact(
        self, plan: Plan | None = None, *, trigger: str = "manual", focus: str | None = None, rebase: bool = False
    ) -> Compaction:
        """`compact` for callers that await."""
        from asyncio import to_thread  # noqa: PLC0415 - as above

        if plan is None:
            outline = await adrive(self._planning(focus, asked=True), self._summarizer)
            return await to_thread(self._commit, outline, trigger)
        return await to_thread(self.compact, plan, trigger=trigger, rebase=rebase)

    def compactions(self) -> list[Compaction]:
        """Every compaction carried out, oldest first, those undone since included."""
        return self._chronicle.compactions()

    def view_after(self, compaction_id: str) -> list[dict[str, Any]]:
        """The view that a compaction led to, as it was then. Raises SettingError for an id of no compaction."""
        return self._chronicle.view_after(compaction_id)

    def rollback(self, compaction_id: str | None = None) -> Compaction:
        """Undo a compaction (by default the newest in force) and those after it: the view is again what it was.

        Messages appended since are in it as they would have been. `reapply` undoes this. Raises SettingError when there is
        no such compaction in force.
        """
        return self._chronicle.rollback(compaction_id)

    def reapply(self, compaction_id: str | None = None) -> Compaction:
        """Undo a rollback: the view goes on again from a compaction that was undone (by default the newest such).

        Raises SettingError when there is none.
        """
        return self._chronicle.reapply(compaction_id)

    def history(self) -> list[dict[str, Any]]:
        """Every message ever appended, whole, in order."""
        return self._chronicle.history()

    def messages(
        self,
        *,
        last: int | None = None,
        since_ms: int | None = None,
        max_tokens: int | None = None,
        before: str | None = None,
    ) -> list[Said]:
        """The newest messages of the history, in order, each whole and with its id and time; without bounds, all of them.

        At most `last` of them, none older than the Unix time `since_ms`, together no more than `max_tokens`, and only those before
        the message with the id `before`: whichever is reached first. Reads no further back. Raises SettingError, StoreError.
        """
        return newest(self._chronicle, last=last, since_ms=since_ms, max_tokens=max_tokens, before=before)

    def context(self) -> ContextLayers:
        """Where the session runs and what goes on in it: system, session, conversation, tools, workspace.

        System and workspace are as `plimsoll.open` found them last, the session's layer is what it was given; the others are
        gathered from the newest messages now. Raises StoreError.
        """
        return layers(self._chronicle)

    def read(self, reference: str, *, offset: int = 0, limit: int | None = None) -> str:
        """Text that left the view, by the reference it left behind: the same text, checked by hash.

        `offset` and `limit` are in characters. Raises ReferenceNotFound, SessionDamaged.
        """
        position, _ = place_of(reference)
        text = text_of(self._chronicle.message(position, reference), reference, self.name)
        start = max(0, offset)
        return text[start:] if limit is None else text[start : start + max(0, limit)]

    def recall(self, query: str, *, max_tokens: int = 2000) -> list[Hit]:
        """Stretches of the history that answer a query and that the view does not show word for word, best first.

        Their texts are at most `max_tokens` in all. `read(hit.reference)` gives the whole part that a hit stands in. The first
        search reads the whole history. Raises SettingError, StoreError.
        """
        from plimsoll.recall.finder import Finder  # noqa: PLC0415 - only where something is searched

        chronicle, self._finder = self._chronicle, self._finder or Finder()
        return self._finder.find(query, chronicle.timeline, counter=chronicle.gauge.counter, max_tokens=max_tokens)

    def tools(self, format: str = "openai-chat") -> list[dict[str, Any]]:
        """`recall` and `read` as tool definitions for the model: openai-chat, openai-responses or anthropic.

        Open the session with `recall_tools=True` where the model is given them: then the budget counts them, and summaries
        say that the rest can be found. Raises SettingError for another format.
        """
        from plimsoll.recall.tools import definitions  # noqa: PLC0415 - only where a model has them

        return definitions(format)

    def call_tool(self, name: str, arguments: Mapping[str, Any] | str) -> str:
        """Run `recall` or `read` for the model; `arguments` as an object or as JSON text.

        The answer is small enough to stay whole when it is appended; for arguments it cannot use, it says what to do. Raises
        SettingError for another tool, StoreError.
        """
        from plimsoll.recall.tools import Toolbox  # noqa: PLC0415 - as above

        gauge = self._chronicle.gauge
        toolbox = Toolbox(
            recall=lambda query, tokens_max: self.recall(query, max_tokens=tokens_max),
            read=self.read,
            counter=gauge.counter,
            tokens_max=gauge.tool_answer_tokens_max,
        )
        return toolbox.call(name, arguments)

    def pin(self, message_id: str) -> None:
        """Keep a message in every view. Raises SettingError for an id that is not in the history."""
        self._chronicle.pin(message_id, pinned=True)

    def unpin(self, message_id: str) -> None:
        """Let a message leave again. Raises SettingError for an id that is not in the history."""
        self._chronicle.pin(message_id, pinned=False)

    def record_usage(self, prompt_tokens: int, completion_tokens: int, cached_tokens: int = 0) -> None:
        """What the provider reported for the view last sent: corrects estimated counts. Raises SettingError."""
        self._chronicle.record_usage(prompt_tokens, completion_tokens, cached_tokens)

    def fork(self, at: str | None = None, *, name: str | None = None) -> Session:
        """A new session with the same history up to and including message `at` (None: all of it), and its own future.

        Raises SettingError for an id that is not in the history, StoreError.
        """
        return Session(self._chronicle.fork(at, name), summarizer=self._summarizer)

    @property
    def damage(self) -> tuple[Damage, ...]:
        """What could not be read of the log so far. Everything else is there; `plimsoll verify` looks at all of it."""
        return self._chronicle.log.damage

    @property
    def format(self) -> FormatName:
        """The format its messages came in; "openai-chat" while there are none."""
        return self._chronicle.gauge.format.name

    @property
    def system(self) -> SystemText:
        """The system text that is sent beside every view, if it was given apart."""
        return self._chronicle.gauge.system

    def put_blob(self, data: bytes) -> str:
        """Keep bytes beside the session and return the name that `get_blob` reads them by. Raises StoreError."""
        return self._chronicle.log.put_blob(data)

    def get_blob(self, reference: str) -> bytes:
        """The same bytes, checked by hash. Raises ReferenceNotFound, SessionDamaged."""
        return self._chronicle.log.get_blob(reference)

    def notes(self, what: str) -> list[Mapping[str, Any]]:
        """Notes of one kind that were put beside the messages, oldest first."""
        return self._chronicle.notes(what)

    def adopt(self, view: Sequence[Adopted], *, summary: str | None, note: Mapping[str, Any]) -> Compaction:
        """Go on from a view as another tool left it: recorded as a compaction with trigger "import". See interchange.py."""
        return self._chronicle.adopt([self._chronicle.adopted(item) for item in view], summary, note)

    def close(self) -> None:
        """Let go of the log and its write lock. Closing twice is fine."""
        self._chronicle.close()

    def __enter__(self) -> Self:
        """The session itself; leaving the block closes it."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _is_due(self) -> bool:
        return self._chronicle.check().should_compact

    def _planning(self, focus: str | None, *, asked: bool = False) -> Compacting:
        """The steps to a compaction of the view as it stands; `asked` when somebody wants one whatever the load."""
        return self._chronicle.planning(focus, asked=asked, asks_model=self._summarizer is not None)

    def _plan_of(self, outline: Outline) -> Plan:
        chronicle = self._chronicle

        def reword(outline: Outline, text: str) -> Outline:
            return reworded(outline, text, chronicle.draft(()), chronicle.task(None))

        def write(outline: Outline) -> Fitted:
            closing = chronicle.closing({call.id for piece in outline.pieces for call in piece.message.calls})
            messages = written([*outline.pieces, *closing], chronicle.gauge.format)
            return Fitted(messages=messages, report=report_of(outline))

        return Plan(outline=outline, made_at=chronicle.state(), _write=write, _reword=reword)

    def _current(self, plan: Plan, *, rebase: bool) -> Plan:
        """The plan if it is one for the session as it stands; a new one with its edited summary when asked to rebase."""
        if plan.made_at == self._chronicle.state():
            return plan
        if not rebase:
            raise PlanIsStale(planned_for=plan.made_at[0], now=self._chronicle.state()[0])
        fresh = self.preview()
        edited = plan.outline.stage == "edited" and plan.summary is not None and fresh.summary is not None
        return fresh.with_summary(plan.summary or "") if edited else fresh

    def _commit(self, outline: Outline, trigger: str) -> Compaction:
        return self._chronicle.commit(outline, trigger)
