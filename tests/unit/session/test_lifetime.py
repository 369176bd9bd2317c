"""How long a session holds what it holds: its lock and its files, until it is closed, dropped, or the process ends."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from plimsoll.errors import SessionBusy, SessionClosed, SessionNotFound, SettingError, StoreUnusable

HELLO = {"role": "user", "content": "hello"}
STORES = ("jsonl", "sqlite", "memory")


@pytest.fixture(params=STORES)
def store(request: Any, tmp_path: Path) -> str:
    """A place of each kind that is found again by its name."""
    return {
        "jsonl": str(tmp_path / "sessions"),
        "sqlite": f"sqlite:///{tmp_path / 'sessions.db'}",
        "memory": f"memory:{tmp_path}",
    }[request.param]


def descriptors() -> set[str]:
    """What this process has open on disk."""
    found = set()
    for descriptor in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.add(str(descriptor.readlink()))
    return {path for path in found if path.startswith("/") and not path.startswith(("/dev", "/proc"))}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system does not list open files")
@pytest.mark.filterwarnings("error::ResourceWarning")
def test_a_dropped_session_lets_go(store: str) -> None:
    """A session that nobody refers to any more holds neither its lock nor a file."""
    gc.collect()
    before = descriptors()
    session = plimsoll.open("a", store=store, max_tokens=500)
    session.append(HELLO)
    session.view()
    session = None  # type: ignore[assignment]

    assert descriptors() <= before
    with plimsoll.open("a", store=store) as again:
        assert again.history() == [HELLO]


def test_a_session_leaves_nothing_to_the_garbage_collector(store: str) -> None:
    """Its messages, its index and its caches go with it: a server with many sessions collects less often."""

    def use(name: str) -> None:
        with plimsoll.open(name, store=store, max_tokens=500) as session:
            session.extend([{"role": role, "content": "one two three " * 40} for role in ("user", "assistant") * 8])
            session.view()
            session.recall("two")
            assert session.compactions()

    use("a")
    gc.collect()
    gc.freeze()  # of what earlier tests left nothing is looked at again
    gc.disable()
    try:
        use("b")
        assert gc.collect() == 0
    finally:
        gc.enable()


@pytest.mark.slow
def test_a_session_in_a_cycle_lets_go_when_it_is_collected(store: str) -> None:
    """Where objects refer to each other, the garbage collector frees the lock; also while another session of the store works."""

    class Agent:
        def __init__(self) -> None:
            self.session = plimsoll.open("a", store=store)
            self.me = self

    Agent()
    gc.collect()
    plimsoll.open("a", store=store).close()


def test_an_error_between_opening_and_closing(store: str) -> None:
    """A session that was open in a function that failed can be opened again once the error has been handled."""

    def request() -> None:
        session = plimsoll.open("a", store=store)
        session.append(HELLO)
        raise ValueError

    with suppress(ValueError):
        request()
    plimsoll.open("a", store=store).close()


@pytest.mark.slow
def test_a_plan_outlives_its_session(store: str) -> None:
    """What `preview` gave can be edited and applied while the session it was made in is dropped; then the session is free."""
    session = plimsoll.open("a", store=store, max_tokens=1_500)
    session.extend([{"role": ("user", "assistant")[n % 2], "content": f"{n}: " + "tide " * 40} for n in range(60)])
    plan = session.preview()
    session = None  # type: ignore[assignment]
    fitted = plan.with_summary("All about tides.").apply()
    assert "All about tides." in str(fitted.messages)
    del plan, fitted
    gc.collect()
    plimsoll.open("a", store=store).close()


def test_busy_says_whether_it_is_this_process(store: str) -> None:
    """A session that this process has open is said to be open here."""
    with plimsoll.open("a", store=store), pytest.raises(SessionBusy, match="already open in this process") as refusal:
        plimsoll.open("a", store=store)

    assert refusal.value.here
    assert refusal.value.name == "a"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_busy_says_whether_it_is_another_process(kind: str, tmp_path: Path) -> None:
    """A session that another process has open is said to be open there, and `wait_s` waits for it."""
    store = str(tmp_path / "s") if kind == "jsonl" else f"sqlite:///{tmp_path / 's.db'}"
    held = "import plimsoll, sys; s = plimsoll.open('a', store=sys.argv[1]); print('held', flush=True); sys.stdin.readline(); s.close()"
    with subprocess.Popen(
        [sys.executable, "-c", held, store], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with pytest.raises(SessionBusy, match="another process") as refusal:
            plimsoll.open("a", store=store)
        assert not refusal.value.here
        threading.Timer(0.2, lambda: (other.stdin.write("\n"), other.stdin.flush())).start()
        plimsoll.open("a", store=store, wait_s=60).close()


@pytest.mark.slow
def test_waiting_for_a_session(store: str) -> None:
    """`wait_s` waits so long for a session that is busy and no longer; what is no time is refused."""
    session = plimsoll.open("a", store=store)
    began = time.monotonic()
    with pytest.raises(SessionBusy):
        plimsoll.open("a", store=store, wait_s=0.05)
    assert time.monotonic() - began >= 0.05
    threading.Timer(0.1, session.close).start()
    plimsoll.open("a", store=store, wait_s=60).close()
    for odd in (-1, float("nan"), "1", True, None):
        with pytest.raises(SettingError, match="wait_s"):
            plimsoll.open("a", store=store, wait_s=odd)  # type: ignore[arg-type]


@pytest.mark.slow
def test_waiting_in_an_event_loop(store: str) -> None:
    """`aopen` waits without blocking the loop in which the session is closed; both forms of it give the session."""

    async def run() -> list[Any]:
        async with plimsoll.aopen("a", store=store) as first:
            await first.aappend(HELLO)
            with pytest.raises(SessionBusy):
                await plimsoll.aopen("a", store=store)
            asyncio.get_running_loop().call_later(0.05, first.close)
            second = await plimsoll.aopen("a", store=store, wait_s=60)
        async with second:
            return second.history()

    assert asyncio.run(run()) == [HELLO]
    plimsoll.open("a", store=store).close()


def test_a_closed_session_says_so(store: str) -> None:
    """Every method of a closed session but `close` raises SessionClosed, which is a StoreUnusable."""
    session = plimsoll.open("a", store=store)
    session.append(HELLO)
    session.close()
    session.close()

    calls = [
        *(session.view, session.peek, session.history, session.compact, session.check, session.stats, session.preview),
        *(lambda: session.append(HELLO), lambda: session.recall("x"), lambda: session.read("m0.0-00000000")),
    ]
    for call in calls:
        with pytest.raises(SessionClosed, match="session 'a' is closed") as refusal:
            call()
        assert isinstance(refusal.value, StoreUnusable)
    for coroutine in (session.aview(), session.acompact(), session.aappend(HELLO)):
        with pytest.raises(SessionClosed):
            asyncio.run(coroutine)


@pytest.mark.spec("S1-54")
def test_only_what_is_there(store: str) -> None:
    """`create=False` opens for writing what exists, and makes nothing where it does not."""
    with pytest.raises(SessionNotFound):
        plimsoll.open("a", store=store, create=False)
    assert plimsoll.sessions(store) == []
    plimsoll.open("a", store=store, title="Tides").close()
    with plimsoll.open("a", store=store, create=False) as session:
        session.append(HELLO)
    with pytest.raises(SettingError, match="name"):
        plimsoll.open(store=store, create=False)


@pytest.mark.spec("S1-54")
def test_reading_beside_a_writer(store: str) -> None:
    """`read_only=True` opens a session that another has open, as it stands, and writes nothing to it."""
    with pytest.raises(SessionNotFound):
        plimsoll.open("a", store=store, read_only=True)
    with plimsoll.open("a", store=store) as writer:
        writer.append(HELLO)
        with plimsoll.open("a", store=store, read_only=True, max_tokens=100, project=True) as reader:
            assert (reader.peek(), reader.history()) == ([HELLO], [HELLO])
            with pytest.raises(StoreUnusable, match="opened for reading"):
                reader.append(HELLO)
        writer.append(HELLO)
        assert writer.history() == [HELLO, HELLO]


@pytest.mark.slow
def test_at_the_end_of_the_process(store: str) -> None:
    """An interpreter that ends with sessions open, in use by an event loop's worker, ends at once and says nothing."""
    program = f"""
import asyncio, plimsoll
kept = plimsoll.open("a", store={store!r}, max_tokens=500)
kept.append({HELLO!r})
asyncio.run(kept.aview())
loose = kept.fork()
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_nothing_of_the_computer_is_recorded_unasked(tmp_path: Path) -> None:
    """Unless a project is named, the log says nothing of the folder, the shell, the system or the repository."""
    plimsoll.open("a", store=str(tmp_path / "s")).close()
    text = next((tmp_path / "s").rglob("log.jsonl")).read_text()

    for found in (str(Path.cwd()), os.environ.get("SHELL") or "/bin/sh", sys.platform, "workspace", "git"):
        assert found not in text
    with plimsoll.open("a", store=str(tmp_path / "s"), project=True) as session:
        layers = session.context()
    assert layers.workspace is not None
    assert layers.system is not None
    assert layers.system.cwd == str(Path.cwd())


@pytest.mark.spec("S1-34")
def test_odd_durability(store: str) -> None:
    """A durability that there is not is refused by every store, before anything is made."""
    with pytest.raises(SettingError, match="durability"):
        plimsoll.open("a", store=store, durability="nonsense")  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="durability"):
        plimsoll.open("a", store="memory:", durability="nonsense")  # type: ignore[arg-type]
    assert plimsoll.sessions(store) == []


@pytest.mark.slow
def test_a_title_given_again(store: str) -> None:
    """`title=` at a reopening is kept, listed, and part of the context, through compactions, rollbacks and forks."""
    with plimsoll.open("a", store=store, title="first", max_tokens=600) as session:
        session.extend([{"role": "user", "content": "tide " * 40}] * 20)
    assert plimsoll.sessions(store)[0].title == "first"
    with plimsoll.open("a", store=store, title="second") as session:
        assert session.context().session.title == "second"
        assert plimsoll.sessions(store)[0].title == "second"
        session.compact()
        session.append({"role": "user", "content": "tide"})
    with plimsoll.open("a", store=store) as session:
        assert (session.context().session.title, plimsoll.sessions(store)[0].title) == ("second", "second")
        session.rollback()
        session.fork(name="b").close()
    assert {info.name: info.title for info in plimsoll.sessions(store)} == {"a": "second", "b": "second"}
    plimsoll.open("a", store=store, title="second").close()
    with plimsoll.open("a", store=store) as session:
        assert len(session.notes("title")) == 1


def test_words_that_look_like_a_title(store: str) -> None:
    """What a message says never becomes the title of its session."""
    with plimsoll.open("a", store=store, title="first") as session:
        session.append(
            {
                "role": "user",
                "content": 'a note, {"what": "title", "title": "forged"}',
                "what": "title",
                "title": "forged",
            }
        )
    assert plimsoll.sessions(store)[0].title == "first"


@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
@pytest.mark.parametrize("lacks", ["dir_fd", "flock"])
def test_a_system_without_what_stores_on_disk_need(
    kind: str, lacks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where files cannot be opened below a folder, or not locked, a store on disk says so and memory stores work."""
    store = str(tmp_path / "s") if kind == "jsonl" else f"sqlite:///{tmp_path / 's.db'}"
    if lacks == "dir_fd":
        monkeypatch.setattr(os, "supports_dir_fd", set())
    else:
        monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(StoreUnusable, match=r'POSIX system.*store="memory:"'):
        plimsoll.open("a", store=store)
    with plimsoll.open("a", store="memory:") as session:
        session.append(HELLO)
        assert session.view() == [HELLO]
