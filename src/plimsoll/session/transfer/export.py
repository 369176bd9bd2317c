"""Export a session to another tool's file, or as messages in another format.

A tool continues from what it reads in its file, so the file must lead it to the session's view. If the tool's own way of reading
the messages does not, they are followed by a compaction of that tool and by the view, message for message.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from os import PathLike
from typing import Any

from plimsoll.compaction.join import runs
from plimsoll.compaction.settle import unanswered
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.errors import SettingError, ViewDiffers
from plimsoll.formats.convert import convert
from plimsoll.formats.format import Converted
from plimsoll.formats.registry import FORMATS
from plimsoll.formats.rules import RULES
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.message import FormatName, Wire
from plimsoll.policy.validation import short_repr, text_or_none
from plimsoll.records.values import moment_of
from plimsoll.session.compact import upcoming
from plimsoll.session.environment import layers
from plimsoll.session.recorder import SessionRecorder
from plimsoll.session.transfer.source import Run, SourceFile, own_compaction
from plimsoll.session.usage_reports import usage_since
from plimsoll.transcripts.atomic_files import read_file, replace_file, write_file
from plimsoll.transcripts.codex_write import response_item
from plimsoll.transcripts.detect import load_export
from plimsoll.transcripts.export import FORMAT_OF, supported, write
from plimsoll.transcripts.source import is_archive
from plimsoll.transcripts.values import Checkpoint, Exported, ExportLoss, Meta, Outgoing, Shown, ToolName, Transcript
from plimsoll.transcripts.writing import blocks_of

TOOLS: tuple[ToolName, ...] = ("claude-code", "codex", "pi")
"""Tools whose session files are read and written."""

_INVISIBLE = ("cache_control", "caller")
"""Fields of a block that the model does not see."""

VIEW_LOSS = "view"
"""Kind of the loss that the tool would send something other than the session's view."""


def export(recorder: SessionRecorder, *, to: str | None, at: str | None = None) -> Exported | Converted:
    """The session as exported by `Session.export` without a path."""
    text_or_none("to", to)
    for tool in TOOLS:
        if to == tool:
            is_edited = recorder.state.history.is_edited
            return _file(recorder, None if is_edited else next(iter(SourceFile.states(recorder)), None), tool, at)
    for format in FORMATS:
        if to == format:
            return convert(recorder.history(), to=format, format=recorder.meter.format.name)
    raise SettingError("to", f"{short_repr(to)} is not one of {', '.join((*TOOLS, *FORMATS))}")


def export_view(recorder: SessionRecorder, *, to: str | None, writes: bool) -> Converted:
    """The next view in a message format. Raises SettingError for a tool's name."""
    if writes:
        raise SettingError("view", "messages are returned, not written to a file")
    for format in FORMATS:
        if to == format:
            return convert(upcoming(recorder), to=format, format=recorder.meter.format.name)
    raise SettingError("to", f"{short_repr(to)} is not one of {', '.join(FORMATS)}: a tool's file holds the history")


def unsupported(recorder: SessionRecorder) -> list[ExportLoss]:
    """The losses if the view were written to a file of the session's own tool."""
    tool = next((source["tool"] for source in recorder.notes("source")), None)
    return [] if tool is None else supported(recorder.written(), tool)[1]


def export_to(recorder: SessionRecorder, path: str, *, to: str | None, at: str | None) -> Exported:
    """Write the session to a new file of a tool."""
    exported = _checked(export(recorder, to=to, at=at), to)
    write_file(path, *exported.parts)
    return replace(exported, path=path)


def export_in_place(
    recorder: SessionRecorder, *, to: str | None, path: str | PathLike[str] | None, at: str | None
) -> Exported:
    """Write the session over the file it was imported from, and note that the file now contains the view."""
    states = SourceFile.states(recorder)
    newest = next(iter(states), None)
    if recorder.state.history.is_edited:
        raise SettingError(
            "in_place", "messages were removed or changed since the file was read; name another file to write"
        )
    if newest is None or newest.path is None:
        raise SettingError(
            "in_place", "the session was not imported from a file on this computer; name another file to write"
        )
    file = newest.path
    if to not in (None, newest.tool) or path is not None:
        raise SettingError("in_place", f"the file is a session of {newest.tool}, at {ascii(file)[1:-1]}")
    held = read_file(file)
    if is_archive(held):
        raise SettingError("in_place", "compressed files cannot be written; name another file to write")
    source = SourceFile.held(states, held)
    exported = _checked(_file(recorder, source, source.tool, at), source.tool)
    if exported.losses:
        raise ViewDiffers(source.tool)
    note = source.grown(recorder, exported.data, _runs(recorder, source, exported), path=file, says_view=True)
    backup = replace_file(file, exported.data, expected=source.raw, note=lambda: recorder.note(note))
    return replace(exported, path=file, backup=backup, place=file)


