"""One call: a conversation of a million tokens into 32,000, by exact count."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import peers
import workload
from contestants import count_splintr
from table import markdown

CONTESTANTS = ("plimsoll_here", "ctx_compact_exact", "langchain_trim_exact", "count_tiktoken", "count_splintr")
SIZE_TOKENS = 1_000_000
MAX_TOKENS = 32_000
ROUNDS = 3
TIMES = ("prepare_s", "first_s", "again_s")


def measure(place: Path) -> dict[str, Any]:
    """Rounds in which everybody runs once, then one round at twice the size."""
    once = write(place / "once.json", SIZE_TOKENS)
    twice = write(place / "twice.json", 2 * SIZE_TOKENS)
    rounds = [{name: run(name, once) for name in CONTESTANTS} for _ in range(ROUNDS)]
    doubled = {name: run(name, twice) for name in CONTESTANTS}
    return {name: summary([found[name] for found in rounds], doubled[name]) for name in CONTESTANTS}


def write(path: Path, tokens: int) -> str:
    """A conversation of that size, as a file."""
    path.write_text(json.dumps(workload.conversation(tokens, count_splintr.count_wire, seed=1)), encoding="utf-8")
    return str(path)


def run(name: str, conversation: str) -> dict[str, Any]:
    """One process: what it took, and how many tokens came out."""
    answer = peers.ask(name, "one_shot", conversation=conversation, max_tokens=MAX_TOKENS)
    view = answer.pop("view")
    return {**answer, "tokens_after": sum(map(count_splintr.count_wire, view))}


def summary(rounds: list[dict[str, Any]], doubled: dict[str, Any]) -> dict[str, Any]:
    """Medians over the rounds, in milliseconds; cold is everything a fresh process does, warm the first call with the vocabulary loaded."""
    prepare, first, again = (median(found[key] for found in rounds) * 1000 for key in TIMES)
    return {
        "cold_ms": prepare + first,
        "warm_ms": first,
        "again_ms": again,
        "doubling": doubled["first_s"] * 1000 / first,
        "peak_mb": max(found["peak_mb"] for found in rounds),
        "tokens_after": rounds[0]["tokens_after"],
    }


def table(found: dict[str, Any]) -> str:
    """One row a contestant; the last column is its time over ours."""
    ours = found["plimsoll_here"]["warm_ms"]
    rows = [
        [
            peers.NAMES[name],
            *(row[key] for key in ("cold_ms", "warm_ms", "again_ms", "doubling", "peak_mb", "tokens_after")),
            row["warm_ms"] / ours,
        ]
        for name, row in found.items()
    ]
    return markdown(["1M → 32k", "cold ms", "warm ms", "again ms", "2M / 1M", "peak MB", "tokens out", "× ours"], rows)
