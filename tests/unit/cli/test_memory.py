"""`plimsoll memory`: searching, listing and forgetting from the command line."""

from __future__ import annotations

from typing import Any

import pytest

import plimsoll


@pytest.fixture
def kept(tmp_path: Any) -> list[plimsoll.Memory]:
    """Memories of the user, of the current project, and of another user."""
    with plimsoll.open_memory(project=tmp_path) as memories:
        old = memories.add("I use tabs", session="a", message="m1", time_ms=1_000)
        new = memories.add("use spaces", session="b", message="m2", time_ms=2_000)
        project = memories.add("Our server listens on port 80", by="tool", tool="curl", session="b", message="m4")
    with plimsoll.open_memory(user_id="ann") as memories:
        theirs = memories.add("I like soup")
    return [old, new, project, theirs]


def test_list_and_search(run: Any, kept: list[plimsoll.Memory]) -> None:
    """Both show what holds, with the fields of each memory as JSON; options narrow or widen what is seen."""
    texts = lambda *words: [memory["text"] for memory in run("memory", *words, "--json").json]  # noqa: E731

    assert texts("list") == ["use spaces", "Our server listens on port 80"]
    assert texts("list", "--superseded") == ["use spaces", "Our server listens on port 80", "I use tabs"]
    assert texts("list", "--scope", "user") == ["use spaces"]
    assert texts("list", "--scope", "project") == ["Our server listens on port 80"]
    assert texts("list", "--session", "b", "--message", "m4") == ["Our server listens on port 80"]
    assert texts("list", "--tool", "curl") == ["Our server listens on port 80"]
    assert texts("list", "--user", "ann") == ["I like soup"]
    assert sorted(texts("list", "--all")) == ["I like soup", "Our server listens on port 80", "use spaces"]
    assert texts("search", "which", "port") == ["Our server listens on port 80"]
    assert texts("search", "soup", "--all") == ["I like soup"]
    assert len(texts("search", "use", "server", "--limit", "1")) == 1
    assert len(texts("list", "--limit", "1")) == 1
    assert texts("list", "--session", "b", "--limit", "1") == ["use spaces"]
    found = run("memory", "list", "--json").json[0]
    assert (found["id"], found["by"], found["origins"][0]["session"]) == (kept[1].id, "user", "b")


def test_a_search_is_narrowed_before_it_is_cut(run: Any, tmp_path: Any) -> None:
    """The limit counts what was said at the place that is asked for, and nothing that better matches elsewhere."""
    with plimsoll.open_memory(project=tmp_path) as memories:
        for number in range(30):
            memories.add(f"Module {number} is built by tool{number}, alpha", session="a", message=f"m{number}")
        memories.add("Deployment of the whole of alpha waits for the harbour master", session="b", message="m1")
    search = lambda *words: run("memory", "search", "alpha", "--json", *words).json  # noqa: E731

    assert [one["origins"][0]["session"] for one in search("--session", "b", "--limit", "1")] == ["b"]
    assert [one["origins"][0]["message"] for one in search("--session", "a", "--message", "m7")] == ["m7"]
    assert len(search("--session", "a", "--limit", "25")) == 25


def test_for_people(run: Any, kept: list[plimsoll.Memory]) -> None:
    """Without --json a line says what, who, where and when; nothing found is said in one line."""
    shown = run("memory", "list", "--superseded")

    assert shown.status == 0
    assert kept[1].id in shown.out
    assert "superseded" in shown.out
    assert "no memories found in" in run("memory", "search", "elephants").out
    assert "no memories in" in run("memory", "list", "--user", "bob", "--scope", "user").out


def test_forget(run: Any, kept: list[plimsoll.Memory]) -> None:
    """Ids, an origin or everything are forgotten, the last only after asking; how many is said."""
    assert run("memory", "forget", "mem-unknown", "--json").json == {"forgotten": 0}
    assert run("memory", "forget", kept[1].id, "--json").json == {"forgotten": 2}
    assert run("memory", "forget", "--tool", "curl").out.strip() == "1 forgotten"
    assert run("memory", "forget", "--all", "--user", "ann").status == 1
    assert run("memory", "forget", "--all", "--user", "ann", "--yes", "--json").json == {"forgotten": 1}
    assert run("memory", "list", "--all", "--superseded", "--json").json == []
    assert run("memory", "forget", "--all", "--json").json == {"forgotten": 0}


@pytest.mark.parametrize(
    "words",
    [
        ("search",),
        ("list", "words"),
        ("search", "words", "--superseded"),
        ("forget", "mem-1", "--superseded"),
        ("forget", "mem-1", "--limit", "1"),
        ("forget",),
        ("forget", "mem-1", "--session", "a"),
        ("forget", "mem-1", "--scope", "user"),
        ("remember", "this"),
    ],
    ids=" ".join,
)
def test_wrong_usage(run: Any, words: tuple[str, ...]) -> None:
    """What makes no sense is refused with status 2 and one line."""
    assert run("memory", *words).status == 2


def test_a_message_needs_its_session(run: Any, kept: list[plimsoll.Memory]) -> None:
    """A message is named together with its session; refused with status 1, nothing is forgotten."""
    assert run("memory", "forget", "--message", "m1").status == 1
    assert run("memory", "list", "--message", "m1").status == 1
    assert len(run("memory", "list", "--all", "--json").json) == 3


def test_a_file_that_is_no_store_is_one_line(run: Any, tmp_path: Any) -> None:
    """A file of something else is refused with one line, and stays as it is."""
    place = tmp_path / "notes.txt"
    place.write_text("not a database, but text that is long enough to be looked at twice" * 20)
    found = run("memory", "list", "--store", str(place))

    assert found.status == 1
    assert len(found.err.strip().splitlines()) == 1
    assert "not a database, but" in place.read_text()
