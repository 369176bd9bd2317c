"""A cold `plimsoll fit` of a file, held against a cold Python process that counts the same file once with tiktoken."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import Any

import peers
import workload
from contestants import count_splintr
from table import markdown

SIZE_TOKENS = 100_000
MAX_TOKENS = 32_000
ROUNDS = 9

COUNT = """
import json, sys, tiktoken
encode = tiktoken.get_encoding("o200k_base").encode_ordinary
print(sum(len(encode(json.dumps(message))) for message in json.load(open(sys.argv[1], encoding="utf-8"))))
"""


def measure(place: Path) -> dict[str, Any]:
    """Medians in milliseconds and of the ratio in each round, the processes in turn: whole processes, from start to end."""
    path = place / "cold.json"
    path.write_text(json.dumps(workload.conversation(SIZE_TOKENS, count_splintr.count_wire, seed=3)), encoding="utf-8")
    fit = [sys.executable, "-m", "plimsoll", "fit", str(path), "--model", "gpt-4o"]
    commands = {
        f"plimsoll fit FILE --max-tokens {MAX_TOKENS}": [*fit, "--max-tokens", str(MAX_TOKENS)],
        f"plimsoll fit FILE --max-tokens {2 * SIZE_TOKENS}": [*fit, "--max-tokens", str(2 * SIZE_TOKENS)],
        "tiktoken, one count and no more": [peers.python_of("count_tiktoken"), "-c", COUNT, str(path)],
    }
    rounds = [{name: wall_ms(command) for name, command in commands.items()} for _ in range(ROUNDS)]
    counting = list(commands)[-1]
    return {
        name: {
            "cold_ms": median(found[name] for found in rounds),
            "by_counting": median(found[name] / found[counting] for found in rounds),
        }
        for name in commands
    }


def wall_ms(command: list[str]) -> float:
    """How long a process takes from start to end."""
    start = time.perf_counter()
    subprocess.run(command, env=peers.surroundings(), check=True, capture_output=True)
    return (time.perf_counter() - start) * 1000


def table(found: dict[str, Any]) -> str:
    """One row a command."""
    return markdown(
        ["cold, 100,000 tokens", "ms", "× counting"], [[name, *row.values()] for name, row in found.items()]
    )
