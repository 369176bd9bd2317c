"""Hostile names, links and modes: nothing outside the store is read, written or removed, and nobody else can look in."""

from __future__ import annotations

import os
import random
import stat
import threading
from pathlib import Path

import pytest

from plimsoll.errors import PlimsollError, SessionNotFound, SettingError, StoreError, StoreUnusable, UnsafeName
from plimsoll.protocols import RecordDraft
from plimsoll.store.jsonl import JsonlStore
from plimsoll.store.memory import InMemoryStore
from plimsoll.store.open import open_store
from plimsoll.store.paths import data_dir, folder_of, name_of, project_folder, safe_name
from plimsoll.store.sqlite import SqliteStore

SAFE = ["a", "A", "0", "-", "_", "a.b", "a-b_c.1", "x" * 64, "Case", "cAsE", "console", "nul_", "com", "a.con", "lpt10"]

UNSAFE = [
    *("", ".", "..", "...", ".a", "a.", "a..b", "../a", "a/b", "/a", "\\a", "a\\b", "..\\a", "C:", "C:\\a", "a:b"),
    *("a\n", "\na", "a\0", "\0", "a\0b", "a b", " a", "a ", "a\t", "a\r", "\ufeffa", "ä", "ａ", "a\u2028", "\ud800"),
    *("%2e%2e", "%2e%2e%2fa", "a%00", "..%2fa", "～", "~", "~root", "$HOME", "`id`", "$(id)", "a;b", "a|b", "a&b", "*"),
    *("．．／a", "‥", "a∕b", "a⁄b", "a／b", "＼", "\u202ea", "a\u0301", "\u0131", "\u212a"),
    *(
        "con",
        "CON",
        "Con.txt",
        "nul",
        "NUL.a.b",
        "aux",
        "prn",
        "com1",
        "COM9.x",
        "lpt0",
        "x" * 65,
        "x" * 300,
        "a" * 10**6,
    ),
    *(
        "' OR 1=1 --",
        '"; DROP TABLE session; --',
        "a'b",
        "a--b'",
        "<script>",
        "{}",
        "[]",
        "a,b",
        "a+b",
        "a=b",
        "@",
        "#a",
    ),
]


def hostile_names(count: int) -> list[str]:
    """Names made of pieces that have opened doors elsewhere, none of them allowed."""
    rng = random.Random(31)
    pieces = [
        "..",
        "/",
        "\\",
        "a",
        "etc",
        "passwd",
        "%2e",
        "\0",
        "\n",
        "~",
        " ",
        "C:",
        "log.jsonl",
        ".archive",
        "é",
        "\u2215",
    ]
    names: list[str] = []
    while len(names) < count:
        name = "".join(rng.choice(pieces) for _ in range(rng.randrange(1, 9)))
        if not all(char.isascii() and (char.isalnum() or char in "._-") for char in name) or ".." in name:
            names.append(name)
    return names


@pytest.mark.parametrize("name", SAFE)
def test_ordinary_names_are_taken_as_they_are(name):
    """An allowed name comes back unchanged and has a folder from which it can be read."""
    assert safe_name(name) == name
    assert name_of(folder_of(name)) == name
    assert folder_of(name) == folder_of(name).lower()


@pytest.mark.parametrize("name", [*UNSAFE, None, 5, b"a", ["a"], object()])
def test_other_names_are_refused(name):
    """Anything else raises UnsafeName, with a message that is short and plain text."""
    with pytest.raises(UnsafeName) as caught:
        safe_name(name)
    assert len(str(caught.value)) < 1_200
    assert str(caught.value).isprintable()


def test_folders_of_different_names_differ_on_any_file_system():
    """All case variants of a name get folders that differ even when case does not count; no folder is another's name."""
    variants = {"".join(rng) for rng in ((a, b, c) for a in "aA" for b in "bB" for c in "cC")}
    folders = {folder_of(name).lower() for name in variants}

    assert len(folders) == len(variants) == 8
    assert not any(safe_or_none(folder) for folder in folders if "~" in folder)


def safe_or_none(name: str) -> str | None:
    """The name if it is allowed."""
    try:
        return safe_name(name)
    except UnsafeName:
        return None


@pytest.mark.parametrize(
    "folder",
    ["", ".archive", ".work", "a~", "a~0", "a~00", "A", "a~2", "con~1", "a~1~1", "a+0", "~1", "é", "a~g", "a\n"],
)
def test_folders_of_no_session_have_no_name(folder):
    """A folder that no name leads to is nobody's."""
    assert name_of(folder) is None


