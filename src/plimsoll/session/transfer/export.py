"""A session as another tool's file, or as messages in another format.

A tool goes on from what it reads in its file. So the file says the session's view: where the tool's own way of reading the
messages does not give it, they are followed by a compaction of the tool's kind and by the view, message for message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from os import PathLike
from typing import Any

from plimsoll.compaction.join import runs
from plimsoll.compaction.settle import unanswered
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.dataclass import dataclass
from plimsoll.errors import SettingError, ViewDiffers
from plimsoll.formats.convert import convert
from plimsoll.formats.format import Converted
from plimsoll.formats.registry import FORMATS
from plimsoll.formats.rules import RULES
from plimsoll.message import FormatName, Wire
from plimsoll.records.values import is_plain, moment_of
from plimsoll.session.compact import upcoming
from plimsoll.session.environment import layers
from plimsoll.session.recorder import SessionRecorder
from plimsoll.session.transfer.source import Run, SourceFile, own_compaction
from plimsoll.session.usage_reports import usage_since
from plimsoll.transcripts.codex_write import response_item
from plimsoll.transcripts.detect import load_export
from plimsoll.transcripts.export import FORMAT_OF, write
from plimsoll.transcripts.filing import read_file, replace_file, write_file
from plimsoll.transcripts.holding import held
from plimsoll.transcripts.source import is_archive
from plimsoll.transcripts.values import Checkpoint, Exported, ExportLoss, Meta, Outgoing, Shown, ToolName, Transcript
from plimsoll.transcripts.writing import blocks_of
from plimsoll.validation import short_repr, text_or_none

TOOLS: tuple[ToolName, ...] = ("claude-code", "codex", "pi")
"""Tools whose session files are read and written."""

_UNSEEN = ("cache_control", "caller")
"""Fields of a block that the model does not see."""

VIEW_LOSS = "view"
"""The kind of a loss that says that the tool would send something else than the session does."""


def export(recorder: SessionRecorder, *, to: str | None, at: str | None = None) -> Exported | Converted:
    """The session as `Session.export` gives it without a path."""
    text_or_none("to", to)
    for tool in TOOLS:
        if to == tool:
            is_edited = recorder.state.history.is_edited
            return _file(recorder, None if is_edited else SourceFile.of(recorder), tool, at)
    for format in FORMATS:
        if to == format:
            return convert(recorder.history(), to=format, format=recorder.meter.format.name)
    raise SettingError("to", f"{short_repr(to)} is not one of {', '.join((*TOOLS, *FORMATS))}")


def export_view(recorder: SessionRecorder, *, to: str | None, writes: bool) -> Converted:
    """The next view in a message format. Raises SettingError for a target that has files."""
    if writes:
        raise SettingError("view", "messages are returned and not written to a file")
    for format in FORMATS:
        if to == format:
            return convert(upcoming(recorder), to=format, format=recorder.meter.format.name)
    raise SettingError("to", f"{short_repr(to)} is not one of {', '.join(FORMATS)}: a tool's file holds the history")


def not_held(recorder: SessionRecorder) -> list[ExportLoss]:
    """What of the view a file of the session's own tool cannot hold."""
    tool = next((source["tool"] for source in recorder.notes("source")), None)
    return [] if tool is None else held(recorder.written(), tool)[1]


def export_to(recorder: SessionRecorder, path: str, *, to: str | None, at: str | None) -> Exported:
    """The session written as a tool's file."""
    exported = _sound(export(recorder, to=to, at=at), to)
    write_file(path, *exported.parts)
    return replace(exported, path=path)


def export_in_place(
    recorder: SessionRecorder, *, to: str | None, path: str | PathLike[str] | None, at: str | None
) -> Exported:
    """The session written over the file it came from, and that noted: the next time, the file is read on from there."""
    newest = SourceFile.of(recorder)
    if recorder.state.history.is_edited:
        raise SettingError("in_place", "messages were taken back or changed since the file was read; give a path")
    if newest is None or newest.path is None:
        raise SettingError("in_place", "the session was not made of a file on this computer; give a path")
    file = newest.path
    if to not in (None, newest.tool) or path is not None:
        raise SettingError("in_place", f"the file is one of {newest.tool}'s, at {ascii(file)[1:-1]}")
    held = read_file(file)
    if is_archive(held):
        raise SettingError("in_place", "the file is packed, and packed files are only read; give a path")
    source = SourceFile.of(recorder, held) or newest
    exported = _sound(_file(recorder, source, source.tool, at), source.tool)
    if exported.losses:
        raise ViewDiffers(source.tool)
    note = source.grown(recorder, exported.data, _runs(recorder, source, exported), path=file, says_view=True)
    backup = replace_file(file, exported.data, expected=source.raw, note=lambda: recorder.note(note))
    return replace(exported, path=file, backup=backup, place=file)


def _sound(exported: Exported | Converted, to: str | None) -> Exported:
    """What may be written as a tool's file. Raises SettingError, ViewDiffers."""
    if not isinstance(exported, Exported):
        raise SettingError("path", f"only a tool's file is written; {short_repr(to)} are messages")
    if any(loss.kind == VIEW_LOSS for loss in exported.losses):
        raise ViewDiffers(str(to))
    return exported


