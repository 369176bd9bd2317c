"""What a session does about text that left its view: search it, read it back, and let a model do both."""

from __future__ import annotations

from abc import ABC
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plimsoll.compaction.drive import AsyncSummarizer
from plimsoll.session.awaiting import AwaitedSession
from plimsoll.session.messages import text_at
from plimsoll.session.recorder import SessionRecorder, locked
from plimsoll.validation import char_slice

if TYPE_CHECKING:
    from plimsoll.recall.search import Hit
    from plimsoll.recall.tools import ToolFormat
    from plimsoll.report.inspection import Inspection
    from plimsoll.report.measure import Measure
    from plimsoll.session.finder import Finder


class SearchedSession(AwaitedSession, ABC):
    """The half of a session that looks back."""

    def __init__(self, recorder: SessionRecorder, summarizer: AsyncSummarizer | None) -> None:
        super().__init__(recorder, summarizer)
        self._finder: Finder | None = None

    @locked
    def read(self, reference: str, *, offset: int = 0, limit: int | None = None) -> str:
        """Text that left the view, or was stored with the session, by its reference: the same text, checked by hash.

        Args:
            reference: as a shortened message or a hit names it; or a message, such as "m12": the text of all its parts. A
                picture reads as what it was: kind, type, size, hash.
            offset: skip this many characters.
            limit: at most this many characters.

        Raises: ReferenceNotFound, SessionDamaged.

        """
        return text_at(self._recorder, reference)[char_slice(offset, limit)]

    @locked
    def recall(self, query: str, *, max_tokens: int = 2000, limit: int | None = None) -> list[Hit]:
        """Parts of the history that answer a query and that the view does not show word for word, best first.

        The first search reads the whole history.

        Args:
            query: what to look for, in a few words.
            max_tokens: the most tokens of all texts together.
            limit: the most hits.

        Returns: hits, each with its text and the reference by which `read` gives the whole part back.

        Raises: SettingError, StoreError.

        """
        from plimsoll.session.finder import Finder  # noqa: PLC0415 - only where something is searched

        recorder = self._recorder
        meter, self._finder = recorder.meter, self._finder or Finder(recorder.meter.tool_names)
        return self._finder.find(query, recorder.state, counter=meter.counter, max_tokens=max_tokens, limit=limit)

    @locked
    def measure(self) -> Measure:
        """How large the view is: its tokens by role, kind of content and tool, and its largest messages."""
        from plimsoll.session.inspect import measure_of  # noqa: PLC0415 - only where the sizes are asked for

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

        Open the session with `recall_tools=True` where the model is given them: then the budget counts them, and summaries
        say that the rest can be found. Where one of the caller's `tools` has such a name, ours takes another; so ask `is_tool`.
        Raises SettingError for another format.
        """
        from plimsoll.recall.tools import definitions  # noqa: PLC0415 - only where a model has them

        return definitions(format, self._recorder.meter.tool_names)

    def is_tool(self, name: str) -> bool:
        """Whether a call of that name is for `call_tool`, and not for one of the caller's own tools."""
        return isinstance(name, str) and name in self._recorder.meter.tool_names

    @locked
    def call_tool(self, name: str, arguments: Mapping[str, Any] | str) -> str:
        """Run one of `tools()` for the model; `arguments` as an object or as JSON text.

        The answer is small enough to stay whole when it is appended; for arguments it cannot use, it says what to do. Raises
        SettingError for another tool, StoreError.
        """
        from plimsoll.recall.tools import Toolbox  # noqa: PLC0415 - as above

        meter = self._recorder.meter
        toolbox = Toolbox(
            recall=lambda query, tokens_max: self.recall(query, max_tokens=tokens_max),
            read=self.read,
            counter=meter.counter,
            tokens_max=meter.tool_answer_tokens_max,
            names=meter.tool_names,
        )
        return toolbox.call(name, arguments)
