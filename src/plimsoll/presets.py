"""The policies that have names. Each is data over the one Policy type and is named by what it does.

Numbers of the presets that come from the four founding documents are theirs; `source` says which.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from plimsoll.budget import Level, LoadLines
from plimsoll.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Mapping

_LADDER = Policy(
    name="ladder",
    source="default of sessions",
    summary_share=0.20,
    tool_result_tokens_max=0.5,
)

_FILL = Policy(
    name="fill",
    source="default of a single call",
    fill=True,
    clear_at_least=0,
    summary_share=0.40,
)

_GRADED_200K = Policy(
    name="graded-200k",
    source="S0: window 200,000, reserve 8,000, lines 0.70 / 0.85 / 0.95, target 0.50, results 2,000 bytes",
    window_tokens=200_000,
    output_reserve_tokens=8_000,
    keep_last_messages_min=2,
    tool_result_tokens_max=500,
    message_tokens_max=2_000,
    kept_message_tokens_max=4_000,
    summary_frame="emergency",
)

_THRESHOLD_80 = Policy(
    name="threshold-80",
    source="S1: compaction at 0.80 of the window or 100,000 tokens, newest 20 % stay, 30 % where the summary failed",
    lines=LoadLines(soft=(0.80, 100_000), warn=(0.80, 100_000), hard=0.95, target=(0.50, 50_000)),
    window_tokens=32_000,
    act_at=Level.aggressive,
    keep_fraction=0.2,
    keep_fraction_after_failure=0.3,
    summary_frame="bracketed",
)


def _two_lines(  # noqa: PLR0913 - a row of a table
    name: str, *, soft: int, hard: int, reserve: int, keep: int, summary: int, ask: bool
) -> Policy:
    """A document with a soft line that advises and a hard line that acts."""
    return Policy(
        name=name,
        source=f"S2: soft {soft:,}, hard {hard:,}, reserve {reserve:,}, newest {keep} messages stay",
        lines=LoadLines(soft=soft, warn=hard, hard=hard, target=(0.50, soft // 2)),
        window_tokens=hard + reserve,
        output_reserve_tokens=reserve,
        act_at=Level.aggressive,
        keep_last_messages=keep,
        summary_tokens_max=summary,
        summary_frame="chinese",
        use_summarizer=ask,
        summarizer_fallback=True,
    )


_FIVE_TURNS = Policy(
    name="five-turns",
    source="S3: five turns, 4,000 tokens of messages, 800 a message, results 1,000 tokens, 20 items, 500 characters",
    steps=("clip", "window"),
    lines=LoadLines(soft=4_000, warn=4_000, hard=4_000, target=(0.9, 3_600)),
    window_tokens=4_000,
    keep_last_turns=5,
    keep_tokens=4_000,
    message_tokens_max=800,
    tool_result_tokens_max=1_000,
    result_list_items_max=20,
    preview_chars=500,
)

PRESETS: Mapping[str, Policy] = MappingProxyType(
    {
        preset.name: preset
        for preset in (
            _LADDER,
            _FILL,
            _GRADED_200K,
            _THRESHOLD_80,
            _two_lines("small-window", soft=5_000, hard=8_000, reserve=2_000, keep=4, summary=400, ask=False),
            _two_lines("medium-window", soft=15_000, hard=20_000, reserve=4_000, keep=6, summary=800, ask=False),
            _two_lines("large-window", soft=25_000, hard=30_000, reserve=6_000, keep=10, summary=1_200, ask=True),
            _FIVE_TURNS,
        )
    }
)
"""By name. `ladder` and `fill` are the defaults; the others carry the numbers of a founding document."""