def _file(recorder: SessionRecorder, source: SourceFile | None, tool: ToolName, at: str | None) -> Exported:
    """The session's file. What the tool would read is read back: where that is not the view, a checkpoint says it."""
    at = at or datetime.now(UTC).isoformat(timespec="milliseconds")
    own, compaction = _View.of(recorder), own_compaction(recorder)
    outgoing = _outgoing(recorder, source, tool, at)
    is_written = source is not None and source.tool == tool and source.base == recorder.state.base
    if compaction is None or is_written:
        exported = write(outgoing, to=tool)
        if own.is_read_from(exported, outgoing.source, is_own=outgoing.follows):
            return exported
    behind, is_foreign = source if outgoing.follows else None, FORMAT_OF[tool] != outgoing.format
    checkpoint = _checkpoint(recorder, behind, at, is_foreign=is_foreign)
    before = recorder.state.history.count - len(outgoing.messages)  # in the source, or lost
    checkpoint = replace(checkpoint, position=checkpoint.position - before)
    exported = write(replace(outgoing, checkpoint=checkpoint), to=tool)
    if own.is_read_from(exported, outgoing.source, is_own=outgoing.follows):
        return exported
    if behind is not None and (lossy := _as_held(recorder, outgoing, tool, at)) is not None:
        return lossy
    detail = f"{tool} would read another view from this file than the session has"
    return replace(exported, losses=(*exported.losses, ExportLoss(kind=VIEW_LOSS, detail=detail)))


def _as_held(recorder: SessionRecorder, outgoing: Outgoing, tool: ToolName, at: str) -> Exported | None:
    """The file of the session's own tool where that cannot hold all of the view; None where it would read something else still."""
    checkpoint = _checkpoint(recorder, None, at, is_foreign=True)
    wires, losses = held([message.wire for message in checkpoint.view], tool)
    view = tuple(replace(message, wire=wire) for message, wire in zip(checkpoint.view, wires, strict=True))
    checkpoint = replace(checkpoint, view=view, position=len(outgoing.messages))  # all of the view is in it
    exported = write(replace(outgoing, checkpoint=checkpoint), to=tool)
    if not (losses and _View.of(recorder).is_read_from(exported, outgoing.source, is_own=False)):
        return None
    told = (replace(loss, detail=f"in the view: {loss.detail}", position=None) for loss in losses)
    return replace(exported, losses=(*exported.losses, *told))


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """What the session would send, to be held against what a tool would."""

    wires: Sequence[Wire]
    format: FormatName
    unanswered: frozenset[str]
    """Calls that wait for a result. Each tool has its own words for the result that stands in until then."""

    @classmethod
    def of(cls, recorder: SessionRecorder) -> _View:
        format = recorder.meter.format
        waiting = frozenset(call.id for call in unanswered(recorder.state.pieces, format))
        return cls(wires=recorder.written(), format=format.name, unanswered=waiting)

    def is_read_from(self, exported: Exported, source: Transcript | None, *, is_own: bool) -> bool:
        """Whether a tool that reads the file sends the same; where it is not the session's own tool, as far as it can hold it."""
        read = load_export(exported, source)
        if not isinstance(read, Transcript):
            return not self.wires
        wires: Sequence[Wire] = self.wires
        if read.format != self.format:
            wires = convert(list(wires), to=read.format, format=self.format).messages
        if not is_own:
            wires, _ = held(wires, read.tool)
        return self._alike(wires, read.format) == self._alike(read.view(), read.format)

    def _alike(self, wires: Sequence[Wire], format: FormatName) -> list[dict[str, Any]]:
        if RULES[format].splits_answers:
            return [_bare(self._waiting(response_item(wire), "call_id", "output")) for wire in wires]
        alike: list[dict[str, Any]] = []
        for wire in wires:
            content = [
                self._waiting(_plain(block), "tool_use_id", "content") for block in blocks_of(wire.get("content"))
            ]
            if alike and alike[-1]["role"] == wire.get("role"):
                alike[-1]["content"] += content
            else:
                alike.append({"role": wire.get("role"), "content": content})
        for message in alike:  # results answer by their ids: their order says nothing
            message["content"].sort(key=lambda block: block.get("tool_use_id", "~"))
        return alike

    def _waiting(self, part: dict[str, Any], id: str, text: str) -> dict[str, Any]:
        """A result without its text where it only stands in for one. A text alone and a list of one text are the same."""
        if text not in part:
            return part
        if part.get(id) in self.unanswered:
            return {id: part[id]}
        return {**part, text: blocks_of(part[text]) if id == "tool_use_id" else part[text]}


def _plain(block: dict[str, Any]) -> dict[str, Any]:
    """A block without what the model does not see, and without what says only that there is nothing to say."""
    return {key: value for key, value in block.items() if key not in _UNSEEN and (key, value) != ("is_error", False)}


