"""What is done with sessions by their names, and what the command line asks of an open one."""

from __future__ import annotations

from pathlib import Path

import pytest

import plimsoll
from plimsoll.errors import SessionNotFound, SettingError


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store with one session of three messages."""
    with plimsoll.open("pier", store=str(tmp_path / "store")) as session:
        session.extend([{"role": "user", "content": f"entry {n}"} for n in range(3)])
    return str(tmp_path / "store")


def test_an_archived_session_is_listed_again_when_restored(store):
    """`archive` takes a session off the list, `restore` puts it back, and nothing in it changes."""
    plimsoll.archive("pier", store)
    assert plimsoll.sessions(store) == []
    assert [info.name for info in plimsoll.sessions(store, archived=True)] == ["pier"]
    plimsoll.restore("pier", store)
    assert [(info.name, info.messages) for info in plimsoll.sessions(store)] == [("pier", 3)]


@pytest.mark.parametrize(
    "call", [plimsoll.archive, plimsoll.restore, plimsoll.delete, plimsoll.verify, plimsoll.repair]
)
def test_a_name_that_no_session_has_is_refused(store, call):
    """Nothing is made for a name that no session has."""
    with pytest.raises(SessionNotFound):
        call("mole", store)
    assert [info.name for info in plimsoll.sessions(store)] == ["pier"]


def test_damage_is_found_and_a_copy_repaired(store):
    """`verify` says what is damaged and changes nothing; `repair` writes the rest as a new session."""
    assert plimsoll.verify("pier", store).ok
    (log,) = Path(store).rglob("log.jsonl")
    lines = log.read_bytes().splitlines(keepends=True)
    lines[2] = b"x" * (len(lines[2]) - 1) + b"\n"
    log.write_bytes(b"".join(lines))
    before = log.read_bytes()

    verified = plimsoll.verify("pier", store)
    repaired = plimsoll.repair("pier", store, copy_name="mended")
    assert (verified.ok, [found.kind for found in verified.damage]) == (False, ["unreadable"])
    assert (repaired.name, repaired.lost) == ("mended", 1)
    assert log.read_bytes() == before
    assert plimsoll.verify("mended", store).ok


def test_a_copy_may_go_into_another_store(store, tmp_path):
    """`into` names the store of the repaired copy, and the first store has none."""
    repaired = plimsoll.repair("pier", store, into=str(tmp_path / "other"))
    assert [info.name for info in plimsoll.sessions(str(tmp_path / "other"))] == [repaired.name]
    assert [info.name for info in plimsoll.sessions(store)] == ["pier"]


def test_a_message_is_named_by_its_id_or_its_number(store):
    """`message`, `pin`, `fork` and `messages(before=)` take "m1" and 1 alike."""
    with plimsoll.open("pier", store=store) as session:
        assert session.message("m1") == session.message(1) == session.messages(before="m2")[-1]
        assert session.messages(before=2) == session.messages(before="m2")
        session.pin(1)
        session.unpin("m1")
        forks = [session.fork("m1", name="left"), session.fork(1, name="right")]
        assert [fork.history() for fork in forks] == [session.history()[:2]] * 2
        for fork in forks:
            fork.close()
        with pytest.raises(SettingError):
            session.message("m3")


def test_messages_that_were_taken_back_are_shown_on_request(tmp_path):
    """`messages(all=True)` gives each message as it was appended, whatever `sync` has changed since, and without the filter."""
    with plimsoll.open("pier", store=str(tmp_path), default_filter={"max_messages": 1}) as session:
        session.extend([{"role": "user", "content": "first"}, {"role": "assistant", "content": "second"}])
        session.sync([{"role": "user", "content": "first, reworded"}, {"role": "assistant", "content": "second"}])
        assert session.messages(all=True)[0].message["content"] == "first"
        assert [one.position for one in session.messages(all=True)] == list(range(session.message_count))
        assert len(session.messages()) == 1


def test_the_newest_reports_alone(tmp_path):
    """`usage(last=1)` is the end of `usage()`."""
    with plimsoll.open("pier", store=str(tmp_path), max_tokens=10_000) as session:
        for number in range(3):
            session.append({"role": "user", "content": f"entry {number}"})
            session.view()
            session.record_usage(1_000 + number, 5)
        assert session.usage(last=1) == session.usage()[-1:]
        assert [usage.prompt_tokens for usage in session.usage()] == [1_000, 1_001, 1_002]
        assert session.usage(last=0) == []


def test_a_view_is_exported_without_recording_anything(store):
    """`export(view=True)` converts what `view` would give next; a tool's file holds the history, so it is refused."""
    with plimsoll.open("pier", store=store, read_only=True) as session:
        found = session.export(to="anthropic", view=True)
        assert isinstance(found, plimsoll.Converted)
        assert [message["content"] for message in found.messages] == ["entry 0", "entry 1", "entry 2"]
        for options in ({"to": "codex"}, {"to": "anthropic", "path": "view.json"}, {"to": None}):
            with pytest.raises(SettingError):
                session.export(view=True, **options)
        assert session.not_exportable() == []


def test_a_session_says_where_it_is_and_what_it_goes_by(store):
    """An open session names its place, its model and its policy."""
    with plimsoll.open("pier", store=store, read_only=True, model="gpt-4o-mini", policy="fill") as session:
        assert store in session.where
        assert (session.model, session.policy.name, session.message_count) == ("gpt-4o-mini", "fill", 3)
