"""Writing Claude Code lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plimsoll.message import Wire
from plimsoll.transcripts.lines import dump, mapping_of, maybe_text
from plimsoll.transcripts.values import Compaction, Loss, Transcript
from plimsoll.transcripts.writing import Sheet, blocks_of, raw_lines

_VERSION = "2.1.0"
_NO_USAGE = {
    "input_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 0,
}
"""Nothing is known of what was used. A preserved message with its old usage would make the tool compact again at
once.
"""


class ClaudeWriter:
    """Appends to a source's lines, or starts a file."""

    def __init__(self, sheet: Sheet) -> None:
        source, meta, ids = sheet.source, sheet.meta, sheet.ids
        self.lines: list[str] = [] if source is None else raw_lines(source)
        self.losses: list[Loss] = []
        self._meta = meta
        self._ids = ids
        self._clock = sheet.clock
        self._leaf = None if source is None else source.leaf
        self._refs: list[list[str]] = [] if source is None else _source_refs(source)
        self._ids.used.update(uuid for refs in self._refs for uuid in refs)
        if source is None and meta.title:
            self.lines.append(dump({"type": "custom-title", "customTitle": meta.title, "sessionId": ids.session}))

    def say(self, wire: Wire) -> None:
        """One line: a user's message, or an answer with all its blocks."""
        if wire.get("role") == "assistant":
            uuid = self._line("assistant", {"message": self._answer(wire)})
        else:
            content = wire.get("content")
            message = {"role": "user", "content": content if isinstance(content, str) else blocks_of(content)}
            uuid = self._line("user", {"message": message})
        self._refs.append([uuid])

    def _answer(self, wire: Wire) -> dict[str, Any]:
        content = blocks_of(wire.get("content"))
        calls = any(block.get("type") == "tool_use" for block in content)
        seed = {"answer": content, "after": self._leaf}
        return {
            "id": f"msg_{self._ids.uuid(len(self.lines), seed).replace('-', '')}",
            "type": "message",
            "role": "assistant",
            "model": self._meta.model or "unknown",
            "content": content,
            "stop_reason": "tool_use" if calls else "end_turn",
            "stop_sequence": None,
            "usage": _NO_USAGE,
        }

    def compact(self, compaction: Compaction, kept: Sequence[int]) -> None:
        """A boundary, the summary after it, and the names of the messages that stay."""
        if compaction.cleared:
            self._clear(compaction)
            return
        last = self._leaf
        metadata: dict[str, Any] = {"trigger": _trigger(compaction), "preTokens": compaction.tokens_before or 0}
        if compaction.tokens_after is not None:
            metadata["postTokens"] = compaction.tokens_after
        self._leaf = None
        number = len(self.lines)
        self._boundary("compact_boundary", "Conversation compacted", {"compactMetadata": metadata}, last)
        message = {"role": "user", "content": compaction.summary or ""}
        flags = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
        anchor = self._line("user", {**flags, "message": message})
        uuids = [uuid for index in kept for uuid in self._refs[index]]
        if uuids:
            metadata["preservedSegment"] = {"headUuid": uuids[0], "anchorUuid": anchor, "tailUuid": uuids[-1]}
            metadata["preservedMessages"] = {"anchorUuid": anchor, "uuids": uuids, "allUuids": uuids}
            self.lines[number] = dump({**self._written, "compactMetadata": metadata})

    def _boundary(self, subtype: str, content: str, metadata: Mapping[str, Any], logical: str | None) -> None:
        fields: dict[str, Any] = {"subtype": subtype, "content": content, "isMeta": False, "level": "info", **metadata}
        if subtype == "compact_boundary":
            fields["logicalParentUuid"] = logical
        self._line("system", fields)
        self._written = self._newest

    def _clear(self, compaction: Compaction) -> None:
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
        uuid = self._ids.uuid(len(self.lines), {"type": kind, "parent": self._leaf, **fields})
        value: dict[str, Any] = {
            "parentUuid": self._leaf,
            "isSidechain": False,
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


def _trigger(compaction: Compaction) -> str:
    return compaction.trigger if compaction.trigger in ("auto", "manual") else "auto"


def _source_refs(source: Transcript) -> list[list[str]]:
    values = [mapping_of(entry.value) for entry in source.entries]
    return [
        [uuid for line in said.lines if (uuid := maybe_text(values[line].get("uuid"))) is not None]
        for said in source.messages
    ]
