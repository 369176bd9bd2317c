"""One suite over every store: what a session's log promises, wherever it is kept."""

from __future__ import annotations

import json
import multiprocessing
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amounts import examples
from plimsoll.errors import (
    FormatError,
    LimitExceeded,
    NewerFormat,
    PlimsollError,
    ReferenceNotFound,
    SessionBusy,
    SessionExists,
    SessionNotFound,
    StoreUnusable,
    UnsafeName,
)
from plimsoll.protocols import Record, RecordDraft, Store
from plimsoll.store.memory import InMemoryStore
from plimsoll.store.open import archive_oldest, open_or_create, open_store

Again = Callable[[], Store]


@pytest.fixture(params=["jsonl", "sqlite", "memory"])
def again(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Again]:
    """A function that opens the same store anew each time."""
    memory = InMemoryStore()
    opened: list[Store] = []
    spec = {"jsonl": str(tmp_path / "store"), "sqlite": f"sqlite:///{tmp_path / 'db' / 'file.db'}", "memory": memory}

    def reopen() -> Store:
        opened.append(open_store(spec[request.param], durability="os"))
        return opened[-1]

    yield reopen
    for one in opened:
        one.close()


@pytest.fixture
def store(again: Again) -> Store:
    """A store with nothing in it."""
    return again()


def message(text: str, **more: object) -> RecordDraft:
    """A message as the session layer might store it."""
    return RecordDraft(kind="message", data={"role": "user", "content": text, **more}, at_ms=1_763_000_000_000)


def payloads(records: Iterator[Record]) -> list[object]:
    """What the messages among the records say."""
    return [record.data.get("content") for record in records if record.kind == "message"]


def test_new_session_begins_with_its_session_record(store: Store) -> None:
    """A new session holds one record, which says its format, its name and what it was given."""
    with store.create("a", {"title": "Ünïcode", "name": "liar"}) as log:
        (first,) = log.read()

    assert (first.seq, first.kind, log.name) == (0, "session", "a")
    assert dict(first.data) == {"format": 1, "name": "a", "title": "Ünïcode"}


def test_a_payload_that_comes_with_its_json_is_stored_as_that(store: Store) -> None:
    """A caller that has encoded a payload saves the store that work; what is read is the same."""
    data = {"m": {"role": "user", "content": "größer \U0001f600"}}
    plain = RecordDraft(kind="message", data=data, at_ms=1)
    with store.create("a") as log:
        added = log.append([plain, replace(plain, text=json.dumps(data, separators=(",", ":")))])
        one, other = list(log.read(from_seq=1))

    assert added == [one, other]
    assert one.data == other.data == data


@pytest.mark.spec("S1-26", "S1-51")
def test_acknowledged_records_are_there_after_reopening(again: Again) -> None:
    """What append took is what reading gives after the store is opened again, in order, with numbers and positions."""
    with again().create("a") as log:
        added = log.append([message("0"), RecordDraft(kind="usage", data={"tokens": 3}), message("1")])
        added += log.append([message("2")])
        before = list(log.read())
        assert added == before[1:]
    with again().open("a") as log:
        after = list(log.read())

        assert after == before
        assert [record.seq for record in after] == [0, 1, 2, 3, 4]
        assert [record.position for record in after if record.kind == "message"] == [0, 1, 2]
        assert [record.batch_left for record in after] == [0, 2, 1, 0, 0]
        assert (log.length, log.messages, log.damage) == (5, 3, ())
        assert list(log.read_back()) == after[::-1]


def test_appending_nothing_changes_nothing(store: Store) -> None:
    """An empty append adds no record."""
    with store.create("a") as log:
        assert log.append([]) == []
        assert log.length == 1


