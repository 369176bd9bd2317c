"""Disks that are really full, limits that are really reached, folders that really cannot be written."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sqlite3
import sys
import tempfile
import traceback
from contextlib import suppress
from pathlib import Path

import pytest

from plimsoll.errors import LimitExceeded, StoreError, StoreFull, StoreUnusable
from plimsoll.protocols import RecordDraft
from plimsoll.store.memory import InMemoryStore
from plimsoll.store.open import open_store
from plimsoll.store.verify import verify

SIZE_BYTES = 1 << 20


def message(number: int, size: int = 4_000) -> RecordDraft:
    """A message of about so many bytes."""
    return RecordDraft(kind="message", data={"i": number, "pad": "x" * size})


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB."""
    if os.geteuid() != 0 or sys.platform != "linux":
        pytest.skip("mounting a small file system needs root on Linux")
    libc = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
    place = tmp_path / "small"
    place.mkdir()
    if libc.mount(b"tmpfs", os.fsencode(place), b"tmpfs", 0, b"size=1m,mode=700") != 0:
        pytest.skip(f"mounting a small file system is not allowed here: {os.strerror(ctypes.get_errno())}")
    yield place
    libc.umount2(os.fsencode(place), 2)  # lazily, should a test have left a file open


def in_child(work) -> None:
    """Run something in a process of its own, so that limits and users can be changed; fails as it fails."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 - the child must end here whatever happened
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0, "see the traceback above"


def fill(log) -> int:
    """Append until there is no room; returns how many messages were taken."""
    for number in range(10_000):
        try:
            log.append([message(number)])
        except StoreFull:
            return number
    raise AssertionError("it never was full")


def test_whatever_a_database_has_no_room_for_is_a_full_disk(small_disk):
    """A disk that is full is said to be so, whichever of its files SQLite could not make or enlarge."""
    filler = small_disk / "filler"
    for free in range(0, 96 * 1024, 12 * 1024):
        filler.write_bytes(b"x" * (SIZE_BYTES - free))
        store = open_store(f"sqlite:///{small_disk}/sessions.db")
        with pytest.raises(StoreFull), store.create("a") as log:
            log.append([message(number) for number in range(100)])
        store.close()
        for file in small_disk.glob("sessions.db*"):
            if file.is_file():
                file.unlink()


def fill_up(path) -> None:
    """Leave no room on the file system."""
    with path.open("wb", buffering=0) as filler, suppress(OSError):
        while True:
            filler.write(bytes(512))


@pytest.mark.parametrize("spec", ["{}/store", "sqlite:///{}/file.db"])
def test_a_real_full_disk(small_disk, spec):
    """On a full disk StoreFull is raised, every acknowledged record is intact, and appending works once there is room."""
    filler = small_disk / "filler"
    filler.write_bytes(bytes(SIZE_BYTES // 3))
    store = open_store(spec.format(small_disk))
    log = store.create("a")
    taken = fill(log)
    before = list(log.lines())
    for _ in range(3):
        with pytest.raises(StoreFull):
            log.append([message(-1, 100_000)])
    with pytest.raises(StoreFull):
        log.put_blob(bytes(SIZE_BYTES))
    assert list(log.lines()) == before
    filler.unlink()
    log.append([message(taken)])
    digest = log.put_blob(b"content")
    log.close()
    with store.open("a") as log:
        assert [record.data["i"] for record in log.read(1)] == list(range(taken + 1))
        assert list(log.lines())[: len(before)] == before
        assert list(log.blobs()) == [digest]
    assert taken > 10
    assert verify(store, "a").ok
    store.close()


@pytest.mark.parametrize("spec", ["{}/store", "sqlite:///{}/file.db"])
def test_sessions_on_a_full_disk_are_listed_and_read(small_disk, spec):
    """A program that starts on a full disk reads what is there, is refused when it writes, and writes once there is room."""
    with open_store(spec.format(small_disk)).create("a") as log:
        log.append([message(1)])
    fill_up(small_disk / "filler")
    store = open_store(spec.format(small_disk))

    assert [info.name for info in store.sessions()] == ["a"]
    with store.open("a", writable=False) as log:
        assert [record.data["i"] for record in log.read(1)] == [1]
    for _ in range(2):
        with pytest.raises(StoreFull):
            store.create("b")
    (small_disk / "filler").unlink()
    with store.create("b") as log:
        log.append([message(2)])
    assert {info.name for info in open_store(spec.format(small_disk)).sessions()} == {"a", "b"}
    store.close()


def test_opening_a_torn_log_on_a_full_disk(small_disk):
    """Where there is no room to put a torn end aside, the writer is refused and nothing is cut; readers still read."""
    store = open_store(str(small_disk / "store"))
    with store.create("a") as log:
        log.append([message(0), message(1)])
    path = small_disk / "store" / "a" / "log.jsonl"
    os.truncate(path, path.stat().st_size - 10)
    path.with_name("lock").unlink()  # nobody was told that it is stored
    torn = path.read_bytes()
    fill_up(small_disk / "filler")
    with pytest.raises(StoreFull):
        store.open("a")
    assert path.read_bytes() == torn
    with store.open("a", writable=False) as log:
        assert log.length == 1
    (small_disk / "filler").unlink()
    with store.open("a") as log:
        assert (log.length, log.damage[0].kind) == (1, "torn")


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["{}/store", "sqlite:///{}/file.db"])
def test_the_limit_on_file_size(tmp_path, spec):
    """A process's own limit on file sizes is no room too: a typed error, nothing lost, and work goes on once it is lifted."""
    resource = pytest.importorskip("resource")

    def work() -> None:
        store = open_store(spec.format(tmp_path))
        log = store.create("a")
        log.append([message(0)])
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
        acknowledged = 1
        try:
            while acknowledged < 1_000:
                log.append([message(acknowledged)])
                acknowledged += 1
        except StoreFull:
            pass
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert 10 < acknowledged < 1_000
        log.append([message(acknowledged)])
        log.close()
        assert [record.data["i"] for record in store.open("a").read(1)] == list(range(acknowledged + 1))

    in_child(work)


