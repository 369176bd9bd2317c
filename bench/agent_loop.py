"""An agent's loop: the view after each turn, while the history grows from nothing to a million tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import peers
import workload
from contestants import count_splintr
from table import markdown

CONTESTANTS = ("plimsoll_here", "llama_index_memory", "ctx_compact_exact", "langchain_trim_exact")
MAX_TOKENS = 32_000
WINDOWS = {"10k": 10_000, "100k": 100_000, "1M": 1_000_000}
TURNS_IN_WINDOW = 7
ROUNDS = 2


def measure(place: Path) -> dict[str, Any]:
    """Rounds in which everybody runs once over the same turns."""
    request = write(place / "turns.json")
    rounds = [{name: run(name, request) for name in CONTESTANTS} for _ in range(ROUNDS)]
    return {name: summary([found[name] for found in rounds], request) for name in CONTESTANTS}


def run(name: str, request: dict[str, Any]) -> dict[str, Any]:
    """One process: its times, and the largest view it showed in a window."""
    answer = peers.ask(name, "agent_loop", max_tokens=MAX_TOKENS, **request)
    views = answer.pop("views")
    return {**answer, "tokens_max": max(sum(map(count_splintr.count_wire, view)) for view in views)}


def write(path: Path) -> dict[str, Any]:
    """The turns as a file, and for each the window it falls in, or an empty string."""
    turns, windows = zip(*placed(), strict=True)
    path.write_text(json.dumps(turns), encoding="utf-8")
    return {"turns": str(path), "window_of_turn": list(windows)}


def placed() -> Iterator[tuple[list[workload.Message], str]]:
    """Each turn with its window: the first few turns after the history has passed that size."""
    total, taken = 0, dict.fromkeys(WINDOWS, 0)
    for turn in workload.turns(seed=2):
        window = next((name for name, size in WINDOWS.items() if total >= size and taken[name] < TURNS_IN_WINDOW), "")
        if window:
            taken[window] += 1
        yield turn, window
        if taken["1M"] == TURNS_IN_WINDOW:
            return
        total += sum(map(count_splintr.count_wire, turn))


def summary(rounds: list[dict[str, Any]], request: dict[str, Any]) -> dict[str, Any]:
    """Median milliseconds a turn in each window, the longest, and the largest view."""
    spent = {name: [ms for found in rounds for ms in found["windows_ms"][name]] for name in WINDOWS}
    return {
        "turns": len(request["window_of_turn"]),
        "median_ms": {name: median(times) for name, times in spent.items()},
        "longest_ms": {name: max(times) for name, times in spent.items()},
        "tokens_max": max(found["tokens_max"] for found in rounds),
        "peak_mb": max(found["peak_mb"] for found in rounds),
    }


def table(found: dict[str, Any]) -> str:
    """One row a contestant; the last column is its time at a million tokens over ours."""
    ours = found["plimsoll_here"]["median_ms"]["1M"]
    rows = [
        [
            peers.NAMES[name],
            *row["median_ms"].values(),
            row["longest_ms"]["1M"],
            row["peak_mb"],
            row["tokens_max"],
            row["median_ms"]["1M"] / ours,
        ]
        for name, row in found.items()
    ]
    return markdown(["ms a turn at", *WINDOWS, "longest at 1M", "peak MB", "largest view", "× ours at 1M"], rows)