def test_any_record_and_any_message_is_found_by_number(store: Store) -> None:
    """Reading from a number and from a message position begins exactly there, whatever the sizes of the records."""
    with store.create("a") as log:
        for index in range(300):
            log.append(
                [RecordDraft(kind="note", data={"i": index}), message(str(index), pad="x" * (index * 37 % 4000))]
            )
        for index in (0, 1, 2, 150, 299):
            assert next(log.read_messages(index)).data["content"] == str(index)
            assert next(log.read(2 + 2 * index)).seq == 2 + 2 * index
        assert payloads(log.read_messages(100, 103)) == ["100", "101", "102"]
        assert list(log.read_messages(300)) == list(log.read(601)) == []
        assert payloads(log.read_messages(-5, 1)) == ["0"]


def test_one_writer_and_any_number_of_readers(again: Again) -> None:
    """A second writer is refused until the first closes; readers come in any time and see what has been added since."""
    first = again().create("a")
    reader = again().open("a", writable=False)
    with pytest.raises(SessionBusy):
        again().open("a")
    first.append([message("0")])

    assert (reader.length, payloads(reader.read())) == (2, ["0"])
    with pytest.raises(StoreUnusable):
        reader.append([message("no")])
    with pytest.raises(StoreUnusable):
        reader.put_blob(b"no")
    first.close()
    first.close()
    with again().open("a") as second:
        second.append([message("1")])
    assert payloads(reader.read()) == ["0", "1"]
    reader.close()


def test_closed_log_refuses(store: Store) -> None:
    """After close every use raises StoreUnusable, also of a reading that had begun."""
    log = store.create("a")
    log.append([message("0"), message("1")])
    begun = log.read()
    next(begun)
    log.close()
    for use in (lambda: log.length, lambda: log.append([message("x")]), lambda: list(log.read()), lambda: list(begun)):
        with pytest.raises(StoreUnusable):
            use()


@pytest.mark.spec("S1-03")
def test_creating_and_opening_by_name(again: Again) -> None:
    """A taken name is refused, an absent one not found, and open_or_create does whichever is needed."""
    store = again()
    with pytest.raises(SessionNotFound):
        store.open("a")
    store.create("a").close()
    with pytest.raises(SessionExists):
        store.create("a")
    with pytest.raises(UnsafeName):
        store.create("../a")
    with open_or_create(store, "a") as old, open_or_create(store, "b") as new:
        assert (old.length, new.length) == (1, 1)
    with pytest.raises(SessionNotFound):
        store.delete("c")


@pytest.mark.spec("W1-31")
def test_sessions_are_listed_with_what_they_hold(store: Store) -> None:
    """The list gives each session once, the last changed first, with times, counts, size and title."""
    assert store.sessions() == []
    for index, name in enumerate(("old", "New", "new")):
        with store.create(name, {"title": f"T{index}"}) as log:
            log.append([RecordDraft(kind="message", data={"i": 1}, at_ms=4_000_000_000_000 + index)])
    found = store.sessions()

    assert [(one.name, one.title, one.records, one.messages) for one in found] == [
        ("new", "T2", 2, 1),
        ("New", "T1", 2, 1),
        ("old", "T0", 2, 1),
    ]
    assert all(one.size_bytes > 150 and not one.archived for one in found)


def test_names_that_differ_by_case_are_different_sessions(again: Again) -> None:
    """Case twins never share content."""
    for name in ("a", "A"):
        with again().create(name) as log:
            log.append([message(name)])
    for name in ("a", "A"):
        with again().open(name) as log:
            assert payloads(log.read()) == [name]


def test_deleting_removes_only_that_session(again: Again) -> None:
    """A deleted session is gone with its blobs, its name is free, and its neighbour is as it was; a busy one stays."""
    store = again()
    for name in ("a", "b"):
        with store.create(name) as log:
            log.append([message(name)])
            digest = log.put_blob(b"content")
    with store.open("a"), pytest.raises(SessionBusy):
        store.delete("a")
    store.delete("a")

    assert [one.name for one in again().sessions()] == ["b"]
    with again().create("a") as log:
        assert payloads(log.read()) == []
        with pytest.raises(ReferenceNotFound):
            log.get_blob(digest)
    with again().open("b") as log:
        assert (payloads(log.read()), log.get_blob(digest)) == (["b"], b"content")


