"""Logs that were cut, flipped, overwritten or written twice: everything readable is read, everything else is reported."""

from __future__ import annotations

import os
import random
from itertools import pairwise
from pathlib import Path

import pytest

from plimsoll.errors import PlimsollError, SessionDamaged
from plimsoll.protocols import RecordDraft
from plimsoll.store.jsonl import JsonlStore
from plimsoll.store.log_file import LogFile, read_tail
from plimsoll.store.os_calls import OsCalls
from plimsoll.store.record import Record, decode
from plimsoll.store.verify import repair, verify

RECORDS = 200


class Unsynced(OsCalls):
    """The real calls without waiting for the disk: nobody pulls the plug in these tests."""

    def sync(self, fd):
        """Not now."""

    def sync_data(self, fd):
        """Not now."""


class Written:
    """A session's log as bytes, where each record and each append ends in it, and a store to try changed bytes in."""

    def __init__(self, path: Path, records: int = RECORDS) -> None:
        self.store = JsonlStore(path, calls=Unsynced(), clock=lambda: 1_763_000_000_000)
        rng = random.Random(7)
        with self.store.create("a") as log:
            while log.length < records:
                texts = [
                    chr(rng.choice([65, 0xE9, 0x2028, 0x1F600])) * rng.randrange(4) for _ in range(rng.randrange(1, 4))
                ]
                log.append([RecordDraft(kind="message", data={"c": text}) for text in texts])
        self.folder = path / "a"
        self.log_path = self.folder / "log.jsonl"
        self.data = self.log_path.read_bytes()
        self.lock = (self.folder / "lock").read_bytes()
        self.lines = self.data.splitlines(keepends=True)
        self.records = [decode(line[:-1]) for line in self.lines]
        self.ends = [0]
        for line in self.lines:
            self.ends.append(self.ends[-1] + len(line))

    def put(self, data: bytes, *, was_acknowledged: bool = True) -> None:
        """Make the log these bytes. What was in it before was acknowledged, or the log is all there is."""
        self.log_path.write_bytes(data)
        (self.folder / "lock").write_bytes(self.lock if was_acknowledged else b"")

    def read(self, *, writable: bool = False) -> tuple[list[Record], tuple]:
        """Every record of the log as it is, and the damage found."""
        with self.store.open("a", writable=writable) as log:
            return list(log.read()), log.damage

    def whole(self, cut: int) -> int:
        """How many records belong to appends whose every byte, but for the last newline, lies before `cut`."""
        ends = (number for number, record in enumerate(self.records, 1) if record.batch_left == 0)
        return max((number for number in ends if self.ends[number] - 1 <= cut), default=0)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A session of 200 records in appends of one to three."""
    return Written(tmp_path_factory.mktemp("damage"))


@pytest.mark.slow
@pytest.mark.spec("W1-18")
def test_cut_at_every_byte(written):
    """Cut at any byte, the log ends after its last whole append, and all bytes after that count as torn."""
    written.put(written.data)
    fd = os.open(written.log_path, os.O_RDWR)
    file = LogFile(Unsynced(), fd, "log.jsonl")
    for cut in range(len(written.data), -1, -1):
        os.ftruncate(fd, cut)
        tail = read_tail(file)
        whole = written.whole(cut)
        end = min(written.ends[whole], cut)
        assert (tail.seq, tail.end, tail.torn_bytes) == (whole, end, cut - end), cut
        assert tail.messages == max(whole - 1, 0), cut
    file.close()


@pytest.mark.slow
@pytest.mark.parametrize("writable", [False, True])
def test_a_log_that_lost_its_end_says_so(written, writable):
    """Cut anywhere, between records too, a log lacks what was acknowledged: all that is readable is read, and every other number
    is missing, for readers and writers, also after the writer went on.
    """
    cuts = {*written.ends, *(end - 1 for end in written.ends[1:]), *range(0, len(written.data), 997)}
    for cut in sorted(cuts):
        written.put(written.data[:cut])
        whole = sum(end - 1 <= cut for end in written.ends[1:])
        records, damage = written.read(writable=writable)
        kept = max(whole, 1) if writable else whole  # a writer begins an empty log again

        assert [record.seq for record in records] == [*range(kept)], cut
        assert sum(one.records for one in damage if one.offset is None) == RECORDS - whole, cut
        if writable:
            with written.store.open("a") as log:
                assert log.append([RecordDraft(kind="message", data={"c": "more"})])[0].seq == RECORDS
            records, damage = written.read()
            assert [record.seq for record in records] == [*range(kept), RECORDS], cut
            assert sum(one.records for one in damage) == RECORDS - kept, cut
            for aside in written.folder.glob("torn-*"):
                aside.unlink()


def test_a_witness_that_cannot_be_read_is_none(written):
    """What is in the lock file is believed only as a whole: nothing, nonsense and half of a number change nothing."""
    cut = written.ends[written.whole(written.ends[150])]
    for lock in (
        b"",
        b"\0" * 40,
        b"9999 9999 9999",
        written.lock[:-3],
        written.lock.replace(b"200", b"900"),
        b"x" * 5_000,
    ):
        written.put(written.data[:cut])
        (written.folder / "lock").write_bytes(lock)
        records, damage = written.read()
        assert (len(records), damage) == (written.whole(cut), ()), lock


@pytest.mark.slow
@pytest.mark.spec("W1-19")
def test_append_after_a_cut_is_not_glued_to_it(written):
    """After a cut the writer puts the torn bytes aside, whole, and what it appends is read back with what was there."""
    for cut in range(1, len(written.data), 41):
        written.put(written.data[:cut], was_acknowledged=False)
        whole = written.whole(cut)
        with written.store.open("a") as log:
            if whole == 0:
                assert "missing" in {one.kind for one in log.damage}, cut
            expected = max(whole, 1)
            assert log.append([RecordDraft(kind="note", data={"after": cut})])[0].seq == expected, cut
            torn = [one for one in log.damage if one.kind == "torn"]
            if cut > written.ends[whole]:
                aside = written.folder / torn[0].kept_in
                assert aside.read_bytes() == written.data[written.ends[whole] : cut]
                assert (torn[0].offset, torn[0].size_bytes) == (written.ends[whole], cut - written.ends[whole])
                aside.unlink()
            else:
                assert torn == []
        records, damage = written.read()
        assert records[:-1] == written.records[:whole] or whole == 0, cut
        assert records[-1].data == {"after": cut}, cut
        assert damage == (), cut


@pytest.mark.slow
def test_every_flipped_bit_is_found(written):
    """Of 2,000 logs with one bit flipped each opens, gives every other record both ways, and reports the flipped byte."""
    rng = random.Random(11)
    for _ in range(2_000):
        bit = rng.randrange(len(written.data) * 8)
        at = bit // 8
        changed = bytearray(written.data)
        changed[at] ^= 1 << bit % 8
        written.put(changed)
        expected = [
            record
            for (start, end), record in zip(pairwise(written.ends), written.records, strict=True)
            if not start <= at < end - 1
        ]
        with written.store.open("a", writable=False) as log:
            assert list(log.read()) == expected, bit
            assert [one for one in log.damage if (one.offset or 0) <= at < (one.offset or 0) + one.size_bytes], bit
            assert sum(one.records for one in log.damage) == len(written.records) - len(expected), bit
            if bit % 16 == 0:
                assert list(log.read_back()) == expected[::-1], bit
        assert written.log_path.read_bytes() == changed, bit


@pytest.mark.slow
def test_writing_after_damage_spreads_nothing(written):
    """Appending to a log with a flipped bit leaves its bytes as they were and every other record readable."""
    rng = random.Random(13)
    for _ in range(100):
        at = rng.randrange(len(written.data) - 1)
        changed = bytearray(written.data)
        changed[at] ^= 0x10
        written.put(changed)
        before, _ = written.read()
        with written.store.open("a") as log:
            seq = log.append([RecordDraft(kind="note", data={"new": 1})])[0].seq
        after, damage = written.read()

        assert seq >= RECORDS
        assert after[:-1] == before
        assert after[-1].data == {"new": 1}
        assert damage
        assert written.log_path.read_bytes().startswith(changed)


@pytest.mark.slow
def test_runs_of_nul_are_damage_around_readable_records(written):
    """Runs of NUL bytes, as a lost power supply leaves them, hide only the records they lie on."""
    rng = random.Random(17)
    for _ in range(200):
        start = rng.randrange(len(written.data))
        stop = min(start + rng.choice([1, 64, 512, 4096]), len(written.data))
        written.put(written.data[:start] + bytes(stop - start) + written.data[stop:])
        expected = [
            record
            for (first, end), record in zip(pairwise(written.ends), written.records, strict=True)
            if end - 1 <= start or first >= stop
        ]
        records, damage = written.read()

        assert records == expected
        assert damage


@pytest.mark.slow
def test_what_was_synced_survives_any_fate_of_what_was_not(written):
    """Lose power during an append: with its sectors there, zeroed or missing, all that was synced before is read."""
    rng = random.Random(43)
    for _ in range(400):
        number = rng.choice([n for n, record in enumerate(written.records[:-9], 1) if record.batch_left == 0])
        synced, end = written.ends[number], written.ends[number + rng.randrange(1, 9)]
        after = bytearray(written.data[synced:end])
        for start in range(-synced % 512 - 512, len(after), 512):
            first, stop = max(start, 0), min(start + 512, len(after))
            if rng.random() < 0.5:
                after[first:stop] = bytes(stop - first)
        if rng.random() < 0.5:
            del after[rng.randrange(len(after) + 1) :]
        written.put(written.data[:synced] + after)
        with written.store.open("a") as log:
            log.append([RecordDraft(kind="note", data={})])
        records, _ = written.read()

        assert records[:number] == written.records[:number]
        assert records[-1].kind == "note"
        assert all(record in written.records for record in records[:-1])
        for aside in written.folder.glob("torn-*"):
            aside.unlink()


def test_lines_taken_out_repeated_or_swapped_are_reported(written):
    """Records that are missing or come twice are findings; the others are read in order."""
    lines = written.lines
    for changed, kind, count in (
        (lines[:50] + lines[53:], "missing", 3),
        (lines[:50] + lines[40:50] + lines[50:], "misplaced", 0),
        (lines[1:], "missing", 1),
    ):
        written.put(b"".join(changed))
        records, damage = written.read()
        seqs = [record.seq for record in records]

        assert seqs == sorted(set(seqs))
        assert kind in {one.kind for one in damage}
        assert len(records) == len(written.records) - count


@pytest.mark.parametrize(
    "moved", [(slice(51, 52), slice(50, 51)), (slice(40, 60), slice(20, 40)), (slice(90, None), slice(5, 90))]
)
def test_lines_out_of_order_are_put_in_order_by_repairing(written, tmp_path, moved):
    """Reading them, and writing where nobody knows the end, is refused with what helps; a repaired copy has every record."""
    lines, (first, second) = written.lines, moved
    changed = [*lines[: second.start], *lines[first], *lines[second], *lines[first.stop or len(lines) :]]
    assert sorted(changed) == sorted(lines)
    written.put(b"".join(changed))
    with pytest.raises(SessionDamaged, match="verify a --repair"), written.store.open("a", writable=False) as log:
        list(log.read())
    with pytest.raises(SessionDamaged, match="verify a --repair"), written.store.open("a", writable=False) as log:
        list(log.read_back())
    found = verify(written.store, "a")
    into = JsonlStore(tmp_path / "repaired", calls=Unsynced())
    repaired = repair(written.store, "a", into=into)

    assert {one.kind for one in found.damage} == {"misplaced"}
    assert found.records == len(lines)
    assert (repaired.records, repaired.lost) == (len(lines), 0)
    with into.open(repaired.name) as log:
        assert [record.data for record in log.read()] == [record.data for record in written.records]
    assert written.log_path.read_bytes() == b"".join(changed)


def test_a_last_line_that_is_not_the_last_record_is_never_written_behind(written):
    """Where nobody knows how far the log had come, the number of a record that lies before its end is not given again."""
    written.put(b"".join([*written.lines[:30], *written.lines[40:], *written.lines[30:40]]))
    (written.folder / "lock").unlink(missing_ok=True)
    with pytest.raises(SessionDamaged, match="verify a --repair"):
        written.store.open("a")


@pytest.mark.slow
def test_seeking_past_damage(written):
    """A record is found by number and a message by position with damage before, after and around it."""
    rng = random.Random(19)
    changed = bytearray(written.data)
    hit = set()
    for _ in range(40):
        number = rng.randrange(1, len(written.records))
        changed[written.ends[number] + 10] ^= 1
        hit ^= {number}
    written.put(changed)
    with written.store.open("a", writable=False) as log:
        for record in written.records:
            found = next(log.read(record.seq), None)
            later = next((one for one in written.records[record.seq :] if one.seq not in hit), None)
            assert found == later
            if record.kind == "message" and later is not None:
                message = next(log.read_messages(record.position), None)
                assert message is not None
                assert message.position >= record.position


@pytest.mark.slow
def test_every_damaged_log_is_proved_damaged_and_repaired_beside(written, tmp_path):
    """Verify reports every kind of damage, repair writes a copy that verifies, and the original stays byte for byte."""
    rng = random.Random(23)
    for round_ in range(60):
        changed = bytearray(written.data)
        if round_ % 3 == 0:
            del changed[rng.randrange(1, len(changed)) :]
        for _ in range(rng.randrange(1, 6)):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
        written.put(changed)
        found = verify(written.store, "a")
        readable, _ = written.read()
        into = JsonlStore(tmp_path / str(round_), calls=Unsynced())
        repaired = repair(written.store, "a", into=into)
        proved = verify(into, repaired.name)

        assert not found.ok
        assert found.records == repaired.records == len(readable)
        assert proved.ok
        assert proved.records == repaired.records + repaired.lost
        with into.open(repaired.name) as log:
            kept = {record.seq: record for record in log.read()}
            assert all(kept[record.seq].data == record.data for record in readable)
        assert written.log_path.read_bytes() == changed


@pytest.mark.slow
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n",
        b"\n" * 1000,
        b"\0" * 10_000,
        b'{"n": ' * 20_000,
        b'{"n": 0, "m": 0, "k": "message", "t": 1, "d": ' + b'{"a":' * 100_000,
        b"[" * 1_000_000 + b"\n",
        b"\xff\xfe" * 1000 + b"\n" + b"\x1f\x8b" * 10,
        b"not a log\n" * 100,
        b', "c": "00000000"}' * 10_000,
    ],
)
def test_files_that_are_no_logs(tmp_path, data):
    """Whatever a log file holds, opening it is quick, loses none of its bytes and gives a session that can be written."""
    store = JsonlStore(tmp_path, calls=Unsynced())
    store.create("a").close()
    path = tmp_path / "a" / "log.jsonl"
    path.write_bytes(data)
    with store.open("a", writable=False) as log:
        assert list(log.read()) == list(log.read_back()) == []
        assert log.damage or not data.strip()
    assert path.read_bytes() == data
    with store.open("a") as log:
        log.append([RecordDraft(kind="message", data={"content": "x"})])
        assert [record.kind for record in log.read()][-1] == "message"
        assert log.damage
    records = [record for record in store.open("a", writable=False).read() if record.kind == "message"]
    kept = path.read_bytes() + b"".join(one.read_bytes() for one in sorted((tmp_path / "a").glob("torn-*")))

    assert [record.data for record in records] == [{"content": "x"}]
    assert all(part in kept for part in data.split(b"\n"))


def test_rows_of_a_database_are_checked_like_lines(tmp_path):
    """In SQLite a changed, exchanged, foreign or missing row is reported and every other record is read."""
    import sqlite3

    from plimsoll.store.sqlite import SqliteStore

    store = SqliteStore(tmp_path / "db.sqlite")
    with store.create("a") as log:
        log.append([RecordDraft(kind="message", data={"i": index}) for index in range(20)])
        blob = log.put_blob(b"content")
    store.close()
    with sqlite3.connect(tmp_path / "db.sqlite") as rows:
        rows.execute("UPDATE record SET line = replace(line, '3', '4') WHERE id % 4294967296 = 4")
        rows.execute("UPDATE record SET line = 'text' WHERE id % 4294967296 = 6")
        rows.execute(
            "UPDATE record SET line = (SELECT line FROM record WHERE id % 4294967296 = 15) WHERE id % 4294967296 = 8"
        )
        rows.execute("DELETE FROM record WHERE id % 4294967296 IN (11, 12)")
        rows.execute("UPDATE blob SET data = x'00'")
    rows.close()
    with store.open("a") as log:
        assert [record.seq for record in log.read()] == [0, 1, 2, 3, 5, 7, 9, 10, *range(13, 21)]
        assert sum(one.records for one in log.damage) == 5
        assert next(log.read_messages(10)).seq == 13
        assert log.append([RecordDraft(kind="note", data={})])[0].seq == 21
        found = verify(store, "a")
        assert (found.blobs_damaged, found.ok) == ((blob,), False)
        assert log.put_blob(b"content") == blob
        assert log.get_blob(blob) == b"content"
    assert verify(store, repair(store, "a").name).ok
    store.close()


@pytest.mark.slow
def test_flipped_bits_in_a_database_open_or_refuse_with_a_typed_error(tmp_path):
    """A database file with a flipped bit opens and reads, or raises one of our errors; nothing else escapes."""
    from plimsoll.store.sqlite import SqliteStore

    store = SqliteStore(tmp_path / "db.sqlite")
    with store.create("a") as log:
        for index in range(60):
            log.append([RecordDraft(kind="message", data={"i": index, "text": "word " * (index % 90)})])
        expected = {record.seq: record.data for record in log.read()}
    store.close()
    data = (tmp_path / "db.sqlite").read_bytes()
    rng = random.Random(29)
    refused = 0
    for round_ in range(300):
        bit = rng.randrange(len(data) * 8) if round_ % 3 else rng.randrange(4096)
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        (tmp_path / "db.sqlite").write_bytes(changed)
        again = SqliteStore(tmp_path / "db.sqlite")
        try:
            with again.open("a", writable=False) as log:
                assert all(expected[record.seq] == record.data for record in log.read())
        except PlimsollError:
            refused += 1
        again.close()

    assert refused < 300
