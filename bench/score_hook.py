"""What the tools' own summaries keep, alone and with the notes that a hook hands back after them.

    python bench/score_hook.py [--max-tokens 1500] [--show]

Reads the conversations beside the checkout (../shared/evals), those in which the tool's own summaries are recorded. `kept` counts the
probes whose answer is in the text, `next` the values that the very next part of the run used, `ids` the identifiers in the text
that occur again later. Tokens are counted exactly, in o200k_base. Claude Code may call the hook before its summary can be read; the
last row is of notes that were made then.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evals import EVALS, scorer
from score_summaries import decode

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import plimsoll
from plimsoll.hooks.loss import handed_back
from plimsoll.hooks.run import NOTES_TOKENS
from plimsoll.hooks.state import FileState
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.transcripts.source import LastCompaction

CONVERSATION_MESSAGES_MIN = 10


def summaries(module: Any) -> Iterator[tuple[Mapping[str, Any], int, str]]:
    """Every summary of a tool's own, with its conversation and the number of messages before it."""
    for conversation in module.load("dev"):
        for one in conversation.get("native_summaries") or ():
            if one["before_index"] > CONVERSATION_MESSAGES_MIN and one["text"]:
                yield conversation, one["before_index"], one["text"]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--max-tokens", type=int, default=NOTES_TOKENS)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    if not EVALS.exists():
        print("skipped: the recorded conversations are not beside this checkout")
        return
    module, exact = scorer(), plimsoll.token_counter("gpt-4o")
    totals: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    largest, spent_s = 0, 0.0
    for conversation, upto, summary in summaries(module):
        ledger = extend(Ledger.empty(), [decode(message) for message in conversation["messages"][:upto]], 0)
        began = time.perf_counter()
        known = LastCompaction(position=ledger.end, summary=summary)
        notes, unseen = (
            handed_back(
                FileState(ledger=ledger, last=last),
                tokens_max=options.max_tokens,
                recall='plimsoll recall NAME "words"',
            )
            for last in (known, LastCompaction())
        )
        spent_s += time.perf_counter() - began
        largest = max(largest, exact.count(notes))
        if options.show:
            print(notes, end="\n\n")
        views = {
            "summary": [summary],
            "summary and notes": [summary, notes],
            "notes made without it": [summary, unseen],
        }
        for name, texts in views.items():
            view = [{"role": "user", "content": text} for text in texts]
            result = module.score(conversation, view, upto=upto)
            listed, used = module.identifier_precision(conversation, view, upto)
            totals[name].update(n=result["total"]["n"], kept=result["total"]["kept"], ids=listed, used=used)
            totals[name].update(next=result["needed_next"]["n"], next_kept=result["needed_next"]["kept"])
            totals[name].update(summaries=1, tokens=exact.count("\n".join(texts)))
    print(f"{'':24}{'summaries':>10}{'tokens each':>13}{'kept':>8}{'next':>9}{'ids used later':>18}")
    for name, of in totals.items():
        print(
            f"{name:24}{of['summaries']:>10}{of['tokens'] / of['summaries']:>13,.0f}{of['kept'] / of['n']:>8.1%}"
            f"{of['next_kept']:>5}/{of['next']}{of['used']:>12,}/{of['ids']:,}"
        )
    print(
        f"the longest notes have {largest:,} of {options.max_tokens:,} tokens; {500 * spent_s / max(1, totals['summary']['summaries']):.0f} ms each"
    )


if __name__ == "__main__":
    main()
