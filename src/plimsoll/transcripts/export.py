"""Write a conversation as a session file of Claude Code, Codex or pi.

For the tool that a transcript came from: its own lines, byte for byte, then the new ones. For another tool: the converted
messages, with the summary and kept messages of each compaction, and a list of the losses.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from plimsoll.compaction.references import runs_of
from plimsoll.formats.anthropic.codec import labelled_text
from plimsoll.formats.convert import convert
from plimsoll.formats.turns import OPENING
from plimsoll.light.dataclass import replace
from plimsoll.message import FormatName, Wire
from plimsoll.records.usage import Usage
from plimsoll.transcripts.claude_write import ClaudeWriter
from plimsoll.transcripts.codex_write import CodexWriter
from plimsoll.transcripts.discover import codex_name, is_in_sessions_folder, resume_command, session_path
from plimsoll.transcripts.lines import list_of, mapping_of, text_in, text_of
from plimsoll.transcripts.pi_write import PiWriter
from plimsoll.transcripts.values import (
    Checkpoint,
    Exported,
    ExportLoss,
    Outgoing,
    Shown,
    SourceMessage,
    ToolCompaction,
    ToolName,
    Transcript,
)
from plimsoll.transcripts.writing import Clock, Ids, Writer, WriterContext, blocks_of, clock, iso, moment, session_uuid

FORMAT_OF: dict[ToolName, FormatName] = {"claude-code": "anthropic", "codex": "openai-responses", "pi": "anthropic"}
"""The format of each tool's messages."""


def write(source: Transcript | Outgoing, *, to: ToolName) -> Exported:
    """Write a session file of the tool `to`, and list what it cannot contain.

    A conversation that begins with all messages and compactions of its source keeps every line of the source, if written for the
    same tool. Raises FormatError if the messages are not in the declared format.
    """
    outgoing = _outgoing(source)
    known = outgoing.source
    is_own = known is not None and known.tool == to and _continues(outgoing, known)
    exported = _append(outgoing, known) if known is not None and is_own else _new_file(outgoing, to)
    session = session_uuid(outgoing.meta, to)
    path = outgoing.path if is_own else None
    name = codex_name(to, path, session) or exported.name
    place = path if path is not None and is_in_sessions_folder(to, path) else session_path(to, name, outgoing.meta.cwd)
    return replace(exported, name=name, place=place, resume=resume_command(to, session, place, outgoing.meta.cwd))


def _outgoing(source: Transcript | Outgoing) -> Outgoing:
    if isinstance(source, Outgoing):
        return source
    return Outgoing(
        messages=tuple(message.wire for message in source.messages),
        format=source.format,
        compactions=source.compactions,
        meta=source.meta,
        system=source.system,
        source=source,
    )


def _continues(outgoing: Outgoing, source: Transcript) -> bool:
    """Whether the conversation begins with all of the source's."""
    if outgoing.follows:
        return True
    count, done = len(source.messages), len(source.compactions)
    return (
        outgoing.format == source.format
        and len(outgoing.messages) >= count
        and all(wire == old.wire for wire, old in zip(outgoing.messages[:count], source.messages, strict=True))
        and outgoing.compactions[:done] == source.compactions
    )


def _append(outgoing: Outgoing, source: Transcript) -> Exported:
    meta = source.meta
    ids = Ids(session=session_uuid(meta, source.tool))
    time = clock(None if outgoing.times else outgoing.at, meta, source)
    writer = _writer(source.tool, WriterContext(meta=meta, ids=ids, clock=time, source=source))
    _emit(writer, time, outgoing, after=source)
    return Exported(
        head=source.raw(),
        added=tuple(writer.lines),
        losses=tuple(writer.losses),
        name=_name(source.tool, ids, iso(moment(meta.started) or time.now)),
    )


def _new_file(outgoing: Outgoing, to: ToolName) -> Exported:
    carried, losses = _carried(outgoing, to)
    target, converted = _converted(carried, to)
    wires, times = target.messages, target.times
    same = outgoing.source is None or outgoing.source.tool == to
    meta = outgoing.meta if same else replace(outgoing.meta, version=None)
    if not wires:
        meta = replace(meta, title=meta.title or "(empty)")  # a file without lines is not a session
    ids = Ids(session=session_uuid(meta, to))
    time = clock(next(filter(None, times), outgoing.at), meta, None)
    name = _name(to, ids, iso(time.now))
    writer = _writer(to, WriterContext(meta=meta, ids=ids, clock=time, system=outgoing.system))
    _emit(writer, time, target, after=None)
    return Exported(added=tuple(writer.lines), losses=(*losses, *converted, *writer.losses), name=name)


