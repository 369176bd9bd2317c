"""Turns while the view is long, and reopening a long session of which one compaction took nearly everything."""

from __future__ import annotations

import time
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import workload
from contestants import count_splintr
from table import markdown

VIEW_TOKENS = 100_000
VIEW_MESSAGES = 1_000
TURNS = 200
LENGTH = 100_000
OPENINGS = 9
MODEL = "gpt-4o"


def measure(place: Path) -> dict[str, Any]:
    """Medians in milliseconds."""
    return {"turn": turn(place), "reopening": reopening(place)}


def turn(place: Path) -> dict[str, float]:
    """One message appended and the view after it, which holds VIEW_TOKENS in VIEW_MESSAGES and is never due for a compaction."""
    import plimsoll

    words = range(*(int(VIEW_TOKENS / VIEW_MESSAGES * share) for share in (0.6, 1.0)))
    remarks = workload.spoken(11, words)
    spent_ms = []
    with plimsoll.open(
        "turns", store=str(place / "turns"), max_tokens=20 * VIEW_TOKENS, model=MODEL, project=False
    ) as session:
        held = [message for remark in islice(remarks, VIEW_MESSAGES) for message in remark]
        session.extend(held)
        session.view()
        for remark in islice(remarks, TURNS):
            start = time.perf_counter()
            session.append(remark[0])
            shown = session.view()
            spent_ms.append((time.perf_counter() - start) * 1000)
    return {
        "median_ms": median(spent_ms),
        "longest_ms": max(spent_ms),
        "view_messages": len(shown),
        "view_tokens": sum(map(count_splintr.count_wire, shown)),
    }


def reopening(place: Path) -> dict[str, float]:
    """Opening with the first view, of LENGTH messages that came without a view and were compacted at once."""
    import plimsoll

    options: dict[str, Any] = {"store": str(place / "long"), "max_tokens": 128_000, "model": MODEL, "project": False}
    with plimsoll.open("long", durability="os", **options) as session:
        messages = (message for turn in workload.turns(seed=13) for message in turn)
        for _ in range(0, LENGTH, 1_000):
            session.extend(list(islice(messages, 1_000)))
        session.compact()
    spent_ms = []
    for _ in range(OPENINGS):
        start = time.perf_counter()
        with plimsoll.open("long", **options) as session:
            shown = session.view()
            spent_ms.append((time.perf_counter() - start) * 1000)
    return {"median_ms": median(spent_ms), "longest_ms": max(spent_ms), "view_messages": len(shown)}


def table(found: dict[str, Any]) -> str:
    """One row a measurement."""
    names = {
        "turn": f"append + view, {VIEW_TOKENS:,} tokens in {VIEW_MESSAGES:,} messages",
        "reopening": f"open + view, {LENGTH:,} messages, one compaction over all",
    }
    head = ["long sessions", "median ms", "longest ms", "messages in the view"]
    return markdown(
        head, [[names[key], row["median_ms"], row["longest_ms"], row["view_messages"]] for key, row in found.items()]
    )
