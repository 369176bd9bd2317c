"""Take in what was added to a session's file since its import: new messages, and the tool's own compactions."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path

from plimsoll.compaction.view_message import ViewMessage
from plimsoll.compaction.writing import written
from plimsoll.errors import SettingError, SourceChanged
from plimsoll.light.brief import pluralize
from plimsoll.light.dataclass import replace
from plimsoll.records.usage import Usage
from plimsoll.session.adopt import Adoption, adopt, as_entries
from plimsoll.session.recorder import SessionRecorder
from plimsoll.session.transfer.recorded_usage import recorded, removed_positions, times_ms, view_of
from plimsoll.session.transfer.source import SourceFile, own_compaction
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.source import unpacked
from plimsoll.transcripts.values import Transcript


def update(recorder: SessionRecorder, given: str | PathLike[str] | bytes | None) -> int:
    """Take in what was added to a session's file, as described at `Session.update`. Returns the number of new messages."""
    states = SourceFile.states(recorder)
    if not states:
        raise SettingError("update", "the session was not imported from a file of Claude Code, Codex or pi")
    newest = states[0]
    file = newest.path if given is None else given
    if file is None:
        raise SettingError("source", "the path of the file is unknown, because it was read from bytes; give it")
    where = newest.path or recorder.log.name if isinstance(file, bytes) else fspath(file)
    path = newest.path if isinstance(file, bytes) or not Path(file).is_file() else os.path.realpath(where)
    raw = unpacked(file)
    source = SourceFile.held(states, raw)
    if raw == source.raw:
        if path != newest.path:
            recorder.note({**source.note, "path": path})
        return 0
    found = load_file(raw) if raw.startswith(source.raw) else None
    if not isinstance(found, Transcript) or source.transcript is None or found.tool != source.tool:
        reason = "it no longer begins with what was imported; import it as a session of its own"
        raise SourceChanged(where, reason=reason)
    return _Update(recorder, source, source.transcript, found).take_in(where, raw, path)


class _Update:
    """What was added to a file, and how the session changes; for one use."""

    def __init__(self, recorder: SessionRecorder, source: SourceFile, old: Transcript, new: Transcript) -> None:
        self._recorder = recorder
        self._source = source
        self._old = old
        self._new = new
        self._same = _common_prefix(old, new)
        """Number of leading messages that are unchanged. The last one before may have grown by a line."""
        runs = [(start, min(stop, self._same), to) for start, stop, to in source.runs if start < self._same]
        self._runs = [*runs, (self._same, len(new.messages), source.taken)]

    def take_in(self, where: str, raw: bytes, path: str | None) -> int:
        """Append the new messages, adopt the resulting view and note the file."""
        recorder, since = self._recorder, self._same + self._count_known(where)
        before = list(recorder.state.entries)
        fresh = self._new.messages[since:]
        recorder.append((), times_ms(self._new)[since:], read=[one.message for one in fresh])
        note = self._source.grown(recorder, raw, self._runs, path=path)
        kept, adoption = self._next_view(before, since)
        entries = [*kept, *as_entries(recorder, adoption)]
        if (
            written(recorder.state.sending.settled(entries), recorder.meter.format, recorder.meter.leading_marks)
            != recorder.written()
        ):
            adopt(recorder, adoption, kept)
        recorder.note(note)
        reported = recorded(self._new, recorder.meter)
        usages = self._usages(reported.usages, since, is_own_view=bool(kept))
        recorder.record_usage(usages, recorder.state.event if reported.is_of_view else None)
        return len(fresh)

    def _usages(self, reported: Sequence[Usage], since: int, *, is_own_view: bool) -> list[Usage]:
        """The usages of the new messages. Those of requests with another view than ours say nothing about our counts."""
        found: list[Usage] = []
        for usage in reported:
            place = None if usage.position is None or usage.position < since else self._place(usage.position)
            if place is not None:
                counted_tokens = None if is_own_view else usage.counted_tokens
                found.append(replace(usage, position=place, counted_tokens=counted_tokens))
        return found

    def _count_known(self, where: str) -> int:
        """How many of the new messages the session already has. It may have no others."""
        own = self._recorder.history()[self._source.taken :]
        fresh = [dict(one.wire) for one in self._new.messages[self._same : self._same + len(own)]]
        if own != fresh:
            reason = f"the session has {pluralize(len(own), 'message')} not in it: import it as a session of its own"
            raise SourceChanged(where, reason=reason)
        return len(own)

    def _next_view(self, before: Sequence[ViewMessage], since: int) -> tuple[list[ViewMessage], Adoption]:
        """The messages of the view that stay, and the view after them: ours if the tool only extended its own, else the tool's."""
        reader = self._recorder.state.facts.reader
        if own_compaction(self._recorder) is None or not self._is_extension():
            view, left = view_of(self._new, self._place), removed_positions(self._new, self._place)
            return [], Adoption(view=view, reader=reader, left=left)
        grown = {self._source.position(index) for index in range(self._same, len(self._old.messages))} - {None}
        kept = [entry for entry in before if entry.position not in grown]
        return kept, Adoption(view=view_of(self._new, self._place, since=since), reader=reader)

    def _is_extension(self) -> bool:
        """Whether the tool's view is the one before and more: no compaction and no rewind in between."""
        if len(self._new.compactions) != len(self._old.compactions):
            return False
        old, new = ([origin for shown in found.viewed for origin in shown.origins] for found in (self._old, self._new))
        return new[: len(old)] == old

    def _place(self, index: int) -> int | None:
        return next((to + index - start for start, stop, to in self._runs if start <= index < stop), None)


def _common_prefix(old: Transcript, new: Transcript) -> int:
    """Number of leading messages that are equal in both."""
    pairs = enumerate(zip(old.messages, new.messages, strict=False))
    least = min(len(old.messages), len(new.messages))
    return next((number for number, (one, other) in pairs if one.wire != other.wire), least)
