"""A session as another tool's file, or as messages in another format.

A tool goes on from what it reads in its file. So the file says the session's view: where the tool's own way of reading the
messages does not give it, they are followed by a compaction of the tool's kind and by the view, message for message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from plimsoll.chronicle import Chronicle
from plimsoll.compaction.join import runs
from plimsoll.compaction.piece import Piece
from plimsoll.errors import SettingError
from plimsoll.events import IMPORT
from plimsoll.formats.convert import convert
from plimsoll.formats.format import Converted
from plimsoll.formats.registry import FORMATS
from plimsoll.message import FormatName, Wire
from plimsoll.payloads import Compaction, compaction_of, is_plain, moment_of
from plimsoll.surroundings import layers
from plimsoll.transcripts import Exported, Outgoing, Transcript, load_file, write
from plimsoll.transcripts.codex_write import response_item
from plimsoll.transcripts.values import Checkpoint, Loss, Meta, Shown, ToolName
from plimsoll.transcripts.writing import blocks_of

TOOLS: tuple[ToolName, ...] = ("claude-code", "codex", "pi")
"""Tools whose session files are read and written."""

VIEW_LOSS = "view"
"""The kind of a loss that says that the tool would send something else than the session does."""


def export(chronicle: Chronicle, *, to: str, at: str | None = None) -> Exported | Converted:
    """The session as `Session.export` gives it. Raises SettingError for an unknown target."""
    for tool in TOOLS:
        if to == tool:
            return _file(chronicle, tool, at or datetime.now(UTC).isoformat(timespec="milliseconds"))
    for format in FORMATS:
        if to == format:
            return convert(chronicle.history(), to=format, format=chronicle.gauge.format.name)
    raise SettingError("to", f"{to[:40]!r} is not one of {', '.join((*TOOLS, *FORMATS))}")


def _file(chronicle: Chronicle, tool: ToolName, at: str) -> Exported:
    """The session's file. What the tool would read is read back: where that is not the view, a checkpoint says it."""
    outgoing, own = _outgoing(chronicle, at), _View.of(chronicle)
    if _own_compaction(chronicle) is None:
        exported = write(outgoing, to=tool)
        if own.is_read_from(exported):
            return exported
    exported = write(replace(outgoing, checkpoint=_checkpoint(chronicle, outgoing, at)), to=tool)
    if own.is_read_from(exported):
        return exported
    detail = f"{tool} would read another view from this file than the session has"
    return replace(exported, losses=(*exported.losses, Loss(kind=VIEW_LOSS, detail=detail)))


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    """What the session would send, to be held against what a tool would."""

    wires: Sequence[Wire]
    format: FormatName
    unanswered: frozenset[str]
    """Calls that wait for a result. Each tool has its own words for the result that stands in until then."""

    @classmethod
    def of(cls, chronicle: Chronicle) -> _View:
        results = (result for piece in chronicle.closing() for result in piece.message.results)
        unanswered = frozenset(result.call_id for result in results)
        return cls(wires=chronicle.written(), format=chronicle.gauge.format.name, unanswered=unanswered)

    def is_read_from(self, exported: Exported) -> bool:
        """Whether a tool that reads the file sends the same."""
        read = load_file(exported.data)
        if not isinstance(read, Transcript):
            return not self.wires
        wires: Sequence[Wire] = self.wires
        if read.format != self.format:
            wires = convert(list(wires), to=read.format, format=self.format).messages
        return self._alike(wires, read.format) == self._alike(read.view(), read.format)

    def _alike(self, wires: Sequence[Wire], format: FormatName) -> list[dict[str, Any]]:
        if format == "openai-responses":
            return [self._waiting(response_item(wire), "call_id", "output") for wire in wires]
        alike: list[dict[str, Any]] = []
        for wire in wires:
            content = [self._waiting(block, "tool_use_id", "content") for block in blocks_of(wire.get("content"))]
            if alike and alike[-1]["role"] == wire.get("role"):
                alike[-1]["content"] += content
            else:
                alike.append({"role": wire.get("role"), "content": content})
        return alike

    def _waiting(self, part: dict[str, Any], id: str, text: str) -> dict[str, Any]:
        """A result without its text where it only stands in for one. A text alone and a list of one text are the same."""
        if text not in part:
            return part
        if part.get(id) in self.unanswered:
            return {id: part[id]}
        return {**part, text: blocks_of(part[text]) if id == "tool_use_id" else part[text]}


def source_of(chronicle: Chronicle) -> Transcript | None:
    """The file the session was imported from, as it was."""
    notes = chronicle.notes("source")
    if not notes:
        return None
    found = load_file(chronicle.log.get_blob(notes[-1]["blob"]))
    return found if isinstance(found, Transcript) else None


def _outgoing(chronicle: Chronicle, at: str) -> Outgoing:
    source, system = source_of(chronicle), chronicle.gauge.system
    return Outgoing(
        messages=tuple(chronicle.history()),
        format=chronicle.gauge.format.name,
        compactions=source.compactions if source else (),
        meta=source.meta if source else _own_meta(chronicle),
        system=source.system if source else system if isinstance(system, str) else None,
        source=source,
        at=at,
        times=tuple(_iso(record.at_ms) for record in chronicle.log.read_messages()),
    )


def _own_meta(chronicle: Chronicle) -> Meta:
    """What a session of our own says of itself. Its id is its name and when it began: names are only of one store."""
    found = layers(chronicle)
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


def _own_compaction(chronicle: Chronicle) -> Compaction | None:
    """The compaction that the view goes on from, unless that is the import itself; None for the beginning."""
    base = chronicle.timeline.base
    record = None if base is None else chronicle.compaction(f"c{base}")
    found = None if record is None else compaction_of(record)
    return None if found is None or found.trigger == IMPORT else found


def _checkpoint(chronicle: Chronicle, outgoing: Outgoing, at: str) -> Checkpoint:
    """The view in words of its own, as far as its end is not simply what was said last."""
    compaction, total = _own_compaction(chronicle), len(outgoing.messages)
    closing, least = chronicle.closing(), len(outgoing.source.messages) if outgoing.source else 0
    said = list(runs([*chronicle.timeline.pieces, *closing], chronicle.gauge.format.name))
    plain = 0 if closing else _plain_end(said, total, max(least, compaction.position if compaction else 0))
    before = len(said) - plain
    view = tuple(map(_shown, said[:before], chronicle.written()[:before]))
    return Checkpoint(
        position=total - plain,
        view=view,
        summary="\n\n".join(piece.message.text for run in said for piece in run if piece.origin == "summary") or None,
        trigger=compaction.trigger if compaction else "auto",
        tokens_before=compaction.tokens_before if compaction else chronicle.total(),
        tokens_after=compaction.tokens_after if compaction else chronicle.total(),
        at=_iso(compaction.at_ms) if compaction and plain else at,
    )


def _shown(run: Sequence[Piece], wire: Wire) -> Shown:
    """A message of the view; where it is one of the history, perhaps cut, that one's place."""
    is_summary = any(piece.origin == "summary" for piece in run)
    return Shown(wire=wire, message=run[0].position if len(run) == 1 else None, is_summary=is_summary)


def _plain_end(said: Sequence[Sequence[Piece]], total: int, least: int) -> int:
    """How many messages at the end of the view are the newest of the history as they were said, none before `least`."""
    count = 0
    for run in reversed(said):
        is_next = len(run) == 1 and is_plain(run[0]) and run[0].position == total - count - 1 >= least
        if not is_next:
            break
        count += 1
    return count
