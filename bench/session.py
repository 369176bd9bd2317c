"""Sessions on disk: what a durable append costs, what opening and a turn cost by the history's length, and what the log takes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import peers
import store
import workload
from plimsoll.store.open import open_store
from table import markdown

CONTESTANTS = {"session_here": "plimsoll", "agents_sqlite_session": "SQLiteSession, synchronous=FULL"}
"""With what the table of appends calls them."""

LENGTHS = (1_000, 10_000, 100_000)
BUDGETS = (16_000, 128_000)
MAX_TOKENS = 128_000
KINDS = {
    "remark": "a remark of about 100 characters",
    "page": "a remark of about 2,500 characters",
    "message": "an agent's messages, one by one",
    "turn": "an agent's turns, whole",
}
"""What is appended, by its name in `workload.APPENDED`."""

ROUNDS = 6
"""Everybody appends in turn so often: a disk is not always as fast."""

APPENDS = 50
"""Of each kind in each round."""

TURNS = 300
OPENINGS = 9
COMPACTED_MESSAGES = 6_000
"""Messages of the sessions whose size on disk is measured, with a view after every turn."""


def measure(place: Path) -> dict[str, Any]:
    """Everybody in turn: appends, then openings and turns at each length; the sizes on disk are plimsoll's own."""
    request = {"place": str(place), "max_tokens": MAX_TOKENS}
    kinds = dict.fromkeys(KINDS, APPENDS)
    rounds = [
        {name: peers.ask(name, "appends", round=number, kinds=kinds, **request) for name in CONTESTANTS}
        for number in range(ROUNDS)
    ]
    lengths = {"lengths": LENGTHS, "turns": TURNS, "openings": OPENINGS}
    found: dict[str, Any] = {
        name: {
            "appends": {kind: appended([row[name][kind] for row in rounds]) for kind in KINDS},
            **summary(peers.ask(name, "session", **lengths, **request)),
        }
        for name in CONTESTANTS
    }
    found["disk_by_raw_json"] = {str(budget): disk_ratio(place, budget) for budget in BUDGETS}
    return found


def appended(rounds: Sequence[Mapping[str, Sequence[float]]]) -> dict[str, float]:
    """The medians of each round, and how they compare in it; of the rounds, the median.

    Rounds in which a shared disk was held back are left out: waiting hides what is done besides.
    """
    medians = [{key: median(spent[key]) for key in ("append_ms", "bare_ms")} for spent in rounds]
    fastest_ms = min(one["bare_ms"] for one in medians)
    free = [one | {"by_bare": one["append_ms"] / one["bare_ms"]} for one in medians if one["bare_ms"] < 2 * fastest_ms]
    return {key: median(one[key] for one in free) for key in free[0]}


def summary(answer: dict[str, Any]) -> dict[str, Any]:
    """Medians of what a contestant took, in milliseconds, by length."""
    by_length = {
        key: {length: median(times) for length, times in answer[key].items()} for key in ("opening_ms", "turn_ms")
    }
    means = {length: sum(times) / len(times) for length, times in answer["turn_ms"].items()}
    return {
        "turn_mean_ms": means,
        "view_messages": answer["view_messages"],
        # Less than before says only that what was loaded first was given back.
        "used_mb": answer["used_mb"] if answer["used_mb"] > 0 else None,
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
    """Appends, one row a kind; openings and turns, one row a contestant; then the ratios that are promised."""
    return "\n\n".join((appends_table(found), lengths_table(found), ratios_table(found)))


def appends_table(found: dict[str, Any]) -> str:
    """Everybody syncs before it returns; each is held against one write and one fdatasync of the same messages in its round."""
    head = [
        "durable append",
        *(cell for label in CONTESTANTS.values() for cell in (f"{label}, ms", "bare, ms", "× bare")),
    ]
    rows = [
        [label, *(cell for name in CONTESTANTS for cell in found[name]["appends"][kind].values())]
        for kind, label in KINDS.items()
    ]
    return markdown(head, rows)


def lengths_table(found: dict[str, Any]) -> str:
    """Opening a session up to its first view, and a turn with a view after it, by the history's length."""
    head = ["session on disk", *(f"open {length:,} ms" for length in LENGTHS)]
    head += [*(f"turn at {length:,} ms" for length in LENGTHS), "memory used MB"]
    rows = [
        [peers.NAMES[name], *row["opening_ms"].values(), *row["turn_ms"].values(), row["used_mb"]]
        for name, row in ((name, found[name]) for name in CONTESTANTS)
    ]
    return markdown(head, rows)


def ratios_table(found: dict[str, Any]) -> str:
    """Of plimsoll's numbers."""
    ours = found["session_here"]
    opening, turn = list(ours["opening_ms"].values()), list(ours["turn_mean_ms"].values())
    ratios = [
        [f"opening {LENGTHS[-1]:,} ÷ {LENGTHS[-2]:,}", opening[-1] / opening[-2]],
        [f"turn {LENGTHS[-1]:,} ÷ {LENGTHS[0]:,}, means with compactions", turn[-1] / turn[0]],
        *([f"disk ÷ raw JSON at {int(budget):,}", ratio] for budget, ratio in found["disk_by_raw_json"].items()),
    ]
    return markdown(["plimsoll", "ratio"], ratios)
