"""Sessions on disk: what a durable append costs, what opening and a turn cost by the history's length, and what the log takes."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import peers
import store
import workload
from plimsoll.store.open import open_store
from table import markdown

CONTESTANTS = ("session_here", "agents_sqlite_session")
LENGTHS = (1_000, 10_000, 100_000)
BUDGETS = (16_000, 128_000)
MAX_TOKENS = 128_000
APPENDS = 400
TURNS = 300
OPENINGS = 9
COMPACTED_MESSAGES = 6_000
"""Messages of the sessions whose size on disk is measured, with a view after every turn."""


def measure(place: Path) -> dict[str, Any]:
    """Everybody in turn: appends, then openings and turns at each length; the sizes on disk are plimsoll's own."""
    request = {
        "place": str(place),
        "lengths": LENGTHS,
        "appends": APPENDS,
        "turns": TURNS,
        "openings": OPENINGS,
        "max_tokens": MAX_TOKENS,
    }
    found: dict[str, Any] = {name: summary(peers.ask(name, "session", **request)) for name in CONTESTANTS}
    found["disk_by_raw_json"] = {str(budget): disk_ratio(place, budget) for budget in BUDGETS}
    return found


def summary(answer: dict[str, Any]) -> dict[str, Any]:
    """Medians of what a contestant took, in milliseconds, by length."""
    by_length = {
        key: {length: median(times) for length, times in answer[key].items()} for key in ("opening_ms", "turn_ms")
    }
    means = {length: sum(times) / len(times) for length, times in answer["turn_ms"].items()}
    return {
        "append_ms": median(answer["append_ms"]),
        "bare_ms": median(answer["bare_ms"]),
        "turn_mean_ms": means,
        "view_messages": answer["view_messages"],
        "used_mb": answer["used_mb"],
        **by_length,
    }


def disk_ratio(place: Path, budget: int) -> float:
    """Bytes of a session with all its compactions, by those of its messages as JSON lines."""
    import plimsoll

    where = open_store(str(place / f"disk-{budget}"), durability="os")
    raw_bytes = said = 0
    with plimsoll.open("disk", store=where, max_tokens=budget, model="gpt-4o", project=False) as session:
        for turn in workload.turns(seed=5):
            raw_bytes += sum(len(json.dumps(message)) + 1 for message in turn)
            said += len(turn)
            session.extend(turn)
            session.view()
            if said >= COMPACTED_MESSAGES:
                break
    return store.size_on_disk(where.where) / raw_bytes


def table(found: dict[str, Any]) -> str:
    """One row a contestant, then the ratios that are promised."""
    head = ["session on disk", "append ms", "write + fdatasync ms", *(f"open {length:,} ms" for length in LENGTHS)]
    head += [*(f"turn at {length:,} ms" for length in LENGTHS), "memory used MB"]
    rows: list[list[Any]] = []
    for name in CONTESTANTS:
        row = found[name]
        times = [*row["opening_ms"].values(), *row["turn_ms"].values(), row["used_mb"]]
        rows.append([peers.NAMES[name], row["append_ms"], row["bare_ms"], *times])
    ours = found["session_here"]
    opening, turn = list(ours["opening_ms"].values()), list(ours["turn_mean_ms"].values())
    ratios = [
        ["append ÷ write + fdatasync of the message, in turn", ours["append_ms"] / ours["bare_ms"]],
        [f"opening {LENGTHS[-1]:,} ÷ {LENGTHS[-2]:,}", opening[-1] / opening[-2]],
        [f"turn {LENGTHS[-1]:,} ÷ {LENGTHS[0]:,}, means with compactions", turn[-1] / turn[0]],
        *([f"disk ÷ raw JSON at {int(budget):,}", ratio] for budget, ratio in found["disk_by_raw_json"].items()),
    ]
    return f"{markdown(head, rows)}\n\n{markdown(['plimsoll', 'ratio'], ratios)}"
