"""Recorded sessions of coding agents, sent as they grew: every request fits and is valid, and is of one conversation."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import pytest

import plimsoll
from plimsoll.conversations.conversations import Conversations

SESSIONS = Path(__file__).resolve().parents[4] / "shared" / "evals" / "sessions"
WINDOW = 9_000
FILES = sorted(SESSIONS.rglob("*.jsonl"))
CHOSEN = random.Random(3).sample(FILES, min(len(FILES), 12))
ANSWERS = ("function_call", "reasoning", "custom_tool_call")


@pytest.mark.slow
@pytest.mark.skipif(not FILES, reason="needs the recorded sessions of ../shared/evals")
@pytest.mark.parametrize("path", CHOSEN, ids=lambda path: path.stem[:30])
def test_recorded_sessions(path):
    """At ten lengths each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        loaded = plimsoll.load_file(str(path))
    messages = [dict(message.wire) for message in loaded.messages][:250]
    key = "input" if loaded.format == "openai-responses" else "messages"
    with Conversations("memory:", max_tokens=WINDOW) as kept:
        for length in range(1, len(messages) + 1, max(1, len(messages) // 10)):
            held = messages[:length]
            while held and (held[-1].get("role") == "assistant" or held[-1].get("type") in ANSWERS):
                held.pop()
            if not any(message.get("role") == "user" for message in held):
                continue
            prepared = kept.prepare({"model": "gpt-4o", "max_tokens": 1_000, key: held}, format=loaded.format)
            assert prepared.problem is None
            prepared.conversation.released()
            if prepared.changed:
                view = prepared.body[key]
                assert plimsoll.validate(view, format=loaded.format) == []
                assert plimsoll.count_tokens(view, format=loaded.format) <= WINDOW
        assert len(kept) <= 1
