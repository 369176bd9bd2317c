"""Sessions one of whose records cannot be read: everything else is, every use works or is refused with our error, views are valid."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from plimsoll.errors import DamageWarning, FormatError, PlimsollError, SessionDamaged, SettingError
from plimsoll.protocols import Record, RecordDraft
from plimsoll.records.checks import record_problem
from plimsoll.records.compactions import CompactionChain, record_at
from plimsoll.records.packing import unpacked
from plimsoll.store.jsonl import JsonlStore
from plimsoll.store.open import open_store
from plimsoll.store.record import decode, encode
from plimsoll.store.verify import repair, verify

Wire = dict[str, Any]
OPTIONS: dict[str, Any] = {"project": False, "max_tokens": 2_000, "durability": "os"}
pytestmark = pytest.mark.filterwarnings("ignore::plimsoll.errors.DamageWarning")


def talk(count: int) -> list[Wire]:
    """Messages of about 80 tokens; each fourth exchange is a call and its result."""
    said: list[Wire] = []
    while len(said) < count:
        n = len(said)
        if n % 5 == 3:
            call = {
                "id": f"call_{n}",
                "type": "function",
                "function": {"name": "read", "arguments": f'{{"order": {n}}}'},
            }
            said.append({"role": "assistant", "content": None, "tool_calls": [call]})
            said.append(
                {"role": "tool", "tool_call_id": f"call_{n}", "content": f"order ORD-{n} " + "rows of words " * 20}
            )
        else:
            text = f"message {n} of order ORD-{n}: " + "the lease is stale in src/queue.py and " * 8
            said.append({"role": "assistant" if n % 2 else "user", "content": text})
    return said[:count]


def lived(spec: str, **options: Any) -> None:
    """A session with every kind of record: three compactions, one edited, taken back and taken up again."""
    said = talk(44)
    with plimsoll.open("a", store=spec, **{**OPTIONS, "format": "openai-chat", **options}) as session:
        session.extend(said[:18])
        session.pin("m3")
        session.compact()
        session.extend(said[18:30])
        session.record_usage(500, 20)
        session.compact(session.preview().with_summary("Words of my own about the work so far."))
        session.rollback()
        session.extend(said[30:36])
        session.reapply()
        session.rollback()
        session.rollback()
        session.extend(said[36:40])
        session.unpin("m3")
        session.compact()
        session.extend(said[40:])


def spec_of(kind: str, place: Path) -> str:
    """The store of that kind in a folder."""
    return f"sqlite:///{place}/file.db" if kind == "sqlite" else f"{place}/store"


def lines_of(spec: str) -> list[bytes]:
    """The session's log as it is."""
    store = open_store(spec)
    with store.open("a", writable=False) as log:
        lines = list(log.lines())
    store.close()
    return lines


def put(kind: str, place: Path, number: int, line: bytes | None) -> None:
    """Make a record's line another, or take it away."""
    if kind == "jsonl":
        log = place / "store" / "a" / "log.jsonl"
        lines = log.read_bytes().split(b"\n")
        lines[number : number + 1] = [] if line is None else [line]
        log.write_bytes(b"\n".join(lines))
        return
    with sqlite3.connect(place / "file.db") as rows:
        ((session,),) = rows.execute("SELECT id FROM session")
        where = (session << 36) + number
        if line is None:
            rows.execute("DELETE FROM record WHERE id = ?", (where,))
        else:
            rows.execute("UPDATE record SET line = ? WHERE id = ?", (line, where))
    rows.close()


USES: dict[str, Callable[[plimsoll.Session], object]] = {
    "history": lambda session: session.history(),
    "compactions": lambda session: session.compactions(),
    "context": lambda session: session.context(),
    "recall": lambda session: session.recall("order"),
    "append": lambda session: session.append({"role": "user", "content": "more words " * 20}),
    "pin": lambda session: session.pin("m2"),
    "usage": lambda session: session.record_usage(100, 1),
    "preview": lambda session: session.preview(),
    "compact": lambda session: session.compact(),
    "rollback": lambda session: session.rollback(),
    "rollback again": lambda session: session.rollback(),
    "reapply": lambda session: session.reapply(),
    "fork": lambda session: session.fork().close(),
    "fork in the middle": lambda session: session.fork("m20").close(),
    "export": lambda session: session.export(to="pi"),
    "view": lambda session: session.view(),
}


def use(spec: str, name: str = "a") -> Counter[tuple[str, str]]:
    """Do everything with a session; what was refused. Anything but our errors is raised."""
    refused: Counter[tuple[str, str]] = Counter()
    with plimsoll.open(name, store=spec, **OPTIONS) as session:
        assert plimsoll.validate(session.peek(), format="openai-chat") == []
        for label, one in USES.items():
            try:
                one(session)
            except PlimsollError as error:
                refused[label, type(error).__name__] += 1
            assert plimsoll.validate(session.peek(), format="openai-chat") == [], label
        view, said = session.peek(), session.history()
    with plimsoll.open(name, store=spec, **OPTIONS) as session:
        assert (session.peek(), session.history()) == (view, said)
    return refused


