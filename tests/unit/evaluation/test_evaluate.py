"""Measuring ways of compacting: each is cut alike, counted exactly, and asked the same."""

from __future__ import annotations

import json
import sys

import pytest

import plimsoll
from plimsoll.errors import SettingError, StoreUnusable


def a_run(turns=16):
    """Searches whose results hold a ticket number; the last third of the calls needs some from the first."""
    messages = [
        {"role": "system", "content": "You are careful."},
        {
            "role": "user",
            "content": "Please close every ticket of the harbour project. Never touch tickets of the pier project.",
        },
    ]
    for turn in range(turns):
        wanted = f"TCK-{turn * 7919 % 9973:04d}-{turn}"
        old = f"TCK-{(turn - turns // 2) * 7919 % 9973:04d}-{turn - turns // 2}" if turn >= turns // 2 else "all"
        call = {
            "id": f"c{turn}",
            "type": "function",
            "function": {"name": "find", "arguments": json.dumps({"for": old})},
        }
        result = f"row {turn}\nticket {wanted} is open\n" + "nothing to see on this line\n" * 40
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": f"c{turn}", "content": result},
        ]
    return messages


def by_way(evaluation):
    """The scores by name."""
    return {score.way: score for score in evaluation.scores}


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_every_way_keeps_within_the_budget(share):
    """Own views and recency never exceed the size that is compared."""
    evaluation = plimsoll.evaluate(a_run(), against=["recency", "clear-tool-results"], share=share)

    assert [score.way for score in evaluation.scores] == ["ours", "recency", "clear-tool-results"]
    assert all(score.over_budget == 0 and score.failed == 0 for score in evaluation.scores)
    assert all(outcome.tokens <= outcome.budget_tokens for outcome in evaluation.outcomes)


def test_what_is_asked():
    """Requests, constraints and values are asked; a value is needed next if only the part after the cut uses it."""
    evaluation = plimsoll.evaluate(a_run())
    (asked,) = evaluation.conversations

    assert {"request", "constraint", "value"} <= {probe.kind for probe in asked.probes}
    values = [probe for probe in asked.probes if probe.kind == "value"]
    assert len(values) == by_way(evaluation)["ours"].needed_next.total > 4
    assert all(probe.position < asked.cut <= probe.used_at and "____" in probe.question for probe in values)
    assert all(probe.answer not in probe.question for probe in asked.probes)


def test_nothing_kept_and_all_kept():
    """The extremes: a way that returns nothing keeps nothing; one that returns everything keeps all, and exceeds the budget."""

    def nothing(messages, max_tokens):
        return "-"

    def everything(messages, max_tokens):
        return messages

    scores = by_way(plimsoll.evaluate(a_run(), against=[nothing, everything]))

    assert scores["nothing"].kept == 0
    assert scores["nothing"].found is None
    assert scores["everything"].kept == 1
    assert scores["everything"].over_budget == 1
    assert 0 < scores["ours"].kept <= scores["ours"].found <= 1
    low, high = scores["ours"].kept_interval
    assert 0 <= low <= scores["ours"].kept <= high <= 1


def test_a_way_that_fails_loses_its_probes():
    """Its error is reported; the other ways are measured."""

    def broken(messages, max_tokens):
        raise ZeroDivisionError("no")

    evaluation = plimsoll.evaluate(a_run(), against=[broken, f"command:{sys.executable} -c 'import sys; sys.exit(3)'"])
    scores = by_way(evaluation)

    assert scores["broken"].failed == 1
    assert scores["broken"].kept == 0
    assert any(outcome.error == "ZeroDivisionError: no" for outcome in evaluation.outcomes)
    assert sum(score.failed for score in evaluation.scores) == 2
    assert scores["ours"].failed == 0


