"""Copies of messages that serve again: only when nobody holds them, and as if they were new."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

import plimsoll
from plimsoll.compaction.copies import BATCH_MESSAGES, Originals

MESSAGES: list[dict[str, Any]] = [
    {"role": "user", "content": "hello"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "read", "input": {"n": 1, "all": True}}]},
    {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": "a", "content": [{"type": "text", "text": "x"}]}],
    },
]


def originals() -> Originals:
    """The messages, of which copies are asked for."""
    found = Originals()
    for message in MESSAGES:
        found.add(copy.deepcopy(message))
    return found


def containers(value: Any) -> list[int]:
    """Identities of every dict and list in a JSON value."""
    if not isinstance(value, dict | list):
        return []
    inner = value.values() if isinstance(value, dict) else value
    return [id(value), *(found for item in inner for found in containers(item))]


def test_copies_that_nobody_holds_serve_again() -> None:
    """Two sets of copies take turns, for a caller who holds its last view until it has the next one."""
    kept = originals()
    seen: set[int] = set()
    view = kept.copies()
    for _ in range(10):
        view = kept.copies()
        seen.add(id(view[1]))
        assert view == MESSAGES

    assert len(seen) <= 2


def test_copies_that_somebody_holds_are_nobody_elses() -> None:
    """Whatever is held of a view, a message or an inner block: no later view shares it."""
    kept = originals()
    views = [kept.copies() for _ in range(5)]
    block = kept.copies()[2]["content"][0]["content"]

    later = [kept.copies() for _ in range(5)]

    all_of_them = [found for view in (*views, *later) for found in containers(view)[1:]]
    assert len(all_of_them) == len(set(all_of_them))
    assert id(block) not in all_of_them


def test_only_who_asks_again_has_copies_kept() -> None:
    """The first view is of the messages themselves, and only its caller refers to them; later ones have what was added since."""
    kept = originals()
    view = kept.copies()
    alone: list[dict[str, Any]] = [{}]
    assert sys.getrefcount(view[1]) == sys.getrefcount(alone[0])
    view[0]["content"] = "bye"
    kept.add({"role": "user", "content": "more"})
    assert kept.copies() == [*MESSAGES, {"role": "user", "content": "more"}]
    assert containers(kept.copies())[1:] == containers(kept.copies())[1:]
    kept.cut(2)
    kept.add({"role": "user", "content": "other"})
    assert kept.copies() == [*MESSAGES[:2], {"role": "user", "content": "other"}] == kept.copies()


CHANGES: list[Callable[[list[dict[str, Any]]], Any]] = [
    lambda view: view[0].update(content="bye"),
    lambda view: view[0].update(cache_control=1),
    lambda view: view[1]["content"].clear(),
    lambda view: view[1]["content"].append({"type": "text", "text": "more"}),
    lambda view: view[1]["content"][0]["input"].update(n=1.0),
    lambda view: view[1]["content"][0]["input"].update(all=1),
    lambda view: view[2]["content"][0].pop("content"),
    lambda view: view[2]["content"].__setitem__(0, copy.deepcopy(view[2]["content"][0])),
]


@pytest.mark.parametrize("change", CHANGES)
def test_what_a_caller_changed_is_in_no_later_copy(change: Callable[[list[dict[str, Any]]], Any]) -> None:
    """A mark, other words, an equal number of another type: the next copies are as the messages are."""
    kept = originals()
    for _ in range(4):
        change(kept.copies())

        assert json.dumps(kept.copies()) == json.dumps(MESSAGES)


def test_a_change_costs_new_copies_of_its_neighbours_alone() -> None:
    """A host marks a message of each view, as for a provider's cache: the copies far from it serve again."""
    kept = Originals()
    for number in range(4 * BATCH_MESSAGES):
        kept.add({"role": "user", "content": f"message {number}"})
    kept.copies()
    before, after = (list(map(id, marked(kept.copies()))) for _ in range(2))

    beside = [*range(BATCH_MESSAGES), *range(2 * BATCH_MESSAGES, 4 * BATCH_MESSAGES)]
    assert [before[number] for number in beside] == [after[number] for number in beside]


def marked(view: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The view, with a mark on a message of its second batch."""
    view[BATCH_MESSAGES + 1]["cache_control"] = {"type": "ephemeral"}
    return view


def test_copies_of_many_messages_follow_them() -> None:
    """Cut within a batch, at its end and to nothing."""
    messages = [{"role": "user", "content": str(number)} for number in range(2 * BATCH_MESSAGES + 3)]
    for stop in (2 * BATCH_MESSAGES + 1, 2 * BATCH_MESSAGES, BATCH_MESSAGES + 5, BATCH_MESSAGES, 1, 0):
        kept = Originals()
        for message in messages:
            kept.add(message)
        kept.copies()
        kept.cut(stop)
        assert (len(kept), kept.copies()) == (stop, messages[:stop])
        kept.add(messages[-1])
        assert kept.copies() == [*messages[:stop], messages[-1]]


def test_copies_follow_the_messages() -> None:
    """Messages that are added, or cut and added again in other words, are in the copies."""
    kept = originals()
    for number in range(4):
        kept.copies()
        kept.add({"role": "assistant", "content": f"answer {number}"})
        assert kept.copies()[3:] == [{"role": "assistant", "content": f"answer {number}"}]
        kept.cut(3)
        assert kept.copies() == MESSAGES


def test_views_of_a_session_are_their_callers() -> None:
    """Views that are held share nothing; a view that was changed and dropped leaves no trace."""
    with plimsoll.open("s", store="memory:", max_tokens=50_000, format="anthropic", project=False) as session:
        session.extend(MESSAGES)
        session.append({"role": "assistant", "content": "done"})
        views = [session.view() for _ in range(4)]
        before = json.dumps(views[0])
        for view in views[1:]:
            view[1]["content"][0]["input"]["n"] = 7
        assert json.dumps(views[0]) == before
        del views, view
        for _ in range(3):
            session.view()[1]["content"][0]["input"]["n"] = 8
            assert json.dumps(session.view()) == before