@pytest.mark.slow
@pytest.mark.parametrize("how", ["changed", "gone", "repaired"])
@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
def test_any_record_may_be_lost(tmp_path: Path, kind: str, how: str) -> None:
    """Whichever record is lost, all other messages are there, nothing hangs or breaks, and the session goes on; a repaired copy
    too.
    """
    whole = tmp_path / "whole"
    whole.mkdir()
    lived(spec_of(kind, whole))
    lines = lines_of(spec_of(kind, whole))
    kinds = Counter()
    for number, line in enumerate(lines[1:], 1):
        record = decode(line)
        assert isinstance(record, Record)
        kinds[record.kind] += 1
        if record.kind == "message" and number % 6:
            continue
        place = tmp_path / str(number)
        shutil.copytree(whole, place)
        middle = len(line) // 2
        changed = line[:middle] + bytes([line[middle] ^ 1]) + line[middle + 1 :]
        put(kind, place, number, None if how == "gone" else changed)
        spec = spec_of(kind, place)
        store = open_store(spec)
        found = verify(store, "a")
        name = repair(store, "a").name if how == "repaired" else "a"
        store.close()

        assert sum(one.records for one in found.damage) == 1, number
        with plimsoll.open(name, store=spec, **OPTIONS) as session:
            assert len(session.history()) == 44 - (record.kind == "message")
        assert set(use(spec, name)) <= {
            ("rollback again", "SettingError"),
            ("fork in the middle", "SessionDamaged"),
            ("rollback", "SessionDamaged"),
        }, number
        shutil.rmtree(place)
    assert {"message", "compaction", "rollback", "pin", "usage"} <= set(kinds)


def compactions_of(lines: list[bytes]) -> list[int]:
    """The numbers of the compactions."""
    records = (decode(line) for line in lines)
    return [record.seq for record in records if isinstance(record, Record) and record.kind == "compaction"]


@pytest.mark.slow
def test_a_lost_compaction_is_no_place_to_go_back_to(tmp_path: Path) -> None:
    """Rolling back to the view of a compaction that cannot be read is refused and records nothing; all others are listed."""
    spec = str(tmp_path / "store")
    said = talk(60)
    with plimsoll.open("a", store=spec, format="openai-chat", **OPTIONS) as session:
        for start in (0, 20, 40):
            session.extend(said[start : start + 20])
            session.compact()
        first, second, third = (done.id for done in session.compactions())
    lost = int(second[1:])
    put("jsonl", tmp_path, lost, lines_of(spec)[lost].replace(b"compaction", b"compactiom"))
    with plimsoll.open("a", store=spec, **OPTIONS) as session:
        records, view = session._recorder.log.length, session.peek()
        assert [(done.id, done.undone) for done in session.compactions()] == [(first, False), (third, False)]
        with pytest.raises(SessionDamaged):
            session.rollback()
        with pytest.raises(SettingError):
            session.rollback(second)
        assert (session._recorder.log.length, session.peek()) == (records, view)
        session.rollback(first)
        assert session.peek() == session.history() == said
        session.reapply(third)
        assert session.peek() == view


@pytest.mark.slow
def test_a_view_goes_on_from_what_can_be_read(tmp_path: Path) -> None:
    """Where a rollback leads to a compaction that was lost since, the view goes on from the one before it, with all said since."""
    spec = str(tmp_path / "store")
    said = talk(60)
    with plimsoll.open("a", store=spec, format="openai-chat", **OPTIONS) as session:
        views = []
        for start in (0, 20, 40):
            session.extend(said[start : start + 20])
            session.compact()
            views.append(session.peek())
        _first, second, _third = session.compactions()
        session.rollback()
    lost = int((second.id or "")[1:])
    put("jsonl", tmp_path, lost, None)
    with plimsoll.open("a", store=spec, **OPTIONS) as session:
        view = session.peek()
        assert view[: len(views[0]) - 1] == views[0][:-1]
        assert view[-20:] == said[-20:]
        assert plimsoll.validate(view, format="openai-chat") == []
        assert session.compact().id is not None


@pytest.mark.slow
def test_facts_are_gathered_again(tmp_path: Path) -> None:
    """Where the ledger of a compaction leads back to a record that is lost, its facts come from the history, and the next is whole."""
    spec = str(tmp_path / "store")
    said = talk(160)
    with plimsoll.open("a", store=spec, format="openai-chat", **OPTIONS) as session:
        for start in range(0, 160, 20):
            session.extend(said[start : start + 20])
            session.compact()
    records = [decode(line) for line in lines_of(spec)]
    ledgers = {
        record.seq: unpacked(record.data)["ledger"] for record in records if getattr(record, "kind", "") == "compaction"
    }
    newest = max(ledgers)
    assert "since" in ledgers[newest], "the newest ledger is written as changes"
    lost = ledgers[newest]["since"]
    with plimsoll.open("a", store=spec, **OPTIONS) as session:
        facts = {fact.key for many in session._recorder.ledger(newest).facts.values() for fact in many}
    put("jsonl", tmp_path, lost, None)
    with plimsoll.open("a", store=spec, **OPTIONS) as session:
        again = {fact.key for many in session._recorder.ledger(newest).facts.values() for fact in many}
        assert len(facts & again) > len(facts) * 0.6
        session.extend(talk(20))
        done = session.compact()
        record = record_at(session._recorder.log, int((done.id or "")[1:]))
        assert "whole" in unpacked(record.data)["ledger"]


