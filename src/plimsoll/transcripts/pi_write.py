"""Write pi entries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from plimsoll.compaction.readers import PI
from plimsoll.message import Wire
from plimsoll.records.usage import Usage
from plimsoll.transcripts.lines import dump, list_of, mapping_of, text_in, text_of
from plimsoll.transcripts.pi import ANTHROPIC_APIS, call_id, header_of, is_linear, message_wire, pi_content
from plimsoll.transcripts.values import Checkpoint, ExportLoss, Shown, ToolCompaction, Transcript
from plimsoll.transcripts.writing import Writer, WriterContext, blocks_of, iso

_VERSION = 3
_NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
_NO_USAGE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": _NO_COST}


def _used(usage: Usage) -> dict[str, Any]:
    """Usage in the tool's fields, which count cached tokens separately. The cost is unknown."""
    return {
        **_NO_USAGE,
        "input": usage.prompt_tokens - usage.cached_tokens - usage.cache_write_tokens,
        "output": usage.completion_tokens,
        "cacheRead": usage.cached_tokens,
        "cacheWrite": usage.cache_write_tokens,
        "totalTokens": usage.total_tokens,
    }


class PiWriter(Writer):
    """Appends to a source's entries, or starts a file."""

    def __init__(self, context: WriterContext) -> None:
        source = context.source
        super().__init__(context)
        self._meta = context.meta
        self._leaf = None if source is None else source.leaf
        self._refs: list[list[str]] = [] if source is None else [[message.id] for message in source.messages]
        self._wires: list[Wire] = [] if source is None else [message.wire for message in source.messages]
        self._names: dict[str, str] = {}
        self._next_id: str | None = None
        self._source_messages = {} if source is None else _source_messages(source)
        self._settings = {} if source is None else _settings(source)
        self._newest_answer = next(
            (m for m in reversed(self._source_messages.values()) if m.get("role") == "assistant"), {}
        )
        self._ids_written = _ids_written(self._source_messages.values())
        self._results = {
            call_id(text_of(m.get("toolCallId"))): m
            for m in self._source_messages.values()
            if m.get("role") == "toolResult"
        }
        self._linear = source is not None and is_linear(header_of(source.entries))
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

    def append(self, wire: Wire) -> None:
        """Write one entry, or one for each result and one for the text next to them."""
        self._remember_calls(wire)
        self._wires.append(wire)
        self._refs.append(self._entries(Shown(wire=wire)))

    def _entries(self, shown: Shown) -> list[str]:
        wire = shown.wire
        if wire.get("role") == "assistant":
            return [self._message(self._answer(wire, self._source_messages.get(shown.message, {})))]
        refs = [self._message(self._result(block)) for block in _results(wire)]
        others = [block for block in blocks_of(wire.get("content")) if block.get("type") != "tool_result"]
        words = self._content(others, "a user's message")
        if words or not refs:
            refs.append(self._message({"role": "user", "content": words}))
        return refs

    def _remember_calls(self, wire: Wire) -> None:
        for block in blocks_of(wire.get("content")):
            if block.get("type") == "tool_use":
                self._names[text_of(block.get("id"))] = text_of(block.get("name"))

    def _answer(self, wire: Wire, source: Mapping[str, Any]) -> dict[str, Any]:
        """An answer; one that repeats an entry of the source keeps that entry's fields except usage."""
        if source and message_wire(source) == wire:
            return {**source, "usage": _NO_USAGE}
        parts = [part for block in blocks_of(wire.get("content")) if (part := self._part(block)) is not None]
        calls = any(part["type"] == "toolCall" for part in parts)
        origin = source or self._newest_answer
        thinks = any(part["type"] == "thinking" for part in parts)
        if not origin or (thinks and origin.get("api") not in ANTHROPIC_APIS):
            origin = {"api": "anthropic-messages", "provider": "anthropic", "model": self._meta.model or "unknown"}
        return {
            "role": "assistant",
            "content": parts,
            **{key: origin.get(key) for key in ("api", "provider", "model")},
            "usage": _NO_USAGE if self.usage is None else _used(self.usage),
            "stopReason": "toolUse" if calls else "stop",
        }

    def _part(self, block: Mapping[str, Any]) -> dict[str, Any] | None:
        part = _part(block)
        if part is None:
            self._leave("an answer", block)
        elif part["type"] == "toolCall":
            part["id"] = self._ids_written.get(part["id"], part["id"])
        return part

    def _result(self, block: Mapping[str, Any]) -> dict[str, Any]:
        call = text_of(block.get("tool_use_id"))
        source = self._results.get(call, {})
        if source and message_wire(source) == {"role": "user", "content": [block]}:
            return dict(source)
        return {
            "role": "toolResult",
            "toolCallId": self._ids_written.get(call, call),
            "toolName": source.get("toolName") or self._names.get(call, "unknown"),
            "content": self._content(block.get("content"), "a result"),
            "isError": block.get("is_error") is True,
        }

    def _content(self, content: object, where: str) -> list[dict[str, Any]]:
        """Text and images; other blocks are reported as losses."""
        found: list[dict[str, Any]] = []
        for block in blocks_of(content):
            written = pi_content([block])
            found += written
            if not written:
                self._leave(where, block)
        return found

    def _leave(self, where: str, block: Mapping[str, Any]) -> None:
        kind = text_of(block.get("type"))[:40]
        self.losses.append(ExportLoss(kind="content", detail=f"{kind} in {where}: pi supports text and images"))

    def compact(self, compaction: ToolCompaction, kept: Sequence[int]) -> None:
        """Write a compaction, which keeps everything from one entry on. Kept messages before a gap become text in the summary."""
        start, stays = len(self._wires), set(kept)
        while start - 1 in stays:
            start -= 1
        earlier = [index for index in kept if index < start]
        summary = compaction.summary or ""
        if earlier:
            quoted = "\n\n".join(
                f"[{self._wires[i].get('role')}] {text_in(self._wires[i].get('content'))}" for i in earlier
            )
            summary = f"{summary}\n\nKept messages:\n\n{quoted}"
            self.losses.append(
                ExportLoss(kind="kept-as-text", detail=f"{len(earlier)} kept messages are text in the summary")
            )
        first = self._refs[start][0] if start < len(self._refs) and self._refs[start] else None
        self._compaction(summary, compaction.tokens_before, first)

    def restart(self, checkpoint: Checkpoint) -> None:
        """Write a compaction that keeps nothing older, and the view after it.

        pi puts the summary before everything else, in its own wording. A view that does not begin so is a new branch from the
        root, which also reads nothing older. Version 1 of the format has no branches.
        """
        first, *rest = checkpoint.view or (Shown(wire={}),)
        opening, *others = blocks_of(first.wire.get("content")) or [{}]
        summary = PI.inside(text_of(opening.get("text")))
        if summary is not None:
            self._compaction(summary, checkpoint.tokens_before, None)
            self._write([Shown(wire={**first.wire, "content": others}), *rest] if others else rest)
        elif not self._linear:
            self._leaf = None
            for kind, fields in self._settings.items():
                self._entry(kind, fields)
            if (
                self._leaf is None and not checkpoint.view
            ):  # a branch needs an entry; this type is never sent to the model
                self._entry("custom", {"customType": "plimsoll"})
            self._write(checkpoint.view)

    def _write(self, view: Sequence[Shown]) -> None:
        for shown in view:
            self._remember_calls(shown.wire)
            self._entries(shown)

    def _compaction(self, summary: str, tokens_before: int | None, first: str | None) -> None:
        """Write a compaction that keeps the entries from `first` on (None: those after it)."""
        fields: dict[str, Any] = {"summary": summary, "tokensBefore": tokens_before or 0}
        if self._linear:
            next_one = self._parsed + 1
            fields["firstKeptEntryIndex"] = next_one if first is None else self._order.get(first, next_one)
        else:
            next_id = self._ids.short(self.number + 1, {"after": self._leaf}) if first is None else None
            fields["firstKeptEntryId"] = first or next_id
        self._entry("compaction", fields)
        if not self._linear and first is None:
            self._next_id = next_id

    def _message(self, message: Mapping[str, Any]) -> str:
        moment = self._clock.next()
        value = {**message, "timestamp": int(moment.timestamp() * 1000)}
        return self._entry("message", {"message": value}, stamp=iso(moment))

    def _entry(self, kind: str, fields: Mapping[str, Any], *, stamp: str | None = None) -> str:
        number = self.number
        id = (
            f"line-{number}" if self._linear else self._next_id or self._ids.short(number, {"of": self._leaf, **fields})
        )
        self._next_id = None
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