def test_archiving_moves_and_restoring_brings_back(again: Again) -> None:
    """An archived session leaves the list whole; the newest of that name comes back unless its name is taken."""
    store = again()
    for text in ("first", "second"):
        with store.create("a") as log:
            log.append([message(text)])
        store.archive("a")

    assert store.sessions() == []
    assert [(one.name, one.archived, one.records) for one in again().sessions(archived=True)] == [("a", True, 2)] * 2
    store.restore("a")
    with pytest.raises(SessionExists):
        store.restore("a")
    with store.open("a") as log:
        assert payloads(log.read()) == ["second"]
        with pytest.raises(SessionBusy):
            store.archive("a")
    store.delete("a")
    store.restore("a")
    with store.open("a") as log:
        assert payloads(log.read()) == ["first"]
    with pytest.raises(SessionNotFound):
        store.restore("b")


def test_sessions_beyond_the_maximum_are_archived(store: Store) -> None:
    """The oldest sessions beyond the maximum are archived, except one that is being written; none is lost."""
    for index in range(5):
        with store.create(f"s{index}") as log:
            log.append([RecordDraft(kind="note", data={}, at_ms=4_000_000_000_000 + index)])
    with store.open("s0"):
        assert sorted(archive_oldest(store, sessions_max=2)) == ["s1", "s2"]

    assert sorted(one.name for one in store.sessions()) == ["s0", "s3", "s4"]
    assert sorted(one.name for one in store.sessions(archived=True)) == ["s1", "s2"]


def test_blobs_are_content_addressed(again: Again) -> None:
    """The same bytes are one blob, found by their whole digest or a beginning of twelve digits; a stranger is not found."""
    contents = [b"", b"a", b"\0" * 100_000, bytes(range(256)) * 20]
    with again().create("a") as log:
        digests = [log.put_blob(one) for one in contents]
        assert digests == [log.put_blob(one) for one in contents]
    with again().open("a", writable=False) as log:
        assert [log.get_blob(one) for one in digests] == contents
        assert [log.get_blob(one[:12]) for one in digests] == contents
        assert list(log.blobs()) == sorted(digests)
        for reference in ("0" * 64, digests[0][:11], "../../etc/passwd", "", digests[0].upper(), digests[0] + "\n"):
            with pytest.raises(ReferenceNotFound):
                log.get_blob(reference)


def test_copies_are_byte_for_byte(store: Store) -> None:
    """A session made from another's lines reads the same, unknown optional records and all, and goes on by itself."""
    with store.create("a") as log:
        log.append([message("0"), RecordDraft(kind="x-new.kind", data={"deep": [1, {"a": None}]}), message("1")])
        lines = list(log.lines())
        store.create_from("b", lines)
        store.create_from("c", lines[:3])
    with store.open("b") as copy:
        assert list(copy.lines()) == lines
        copy.append([message("2")])
        assert payloads(copy.read()) == ["0", "1", "2"]
    with store.open("c") as part:
        assert (payloads(part.read()), part.length, part.damage) == (["0"], 3, ())
    for wrong in ([], lines[1:], [*lines, lines[-1]], [lines[0], b"{}"], [lines[0].replace(b"a", b"b")]):
        with pytest.raises(FormatError):
            store.create_from("d", wrong)
    with pytest.raises(SessionNotFound):
        store.open("d")


def test_unknown_optional_records_are_kept_and_required_ones_refused(store: Store) -> None:
    """A kind of a newer version is passed on byte for byte, or refused with NewerFormat where it must be understood."""
    with store.create("a") as log:
        log.append([RecordDraft(kind="telepathy", data={"x": 1}), message("after")])
        unknown = next(log.read(1))
        assert unknown.raw == next(log.lines(1))
        assert next(log.read(2)).raw is None
        log.append([RecordDraft(kind="telepathy", data={"x": 2}, required=True)])
    with store.open("a") as log:
        for reading in (log.read, log.read_back):
            with pytest.raises(NewerFormat):
                list(reading())
        assert len(list(log.lines())) == 4