def _carried(outgoing: Outgoing, to: ToolName) -> tuple[Outgoing, list[ExportLoss]]:
    """The conversation without what another tool's file cannot contain, and the losses."""
    losses = [_loss("system", f"{to} files hold no system text")] if outgoing.system and to != "codex" else []
    source, total = outgoing.source, len(outgoing.messages)
    kept = list(range(total))
    if source is not None:
        left = {
            i: kind for i, message in enumerate(source.messages[:total]) if (kind := _exclusion(message, source.tool))
        }
        losses += [_loss(kind, "a message that is not sent", i) for i, kind in left.items()]
        losses += [_loss("sidechain", f"the sub-agent's conversation {s.id[:40]}") for s in source.sidechains]
        kept = [index for index in kept if index not in left]
    places = {old: new for new, old in enumerate(kept)}
    compactions, dropped = _supported_compactions([made for made in outgoing.compactions if made.on_path], to)
    before = [bisect_left(kept, index) for index in range(total + 1)]
    moved = [_moved(compaction, places, before) for compaction in compactions]
    checkpoint = outgoing.checkpoint and replace(outgoing.checkpoint, position=before[outgoing.checkpoint.position])
    messages = tuple(outgoing.messages[i] for i in kept)
    times = tuple(outgoing.times[i] for i in kept) if outgoing.times else ()
    usages = tuple(outgoing.usages[i] for i in kept) if outgoing.usages else ()
    fresh = replace(
        outgoing, messages=messages, times=times, usages=usages, compactions=tuple(moved), checkpoint=checkpoint
    )
    return fresh, [*(loss for loss in losses if loss.kind != "summary"), *dropped]


def _loss(kind: str, detail: str, position: int | None = None) -> ExportLoss:
    return ExportLoss(kind=kind, detail=detail, position=position)


def _exclusion(message: SourceMessage, tool: ToolName) -> str | None:
    """Why a message is not exported to another tool: it is on an abandoned branch, or not meant for the model."""
    if not message.on_path:
        return "left-branch"
    if message.kind in ("error", "excluded"):
        return message.kind
    return "summary" if message.kind == "summary" and tool == "claude-code" else None  # the compaction carries it


def _supported_compactions(
    compactions: Sequence[ToolCompaction], to: ToolName
) -> tuple[list[ToolCompaction], list[ExportLoss]]:
    """The compactions that the tool's file supports. Messages of the others are in the view again."""
    kept: list[ToolCompaction] = []
    losses: list[ExportLoss] = []
    for position, compaction in enumerate(compactions):
        if compaction.cleared and to != "claude-code":
            losses.append(_loss("cleared", "cleared results have their full text again", position))
        elif not compaction.cleared and compaction.summary is None:
            what = "only its provider can read" if compaction.opaque is not None else "is not in the file"
            detail = f"the summary {what}; the messages it replaced are in the view"
            losses.append(_loss("opaque-summary", detail, position))
        else:
            kept.append(compaction)
    return kept, losses


def _moved(compaction: ToolCompaction, places: Mapping[int, int], before: Sequence[int]) -> ToolCompaction:
    kept = [places[i] for start, end in compaction.kept for i in range(start, end) if i in places]
    return replace(compaction, position=before[min(compaction.position, len(before) - 1)], kept=tuple(runs_of(kept)))


