"""Messages as the log keeps them, from the moment they are appended."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from plimsoll.compaction.normalize import HistoryNormalizer
from plimsoll.formats.registry import format_named
from plimsoll.message import ToolCall
from plimsoll.policy.policy import policy_named

GRIN = "\U0001f600"
HALVES = "\ud83d\ude00"


def call(arguments: str) -> dict[str, Any]:
    """An assistant's message whose only text is deep inside it."""
    function = {"name": "look", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": function}],
    }


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({"role": "user", "content": f"a {HALVES}"}, {"role": "user", "content": f"a {GRIN}"}),
        (
            {"role": "user", "content": "a", "extra_content": {HALVES: 1}},
            {"role": "user", "content": "a", "extra_content": {GRIN: 1}},
        ),
        (call(HALVES), call(GRIN)),
        ({"role": "user", "content": "half \ud83d"}, {"role": "user", "content": "half \ud83d"}),
        ({"role": "user", "content": f"whole {GRIN}"}, {"role": "user", "content": f"whole {GRIN}"}),
    ],
)
def test_halves_of_a_character_are_joined_at_once(tmp_path: Path, said: dict[str, Any], kept: dict[str, Any]) -> None:
    """JSON cannot keep two halves of a character apart, so view and history have the whole before and after reopening."""
    with plimsoll.open("x", store=tmp_path, project=False) as session:
        session.append(said)
        before = session.history(), session.view()
    with plimsoll.open("x", store=tmp_path, project=False) as session:
        after = session.history(), session.view()

    assert before == after
    assert before[0] == [kept]
    assert before[1][0] == kept


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5"])
@pytest.mark.parametrize(("count", "is_cut"), [(74, False), (76, True)])
def test_few_characters_may_be_many_tokens(model: str, count: int, *, is_cut: bool) -> None:
    """A result is cut on arrival by its tokens, of which a character can have four, however short its text is."""
    asked, content = call("{}"), "\U00012000" * count
    tokens = plimsoll.count_tokens(content, model=model)
    policy = policy_named("ladder", tool_result_tokens_max=tokens * 75 // count)
    with plimsoll.open("x", store="memory:", model=model, max_tokens=100_000, policy=policy) as session:
        session.extend([asked, {"role": "tool", "tool_call_id": "c1", "content": content}])
        shown = session.view()[1]["content"]

    assert (shown != content) == is_cut


def test_a_copied_arranger_is_the_same() -> None:
    """Whatever a normalizer holds is in the copy that an append is worked out with."""
    normalizer = HistoryNormalizer(format_named("openai-chat"), lambda _: 0, {"a"})
    for number, field in enumerate(fields(normalizer)):
        if field.name in ("newest", "begun", "answering", "in_sequence", "out_of_place", "has_empty_answer"):
            setattr(normalizer, field.name, number or 1)
    normalizer.lost, normalizer.asked, normalizer.answers = [ToolCall(id="x", name="y", arguments="")], {"x"}, {"x": 2}
    copied = normalizer.copied()

    assert {field.name: getattr(copied, field.name) for field in fields(copied) if field.name != "seen_ids"} == {
        field.name: getattr(normalizer, field.name) for field in fields(normalizer) if field.name != "seen_ids"
    }
    assert "a" in copied.seen_ids
    copied.new_ids.add("b")
    assert "b" not in normalizer.seen_ids | normalizer.new_ids, "an append that fails has added no ids"
