"""Write Codex rollout lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plimsoll.message import Wire
from plimsoll.records.usage import Usage
from plimsoll.transcripts.codex_replay import SUMMARY_PREFIX
from plimsoll.transcripts.lines import dump, mapping_of, maybe_count, text_in, text_of
from plimsoll.transcripts.values import Checkpoint, Meta, ToolCompaction, Transcript
from plimsoll.transcripts.writing import Writer, WriterContext, iso

_VERSION = "0.128.0"
_NO_USAGE = {
    "input_tokens": 0,
    "cached_input_tokens": 0,
    "output_tokens": 0,
    "reasoning_output_tokens": 0,
    "total_tokens": 0,
}


def _used(usage: Usage) -> dict[str, int]:
    """Usage in the tool's fields, which include cached tokens in the input."""
    return {
        **_NO_USAGE,
        "input_tokens": usage.prompt_tokens,
        "cached_input_tokens": usage.cached_tokens,
        "output_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
    }


class CodexWriter(Writer):
    """Appends to a source's lines, or starts a file."""

    def __init__(self, context: WriterContext) -> None:
        source = context.source
        super().__init__(context)
        self._items: list[Wire] = [] if source is None else [message.wire for message in source.messages]
        self._ordinal = None if source is None else _last_ordinal(source)
        self._total = _NO_USAGE if source is None else _last_total(source)
        self._window_tokens = None if source is None else source.window_tokens
        if source is None:
            self._header(context.meta, context.ids.session, context.system)

    def _header(self, meta: Meta, session: str, system: str | None) -> None:
        payload: dict[str, Any] = {
            "id": session,
            "timestamp": iso(self._clock.now),
            "cwd": meta.cwd or "",
            "originator": "plimsoll",
            "cli_version": meta.version or _VERSION,
            "source": "cli",
            "model_provider": "openai",
            "base_instructions": {"text": system} if system else None,
        }
        if meta.branch:
            payload["git"] = {"branch": meta.branch}
        self._line("session_meta", payload)

    def append(self, wire: Wire) -> None:
        """Write one response item; text of user and assistant also as an event, which the tool displays."""
        item = response_item(wire)
        self._items.append(item)
        self._line("response_item", item)
        said_as = {"user": "user_message", "assistant": "agent_message"}.get(text_of(item.get("role")))
        if item.get("type") == "message" and said_as and (text := text_in(item.get("content"))):
            self._line("event_msg", {"type": said_as, "message": text})
        if self.usage is not None:
            used = _used(self.usage)
            self._total = {name: self._total[name] + used[name] for name in used}
            self._count(used)

    def compact(self, compaction: ToolCompaction, kept: Sequence[int]) -> None:
        """Write a replacement history: the summary with the tool's prefix, then the kept messages."""
        text = f"{SUMMARY_PREFIX}\n{compaction.summary or ''}"
        summary = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
        history = [summary, *(dict(self._items[index]) for index in kept)]
        if compaction.replacement is not None:  # the tool's own replacement is known
            history = [response_item(wire) for wire in compaction.replacement]
        self._compacted(text, history)

    def restart(self, checkpoint: Checkpoint) -> None:
        """Write the view as a replacement history, which the tool continues from verbatim.

        It is a turn of its own, as the tool writes it, so that rolling back the previous turn does not remove it. A `token_count`
        event follows, because with the count from before the tool would compact at once.
        """
        text = f"{SUMMARY_PREFIX}\n{checkpoint.summary}" if checkpoint.summary else ""
        history = [response_item(shown.wire) for shown in checkpoint.view]
        turn = self._ids.uuid(self.number, {"compacted": history})
        self._line("event_msg", {"type": "task_started", "turn_id": turn, "model_context_window": None})
        self._compacted(text, history)
        self._count({**_NO_USAGE, "total_tokens": checkpoint.tokens_after or 0})
        self._line("event_msg", {"type": "task_complete", "turn_id": turn, "last_agent_message": None})

    def _compacted(self, text: str, history: Sequence[Mapping[str, Any]]) -> None:
        self._line("compacted", {"message": text, "replacement_history": history})
        self._line("event_msg", {"type": "context_compacted"})

    def _count(self, last: Mapping[str, int]) -> None:
        info = {"total_token_usage": self._total, "last_token_usage": last, "model_context_window": self._window_tokens}
        self._line("event_msg", {"type": "token_count", "info": info, "rate_limits": None})

    def _line(self, kind: str, payload: Mapping[str, Any]) -> None:
        value: dict[str, Any] = {"timestamp": self._clock.stamp(), "type": kind, "payload": payload}
        if self._ordinal is not None:
            self._ordinal += 1
            value["ordinal"] = self._ordinal
        self.lines.append(dump(value))


def response_item(wire: Wire) -> dict[str, Any]:
    """A Responses input item in the tool's form: with its type, and its content as a list of parts."""
    item = dict(wire)
    if "type" not in item and "role" in item:
        item = {"type": "message", **item}
    if item.get("type") == "message" and isinstance(item.get("content"), str):
        kind = "output_text" if item.get("role") == "assistant" else "input_text"
        item["content"] = [{"type": kind, "text": item["content"]}]
    return item


def _last_ordinal(source: Transcript) -> int | None:
    found = (maybe_count(mapping_of(entry.value).get("ordinal")) for entry in reversed(source.entries))
    return next((ordinal for ordinal in found if ordinal is not None), None)


def _last_total(source: Transcript) -> dict[str, int]:
    """The running totals of the source; zeros if it has none."""
    payloads = (mapping_of(mapping_of(entry.value).get("payload")) for entry in reversed(source.entries))
    infos = (mapping_of(payload.get("info")) for payload in payloads if payload.get("type") == "token_count")
    total = next((mapping_of(info["total_token_usage"]) for info in infos if "total_token_usage" in info), {})
    return {name: maybe_count(total.get(name)) or 0 for name in _NO_USAGE}
