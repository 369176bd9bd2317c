"""Records are found in a log file by their numbers, also after another process has cut it."""

import os

import pytest

from plimsoll.protocols import RecordDraft
from plimsoll.store.log_file import LogFile
from plimsoll.store.os_calls import OsCalls
from plimsoll.store.record import encode


def lines(count, words):
    """So many records."""
    drafts = [RecordDraft(kind="note", data={"text": words * (n % 7 + 1)}, at_ms=0) for n in range(count)]
    return [encode(draft, seq=n, position=0, at_ms=0) for n, draft in enumerate(drafts)]


@pytest.fixture
def opened(tmp_path):
    """A function that opens a file with these lines."""
    path = tmp_path / "log.jsonl"
    files = []

    def open_with(data):
        path.write_bytes(b"".join(data))
        files.append(LogFile(OsCalls(), os.open(path, os.O_RDONLY), str(path)))
        return files[-1], path

    yield open_with
    for file in files:
        file.close()


def found(file, seq):
    """The first record of at least that number."""
    start = file.locate(lambda record: record.seq >= seq, file.size())
    return next((span.record.seq for span in file.spans(start, file.size()) if span.record.seq >= seq), None)


def test_every_record_is_found_again(opened):
    """In any order, before and after others were met."""
    file, _ = opened(lines(900, "tide "))

    for seq in (450, 3, 898, 451, 0, 700, 699, 899):
        assert found(file, seq) == seq
    assert found(file, 900) is None


def test_a_file_that_was_cut_and_written_again_is_searched_anew(opened):
    """Where records end now, and not where they ended before."""
    file, path = opened(lines(900, "harbour "))
    for seq in range(0, 900, 50):
        assert found(file, seq) == seq
    data = b"".join(lines(1_500, "tide "))
    with path.open("r+b") as other:
        other.truncate(len(data) // 3)
        other.write(data)

    for seq in range(25, 1_500, 50):
        assert found(file, seq) == seq
