"""What another tool's file supports of messages in its format: the rest leaves a note and is reported as a loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from plimsoll.formats.anthropic.codec import labelled_text
from plimsoll.message import Wire
from plimsoll.transcripts.blocks import text_in
from plimsoll.transcripts.lines import mapping_of
from plimsoll.transcripts.values import ExportLoss, ToolName
from plimsoll.transcripts.writing import blocks_of

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
        losses.append(ExportLoss(kind="system role", detail="became a labelled user message", position=position))
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
                losses.append(
                    ExportLoss(kind="citations", detail="dropped: pi does not support them", position=position)
                )
            yield {"type": "text", "text": block.get("text")}
        elif kind in known or (known is _PI_USER and _is_plain_image(block)):
            yield block
        else:
            losses.append(
                ExportLoss(kind="content", detail=f"{kind} left out: pi supports text and images", position=position)
            )
            yield {"type": "text", "text": f"[{kind} left out]"}


def _is_plain_image(block: Wire) -> bool:
    source = mapping_of(block.get("source"))
    is_whole = isinstance(source.get("data"), str) and isinstance(source.get("media_type"), str)
    return block.get("type") == "image" and source.get("type") == "base64" and is_whole
