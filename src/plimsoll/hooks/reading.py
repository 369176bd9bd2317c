"""Lines of a running session's file, read for their facts: what was said, and where the tool compacted.

The readers in `transcripts` rebuild what the tool would send, from the whole file. A hook has a tenth of a second and needs less:
each line for itself, in any order, so that it can go on where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from plimsoll.errors import FormatError, LimitExceeded
from plimsoll.formats.anthropic.decode import decode as decode_anthropic
from plimsoll.message import Message
from plimsoll.transcripts.lines import list_of, mapping_of, parse, text_of

FENCE = "plimsoll-notes"
"""The name of the fence around what a hook hands back, by which it is found again in the file."""

_FENCE_BYTES = f"<{FENCE} id=".encode()


class LineReader:
    """Reads lines into messages. `position` is the number of messages read before."""

    def __init__(
        self, position: int = 0, *, boundary: int | None = None, summary: str = "", answered: bool = True
    ) -> None:
        self.messages: list[Message] = []
        self.boundary = boundary
        """Position of the newest compaction: the messages before it were replaced. None before the first."""
        self.summary = summary
        """The text that the newest compaction put in their place, as far as it is written there."""
        self.answered = answered
        """Whether the model has answered since: then a summary that is missing will not come any more."""
        self.handed = False
        """Whether notes were handed back since."""
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
                self.handed = self.handed or _FENCE_BYTES in raw.replace(b"\\", b"")

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
            from plimsoll.formats.openai_responses.decode import decode  # noqa: PLC0415 - only Codex's files need it
            from plimsoll.transcripts.codex_replay import is_context  # noqa: PLC0415 - as above

            if payload.get("role") not in ("developer", "system") and not is_context(payload):
                self._add(decode, payload)

    def _say(self, wire: Mapping[str, Any]) -> None:
        self._add(decode_anthropic, wire)

    def _add(self, decode: Any, wire: Mapping[str, Any]) -> None:
        try:
            message: Message = decode(wire, 0)
        except (FormatError, LimitExceeded):
            return
        self.answered = self.answered or message.role == "assistant"
        self.messages.append(message)

    def _compacted(self, summary: str) -> None:
        position = self._position + len(self.messages)
        if summary and self.boundary == position and self.summary:
            summary = f"{self.summary}\n{summary}"
        self.boundary, self.summary, self.answered, self.handed = position, summary, False, False


def _plain(content: object) -> str:
    """The text of a message's content."""
    if isinstance(content, str):
        return content
    return "\n".join(text_of(mapping_of(part).get("text")) for part in list_of(content))