@pytest.fixture(params=["jsonl", "sqlite", "memory"])
def store(request, tmp_path):
    """Each kind of store, in a folder with a neighbour that is not its own."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "log.jsonl").write_text("not yours")
    inside = tmp_path / "inside"
    made = {
        "jsonl": lambda: JsonlStore(inside),
        "sqlite": lambda: SqliteStore(inside / "f.db"),
        "memory": InMemoryStore,
    }
    store = made[request.param]()
    yield store
    store.close()


def everything(path) -> list[tuple[str, bytes]]:
    """All files below a folder, with their content."""
    return [(str(one), one.read_bytes()) for one in sorted(path.rglob("*")) if one.is_file()]


@pytest.mark.slow
@pytest.mark.spec("W1-22")
def test_hostile_names_reach_nothing(store, tmp_path):
    """2,000 hostile names through every door of a store: each is refused, and nothing on the disk changes."""
    store.create("here").close()
    store.close()
    before = everything(tmp_path)
    for name in [*UNSAFE, *hostile_names(2_000)]:
        for door in (store.create, store.open, store.delete, store.archive, store.restore):
            with pytest.raises(UnsafeName):
                door(name)
        with pytest.raises(UnsafeName):
            store.create_from(name, [])
        with pytest.raises(UnsafeName):
            store.open(name, writable=False)
    store.close()

    assert everything(tmp_path) == before
    assert [one.name for one in store.sessions()] == ["here"]


@pytest.mark.spec("W1-21")
def test_projects_never_share_a_folder():
    """Paths that other ways of escaping confuse get folders of their own, which are short, plain and readable."""
    paths = [
        "/a/b-c",
        "/a-b/c",
        "/a/b/c",
        "/a/b_c",
        "/",
        "/A/b/c",
        "/a/b/C",
        "/a/b/c ",
        "/é",
        "/e\u0301",
        "/x" * 1_000,
        "C:\\a",
    ]
    folders = [project_folder(path) for path in paths]

    assert len(set(map(str.lower, folders))) == len(paths)
    assert all(len(folder) <= 65 and folder.replace("-", "").isalnum() and folder.isascii() for folder in folders)
    assert project_folder("/home/me/My Project").startswith("my-project-")
    assert project_folder("/") == project_folder("//")
    with pytest.raises(SettingError):
        project_folder("a\0b")


def test_data_directory_comes_from_the_environment(monkeypatch, tmp_path):
    """PLIMSOLL_HOME comes first, then XDG_DATA_HOME, then the home directory; projects have places of their own."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("PLIMSOLL_HOME", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "relative/is/ignored")
    assert data_dir() == tmp_path / "home/.local/share/plimsoll"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert data_dir() == tmp_path / "xdg/plimsoll"
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path / "own"))
    assert open_store().where == str(tmp_path / "own/sessions")
    one, other = open_store(f"project:{tmp_path / 'p/q'}"), open_store(f"project:{tmp_path / 'p-q'}")
    one.create("a").close()

    assert other.sessions() == []
    assert Path(one.where).parent == tmp_path / "own/projects"
    monkeypatch.setenv("PLIMSOLL_HOME", "not/absolute")
    with pytest.raises(SettingError):
        open_store()


def planted(tmp_path):
    """A store with a session in it, and beside it a folder that looks like a session and belongs to somebody else."""
    victim = tmp_path / "victim"
    (victim / "blobs").mkdir(parents=True)
    store = JsonlStore(tmp_path / "store")
    with store.create("a") as log:
        log.append([RecordDraft(kind="message", data={"content": "mine"})])
        log.put_blob(b"mine")
    (victim / "log.jsonl").write_bytes((tmp_path / "store/a/log.jsonl").read_bytes())
    (victim / "lock").write_bytes(b"")
    return store, victim


LINKED = ["store/a", "store/a/log.jsonl", "store/a/lock", "store/.work", "store/.archive", "store"]


@pytest.mark.parametrize("place", LINKED)
def test_links_are_not_followed(tmp_path, place):
    """A link in the place of the store, a session's folder or a file of it is refused, and what it points to stays."""
    store, victim = planted(tmp_path)
    path = tmp_path / place
    target = {"log.jsonl": victim / "log.jsonl", "lock": victim / "lock"}.get(path.name, victim)
    if path.exists():
        path.rename(tmp_path / "aside")
    path.symlink_to(target)
    before = everything(victim)
    refused = 0
    for use in (
        lambda: store.open("a").append([RecordDraft(kind="note", data={})]),
        lambda: store.open("a", writable=False),
        lambda: store.create("b"),
        lambda: store.archive("a"),
        lambda: store.restore("a"),
        lambda: store.delete("a"),
    ):
        try:
            use()
        except StoreError:
            refused += 1

    assert refused > 0
    assert everything(victim) == before
    assert path.is_symlink() or not path.exists()


def test_linked_blobs_are_not_read(tmp_path):
    """A link among the blobs is refused, even to the right content, and is not written through."""
    store, victim = planted(tmp_path)
    with store.open("a") as log:
        digest = log.put_blob(b"content")
        path = tmp_path / "store/a/blobs" / digest[:2] / digest
        (victim / "target").write_bytes(b"content")
        path.unlink()
        path.symlink_to(victim / "target")
        with pytest.raises(StoreUnusable):
            log.get_blob(digest)
        fan = path.parent
        path.unlink()
        fan.rmdir()
        fan.symlink_to(victim)
        with pytest.raises(StoreUnusable):
            log.put_blob(b"content")
    assert sorted(one.name for one in victim.iterdir()) == ["blobs", "lock", "log.jsonl", "target"]


