"""The allowed values of policy fields, and the named policies, as data.

Presets other than the two defaults reproduce the numbers of a published design; their `source` describes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, TypeAlias, TypedDict

from plimsoll.policy.budget import Level, LoadLines, Mark

Step: TypeAlias = Literal["collapse", "offload", "clip", "summarise", "window", "ledger"]
"""The steps of a compaction:

- `collapse`   keep only the newest of repeated reads of the same content; of a call made again, show how older results differ
- `offload`    replace large results older than the tail by a reference and a preview
- `clip`       cut the middle of messages larger than `message_tokens_max`, except the newest request
- `summarise`  replace exchanges before the tail by a summary, or extend the one there is
- `window`     replace exchanges before the tail by an omission notice
- `ledger`     replace everything but the pinned minimum by the ledger"""

Strategy: TypeAlias = Literal["adaptive", "summary", "pruning", "sliding", "aggressive"]
"""Named orders of steps: cheapest first; summary first; no summary; the window alone; and one level above the measured one."""

SummaryRole: TypeAlias = Literal["user", "system", "assistant"]
"""The role of a summary message."""

SummaryFrame: TypeAlias = Literal["numbered", "bracketed", "emergency", "chinese"]
"""The wording around a summary. "numbered" names the summarised messages, marks the text as data, ends with a checksum and uses the
conversation's language; the others are fixed wordings of other systems."""

Language: TypeAlias = Literal["auto", "en", "zh"]
"""The language of the fixed strings of a view."""

PresetName: TypeAlias = Literal[
    "ladder",
    "fill",
    "graded-200k",
    "threshold-80",
    "small-window",
    "medium-window",
    "large-window",
    "five-turns",
]
"""The names of the presets."""

LevelName: TypeAlias = Literal["none", "normal", "aggressive", "emergency"]


class PolicyFields(TypedDict, total=False):
    """The fields of a Policy and the types they accept; `strategy` sets the steps and levels of that name."""

    source: str
    lines: LoadLines | Mapping[str, Mark]
    window_tokens: int | None
    output_reserve_tokens: int | None
    steps: Sequence[Step]
    act_at: Level | LevelName
    levels_up: int
    fill: bool
    clear_at_least: float
    keep_last_messages: int | None
    keep_last_turns: int | None
    keep_tokens: Mark | None
    keep_fraction: float | None
    keep_last_messages_min: int | None
    keep_fraction_after_failure: float | None
    summary_tokens_max: int | None
    summary_share: float
    summary_role: SummaryRole
    summary_frame: SummaryFrame
    language: Language
    summary_model: str | None
    use_summarizer: bool
    summarizer_attempts: int
    summarizer_input_tokens_max: int
    summarizer_requests_max: int
    summarizer_fallback: bool
    flush_memories: bool
    memory_tokens_max: int
    tool_result_tokens_max: Mark | None
    message_tokens_max: Mark | None
    kept_message_tokens_max: Mark | None
    result_list_items_max: int
    preview_chars: int
    strategy: Strategy


def _two_lines(  # noqa: PLR0913 - a row of a table
    *, soft: int, hard: int, reserve: int, keep: int, summary: int, ask: bool
) -> PolicyFields:
    """A design with a soft line that advises and a hard line that acts."""
    return {
        "source": f"a document with soft line {soft:,}, hard line {hard:,}, reserve {reserve:,}; newest {keep} messages stay",
        "lines": LoadLines(soft=soft, warn=hard, hard=hard, target=(0.50, soft // 2)),
        "window_tokens": hard + reserve,
        "output_reserve_tokens": reserve,
        "act_at": Level.aggressive,
        "keep_last_messages": keep,
        "summary_tokens_max": summary,
        "summary_frame": "chinese",
        "use_summarizer": ask,
        "summarizer_fallback": True,
        "flush_memories": True,
    }


PRESETS: Mapping[PresetName, PolicyFields] = MappingProxyType(
    {
        "ladder": {"source": "default of sessions", "summary_share": 0.20, "tool_result_tokens_max": 0.5},
        "fill": {"source": "default of a single call", "fill": True, "clear_at_least": 0, "summary_share": 0.95},
        "graded-200k": {
            "source": "a document with window 200,000, reserve 8,000, lines 0.70 / 0.85 / 0.95, target 0.50, results 2,000 bytes",
            "window_tokens": 200_000,
            "output_reserve_tokens": 8_000,
            "keep_last_messages_min": 2,
            "tool_result_tokens_max": 500,
            "message_tokens_max": 2_000,
            "kept_message_tokens_max": 4_000,
            "summary_frame": "emergency",
        },
        "threshold-80": {
            "source": "a document that compacts at 0.80 of the window or 100,000 tokens; newest 20 % stay, 30 % after a failure",
            "lines": LoadLines(soft=(0.80, 100_000), warn=(0.80, 100_000), hard=0.95, target=(0.50, 50_000)),
            "window_tokens": 32_000,
            "act_at": Level.aggressive,
            "keep_fraction": 0.2,
            "keep_fraction_after_failure": 0.3,
            "summary_frame": "bracketed",
        },
        "small-window": _two_lines(soft=5_000, hard=8_000, reserve=2_000, keep=4, summary=400, ask=False),
        "medium-window": _two_lines(soft=15_000, hard=20_000, reserve=4_000, keep=6, summary=800, ask=False),
        "large-window": _two_lines(soft=25_000, hard=30_000, reserve=6_000, keep=10, summary=1_200, ask=True),
        "five-turns": {
            "source": "a document with five turns, 4,000 tokens, 800 a message, results 1,000 tokens or 20 items",
            "steps": ("clip", "window"),
            "lines": LoadLines(soft=4_000, warn=4_000, hard=4_000, target=(0.9, 3_600)),
            "window_tokens": 4_000,
            "keep_last_turns": 5,
            "keep_tokens": 4_000,
            "message_tokens_max": 800,
            "tool_result_tokens_max": 1_000,
            "result_list_items_max": 20,
            "preview_chars": 500,
        },
    }
)
"""Presets by name. `ladder` and `fill` are the defaults; the others have the numbers of a published design."""
