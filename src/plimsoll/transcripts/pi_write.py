"""Writing pi entries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plimsoll.message import Wire
from plimsoll.transcripts.blocks import text_in
from plimsoll.transcripts.lines import dump, mapping_of, maybe_count, text_of
from plimsoll.transcripts.pi_blocks import pi_content
from plimsoll.transcripts.values import Compaction, Loss, Transcript
from plimsoll.transcripts.writing import Sheet, blocks_of, iso, raw_lines

_VERSION = 3
_NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
_NO_USAGE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": _NO_COST}


class PiWriter:
    """Appends to a source's entries, or starts a file."""

    def __init__(self, sheet: Sheet) -> None:
        source = sheet.source
        self.lines: list[str] = [] if source is None else raw_lines(source)
        self.losses: list[Loss] = []
        self._meta = sheet.meta
        self._ids = sheet.ids
        self._clock = sheet.clock
        self._leaf = None if source is None else source.leaf
        self._refs: list[list[str]] = [] if source is None else [[said.id] for said in source.messages]
        self._wires: list[Wire] = [] if source is None else [said.wire for said in source.messages]
        self._names: dict[str, str] = {}
        self._linear = source is not None and _is_linear(source)
        self._parsed = 0 if source is None else sum(entry.value is not None for entry in source.entries)
        self._order = {} if source is None else _order(source)
        for wire in self._wires:
            self._remember_calls(wire)
        self._ids.used.update(ref for refs in self._refs for ref in refs)
        if source is None:
            self._header()

    def _header(self) -> None:
        header = {"type": "session", "version": _VERSION, "id": self._ids.session, "timestamp": iso(self._clock.now)}
        self.lines.append(dump({**header, "cwd": self._meta.cwd or ""}))
        self._parsed = 1
        if self._meta.title:
            self._entry("session_info", {"name": self._meta.title})

    def say(self, wire: Wire) -> None:
        """One entry, or one for each result and one for the words beside them."""
        self._remember_calls(wire)
        self._wires.append(wire)
        if wire.get("role") == "assistant":
            self._refs.append([self._message(self._answer(wire))])
            return
        refs = [self._message(self._result(block)) for block in _results(wire)]
        words = pi_content([b for b in blocks_of(wire.get("content")) if b.get("type") != "tool_result"])
        if words or not refs:
            refs.append(self._message({"role": "user", "content": words}))
        self._refs.append(refs)

    def _remember_calls(self, wire: Wire) -> None:
        for block in blocks_of(wire.get("content")):
            if block.get("type") == "tool_use":
                self._names[text_of(block.get("id"))] = text_of(block.get("name"))

    def _answer(self, wire: Wire) -> dict[str, Any]:
        parts = [part for block in blocks_of(wire.get("content")) if (part := _part(block)) is not None]
        calls = any(part["type"] == "toolCall" for part in parts)
        return {
            "role": "assistant",
            "content": parts,
            "api": "anthropic-messages",
            "provider": "anthropic",
            "model": self._meta.model or "unknown",
            "usage": _NO_USAGE,
            "stopReason": "toolUse" if calls else "stop",
        }

    def _result(self, block: Mapping[str, Any]) -> dict[str, Any]:
        call = text_of(block.get("tool_use_id"))
        return {
            "role": "toolResult",
            "toolCallId": call,
            "toolName": self._names.get(call, "unknown"),
            "content": pi_content(block.get("content")),
            "isError": block.get("is_error") is True,
        }

    def compact(self, compaction: Compaction, kept: Sequence[int]) -> None:
        """A compaction keeps everything from one entry on. What was kept before a gap goes into the summary as text."""
        start, stays = len(self._wires), set(kept)
        while start - 1 in stays:
            start -= 1
        earlier = [index for index in kept if index < start]
        summary = compaction.summary or ""
        if earlier:
            quoted = "\n\n".join(
                f"[{self._wires[i].get('role')}] {text_in(self._wires[i].get('content'))}" for i in earlier
            )
            summary = f"{summary}\n\nKept from before:\n\n{quoted}"
            self.losses.append(
                Loss(kind="kept-as-text", detail=f"{len(earlier)} kept messages are text in the summary")
            )
        fields: dict[str, Any] = {"summary": summary, "tokensBefore": compaction.tokens_before or 0}
        first = self._refs[start][0] if start < len(self._refs) and self._refs[start] else None
        if self._linear:
            fields["firstKeptEntryIndex"] = self._parsed if first is None else self._order.get(first, self._parsed)
        else:
            fields["firstKeptEntryId"] = first or "none"
        self._entry("compaction", fields)

    def _message(self, message: Mapping[str, Any]) -> str:
        moment = self._clock.next()
        value = {**message, "timestamp": int(moment.timestamp() * 1000)}
        return self._entry("message", {"message": value}, stamp=iso(moment))

    def _entry(self, kind: str, fields: Mapping[str, Any], *, stamp: str | None = None) -> str:
        number = len(self.lines)
        id = f"line-{number}" if self._linear else self._ids.short(number, {"parent": self._leaf, **fields})
        value: dict[str, Any] = {"type": kind}
        if not self._linear:
            value |= {"id": id, "parentId": self._leaf}
        value |= {"timestamp": stamp or self._clock.stamp(), **fields}
        self.lines.append(dump(value))
        self._order[id] = self._parsed
        self._parsed += 1
        self._leaf = id
        return id


def _results(wire: Wire) -> list[dict[str, Any]]:
    return [block for block in blocks_of(wire.get("content")) if block.get("type") == "tool_result"]


def _part(block: Mapping[str, Any]) -> dict[str, Any] | None:
    match block.get("type"):
        case "text":
            return {"type": "text", "text": text_of(block.get("text"))}
        case "thinking":
            signature = text_of(block.get("signature"))
            return {"type": "thinking", "thinking": text_of(block.get("thinking")), "thinkingSignature": signature}
        case "redacted_thinking":
            data = text_of(block.get("data"))
            return {"type": "thinking", "thinking": "", "thinkingSignature": data, "redacted": True}
        case "tool_use":
            id, name = text_of(block.get("id")), text_of(block.get("name"))
            return {"type": "toolCall", "id": id, "name": name, "arguments": dict(mapping_of(block.get("input")))}
        case _:
            return None


def _is_linear(source: Transcript) -> bool:
    header = next((e.value for e in source.entries if mapping_of(e.value).get("type") == "session"), None)
    return (maybe_count(mapping_of(header).get("version")) or 1) < _VERSION - 1


def _order(source: Transcript) -> dict[str, int]:
    """The place of each entry among those that can be read, as the first version of the format counts."""
    readable = [entry for entry in source.entries if entry.value is not None]
    return {f"line-{entry.number}": place for place, entry in enumerate(readable)}