def test_a_database_full_at_any_page(tmp_path):
    """Whatever page of a database there is no room for, StoreFull leaves every acknowledged record, and there is a next time."""
    store = open_store(f"sqlite:///{tmp_path}/file.db", durability="os")
    log = store.create("a")
    connection = store._database._connected()
    acknowledged = fulls = 0
    for pages in range(4, 40):
        limit = connection.execute(f"PRAGMA max_page_count = {pages}").fetchone()[0]
        assert limit >= pages
        for _ in range(3):
            try:
                log.append([message(acknowledged, 9_000)])
                acknowledged += 1
            except StoreFull:
                fulls += 1
    assert [record.data["i"] for record in log.read(1)] == list(range(acknowledged))
    assert fulls > 10
    assert acknowledged > 10
    store.close()


@pytest.mark.spec("S1-24", "S1-25")
@pytest.mark.spec("W1-20")
def test_memory_has_a_cap_and_drops_nothing():
    """Past its cap a memory store refuses; what it holds stays, and deleting a session makes room again."""
    store = InMemoryStore(size_bytes_max=20_000)
    store.create("b").close()
    log = store.create("a")
    taken = fill(log)
    with pytest.raises(StoreFull):
        log.put_blob(bytes(20_000))
    assert [record.data["i"] for record in log.read(1)] == list(range(taken))
    log.close()
    store.delete("a")
    with store.create("c") as log:
        assert fill(log) == taken


def test_what_is_too_large_is_refused_before_it_is_written(tmp_path, monkeypatch):
    """A record or blob past its limit raises LimitExceeded and leaves the log as it was."""
    monkeypatch.setattr("plimsoll.store.record.RECORD_SIZE_BYTES_MAX", 10_000)
    monkeypatch.setattr("plimsoll.store.blobs.BLOB_SIZE_BYTES_MAX", 10_000)
    for spec in (str(tmp_path), f"sqlite:///{tmp_path}/file.db"):
        store = open_store(spec)
        with store.create("a") as log:
            for draft in (message(0, 10_000), message(0, 9_950)):
                with pytest.raises(LimitExceeded):
                    log.append([message(1), draft])
            with pytest.raises(LimitExceeded):
                log.put_blob(bytes(10_001))
            assert log.append([message(2, 9_000)])[0].seq == 1
            assert log.get_blob(log.put_blob(bytes(10_000))) == bytes(10_000)
        store.close()


