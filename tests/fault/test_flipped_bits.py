"""Logs with a few bits flipped, or lines lost, doubled or swapped, in every format: the session goes on, and nothing else is lost."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from plimsoll.errors import SessionDamaged, SettingError
from workloads import words

Wire = dict[str, Any]
BUDGET = 2_500
FORMATS = ("openai-chat", "openai-responses", "anthropic", "ui-parts")
TRIALS = 4
pytestmark = pytest.mark.filterwarnings("ignore::plimsoll.errors.DamageWarning")


def chat(rng: random.Random, count: int, first: int) -> list[Wire]:
    """Requests and answers, some of which call tools, one or two at a time; some results are long."""
    said: list[Wire] = []
    for number in range(first, first + count):
        said.append({"role": "user", "content": f"Request {number}: {words(rng, 20)}"})
        if rng.random() < 0.6:
            ids = [f"call_{number}_{which}" for which in range(rng.choice((1, 2)))]
            calls = [
                {
                    "id": id,
                    "type": "function",
                    "function": {"name": "read", "arguments": json.dumps({"path": f"{id}.py"})},
                }
                for id in ids
            ]
            said.append({"role": "assistant", "content": None, "tool_calls": calls})
            said += [
                {"role": "tool", "tool_call_id": id, "content": words(rng, rng.choice((10, 40, 300)))} for id in ids
            ]
        said.append({"role": "assistant", "content": f"Answer {number}: {words(rng, 30)}"})
    return said


def said_in(format: Any, messages: list[Wire]) -> list[Wire]:
    """The same in another format."""
    return list(plimsoll.convert(messages, to=format).messages)


def lived(store: str, format: Any, rng: random.Random) -> None:
    """A session with records of every kind, left at a random moment of its life."""
    options: dict[str, Any] = {"max_tokens": BUDGET, "durability": "os", "recall_tools": True}
    with plimsoll.open("a", store=store, format=format, **options) as session:
        for part in range(rng.randrange(2, 5)):
            session.extend(said_in(format, chat(rng, 6, part * 6)))
            if rng.random() < 0.5:
                session.pin(f"m{rng.randrange(len(session.history()))}")
            session.view()
            if rng.random() < 0.6:
                session.compact()
            if rng.random() < 0.3:
                session.record_usage(900, 20)
            try:
                if rng.random() < 0.3:
                    session.rollback()
                    if rng.random() < 0.5:
                        session.reapply()
            except SettingError:
                continue


def damaged(place: Path, rng: random.Random) -> str:
    """Damage a log at random, its first line excepted, and say how."""
    if (place / "file.db").exists():
        return damaged_rows(place / "file.db", rng)
    log = place / "a" / "log.jsonl"
    lines = log.read_bytes().split(b"\n")[:-1]
    how = rng.choice(("flip", "flip", "flip", "lose", "double", "swap", "cut", "zero"))
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        at, other = (rng.randrange(1, len(lines)) for _ in range(2))
        if how == "lose" and len(lines) > 2:
            del lines[at]
        elif how == "double":
            lines.insert(at, lines[at])
        elif how == "swap":
            lines[at], lines[other] = lines[other], lines[at]
        else:
            lines[at] = changed(lines[at], how, rng)
    log.write_bytes(b"\n".join(lines) + b"\n")
    return how


def damaged_rows(file: Path, rng: random.Random) -> str:
    """The same for the rows of a database."""
    how = rng.choice(("flip", "flip", "flip", "lose", "swap", "cut", "zero"))
    with sqlite3.connect(file) as rows:
        found = dict(rows.execute("SELECT id, line FROM record").fetchall())
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            at, other = (rng.choice(sorted(found)[1:]) for _ in range(2))
            if how == "lose":
                rows.execute("DELETE FROM record WHERE id = ?", (at,))
            elif how == "swap":
                for here, there in ((at, other), (other, at)):
                    rows.execute("UPDATE record SET line = ? WHERE id = ?", (found[there], here))
            else:
                rows.execute("UPDATE record SET line = ? WHERE id = ?", (changed(found[at], how, rng), at))
    rows.close()
    return how


def changed(line: bytes, how: str, rng: random.Random) -> bytes:
    """A line with a bit flipped, cut off, or of zeros."""
    if how == "cut":
        return line[: rng.randrange(len(line) + 1)]
    if how == "zero":
        return b"\0" * len(line)
    flipped = bytearray(line or b" ")
    flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def spec_of(place: Path, kind: str) -> str:
    """The store of that kind in a folder."""
    return f"sqlite:///{place}/file.db" if kind == "sqlite" else str(place)


def valid(session: plimsoll.Session) -> list[Wire]:
    """The view, which is within the budget and what the provider takes."""
    view = session.view()
    assert plimsoll.validate(view, format=session.format) == []
    assert session.status().current_tokens <= BUDGET
    return view


def check(store: str, format: Any, rng: random.Random) -> None:
    """What must hold of a session whose log was damaged, whatever was."""
    with plimsoll.open("a", store=store, create=False) as session:
        there = session.history()
        valid(session)
        new = said_in(format, chat(rng, 8, 50))
        ids = [session.append(message) for message in new]
        valid(session)
        session.compact()
        valid(session)
        if session.compactions()[-1:] and rng.random() < 0.5:
            with suppress(SettingError, SessionDamaged):
                session.rollback()
            valid(session)
        length = session._recorder.log.length
        shown = valid(session)
        assert session._recorder.log.length == length, "a view of what has not changed writes again"
        session.recall("Request 3")
    with plimsoll.open("a", store=store, create=False) as again:
        history = again.history()
        assert history == [*there, *history[-len(new) :]]
        assert json.dumps(again.peek()) == json.dumps(shown)
        positions = [int(id[1:]) for id in ids]
        assert positions == sorted(set(positions))
        assert len(history[-len(new) :]) == len(new)


def trials(seed: int, count: int) -> Iterator[random.Random]:
    """A stream of chance for each trial."""
    return (random.Random(f"{seed}-{number}") for number in range(count))


def attempt(place: Path, kind: str, format: Any, rng: random.Random) -> None:
    """One life, one damage, and what must hold; a session whose lines are out of order may be refused instead."""
    place.mkdir()
    lived(spec_of(place, kind), format, rng)
    how = damaged(place, rng)
    try:
        check(spec_of(place, kind), format, rng)
    except BaseException as error:
        error.add_note(f"after {how} in {kind}")
        if not (how == "swap" and isinstance(error, SessionDamaged) and "out of order" in str(error)):
            raise
        assert "misplaced" in {found.kind for found in plimsoll.verify("a", spec_of(place, kind)).damage}
    finally:
        shutil.rmtree(place)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
@pytest.mark.parametrize("format", FORMATS)
def test_damage_costs_what_it_hits(tmp_path: Path, format: str, kind: str) -> None:
    """After random damage what can be read is there, what is appended then stays, views are valid, and no call writes for ever."""
    for rng in trials(0, TRIALS):
        attempt(tmp_path / "s", kind, format, rng)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["jsonl", "sqlite"])
@pytest.mark.parametrize("format", FORMATS)
def test_damage_costs_what_it_hits_many_times(tmp_path: Path, format: str, kind: str) -> None:
    """The same, many times."""
    for rng in trials(1, 300):
        attempt(tmp_path / "s", kind, format, rng)


def test_a_flipped_bit_in_a_call_that_a_view_needs(tmp_path: Path) -> None:
    """A pinned call whose record cannot be read leaves its result behind: the session is compacted and seen as before."""
    place = tmp_path / "s"
    call = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": "{}"}}
    talk = chat(random.Random(1), 14, 0)
    with plimsoll.open("a", store=place, max_tokens=3_000) as session:
        session.append({"role": "user", "content": "run it"})
        session.append({"role": "assistant", "content": None, "tool_calls": [call]})
        session.extend(talk[:24])
        session.pin("m1")
        session.view()
        session.compact()
    log = place / "a" / "log.jsonl"
    log.write_bytes(log.read_bytes().replace(b'"id":"c1"', b'"id":"b1"', 1))
    with plimsoll.open("a", store=place) as session:
        session.extend(talk[24:])
        session.view()
        session.compact()
        size = log.stat().st_size
        views = [json.dumps(session.view()) for _ in range(3)]
        assert len(set(views)) == 1
        assert log.stat().st_size == size
    with plimsoll.open("a", store=place) as again:
        assert json.dumps(again.view()) == views[0]
