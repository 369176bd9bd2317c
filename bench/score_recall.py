"""How much of what a view no longer holds one search finds again, beside the scorer's reference search.

    python bench/score_recall.py [--families locomo,kdconv_zh] [--fraction 0.1] [--tokens 2000]

Reads the conversations beside the checkout (../shared/evals). Each probe's question is asked once, for at most so many tokens.
`bm25` is the scorer's own; `hits` is recall's answer, neighbours together; `tool` the text a model is given, headings counted.
`view` has the conversation in plimsoll's view at that fraction of its tokens, so that only what is lost there is looked for;
`recency` has the newest messages alone, `none` has no view at all. With `cut`, half of the run: then `next` counts the values that the very next part of the run needed.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import plimsoll  # noqa: E402
from evals import scorer  # noqa: E402
from plimsoll.formats.registry import decode_all  # noqa: E402
from plimsoll.recall.index import Index  # noqa: E402
from plimsoll.recall.search import Hit, search  # noqa: E402
from plimsoll.recall.tools import Toolbox  # noqa: E402

Counts = collections.Counter[str]
Totals = dict[tuple[str, str, str], Counts]
Wires = Sequence[Mapping[str, Any]]


class Estimate:
    """The scorer's own token estimate as a counter, so that answers are as long as it allows."""

    name, exact = "scorer", False

    def __init__(self, module: ModuleType) -> None:
        self._estimate: Callable[[str], int] = module.est_tokens

    def count(self, text: str) -> int:
        """The estimate."""
        return self._estimate(text)

    upper = count


def searches(
    module: ModuleType, messages: Wires, spent: dict[str, float], tokens_max: int
) -> dict[str, Callable[[str], list[str]]]:
    """By name, query -> texts."""
    began = time.perf_counter()
    index, counter = Index(), Estimate(module)
    for position, message in enumerate(decode_all(messages, "openai-chat")[1]):
        index.add(message, position)
    spent["index_s"] += time.perf_counter() - began

    def hits(query: str, most: int = tokens_max) -> list[Hit]:
        began = time.perf_counter()
        found = search(index, query, shown=(), counter=counter, max_tokens=most)
        spent["search_s"] += time.perf_counter() - began
        spent["searches"] += 1
        return found

    toolbox = Toolbox(recall=hits, read=str, counter=counter, tokens_max=tokens_max)
    return {
        "bm25": module.BM25(messages),
        "hits": lambda query: together(hits(query)),
        "tool": lambda query: [toolbox.call("recall", {"query": query})],
    }


def together(hits: Iterable[Hit]) -> list[str]:
    groups: list[list[Hit]] = []
    for hit in sorted(hits, key=lambda hit: (hit.position, hit.offset)):
        if groups and hit.position - groups[-1][-1].position <= 1:
            groups[-1].append(hit)
        else:
            groups.append([hit])
    groups.sort(key=lambda group: -max(hit.score for hit in group))
    return ["\n".join(hit.text for hit in group) for group in groups]


def measure(  # noqa: PLR0913, PLR0917 - one measurement
    module: ModuleType,
    conversation: Mapping[str, Any],
    cut: str | None,
    fraction: float,
    totals: Totals,
    spent: dict[str, float],
    tokens_max: int,
) -> None:
    upto = conversation["cuts"].get(cut) if cut else None
    if cut and (not upto or upto < 8):
        return
    messages = conversation["messages"][:upto]
    views = {"view": viewed(messages, fraction), "recency": module.recency(messages, fraction), "none": []}
    for name, recall in searches(module, messages, spent, tokens_max).items():
        for shown, compacted in views.items():
            result = module.score(conversation, compacted, recall=recall, upto=upto, recall_budget=tokens_max)
            counts = Counts(result["total"])
            counts.update({f"next_{key}": value for key, value in (result["needed_next"] or {}).items()})
            for family in (conversation["family"], "ALL"):
                totals[shown + (" cut" if cut else ""), family, name].update(counts)


def viewed(messages: Wires, fraction: float) -> list[dict[str, Any]]:
    budget = int(plimsoll.count_tokens(messages) * fraction)
    try:
        return plimsoll.fit(messages, max_tokens=budget).messages
    except plimsoll.errors.CannotFit:
        return []


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--families", default="")
    parser.add_argument("--fraction", type=float, default=0.1)
    parser.add_argument("--tokens", type=int, default=2000)
    options = parser.parse_args()
    module = scorer()
    totals: Totals = collections.defaultdict(Counts)
    spent: dict[str, float] = collections.defaultdict(float)
    for conversation in module.load("dev", set(filter(None, options.families.split(",")))):
        for cut in (None, "50"):
            measure(module, conversation, cut, options.fraction, totals, spent, options.tokens)
    print(f"{'':12}{'family':14}{'search':8}{'n':>6}{'kept%':>8}{'+found%':>9}   next: kept, +found, of")
    for (shown, family, name), count in sorted(totals.items()):
        n = count["n"] or 1
        kept, found = 100 * count["kept"] / n, 100 * (count["kept"] + count["recalled"]) / n
        following = count["next_n"]
        extra = (
            f"{count['next_kept']:8}{count['next_kept'] + count['next_recalled']:8}{following:8}" if following else ""
        )
        print(f"{shown:12}{family:14}{name:8}{count['n']:>6}{kept:>8.1f}{found:>9.1f}   {extra}")
    per_search_ms = 1000 * spent["search_s"] / max(1, spent["searches"])
    print(f"indexed in {spent['index_s']:.1f} s; {per_search_ms:.1f} ms a search")


if __name__ == "__main__":
    main()