def _converted(outgoing: Outgoing, tool: ToolName) -> tuple[Outgoing, list[ExportLoss]]:
    """The conversation in the tool's format, with the positions of compactions and the checkpoint adjusted.

    Messages are converted in portions between those positions, because formats split and merge messages.
    """
    total, checkpoint, to = len(outgoing.messages), outgoing.checkpoint, FORMAT_OF[tool]
    places = {0, total} if checkpoint is None else {0, total, checkpoint.position}
    for compaction in outgoing.compactions:
        places.add(min(compaction.position, total))
        places.update(place for span in compaction.kept for place in span)
    wires: list[Wire] = []
    times: list[str | None] = []
    usages: list[Usage | None] = []
    moved = {0: 0}
    losses: list[ExportLoss] = []
    for start, end in pairwise(sorted(places)):
        portion, left_out = supported(_portion(outgoing, start, end, to, losses), tool)
        losses.extend(replace(loss, position=start) for loss in left_out)
        wires.extend(portion)
        times.extend(_times(outgoing.times[start:end], len(portion)))
        usages.extend(_usages(outgoing.usages[start:end], outgoing.messages[start:end], portion))
        moved[end] = len(wires)
    target = replace(
        outgoing,
        messages=tuple(wires),
        format=to,
        times=tuple(times) if any(times) else (),
        usages=tuple(usages) if any(usages) else (),
        compactions=tuple(_placed(compaction, moved) for compaction in outgoing.compactions),
        checkpoint=checkpoint and _shown_in(checkpoint, outgoing.format, tool, moved[checkpoint.position], losses),
    )
    return target, losses


def _shown_in(
    checkpoint: Checkpoint, format: FormatName, tool: ToolName, position: int, losses: list[ExportLoss]
) -> Checkpoint:
    """The checkpoint with its view in the tool's format, converted as a whole."""
    view = [replace(shown, message=None) for shown in checkpoint.view]
    if format != FORMAT_OF[tool]:
        result = convert([shown.wire for shown in view], to=FORMAT_OF[tool], format=format)
        losses += [_loss(loss.what, f"in the view: {loss.reason}") for loss in result.losses]
        view = [Shown(wire=wire, is_summary=_contains(wire, checkpoint.summary)) for wire in result.messages]
    wires, left_out = supported([shown.wire for shown in view], tool)
    losses.extend(replace(loss, detail=f"in the view: {loss.detail}", position=None) for loss in left_out)
    view = [replace(shown, wire=wire) for shown, wire in zip(view, wires, strict=True)]
    return replace(checkpoint, position=position, view=tuple(view))


def _contains(wire: Wire, summary: str | None) -> bool:
    """Whether a user's message contains the summary."""
    if summary is None or wire.get("role") != "user":
        return False
    content = wire.get("content")
    texts = [content] if isinstance(content, str) else [mapping_of(part).get("text") for part in list_of(content)]
    return summary in texts


def _times(known: Sequence[str | None], count: int) -> list[str | None]:
    """The times of messages after a conversion: unchanged, or that of the first if it split or merged any."""
    return list(known) if len(known) == count else [next(iter(known), None)] * count


def _usages(known: Sequence[Usage | None], before: Sequence[Wire], after: Sequence[Wire]) -> list[Usage | None]:
    """The usage of messages after a conversion: on the first message of each answer."""
    usages: list[Usage | None] = [None] * len(after)
    answers, places = _answers(before), _answers(after)
    if not known or len(answers) != len(places):
        return usages
    for answer, place in zip(answers, places, strict=True):
        usages[place.start] = next((usage for usage in known[answer.start : answer.stop] if usage is not None), None)
    return usages


def _answers(wires: Sequence[Wire]) -> list[range]:
    """Ranges of messages that form one answer."""
    runs: list[range] = []
    for index, wire in enumerate(wires):
        is_item = "role" not in wire and not text_of(wire.get("type")).endswith("_output")
        if wire.get("role") != "assistant" and not is_item:
            continue
        if runs and runs[-1].stop == index:
            runs[-1] = range(runs[-1].start, index + 1)
        else:
            runs.append(range(index, index + 1))
    return runs


def _portion(outgoing: Outgoing, start: int, end: int, to: FormatName, losses: list[ExportLoss]) -> list[Wire]:
    messages = outgoing.messages[start:end]
    if outgoing.format == to:
        return list(messages)
    result = convert(messages, to=to, format=outgoing.format)
    moved = ((loss, None if loss.position is None else loss.position + start) for loss in result.losses)
    losses += [_loss(loss.what, loss.reason, position) for loss, position in moved]
    if result.system:
        losses.append(_loss("system", "system text inside the messages"))
    converted: list[Wire] = list(result.messages)
    opening = {"role": "user", "content": OPENING}
    return converted[1:] if start > 0 and converted[:1] == [opening] else converted


