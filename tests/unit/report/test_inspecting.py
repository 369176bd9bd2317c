"""`measure` and `inspect` in the library: the same figures as the command line's, of files, lists and sessions."""

from __future__ import annotations

import json
from typing import Any

import pytest

import plimsoll
from plimsoll.errors import FormatError

MESSAGES: list[dict[str, Any]] = [
    {"role": "user" if n % 2 == 0 else "assistant", "content": f"entry {n} " + "of the log " * 30} for n in range(20)
]


def test_a_list_a_file_and_its_bytes_are_measured_alike(tmp_path):
    """What is measured does not depend on how it was handed in, but for the label."""
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(MESSAGES))
    sources = [MESSAGES, path, str(path), path.read_bytes(), plimsoll.load_file(path)]
    found = [plimsoll.measure(source, label="chat").to_dict() for source in sources]

    assert all(one == found[0] for one in found)
    assert found[0]["tokens"] == plimsoll.count_tokens(MESSAGES)
    assert plimsoll.measure(path).label == "chat.json"


def test_an_inspection_has_the_plan_of_the_library():
    """The plan is `plan`'s for the same options, and the input is not changed."""
    before = json.dumps(MESSAGES)
    found = plimsoll.inspect(MESSAGES, max_tokens=1_000, policy="ladder")

    assert found.plan.to_dict() == plimsoll.plan(MESSAGES, max_tokens=1_000, policy="ladder").report.to_dict()
    assert found.budget_tokens == 1_000
    assert json.dumps(MESSAGES) == before
    assert "<html" in found.html()
    assert "<script" not in found.html()


def test_a_session_inspects_its_view(tmp_path):
    """`Session.inspect` has the plan of `preview`, and changes nothing; also when the session is open for reading only."""
    with plimsoll.open("pier", store=str(tmp_path), max_tokens=2_000) as session:
        session.extend(MESSAGES)
    with plimsoll.open("pier", store=str(tmp_path), read_only=True) as session:
        found = session.inspect()
        assert found.plan.to_dict() == session.preview().report.to_dict()
        assert (found.measure.base, found.measure.base_tokens) == ("budget", 2_000)
        assert found.measure.to_dict() == session.measure().to_dict()
        assert "entry 3" in found.html()
        assert session.compactions() == []
        assert session.options["max_tokens"] == 2_000


def test_a_list_that_is_cut_is_refused():
    """A JSON list that is not whole is an error, and never read as the lines of it that happen to be whole."""
    cut = b'[\n{"role": "user", "content": "a"},\n{"role": "user", "content": "b"}\n'
    with pytest.raises(FormatError, match="not JSON"):
        plimsoll.measure(cut)


def test_bytes_of_another_encoding_are_refused():
    """Messages go to a provider as they are read: what is no UTF-8 is refused with its place."""
    with pytest.raises(FormatError, match=r"not UTF-8: byte 0xe9 at 30"):
        plimsoll.load_file('[{"role": "user", "content": "é"}]'.encode("latin-1"))


def test_the_counter_of_a_model():
    """`token_counter` is the one that `count_tokens` uses, and says whether it is exact."""
    exact, estimate = plimsoll.token_counter(), plimsoll.token_counter("claude-sonnet-4-5")
    assert (exact.exact, estimate.exact) == (True, False)
    assert exact.count("hello world") == plimsoll.count_tokens("hello world")
    assert estimate.upper("hello world") >= estimate.count("hello world")


def test_the_name_of_an_imported_session(tmp_path):
    """A session is called as its file, where a session may be called so; `import_name` says it beforehand."""
    for file, name in (
        ("pier.jsonl", "pier"),
        ("the pier.json", "the-pier"),
        ("from..to.json", "from-to"),
        ("nul.json", "imported-nul"),
    ):
        path = tmp_path / file
        path.write_text(json.dumps(MESSAGES))
        with plimsoll.import_file(path, store=str(tmp_path / "store")) as session:
            assert session.name == plimsoll.import_name(path) == name
