"""The search index that is kept beside the log: opened again, grown, and never trusted over the log."""

import random
import shutil
import sqlite3
import zlib

import pytest

import plimsoll
from plimsoll.recall.index import Index
from plimsoll.recall.stored_index import MAGIC
from plimsoll.session import finder, searching
from plimsoll.store import log_file

WORDS = "harbour tide crew mizzen railing gangway pier beacon chart anchor winch sail rope wind north".split()


@pytest.fixture(autouse=True)
def _keeps_small_ones(monkeypatch):
    """Indexes of a few thousand characters are kept."""
    monkeypatch.setattr(finder, "RECALL_KEPT_CHARS_MIN", 1_000)
    monkeypatch.setattr(searching, "RECALL_KEPT_CHARS_MIN", 1_000)


def talk(count, seed=0):
    """Messages of random words, each with a number of its own."""
    rng = random.Random(seed)
    return [
        {"role": ("user", "assistant")[n % 2], "content": f"Watch {seed}x{n}: {' '.join(rng.choices(WORDS, k=40))}."}
        for n in range(count)
    ]


def told_messages(count=60, berth="seventeen"):
    """Talk, with something to find in its second message."""
    berth = {"role": "assistant", "content": f"The berth of the Norrvik is number {berth}."}
    return [{"role": "user", "content": "Hello."}, berth, *talk(count)]


def told(place, count=60, name="s"):
    """A session whose beginning has left the view, closed."""
    with plimsoll.open(name, store=place, max_tokens=1_500) as session:
        session.extend(told_messages(count))
        session.compact()
    return place / name / "index"


def answers(place, name="s"):
    """What some questions find."""
    with plimsoll.open(name, store=place) as session:
        return [
            [(hit.position, hit.text, hit.offset, hit.score) for hit in session.recall(query)]
            for query in ("berth of the Norrvik", "anchor north wind", "watch 0x7")
        ]


def never(*_):
    """Fail: nothing should be indexed."""
    raise AssertionError("a message was indexed again")


@pytest.mark.slow
def test_the_index_of_a_closed_session_is_opened(tmp_path, monkeypatch):
    """After closing, a search in a new opening indexes no message, and finds what a new index finds."""
    file = told(tmp_path)
    fresh_store = shutil.copytree(tmp_path, tmp_path / "fresh")
    (fresh_store / "s" / "index").unlink()
    expected = answers(fresh_store)
    monkeypatch.setattr(Index, "add", never)

    assert file.is_file()
    assert answers(tmp_path) == expected
    assert any("seventeen" in text for _, text, *_ in expected[0])


@pytest.mark.slow
def test_an_opened_index_grows(tmp_path):
    """What is said after opening is found with what was said before, as by a new index."""
    file = told(tmp_path)
    for seed in (1, 2):
        with plimsoll.open("s", store=tmp_path) as session:
            assert session.recall("anchor")
            session.extend(talk(30, seed))
            session.compact()
            assert session.recall(f"watch {seed}x3")
    grown = answers(tmp_path)
    file.unlink()

    assert answers(tmp_path) == grown


@pytest.mark.parametrize(
    "damage",
    [
        "numbers",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("flipped", "cut", "empty", "garbage", "foreign")),
    ],
)
def test_a_damaged_index_is_made_again(tmp_path, damage):
    """Bytes that are no index, or that of another session, change no hit."""
    file = told(tmp_path)
    data = file.read_bytes()
    expected = answers(tmp_path)
    if damage == "foreign":
        data = told(tmp_path / "other", count=59).read_bytes()
    elif damage == "numbers":
        rest = data[len(MAGIC) + 4 : -4] + b"\xff\xff\xff\x7f"
        data = MAGIC + zlib.crc32(rest).to_bytes(4, "big") + rest
    else:
        middle = len(data) // 2
        data = {
            "flipped": data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :],
            "cut": data[:middle],
            "empty": b"",
            "garbage": b"plimsoll index 1\n" + b"x" * 500,
        }[damage]
    file.write_bytes(data)

    assert answers(tmp_path) == expected