def test_a_link_swapped_in_while_working_leads_nowhere(tmp_path):
    """While something swaps a session's folder for a link, hundreds of uses change nothing outside the store."""
    store, victim = planted(tmp_path)
    before = everything(victim)
    place, aside = tmp_path / "store/a", tmp_path / "aside"
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            place.rename(aside)
            place.symlink_to(victim)
            place.unlink()
            aside.rename(place)

    swapper = threading.Thread(target=swap)
    swapper.start()
    done = 0
    try:
        for _ in range(500):
            try:
                with store.open("a") as log:
                    log.append([RecordDraft(kind="message", data={"content": "mine"})])
                    log.put_blob(b"%d" % done)
                    done += 1
            except (StoreError, SessionNotFound):
                pass
    finally:
        stop.set()
        swapper.join()

    assert everything(victim) == before
    with store.open("a") as log:
        assert log.messages == done + 1
        assert log.damage == ()


def test_things_that_are_no_files_are_refused(tmp_path):
    """A folder or a FIFO in the place of a log or lock is refused at once."""
    for name in ("log.jsonl", "lock"):
        store, _ = planted(tmp_path / name)
        path = tmp_path / name / "store/a" / name
        path.unlink()
        os.mkfifo(path)
        with pytest.raises(StoreUnusable):
            store.open("a")
        path.unlink()
        path.mkdir()
        with pytest.raises(StoreUnusable):
            store.open("a")


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o027, 0o077])
def test_everything_is_the_owners_alone(tmp_path, umask):
    """Under any umask no file or folder that a store makes can be seen by anyone else, and all can be used by the owner."""
    before = os.umask(umask)
    try:
        for store in (JsonlStore(tmp_path / "deep/er/store"), SqliteStore(tmp_path / "data/base/file.db")):
            with store.create("a") as log:
                log.append([RecordDraft(kind="message", data={"content": "x"})])
                log.put_blob(b"content")
                modes = {path: stat.S_IMODE(path.lstat().st_mode) for path in tmp_path.rglob("*")}
            store.archive("a")
            store.create("b").close()
            path = tmp_path / "deep/er/store/b/log.jsonl"
            if path.exists():
                path.write_bytes(path.read_bytes() + b"torn")
                path.chmod(0o600)
                store.open("b").close()
            modes |= {path: stat.S_IMODE(path.lstat().st_mode) for path in tmp_path.rglob("*")}
            store.close()
    finally:
        os.umask(before)

    names = {path.name.split("-")[0] for path in modes}
    assert {"log.jsonl", "lock", "blobs", "torn", "file.db", ".archive", ".work"} <= names
    assert {path.name for path in modes if path.name.startswith("file.db")} >= {
        "file.db-wal",
        "file.db-shm",
        "file.db-locks",
    }
    for path, mode in modes.items():
        assert mode == (0o700 if path.is_dir() else 0o600), path


@pytest.mark.parametrize(
    ("mode", "above", "fine"),
    [
        (0o700, 0o755, True),
        (0o755, 0o755, True),
        (0o775, 0o755, False),
        (0o757, 0o755, False),
        (0o777, 0o755, False),
        (0o1777, 0o755, True),
        (0o700, 0o777, False),
        (0o700, 0o1777, True),
        (0o700, 0o775, True),
    ],
)
def test_places_that_others_can_write_to_are_refused(tmp_path, mode, above, fine):
    """A store's folder that others can write to, or one that anybody can replace, is refused with the way to mend it."""
    place = tmp_path / "above" / "store"
    place.mkdir(parents=True)
    place.chmod(mode)
    place.parent.chmod(above)
    store = JsonlStore(place)
    if fine:
        store.create("a").close()
        assert len(store.sessions()) == 1
    else:
        for use in (lambda: store.create("a"), store.sessions):
            with pytest.raises(StoreUnusable, match="chmod"):
                use()
        assert list(place.iterdir()) == []


def test_values_never_become_statements(tmp_path):
    """Text that would be SQL, in payloads, kinds and references, is stored as text; every statement keeps its shape."""
    store = SqliteStore(tmp_path / "f.db")
    attack = "x'); DROP TABLE record; --"
    with store.create("a") as log:
        statements: list[str] = []
        store._database._connected().set_trace_callback(statements.append)
        log.append([RecordDraft(kind="message", data={attack: attack})])
        for reference in (attack, "a" * 12 + "%", "' OR '1'='1"):
            with pytest.raises(PlimsollError):
                log.get_blob(reference)
        assert log.get_blob(log.put_blob(attack.encode())) == attack.encode()
        store._database._connected().set_trace_callback(None)
        assert dict(next(log.read(1)).data) == {attack: attack}
    store.close()
    assert not any("DROP" in statement.upper().replace(attack.upper(), "") for statement in statements)
