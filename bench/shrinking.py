"""Large tool results made small, and whether what matters in them is still there.

In each result something is planted at random places, one at a time: an error (a line, a row), which nobody asks for by name, and a
word in an ordinary line or row, which the user's request names. Both contestants see the same request. Tokens are counted exactly, by
o200k. headroom has no limit in tokens: what it makes of a result is set beside each of ours.

Reads the samples beside the checkout (../shared/evals/tool_outputs). Run it alone, by `python bench/run.py shrinking`.
"""

from __future__ import annotations

import json
import random
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import peers
from contestants import count_splintr
from table import markdown

SAMPLES = peers.ROOT.parent / "shared" / "evals" / "tool_outputs"
CAPS = (300, 1_000, 4_000)
TRIALS = 4
ERROR_QUERY = "What went wrong here?"
NEEDLES = ("error", "asked")


def measure() -> dict[str, Any] | None:
    """For each sample what both make of it. None where the samples are not on this machine."""
    if not SAMPLES.exists():
        return None
    peers.build_apart("headroom_compress")
    listed = json.loads((SAMPLES / "MANIFEST.json").read_text(encoding="utf-8"))
    return {sample["file"]: compared(sample["file"], sample["kind"]) for sample in listed}


def compared(name: str, kind: str) -> dict[str, Any]:
    """One sample: its tokens, and what each contestant makes of it at each limit."""
    whole = (SAMPLES / name).read_bytes().decode("utf-8", "replace")
    cases = [{"text": whole, "query": ERROR_QUERY, "needle": ""}]
    rng = random.Random(name)
    for needle in NEEDLES:
        for trial in range(TRIALS):
            key = f"quartz-{rng.randrange(10_000, 99_999)}{trial}"
            query = ERROR_QUERY if needle == "error" else f"What does it say about {key}?"
            cases.append({"text": planted(whole, kind, needle, key, rng), "query": query, "needle": needle, "key": key})
    return {
        "kind": kind,
        "tokens": count_splintr.count(whole),
        "headroom": shrunk("headroom_compress", cases, None),
        **{str(cap): shrunk("shrink_here", cases, cap) for cap in CAPS},
    }


def planted(whole: str, kind: str, needle: str, key: str, rng: random.Random) -> str:
    """The result with a needle at a random place."""
    if kind == "json":
        return planted_in_json(whole, needle, key, rng)
    lines = whole.split("\n")
    at = rng.randrange(1, len(lines))
    if kind == "html":
        places = [index for index, line in enumerate(lines) if line.rstrip().endswith(("</p>", "</div>", "</li>"))]
        at = rng.choice(places) + 1
        line = f"<p>ERROR: disk failure {key}</p>" if needle == "error" else f"<p>Of harbours: {key}</p>"
    elif needle == "error":
        line = (
            f"{lines[at][:24]} ERROR: disk failure {key}"
            if kind != "csv"
            else ",".join([*lines[at].split(",")[:-1], f"ERROR {key}"])
        )
    else:
        line = f"{lines[at]} {key}"
    return "\n".join([*lines[:at], line, *lines[at:]])


def planted_in_json(whole: str, needle: str, key: str, rng: random.Random) -> str:
    """A field in a random object of the largest group of objects."""
    value = json.loads(whole)
    row = rng.choice(max(groups(value), key=len))
    if needle == "error":
        row["status"] = f"failed: disk failure {key}"
    else:
        row["remark"] = f"of harbours: {key}"
    return json.dumps(value, indent=2 if "\n" in whole[:8] else None)


def groups(value: Any) -> list[list[dict[str, Any]]]:
    """The objects in each list or object of a value."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [[item for item in inner if isinstance(item, dict)], *(group for item in inner for group in groups(item))]


def shrunk(contestant: str, cases: list[dict[str, Any]], max_tokens: int | None) -> dict[str, Any]:
    """Tokens and milliseconds of the result as it is, and the share of needles of each kind that are still there."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "cases.json"
        path.write_text(json.dumps(cases), encoding="utf-8")
        answer = peers.ask(contestant, "shrink", cases=str(path), max_tokens=max_tokens)
    texts = answer["texts"]
    kept = {
        needle: sum(case["key"] in text for case, text in zip(cases, texts, strict=True) if case["needle"] == needle)
        for needle in NEEDLES
    }
    return {"tokens": count_splintr.count(texts[0]), "ms": median(answer["spent_s"]) * 1000, **kept}


def table(found: dict[str, Any]) -> str:
    """One row a sample: tokens, and needles kept of each kind."""
    ways = ("headroom", *map(str, CAPS))
    head = ["result", "tokens", *(f"{way}: tokens" for way in ways)]
    head += [f"{needle} of {TRIALS}: {' / '.join(ways)}" for needle in NEEDLES] + ["ms: headroom", f"ms: {CAPS[1]}"]
    rows = [
        [
            name,
            row["tokens"],
            *(row[way]["tokens"] for way in ways),
            *(" / ".join(str(row[way][needle]) for way in ways) for needle in NEEDLES),
            row["headroom"]["ms"],
            row[str(CAPS[1])]["ms"],
        ]
        for name, row in found.items()
    ]
    return markdown(head, rows)
