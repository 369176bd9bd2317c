"""The methods of a session for text that left its view: search, reading it back, and tools for a model to do both."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from plimsoll.compaction.drive import AsyncSummarizer
from plimsoll.errors import PlimsollError
from plimsoll.limits import RECALL_KEPT_CHARS_MIN
from plimsoll.policy.validation import boolean, char_slice, one_of
from plimsoll.session.awaiting import AwaitedSession
from plimsoll.session.messages import text_at
from plimsoll.session.recorder import SessionRecorder, locked
from plimsoll.store.indexes import KeepsIndex

if TYPE_CHECKING:
    from plimsoll.recall.filters import HitOrder, SpeakerRole
    from plimsoll.recall.search import Hit
    from plimsoll.recall.tools import ToolFormat
    from plimsoll.report.inspection import Inspection
    from plimsoll.report.measure import Measure
    from plimsoll.session.finder import Finder


class SearchedSession(AwaitedSession, ABC):
    """The search methods of a session."""

    def __init__(self, recorder: SessionRecorder, summarizer: AsyncSummarizer | None) -> None:
        super().__init__(recorder, summarizer)
        self._finder: Finder | None = None
        self._records_before = recorder.log.length
        """Records that were there when the session was opened."""

    @locked
    def read(self, reference: str, *, offset: int = 0, limit: int | None = None) -> str:
        """Read back text that left the view or was stored with the session. The text is verified by hash.

        Args:
            reference: as given in a shortened message or a hit; or a message id such as "m12" for the text of all its parts. A
                picture is described by kind, type, size and hash.
            offset: skip this many characters.
            limit: at most this many characters.

        Raises: ReferenceNotFound, SessionDamaged.

        """
        return text_at(self._recorder, reference)[char_slice(offset, limit)]

    @locked
    def recall(  # noqa: PLR0913 - one search
        self,
        query: str,
        *,
        max_tokens: int = 2000,
        limit: int | None = None,
        order: HitOrder = "best",
        role: SpeakerRole | None = None,
        tool: str | None = None,
        before: str | int | None = None,
        after: str | int | None = None,
        shown: bool = False,
    ) -> list[Hit]:
        """Search the part of the history that the view does not show verbatim.

        The first search opens the index that is kept with the session, or reads the whole history.

        Args:
            query: a few words to look for.
            max_tokens: limit for all texts together.
            limit: limit for the number of hits; the best ones are kept.
            order: "best" first, or as they were "said".
            role: search only what this one said: "user", "assistant" (with its calls), "tool" (results), "system" or "summary".
            tool: search only calls and results of this tool.
            before: search only what was said before this message ("m12", or 12) or day ("2026-05-17").
            after: search only what was said after this message, or from this day on.
            shown: search what the view shows too, as for a reader who does not have the view.

        Returns: hits, each with its text and the reference with which `read` returns the whole part.

        Raises: SettingError, StoreError.

        """
        from plimsoll.recall.filters import filters_of  # noqa: PLC0415 - only needed to search

        recorder = self._recorder
        chosen = one_of("order", order, ("best", "said"))
        hits = self._searcher().find(
            query,
            recorder.state,
            counter=recorder.meter.counter,
            max_tokens=max_tokens,
            limit=limit,
            filters=filters_of(role, tool, before, after),
            shown=boolean("shown", shown),
        )
        return sorted(hits, key=lambda hit: (hit.position, hit.offset)) if chosen == "said" else hits

    def _searcher(self) -> Finder:
        from plimsoll.session.finder import Finder  # noqa: PLC0415 - only needed to search

        self._finder = self._finder or Finder(self._recorder.meter.tool_names)
        return self._finder

    def _leave(self) -> None:
        """Keep the index of what was said. Failures cost only time, at the next search."""
        recorder = self._recorder
        log = recorder.log
        if recorder.is_closed or not isinstance(log, KeepsIndex) or not (log.keeps_index and log.outlives_process):
            return
        edits = recorder.state.history.branch.changed.values()
        if log.appended_bytes >= RECALL_KEPT_CHARS_MIN or max(edits, default=-1) >= self._records_before:
            with suppress(PlimsollError):
                self._searcher().leave(recorder.state)

    @locked
    def measure(self) -> Measure:
        """The size of the view: tokens by role, kind of content and tool, and the largest messages."""
        from plimsoll.session.inspect import measure_of  # noqa: PLC0415 - only needed to measure

        return measure_of(self._recorder)

    @locked
    def inspect(self) -> Inspection:
        """What fills the view, and what `compact` would do to it now and why, without asking a model. Changes nothing.

        Raises CannotFit.
        """
        from plimsoll.session.inspect import inspection_now  # noqa: PLC0415 - as above

        return inspection_now(self._recorder)

    def tools(self, format: ToolFormat = "openai-chat") -> list[Any]:
        """`recall` and `read` as tool definitions for the model: openai-chat, openai-responses or anthropic.

        Open the session with `recall_tools=True` if the model is given them, so that the budget counts them and summaries
        mention that the rest can be found. If one of the caller's `tools` has the same name, another is chosen, so use
        `is_tool`. Raises SettingError for other formats.
        """
        from plimsoll.recall.tools import definitions  # noqa: PLC0415 - only needed with recall tools

        return definitions(format, self._recorder.meter.tool_names)

    def is_tool(self, name: str) -> bool:
        """True if a call of that name is for `call_tool` and not for one of the caller's tools."""
        return isinstance(name, str) and name in self._recorder.meter.tool_names

    @locked
    def call_tool(self, name: str, arguments: Mapping[str, Any] | str, *, shown: bool = False) -> str:
        """Run one of `tools()` for the model; `arguments` is an object or JSON text, `shown` is as in `recall`.

        The answer is small enough not to be cut when it is appended; for invalid arguments it explains the error to the model.
        With `shown` its hits have whole references, which no other session has: so hosts with several sessions call it.
        Raises SettingError for other tools, StoreError.
        """
        from plimsoll.recall.tools import Toolbox  # noqa: PLC0415 - as above

        meter, is_shown = self._recorder.meter, boolean("shown", shown)
        toolbox = Toolbox(
            recall=lambda query, tokens_max: self.recall(query, max_tokens=tokens_max, shown=is_shown),
            read=self.read,
            counter=meter.counter,
            tokens_max=meter.tool_answer_tokens_max,
            names=meter.tool_names,
            is_only=not is_shown,
        )
        return toolbox.call(name, arguments)
