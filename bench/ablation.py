"""What each kind of fact is worth: the figures of a summary by rules with that kind left out of the ledger.

    python bench/ablation.py [--families locomo,codex] [--conversations 3] [--shares 0.10,0.25] [--kinds file,error]

Reads the conversations beside the checkout (../shared/evals). Each is fitted to shares of its tokens, whole and cut at its half,
first with all kinds, then without each in turn. Printed are the probes kept, of all, and the values that the next part of the
run used, as `kept / needed next`; for a kind the differences to the first row. Kinds that were never found in a family are left out
there.
"""

from __future__ import annotations

import argparse
import collections
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import plimsoll  # noqa: E402
from evals import scorer  # noqa: E402
from plimsoll.compaction import reading  # noqa: E402
from plimsoll.summary.ledger.draft import LedgerDraft  # noqa: E402
from plimsoll.summary.ledger.fact import KINDS  # noqa: E402

ADD = LedgerDraft.add


def chosen(module: Any, families: set[str], limit: int) -> list[Any]:
    """The first conversations of each family."""
    seen: collections.Counter[str] = collections.Counter()
    found = []
    for conversation in module.load("dev", families):
        seen[conversation["family"]] += 1
        if seen[conversation["family"]] <= limit:
            found.append(conversation)
    return found


def measured(module: Any, conversations: list[Any], shares: list[float], without: str) -> tuple[Any, Any]:
    """Probes kept and values needed next, by family, without a kind of facts; and in which families it was found."""
    found: set[str] = set()
    family = ""

    def add(draft: LedgerDraft, fact: Any) -> None:
        if fact.kind == without:
            found.add(family)
        else:
            ADD(draft, fact)

    LedgerDraft.add = add  # type: ignore[method-assign, assignment]
    reading._LEDGERS.clear()  # noqa: SLF001 - a reading with other kinds
    totals: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    try:
        for conversation in conversations:
            family = conversation["family"]
            for cut in (None, conversation["cuts"].get("50")):
                messages = conversation["messages"][:cut]
                tokens = plimsoll.count_tokens(messages)
                for share in shares:
                    view = plimsoll.fit(messages, max_tokens=max(600, int(tokens * share))).messages
                    result = module.score(conversation, view, upto=cut)
                    totals[family].update(n=result["total"]["n"], kept=result["total"]["kept"])
                    if cut:
                        next_needed = result["needed_next"]
                        totals[family].update(needed=next_needed["n"], had=next_needed["kept"])
    finally:
        LedgerDraft.add = ADD  # type: ignore[method-assign]
    return totals, found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--families", default="")
    parser.add_argument("--conversations", type=int, default=3)
    parser.add_argument("--shares", default="0.10,0.25")
    parser.add_argument("--kinds", default=",".join(KINDS))
    options = parser.parse_args()
    module = scorer()
    conversations = chosen(module, set(filter(None, options.families.split(","))), options.conversations)
    shares = list(map(float, options.shares.split(",")))
    whole, _ = measured(module, conversations, shares, "")
    families = sorted(whole)
    print("| without |", " | ".join(families), "|")
    print("| --- |", " | ".join("---" for _ in families), "|")
    of = (f"{whole[f]['kept']} of {whole[f]['n']} / {whole[f]['had']} of {whole[f]['needed']}" for f in families)
    print("| nothing |", " | ".join(of), "|", flush=True)
    for kind in options.kinds.split(","):
        less, found = measured(module, conversations, shares, kind)
        cells = (
            f"{less[f]['kept'] - whole[f]['kept']:+} / {less[f]['had'] - whole[f]['had']:+}" if f in found else ""
            for f in families
        )
        print(f"| {kind} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
