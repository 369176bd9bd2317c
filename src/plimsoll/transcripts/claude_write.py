"""Write Claude Code lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plimsoll.message import Wire
from plimsoll.records.usage import Usage
from plimsoll.transcripts.lines import dump, mapping_of, maybe_text
from plimsoll.transcripts.values import Checkpoint, Shown, ToolCompaction, Transcript
from plimsoll.transcripts.writing import Writer, WriterContext, blocks_of

_VERSION = "2.1.0"
_NO_USAGE = {
    "input_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 0,
}
"""A usage of zero. With its old usage, a preserved message would make the tool compact again at once."""

_SUMMARY_FLAGS = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}


def _used(usage: Usage) -> dict[str, int]:
    """Usage in the tool's fields, which count cached tokens separately."""
    return {
        "input_tokens": usage.prompt_tokens - usage.cached_tokens - usage.cache_write_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.completion_tokens,
    }


class ClaudeWriter(Writer):
    """Appends to a source's lines, or starts a file."""

    def __init__(self, context: WriterContext) -> None:
        source, meta, ids = context.source, context.meta, context.ids
        super().__init__(context)
        self._meta = meta
        self._leaf = None if source is None else source.leaf
        self._refs: list[list[str]] = [] if source is None else _source_refs(source)
        self._models = {} if source is None else _source_models(source)
        self._side = {} if source is None else _side_fields(source)
        self._ids.used.update(uuid for refs in self._refs for uuid in refs)
        if source is None and meta.title:
            self.lines.append(dump({"type": "custom-title", "customTitle": meta.title, "sessionId": ids.session}))

    def append(self, wire: Wire) -> None:
        """Write one line: a user's message, or an answer with all its blocks."""
        self._refs.append([self._message(Shown(wire=wire))])

    def _message(self, shown: Shown) -> str:
        wire, model = shown.wire, self._models.get(shown.message) or self._meta.model
        if wire.get("role") == "assistant":
            model = (self.usage and self.usage.model) or model or "unknown"
            return self._line("assistant", {"message": self._answer(wire, model)})
        content = wire.get("content")
        message = {"role": "user", "content": content if isinstance(content, str) else blocks_of(content)}
        return self._line("user", {**(_SUMMARY_FLAGS if shown.is_summary else {}), "message": message})

    def _answer(self, wire: Wire, model: str) -> dict[str, Any]:
        content = blocks_of(wire.get("content"))
        calls = any(block.get("type") == "tool_use" for block in content)
        seed = {"answer": content, "after": self._leaf}
        return {
            "id": f"msg_{self._ids.uuid(self.number, seed).replace('-', '')}",
            "type": "message",
            "role": "assistant",
            "model": model,
            "content": content,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": _NO_USAGE if self.usage is None else _used(self.usage),
        }

    def compact(self, compaction: ToolCompaction, kept: Sequence[int]) -> None:
        """Write a boundary, the summary after it, and the uuids of the preserved messages."""
        if compaction.cleared:
            self._clear(compaction)
            return
        number = len(self.lines)
        metadata = self._cut(compaction)
        anchor = self._line(
            "user", {**_SUMMARY_FLAGS, "message": {"role": "user", "content": compaction.summary or ""}}
        )
        uuids = [uuid for index in kept for uuid in self._refs[index]]
        if uuids:
            metadata["preservedSegment"] = {"headUuid": uuids[0], "anchorUuid": anchor, "tailUuid": uuids[-1]}
            metadata["preservedMessages"] = {"anchorUuid": anchor, "uuids": uuids, "allUuids": uuids}
            self.lines[number] = dump({**self._written, "compactMetadata": metadata})

    def restart(self, checkpoint: Checkpoint) -> None:
        """Write a boundary and the view behind it, one line for each message, without links to anything older."""
        self._cut(checkpoint)
        for shown in checkpoint.view:
            self._message(shown)

    def _cut(self, made: ToolCompaction | Checkpoint) -> dict[str, Any]:
        """Write a boundary, which has no parent, and return its metadata."""
        metadata: dict[str, Any] = {"trigger": _trigger(made), "preTokens": made.tokens_before or 0}
        if made.tokens_after is not None:
            metadata["postTokens"] = made.tokens_after
        last, self._leaf = self._leaf, None
        self._boundary("compact_boundary", "Conversation compacted", {"compactMetadata": metadata}, last)
        return metadata

    def _boundary(self, subtype: str, content: str, metadata: Mapping[str, Any], logical: str | None) -> None:
        fields: dict[str, Any] = {"subtype": subtype, "content": content, "isMeta": False, "level": "info", **metadata}
        if subtype == "compact_boundary":
            fields["logicalParentUuid"] = logical
        self._line("system", fields)
        self._written = self._newest

    def _clear(self, compaction: ToolCompaction) -> None:
        before, after = compaction.tokens_before or 0, compaction.tokens_after or 0
        metadata = {
            "trigger": _trigger(compaction),
            "preTokens": before,
            "tokensSaved": max(0, before - after),
            "compactedToolIds": list(compaction.cleared),
            "clearedAttachmentUUIDs": [],
        }
        fields = {"microcompactMetadata": metadata}
        self._boundary("microcompact_boundary", "Context microcompacted", fields, self._leaf)

    def _line(self, kind: str, fields: Mapping[str, Any]) -> str:
        uuid = self._ids.uuid(self.number, {"type": kind, "parent": self._leaf, **fields})
        value: dict[str, Any] = {
            "parentUuid": self._leaf,
            "isSidechain": False,
            **self._side,
            "userType": "external",
            "cwd": self._meta.cwd or "",
            "sessionId": self._ids.session,
            "version": self._meta.version or _VERSION,
            "gitBranch": self._meta.branch or "",
            "type": kind,
            **fields,
            "uuid": uuid,
            "timestamp": self._clock.stamp(),
        }
        self.lines.append(dump(value))
        self._newest = value
        self._leaf = uuid
        return uuid


def _trigger(made: ToolCompaction | Checkpoint) -> str:
    return made.trigger if made.trigger in ("auto", "manual") else "auto"


def _source_models(source: Transcript) -> dict[int | None, str]:
    """The model of each answer, which signed its thinking."""
    found: dict[int | None, str] = {}
    for index, message in enumerate(source.messages):
        line = mapping_of(source.entries[message.lines[0]].value) if message.lines else {}
        model = maybe_text(mapping_of(line.get("message")).get("model"))
        if model is not None and not model.startswith("<"):
            found[index] = model
    return found


def _side_fields(source: Transcript) -> dict[str, Any]:
    """Fields that put new lines into the sidechain of a sub-agent's own file."""
    first = mapping_of(source.entries[source.messages[0].lines[0]].value) if source.messages else {}
    if first.get("isSidechain") is not True:
        return {}
    agent = maybe_text(first.get("agentId"))
    return {"isSidechain": True, **({} if agent is None else {"agentId": agent})}


def _source_refs(source: Transcript) -> list[list[str]]:
    values = [mapping_of(entry.value) for entry in source.entries]
    return [
        [uuid for line in message.lines if (uuid := maybe_text(values[line].get("uuid"))) is not None]
        for message in source.messages
    ]
