"""Memories as notes for a model: fenced, framed as data, each with who said it and when."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Literal

from plimsoll.compaction.notes_shown import NOTES_HEADERS
from plimsoll.formats.provenance import notice
from plimsoll.protocols import Memory, TokenCounter
from plimsoll.summary.frame import neutralised
from plimsoll.summary.ledger.sentences import line
from plimsoll.truncation.marker import language_of

NOTES_TOKENS_MAX = 500
"""Tokens of the notes, if no other number is asked for."""

_FOOTERS = {"en": "End of notes", "zh": "笔记结束"}
_SPEAKERS = {
    "en": {"user": "said by the user", "assistant": "said by the assistant", "tool": "said by a tool"},
    "zh": {"user": "用户所说", "assistant": "助手所说", "tool": "工具所说"},
}
_NAME_CHARS_MAX = 80
_TIME_S_MAX = 253_402_300_799
"""The end of the year 9999."""


def notes_of(
    memories: Sequence[Memory], *, tokens_max: int, counter: TokenCounter
) -> tuple[str | None, tuple[Memory, ...]]:
    """Notes of as many memories as fit, and which those are. The memories are given the most important first."""
    language = language_of("".join(memory.text for memory in memories[:20]))

    def tokens(count: int) -> int:
        return counter.upper(_framed(memories[:count], language))

    too_many = (
        1  # doubled, so that little is counted of many memories for short notes, and none of it often for long ones
    )
    while too_many <= len(memories) and tokens(too_many) <= tokens_max:
        too_many *= 2
    counts = range(too_many // 2, min(too_many, len(memories) + 1))
    shown = memories[: counts[bisect_right(counts, tokens_max, lo=1, key=tokens) - 1]]
    return (_framed(shown, language) if shown else None), tuple(shown)


def _framed(memories: Sequence[Memory], language: Literal["en", "zh"]) -> str:
    body = "\n".join(_line(memory, language) for memory in memories)
    return f"{notice(NOTES_HEADERS[language])}\n{neutralised(body)}\n{notice(_FOOTERS[language])}"


def _line(memory: Memory, language: Literal["en", "zh"]) -> str:
    """A memory in one line. Line feeds and brackets could close the fence in the eyes of a model, also in a session's name."""
    day = datetime.fromtimestamp(min(max(0, memory.time_ms // 1000), _TIME_S_MAX), UTC).date()
    where = next((origin.session for origin in reversed(memory.origins) if origin.session), None)
    place = f", {line(where, _NAME_CHARS_MAX)}" if where else ""
    text = f"- {memory.text} ({_SPEAKERS[language][memory.by]}, {day}{place})"
    return text.replace("[", "(").replace("]", ")")
