"""Writing a session over the file it came from, and taking in what a file has grown by."""

from __future__ import annotations

import json

import pytest
from tests.growing import AT, LATER, more_lines, same_as_the_tool, tool_compacts
from tests.tool_sessions import session_file

import plimsoll
from plimsoll.errors import SessionNotFound, SettingError, SourceChanged, StoreUnusable
from plimsoll.session.transfer.import_file import import_file
from plimsoll.transcripts.detect import load_file


@pytest.mark.slow
def test_in_place_is_the_compacted_file_with_a_backup(session, path, tool):
    """The file holds the view, as private as before; what was there is beside it; the tool's own command goes on."""
    raw = path.read_bytes()
    session.compact()
    exported = session.export(in_place=True, at=AT)

    assert path.read_bytes() == exported.data
    assert path.stat().st_mode & 0o777 == 0o640
    same_as_the_tool(session, path)
    backups = [file for file in path.parent.iterdir() if file != path]
    assert [file.read_bytes() for file in backups] == [raw]
    assert [str(file) for file in backups] == [exported.backup]
    assert exported.path == exported.place == str(path)
    assert exported.resume.split(" && ")[-1].split()[0] == {"claude-code": "claude"}.get(tool, tool)


@pytest.mark.slow
def test_in_place_twice_writes_nothing_new(session, path):
    """What is written already is not written again."""
    session.compact()
    session.export(in_place=True, at=AT)
    written = path.read_bytes()
    again = session.export(in_place=True, at=LATER)

    assert (path.read_bytes(), again.backup) == (written, None)


@pytest.mark.slow
def test_after_in_place_the_session_goes_on(session, path, tmp_path):
    """Said, compacted and written again, also after it was closed, the file is what the tool reads; nothing is written twice."""
    session.compact()
    session.export(in_place=True, at=AT)
    session.append({"role": "user", "content": "ONE MORE"})
    session.export(in_place=True, at=AT)
    same_as_the_tool(session, path)
    assert path.read_bytes().count(b"ONE MORE") in (1, 2)
    session.close()
    with plimsoll.open("x", store=str(tmp_path / "store"), create=False) as again:
        again.compact(policy={"steps": ("summarise",)})
        again.export(in_place=True, at=AT)
        same_as_the_tool(again, path)
        assert again.export(to=load_file(path).tool).data == path.read_bytes()


@pytest.mark.slow
def test_a_file_that_has_grown_is_not_written_over(session, path):
    """The file that the tool has written to since is refused, and the line says what to do first."""
    session.compact()
    grown = path.read_bytes() + more_lines(path.read_bytes(), "NEWER")
    path.write_bytes(grown)
    with pytest.raises(SourceChanged, match="import --update"):
        session.export(in_place=True)

    assert path.read_bytes() == grown
    assert [file for file in path.parent.iterdir() if file != path] == []
    assert session.update() == 1
    session.export(in_place=True, at=LATER)
    same_as_the_tool(session, path)
    assert b"NEWER" in path.read_bytes()


@pytest.mark.slow
def test_another_file_is_not_written_over(session, path):
    """A file that is no longer the one that was read is refused, and so are a link, a folder and nothing at all."""
    session.compact()
    for change in (lambda: path.write_bytes(b"{}\n"), path.unlink, path.mkdir):
        change()
        with pytest.raises(plimsoll.errors.PlimsollError):
            session.export(in_place=True)
    path.rmdir()
    target = path.with_name("other")
    target.write_bytes(session_file(load_file(session.export(to="pi").data).tool))
    path.symlink_to(target)
    with pytest.raises(plimsoll.errors.PlimsollError):
        session.export(in_place=True)


@pytest.mark.slow
def test_a_session_of_no_file_is_not_written_in_place(tmp_path, tool):
    """Bytes have no place, a session of our own came from no file, and a place has no other format."""
    with import_file(session_file(tool), name="x", store="memory:") as made, pytest.raises(SettingError):
        made.export(in_place=True)
    with plimsoll.open("own", store="memory:") as own, pytest.raises(SettingError):
        own.export(in_place=True)
    file = tmp_path / "f.jsonl"
    file.write_bytes(session_file(tool))
    with import_file(file, name="y", store="memory:") as made:
        for options in ({"to": "anthropic"}, {"path": tmp_path / "g"}):
            with pytest.raises(SettingError):
                made.export(in_place=True, **options)


@pytest.mark.slow
def test_export_to_a_path_is_whole_or_not_there(session, tmp_path, tool):
    """A tool's file is written where it is wanted; messages are not a tool's file."""
    out = tmp_path / "out.jsonl"
    exported = session.export(to=tool, path=out)
    assert (out.read_bytes(), exported.path) == (exported.data, str(out))
    with pytest.raises(SettingError):
        session.export(to="anthropic", path=out)
    with pytest.raises(plimsoll.errors.StoreUnusable):
        session.export(to=tool, path=tmp_path / "none" / "out.jsonl")


