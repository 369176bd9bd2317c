"""How often a summary is rendered while its room is shared out: not twice for the same, and not for a small gain."""

from __future__ import annotations

import random
from typing import Any

import pytest

import plimsoll
from plimsoll.compaction import summary_message
from plimsoll.compaction.summarise import SPARE_SHARE, SPARE_TOKENS


def conversation(number: int) -> list[dict[str, Any]]:
    """Requests, and answers of different lengths."""
    rng = random.Random(1)
    messages = [{"role": "user", "content": "Please mend the parser. " * 5}]
    for at in range(number):
        said = f"I looked at module {at}. " + "It seems right. " * rng.randrange(20)
        asked = f"Then look at file src/part{at}.py and say what it does with value {rng.randrange(9999)}."
        messages += [{"role": "assistant", "content": said}, {"role": "user", "content": asked}]
    return messages


@pytest.fixture
def renders(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, int]]:
    """The facts and the room of each rendering of a summary."""
    made: list[tuple[Any, int]] = []
    render = summary_message.render

    def recorded(ledger: Any, *, tokens_max: int, **options: Any) -> Any:
        made.append((ledger.facts, tokens_max))
        return render(ledger, tokens_max=tokens_max, **options)

    monkeypatch.setattr(summary_message, "render", recorded)
    return made


@pytest.mark.parametrize(("number", "share"), [(20, 0.2), (20, 0.3), (20, 0.5), (60, 0.1), (60, 0.2), (60, 0.5)])
def test_a_summary_is_rendered_again_only_where_that_gains_something(
    renders: list[tuple[Any, int]], number: int, share: float
) -> None:
    """No facts are rendered twice in the same room, nor in room that is larger by less than what is worth it."""
    messages = conversation(number)
    budget = int(plimsoll.count_tokens(messages) * share)
    assert plimsoll.fit(messages, max_tokens=budget).report.tokens_after <= budget

    assert renders
    for at, (facts, room) in enumerate(renders):
        rooms = [given for known, given in renders[:at] if known == facts]
        assert room not in rooms
        gained = room - max([given for given in rooms if given < room], default=0)
        assert gained >= max(SPARE_TOKENS, int(budget * SPARE_SHARE) - 1)


@pytest.mark.parametrize("share", [0.17, 0.2, 0.25, 0.3])
def test_room_too_small_for_an_exchange_is_the_summarys_before_it_is_rendered(
    renders: list[tuple[Any, int]], share: float
) -> None:
    """What the tail leaves is no reason for a second rendering, and does not stay empty."""
    messages = conversation(60)
    budget = int(plimsoll.count_tokens(messages) * share)
    view = plimsoll.fit(messages, max_tokens=budget).messages

    assert len(renders) == 1
    assert plimsoll.count_tokens(view) > budget * 0.98


def calls(number: int, names: int) -> list[dict[str, Any]]:
    """A request, and calls that read files in which so many functions are defined."""
    rng = random.Random(2)
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Find out why the parser fails on part 7."}]
    for at in range(number):
        function = {"name": "read_file", "arguments": f'{{"path": "p{at}.py"}}'}
        said = f"The cause of failure {rng.randrange(9999)} was found in part {at}: it is reset twice."
        lines = [f"def parse_part{at}_{line}(value): return {rng.randrange(99)}" for line in range(names)]
        lines += [f"    value = compute({rng.randrange(99)})" for _ in range(40 - names)]
        calls = [{"id": f"c{at}", "type": "function", "function": function}]
        messages += [
            {"role": "assistant", "content": said, "tool_calls": calls},
            {"role": "tool", "tool_call_id": f"c{at}", "content": "\n".join(lines)},
        ]
    return messages


def test_a_summary_that_leaves_room_is_rendered_twice(renders: list[tuple[Any, int]]) -> None:
    """Once for its size, and once beside the messages that stay in the room that it leaves."""
    messages = calls(80, names=10)
    budget = plimsoll.count_tokens(messages) // 5
    assert plimsoll.count_tokens(plimsoll.fit(messages, max_tokens=budget).messages) > budget * 0.98
    assert len(renders) == 2


def test_the_same_messages_are_not_summarised_again_in_the_same_room(renders: list[tuple[Any, int]]) -> None:
    """Where sharing the room out once more changes nothing, it ends."""
    messages = calls(80, names=3)
    plimsoll.fit(messages, max_tokens=plimsoll.count_tokens(messages) // 5)
    rooms = [room for _, room in renders]
    assert len(rooms) == len(set(rooms))
