"""What a session holds in memory, and whether its records are deflated: each option changes something that can be seen."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from plimsoll.environment.layers import Storage
from plimsoll.errors import SettingError
from workloads import talk

TALK = talk(401, 120)
TOTAL = plimsoll.count_tokens(TALK)


def searched(session: plimsoll.Session) -> Any:
    """What is held after every message of the history was read back, twice."""
    for _ in range(2):
        for position, message in enumerate(TALK):
            session._recorder.message_cache.find(position)
            assert message
    return session.cache_info()


@pytest.mark.slow
@pytest.mark.spec("S1-11", "S1-35", "W1-24")
def test_messages_are_held_up_to_a_number(tmp_path: Path) -> None:
    """`messages_held_max` bounds what is held; the view is the same whatever is held."""
    views = []
    for held in (512, 40, 0):
        options: dict[str, Any] = {"max_tokens": TOTAL // 3, "storage": {"messages_held_max": held}}
        with plimsoll.open(f"s{held}", store=str(tmp_path), **options) as session:
            session.extend(TALK)
            views.append(session.view())
            found = searched(session)
            assert found.entries <= held
            assert (found.misses <= len(TALK) // 16 + 1) is (held == 512)
        with plimsoll.open(f"s{held}", store=str(tmp_path)) as session:
            assert searched(session).entries <= held
    assert views[0] == views[1] == views[2]


@pytest.mark.spec("S1-11", "S1-35")
def test_messages_are_held_for_a_time() -> None:
    """After `hold_s` seconds they are read again; None holds them as long as the session is open."""
    for hold_s, expired in ((0.02, True), (None, False)):
        with plimsoll.open("x", store="memory:", storage=Storage(hold_s=hold_s)) as session:
            session.extend(TALK[:20])
            session._recorder.message_cache.find(0)
            time.sleep(0.03)
            before = session.cache_info().hits
            session._recorder.message_cache.find(0)
            assert (session.cache_info().hits == before) is expired


@pytest.mark.slow
@pytest.mark.spec("S1-11", "S1-27")
def test_records_are_deflated_or_not(tmp_path: Path) -> None:
    """Without `compress` the log can be read by eye and is longer; both open to the same view, whatever is asked for later."""
    sizes, views = [], []
    for compress in (True, False):
        name = f"c{int(compress)}"
        with plimsoll.open(name, store=str(tmp_path), max_tokens=TOTAL // 3, storage={"compress": compress}) as session:
            session.extend(TALK)
            session.view()
        raw = (tmp_path / name / "log.jsonl").read_bytes()
        records = [json.loads(line) for line in raw.splitlines()]
        made = [record["d"] for record in records if record["k"] == "compaction"]
        assert made
        assert all(("z" in data) is compress for data in made)
        sizes.append(len(raw))
        with plimsoll.open(name, store=str(tmp_path), storage={"compress": not compress}) as session:
            views.append(session.view())
    assert sizes[0] < sizes[1]
    assert views[0] == views[1]


@pytest.mark.spec("S1-11")
@pytest.mark.parametrize(
    "wrong",
    [
        {"messages_held_max": -1},
        {"messages_held_max": True},
        {"large_messages_held_max": 1.5},
        {"hold_s": -1},
        {"hold_s": float("nan")},
        {"compress": "yes"},
        {"cache_size": 3},
        {3: 4},
        "large",
        7,
    ],
)
def test_impossible_storage_is_refused(wrong: Any) -> None:
    """By name, before there is a session."""
    with pytest.raises(SettingError):
        plimsoll.open("x", store="memory:", storage=wrong)