@pytest.mark.slow
def test_a_command_and_a_summary(tmp_path):
    """A program gets the messages and the budget; a summary's text is compared as it is."""
    program = tmp_path / "way.py"
    program.write_text(
        "import json, sys\nmessages = json.load(sys.stdin)\nprint(json.dumps(messages[1:2]) if int(sys.argv[1]) > 9 else '')",
        encoding="utf-8",
    )
    summary = tmp_path / "notes.md"
    summary.write_text(
        "Close every ticket of the harbour project, never touch tickets of the pier project.", encoding="utf-8"
    )
    evaluation = plimsoll.evaluate(a_run(), against=[f"command:{sys.executable} {program}", f"summary:{summary}"])
    command, notes = evaluation.scores[1:]

    assert command.by_kind["request"].kept == 1
    assert command.by_kind["value"].kept == 0
    assert command.failed == 0
    assert notes.by_kind["constraint"].kept == 1
    assert notes.way == "summary:notes.md"
    assert notes.over_budget == 0


@pytest.mark.parametrize("way", ["newest", "", "recency:3", "summary:", 3, None])
def test_unknown_ways_are_refused(way):
    """Before anything is measured."""
    with pytest.raises(SettingError, match="against"):
        plimsoll.evaluate(a_run(), against=[way])


def test_folders_and_what_is_skipped(tmp_path):
    """A folder is read below itself, in order; what is no conversation is named with its reason, and links are not followed."""
    inner = tmp_path / "talks" / "inner"
    inner.mkdir(parents=True)
    (inner / "run.json").write_text(json.dumps(a_run()), encoding="utf-8")
    (inner / "short.json").write_text(json.dumps(a_run()[:3]), encoding="utf-8")
    (inner / "broken.json").write_text("{", encoding="utf-8")
    (tmp_path / "outside.json").write_text(json.dumps(a_run()), encoding="utf-8")
    (inner / "link.json").symlink_to(tmp_path / "outside.json")
    evaluation = plimsoll.evaluate(tmp_path / "talks")

    assert [asked.name for asked in evaluation.conversations] == ["inner/run.json"]
    assert sorted(evaluation.skipped) == ["inner/broken.json", "inner/short.json"]


@pytest.mark.slow
def test_the_same_twice():
    """Probes, results and intervals do not depend on chance; only the time does."""
    first, second = (plimsoll.evaluate(a_run()).to_dict() for _ in range(2))
    for found in (first, second):
        for score in found["scores"]:
            score["time_s"] = 0

    assert first == second
    assert json.dumps(first)


@pytest.mark.slow
def test_blind_sheets(tmp_path):
    """No reader sees one conversation in two ways or learns the way; grades are added up by way."""
    evaluation = plimsoll.evaluate([a_run(16), a_run(20)], against=["recency"])
    folder = tmp_path / "sheets"
    count = plimsoll.write_sheets(evaluation, folder, questions_max=5)
    assert count == 10
    shown = "".join(path.read_text(encoding="utf-8") for path in folder.glob("reader*/*"))
    assert "recency" not in shown
    assert "gold" not in shown
    with pytest.raises(StoreUnusable):
        plimsoll.write_sheets(evaluation, folder)

    assert plimsoll.grade_sheets(folder).missing == "reader1/answers.json"
    for reader in ("reader1", "reader2"):
        asked = [
            item
            for path in sorted((folder / reader).glob("*_questions.json"))
            for item in json.loads(path.read_bytes())
        ]
        answers = {item["q"]: reader for item in asked}
        (folder / reader / "answers.json").write_text(json.dumps(answers), encoding="utf-8")
    assert plimsoll.grade_sheets(folder).missing == "grades.json"
    sheet = json.loads((folder / "sheet.json").read_bytes())
    assert len(sheet) == 2 * count
    assert all(set(item) == {"n", "question", "gold", "answer"} for item in sheet)
    grades = {str(item["n"]): 1 if item["answer"] == "reader1" else 0 for item in sheet}
    (folder / "grades.json").write_text(json.dumps(grades), encoding="utf-8")
    result = plimsoll.grade_sheets(folder)

    assert result.missing is None
    assert result.answers == 2 * count
    assert result.means == {"ours": 0.5, "recency": 0.5}


@pytest.mark.parametrize("damage", ["[]", "{", ""])
def test_damaged_sheets(tmp_path, damage):
    """One clear error."""
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "key.json").write_text(damage, encoding="utf-8")
    with pytest.raises(StoreUnusable):
        plimsoll.grade_sheets(tmp_path)