def _checked(exported: Exported | Converted, to: str | None) -> Exported:
    """Raise SettingError or ViewDiffers unless this may be written as a tool's file."""
    if not isinstance(exported, Exported):
        raise SettingError("path", f"only a tool's file can be written; {short_repr(to)} is a message format")
    if any(loss.kind == VIEW_LOSS for loss in exported.losses):
        raise ViewDiffers(str(to))
    return exported


def _file(recorder: SessionRecorder, source: SourceFile | None, tool: ToolName, at: str | None) -> Exported:
    """The session's file. It is read back as the tool would, and gets a checkpoint if that does not give the view."""
    at = at or datetime.now(UTC).isoformat(timespec="milliseconds")
    own, compaction = _View.of(recorder), own_compaction(recorder)
    outgoing = _outgoing(recorder, source, tool, at)
    is_written = source is not None and source.tool == tool and source.base == recorder.state.base
    if compaction is None or is_written:
        exported = write(outgoing, to=tool)
        if own.is_in(exported, outgoing.source, is_own=outgoing.follows):
            return exported
    behind, is_foreign = source if outgoing.follows else None, FORMAT_OF[tool] != outgoing.format
    checkpoint = _checkpoint(recorder, behind, at, is_foreign=is_foreign)
    before = recorder.state.history.count - len(outgoing.messages)  # in the source, or lost
    checkpoint = replace(checkpoint, position=checkpoint.position - before)
    exported = write(replace(outgoing, checkpoint=checkpoint), to=tool)
    if own.is_in(exported, outgoing.source, is_own=outgoing.follows):
        return exported
    if behind is not None and (lossy := _reduced(recorder, outgoing, tool, at)) is not None:
        return lossy
    detail = f"{tool} would read another view from this file than the session has"
    return replace(exported, losses=(*exported.losses, ExportLoss(kind=VIEW_LOSS, detail=detail)))


def _reduced(recorder: SessionRecorder, outgoing: Outgoing, tool: ToolName, at: str) -> Exported | None:
    """The file with a view reduced to what its tool supports; None if the tool would still read another view."""
    checkpoint = _checkpoint(recorder, None, at, is_foreign=True)
    wires, losses = supported([message.wire for message in checkpoint.view], tool)
    view = tuple(replace(message, wire=wire) for message, wire in zip(checkpoint.view, wires, strict=True))
    checkpoint = replace(checkpoint, view=view, position=len(outgoing.messages))  # all of the view is in it
    exported = write(replace(outgoing, checkpoint=checkpoint), to=tool)
    if not (losses and _View.of(recorder).is_in(exported, outgoing.source, is_own=False)):
        return None
    in_view = (replace(loss, detail=f"in the view: {loss.detail}", position=None) for loss in losses)
    return replace(exported, losses=(*exported.losses, *in_view))


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """The session's view, for comparison with what a tool would send."""

    wires: Sequence[Wire]
    format: FormatName
    unanswered: frozenset[str]
    """Calls without a result. Each tool has its own placeholder for one."""

    @classmethod
    def of(cls, recorder: SessionRecorder) -> _View:
        format = recorder.meter.format
        waiting = frozenset(call.id for call in unanswered(recorder.state.entries, format))
        return cls(wires=recorder.written(), format=format.name, unanswered=waiting)

    def is_in(self, exported: Exported, source: Transcript | None, *, is_own: bool) -> bool:
        """Whether a tool that reads the file sends this view; for other tools than the session's own, as far as they support it."""
        read = load_export(exported, source)
        if not isinstance(read, Transcript):
            return not self.wires
        wires: Sequence[Wire] = self.wires
        if read.format != self.format:
            wires = convert(list(wires), to=read.format, format=self.format).messages
        if not is_own:
            wires, _ = supported(wires, read.tool)
        return self._comparable(wires, read.format) == self._comparable(read.view(), read.format)

    def _comparable(self, wires: Sequence[Wire], format: FormatName) -> list[dict[str, Any]]:
        if RULES[format].splits_answers:
            return [
                _without_api_fields(self._without_placeholder(response_item(wire), "call_id", "output"))
                for wire in wires
            ]
        comparable: list[dict[str, Any]] = []
        for wire in wires:
            content = [
                self._without_placeholder(_visible(block), "tool_use_id", "content")
                for block in blocks_of(wire.get("content"))
            ]
            if comparable and comparable[-1]["role"] == wire.get("role"):
                comparable[-1]["content"] += content
            else:
                comparable.append({"role": wire.get("role"), "content": content})
        for message in comparable:  # results are matched by id, so their order is irrelevant
            message["content"].sort(key=lambda block: block.get("tool_use_id", "~"))
        return comparable

    def _without_placeholder(self, part: dict[str, Any], id: str, text: str) -> dict[str, Any]:
        """A result without its text if it is a placeholder. A text and a list of one text are equal."""
        if text not in part:
            return part
        if part.get(id) in self.unanswered:
            return {id: part[id]}
        return {**part, text: blocks_of(part[text]) if id == "tool_use_id" else part[text]}


