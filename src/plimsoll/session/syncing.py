"""`sync`: sessions for hosts that keep the list of messages themselves and pass all of it on each call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from plimsoll.compaction.drive import AsyncSummarizer
from plimsoll.compaction.meter import checked_tools
from plimsoll.compaction.result import View
from plimsoll.errors import FormatError
from plimsoll.formats.cache_marks import leading_marks
from plimsoll.formats.detect import tool_list
from plimsoll.formats.format import SystemText
from plimsoll.formats.system_text import system_message
from plimsoll.light.dataclass import replace
from plimsoll.message import MessageLike
from plimsoll.policy.budget import Budget
from plimsoll.policy.validation import integer
from plimsoll.session.awaiting import AwaitedSession
from plimsoll.session.compact import Carrying, viewed
from plimsoll.session.recorder import SessionRecorder, locked

if TYPE_CHECKING:
    from plimsoll.session.sync.mirror import Mirror

Tools = Sequence[Mapping[str, Any]]


def _listed(messages: object) -> list[Any]:
    """The items of a list. Raises FormatError for other types."""
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise FormatError(f"messages must be a list, not {type(messages).__name__}")
    return list(messages)


class SyncedSession(AwaitedSession):
    """The `sync` methods of a session."""

    def __init__(self, recorder: SessionRecorder, summarizer: AsyncSummarizer | None) -> None:
        super().__init__(recorder, summarizer)
        self._mirror: Mirror | None = None
        """The last synced list; None before the first."""
        self._tools: list[Mapping[str, Any]] | None = None
        self._beside_changed = False
        """True if the system text or tools have changed since the last sync."""

    @property
    def history_count(self) -> int:
        """Number of messages in the history: those appended, less those that `sync` removed."""
        return self._recorder.state.history.count

    @property
    @locked
    def is_shortened(self) -> bool:
        """True if the view says less than the history: a compaction is in force, or a tool result was shortened on arrival."""
        state, meter = self._recorder.state, self._recorder.meter
        if state.base is not None or meter.policy.tool_result_tokens_max is None:
            return state.base is not None
        return state.entries.shortened()

    def sync(
        self,
        messages: Sequence[MessageLike],
        *,
        query: str | None = None,
        system: SystemText = None,
        tools: Tools | None = None,
        max_tokens: int | None = None,
    ) -> View:
        """Take in a conversation as its host holds it, the whole list on each call, and return the view to send.

        New messages are appended. Known messages are recognised by content, even if the host encoded them differently: SDK
        objects or dicts, key order, text or a single text block, absent or null fields, moved cache marks, merged neighbours,
        omitted reasoning; also a view of this session followed by more messages. If the list deviates from the history (a
        message was edited, an answer regenerated, the end removed), the history continues from the list: messages no longer in
        it are in no view, in no search result and not in `history()`, but stay in the log for `history(all=True)`, `read` and
        `fork(at=...)`.

        Args:
            messages: The whole list, of dicts and objects of the provider's SDK. It is not modified and shares nothing with the
                view.
            query: The next question: a compaction that is due keeps messages relevant to it for longer.
            system: System text sent apart from the messages. None leaves it unchanged.
            tools: Tool definitions sent with the messages. None leaves them unchanged.
            max_tokens: The budget from now on, tools included, as when the reply's reserve changes. None leaves it unchanged.

        Returns:
            The messages to send. `origins` lists for each the positions in `messages` that it comes from.

        Raises:
            CannotFit: The required part alone exceeds the budget; new messages were appended.
            FormatError, LimitExceeded, SettingError, StoreError: Nothing was appended.

        """
        given, asks = _listed(messages), self._asks_model
        view = self._carried(self._syncing(given, query, system, tools, max_tokens, asks_model=asks))
        self._prepare()
        return view

    async def sync_async(
        self,
        messages: Sequence[MessageLike],
        *,
        query: str | None = None,
        system: SystemText = None,
        tools: Tools | None = None,
        max_tokens: int | None = None,
    ) -> View:
        """Async `sync`; the summarizer may be a coroutine function."""
        given, asks = _listed(messages), self._asks_model
        view = await self._acarried(self._syncing(given, query, system, tools, max_tokens, asks_model=asks))
        self._prepare_task()
        return view

    def _syncing(  # noqa: PLR0913 - as sync
        self,
        messages: Sequence[Any],
        query: str | None,
        system: SystemText,
        tools: Tools | None,
        max_tokens: int | None,
        *,
        asks_model: bool,
    ) -> Carrying[View]:
        from plimsoll.session.sync.mirror import Mirror  # noqa: PLC0415 - only needed to sync

        self._take_options(system, tools, max_tokens)
        mirror = self._mirror = self._mirror or Mirror()
        mirror.update(self._recorder, messages, beside_changed=self._beside_changed)
        self._beside_changed = False
        view = yield from viewed(self._recorder, query, asks_model=asks_model, ahead=self._ahead)
        return mirror.placed(view)

    def _take_options(self, system: SystemText, tools: Tools | None, max_tokens: int | None) -> None:
        """Count by the system text, the tools and the budget that the host gives this time."""
        before = self._recorder.meter.system
        if system is not None and system_message(system) and system != before:
            self._beside_changed = self._beside_changed or before is not None
            self._recorder.meter = replace(self._recorder.meter, system=deepcopy(system))
        is_new = tools is not None and (self._tools is None or list(tool_list(tools)) != self._tools)
        meter = self._recorder.meter
        known = self._known(tools) if is_new else None
        budget = Budget(
            meter.budget.window_tokens if max_tokens is None else integer("max_tokens", max_tokens, least=1),
            output_reserve_tokens=meter.budget.output_reserve_tokens if max_tokens is None else 0,
            tools_tokens=meter.budget.tools_tokens if known is None else meter.messages.tools(known),
        )
        if known is None and budget == replace(meter.budget, unseen_tokens=0):
            return
        marks = meter.tool_marks if known is None else leading_marks(None, known)
        self._recorder.meter = replace(meter, budget=budget, tool_marks=marks)
        self._recorder.calibrate()
        if known is not None:
            self._beside_changed = self._beside_changed or self._tools is not None
            self._tools = deepcopy(list(tools or ()))

    def _known(self, tools: Tools | None) -> list[Mapping[str, Any]]:
        """The tool definitions that are sent: the host's, and those of recall where the model has them."""
        known = checked_tools(tools) or []
        if self._recorder.meter.recall:
            from plimsoll.recall.tools import definitions  # noqa: PLC0415 - only needed with recall tools

            known = [*known, *definitions(names=self._recorder.meter.tool_names)]
        return known
