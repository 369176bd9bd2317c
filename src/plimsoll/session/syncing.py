"""`sync`: a session for hosts that hold the whole list of messages themselves and hand it over at each call."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from plimsoll.compaction.drive import AsyncSummarizer, adrive, drive
from plimsoll.compaction.meter import checked_tools
from plimsoll.compaction.result import View
from plimsoll.errors import FormatError
from plimsoll.formats.detect import tool_list
from plimsoll.formats.format import SystemText
from plimsoll.formats.system_text import system_message
from plimsoll.message import MessageLike
from plimsoll.session.awaiting import AwaitedSession
from plimsoll.session.compact import Carrying, viewed
from plimsoll.session.concurrency import THREADS
from plimsoll.session.recorder import SessionRecorder

if TYPE_CHECKING:
    from plimsoll.session.sync.mirror import Mirror

Tools = Sequence[Mapping[str, Any]]


def _listed(messages: object) -> list[Any]:
    """The items of a list. Raises FormatError for what is none."""
    if isinstance(messages, str | bytes | Mapping) or not isinstance(messages, Iterable):
        raise FormatError(f"messages must be a list, not {type(messages).__name__}")
    return list(messages)


class SyncedSession(AwaitedSession):
    """The part of a session that takes in whole lists."""

    def __init__(self, recorder: SessionRecorder, summarizer: AsyncSummarizer | None) -> None:
        super().__init__(recorder, summarizer)
        self._mirror: Mirror | None = None
        """What the lists have said so far; None before the first."""
        self._tools: list[Mapping[str, Any]] | None = None
        self._beside_changed = False
        """Whether what is sent beside the messages has changed since a list was taken in."""

    @property
    def history_count(self) -> int:
        """How many messages the history holds: those that were appended, less those that `sync` took out since."""
        return self._recorder.state.history.count

    def sync(
        self,
        messages: Sequence[MessageLike],
        *,
        query: str | None = None,
        system: SystemText = None,
        tools: Tools | None = None,
    ) -> View:
        """Take in a conversation as its host holds it, the whole list at each call, and give the view to send.

        What is new is appended. What the session has seen before is recognised by what it says, also where the host has encoded
        it anew: SDK objects and dicts, other key order, text or one text block, absent or null fields, moved cache marks, joined
        neighbours, reasoning left out; and a view of this session that comes back with more messages behind it. Where the list
        goes another way than the history (a message edited, an answer asked for again, the end taken back), the history goes on
        from there: what the list no longer holds is in no view, is not found by recall and not in `history()`, and stays in the
        log, where `history(all=True)`, `read` and `fork(at=...)` find it.

        Args:
            messages: The whole list, of dicts and objects of the provider's SDK. It is not changed, and nothing of it is shared
                with the view.
            query: What is asked next: a compaction that is due keeps longer what answers it.
            system: System text that is sent beside the messages. None leaves it as it was.
            tools: Tool definitions that are sent beside them. None leaves them as they were.

        Returns:
            The messages to send. `origins` says for each the positions in `messages` that it came from.

        Raises:
            CannotFit: The frame alone is larger than the budget; what is new was taken in.
            FormatError, LimitExceeded, SettingError, StoreError: Nothing was taken in.

        """
        with self._turn.held():
            return drive(
                self._syncing(_listed(messages), query, system, tools), self._summarizer, self._recorder.access
            )

    async def sync_async(
        self,
        messages: Sequence[MessageLike],
        *,
        query: str | None = None,
        system: SystemText = None,
        tools: Tools | None = None,
    ) -> View:
        """`sync` for callers that await; the summariser may be a coroutine function."""
        given = _listed(messages)
        async with self._turn.aheld():
            steps = self._syncing(given, query, system, tools)
            return await adrive(steps, self._summarizer, THREADS, self._recorder.access)

    def _syncing(
        self, messages: Sequence[Any], query: str | None, system: SystemText, tools: Tools | None
    ) -> Carrying[View]:
        from plimsoll.session.sync.mirror import Mirror  # noqa: PLC0415 - only where lists are taken in

        self._take_options(system, tools)
        mirror = self._mirror = self._mirror or Mirror()
        mirror.take_in(self._recorder, messages, beside_changed=self._beside_changed)
        self._beside_changed = False
        view = yield from viewed(self._recorder, query, asks_model=self._asks_model)
        return mirror.placed(view)

    def _take_options(self, system: SystemText, tools: Tools | None) -> None:
        """Measure by what the host sends beside the messages this time."""
        before = self._recorder.meter.system
        if system is not None and system_message(system) and system != before:
            self._beside_changed = self._beside_changed or before is not None
            self._recorder.meter = replace(self._recorder.meter, system=deepcopy(system))
        if tools is None or (self._tools is not None and list(tool_list(tools)) == self._tools):
            return
        known = checked_tools(tools) or []
        if self._recorder.meter.recall:
            from plimsoll.recall.tools import definitions  # noqa: PLC0415 - only where a model has them

            known = [*known, *definitions(names=self._recorder.meter.tool_names)]
        meter = self._recorder.meter
        budget = replace(meter.budget, unseen_tokens=0, tools_tokens=meter.messages.tools(known))
        self._recorder.meter = replace(meter, budget=budget)
        self._recorder.calibrate()
        self._beside_changed = self._beside_changed or self._tools is not None
        self._tools = deepcopy(list(tools))
