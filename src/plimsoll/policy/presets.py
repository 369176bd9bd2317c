"""The words that policies are written in, and the policies that have names, as data.

Numbers of the presets that come from the four founding documents are theirs; `source` says which.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, TypeAlias, TypedDict

from plimsoll.policy.budget import Level, LoadLines, Mark

Step: TypeAlias = Literal["collapse", "offload", "clip", "summarise", "window", "ledger"]
"""What a compaction can do, in the engine's words:

- `collapse`   repeated reads of the same content collapse onto the newest
- `offload`    large results older than the tail become a reference and a preview
- `clip`       messages larger than `message_tokens_max` lose their middle; never the newest request
- `summarise`  exchanges before the tail become (an extension of) the summary
- `window`     exchanges before the tail leave with no summary, only a mark that says so
- `ledger`     the ledger alone speaks for the past, and the tail shrinks to the pinned minimum
"""

Strategy: TypeAlias = Literal["adaptive", "summary", "pruning", "sliding", "aggressive"]
"""Named orders of steps: cheapest first; summary first; no summary; the window alone; one level higher than the lines say."""

SummaryRole: TypeAlias = Literal["user", "system", "assistant"]
"""Who a summary is said by."""

SummaryFrame: TypeAlias = Literal["numbered", "bracketed", "emergency", "chinese"]
"""The wording around a summary: numbered says which messages it stands for and that it is data,
closes with a checksum, and is in the conversation's language; the others are the fixed wordings of other systems."""

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
"""The policies that have names."""

LevelName: TypeAlias = Literal["none", "normal", "aggressive", "emergency"]


class PolicyFields(TypedDict, total=False):
    """What a policy's fields may be given as. See Policy; `strategy` stands for the steps and levels of that name."""

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
    tool_result_tokens_max: Mark | None
    message_tokens_max: Mark | None
    kept_message_tokens_max: Mark | None
    result_list_items_max: int
    preview_chars: int
    strategy: Strategy


def _two_lines(  # noqa: PLR0913 - a row of a table
    *, soft: int, hard: int, reserve: int, keep: int, summary: int, ask: bool
) -> PolicyFields:
    """A document with a soft line that advises and a hard line that acts."""
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
"""By name. `ladder` and `fill` are the defaults; the others carry the numbers of a founding document."""
