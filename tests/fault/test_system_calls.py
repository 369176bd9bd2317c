"""The k-th system call fails, for every k: typed errors, nothing acknowledged lost, and the store works again after."""

from __future__ import annotations

import errno
import gc
import os
from contextlib import closing, suppress
from pathlib import Path

import pytest

from plimsoll.errors import PlimsollError, SessionNotFound, StoreFull, StoreUnusable
from plimsoll.protocols import RecordDraft
from plimsoll.store.jsonl import JsonlStore
from plimsoll.store.os_calls import OsCalls
from plimsoll.store.sqlite import SqliteStore
from plimsoll.store.verify import verify

SPARED = {"close"}
"""What is not made to fail: closing has no bytes left to lose."""

UNSYNCED = {"sync", "sync_data"}
"""What is counted and failed but otherwise not done: nobody pulls the plug in these tests."""

CALLS = [name for name in vars(OsCalls) if not name.startswith("_") and name not in SPARED]


class Failing(OsCalls):
    """Real calls, of which the k-th fails: with an error, or by writing half of the bytes and then the error."""

    def __init__(self) -> None:
        self.left = -1
        self.code = 0
        self.for_good = False
        self.half = False
        self.failed: list[str] = []

    def fail_at(self, k: int, code: int, *, half: bool = False, for_good: bool = False) -> None:
        """Let the k-th call from now fail, or all from it on."""
        self.left, self.code, self.half, self.for_good, self.failed = k, code, half, for_good, []

    def heal(self) -> None:
        """Let nothing fail any more."""
        self.left = -1
        self.for_good = False

    def due(self, name: str) -> bool:
        """Whether this call fails."""
        if self.failed and self.for_good:
            self.failed.append(name)
            return True
        if self.left > 0:
            self.left -= 1
            if self.left == 0:
                self.failed.append(name)
                return True
        return False


