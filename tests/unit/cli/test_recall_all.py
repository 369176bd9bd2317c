"""`plimsoll recall --all`: all sessions are searched, and each hit says where it is read."""

from __future__ import annotations

import pytest

import plimsoll
from plimsoll.errors import SessionSkipped


@pytest.fixture
def store(tmp_path):
    """A store with two short sessions."""
    place = tmp_path / "store"
    for name, text in (("quay", "The lamp of the quay is red."), ("lagoon", "The lagoon has a green buoy.")):
        with plimsoll.open(name, store=place, max_tokens=4_000) as session:
            session.append({"role": "user", "content": text})
    return str(place)


@pytest.mark.parametrize(
    "words", [("--all", "buoy"), ("buoy", "--all"), ("--all", "green", "buoy"), ("green", "--all", "buoy")]
)
def test_a_hit_is_read_by_its_session_and_reference(run, store, words):
    """Wherever `--all` stands, and of one word or more."""
    found = run("recall", *words, "--store", store)
    name, reference = found.out.split()[:2]

    assert (found.status, found.err, name) == (0, "", "lagoon")
    assert "green buoy" in run("read", name, reference, "--store", store).out


def test_options_hold_for_all_sessions(run, store):
    """JSON has the name of the session; filters and limits are those of one session's search."""
    assert {hit["session"] for hit in run("recall", "--all", "lamp", "buoy", "--store", store, "--json").json} == {
        "quay",
        "lagoon",
    }
    assert len(run("recall", "--all", "lamp", "buoy", "--limit", "1", "--store", store, "--json").json) == 1
    assert run("recall", "--all", "buoy", "--role", "tool", "--store", store).out == "nothing found\n"


def test_a_damaged_session_is_left_out(run, store, tmp_path):
    """With a warning, which the program shows as a note. The others are searched."""
    log = next(path for path in (tmp_path / "store" / "quay").iterdir() if path.is_file() and path.stat().st_size > 300)
    log.write_bytes(b"{}\n" * 40)
    with pytest.warns(SessionSkipped, match="not searched: session 'quay' is damaged"):
        found = run("recall", "--all", "buoy", "--store", store)

    assert (found.status, found.out.split()[0]) == (0, "lagoon")


def test_without_all_a_name_and_a_query_are_needed(run, store):
    """As before."""
    assert run("recall", "quay", "--store", store).status == 2
    assert run("recall", "--all", "--store", store).status == 2


@pytest.mark.parametrize("text", ["the green buoy\n\n", "no line feed at its end", "", "潮汐\x1b[0m"])
def test_what_is_read_into_a_file_is_the_same_bytes(run, store, text):
    """Nothing is added to a text that is read into a file or a pipe, and a part of it is asked for in whole numbers."""
    with plimsoll.open("bytes", store=store) as session:
        session.append({"role": "user", "content": text})
        reference = "m0"
        wanted = session.read(reference)
    read = lambda *words: run("read", "bytes", reference, "--store", store, *words)  # noqa: E731

    assert read().out == wanted
    assert read("--offset", "1", "--limit", "4").out == wanted[1:5]
    assert [read("--offset", "-1").status, read("--limit", "0").status, read("--limit", "-1").status] == [2, 2, 2]
