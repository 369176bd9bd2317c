"""The bounds that are promised, each beside the figure of the last run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import import_time
from table import markdown


class Bound(NamedTuple):
    """A figure of a topic that may not pass a number."""

    figure: str
    topic: str
    most: float
    of: Callable[[Any], float]


def _ours_by(found: Mapping[str, Any], peer: str, key: str) -> float:
    return float(found["plimsoll_here"][key] / found[peer][key])


BOUNDS = (
    Bound("a turn, 100,000 tokens in 1,000 messages, the worst kind: ms", "long_session", 1.0, lambda found: max(row["median_ms"] for row in found["turns"].values())),
    Bound("reopening 100,000 messages with the first view: ms", "long_session", 50.0, lambda found: found["reopening"]["median_ms"]),
    Bound("cold fit of 100,000 tokens × cold count by tiktoken", "cold_fit", 0.6, lambda found: next(iter(found.values()))["by_counting"]),
    Bound("one shot, 1M → 32k, first call × ctx-compact", "one_shot", 0.25, lambda found: _ours_by(found, "ctx_compact_exact", "warm_ms")),
    Bound("durable append × raw, the worst kind", "session", 1.5, lambda found: max(kind["by_bare"] for kind in found["session_here"]["appends"].values())),
    Bound("import of fit and open × langchain-core's", "import_time", 0.6, lambda found: found[import_time.IMPORTS["plimsoll_here"]] / found[import_time.IMPORTS["langchain_trim_exact"]]),
)  # fmt: skip


def table(measured: Mapping[str, Any]) -> str:
    """One row a bound whose topic was measured."""
    rows = [
        [
            bound.figure,
            value := float(bound.of(measured[bound.topic])),
            bound.most,
            "yes" if value <= bound.most else "no",
        ]
        for bound in BOUNDS
        if bound.topic in measured
    ]
    return markdown(["figure", "value", "bound", "holds"], rows)