def _order(source: Transcript) -> dict[str, int]:
    """The index of each readable entry, as version 1 of the format counts."""
    readable = [entry for entry in source.entries if entry.value is not None]
    return {f"line-{entry.number}": place for place, entry in enumerate(readable)}


def _source_messages(source: Transcript) -> dict[int | None, Mapping[str, Any]]:
    """The messages of the source as pi wrote them, by index in the history."""
    found: dict[int | None, Mapping[str, Any]] = {}
    for index, message in enumerate(source.messages):
        entry = mapping_of(source.entries[message.lines[0]].value) if message.lines else {}
        if entry.get("type") == "message":
            found[index] = mapping_of(entry.get("message"))
    return found


def _ids_written(messages: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Sanitised call ids -> the ids as pi wrote them."""
    parts = (part for message in messages for part in list_of(message.get("content")) if isinstance(part, dict))
    ids = (text_of(part.get("id")) for part in parts if part.get("type") == "toolCall")
    return {call_id(id): id for id in ids}


def _settings(source: Transcript) -> dict[str, Mapping[str, Any]]:
    """The newest model and thinking level, which pi reads on the way to the root."""
    found: dict[str, Mapping[str, Any]] = {}
    for entry in source.entries:
        value = mapping_of(entry.value)
        kind = text_of(value.get("type"))
        if kind in ("model_change", "thinking_level_change"):
            found[kind] = {key: value[key] for key in value if key not in ("type", "id", "parentId", "timestamp")}
    return found
