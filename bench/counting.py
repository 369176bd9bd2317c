"""How far counts are from the truth, over texts in many languages whose true counts are known."""

from __future__ import annotations

import json
from collections.abc import Callable
from statistics import median
from typing import Any

import peers
from table import markdown

SAMPLES = peers.ROOT.parent / "shared" / "evals" / "multilingual" / "samples.jsonl"
MODELS = {"o200k": "gpt-4o", "cl100k": "gpt-4", "deepseek": "deepseek-chat", "claude2_legacy": "claude-2.1"}


def measure() -> dict[str, Any] | None:
    """For each vocabulary: ours and a quarter of the characters. None where the samples are not on this machine."""
    if not SAMPLES.exists():
        return None
    samples = [json.loads(line) for line in SAMPLES.read_text(encoding="utf-8").splitlines()]
    return {
        f"{truth} {method}": errors([(count(sample["text"]), sample[truth]) for sample in samples if sample.get(truth)])
        for truth, model in MODELS.items()
        for method, count in methods(model).items()
    }


def methods(model: str) -> dict[str, Callable[[str], int]]:
    """Ours for that model, and the rule of thumb."""
    import plimsoll

    return {
        "plimsoll": lambda text: plimsoll.count_tokens(text, model=model),
        "characters / 4": lambda text: -(-len(text) // 4),
    }


def errors(pairs: list[tuple[int, int]]) -> dict[str, float]:
    """Errors in per cent of the truth; an undercount is what overflows a window."""
    off = [100 * (counted - truth) / truth for counted, truth in pairs]
    return {
        "median_percent": median(map(abs, off)),
        "worst_under_percent": min(off),
        "worst_over_percent": max(off),
        "undercounted_percent": 100 * sum(error < 0 for error in off) / len(off),
    }


def table(found: dict[str, Any]) -> str:
    """One row a vocabulary and method."""
    head = ["count", "median |error| %", "worst under %", "worst over %", "texts undercounted %"]
    return markdown(head, [[name, *row.values()] for name, row in found.items()])