def _bare(item: dict[str, Any]) -> dict[str, Any]:
    """A message item without what the API adds to it: its id and state, and empty annotations."""
    if item.get("type") != "message":
        return item
    parts = [
        {key: value for key, value in part.items() if value or key != "annotations"}
        for part in blocks_of(item["content"])
    ]
    return {"type": "message", "role": item.get("role"), "content": parts}


def _outgoing(recorder: SessionRecorder, source: SourceFile | None, tool: ToolName, at: str) -> Outgoing:
    """The conversation as it is written for a tool. Lines of another tool's are only of use where each is a message of ours."""
    system = recorder.meter.system
    found = source.transcript if source else None
    meta, text = (found.meta, found.system) if found else (_own_meta(recorder), system)
    known = found if source and (source.tool == tool or source.is_whole) else None
    follows = source is not None and known is not None and source.tool == tool
    records = list(recorder.state.history.messages(source.taken if source and follows else 0))
    return Outgoing(
        messages=tuple(record.data["m"] for record in records),
        format=recorder.meter.format.name,
        compactions=known.compactions if known else (),
        meta=meta if known else replace(meta, version=None),
        system=text if isinstance(text, str) else None,
        source=known,
        follows=follows,
        path=source.path if source else None,
        at=at,
        times=tuple(_iso(record.at_ms) for record in records),
        usages=tuple(map(usage_since(recorder.log, 0).get, (record.position for record in records))),
    )


def _own_meta(recorder: SessionRecorder) -> Meta:
    """What a session of our own says of itself. Its id is its name and when it began: names are only of one store."""
    found = layers(recorder)
    own, workspace = found.session, found.workspace
    return Meta(
        session_id=f"{own.session_id} {own.start_ms}",
        cwd=workspace.project_path if workspace else None,
        branch=workspace.git_branch if workspace else None,
        model=own.model,
        title=own.title or own.session_id,
    )


def _iso(at_ms: int) -> str:
    return moment_of(at_ms).isoformat(timespec="milliseconds")


def _checkpoint(recorder: SessionRecorder, source: SourceFile | None, at: str, *, is_foreign: bool) -> Checkpoint:
    """The view in words of its own, as far as its end is not simply what was said last. `source`: whose lines go before it.

    For a tool of another format all of it is converted as one.
    """
    compaction, history = own_compaction(recorder), recorder.state.history
    total = history.count
    is_settled, taken = recorder.state.normalizer.is_settled, source.taken if source else 0
    said = list(runs(recorder.state.sendable(), recorder.meter.format))
    plain = 0
    if is_settled and not is_foreign and not history.is_edited:
        plain = _plain_end(said, total, max(taken, compaction.position if compaction else 0))
    before = len(said) - plain
    return Checkpoint(
        position=total - plain,
        view=tuple(_shown(run, wire, source) for run, wire in zip(said[:before], recorder.written(), strict=False)),
        summary="\n\n".join(piece.message.text for run in said for piece in run if piece.origin == "summary") or None,
        trigger=compaction.trigger if compaction else "auto",
        tokens_before=compaction.tokens_before if compaction else recorder.total(),
        tokens_after=compaction.tokens_after if compaction else recorder.total(),
        at=_iso(compaction.at_ms) if compaction and plain else at,
    )


def _shown(run: Sequence[ViewMessage], wire: Wire, source: SourceFile | None) -> Shown:
    """A message of the view; where it is one of the source's, perhaps cut, which."""
    position = run[0].position if len(run) == 1 else None
    index = source.index(position) if source is not None and position is not None else None
    return Shown(wire=wire, message=index, is_summary=any(piece.origin == "summary" for piece in run))


def _plain_end(said: Sequence[Sequence[ViewMessage]], total: int, least: int) -> int:
    """How many messages at the end of the view are the newest of the history as they were said, none before `least`."""
    count = 0
    for run in reversed(said):
        is_next = len(run) == 1 and is_plain(run[0]) and run[0].position == total - count - 1 >= least
        if not is_next:
            break
        count += 1
    return count


def _runs(recorder: SessionRecorder, source: SourceFile, exported: Exported) -> list[Run]:
    """Where the messages of the written file are in the session: what it had before, what was said since, and the view again."""
    read = load_export(exported, source.transcript)
    assert isinstance(read, Transcript)
    in_view = [piece.position for piece in recorder.state.pieces if piece.position is not None]
    known: dict[str, list[int]] = {}
    history = recorder.history()
    for position in reversed([*range(source.taken, len(history)), *in_view]):
        known.setdefault(_known_by(history[position]), []).append(position)
    found: list[Run] = list(source.runs)
    for index in range(len(source.transcript.messages) if source.transcript else 0, len(read.messages)):
        positions = known.get(_known_by(read.messages[index].wire))
        if positions:
            found.append((index, index + 1, positions.pop()))
    return found


def _known_by(wire: Wire) -> str:
    """What a message is known by wherever it stands: the id of its call or result, also where that is shortened, else its words."""
    blocks = [wire] if "call_id" in wire else blocks_of(wire.get("content"))
    for block in blocks:
        for key in ("tool_use_id", "id", "call_id"):
            if isinstance(block.get(key), str):
                return f"{key} {block.get('type')} {block[key]}"
    return repr([block.get("text", block) for block in blocks])
