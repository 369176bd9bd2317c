"""Properties of a coding agent's hook: whatever its file or its event holds, the answer is valid or there is none."""

from __future__ import annotations

import json
import os
import random
import tempfile
from pathlib import Path
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples
from damage import damaged
from plimsoll.hooks import run
from plimsoll.hooks.run import HookSettings, run_hook
from plimsoll.tokens.counter import counter_for
from tool_sessions import session_file

TOKENS_MAX = 400
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec=None, categories=None), max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
EVENTS = st.fixed_dictionaries(
    {},
    optional={
        "hook_event_name": st.sampled_from(["SessionStart", "PostCompact"]) | VALUES,
        "source": st.sampled_from(["compact", "resume", "clear"]) | VALUES,
        "compact_summary": VALUES,
        "transcript_path": VALUES,
    },
)


def check(answer):
    """An answer is what the tools take, within its size, in one fence; or there is none."""
    if not answer:
        return
    assert answer.isascii()
    value = json.loads(answer)
    assert list(value) == ["hookSpecificOutput"]
    text = value["hookSpecificOutput"]["additionalContext"]
    text.encode("utf-8")
    assert text.count("<plimsoll-notes") == text.count("</plimsoll-notes") <= 1
    assert counter_for("gpt-4o").count(text) <= TOKENS_MAX


@given(st.sampled_from(["claude-code", "codex", "pi"]), st.integers(0, 2**32), st.sampled_from(["compact", "resume"]))
@settings(max_examples=examples(60), deadline=None)
def test_any_damage(tool, seed, source):
    """A file that was damaged, and then is another one."""
    chance = random.Random(seed)
    raw = session_file(tool)
    with tempfile.TemporaryDirectory() as place, patch.dict(os.environ, PLIMSOLL_HOME=f"{place}/home"):
        file = Path(place, "one.jsonl")
        for _ in range(2):
            file.write_bytes(damaged(raw, chance))
            event = {"hook_event_name": "SessionStart", "source": source, "transcript_path": str(file)}
            with patch.object(run, "_begin_import"):
                check(run_hook(json.dumps(event).encode(), HookSettings(max_tokens=TOKENS_MAX)))
        assert not Path(place, "home", "hooks", "log").exists(), "nothing went wrong"


@given(EVENTS | VALUES, st.binary(max_size=200), st.booleans())
@settings(max_examples=examples(200), deadline=None)
def test_any_event(event, content, names_file):
    """An event of any shape, on a file of anything."""
    with tempfile.TemporaryDirectory() as place, patch.dict(os.environ, PLIMSOLL_HOME=f"{place}/home"):
        file = Path(place, "one.jsonl")
        file.write_bytes(content)
        if names_file and isinstance(event, dict):
            event["transcript_path"] = str(file)
        with patch.object(run, "_begin_import"):
            check(run_hook(json.dumps(event).encode(), HookSettings(max_tokens=TOKENS_MAX)))