@pytest.mark.slow
def test_what_was_edited_is_not_found_by_a_kept_index(tmp_path):
    """A message that was replaced after the index was kept is not found by its old words."""
    told(tmp_path)
    with plimsoll.open("s", store=tmp_path) as session:
        session.sync(told_messages(berth="eighteen"))
    texts = [text for found in answers(tmp_path) for _, text, *_ in found]

    assert not any("seventeen" in text for text in texts)
    assert any("eighteen" in text for text in texts)


def edited(place):
    """A session with an edit of its second message, closed."""
    for berth in ("seventeen", "eighteen"):
        with plimsoll.open("s", store=place) as session:
            session.sync(told_messages(20, berth=berth))


def test_an_edited_history_is_indexed_once(tmp_path, monkeypatch):
    """When the session is closed: later openings, and searches in several sessions, use the index that was kept then."""
    edited(tmp_path)
    monkeypatch.setattr(Index, "add", counted := Calls(Index.add))

    for _ in range(2):
        assert "eighteen" in plimsoll.recall_sessions("berth of the Norrvik", store=tmp_path)[0].text
        with plimsoll.open("s", store=tmp_path) as session:
            assert "eighteen" in session.recall("berth of the Norrvik", shown=True)[0].text
    assert counted.count == 0


@pytest.mark.parametrize("is_searched", [False, True])
def test_a_long_history_is_not_indexed_again_on_closing_after_an_edit(tmp_path, monkeypatch, is_searched):
    """Closing takes no longer for a longer history; the next search indexes it, once, and finds the present words."""
    monkeypatch.setattr(finder, "RECALL_REINDEXED_MESSAGES_MAX", 20)
    with plimsoll.open("s", store=tmp_path) as session:
        session.sync(told_messages(20))
    with monkeypatch.context() as patch, plimsoll.open("s", store=tmp_path) as session:
        if is_searched:
            session.recall("berth of the Norrvik", shown=True)
        patch.setattr(Index, "add", never)
        session.sync(told_messages(20, berth="eighteen"))
        session.close()
    monkeypatch.setattr(Index, "add", counted := Calls(Index.add))
    for _ in range(2):
        with plimsoll.open("s", store=tmp_path) as session:
            assert "eighteen" in session.recall("berth of the Norrvik", shown=True)[0].text

    assert counted.count == 22


def test_a_history_is_indexed_once_after_an_edit(tmp_path, monkeypatch):
    """Also where nothing was kept: a second search in the session indexes no message again."""
    edited(tmp_path)
    (tmp_path / "s" / "index").unlink()
    monkeypatch.setattr(Index, "add", counted := Calls(Index.add))
    for _ in range(2):
        with plimsoll.open("s", store=tmp_path) as session:
            for _ in range(2):
                assert "eighteen" in session.recall("berth of the Norrvik", shown=True)[0].text

    assert counted.count == 22


def test_what_the_view_shows_is_found_as_it_was_edited(tmp_path):
    """A search in what the view shows finds a message of it by its present words only, however often it was searched before."""
    messages = talk(20)
    with plimsoll.open("s", store=tmp_path) as session:
        session.sync(messages)
        assert session.recall("watch 0x3", shown=True)
        session.sync([*messages[:3], {"role": "assistant", "content": "The swordfish is caught."}, *messages[4:]])
        assert session.recall("swordfish", shown=True)[0].position == 3
        assert not any("0x3" in hit.text for hit in session.recall("watch 0x3", shown=True))


def test_reading_writes_no_index(tmp_path):
    """A session that is opened for reading is searched without one, and none is left behind."""
    file = told(tmp_path)
    file.unlink()
    with plimsoll.open("s", store=tmp_path, read_only=True) as session:
        assert session.recall("Norrvik")

    assert not file.exists()


