"""What importing costs: a fresh interpreter with the import, less one without."""

from __future__ import annotations

import subprocess
import time
from statistics import median
from typing import Any

import peers
from table import markdown

IMPORTS = {
    "plimsoll_here": "from plimsoll import fit, open",
    "ctx_compact_exact": "from ctx_compact import compact",
    "langchain_trim_exact": "from langchain_core.messages import trim_messages",
    "llama_index_memory": "from llama_index.core.memory import Memory",
}
"""What each contestant's user writes: the names, not just the package, because some load them late."""

ROUNDS = 7


def measure() -> dict[str, Any]:
    """Median milliseconds of each, the runs interleaved."""
    spent: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for _ in range(ROUNDS):
        for name, code in IMPORTS.items():
            python = peers.python_of(name)
            spent[name].append(wall_ms(python, code) - wall_ms(python, "pass"))
    return {IMPORTS[name]: median(times) for name, times in spent.items()}


def wall_ms(python: str, code: str) -> float:
    """How long an interpreter takes to start, run the code and end."""
    start = time.perf_counter()
    subprocess.run([python, "-c", code], env=peers.surroundings(), check=True, capture_output=True)
    return (time.perf_counter() - start) * 1000


def table(found: dict[str, Any]) -> str:
    """One row a package."""
    return markdown(["import", "ms"], list(found.items()))
