"""Writing a session over its file while others write, disks are full, and files are moved, put back or packed."""

from __future__ import annotations

import errno
import gzip
import os
import tempfile
from datetime import datetime
from pathlib import Path

import pytest
from tests.growing import AT, LATER, more_lines, same_as_the_tool

from plimsoll.errors import SettingError, SourceChanged, StoreUnusable
from plimsoll.session.transfer.import_file import import_file


@pytest.mark.slow
def test_what_another_process_writes_meanwhile_is_not_lost(session, path, monkeypatch):
    """A tool that writes before the file is replaced, or at that very moment, is noticed: its file is there as it wrote it."""
    session.compact()
    raw = path.read_bytes()
    link, replace = os.link, Path.replace

    def write(number):
        with path.open("ab") as tool:
            tool.write(b"{%d}\n" % number)

    def link_late(*args, **options):
        link(*args, **options)
        write(1)

    def replace_late(fresh, target):
        write(2)
        return replace(fresh, target)

    for patch in ((os, "link", link_late), (Path, "replace", replace_late)):
        path.write_bytes(raw)
        with monkeypatch.context() as patched:
            patched.setattr(*patch)
            with pytest.raises(SourceChanged, match="just now"):
                session.export(in_place=True)
        assert path.read_bytes().startswith(raw + b"{")
        assert list(path.parent.iterdir()) == [path]


@pytest.mark.slow
def test_what_a_tool_writes_to_the_old_file_afterwards_is_in_the_backup(session, path):
    """A tool that has the file open does not see that another is in its place."""
    session.compact()
    with path.open("ab") as tool:
        exported = session.export(in_place=True)
        tool.write(b"{}\n")
    assert Path(exported.backup).read_bytes().endswith(b"{}\n")
    assert path.read_bytes() == exported.data


@pytest.mark.slow
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device")])
def test_stopped_before_the_file_is_replaced(session, path, monkeypatch, error):
    """Nothing is left behind, and the next attempt does all of it: the file is known as it was."""
    session.compact()
    raw = path.read_bytes()

    def stop(*_):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", stop)
        with pytest.raises((KeyboardInterrupt, StoreUnusable)):
            session.export(in_place=True, at=AT)
    assert (list(path.parent.iterdir()), path.read_bytes()) == ([path], raw)
    assert session.update() == 0
    session.export(in_place=True, at=AT)
    same_as_the_tool(session, path)


@pytest.mark.slow
def test_no_room_for_the_new_file(session, path, monkeypatch):
    """A folder that cannot be written to is a typed error, and nothing changes."""
    session.compact()
    raw = path.read_bytes()

    def refuse(**_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    with pytest.raises(StoreUnusable, match="Permission denied"):
        session.export(in_place=True)
    assert (list(path.parent.iterdir()), path.read_bytes()) == ([path], raw)


@pytest.mark.slow
def test_a_file_put_back_is_known(session, path):
    """Whoever puts the backup back has the file of before: it is written again, and grows again."""
    raw = path.read_bytes()
    session.compact()
    first = session.export(in_place=True, at=AT)
    Path(first.backup).replace(path)
    assert path.read_bytes() == raw
    assert session.export(in_place=True, at=AT).data == first.data
    path.write_bytes(raw + more_lines(raw, "AFTER IT"))
    assert session.update() == 1
    assert "AFTER IT" in str(session.peek()[-1])
    session.export(in_place=True, at=LATER)
    same_as_the_tool(session, path)


@pytest.mark.slow
def test_backups_have_names_of_their_own(session, path, monkeypatch):
    """Also where the clock stands still, and where the disk has no second names for a file."""
    from plimsoll.transcripts import atomic_files

    class Stopped(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2026, 1, 1, tzinfo=tz)

    def refuse(*_, **__):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(atomic_files, "datetime", Stopped)
    before = []
    for number in range(4):
        if number == 2:
            monkeypatch.setattr(os, "link", refuse)
        session.append({"role": "user", "content": f"MORE {number}"})
        before.append(path.read_bytes())
        session.export(in_place=True, at=AT)
    backups = sorted(file for file in path.parent.iterdir() if file != path)
    assert sorted(file.read_bytes() for file in backups) == sorted(before)
    assert {file.stat().st_mode & 0o777 for file in backups} == {0o640}


@pytest.mark.slow
def test_a_file_that_was_moved_is_named_once(session, path, tmp_path):
    """Named by an update, a file at another place is the session's from then on; bytes have no place."""
    session.compact()
    moved = path.rename(path.parent / "moved.jsonl")
    with pytest.raises(StoreUnusable):
        session.export(in_place=True)
    assert session.update(moved.read_bytes()) == 0
    with pytest.raises(StoreUnusable):
        session.export(in_place=True)
    assert session.update(moved) == 0
    assert session.export(in_place=True, at=AT).path == str(moved)
    moved.write_bytes(moved.read_bytes() + more_lines(moved.read_bytes(), "NEW"))
    copied = tmp_path / "copied.jsonl"
    copied.write_bytes(moved.read_bytes())
    assert session.update(copied) == 1
    assert session.export(in_place=True, at=LATER).path == str(copied)
    same_as_the_tool(session, copied)


@pytest.mark.slow
def test_a_packed_file_is_only_read(path, tmp_path):
    """It is imported, and takes in what it has grown by; it is never written over."""
    raw = path.read_bytes()
    packed = tmp_path / "session.jsonl.gz"
    packed.write_bytes(gzip.compress(raw))
    with import_file(packed, name="x", store="memory:") as session:
        session.compact()
        with pytest.raises(SettingError, match="compressed"):
            session.export(in_place=True)
        packed.write_bytes(gzip.compress(raw + more_lines(raw, "NEW")))
        assert session.update() == 1


@pytest.mark.slow
def test_a_tool_that_was_not_closed_goes_on_from_its_own_view(session, path, tool):
    """A tool that kept the conversation in memory while its file was written has not seen our view: its own is taken in."""
    old = path.read_bytes()
    session.compact(policy={"steps": ("summarise",)})
    session.export(in_place=True, at=AT)
    path.write_bytes(path.read_bytes() + more_lines(old, "NOT CLOSED"))
    session.update()
    same_as_the_tool(session, path)
    assert "NOT CLOSED" in str(session.peek()[-1])
    if tool != "codex":  # its file is a list: what is in it is read in the order in which it is there
        assert "Request 23" in str(session.peek())
        assert str(session.peek()).count("[Summary of messages") == 0
    session.compact()
    session.export(in_place=True, at=LATER)
    same_as_the_tool(session, path)