@pytest.mark.slow
def test_an_index_that_cannot_be_written_costs_nothing(tmp_path):
    """Where the place of the index is taken by a folder, searching and closing work."""
    file = told(tmp_path)
    file.unlink()
    (file / "x").mkdir(parents=True)

    assert answers(tmp_path)[0]


def test_a_session_that_is_all_in_view_keeps_its_index(tmp_path, monkeypatch):
    """For searches in several sessions. One that said little keeps none; one that says a little more does not write it again."""
    with plimsoll.open("s", store=tmp_path) as session:
        session.extend(talk(60))
    with plimsoll.open("short", store=tmp_path) as session:
        session.extend(talk(1))
    index = tmp_path / "s" / "index"
    before = index.read_bytes()
    with plimsoll.open("s", store=tmp_path) as session:
        session.extend(talk(5, seed=1))

    assert not (tmp_path / "short" / "index").exists()
    assert index.read_bytes() == before
    monkeypatch.setattr(Index, "add", counted := Calls(Index.add))
    assert plimsoll.recall_sessions("watch 0x7", store=tmp_path, sessions=["s"])[0].text.startswith("Watch 0x7")
    assert counted.count == 5


class Calls:
    """A method that counts its calls."""

    def __init__(self, method):
        self.method = method
        self.count = 0

    def __get__(self, instance, _):
        """The method of an instance."""

        def call(*given):
            self.count += 1
            return self.method(instance, *given)

        return call


@pytest.mark.parametrize("store", ["sqlite", "memory"])
def test_other_stores_keep_the_index_too(tmp_path, monkeypatch, store):
    """A session in a database or in memory is searched without indexing it again, and its index goes with it."""
    place = {"sqlite": f"sqlite:///{tmp_path}/s.db", "memory": f"memory:{tmp_path}"}[store]
    with plimsoll.open("s", store=place, max_tokens=1_500) as session:
        session.extend(told_messages())
        session.compact()
    if store == "memory":
        assert "seventeen" in plimsoll.recall_sessions("berth of the Norrvik", store=place)[0].text
    monkeypatch.setattr(Index, "add", never)
    with plimsoll.open("s", store=place, read_only=True) as session:
        assert "seventeen" in session.recall("berth of the Norrvik")[0].text

    assert plimsoll.recall_sessions("berth of the Norrvik", store=place)
    monkeypatch.undo()
    plimsoll.delete("s", place)
    with plimsoll.open("s", store=place, max_tokens=1_500) as session:
        session.extend(talk(3))
        session.compact()
        assert not any("seventeen" in hit.text for hit in session.recall("berth of the Norrvik"))
    if store == "sqlite":
        with sqlite3.connect(tmp_path / "s.db") as database:
            assert database.execute("SELECT count(*) FROM search_index").fetchone() == (0,)


def test_closing_a_session_in_memory_indexes_nothing(monkeypatch):
    """It may be asked of until the process ends, and mostly nobody does: the first search indexes it."""
    monkeypatch.setattr(Index, "add", counted := Calls(Index.add))
    with plimsoll.open("s", store="memory:closing") as session:
        session.extend(talk(20))
    assert counted.count == 0

    for _ in range(2):
        assert plimsoll.recall_sessions("watch 0x7", store="memory:closing")[0].text.startswith("Watch 0x7")
    assert counted.count == 20


@pytest.mark.slow
def test_texts_of_hits_are_found_with_few_reads(tmp_path, monkeypatch):
    """A search in a long log does not look for each of its hits from the beginning: records on the way are remembered."""
    told(tmp_path, count=600)
    decoded = []
    spans = log_file.line_spans
    monkeypatch.setattr(log_file, "line_spans", lambda line: decoded.append(line.offset) or spans(line))
    with plimsoll.open("s", store=tmp_path) as session:
        before = len(decoded)
        assert len({hit.position for hit in session.recall("anchor north wind", max_tokens=3_000)}) > 20

    assert len(decoded) - before < 500
