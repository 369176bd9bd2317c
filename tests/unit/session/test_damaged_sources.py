"""Session files with lines cut, missing, doubled or in another order: imported, compacted and exported, or refused with a typed error."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from tests.tool_sessions import TOOLS, pi_file, session_file

import plimsoll
from plimsoll.errors import PlimsollError
from plimsoll.transcripts import Transcript, load_file

SESSIONS = Path(__file__).parents[3].parent / "shared/evals/sessions"
FILES = sorted(SESSIONS.glob("*/*.jsonl"))
CUTS, REAL_CUTS = 8, 100


def damaged(lines, chance):
    """The lines after one kind of damage."""
    count = len(lines)
    start, end = sorted(chance.sample(range(count + 1), 2))
    gone = set(chance.sample(range(count), chance.randrange(1, max(2, count // 3))))
    swapped = [lines[{start: end - 1, end - 1: start}.get(number, number)] for number in range(count)]
    return chance.choice([
        lines[:end],
        [line for number, line in enumerate(lines) if number not in gone],
        [*lines[:start], lines[start][: len(lines[start]) // 2]],
        [*lines[:start], *lines[end:]],
        lines[start:end],
        [*lines[:end], *lines[start:]],
        swapped,
    ])  # fmt: skip


def goes_through(raw, chance):
    """Import, compact and export; check that the file begins with its bytes and that the tool reads the view. Typed errors are fine."""
    try:
        found = load_file(raw)
        session = plimsoll.import_file(raw, name="x", store="memory:")
    except PlimsollError:
        return
    with session:
        if not isinstance(found, Transcript):
            return
        session.compact(policy=chance.choice([{}, {"steps": ("summarise",)}]))
        exported = session.export(to=found.tool)
        assert exported.data.startswith(raw)
        assert "view" not in {loss.kind for loss in exported.losses}
        assert plimsoll.validate(session.peek(), format=session.format) == []
        session.compact(target_tokens=2_000)
        for to in TOOLS:
            assert "view" not in {loss.kind for loss in session.export(to=to).losses}


@pytest.mark.parametrize("source", [*TOOLS, "the first version of pi"])
def test_a_damaged_file_goes_through_or_is_refused(source):
    """Several kinds of damage to a file of each tool: never an exception but a typed one, and the tool reads the view back."""
    raw, chance = session_file(source) if source in TOOLS else pi_file(1), random.Random(3)
    lines = raw.splitlines(keepends=True)
    for _ in range(CUTS):
        goes_through(b"".join(damaged(lines, chance)), chance)


@pytest.mark.parametrize("to", TOOLS)
def test_a_view_without_messages_is_read_as_one(to):
    """Where the tool would send nothing, because the line before the newest is not there, neither would any other."""
    last = json.loads(session_file("claude-code").splitlines()[-1])
    thinks = {**last["message"], "id": "msg_new", "content": [{"type": "thinking", "thinking": "Hm", "signature": "s"}]}
    raw = (
        session_file("claude-code")
        + json.dumps({**last, "uuid": "new", "parentUuid": "gone", "message": thinks}).encode()
    )
    with plimsoll.import_file(raw, name="x", store="memory:") as session:
        assert session.peek() == []
        exported = session.export(to=to)
    assert "view" not in {loss.kind for loss in exported.losses}
    assert load_file(exported.data).view() == []


@pytest.mark.soak
@pytest.mark.timeout(3_000)
@pytest.mark.skipif(not FILES, reason=f"the real session files are not at {SESSIONS}")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem[-24:])
def test_a_damaged_real_file_goes_through_or_is_refused(path):
    """The same with many cuts of each real file."""
    lines, chance = path.read_bytes().splitlines(keepends=True), random.Random(path.name)
    for _ in range(REAL_CUTS):
        goes_through(b"".join(damaged(lines, chance)), chance)