def _failing(name: str):
    def call(self, *args, **options):
        real = getattr(super(Failing, self), name)
        if not self.due(name):
            return None if name in UNSYNCED else real(*args, **options)
        if name == "write" and self.half and len(args[1]) > 1:
            self.half, self.left = False, 1  # the rest fails
            return real(args[0], bytes(args[1])[: len(args[1]) // 2])
        raise OSError(self.code, os.strerror(self.code))

    return call


for _name in CALLS:
    setattr(Failing, _name, _failing(_name))


def message(number: int) -> RecordDraft:
    """A message of a few hundred bytes."""
    return RecordDraft(kind="message", data={"i": number, "pad": "x" * 300})


class Story:
    """A session's life, step by step, noting what was acknowledged."""

    def __init__(self, store: JsonlStore) -> None:
        self.store = store
        self.acknowledged = 0
        self.trying = 0
        self.made = False
        self.lived = False
        self.log = None

    def live(self) -> None:
        """Make a session, append, store content, compact, open it again, roll back, archive it and bring it back."""
        self.log = self.store.create("a")
        self.made = True
        self.append(1)
        self.append(3)
        self.log.put_blob(b"content" * 100)
        self.append(2, "compaction")
        self.log.close()
        self.log = self.store.open("a")
        list(self.log.read())
        self.append(1, "rollback")
        self.log.close()
        self.store.archive("a")
        self.store.restore("a")
        self.store.sessions()

    def append(self, count: int, kind: str = "message") -> None:
        """One append of so many records."""
        self.trying = self.acknowledged + count
        numbers = range(self.acknowledged, self.trying)
        self.log.append([RecordDraft(kind=kind, data={"i": number, "pad": "x" * 300}) for number in numbers])
        self.acknowledged = self.trying

    def check(self) -> None:
        """With a healthy disk: what was acknowledged is there, at most one append more, and appending works."""
        if self.log is not None:
            self.log.close()
        try:
            log = self.store.open("a")
        except SessionNotFound:
            if not self.made:
                return
            self.store.restore("a")
            log = self.store.open("a")
        with log:
            found = [record.data["i"] for record in log.read(1)]
            assert found in (list(range(self.acknowledged)), list(range(self.trying)))
            log.append([message(-1)])
        found = verify(self.store, "a")
        assert found.blobs_damaged == ()
        assert found.damage == ()


FAULTS = {
    "no space, once": {"code": errno.ENOSPC},
    "no space from then on": {"code": errno.ENOSPC, "for_good": True},
    "quota after half a write": {"code": errno.EDQUOT, "half": True},
    "I/O error, once": {"code": errno.EIO},
    "I/O error from then on": {"code": errno.EIO, "for_good": True},
    "read-only from then on": {"code": errno.EROFS, "for_good": True},
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_every_call_fails_once(tmp_path, fault):
    """Whichever call of a session's life fails, the error is ours, nothing acknowledged is lost, and work goes on after."""
    k = 0
    gc.collect()  # other tests' sessions may still hold some
    descriptors = len(list(Path("/dev/fd").iterdir()))
    while True:
        k += 1
        calls = Failing()
        story = Story(JsonlStore(tmp_path / str(k), calls=calls, durability="fsync" if k % 4 == 0 else "os"))
        calls.fail_at(k, **FAULTS[fault])
        with suppress(PlimsollError):
            story.live()
            story.lived = True
        assert story.lived or calls.failed, k
        if not calls.failed:
            break
        calls.heal()
        story.check()
        assert len(list(Path("/dev/fd").iterdir())) == descriptors, k

    assert k > 100


@pytest.mark.parametrize("half", [False, True])
def test_a_full_disk_changes_no_byte_and_appending_works_once_there_is_room(tmp_path, half):
    """StoreFull leaves the log byte for byte, and the same open log takes the same append when space is back."""
    calls = Failing()
    log = JsonlStore(tmp_path, calls=calls).create("a")
    path = tmp_path / "a" / "log.jsonl"
    for number in range(20):
        before = path.read_bytes()
        calls.fail_at(2, errno.ENOSPC, half=half)  # 1 is the look at the file, 2 the write
        with pytest.raises(StoreFull) as caught:
            log.append([message(number), message(number)])
        assert caught.value.path == str(path)
        assert path.read_bytes() == before
        calls.heal()
        assert log.append([message(number), message(number)])[0].seq == 1 + 2 * number
    assert [record.data["i"] for record in log.read(1)] == [number for number in range(20) for _ in range(2)]
    log.close()


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_after_a_failed_sync_the_log_is_not_trusted(tmp_path, code):
    """A failed sync is never retried: the log refuses until it is opened again, and then holds what was acknowledged."""
    calls = Failing()
    store = JsonlStore(tmp_path, calls=calls)
    log = store.create("a")
    log.append([message(0)])
    calls.fail_at(3, code)  # the look, the write, the sync
    with pytest.raises(StoreUnusable, match="sync failed"):
        log.append([message(1)])
    assert calls.failed == ["sync_data"]
    calls.heal()
    with pytest.raises(StoreUnusable, match="open it again"):
        log.append([message(2)])
    log.close()
    with store.open("a") as log:
        assert [record.data["i"] for record in log.read(1)] == [0]
        log.append([message(3)])


def test_an_append_that_cannot_be_taken_back_stops_the_log(tmp_path):
    """Where neither writing nor cutting works, nothing is ever glued to what was left; opening again puts it aside."""
    calls = Failing()
    store = JsonlStore(tmp_path, calls=calls)
    log = store.create("a")
    log.append([message(0)])
    calls.fail_at(2, errno.ENOSPC, half=True, for_good=True)
    with pytest.raises(StoreFull):
        log.append([message(1)])
    calls.heal()
    with pytest.raises(StoreUnusable):
        log.append([message(2)])
    log.close()
    with store.open("a") as log:
        assert [one.kind for one in log.damage] == ["torn"]
        assert [record.data["i"] for record in log.read(1)] == [0]


def test_interrupted_append_leaves_nothing_behind(tmp_path):
    """Ctrl-C in the middle of an append takes it back; the next one works."""

    class Interrupted(OsCalls):
        armed = False

        def sync_data(self, fd):
            if self.armed:
                self.armed = False
                raise KeyboardInterrupt
            super().sync_data(fd)

    calls = Interrupted()
    with JsonlStore(tmp_path, calls=calls).create("a") as log:
        calls.armed = True
        with pytest.raises(KeyboardInterrupt):
            log.append([message(0)])
        log.append([message(1)])
        assert [record.data["i"] for record in log.read(1)] == [1]


@pytest.mark.parametrize("kind", ["folder", "sqlite"])
def test_an_append_interrupted_after_it_was_written_is_there(tmp_path, monkeypatch, kind):
    """Ctrl-C while the acknowledged length is noted loses nothing, and the next append works."""

    def interrupted(*_):
        monkeypatch.undo()
        raise KeyboardInterrupt

    store = JsonlStore(tmp_path) if kind == "folder" else SqliteStore(tmp_path / "a.db")
    with closing(store), store.create("a") as log:
        monkeypatch.setattr(OsCalls, "write_at", interrupted)
        with pytest.raises(KeyboardInterrupt):
            log.append([message(0)])
        log.append([message(1)])
        assert log.length == 3
        assert [record.data["i"] for record in log.read(1)] == [0, 1]


def test_something_else_writing_the_log_is_noticed(tmp_path):
    """A log that another program appended to, or removed, under the writer is refused before anything is written."""
    store = JsonlStore(tmp_path)
    with store.create("a") as log:
        log.append([message(0)])
        path = tmp_path / "a" / "log.jsonl"
        with path.open("ab") as other:
            other.write(b"x")
        before = path.read_bytes()
        with pytest.raises(StoreUnusable):
            log.append([message(1)])
        assert path.read_bytes() == before
    with store.open("a") as log:
        path.unlink()
        with pytest.raises(StoreUnusable):
            log.append([message(2)])


def test_new_files_are_synced_with_their_folders(tmp_path):
    """Before create and put_blob return, the file, its folder and the folder it is named in have been synced."""

    class Watched(OsCalls):
        def __init__(self):
            self.synced = []

        def sync(self, fd):
            self.synced.append(str(Path(f"/proc/self/fd/{fd}").readlink()))
            super().sync(fd)

    if not Path("/proc/self/fd").exists():
        pytest.skip("no /proc to name descriptors by")
    calls = Watched()
    with JsonlStore(tmp_path, calls=calls).create("a") as log:
        making = next(path for path in calls.synced if path.endswith("log.jsonl"))
        assert {making, str(Path(making).parent), str(tmp_path)} <= set(calls.synced)
        digest = log.put_blob(b"content")
        assert any(path.startswith(f"{tmp_path}/a/tmp-") for path in calls.synced)
        assert {f"{tmp_path}/a/blobs/{digest[:2]}", f"{tmp_path}/a/blobs", f"{tmp_path}/a"} <= set(calls.synced)
