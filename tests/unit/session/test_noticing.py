"""A session tells the program's log when its level changes, and tells it nothing else."""

from __future__ import annotations

import logging
import subprocess
import sys

import pytest

import plimsoll
from plimsoll.errors import CannotFit
from workloads import talk


def records(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str, str]]:
    """Severity, level before and level of every record."""
    found = [record for record in caplog.records if record.name == "plimsoll"]
    return [(record.levelname, record.load_level_before, record.load_level) for record in found]


def test_each_change_is_one_record(caplog: pytest.LogCaptureFixture) -> None:
    """On the way up info and warnings, after the compaction back down; asking again says nothing (S0-32)."""
    caplog.set_level(logging.DEBUG, logger="plimsoll")
    messages = talk(41, 60)
    budget = plimsoll.count_tokens(messages)
    with plimsoll.open("harbour", store="memory:", max_tokens=budget) as session:
        for message in messages:
            session.append(message)
            session.check()
            session.check()
        assert records(caplog) == [
            ("INFO", "none", "normal"),
            ("WARNING", "normal", "aggressive"),
            ("WARNING", "aggressive", "emergency"),
        ]
        session.view()
        session.check()

    assert records(caplog)[3:] == [("DEBUG", "emergency", "none")]
    last = caplog.records[-1]
    assert (last.session, last.max_tokens) == ("harbour", budget)
    assert last.current_tokens < budget // 2 + 1
    assert "harbour" in last.getMessage()
    assert "OK: " in last.getMessage()


def test_a_record_says_what_check_says(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is only logged: the numbers are those that `check` returns."""
    caplog.set_level(logging.DEBUG, logger="plimsoll")
    with plimsoll.open("x", store="memory:", max_tokens=20) as session:
        session.append({"role": "user", "content": "hello " * 50})
        found = session.check()
        with pytest.raises(CannotFit):
            plimsoll.fit(session.history(), max_tokens=5)

    (record,) = caplog.records
    assert (record.current_tokens, record.max_tokens) == (found.current_tokens, found.max_tokens)
    assert found.recommendation in record.getMessage()


def test_without_a_log_nothing_is_said() -> None:
    """A program that has set up no log sees no word of it on standard error."""
    script = (
        "import plimsoll\n"
        "with plimsoll.open('x', store='memory:', max_tokens=50) as session:\n"
        "    session.append({'role': 'user', 'content': 'hello ' * 90})\n"
        "    assert str(session.check().level) == 'emergency'\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert (done.stdout, done.stderr) == ("", "")
