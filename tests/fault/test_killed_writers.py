"""Writers killed at random moments: whatever they were told is stored is there, and the next writer goes on at once."""

from __future__ import annotations

import os
import random
import signal
import struct
import time

import pytest

from plimsoll.protocols import RecordDraft
from plimsoll.store.open import open_or_create, open_store
from plimsoll.store.verify import verify

ACK = struct.Struct("<i")


def drafts(number: int) -> list[RecordDraft]:
    """The records of one append: of every kind a session writes, one to four of them, each saying which append it is of."""
    size = number % 4
    compact = RecordDraft(kind="compaction", data={"append": number, "of": size + 1, "summary": "s" * (number % 3000)})
    undo = RecordDraft(kind="rollback", data={"append": number, "of": size + 1})
    message = RecordDraft(kind="message", data={"append": number, "of": size + 1, "text": "é" * (number % 50)})
    return [(message, compact, undo)[number % 3], *[message] * size]


def write_until_killed(spec: str, acks: int) -> None:
    """Append for ever, saying after each append which one is stored. Never returns."""
    try:
        with open_or_create(open_store(spec), "a") as log:
            last = next((record for record in log.read_back() if record.kind != "session"), None)
            number = 0 if last is None else last.data["append"] + 1
            while True:
                log.append(drafts(number))
                if number % 5 == 0:
                    log.put_blob(b"%d" % number)
                os.write(acks, ACK.pack(number))
                number += 1
    finally:
        os._exit(3)


def start_and_kill(spec: str, rng: random.Random) -> list[int]:
    """Start a writer, kill it a random while after its first append, and return the appends it said were stored."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        write_until_killed(spec, writing)
    os.close(writing)
    first = os.read(reading, ACK.size) if rng.random() < 0.9 else b""  # one in ten is killed while it opens
    time.sleep(rng.random() ** 3 * 0.012)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    rest = b"".join(iter(lambda: os.read(reading, 65_536), b""))
    os.close(reading)
    assert os.WIFSIGNALED(status), "the writer stopped by itself"
    return [number for (number,) in ACK.iter_unpack(first + rest)]


def kill_many(spec: str, kills: int, seed: int) -> None:
    """Kill that many writers of one session, looking after each kill and at all of it in the end."""
    rng = random.Random(seed)
    stored = -1
    for kill in range(kills):
        acknowledged = start_and_kill(spec, rng)
        with open_or_create(open_store(spec), "a") as log:
            newest = next((record for record in log.read_back() if record.kind != "session"), None)
            present = -1 if newest is None else newest.data["append"]
            claimed = max(acknowledged, default=stored)

            assert claimed <= present <= claimed + 1, (seed, kill)
            assert newest is None or newest.batch_left == 0, (seed, kill)
        stored = present
    found = verify(open_store(spec), "a")
    with open_store(spec).open("a", writable=False) as log:
        appends = [record.data["append"] for record in log.read(1)]
        sizes = {record.data["append"]: record.data["of"] for record in log.read(1)}

    assert found.ok
    assert appends == [number for number in range(stored + 1) for _ in range(sizes[number])]
    assert all(sizes[number] == number % 4 + 1 for number in sizes)
    assert stored > kills  # the writers did write
    assert found.blobs > 0


def spec_of(kind: str, path) -> str:
    """The store of that kind in a folder."""
    return f"sqlite:///{path}/file.db" if kind == "sqlite" else f"{path}/store"


@pytest.mark.slow
@pytest.mark.spec("W1-07")
@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_killed_150_times(kind, tmp_path):
    """After each of 150 kills no acknowledged append is missing, at most one more is there, and none is there in part."""
    kill_many(spec_of(kind, tmp_path), 150, seed=1)


@pytest.mark.soak
@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_killed_1000_times(kind, tmp_path):
    """The same after 1,000 kills, from a seed of their own."""
    kill_many(spec_of(kind, tmp_path), 1_000, seed=time.time_ns())


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_lock_dies_with_its_owner_and_not_before(kind, tmp_path):
    """A killed writer's session opens within a second even while a child that it forked lives on."""
    spec = spec_of(kind, tmp_path)
    open_store(spec).create("a").close()
    reading, writing = os.pipe()
    owner = os.fork()
    if owner == 0:
        _held = open_store(spec).open("a")
        if os.fork() == 0:
            os.write(writing, ACK.pack(os.getpid()))
        time.sleep(20)
        os._exit(0)
    (survivor,) = ACK.unpack(os.read(reading, ACK.size))
    os.close(reading)
    os.close(writing)
    os.kill(owner, signal.SIGKILL)
    os.waitpid(owner, 0)
    try:
        open_store(spec).open("a").close()
        os.kill(survivor, 0)  # it lives, and holds what it inherited
    finally:
        os.kill(survivor, signal.SIGKILL)
