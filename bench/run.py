"""Times plimsoll beside its peers, everybody in turn in one run, and writes bench/results.

usage: run.py [one_shot] [agent_loop] [import_time] [session] [counting] [sync]        default: all
"""

from __future__ import annotations

import compileall
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import agent_loop
import counting
import import_time
import one_shot
import peers
import session
import sync

RESULTS = peers.BENCH / "results"
TOPICS: dict[str, tuple[Callable[[Path], Any], Callable[[Any], str]]] = {
    "one_shot": (one_shot.measure, one_shot.table),
    "agent_loop": (agent_loop.measure, agent_loop.table),
    "import_time": (lambda _: import_time.measure(), import_time.table),
    "session": (session.measure, session.table),
    "counting": (lambda _: counting.measure(), counting.table),
    "sync": (lambda _: sync.measure(), sync.table),
}


def main() -> None:
    """Measure the topics asked for; print each table as soon as it is known."""
    asked = sys.argv[1:] or list(TOPICS)
    if unknown := set(asked) - set(TOPICS):
        sys.exit(f"no such topic: {', '.join(sorted(unknown))}; there are {', '.join(TOPICS)}")
    compileall.compile_dir(peers.ROOT / "src", quiet=1)  # the peers are installed, and have their bytecode
    peers.build()
    versions = peers.versions()
    print(", ".join(f"{name} {version}" for name, version in versions.items()), flush=True)
    with tempfile.TemporaryDirectory() as place:
        for name in asked:
            report(name, Path(place), versions)


def report(name: str, place: Path, versions: dict[str, str]) -> None:
    """Measure one topic, print it and write it down."""
    measure, table = TOPICS[name]
    start = time.monotonic()
    found = measure(place)
    if found is None:
        print(f"\n{name}: skipped, its samples are not on this machine")
        return
    text = table(found)
    print(f"\n{text}\n({name}: {time.monotonic() - start:.0f} s)", flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(
        json.dumps({"versions": versions, "found": found}, indent=1) + "\n", encoding="utf-8"
    )
    (RESULTS / f"{name}.md").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