def resealed(line: bytes, change: Callable[[Wire], None]) -> bytes:
    """A record's line with another payload, under a checksum that is right."""
    record = decode(line)
    assert isinstance(record, Record)
    data = json.loads(json.dumps(unpacked(record.data) if record.kind == "compaction" else record.data))
    change(data)
    draft = RecordDraft(kind=record.kind, data=data, required=record.required)
    return encode(
        draft, seq=record.seq, position=record.position, at_ms=record.at_ms, batch_left=record.batch_left
    ).removesuffix(b"\n")


ODD: list[Any] = [
    None,
    True,
    -1,
    3,
    2**60,
    1.5,
    "",
    "text",
    [],
    {},
    [[]],
    [None],
    [1, 2],
    [0, 10**11],
    [[0, 10**9]],
    {"a": 1},
]
FIELDS = {
    "message": ["m", "shown"],
    "compaction": [
        *(
            "trigger",
            "level",
            "stage",
            "before",
            "after",
            "summary",
            "covers",
            "actions",
            "note",
            "view",
            "state",
            "ledger",
        ),
        *("base", "prev"),
    ],
    "rollback": ["about", "base", "prev", "state"],
    "pin": ["position", "pinned"],
    "usage": ["prompt", "counted"],
    "note": ["what", "format"],
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", FIELDS)
def test_records_that_say_something_else(tmp_path: Path, kind: str) -> None:
    """A field that another program wrote wrongly makes its record unreadable, or does no harm: nothing breaks, and verify says so."""
    whole = tmp_path / "whole"
    whole.mkdir()
    lived(spec_of("jsonl", whole), format=None)
    lines = lines_of(spec_of("jsonl", whole))
    records = [record for line in lines if isinstance(record := decode(line), Record)]
    number = next(record.seq for record in reversed(records) if record.kind == kind)
    for turn, field in enumerate(FIELDS[kind]):
        for value in [*ODD[turn % 8 :: 8], "gone"]:

            def change(data: Wire, field: str = field, value: Any = value) -> None:
                data[field] = value
                if value == "gone":
                    del data[field]

            place = tmp_path / "changed"
            shutil.copytree(whole, place)
            put("jsonl", place, number, resealed(lines[number], change))
            spec = spec_of("jsonl", place)
            problem = record_problem(record_of(spec, number))
            found = verify(open_store(spec), "a", check=record_problem)

            assert found.ok == (problem is None)
            with suppress(FormatError):  # what is no message of any format is said to be none
                use(spec)
            shutil.rmtree(place)


def record_of(spec: str, number: int) -> Record:
    """One record as the store gives it."""
    record = decode(lines_of(spec)[number])
    assert isinstance(record, Record)
    return record


@pytest.mark.slow
def test_nothing_that_is_written_has_a_flaw(tmp_path: Path) -> None:
    """No record that sessions write is taken for another's."""
    for number, options in enumerate(({}, {"format": "anthropic"}, {"max_tokens": 900})):
        spec = str(tmp_path / str(number))
        with plimsoll.open("a", store=spec, **{**OPTIONS, "user_id": "u", **options}) as session:
            for turn in talk(60):
                is_anthropic = options.get("format") == "anthropic"
                session.append({"role": "user", "content": json.dumps(turn)} if is_anthropic else turn)
                session.view()
            session.rollback()
            session.fork("m5").close()
        for info in plimsoll.sessions(spec):
            store = JsonlStore(spec)
            with store.open(info.name, writable=False) as log:
                assert [record_problem(record) for record in log.read()] == [None] * log.length


def test_a_chain_that_leads_in_circles(tmp_path: Path) -> None:
    """An event that names itself or a later one as the one before it is refused, not followed for ever."""
    with JsonlStore(tmp_path).create("a") as log:
        state = {"base": None, "prev": 2, "about": 1, "state": {}}
        log.append([RecordDraft(kind="rollback", data=state), RecordDraft(kind="rollback", data={**state, "prev": 1})])
        with pytest.raises(SessionDamaged):
            CompactionChain(log, newest=1, base=None).compactions()


def test_damage_is_told(tmp_path: Path) -> None:
    """Opening a session with a record that another program wrote wrongly warns, as it does for one that cannot be read."""
    spec = str(tmp_path / "store")
    with plimsoll.open("a", store=spec, **OPTIONS) as session:
        session.extend(talk(4))
    put("jsonl", tmp_path, 3, resealed(lines_of(spec)[3], lambda data: data.pop("m")))
    with pytest.warns(DamageWarning, match="invalid fields for a message record"):
        plimsoll.open("a", store=spec, **OPTIONS).close()
