"""The file a session was imported from: its bytes are stored with the session, and notes in the log describe them.

A note lists the stored bytes and the position of each message of the file in the session. When the file has grown or is written
in place, another note follows; only the new bytes are stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from plimsoll.light.dataclass import dataclass
from plimsoll.protocols import SessionLog
from plimsoll.records.compactions import IMPORT
from plimsoll.records.values import Compaction, compaction_of
from plimsoll.session.recorder import SessionRecorder
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.values import ToolName, Transcript

SOURCE = "source"
"""Kind of the note."""

Run = tuple[int, int, int]
"""Messages `[start, stop)` of the file, which are in the session from a position on."""


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """The file as last read. `taken` is the number of messages the session had then."""

    tool: ToolName
    blobs: tuple[str, ...]
    taken: int
    runs: tuple[Run, ...]
    path: str | None
    base: int | None
    """Record of plimsoll's compaction that the file contains, if it was written in place."""
    note: Mapping[str, Any]
    log: SessionLog

    @classmethod
    def states(cls, recorder: SessionRecorder) -> list[SourceFile]:
        """The file of a session in all its states, the newest first; empty for a session that was not imported."""
        return [cls._noted(note, recorder.log) for note in reversed(recorder.notes(SOURCE))]

    @classmethod
    def _noted(cls, note: Mapping[str, Any], log: SessionLog) -> SourceFile:
        messages = note["messages"]
        return cls(
            tool=note["tool"],
            blobs=(note["blob"], *note.get("more", ())),
            taken=note.get("taken", messages),
            runs=tuple((start, stop, position) for start, stop, position in note.get("runs", [(0, messages, 0)])),
            path=note.get("path"),
            base=note.get("base"),
            note=note,
            log=log,
        )

    @cached_property
    def raw(self) -> bytes:
        """Its bytes. Raises ReferenceNotFound, SessionDamaged."""
        return b"".join(map(self.log.get_blob, self.blobs))

    @cached_property
    def transcript(self) -> Transcript | None:
        """The parsed file; None if it cannot be read as a tool's session."""
        found = load_file(self.raw)
        return found if isinstance(found, Transcript) else None

    @staticmethod
    def held(states: Sequence[SourceFile], held: bytes) -> SourceFile:
        """The newest state that the file's current content begins with, else the newest of all.

        The content may be of an earlier state, restored or never overwritten.
        """
        return next((source for source in states if held.startswith(source.raw)), states[0])

    def position(self, index: int) -> int | None:
        """Position in the session of a message of the file, or None."""
        return next((to + index - start for start, stop, to in self.runs if start <= index < stop), None)

    def index(self, position: int) -> int | None:
        """Index in the file of a message of the session, or None."""
        return next(
            (start + position - to for start, stop, to in self.runs if to <= position < to + stop - start), None
        )

    @property
    def is_whole(self) -> bool:
        """Whether the session's first messages are exactly the file's."""
        return self.runs == ((0, self.taken, 0),)

    def grown(
        self,
        recorder: SessionRecorder,
        raw: bytes,
        runs: Sequence[Run],
        *,
        path: str | None = None,
        says_view: bool = False,
    ) -> dict[str, Any]:
        """The note for the file with more appended. Stores the new bytes.

        `path`: its new path, if it has moved. `says_view`: the tool would send the session's view, also if plimsoll
        compacted it.
        """
        more = [*self.blobs[1:], recorder.log.put_blob(raw[len(self.raw) :])]
        taken, base = recorder.log.messages, recorder.state.base if says_view else None
        where = {"more": more, "runs": [list(run) for run in joined(runs)], "path": path or self.path}
        return {**self.note, "messages": taken, "taken": taken, "base": base, **where}


def source_note(tool: str, blob: str, *, taken: int, **about: Any) -> dict[str, Any]:
    """The note of a file imported as a whole. Values of None in `about` are omitted."""
    known = {key: value for key, value in about.items() if value is not None}
    return {"what": SOURCE, "tool": tool, "blob": blob, "messages": taken, "taken": taken, **known}


def joined(runs: Iterable[Run]) -> tuple[Run, ...]:
    """Merge adjacent runs and drop empty ones."""
    found: list[Run] = []
    for start, stop, to in runs:
        if found and found[-1][1] == start and found[-1][2] + start - found[-1][0] == to:
            found[-1] = (found[-1][0], stop, found[-1][2])
        elif start < stop:
            found.append((start, stop, to))
    return tuple(found)


def own_compaction(recorder: SessionRecorder) -> Compaction | None:
    """The compaction by plimsoll that the view is based on; None if it is based on another tool's, or on none."""
    base = recorder.state.base
    found = None if base is None else compaction_of(recorder.compaction(f"c{base}"))
    return None if found is None or found.stage == IMPORT else found