@pytest.mark.slow
def test_what_a_file_has_grown_by_is_taken_in(session, path):
    """New lines become messages with their times, and the view is the tool's; the same file again is nothing new."""
    before = len(session.history())
    path.write_bytes(path.read_bytes() + more_lines(path.read_bytes(), "ONE", "TWO"))

    assert session.update(path) == 2
    assert session.update() == 0
    assert "ONE" in str(session.history()[before])
    assert session.times_ms()[before] == 1_798_761_600_000
    same_as_the_tool(session, path)
    assert session.export(to=load_file(path).tool).data == path.read_bytes()


@pytest.mark.slow
def test_a_compacted_view_goes_on_with_what_is_new(session, path):
    """What the tool has added to its own view comes behind ours; the compaction holds."""
    session.compact(policy={"steps": ("summarise",)})
    view = session.peek()
    path.write_bytes(path.read_bytes() + more_lines(path.read_bytes(), "AFTER IT"))
    session.update()

    assert json.dumps(session.peek())[:-2].startswith(json.dumps(view)[:-6])
    assert "AFTER IT" in str(session.peek()[-1])
    session.export(in_place=True, at=LATER)
    same_as_the_tool(session, path)


@pytest.mark.slow
def test_a_compaction_of_the_tool_holds(session, path):
    """Where the tool has compacted meanwhile, its view is the session's."""
    for ours in (False, True):
        if ours:
            session.compact(policy={"steps": ("summarise",)})
        grown = path.read_bytes() + more_lines(path.read_bytes(), f"{ours} SAID")
        path.write_bytes(grown + tool_compacts(grown).replace(b"cccccccc", b"cccccc%d%d" % (ours, ours)))
        session.update()
        same_as_the_tool(session, path)
        assert "TOLD BY THE TOOL" in str(session.peek())
        if not ours:
            break


@pytest.mark.slow
def test_in_place_and_growing_take_turns(session, path):
    """Written in place, gone on with in the tool, taken in, compacted and written again: nothing is lost or doubled."""
    for turn in range(3):
        session.compact(policy={"steps": ("collapse", "offload")})
        session.export(in_place=True, at=AT)
        path.write_bytes(
            path.read_bytes() + more_lines(path.read_bytes(), f"TURN {turn}").replace(b"9999", b"99%d9" % turn)
        )
        assert session.update() == 1
        same_as_the_tool(session, path)
    assert [sum(f"TURN {turn}" in str(message) for message in session.history()) for turn in range(3)] == [1, 1, 1]


@pytest.mark.slow
def test_a_session_with_messages_of_its_own_is_not_updated(session, path):
    """Both have gone on: that is refused with one line, and the session is as it was. The same messages on both sides are fine."""
    session.append({"role": "user", "content": "MINE"})
    path.write_bytes(path.read_bytes() + more_lines(path.read_bytes(), "THEIRS"))
    before = session.history()
    with pytest.raises(SourceChanged, match="1 message"):
        session.update()
    assert session.history() == before


@pytest.mark.slow
def test_a_file_that_does_not_begin_so_is_not_taken_in(session, path):
    """Another file, a shorter one and no file at all are refused."""
    raw = path.read_bytes()
    for data in (raw[: len(raw) // 2], b"\n" + raw, b"[]", b""):
        path.write_bytes(data)
        with pytest.raises(plimsoll.errors.PlimsollError):
            session.update()
    path.unlink()
    with pytest.raises(plimsoll.errors.StoreUnusable):
        session.update()


@pytest.mark.slow
def test_import_file_updates_the_session_it_made(path, tmp_path):
    """`import_file(update=True)` opens the session of that file; where there is none, nothing is made."""
    store = str(tmp_path / "store")
    with pytest.raises(SessionNotFound):
        import_file(path, store=store, update=True)
    with import_file(path, store=store) as session:
        name = session.name
    path.write_bytes(path.read_bytes() + more_lines(path.read_bytes(), "NEW"))
    with import_file(path, store=store, update=True) as session:
        assert session.name == name
        assert "NEW" in str(session.history()[-1])


@pytest.mark.slow
def test_an_answer_that_was_not_written_to_its_end_is_taken_in_whole(tmp_path):
    """Claude Code writes an answer on several lines: one that was cut between them is there once in the view."""
    raw = session_file("claude-code")
    lines = raw.splitlines(keepends=True)
    cut = next(i for i in range(len(lines) - 1, 0, -1) if b"I look at lamp 20" in lines[i]) + 1
    path = tmp_path / "cut.jsonl"
    for compacts in (False, True):
        path.write_bytes(b"".join(lines[:cut]))
        with import_file(path, name=f"x{compacts}", store="memory:", max_tokens=30_000) as session:
            if compacts:
                session.compact(policy={"steps": ("summarise",)})
            path.write_bytes(raw)
            session.update()
            assert plimsoll.validate(session.peek(), format="anthropic") == []
            assert str(session.peek()).count("I look at lamp 20") == 1
            if not compacts:
                same_as_the_tool(session, path)


def test_a_file_that_is_read_only_is_not_replaced(session, path):
    """Whoever took the right to write away is taken at their word, also by those who may write everywhere; no backup is left."""
    raw = path.read_bytes()
    session.compact()
    path.chmod(0o440)

    with pytest.raises(StoreUnusable, match="it is read-only"):
        session.export(in_place=True, at=AT)
    assert path.read_bytes() == raw
    assert list(path.parent.iterdir()) == [path]
