"""Views are fresh objects each time, however often the same view is written."""

from __future__ import annotations

import copy
import random
from enum import StrEnum
from typing import Any

import pytest

import plimsoll
from generated import FORMATS, random_history
from plimsoll.compaction.entries import Entries, Rows
from plimsoll.compaction.join import origins
from plimsoll.compaction.writing import ViewWriter, written


class Role(StrEnum):
    """A text of a class of its own, as SDKs and callers have them."""

    user = "user"


def history_of(format: str, rounds: int = 30) -> list[dict[str, Any]]:
    """Several conversations after each other."""
    rng = random.Random(7)
    wires = [wire for _ in range(rounds) for wire in random_history(rng, format)]
    return [wire for wire in wires if wire.get("role") not in ("system", "developer")]


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_a_growing_view_is_written_as_if_anew(format: str) -> None:
    """After each message the view is what encoding all of its pieces gives."""
    session = plimsoll.open("one", store="memory:", max_tokens=500_000, format=format)
    messages = history_of(format)
    assert len(messages) > 32
    for number, message in enumerate(messages):
        session.append(message)
        if number % 11 == 0:
            view, recorder = session.peek(), session._recorder
            assert view == written(recorder.state.sendable(), recorder.meter.format)


@pytest.mark.parametrize("format", ["openai-chat", "anthropic"])
def test_rows_of_a_list_that_grew_are_those_made_anew(format: str) -> None:
    """While a call waits for its result a view is a new list each time, and its messages may have come to rest since the last."""
    session, kept, lists = plimsoll.open("one", store="memory:", max_tokens=500_000, format=format), Rows(), 0
    for number, message in enumerate(history_of(format)):
        session.append(message)
        if number % 5 == 0:
            session.view()
        if not isinstance(entries := session._recorder.state.sendable(), Entries):
            assert kept.of(entries) == Rows().of(entries)
            lists += 1
    assert lists > 9


def test_changing_a_view_changes_no_other_view() -> None:
    """A caller may mark or change what it was given, at any depth, at the beginning and at the end."""
    session = plimsoll.open("one", store="memory:", max_tokens=500_000, format="anthropic")
    session.extend(history_of("anthropic"))
    first = session.view()
    kept = session.view()
    for message in first:
        message["role"] = "changed"
        if isinstance(message["content"], list):
            message["content"][0]["cache_control"] = {"type": "ephemeral"}

    assert session.view() == kept != first


@pytest.mark.slow
def test_a_compaction_and_its_undoing_show_their_own_views() -> None:
    """What was kept of a view's beginning is not shown once the view begins otherwise."""
    session = plimsoll.open("one", store="memory:", max_tokens=500_000, format="openai-chat")
    session.extend(history_of("openai-chat"))
    before = session.view()
    session.compact()
    after = session.view()
    session.rollback()

    assert session.view() == before
    assert after == session.view_after(session.compactions()[0].id or "")
    assert after != before


def test_a_summary_joined_to_a_message_leaves_with_it() -> None:
    """Anthropic's first request and the summary behind it are one message, until the compaction is undone."""
    session = plimsoll.open("one", store="memory:", max_tokens=1_000, format="anthropic")
    for number in range(20):
        session.append({"role": ("user", "assistant")[number % 2], "content": f"{number}. The clerk wrote it down."})
    before = session._recorder.state.sendable()
    session.compact(target_tokens=200)
    after = [before[0], *(piece for piece in session._recorder.state.sendable() if piece.position != 0)]
    format, writer = session._recorder.meter.format, ViewWriter()

    assert any(len(positions) == 0 for positions in origins(after[1:2], format))
    for pieces in (before, after, before, after[:2], before[:2], after):
        assert writer.write(pieces, format) == written(pieces, format)


def test_a_number_edited_into_an_equal_one_is_shown() -> None:
    """1 and True are equal in Python, and different JSON."""

    def asked(limit: int) -> list[dict[str, Any]]:
        call = {"type": "tool_use", "id": "c", "name": "look", "input": {"limit": limit}}
        result = {"type": "tool_result", "tool_use_id": "c", "content": "three files"}
        said = [{"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
        return [{"role": "user", "content": "Look."}, *said, {"role": "assistant", "content": "Three."}]

    with plimsoll.open("one", store="memory:", max_tokens=500_000, format="anthropic") as session:
        before = session.sync(asked(1))[1]["content"][0]["input"]["limit"]
        after = session.sync(asked(True))[1]["content"][0]["input"]["limit"]

    assert (before, after) == (1, True)
    assert after is True


def test_texts_of_other_classes_are_written() -> None:
    """A role or a name that is an enumeration's text comes out as it was given, also in a long view."""
    session = plimsoll.open("one", store="memory:", max_tokens=500_000, format="openai-chat")
    said = [{"role": Role.user, "content": f"line {number}"} for number in range(48)]
    session.extend(said)

    assert session.view() == said


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_an_edited_view_is_written_as_if_anew(format: str) -> None:
    """Whichever message reads otherwise, in the system text, among what was written long ago, and at the end."""
    rng = random.Random(3)
    messages = history_of(format)
    if format in ("openai-chat", "ui-parts"):
        system = (
            {"id": "s", "parts": [{"type": "text", "text": "be brief"}]}
            if format == "ui-parts"
            else {"content": "be brief"}
        )
        messages.insert(0, {**system, "role": "system"})
    with plimsoll.open("one", store="memory:", max_tokens=500_000, format=format) as session:
        recorder = session._recorder
        for number in range(25):
            at = 0 if number % 5 == 0 else rng.randrange(len(messages))
            messages = copy.deepcopy(messages)
            words = next((key for key in ("content", "parts", "output") if messages[at].get(key)), None)
            if words and isinstance(messages[at][words], str):
                messages[at][words] += f"edit {number}"
            session.sync(messages[: len(messages) - number % 3])
            assert session.peek() == written(recorder.state.sendable(), recorder.meter.format)
