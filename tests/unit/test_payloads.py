"""Compactions in the log: small beside the messages, and read back as they were written."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Any
from zlib import compress

import pytest

import plimsoll
import workloads
from plimsoll.errors import FormatError
from plimsoll.records import packing
from plimsoll.records.packing import action_rows, packed, unpacked
from plimsoll.records.values import actions_in

LARGE = {"summary": "\ud800" + "words of the summary " * 400, "view": [[0, 1]], "actions": [], "ledger": {"whole": {}}}


def test_large_fields_are_packed_and_come_back() -> None:
    """What grows with a compaction is packed, the rest stays readable, and all of it reads back as it was."""
    data = {"trigger": "auto", "before": 9, **LARGE}
    found = packed(data)

    assert found.keys() == {"trigger", "before", "z"}
    assert len(json.dumps(found)) < len(json.dumps(data)) / 4
    assert {**unpacked(json.loads(json.dumps(found))), "z": None} == {**data, "z": None}


def test_small_ones_stay_readable() -> None:
    """A small compaction is written as it is."""
    data = {"trigger": "auto", **LARGE, "summary": "short"}

    assert packed(data) == data
    assert unpacked(data) == data


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x",
        "é",
        7,
        None,
        "AAAA",
        b64encode(compress(b"[" * 100_000)).decode(),
        b64encode(compress(b"\xff")).decode(),
    ],
)
def test_packed_fields_that_are_none(value: Any) -> None:
    """What cannot be unpacked is refused with a typed error."""
    with pytest.raises(FormatError):
        unpacked({"z": value})


@pytest.mark.slow
@pytest.mark.parametrize("budget", [8_000, 32_000])
def test_a_log_is_little_larger_than_its_messages(tmp_path: Path, budget: int) -> None:
    """With all its compactions a log takes little more than half as much again as its short messages as JSON."""
    raw = 0
    with plimsoll.open("a", store=str(tmp_path), max_tokens=budget, durability="os", project=False) as session:
        for turn in workloads.turns(7, 200):
            raw += sum(len(json.dumps(message)) + 1 for message in turn)
            session.extend(turn)
            session.view()
        compactions = session.stats().compactions

    assert compactions >= 3
    assert (tmp_path / "a" / "log.jsonl").stat().st_size <= 1.55 * raw


@pytest.mark.slow
@pytest.mark.parametrize("format", ["openai-chat", "anthropic", "openai-responses"])
def test_cut_messages_are_read_back_as_they_were_shown(tmp_path: Path, format: Any) -> None:
    """A view with cut results and a summary is the same bytes after resuming, in every format."""
    messages = plimsoll.convert(workloads.work(11, 80), to=format, format="openai-chat").messages
    with plimsoll.open("a", store=str(tmp_path), max_tokens=9_000, durability="os", format=format) as session:
        for message in messages:
            session.append(message)
            session.view()
        session.compact()
        shown = json.dumps(session.view())
        assert session.stats().compactions >= 2
    with plimsoll.open("a", store=str(tmp_path)) as session:
        assert json.dumps(session.view()) == shown


def test_very_many_actions_are_packed_apart() -> None:
    """Who opens a session does not inflate the actions of its compactions; who asks for them gets them as they were."""
    row = ["summarise", 0, 1, "2 messages", "older than the tail", 40, 0, []]
    data = {"trigger": "auto", **LARGE, "actions": [row] * 5_000}
    for compresses in (True, False):
        found = packed(data, compresses=compresses)

        assert "actions" not in unpacked(found)
        assert action_rows(unpacked(json.loads(json.dumps(found)))) == data["actions"]
        assert len(actions_in(found)) == 5_000


@pytest.mark.parametrize(
    "value", ["", "AAAA", b64encode(compress(b"[[1]]")).decode(), b64encode(compress(b"{}")).decode()]
)
def test_packed_actions_that_are_none_are_left_out(value: str) -> None:
    """A session is opened whatever its compactions' packed actions hold; only who looks for damage is told of it."""
    assert actions_in({"y": value}) == ()


def test_a_record_is_inflated_once_for_its_check_and_its_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever reads next takes what was inflated for the check; after that nobody else holds it."""
    data = packing.packed({"view": [[n, "x"] for n in range(2_000)], "summary": "s", "stage": "rules"})
    inflated: list[str] = []
    inflate = packing._inflated
    monkeypatch.setattr(packing, "_inflated", lambda text: inflated.append(text) or inflate(text))

    seen = packing.checked(data)
    first = packing.unpacked(data)
    assert len(inflated) == 1
    assert first["view"] is seen["view"]

    second = packing.unpacked(data)
    assert second == first
    assert second["view"] is not first["view"]
    packing.checked(packing.packed({"view": [[n, "y"] for n in range(2_000)]}))
    assert packing.unpacked(data) == first
