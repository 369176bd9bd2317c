"""The usage in other tools' files, and the context window that it implies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from plimsoll.light.dataclass import replace
from plimsoll.message import Wire
from plimsoll.records.usage import Usage, usage_of
from plimsoll.transcripts.lines import mapping_of, maybe_count, text_of
from plimsoll.transcripts.values import SourceLine, SourceMessage, ToolCompaction
from plimsoll.transcripts.writing import time_ms

CLAUDE_WINDOW_TOKENS, CLAUDE_LONG_WINDOW_TOKENS = 200_000, 1_000_000
"""Claude Code uses the smaller window unless the user chose the larger one; the file does not name it."""

_TOTALS = ("input_tokens", "cached_input_tokens", "output_tokens")


def usage_in(reported: object, entry: SourceLine, *, position: int, model: str | None) -> Usage | None:
    """The usage in a line of a file, for the answer at that position; None if missing or all zeros."""
    found = usage_of(reported, model=model)
    if found is None:
        return None
    return replace(found, position=position, at_ms=time_ms(mapping_of(entry.value).get("timestamp")))


def newest_prompt(values: Sequence[Mapping[str, Any]]) -> int | None:
    """Size of the newest request in lines of any of the tools, or None."""
    for value in reversed(values):
        message, payload = mapping_of(value.get("message")), mapping_of(value.get("payload"))
        reported = message.get("usage") if value.get("isSidechain") is not True else None
        if payload.get("type") == "token_count":
            reported = mapping_of(payload.get("info")).get("last_token_usage")
        if (found := usage_of(reported)) is not None:
            return found.prompt_tokens
    return None


def claude_window(usages: Iterable[Usage], compactions: Iterable[ToolCompaction]) -> int:
    """Claude Code's window at the end of a file: the large one if the newest requests exceed the small one.

    The tool compacts automatically shortly before the window is full, so an automatic compaction below the small window shows that
    it was in use then.
    """
    sizes = [(usage.position or 0, usage.prompt_tokens) for usage in usages]
    sizes += [(found.position, found.tokens_before or 0) for found in compactions if found.trigger == "auto"]
    long = [place for place, tokens in sizes if tokens > CLAUDE_WINDOW_TOKENS]
    own = [found.position for found in compactions if _is_automatic(found)]
    return CLAUDE_LONG_WINDOW_TOKENS if long and max(long) > max(own, default=-1) else CLAUDE_WINDOW_TOKENS


def _is_automatic(compaction: ToolCompaction) -> bool:
    usual = CLAUDE_WINDOW_TOKENS // 2 < (compaction.tokens_before or 0) <= CLAUDE_WINDOW_TOKENS
    return compaction.trigger == "auto" and usual and not compaction.cleared


class CodexReports:
    """Reads the `token_count` events of a Codex file. Each is written after an answer, and often repeated later."""

    def __init__(self) -> None:
        self.usages: list[Usage] = []
        self.window_tokens: int | None = None
        self._model: str | None = None
        self._last_info: Mapping[str, Any] = {}

    def step(self, entry: SourceLine, kind: str, payload: Mapping[str, Any], made: Sequence[SourceMessage]) -> None:
        """Process one line. `made` are the items so far."""
        if kind == "turn_context":
            self._model = text_of(payload.get("model")) or self._model
        elif kind == "event_msg" and payload.get("type") in ("task_started", "turn_started"):
            self._window(payload)
        elif kind == "event_msg" and payload.get("type") == "token_count":
            self._counted(entry, payload, made)

    def _window(self, reported: Mapping[str, Any]) -> None:
        self.window_tokens = maybe_count(reported.get("model_context_window")) or self.window_tokens

    def _counted(self, entry: SourceLine, payload: Mapping[str, Any], made: Sequence[SourceMessage]) -> None:
        info = mapping_of(payload.get("info")) or (payload if "input_tokens" in payload else {})
        self._window(info)
        if not info or info == self._last_info:
            return
        last = mapping_of(info.get("last_token_usage")) or self._since(info)
        self._last_info = info
        found = usage_in(last, entry, position=_answer(made), model=self._model)
        if found is not None and made:
            self.usages.append(found)

    def _since(self, info: Mapping[str, Any]) -> Mapping[str, Any]:
        """The newest request's part of the running totals, for files with only those."""
        if "total_token_usage" not in info:
            return info
        total, before = mapping_of(info["total_token_usage"]), mapping_of(self._last_info.get("total_token_usage"))
        return {name: (maybe_count(total.get(name)) or 0) - (maybe_count(before.get(name)) or 0) for name in _TOTALS}


def _answer(made: Sequence[SourceMessage]) -> int:
    """Where the newest answer begins. Outputs may be written between it and its count."""
    position = len(made)
    while position > 0 and text_of(made[position - 1].wire.get("type")).endswith("_output"):
        position -= 1
    while position > 0 and _is_answer(made[position - 1].wire):
        position -= 1
    return min(position, max(0, len(made) - 1))


def _is_answer(wire: Wire) -> bool:
    kind = text_of(wire.get("type"))
    return wire.get("role") == "assistant" if kind == "message" else not kind.endswith("_output")