def test_a_line_longer_than_any_record_is_passed_over(tmp_path, monkeypatch):
    """Bytes without a newline, more than a record may have, are damage; they are not held, and what is around them is read."""
    store = open_store(str(tmp_path))
    with store.create("a") as log:
        log.append([message(0)])
    path = tmp_path / "a" / "log.jsonl"
    monkeypatch.setattr("plimsoll.store.log_file.RECORD_SIZE_BYTES_MAX", 100_000)
    with path.open("ab") as other:
        other.write(b"{" * 3_000_000 + b"\n")
    with store.open("a") as log:
        log.append([message(1)])
        assert [record.data["i"] for record in log.read(1)] == [0, 1]
        assert [record.data["i"] for record in log.read_back() if record.seq] == [1, 0]
        assert [(one.kind, one.size_bytes) for one in log.damage] == [("unreadable", 3_000_001)]


def protect(paths, *, files: bool) -> None:
    """Give folders, and files if told so, to nobody, and let nobody write to them."""
    for path in paths:
        os.chown(path, 65_534, 65_534)
        if path.is_dir() or files:
            path.chmod(0o555 if path.is_dir() else 0o444)


@pytest.mark.slow
@pytest.mark.parametrize("spec", ["{}/store", "sqlite:///{}/file.db"])
@pytest.mark.parametrize("protected", ["folder", "everything"])
def test_read_only_places(tmp_path_factory, spec, protected):
    """Where nothing may be written everything can be read, writing raises StoreUnusable naming the place, nothing is left."""
    if os.geteuid() != 0:
        pytest.skip("becoming another user needs root")
    place = tmp_path_factory.mktemp("readonly")
    temporary = Path(tempfile.gettempdir()).resolve()
    for folder in (one for one in place.resolve().parents if one.is_relative_to(temporary) and one != temporary):
        # what pytest makes for root alone
        folder.chmod(folder.stat().st_mode | 0o011)
    store = open_store(spec.format(place))
    with store.create("a") as log:
        log.append([message(0)])
        digest = log.put_blob(b"content")
    store.close()
    names = sorted(place.rglob("*"))
    protect([place, *names], files=protected == "everything")

    def work() -> None:
        os.setgid(65_534)
        os.setuid(65_534)
        again = open_store(spec.format(place))
        with again.open("a", writable=False) as log:
            assert [record.data["i"] for record in log.read(1)] == [0]
            assert log.get_blob(digest) == b"content"
        assert [one.name for one in again.sessions()] == ["a"]
        assert verify(again, "a").ok
        uses = [lambda: again.create("b"), lambda: again.delete("a"), lambda: again.archive("a")]
        if protected == "everything" or spec.startswith("sqlite"):
            uses.append(lambda: again.open("a"))
        for use in uses:
            with pytest.raises(StoreUnusable) as caught:
                use()
            assert caught.value.path.startswith(str(place))
        again.close()

    in_child(work)
    assert sorted(place.rglob("*")) == names
    for path in (place, *names):
        path.chmod(0o700)


def test_a_database_of_something_else_is_left_alone(tmp_path):
    """A file that is no database, a database of another program and one of a newer version are refused unchanged."""
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    connection.close()
    text = tmp_path / "text.db"
    text.write_text("this is no database, whatever it is called\n" * 100)
    newer = tmp_path / "newer.db"
    open_store(f"sqlite:///{newer}").create("a").close()
    with sqlite3.connect(newer) as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    for path in (other, text, newer):
        before = path.read_bytes()
        store = open_store(f"sqlite:///{path}")
        for use in (store.sessions, lambda store=store: store.create("b"), lambda store=store: store.open("a")):
            with pytest.raises(StoreError, match=r"database of another application|not a database|has format 2"):
                use()
        store.close()
        assert path.read_bytes() == before
