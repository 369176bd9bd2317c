"""The file a session came from, as far as the session has taken it in: kept beside the messages, noted in the log.

A note says which bytes were read and where each message of the file is in the session. When the file grows, or is written in its
place, another note follows; the bytes that were there are not kept again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from plimsoll.dataclass import dataclass
from plimsoll.protocols import SessionLog
from plimsoll.records.compactions import IMPORT
from plimsoll.records.values import Compaction, compaction_of
from plimsoll.session.recorder import SessionRecorder
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.values import ToolName, Transcript

SOURCE = "source"
"""The kind of the note."""

Run = tuple[int, int, int]
"""Messages `[start, stop)` of the file that are in the session from a position on."""


@dataclass(frozen=True, kw_only=True)
class SourceFile:
    """The file as it was read last. `taken` is how many messages the session had then, `path` where the file is."""

    tool: ToolName
    blobs: tuple[str, ...]
    taken: int
    runs: tuple[Run, ...]
    path: str | None
    base: int | None
    """Record of the compaction of ours that the file says, where it was written in its place."""
    note: Mapping[str, Any]
    log: SessionLog

    @classmethod
    def of(cls, recorder: SessionRecorder, held: bytes | None = None) -> SourceFile | None:
        """The file of a session; None for one that came from none.

        `held` is what the file holds now: it may have been put back, or never been written, to what it was before. So the newest
        state is taken that it begins with, and where there is none, the newest.
        """
        found = [cls._noted(note, recorder.log) for note in reversed(recorder.notes(SOURCE))]
        known = (source for source in found if held is not None and held.startswith(source.raw))
        return next(known, found[0] if found else None)

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
        """What is in it; None where that cannot be read as a tool's file."""
        found = load_file(self.raw)
        return found if isinstance(found, Transcript) else None

    def position(self, index: int) -> int | None:
        """Where a message of the file is in the session; None for one that is not."""
        return next((to + index - start for start, stop, to in self.runs if start <= index < stop), None)

    def index(self, position: int) -> int | None:
        """Which message of the file a message of the session is; None for one that is not in it."""
        return next(
            (start + position - to for start, stop, to in self.runs if to <= position < to + stop - start), None
        )

    @property
    def is_whole(self) -> bool:
        """Whether the session's first messages are the file's, one for one."""
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
        """The note for the same file with more behind what was read before. Keeps the new bytes.

        `path`: where it was found, if that is another place. `says_view`: its tool would send the session's view, which a
        compaction of ours may have led to.
        """
        more = [*self.blobs[1:], recorder.log.put_blob(raw[len(self.raw) :])]
        taken, base = recorder.log.messages, recorder.state.base if says_view else None
        where = {"more": more, "runs": [list(run) for run in joined(runs)], "path": path or self.path}
        return {**self.note, "messages": taken, "taken": taken, "base": base, **where}


def source_note(tool: str, blob: str, *, taken: int, **about: Any) -> dict[str, Any]:
    """The note of a file that was read whole, each of its messages one of the session's. What is None of `about` is left out."""
    known = {key: value for key, value in about.items() if value is not None}
    return {"what": SOURCE, "tool": tool, "blob": blob, "messages": taken, "taken": taken, **known}


def joined(runs: Iterable[Run]) -> tuple[Run, ...]:
    """The same runs, those that follow each other as one, empty ones left out."""
    found: list[Run] = []
    for start, stop, to in runs:
        if found and found[-1][1] == start and found[-1][2] + start - found[-1][0] == to:
            found[-1] = (found[-1][0], stop, found[-1][2])
        elif start < stop:
            found.append((start, stop, to))
    return tuple(found)


def own_compaction(recorder: SessionRecorder) -> Compaction | None:
    """The compaction of ours that the view goes on from; None where it goes on from another tool's, or from the beginning."""
    base = recorder.state.base
    found = None if base is None else compaction_of(recorder.compaction(f"c{base}"))
    return None if found is None or found.stage == IMPORT else found
