"""What the files of other tools say their providers counted: the usage of each answer, and the window it had to fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from plimsoll.limits import TIME_MS_MAX
from plimsoll.message import Wire
from plimsoll.records.usage import Usage, usage_of
from plimsoll.transcripts.lines import mapping_of, maybe_count, text_of
from plimsoll.transcripts.values import SourceLine, ToolCompaction
from plimsoll.transcripts.writing import moment

CLAUDE_WINDOW_TOKENS, CLAUDE_LONG_WINDOW_TOKENS = 200_000, 1_000_000
"""Claude Code works in the smaller one unless its user asked for the larger one; no file names it."""

_TOTALS = ("input_tokens", "cached_input_tokens", "output_tokens")


def usage_in(told: object, entry: SourceLine, *, position: int, model: str | None) -> Usage | None:
    """The usage in a line of a file, for the answer at that position; None where it says nothing or only zeros."""
    found = usage_of(told, model=model)
    if found is None:
        return None
    at = moment(mapping_of(entry.value).get("timestamp"))
    at_ms = -1 if at is None else int(at.timestamp() * 1000)
    return replace(found, position=position, at_ms=at_ms if 0 <= at_ms <= TIME_MS_MAX else None)


def newest_prompt(values: Sequence[Mapping[str, Any]]) -> int | None:
    """The newest request that lines of any of the tools say the size of; None where none does."""
    for value in reversed(values):
        message, payload = mapping_of(value.get("message")), mapping_of(value.get("payload"))
        told = message.get("usage") if value.get("isSidechain") is not True else None
        if payload.get("type") == "token_count":
            told = mapping_of(payload.get("info")).get("last_token_usage")
        if (found := usage_of(told)) is not None:
            return found.prompt_tokens
    return None


def claude_window(usages: Iterable[Usage], compactions: Iterable[ToolCompaction]) -> int:
    """The window Claude Code worked in at the end of a file: the long one where more than the usual one was sent last.

    The tool compacts by itself some way before the window is full, so a compaction of its own below the usual window says that
    the session was in that one then.
    """
    sizes = [(usage.position or 0, usage.prompt_tokens) for usage in usages]
    sizes += [(found.position, found.tokens_before or 0) for found in compactions if found.trigger == "auto"]
    long = [place for place, tokens in sizes if tokens > CLAUDE_WINDOW_TOKENS]
    own = [found.position for found in compactions if _by_itself(found)]
    return CLAUDE_LONG_WINDOW_TOKENS if long and max(long) > max(own, default=-1) else CLAUDE_WINDOW_TOKENS


def _by_itself(found: ToolCompaction) -> bool:
    usual = CLAUDE_WINDOW_TOKENS // 2 < (found.tokens_before or 0) <= CLAUDE_WINDOW_TOKENS
    return found.trigger == "auto" and usual and not found.cleared


class Made(Protocol):
    """An item of a Codex file that was said."""

    @property
    def wire(self) -> Wire:
        """As it is sent."""
        ...


class CodexReports:
    """Follows the `token_count` events of a Codex file. Each is written when an answer is complete, and often again later."""

    def __init__(self) -> None:
        self.usages: list[Usage] = []
        self.window_tokens: int | None = None
        self._model: str | None = None
        self._told: Mapping[str, Any] = {}

    def step(self, entry: SourceLine, kind: str, payload: Mapping[str, Any], made: Sequence[Made]) -> None:
        """Take one line. `made` are the items said so far."""
        if kind == "turn_context":
            self._model = text_of(payload.get("model")) or self._model
        elif kind == "event_msg" and payload.get("type") in ("task_started", "turn_started"):
            self._window(payload)
        elif kind == "event_msg" and payload.get("type") == "token_count":
            self._counted(entry, payload, made)

    def _window(self, told: Mapping[str, Any]) -> None:
        self.window_tokens = maybe_count(told.get("model_context_window")) or self.window_tokens

    def _counted(self, entry: SourceLine, payload: Mapping[str, Any], made: Sequence[Made]) -> None:
        info = mapping_of(payload.get("info")) or (payload if "input_tokens" in payload else {})
        self._window(info)
        if not info or info == self._told:
            return
        last = mapping_of(info.get("last_token_usage")) or self._since(info)
        self._told = info
        found = usage_in(last, entry, position=_answer(made), model=self._model)
        if found is not None and made:
            self.usages.append(found)

    def _since(self, info: Mapping[str, Any]) -> Mapping[str, Any]:
        """The newest request's part of the running totals, in files that have only those."""
        if "total_token_usage" not in info:
            return info
        total, before = mapping_of(info["total_token_usage"]), mapping_of(self._told.get("total_token_usage"))
        return {name: (maybe_count(total.get(name)) or 0) - (maybe_count(before.get(name)) or 0) for name in _TOTALS}


def _answer(made: Sequence[Made]) -> int:
    """Where the newest answer begins: outputs may have been written after it, before its count was."""
    position = len(made)
    while position > 0 and text_of(made[position - 1].wire.get("type")).endswith("_output"):
        position -= 1
    while position > 0 and _is_answer(made[position - 1].wire):
        position -= 1
    return min(position, max(0, len(made) - 1))


def _is_answer(wire: Wire) -> bool:
    kind = text_of(wire.get("type"))
    return wire.get("role") == "assistant" if kind == "message" else not kind.endswith("_output")