def test_newer_session_is_not_opened(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session record with a higher format number refuses reading, writing and copying, and stays as it is."""
    with monkeypatch.context() as newer:
        for module in ("header", "record", "log"):
            newer.setattr(f"plimsoll.store.{module}.FORMAT", 2)
        with store.create("a") as log:
            line = next(log.lines())
    with pytest.raises(NewerFormat):
        store.create_from("b", [line])
    for writable in (True, False):
        with pytest.raises(NewerFormat):
            store.open("a", writable=writable)
    assert store.sessions()[0].records == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "data", "error"),
    [
        ("message", {"x": float("nan")}, FormatError),
        ("message", {"x": float("-inf")}, FormatError),
        ("message", {"x": 10**5000}, FormatError),
        ("message", {"x": {1, 2}}, FormatError),
        ("message", {"x": b"bytes"}, FormatError),
        ("message", {1: "x"}, FormatError),
        ("message", {"x": {None: 1}}, FormatError),
        ("message", [("x", 1)], FormatError),
        ("Message", {}, FormatError),
        ("message\n", {}, FormatError),
        ("m" * 33, {}, FormatError),
        ('a", "d": {}', {}, FormatError),
        (None, {}, FormatError),
    ],
)
def test_what_json_cannot_give_back_is_refused(store: Store, kind: str, data: dict[str, object], error: type) -> None:
    """A payload or kind that would not read back the same is refused, the whole append with it, and the next one works."""
    with store.create("a") as log:
        with pytest.raises(error):
            log.append([message("fine"), RecordDraft(kind=kind, data=data)])
        assert log.append([message("next")])[0].seq == 1


@pytest.mark.slow
def test_nesting_is_limited_and_never_recursed_into(store: Store) -> None:
    """A payload at the limit of nesting is stored; a deeper, an endless and an exponential one are refused at once."""
    deep: list[object] = []
    for _ in range(94):
        deep = [deep]
    endless: list[object] = []
    endless.append(endless)
    shared: list[object] = ["x"] * 8
    for _ in range(12):
        shared = [shared] * 8
    bottomless: list[object] = []
    for _ in range(100_000):
        bottomless = [bottomless]
    with store.create("a") as log:
        log.append([RecordDraft(kind="note", data={"x": deep})])
        assert next(log.read(1)).data["x"] == deep
        for hostile in ([deep], endless, shared, bottomless):
            with pytest.raises(LimitExceeded):
                log.append([RecordDraft(kind="note", data={"x": hostile})])
    while bottomless:  # taken apart by hand: freeing it would recurse in some Pythons
        bottomless = bottomless.pop()  # type: ignore[assignment]


CHARACTERS = st.characters() | st.sampled_from('\0\r\n\x1e\x85\u2028\u2029\ufeff\ud800\udfff"\\{}')
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(CHARACTERS),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(CHARACTERS), inner, max_size=4),
    max_leaves=12,
)


def joined(value: object) -> object:
    """The value with surrogates that stand next to each other joined, as JSON text joins them."""
    return json.loads(json.dumps(value))


@pytest.mark.slow
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(batch=st.lists(st.dictionaries(st.text(CHARACTERS), JSON_VALUES, max_size=4), min_size=1, max_size=4))
def test_every_text_reads_back_the_same(again: Again, batch: list[dict[str, object]]) -> None:
    """NUL, CR, U+2028, byte order marks, lone surrogates, quotes and our own marks come back as they went in."""
    store = again()
    with open_or_create(store, "a") as log:
        added = log.append([RecordDraft(kind="message", data=data) for data in batch])
    with store.open("a", writable=False) as log:
        assert [record.data for record in log.read(added[0].seq)] == [joined(data) for data in batch]
        assert added == list(log.read(added[0].seq))
        assert log.damage == ()
    store.close()


def test_text_that_looks_like_records_stays_text(store: Store) -> None:
    """A message that quotes lines of this very log adds nothing to it, even when the log has to be searched for records."""
    with store.create("a") as log:
        log.append([message("secret")])
        quoted = next(log.lines(1)).decode()
        log.append([message(f"\n{quoted}\n{quoted}"), RecordDraft(kind="note", data=json.loads(quoted))])
        assert payloads(log.read()) == ["secret", f"\n{quoted}\n{quoted}"]
        assert log.length == 4


def test_threads_share_a_log(store: Store) -> None:
    """Appends from many threads are one after the other: none lost, none with another's number."""
    with store.create("a") as log:
        workers = [
            threading.Thread(target=lambda i=i: [log.append([message(f"{i}.{j}")]) for j in range(25)])
            for i in range(4)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        found = payloads(log.read())

        assert sorted(found) == sorted(f"{i}.{j}" for i in range(4) for j in range(25))
        assert [record.seq for record in log.read()] == list(range(101))


def test_order_is_by_position_not_by_the_clock(store: Store) -> None:
    """Times that jump back, stand still or are negative change nothing in the order of records."""
    stamps = [5, 5, -3, 10**15, 0]
    with store.create("a") as log:
        log.append([RecordDraft(kind="message", data={"content": i}, at_ms=at) for i, at in enumerate(stamps)])
        assert payloads(log.read()) == [0, 1, 2, 3, 4]
        assert [record.at_ms for record in log.read(1)] == stamps


@pytest.mark.parametrize(
    "spec", ["", "a\0b", "postgresql://x", "sqlite://", "sqlite:///", "sqlite:///:memory:", 5, b"x", "\ud800"]
)
def test_store_names_that_mean_nothing_are_refused(spec: object) -> None:
    """Anything that is no path, URL or store raises SettingError and nothing else."""
    with pytest.raises(PlimsollError, match="store"):
        open_store(spec)  # type: ignore[arg-type]


def append_many(open_again: Again, worker: int, times: int) -> None:
    """What each process of the next test does: open, append, close, and try again while another has the session."""
    store = open_again()
    done = 0
    while done < times:
        try:
            log = store.open("a")
        except SessionBusy:
            continue
        with log:
            for _ in range(10):
                log.append([message(f"{worker}.{done}"), RecordDraft(kind="usage", data={"w": worker})])
                done += 1


@pytest.mark.slow
def test_processes_take_turns(again: Again, request: pytest.FixtureRequest) -> None:
    """Eight processes with 200 appends each are refused or served in turn: none lost, none mixed."""
    if "memory" in request.node.name:
        pytest.skip("memory is not shared between processes")
    again().create("a").close()
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=append_many, args=(again, index, 200)) for index in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    with again().open("a") as log:
        found = [str(one).split(".") for one in payloads(log.read())]

        assert log.damage == ()
        assert log.length == 1 + 2 * 8 * 200
        for index in range(8):
            assert [int(done) for worker, done in found if int(worker) == index] == list(range(200))
        assert all(
            record.data["w"] == int(found[record.position - 1][0]) for record in log.read() if record.kind == "usage"
        )


@pytest.mark.parametrize(
    ("spec", "hint"),
    [
        (":memory:", 'write "memory:"'),
        ("memory", 'write "memory:"'),
        ("sqlite:///:memory:", 'write "memory:"'),
        ("sessions.db", "write sqlite:/// before it"),
        ("sqlite:sessions.db", "sqlite:///file.db"),
        ("sessions.DB", "write sqlite:/// before it"),
        ("notes:2026", "write ./ before it"),
        ("memory", "write ./ before it"),
        ("redis://user:secret@host", "must be a directory"),
    ],
)
def test_what_is_not_meant_as_a_directory_is_refused(
    spec: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database's file, memory in another spelling and unknown URLs make no directory of that name; passwords are not repeated."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(PlimsollError, match=hint) as refused:
        open_store(spec)
    assert "secret" not in str(refused.value)
    for meant in (f"./{spec}", Path(spec)):
        open_store(meant)
    assert list(tmp_path.iterdir()) == []
