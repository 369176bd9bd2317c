"""A session tells the program's log when its level changes, and tells it nothing else."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

import plimsoll


def records(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, str]]:
    """Severity, level before and level of every record."""
    found = [record for record in caplog.records if record.name == "plimsoll"]
    return [(record.levelname, record.load_level_before, record.load_level) for record in found]


def filled(session: plimsoll.Session, share: float, budget: int) -> None:
    """Append until the view takes that share of its budget."""
    number = 0
    while session.status().current_tokens < share * budget:
        number += 1
        session.append({"role": ("user", "assistant")[number % 2], "content": f"{number} " + "tide " * 40})


@pytest.mark.slow
@pytest.mark.spec("S0-32")
def test_each_change_is_one_record(caplog: pytest.LogCaptureFixture) -> None:
    """A view that finds the level changed says so, once, and again when its compaction has brought it down."""
    caplog.set_level(logging.DEBUG, logger="plimsoll")
    budget = 4_000
    with plimsoll.open("harbour", store="memory:", max_tokens=budget) as session:
        for share in (0.74, 0.88, 0.97):
            filled(session, share, budget)
            session.view()
            session.view()
        assert records(caplog) == [
            ("INFO", "none", "normal"),
            ("WARNING", "normal", "aggressive"),
            ("DEBUG", "aggressive", "none"),
            ("WARNING", "none", "emergency"),
            ("DEBUG", "emergency", "none"),
        ]
    last = caplog.records[-1]
    assert (last.session, last.max_tokens) == ("harbour", budget)
    assert last.current_tokens < budget // 2 + 1
    assert "harbour" in last.getMessage()
    assert "OK: " in last.getMessage()


def test_asking_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """`check` is a question: it logs nothing, and asking it does not keep a later view from telling."""
    caplog.set_level(logging.DEBUG, logger="plimsoll")
    with plimsoll.open("x", store="memory:", max_tokens=1_000) as session:
        filled(session, 0.9, 1_000)
        assert [session.check() for _ in range(3)] == [session.check()] * 3
        assert caplog.records == []
        found = session.check()
        session.view()
    record = caplog.records[0]
    assert (record.current_tokens, record.max_tokens) == (found.current_tokens, found.max_tokens)
    assert found.recommendation in record.getMessage()


@pytest.mark.slow
def test_without_a_log_nothing_is_said() -> None:
    """A program that has set up no log sees no word of it on standard error."""
    script = (
        "import plimsoll\n"
        "with plimsoll.open('x', store='memory:', max_tokens=50) as session:\n"
        "    session.append({'role': 'user', 'content': 'hello ' * 90})\n"
        "    assert str(session.check().level) == 'emergency'\n"
        "    session.view()\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert (done.stdout, done.stderr) == ("", "")
