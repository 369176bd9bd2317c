"""Genuine session files. They are other people's text: nothing of them is written here."""

import json
import pathlib

import pytest

from plimsoll.formats.convert import validate
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.export import write
from plimsoll.transcripts.values import Transcript

FOLDER = pathlib.Path(__file__).parents[3].parent / "shared/evals/sessions"
FILES = sorted(FOLDER.glob("*/*.jsonl"))
REPAIRS = {"no-result", "missing-parent"}

pytestmark = pytest.mark.skipif(not FILES, reason=f"the real session files are not at {FOLDER}")


@pytest.fixture(params=FILES, ids=lambda path: path.name[-24:])
def path(request):
    """One real file after another."""
    return request.param


def _transcript(source) -> Transcript:
    found = load_file(source)
    assert isinstance(found, Transcript)
    return found


def _rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def _blocks(wire):
    return wire["content"] if isinstance(wire.get("content"), list) else []


def _counted(transcript):
    """Messages, calls and results in what was imported."""
    if transcript.format == "openai-responses":
        types = [said.wire["type"] for said in transcript.messages]
        return len(types), sum(t.endswith("_call") for t in types), sum(t.endswith("_output") for t in types)
    kinds = [block["type"] for said in transcript.messages for block in _blocks(said.wire)]
    return len(transcript.messages), kinds.count("tool_use"), kinds.count("tool_result")


def _plain(tool, rows):
    """The same, counted by reading the lines and nothing else."""
    if tool == "codex":
        types = [row["payload"]["type"] for row in rows if row["type"] == "response_item"]
        return len(types), sum(t.endswith("_call") for t in types), sum(t.endswith("_output") for t in types)
    rows = [row for row in rows if row["type"] in ("user", "assistant", "message")]
    if tool == "pi":
        calls = [p for row in rows for p in row["message"]["content"] if p["type"] == "toolCall"]
        return len(rows), len(calls), sum(row["message"]["role"] == "toolResult" for row in rows)
    answers = {row["message"]["id"] for row in rows if row["type"] == "assistant"}
    kinds = [block["type"] for row in rows for block in _blocks(row["message"])]
    return (
        len(answers) + sum(row["type"] == "user" for row in rows),
        kinds.count("tool_use"),
        kinds.count("tool_result"),
    )


@pytest.mark.slow
def test_it_is_imported_whole(path):
    """Its tool is recognised, and messages, calls and results are as many as a plain reading finds."""
    transcript = _transcript(path)
    assert transcript.tool == path.parent.name
    assert _counted(transcript) == _plain(transcript.tool, _rows(path))


@pytest.mark.slow
def test_its_view_is_valid_for_its_provider(path):
    """Nothing in the view would be refused, and only what the tool itself repairs was repaired."""
    transcript = _transcript(path)
    assert transcript.view()
    assert validate(transcript.view(), format=transcript.format) == []
    assert {finding.kind for finding in transcript.findings} <= REPAIRS


@pytest.mark.slow
def test_written_back_it_is_the_same_bytes(path):
    """Import and export to the same tool change not one byte."""
    assert write(_transcript(path), to=path.parent.name).data == path.read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("to", ["claude-code", "codex", "pi"])
def test_it_becomes_a_session_of_every_tool(path, to):
    """Each tool's file of it is read back without damage, with a valid view and as many compactions."""
    source = _transcript(path)
    found = _transcript(write(source, to=to).data)
    assert found.tool == to
    assert validate(found.view(), format=found.format) == []
    assert {finding.kind for finding in found.findings} <= REPAIRS
    full = [compaction for compaction in source.compactions if not compaction.cleared]
    assert [c.summary for c in found.compactions if not c.cleared] == [c.summary for c in full]


@pytest.mark.slow
def test_cut_after_any_line_it_can_be_read(path):
    """Forty cuts over the file: every prefix gives a valid view and loses no line."""
    data = path.read_bytes()
    ends = [index + 1 for index, byte in enumerate(data) if byte == 10]
    for end in ends[2 :: max(1, len(ends) // 40)]:
        if end > 1_500_000:
            break
        transcript = _transcript(data[:end])
        assert validate(transcript.view(), format=transcript.format) == []
        assert len(transcript.entries) == data[:end].count(b"\n")
