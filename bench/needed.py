"""What views of real agent runs keep, and how much of it the next part of the run uses; beside the newest messages of that size.

    python bench/needed.py [--families pi,codex] [--conversations 8] [--half A]        or: python bench/run.py needed

Reads the conversations beside the checkout (../shared/evals). Each is fitted at its half to a tenth of its tokens, at the size of the
summaries that its own tool wrote, and to shares from 3 to 50 %. *Kept* are all probes whose answer the view still holds, *needed
next* the values that a tool returned before the cut and a call needed after it, *used again* the identifiers of the view that occur
again. "Newest" is the newest messages that fit into the same share, with the system text free of charge. A share is named where a
family keeps fewer probes than at a smaller share, by more than NOISE of its probes, or fewer than the newest messages.
"""

from __future__ import annotations

import argparse
import collections
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import plimsoll  # noqa: E402
from evals import EVALS, scorer  # noqa: E402
from table import markdown  # noqa: E402

AGENTS = ("claude_code", "codex", "openhands", "pi", "tau_airline")
SHARE = 0.10
SHARES = (0.03, 0.05, 0.08, 0.10, 0.15, 0.20, 0.25, 0.35, 0.50)
TITLES = {
    f"{SHARE:.0%}": f"at {SHARE:.0%} of the tokens",
    "own summaries": "at the size of the tool's own summaries",
}
CUT_MIN = 8
NOISE = 0.02
"""Share of a family's probes, and at least one of them, that may come and go with a few tokens."""

Totals = dict[str, collections.Counter[str]]


def measure(families: tuple[str, ...] = AGENTS, limit: int = 1_000, half: str = "") -> dict[str, Any] | None:
    """The totals by family of each measure. None where the conversations are not on this machine."""
    if not EVALS.exists():
        return None
    module = scorer()
    found: dict[str, Totals] = {}
    for conversation in chosen(module, families, limit, half):
        family = conversation["family"]
        for name, cut, size, share in cases(module, conversation):
            row = found.setdefault(name, {}).setdefault(family, collections.Counter())
            row.update(scored(module, conversation, cut, size, share))
    return {name: {family: dict(row) for family, row in rows.items()} for name, rows in found.items()}


def chosen(module: Any, families: tuple[str, ...], limit: int, half: str) -> Iterator[Any]:
    """The first conversations of each family; of half A every other one, of half B the others."""
    seen: collections.Counter[str] = collections.Counter()
    for conversation in module.load("dev", set(families)):
        seen[conversation["family"]] += 1
        number = seen[conversation["family"]]
        if number <= limit and (not half or half == "BA"[number % 2]):
            yield conversation


def cases(module: Any, conversation: Any) -> Iterator[tuple[str, int, int, float]]:
    """What a conversation is fitted to: the name of the measure, the cut, the tokens and their share of all."""
    cut = conversation["cuts"].get("50")
    if cut and cut >= CUT_MIN:
        tokens = plimsoll.count_tokens(conversation["messages"][:cut])
        for share in SHARES:
            yield f"{share:.0%}", cut, int(tokens * share), share
    for summary in conversation.get("native_summaries") or []:
        if summary["before_index"] > CUT_MIN and summary["text"]:
            size, before = module.est_tokens(summary["text"]), conversation["messages"][: summary["before_index"]]
            yield "own summaries", summary["before_index"], size, size / sum(map(module.msg_tokens, before))


def scored(module: Any, conversation: Any, cut: int, size: int, share: float) -> dict[str, int]:
    """The figures of one view and of the newest messages."""
    messages = conversation["messages"][:cut]
    view, newest = plimsoll.fit(messages, max_tokens=size).messages, module.recency(messages, share)
    ours, theirs = (module.score(conversation, shown, upto=cut) for shown in (view, newest))
    listed, used = module.identifier_precision(conversation, view, cut)
    return {
        "probes": ours["total"]["n"],
        "kept": ours["total"]["kept"],
        "kept_newest": theirs["total"]["kept"],
        "needed": ours["needed_next"]["n"],
        "had": ours["needed_next"]["kept"],
        "had_newest": theirs["needed_next"]["kept"],
        "listed": listed,
        "used": used,
        "tokens": plimsoll.count_tokens(view),
        "budget": size,
    }


def table(found: dict[str, Any]) -> str:
    """The table at a tenth and at the size of the tool's summaries by family, the sweep, and where it falls."""
    head = ["family", "kept %", "newest: kept %", "needed next", "newest: needed next", "used again %", "budget used %"]
    parts = []
    for name, title in TITLES.items():
        rows = [cells(family, row) for family, row in sorted(found.get(name, {}).items())]
        if rows:
            parts.append(f"Cut, {title}:\n\n{markdown(head, [*rows, *summed(found[name])])}")
    rows = [cells(share, total(found[share])) for share in shares_of(found)]
    parts.append(f"All families, by share of the tokens:\n\n{markdown(['share', *head[1:]], rows)}")
    parts.append("\n".join(falls(found)) or "No family falls, or is below the newest messages, at any share.")
    return "\n\n".join(parts)


def shares_of(found: dict[str, Any]) -> list[str]:
    return [name for name in (f"{share:.0%}" for share in SHARES) if name in found]


def summed(rows: Totals) -> list[list[object]]:
    """All families together, and the mean over families."""
    each = [cells(family, row) for family, row in rows.items()]
    means = [[value for row in each if isinstance(value := row[column], float)] for column in (1, 2, 5, 6)]
    kept, newest, used, filled = (sum(values) / len(values) if values else None for values in means)
    return [cells("all", total(rows)), ["mean of families", kept, newest, None, None, used, filled]]


def total(rows: Totals) -> collections.Counter[str]:
    """The sum over families."""
    return sum(map(collections.Counter, rows.values()), collections.Counter())


def cells(name: str, row: dict[str, int]) -> list[object]:
    """A row of the table."""
    get = collections.Counter(row)
    return [
        name,
        percent(get["kept"], get["probes"]),
        percent(get["kept_newest"], get["probes"]),
        f"{get['had']} of {get['needed']}",
        f"{get['had_newest']} of {get['needed']}",
        percent(get["used"], get["listed"]),
        percent(get["tokens"], get["budget"]),
    ]


def percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None


def falls(found: dict[str, Any]) -> Iterator[str]:
    """Where a family keeps less than at a smaller share, or than the newest messages."""
    for family in AGENTS:
        most = ("", 0)
        for share in shares_of(found):
            row = collections.Counter(found[share].get(family, {}))
            if most[1] - row["kept"] > max(1, NOISE * row["probes"]):
                yield f"- {family} keeps {row['kept']} of {row['probes']} at {share}, {most[1]} at {most[0]}."
            for ours, theirs, what in (("kept", "kept_newest", "kept"), ("had", "had_newest", "needed next")):
                if row[ours] < row[theirs]:
                    yield f"- {family} at {share}, {what}: {row[ours]}, the newest messages {row[theirs]}."
            most = max(most, (share, row["kept"]), key=lambda pair: pair[1])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--families", default=",".join(AGENTS))
    parser.add_argument("--conversations", type=int, default=1_000)
    parser.add_argument("--half", choices=["", "A", "B"], default="")
    options = parser.parse_args()
    found = measure(tuple(options.families.split(",")), options.conversations, options.half)
    print("the conversations are not on this machine" if found is None else table(found))


if __name__ == "__main__":
    main()
