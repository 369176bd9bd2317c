"""Stores: what a durable append costs beside the bare system calls, what it takes on disk, and how long opening takes."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import mean, median
from typing import Any

import workload
from plimsoll.protocols import RecordDraft, SessionLog, Store
from plimsoll.store.open import open_store
from plimsoll.store.record import encode
from table import markdown

APPENDS = 1_500
"""Messages appended by each in turn: one by everybody, then the next by everybody."""

LENGTHS = (10_000, 100_000)
SINCE_COMPACTION = 40
"""Messages after the last compaction: what opening reads."""

BATCH = 500
OPENINGS = 15
NOW_MS = 1_763_000_000_000

Append = Callable[[workload.Message, bytes], None]


def measure(place: Path) -> dict[str, Any]:
    """For the bare calls and each store: appends in milliseconds, bytes on disk, opening in milliseconds by length."""
    spec = {"json lines": str(place / "lines"), "sqlite": f"sqlite:///{place / 'bench.db'}"}
    found = appends(place, {name: open_store(one) for name, one in spec.items()})
    for name, one in spec.items():
        for length in LENGTHS:
            store = open_store(one, durability="os")
            write(store, f"of-{length}", length)
            times = [timed_ms(partial(opened, store, f"of-{length}")) for _ in range(OPENINGS)]
            found[name][f"open_{length}_ms"] = median(times)
            store.close()
    return found


def appends(place: Path, stores: dict[str, Store]) -> dict[str, dict[str, float]]:
    """Every contestant appends each message durably before anybody appends the next; each goes first equally often."""
    logs = {name: store.create("append") for name, store in stores.items()}
    contestants: list[tuple[str, Append]] = [("write + fdatasync", bare(place / "raw"))]
    contestants += [(name, durably(log)) for name, log in logs.items()]
    spent_ms: dict[str, list[float]] = {name: [] for name, _ in contestants}
    raw_bytes = 0
    for turn, message in enumerate(islice(messages(), APPENDS)):
        raw_bytes += len(json.dumps(message)) + 1
        line = encode(draft(message), seq=turn + 1, position=turn, at_ms=NOW_MS)
        first = turn % len(contestants)
        for name, append in contestants[first:] + contestants[:first]:
            spent_ms[name].append(timed_ms(partial(append, message, line)))
    for log in logs.values():
        log.close()
    for store in stores.values():
        store.close()
    disk = {name: size_on_disk(store.where) / raw_bytes for name, store in stores.items()}
    base = median(spent_ms["write + fdatasync"])
    return {
        name: {
            "append_p50_ms": median(times),
            "append_p99_ms": sorted(times)[len(times) * 99 // 100],
            "append_mean_ms": mean(times),
            "by_bare_calls": median(times) / base,
            "disk_by_raw_json": disk.get(name, 1.0),
        }
        for name, times in spent_ms.items()
    }


def durably(log: SessionLog) -> Append:
    """An append to a session, as everybody makes it."""

    def append(message: workload.Message, _: bytes) -> None:
        log.append([draft(message)])

    return append


def bare(path: Path) -> Append:
    """The same bytes by one write and one fdatasync, with nothing around them."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def append(_: workload.Message, line: bytes) -> None:
        os.write(fd, line)
        os.fdatasync(fd)

    return append


def write(store: Store, name: str, length: int) -> None:
    """A session of that many messages, compacted shortly before its end."""
    stream = messages()
    with store.create(name) as log:
        left = length - SINCE_COMPACTION
        while left:
            log.append([draft(message) for message in islice(stream, min(left, BATCH))])
            left -= min(left, BATCH)
        log.append([RecordDraft(kind="compaction", data={"summary": "what was done so far. " * 200}, at_ms=NOW_MS)])
        for message in islice(stream, SINCE_COMPACTION):
            log.append([draft(message)])


def opened(store: Store, name: str) -> int:
    """Open to write and read back to the last compaction: what a session needs before its first view."""
    with store.open(name) as log:
        for count, record in enumerate(log.read_back()):
            if record.kind == "compaction":
                return count
    raise AssertionError(name)


def draft(message: workload.Message) -> RecordDraft:
    """The message as a record; the time is given, so that every contestant writes the same bytes."""
    return RecordDraft(kind="message", data=message, at_ms=NOW_MS)


def messages() -> Iterator[workload.Message]:
    """An agent's messages, without end."""
    return (message for turn in workload.turns(seed=5) for message in turn)


def timed_ms(work: Callable[[], object]) -> float:
    """Milliseconds it takes."""
    started = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - started) / 1e6


def size_on_disk(path: str) -> int:
    """Bytes of a file with what lies beside it, or of all files in a folder."""
    place = Path(path)
    files = place.rglob("*") if place.is_dir() else place.parent.glob(f"{place.name}*")
    return sum(one.stat().st_size for one in files if one.is_file())


def table(found: dict[str, Any]) -> str:
    """One row a contestant."""
    head = ["durable append", "p50 ms", "p99 ms", "mean ms", "× bare", "disk ÷ raw JSON"]
    head += [f"open {length:,} ms" for length in LENGTHS]
    rows = [[name, *row.values(), *[None] * (len(head) - 1 - len(row))] for name, row in found.items()]
    return markdown(head, rows)
