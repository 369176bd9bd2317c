"""Short representations of values: one line, and an HTML table in which everything is escaped."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import plimsoll

EVIL = "<script>alert(1)</script>"


def messages(count: int) -> list[dict[str, Any]]:
    """Requests and answers with markup in them."""
    return [
        {"role": ("user", "assistant")[n % 2], "content": f"{n} {EVIL} " + "tide and load line " * 40}
        for n in range(count)
    ]


@pytest.fixture(name="values", scope="module")
def _values() -> dict[str, object]:
    """One of each value that holds a conversation."""
    found: dict[str, object] = {}

    def model(request: Any) -> str:
        found["request"] = request
        return f"{EVIL} was said many times."

    with plimsoll.open("x", store="memory:", max_tokens=4_000, summarizer=model) as session:
        session.extend(messages(60))
        found["plan"] = session.preview()
        found["compaction"] = session.compact()
        found["session"] = repr(session)
        found["html"] = session._repr_html_()
        found["measure"] = session.measure()
    found["inspection"] = plimsoll.inspect(messages(60), max_tokens=4_000)
    found["fitted"] = plimsoll.fit(messages(60), max_tokens=4_000)
    found["report"] = found["fitted"].report  # type: ignore[attr-defined]
    found["windowed"] = plimsoll.window(messages(60), max_tokens=2_000)
    found["converted"] = plimsoll.convert(messages(60), to="anthropic")
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["plan", "compaction", "fitted", "report", "windowed", "converted", "request", "measure"]
)
def test_one_line(values: dict[str, object], name: str) -> None:
    """The `repr` of a value that holds a whole conversation is one short line without its text."""
    shown = repr(values[name])
    assert shown.startswith(f"{type(values[name]).__name__}(")
    assert "\n" not in shown
    assert len(shown) < 150
    assert "tide" not in shown


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("compaction", "exchanges taken out of the view"),
        ("report", "exchanges out of the view"),
        ("plan", "exchanges would leave the view"),
    ],
)
def test_what_left_the_view_is_not_said_to_be_left(values: dict[str, object], name: str, words: str) -> None:
    """Exchanges that a compaction takes out of the view can be taken neither for lost nor for those that are left."""
    assert words in repr(values[name])


def test_an_inspection_is_one_line(values: dict[str, object]) -> None:
    """What was inspected is its size, its level and the plan, without the tables."""
    shown = repr(values["inspection"])
    assert shown.startswith("Inspection(messages: ")
    assert "level emergency" in shown
    assert len(shown) < 300


def test_the_facts_of_a_line(values: dict[str, object]) -> None:
    """The `repr` has the sizes before and after, the budget, the number of messages, and the session's name."""
    fitted: Any = values["fitted"]
    report = fitted.report
    assert repr(fitted) == (
        f"Fitted({len(fitted.messages)} messages, {report.tokens_before:,} → {report.tokens_after:,} of 4,000, "
        f"stage {report.stage})"
    )
    compaction: Any = values["compaction"]
    assert repr(compaction).startswith(f"Compaction('{compaction.id}', manual, ")
    assert str(values["session"]).startswith("Session('x', 60 messages, view ")
    assert str(values["session"]).endswith(" of 4,000)")


@pytest.mark.parametrize("name", ["plan", "compaction", "fitted", "report", "windowed", "converted", "request"])
def test_tables_for_notebooks(values: dict[str, Any], name: str) -> None:
    """The table has the same facts, escaped."""
    html = values[name]._repr_html_()
    assert html.startswith("<table>")
    assert "<script>" not in html
    assert "<table>" in values["html"]


def test_summaries_are_shown_escaped(values: dict[str, Any]) -> None:
    """A compaction's table shows its summary as text."""
    assert "&lt;script&gt;" in values["compaction"]._repr_html_()


def test_a_session_always_shows_itself(tmp_path: Path) -> None:
    """Showing a session neither raises nor waits, also if it is closed, named like markup, or in use by another thread."""
    with plimsoll.open("s", store=str(tmp_path / "s")) as session:
        held, done = threading.Event(), threading.Event()

        def hold() -> None:
            with session._recorder.lock:
                held.set()
                done.wait(30)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait(30)
        assert repr(session) == "Session('s', in use by another thread)"
        done.set()
        thread.join()
        assert repr(session).startswith("Session('s', 0 messages, view ")
    assert repr(session) == "Session('s', closed)"
