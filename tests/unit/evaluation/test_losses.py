"""The report on a compaction: what left, and what the view no longer says."""

from __future__ import annotations

import json

import pytest

import plimsoll
from plimsoll.errors import SettingError


def a_run(turns=30):
    """Requests, each with a search that returns a ticket, a path that was changed, and an error that was met."""
    messages = []
    for turn in range(turns):
        ticket = f"TCK-{turn * 7919 % 9973}"
        arguments = json.dumps({"file_path": f"/srv/harbour/pier_{turn}.py", "ticket": ticket})
        call = {"id": f"c{turn}", "type": "function", "function": {"name": "edit_file", "arguments": arguments}}
        result = (
            f"error: pier {turn} is closed\nnext is TCK-{(turn + 1) * 7919 % 9973}\n" + "nothing to see here\n" * 20
        )
        messages += [
            {
                "role": "user",
                "content": f"Please close ticket {ticket} of the harbour. Never touch tickets of pier {turn}.",
            },
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": result},
            {"role": "assistant", "content": f"The cause is light {turn}, because it was turned off."},
        ]
    return messages


@pytest.fixture
def session():
    """A session that was compacted once."""
    with plimsoll.open(store="memory:", max_tokens=6_000) as opened:
        opened.extend(a_run())
        opened.compact(target_tokens=3_000)
        yield opened


@pytest.mark.slow
def test_what_left_and_what_is_missed(session):
    """What left has references that read back; what is missed is not in the view, and its message says it."""
    report = plimsoll.loss_report(session)
    view = json.dumps(session.view_after(report.compaction.id))

    assert report.left
    assert session.read(report.left[0].references[0])
    assert report.total.total == report.total.kept + len(report.missed)
    assert all(probe.answer not in view for probe in report.missed if probe.kind == "value")
    assert all(probe.answer in json.dumps(session.message(probe.position).message) for probe in report.missed)
    assert {"left", "missed", "by_kind"} <= set(json.loads(json.dumps(report.to_dict())))


def test_what_left_is_named(session):
    """Messages by how they begin, calls by what they were called with; each reference has a text."""
    left = plimsoll.loss_report(session).left
    named = {action.first: action.what for action in left}
    assert named[4].startswith("user message: Please close ticket TCK-7919 of the harbour.")
    assert named[5] == "1 tool call (edit_file): /srv/harbour/pier_1.py"
    assert all(session.read(reference) for action in left for reference in action.references)


def test_an_empty_text_has_no_reference():
    """A message that only calls a tool often has an empty text beside the call."""
    messages = [{**message, "content": message["content"] or ""} for message in a_run()]
    with plimsoll.open(store="memory:", max_tokens=6_000) as opened:
        opened.extend(messages)
        opened.compact(target_tokens=3_000)
        for action in plimsoll.loss_report(opened).left:
            assert all(opened.read(reference) for reference in action.references)


@pytest.mark.slow
def test_what_a_summary_says_is_not_missed(session):
    """The rules' summary names each changed file; one that says nothing misses them, and each report is of its own compaction."""
    session.rollback()
    silent = session.compact(session.preview(target_tokens=3_000).with_summary("Nothing."))
    report, first = plimsoll.loss_report(session, silent.id), plimsoll.loss_report(session, session.compactions()[0].id)

    assert report.compaction.id != first.compaction.id
    assert first.by_kind["file"].lost == 0
    assert first.by_kind["value"].lost == 0
    assert report.by_kind["file"].lost > 10
    assert report.by_kind["value"].lost > 10


@pytest.mark.slow
@pytest.mark.parametrize("name", ["c99999", "", "x", 3])
def test_unknown_compactions(session, name):
    """One clear error."""
    with pytest.raises(SettingError):
        plimsoll.loss_report(session, name)


def test_no_compaction():
    """Nothing to report on."""
    with plimsoll.open(store="memory:") as fresh, pytest.raises(SettingError):
        plimsoll.loss_report(fresh)