def _visible(block: dict[str, Any]) -> dict[str, Any]:
    """A block without fields that the model does not see, and without `is_error: false`."""
    return {key: value for key, value in block.items() if key not in _INVISIBLE and (key, value) != ("is_error", False)}


def _without_api_fields(item: dict[str, Any]) -> dict[str, Any]:
    """A message item without what the API adds: id, status and empty annotations."""
    if item.get("type") != "message":
        return item
    parts = [
        {key: value for key, value in part.items() if value or key != "annotations"}
        for part in blocks_of(item["content"])
    ]
    return {"type": "message", "role": item.get("role"), "content": parts}


def _outgoing(recorder: SessionRecorder, source: SourceFile | None, tool: ToolName, at: str) -> Outgoing:
    """The conversation to write for a tool. Another tool's lines are only used if each is a message of the session."""
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
    """Metadata of a session that was not imported. Its id includes the start, because names are unique in one store only."""
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
    """The view as a checkpoint, without the end that is simply the newest history. `source`: the file whose lines precede it.

    A view for a tool of another format is converted as a whole.
    """
    compaction, history = own_compaction(recorder), recorder.state.history
    total = history.count
    is_settled, taken = recorder.state.normalizer.is_settled, source.taken if source else 0
    sent = list(runs(recorder.state.sendable(), recorder.meter.format))
    plain = 0
    if is_settled and not is_foreign and not history.is_edited:
        plain = _unchanged_tail(sent, total, max(taken, compaction.position if compaction else 0))
    before = len(sent) - plain
    return Checkpoint(
        position=total - plain,
        view=tuple(_shown(run, wire, source) for run, wire in zip(sent[:before], recorder.written(), strict=False)),
        summary="\n\n".join(entry.message.text for run in sent for entry in run if entry.origin == "summary") or None,
        trigger=compaction.trigger if compaction else "auto",
        tokens_before=compaction.tokens_before if compaction else recorder.total(),
        tokens_after=compaction.tokens_after if compaction else recorder.total(),
        at=_iso(compaction.at_ms) if compaction and plain else at,
    )


def _shown(run: Sequence[ViewMessage], wire: Wire, source: SourceFile | None) -> Shown:
    """A message of the view, with the index of the source's message it repeats, perhaps shortened."""
    position = run[0].position if len(run) == 1 else None
    index = source.index(position) if source is not None and position is not None else None
    return Shown(wire=wire, message=index, is_summary=any(entry.origin == "summary" for entry in run))


def _unchanged_tail(sent: Sequence[Sequence[ViewMessage]], total: int, least: int) -> int:
    """How many messages at the end of the view are the newest of the history, unchanged and none before `least`."""
    count = 0
    for run in reversed(sent):
        is_next = len(run) == 1 and run[0].is_plain and run[0].position == total - count - 1 >= least
        if not is_next:
            break
        count += 1
    return count


def _runs(recorder: SessionRecorder, source: SourceFile, exported: Exported) -> list[Run]:
    """The ranges of the written file's messages in the session: the source's, those appended since, and those of the view."""
    read = load_export(exported, source.transcript)
    assert isinstance(read, Transcript)
    in_view = [entry.position for entry in recorder.state.entries if entry.position is not None]
    known: dict[str, list[int]] = {}
    history = recorder.history()
    for position in reversed([*range(source.taken, len(history)), *in_view]):
        known.setdefault(_identity(history[position]), []).append(position)
    found: list[Run] = list(source.runs)
    for index in range(len(source.transcript.messages) if source.transcript else 0, len(read.messages)):
        positions = known.get(_identity(read.messages[index].wire))
        if positions:
            found.append((index, index + 1, positions.pop()))
    return found


def _identity(wire: Wire) -> str:
    """An identity that survives shortening: the id of a message's call or result, else its text."""
    blocks = [wire] if "call_id" in wire else blocks_of(wire.get("content"))
    for block in blocks:
        for key in ("tool_use_id", "id", "call_id"):
            if isinstance(block.get(key), str):
                return f"{key} {block.get('type')} {block[key]}"
    return repr([block.get("text", block) for block in blocks])
