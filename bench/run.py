"""Times plimsoll beside its peers, everybody in turn in one run, and writes bench/results.

usage: run.py [one_shot] [cold_fit] [import_time] [long_session] [session] [agent_loop] [counting] [shrinking] [sync] [needed]

without a topic: all
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
import bounds
import cold_fit
import counting
import import_time
import long_session
import needed
import one_shot
import peers
import session
import shrinking
import sync

RESULTS = peers.BENCH / "results"
TOPICS: dict[str, tuple[Callable[[Path], Any], Callable[[Any], str]]] = {
    "one_shot": (one_shot.measure, one_shot.table),
    "cold_fit": (cold_fit.measure, cold_fit.table),
    "import_time": (lambda _: import_time.measure(), import_time.table),
    "long_session": (long_session.measure, long_session.table),
    "session": (session.measure, session.table),
    "agent_loop": (agent_loop.measure, agent_loop.table),
    "counting": (lambda _: counting.measure(), counting.table),
    "shrinking": (lambda _: shrinking.measure(), shrinking.table),
    "sync": (lambda _: sync.measure(), sync.table),
    "needed": (lambda _: needed.measure(), needed.table),
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
    measured = last_results()
    write("bounds", bounds.table(measured), {"versions": versions, "topics": sorted(measured)})


def last_results() -> dict[str, Any]:
    """What the last run of each topic found, as it was written down: a run of one topic leaves the bounds of the others standing."""
    written = {name: RESULTS / f"{name}.json" for name in TOPICS}
    return {name: json.loads(path.read_bytes())["found"] for name, path in written.items() if path.exists()}


def report(name: str, place: Path, versions: dict[str, str]) -> None:
    """Measure one topic, print it and write it down, where it can be measured."""
    measure, table = TOPICS[name]
    start = time.monotonic()
    found = measure(place)
    if found is None:
        print(f"\n{name}: skipped, its samples are not on this machine")
        return
    write(name, table(found), {"versions": versions, "found": found})
    print(f"({name}: {time.monotonic() - start:.0f} s)", flush=True)


def write(name: str, text: str, data: dict[str, Any]) -> None:
    """Print a table, and write it down with what it was made from."""
    print(f"\n{text}", flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    (RESULTS / f"{name}.md").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
