"""Lines of a running session's file as they are written: what was said, and where the tool compacted.

The readers of the tools rebuild what the tool would send, from the whole file. A hook has a tenth of a second and needs less:
each line for itself, in any order, so that it can go on where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace
from typing import Any

from plimsoll.dataclass import dataclass
from plimsoll.errors import FormatError, LimitExceeded
from plimsoll.message import FormatName, Message
from plimsoll.transcripts.lines import list_of, mapping_of, parse, text_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LastCompaction:
    """The newest compaction of a session's file."""

    position: int | None = None
    """Number of messages before it, which it replaced. None before the first."""
    summary: str = field(default="", repr=False)
    """The text that it put in their place, as far as it is written."""
    answered: bool = True
    """Whether the model has answered since: then a summary that is missing will not come any more."""
    marked: bool = False
    """Whether a line since then has the mark that its reader looks for."""


class LineReader:
    """Reads lines into messages. `position` is the number of messages read before, `last` the newest compaction then."""

    def __init__(self, position: int, last: LastCompaction, *, mark: bytes = b"\0") -> None:
        self.messages: list[Message] = []
        self.last = last
        self._mark = mark
        self._position = position

    def read(self, lines: Iterable[bytes]) -> None:
        """Read lines. Those that are damaged, or hold nothing that was said, are passed by."""
        for raw in lines:
            try:
                value = parse(raw) if raw.strip() else None
            except ValueError:
                continue
            if isinstance(value, dict):
                self._line(value)
                if self._mark in raw:
                    self.last = replace(self.last, marked=True)

    def _line(self, value: Mapping[str, Any]) -> None:
        payload = value.get("payload")
        if isinstance(payload, dict):
            self._codex(text_of(value.get("type")), payload)
        elif value.get("isSidechain") is not True:
            self._claude(text_of(value.get("type")), value)

    def _claude(self, kind: str, value: Mapping[str, Any]) -> None:
        content = mapping_of(value.get("message")).get("content")
        if kind == "attachment":
            attached = mapping_of(value.get("attachment"))
            if attached.get("type") == "queued_command":
                self._say({"role": "user", "content": attached.get("prompt")})
        elif kind == "system" and value.get("subtype") == "compact_boundary":
            self._compacted("")
        elif value.get("isCompactSummary") is True:
            self._compacted(_plain(content))
        elif kind in ("user", "assistant") and not (value.get("isMeta") or value.get("isApiErrorMessage")):
            self._say({"role": kind, "content": content})

    def _codex(self, kind: str, payload: Mapping[str, Any]) -> None:
        if kind == "compacted":
            kept = (_plain(mapping_of(item).get("content")) for item in list_of(payload.get("replacement_history")))
            self._compacted("\n".join([text_of(payload.get("message")), *filter(None, kept)]))
        elif kind == "response_item":
            from plimsoll.transcripts.codex_replay import is_context  # noqa: PLC0415 - only Codex's files need it

            if payload.get("role") not in ("developer", "system") and not is_context(payload):
                self._add(payload, "openai-responses")

    def _say(self, wire: Mapping[str, Any]) -> None:
        self._add(wire, "anthropic")

    def _add(self, wire: Mapping[str, Any], format: FormatName) -> None:
        from plimsoll.formats.registry import format_named  # noqa: PLC0415 - right after a compaction there is no message

        try:
            message = format_named(format).decode(wire, 0)
        except (FormatError, LimitExceeded):
            return
        if message.role == "assistant" and not self.last.answered:
            self.last = replace(self.last, answered=True)
        self.messages.append(message)

    def _compacted(self, summary: str) -> None:
        position, last = self._position + len(self.messages), self.last
        if last.summary and last.position == position:
            summary = f"{last.summary}\n{summary}"
        self.last = LastCompaction(position=position, summary=summary, answered=False)


def _plain(content: object) -> str:
    """The text of a message's content."""
    if isinstance(content, str):
        return content
    return "\n".join(text_of(mapping_of(part).get("text")) for part in list_of(content))
