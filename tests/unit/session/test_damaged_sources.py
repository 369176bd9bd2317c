"""Damaged session files: imported, compacted, exported and read again without a loss, or refused with a typed error."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from tests.damage import KINDS, damaged
from tests.tool_sessions import TOOLS, pi_file, session_file
from tests.unit.session.test_continuing import goes_on, sent

import plimsoll
from plimsoll.errors import PlimsollError
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.values import Transcript

SESSIONS = Path(__file__).parents[3].parent / "shared/evals/sessions"
FILES = sorted(SESSIONS.glob("*/*.jsonl"))
REAL_CUTS = 100
WISHES = (
    {},
    {"policy": {"steps": ("summarise",)}},
    {"policy": {"steps": ("collapse", "offload")}},
    {"target_tokens": 2_000},
)


def goes_through(raw, chance):
    """Import, compact and export: everything readable is there, and tools and new sessions read the view. Typed errors are fine."""
    try:
        found = load_file(raw)
        session = plimsoll.import_file(raw, name="x", store="memory:")
    except PlimsollError:
        return
    with session:
        if not isinstance(found, Transcript):
            return
        assert session.history() == [said.wire for said in found.messages]
        assert sent(session.peek(), session.format) == sent(found.view(), session.format)
        for wish in chance.sample(WISHES, 2):
            session.compact(**wish)
            exported = goes_on(session, found.tool, raw.rstrip(b"\n"))
            assert "view" not in {loss.kind for loss in exported.losses}
        for to in TOOLS:
            assert "view" not in {loss.kind for loss in session.export(to=to).losses}


@pytest.mark.slow
@pytest.mark.parametrize("source", [*TOOLS, "the first version of pi"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_damaged_file_goes_through_or_is_refused(source, kind):
    """Every kind of damage to a file of each tool: never an exception but a typed one, and the tool reads the view back."""
    raw = session_file(source) if source in TOOLS else pi_file(1)
    chance = random.Random(f"{source} {kind.__name__}")
    goes_through(kind(raw.splitlines(keepends=True), chance), chance)


@pytest.mark.slow
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
    raw, chance = path.read_bytes(), random.Random(path.name)
    for _ in range(REAL_CUTS):
        goes_through(damaged(raw, chance), chance)
