"""Turns while the view is long, and reopening a long session of which one compaction took nearly everything."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import workload
from table import markdown

VIEW_TOKENS = 100_000
VIEW_MESSAGES = 1_000
TURNS = 200
LENGTH = 100_000
OPENINGS = 9
MODEL = "gpt-4o"


TALKS: dict[str, Callable[[], Iterator[list[workload.Message]]]] = {
    "talk": lambda: workload.spoken(11, _words(0.6, 1.0)),
    "OpenAI's tool calls": lambda: workload.tool_loop(11, _words(1.0, 1.8), blocks=False),
    "Anthropic's blocks": lambda: workload.tool_loop(11, _words(0.9, 1.6), blocks=True),
}
"""What is appended message by message; the words of one, so that VIEW_MESSAGES of them are about VIEW_TOKENS."""


def _words(least: float, most: float) -> range:
    return range(*(int(VIEW_TOKENS / VIEW_MESSAGES * share) for share in (least, most)))


def measure(place: Path) -> dict[str, Any]:
    """Medians in milliseconds."""
    return {
        "turns": {name: turn(place / str(number), talk()) for number, (name, talk) in enumerate(TALKS.items())},
        "reopening": reopening(place),
    }


def turn(place: Path, remarks: Iterator[list[workload.Message]]) -> dict[str, float]:
    """One message appended and the view after it, which holds VIEW_TOKENS in VIEW_MESSAGES and is never due for a compaction."""
    import plimsoll

    spent_ms = []
    with plimsoll.open("turns", store=str(place), max_tokens=20 * VIEW_TOKENS, model=MODEL, project=False) as session:
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
        "view_tokens": plimsoll.count_tokens(shown, model=MODEL),
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
    rows = {f"append + view of {name}, {row['view_tokens']:,} tokens": row for name, row in found["turns"].items()} | {
        f"open + view, {LENGTH:,} messages, one compaction over all": found["reopening"]
    }
    head = ["long sessions", "median ms", "longest ms", "messages in the view"]
    return markdown(
        head, [[name, row["median_ms"], row["longest_ms"], row["view_messages"]] for name, row in rows.items()]
    )