def _placed(compaction: ToolCompaction, places: Mapping[int, int]) -> ToolCompaction:
    kept = tuple((places[start], places[end]) for start, end in compaction.kept)
    return replace(compaction, position=places[compaction.position], kept=kept)


def _emit(writer: Writer, time: Clock, outgoing: Outgoing, *, after: Transcript | None) -> None:
    """Write the messages, and each compaction at its position and time. `after` is the source whose lines come first."""
    wires, times, checkpoint = outgoing.messages, outgoing.times, outgoing.checkpoint
    start, written = (0, 0) if after is None else (len(after.messages), len(after.compactions))
    if outgoing.follows:
        start = 0
    waiting = sorted(outgoing.compactions[written:], key=lambda compaction: compaction.position)
    preserved = {index for compaction in waiting for run in compaction.kept for index in range(*run)}
    next_one = 0
    for index in range(start, len(wires) + 1):
        while next_one < len(waiting) and (waiting[next_one].position <= index or index == len(wires)):
            compaction = waiting[next_one]
            time.reach(compaction.at if times else None)
            writer.compact(compaction, [i for a, b in compaction.kept for i in range(max(a, 0), min(b, index))])
            next_one += 1
        if checkpoint is not None and index == max(checkpoint.position, start):
            time.reach(checkpoint.at if times else None)
            writer.restart(checkpoint)
        if index < len(wires):
            time.reach(times[index] if times else None)
            writer.usage = outgoing.usages[index] if outgoing.usages and index not in preserved else None
            writer.append(wires[index])
            writer.usage = None


def _writer(to: ToolName, context: WriterContext) -> Writer:
    match to:
        case "claude-code":
            return ClaudeWriter(context)
        case "codex":
            return CodexWriter(context)
        case "pi":
            return PiWriter(context)


def _name(to: ToolName, ids: Ids, started: str) -> str:
    """The file name the tool would use."""
    stamp = started[:19].replace(":", "-")
    match to:
        case "claude-code":
            return f"{ids.session}.jsonl"
        case "codex":
            return f"rollout-{stamp}-{ids.session}.jsonl"
        case "pi":
            return f"{stamp}-{started[20:23]}Z_{ids.session}.jsonl"


_PI_USER = frozenset({"text", "tool_result"})
_PI_ANSWER = frozenset({"text", "thinking", "redacted_thinking", "tool_use"})


def supported(wires: Sequence[Wire], tool: ToolName) -> tuple[list[Wire], list[ExportLoss]]:
    """Each message reduced to what the tool's file supports, and the losses with the positions of their messages."""
    if tool == "codex":
        return list(wires), []
    losses: list[ExportLoss] = []
    return [_supported(wire, tool, position, losses) for position, wire in enumerate(wires)], losses


def _supported(wire: Wire, tool: ToolName, position: int, losses: list[ExportLoss]) -> Wire:
    if wire.get("role") == "system":
        losses.append(_loss("system role", "became a labelled user message", position))
        wire = {"role": "user", "content": labelled_text(text_in(wire.get("content")))}
    content = wire.get("content")
    if tool != "pi" or not isinstance(content, list):
        return wire
    known = _PI_ANSWER if wire.get("role") == "assistant" else _PI_USER
    return {**wire, "content": list(_blocks(content, known, position, losses))}


def _blocks(content: Sequence[Wire], known: frozenset[str], position: int, losses: list[ExportLoss]) -> Iterator[Wire]:
    for block in content:
        kind = str(block.get("type"))[:40]
        if kind == "tool_result":
            yield {**block, "content": list(_blocks(blocks_of(block.get("content")), _PI_USER, position, losses))}
        elif kind == "text":
            if block.get("citations"):
                losses.append(_loss("citations", "dropped: pi does not support them", position))
            yield {"type": "text", "text": block.get("text")}
        elif kind in known or (known is _PI_USER and _is_plain_image(block)):
            yield block
        else:
            losses.append(_loss("content", f"{kind} left out: pi supports text and images", position))
            yield {"type": "text", "text": f"[{kind} left out]"}


def _is_plain_image(block: Wire) -> bool:
    source = mapping_of(block.get("source"))
    is_whole = isinstance(source.get("data"), str) and isinstance(source.get("media_type"), str)
    return block.get("type") == "image" and source.get("type") == "base64" and is_whole
