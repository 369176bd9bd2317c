"""Where each message of a view came from: positions that a caller finds its own objects by."""

from __future__ import annotations

import json
import pickle
import random
from collections import Counter
from typing import Any

import pytest

import plimsoll
import proof
from generated import FORMATS, random_broken_history, random_history
from hostile import random_hostile_history
from plimsoll.errors import CannotFit

Wire = dict[str, Any]

CASES = 60
SHARES = (0.1, 0.3, 0.6, 0.9, 1.5)
MAKERS = (random_history, random_history, random_broken_history, random_hostile_history)


def check(given: list[Wire], messages: list[Wire], origins: Any) -> None:
    """Assert what is true of the origins of any view of the messages that were given."""
    assert len(origins) == len(messages)
    assert all(0 <= position < len(given) for positions in origins for position in positions)
    assert all(list(positions) == sorted(set(positions)) for positions in origins)


def check_words(given: list[Wire], messages: list[Wire], origins: Any) -> None:
    """Where nothing had to be repaired, a message says only what its origins say, and one that is unchanged has its own."""
    known = Counter(map(json.dumps, given))
    unique = {json.dumps(wire): position for position, wire in enumerate(given) if known[json.dumps(wire)] == 1}
    for message, positions in zip(messages, origins, strict=True):
        position = unique.get(json.dumps(message))
        assert position is None or positions == (position,)
        assert not positions or proof.strange_words([message], [given[origin] for origin in positions]) == []


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_origins_of_a_fit_name_the_input(format: str) -> None:
    """Whatever comes in: positions are in range and in order, and an unchanged message has its own."""
    for number in range(CASES):
        rng = random.Random(number)
        messages = rng.choice(MAKERS)(rng, format)
        budget = max(20, int(plimsoll.count_tokens(messages, format=format) * rng.choice(SHARES)))
        plan_options: dict[str, Any] = {
            "max_tokens": budget,
            "format": format,
            "policy": rng.choice(("fill", "ladder")),
        }
        try:
            fitted = plimsoll.plan(messages, **plan_options).apply()
        except CannotFit:
            continue
        windowed = plimsoll.window(messages, max_tokens=1_000_000, format=format)
        check(messages, fitted.messages, fitted.origins)
        check(messages, windowed.messages, windowed.origins)
        if plimsoll.validate(messages, format=format) == []:
            firsts = [positions[0] for positions in fitted.origins if positions]
            assert firsts == sorted(firsts)
            check_words(messages, fitted.messages, fitted.origins)
            check_words(messages, windowed.messages, windowed.origins)


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_what_fits_is_where_it_was(format: str) -> None:
    """A valid history that fits has the positions 0, 1, 2, ..."""
    for number in range(50):
        messages = random_history(random.Random(number), format)
        fitted = plimsoll.fit(messages, max_tokens=100_000, format=format)
        assert fitted.origins == tuple((position,) for position in range(len(messages)))
        assert fitted.to_dict()["origins"] == [[position] for position in range(len(messages))]


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_origins_of_a_session_name_its_history(format: str) -> None:
    """The view of a session says where in the history each message was said; a copy of it still knows."""
    for number in range(12):
        rng = random.Random(number)
        messages = random_history(rng, format)
        budget = max(300, int(plimsoll.count_tokens(messages, format=format) * rng.choice(SHARES)))
        with plimsoll.open("origins", store="memory:", max_tokens=budget, format=format) as session:
            session.extend(messages)
            try:
                planned = session.preview().apply()
                view = session.view()
            except CannotFit:
                continue
            check(messages, planned.messages, planned.origins)
            check(messages, view, view.origins)
            check_words(messages, view, view.origins)
            assert session.peek().origins == view.origins
            again = pickle.loads(pickle.dumps(view))
            assert (again, again.origins) == (view, view.origins)


@pytest.mark.parametrize("tokens_max", [90, 10_000])
def test_the_messages_of_a_whole_response_have_its_position(tokens_max: int) -> None:
    """A caller who gave a response of several items finds it by the origins, also where messages after it stay."""
    said = {"type": "message", "role": "assistant", "id": "msg_1", "status": "completed"}
    blocks = [{"type": "output_text", "text": "a long answer " * 20, "annotations": []}]
    response = {
        "object": "response",
        "output": [{**said, "content": blocks}, {**said, "id": "msg_2", "content": blocks}],
    }
    given = [{"role": "user", "content": "one"}, response, {"role": "user", "content": "two"}]

    fitted = plimsoll.fit(given, max_tokens=tokens_max)

    check(given, fitted.messages, fitted.origins)
    assert fitted.origins[-1] == (2,)
    assert tokens_max < 10_000 or fitted.origins == ((0,), (1,), (1,), (2,))
