"""Histories told to a session message by message: its views are what `fit` makes of the same messages, whatever they are."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

import plimsoll
import proof
from generated import FORMATS
from hostile import random_hostile_history

CASES = 200
SOAK_CASES = 100_000
SHARES = 10
"""Parts of a soak run, each a test of its own."""


def history_of(number: int) -> tuple[str, list[dict[str, Any]]]:
    """Formats in turn; one in six is two histories after each other."""
    rng, format = random.Random(number), FORMATS[number % len(FORMATS)]
    messages = random_hostile_history(rng, format)
    if rng.random() < 0.15:
        messages += random_hostile_history(rng, format)
    return format, messages


def check_large(number: int, place: str | Path = "memory:") -> None:
    """With room for everything, a session shows what `fit` shows; what the provider takes as it is, it shows as it is."""
    format, messages = history_of(number)
    before, options = json.dumps(messages), {"format": format, "max_tokens": 1_000_000}
    with plimsoll.open("one", store=place, project=False, **options) as session:
        for message in messages:
            session.append(message)
            view = session.peek()
            assert plimsoll.validate(view, format=format) == []
            proof.sdk_accepts(view, format)
            assert session.status().current_tokens >= plimsoll.count_tokens(view, format=format)
        history = session.history()
        fitted = plimsoll.fit(history, policy="fill", **options)
        assert session.peek() == fitted.messages
        assert session.peek().origins == fitted.origins
        if plimsoll.validate(history, format=format) == []:
            assert _as_sent(session.peek()) == _as_sent(history)
        assert history == json.loads(before)
    assert json.dumps(messages) == before


def _as_sent(messages: list[dict[str, Any]]) -> list[Any]:
    """Messages as Anthropic reads them: neighbours of one role are one, and text is a block."""
    joined: list[Any] = []
    for message in messages:
        content = message.get("content")
        if "type" in message or "parts" in message or not isinstance(content, (str, list)) or message.get("tool_calls"):
            joined.append(message)
            continue
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        results = any(block.get("type") == "tool_result" for block in blocks)
        if results and joined and isinstance(joined[-1], tuple) and joined[-1][0] == message["role"]:
            joined[-1][1].extend(blocks)
        else:
            joined.append((message["role"], list(blocks)) if results else message)
    return joined


def check_small(number: int, tmp_path: Path) -> None:
    """In a small budget, opened again and again, compacted, undone and forked, every view is valid, fits and is the same."""
    format, messages = history_of(number)
    rng = random.Random(-number)
    budget = rng.choice((250, 600, 2_000))
    place = tmp_path / str(number)
    session = plimsoll.open("one", store=place, format=format, max_tokens=budget, project=False, durability="os")
    try:
        for message in messages:
            session.append(message)
            if rng.random() < 0.3:
                view = session.view()
                proof.fits(view, budget, format)
            if rng.random() < 0.1:
                planned = session.preview()
                shown = planned.apply().messages
                if session.compact(planned).id is not None:
                    assert session.peek() == shown
            if rng.random() < 0.1 and any(not made.undone for made in session.compactions()):
                session.rollback()
            if rng.random() < 0.2:
                shown = session.peek()
                session.close()
                session = plimsoll.open("one", store=place, durability="os")
                assert session.peek() == shown
        proof.fits(session.view(), budget, format)
        assert session.history() == json.loads(json.dumps(messages))
    except plimsoll.errors.CannotFit:
        return
    finally:
        session.close()


@pytest.mark.slow
def test_sessions_show_what_fit_shows() -> None:
    """Results wherever they come, fields of responses, marks, ids and names of any length: sessions and `fit` agree."""
    run(check_large, range(CASES))


@pytest.mark.slow
def test_small_sessions_keep_their_promises(tmp_path: Path) -> None:
    """Hostile histories in small budgets, with everything that may happen to a session in between."""
    run(lambda number: check_small(number, tmp_path), range(CASES // 2))


@pytest.mark.soak
@pytest.mark.parametrize("share", range(SHARES))
def test_sessions_show_what_fit_shows_for_long(share: int) -> None:
    """100,000 histories."""
    run(check_large, seeds(share))


@pytest.mark.soak
@pytest.mark.parametrize("share", range(SHARES))
def test_small_sessions_keep_their_promises_for_long(share: int, tmp_path: Path) -> None:
    """100,000 histories."""
    run(lambda number: check_small(number, tmp_path), seeds(share))


def seeds(share: int) -> range:
    """Every tenth of the numbers of a soak run."""
    first = int(os.environ.get("SOAK_SEED", "1000000"))
    return range(first + share, first + int(os.environ.get("SOAK_CASES", SOAK_CASES)), SHARES)


def run(check: Any, numbers: range) -> None:
    """Every case; a failure names the number that makes it again."""
    for number in numbers:
        try:
            check(number)
        except Exception as error:
            error.add_note(f"history {number}")
            raise
