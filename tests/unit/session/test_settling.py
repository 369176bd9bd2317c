"""A view with calls that nobody answered is put in order as it grows, as if it were put in order anew each time."""

from __future__ import annotations

import random
from time import process_time

import pytest

import plimsoll
from generated import FORMATS, random_broken_history


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
def test_a_growing_view_is_put_in_order_as_if_anew(format: str) -> None:
    """Whatever is missing, comes late or comes twice, each view is what all of its entries together give."""
    rng = random.Random(5)
    for _ in range(40):
        with plimsoll.open("one", store="memory:", max_tokens=900_000, format=format) as session:
            recorder = session._recorder
            for message in random_broken_history(rng, format):
                session.append(message)
                state = recorder.state
                shown, entries = list(state.sendable()), state.entries
                if not state.normalizer.is_settled:
                    anew = state.sending.settled(entries)
                    assert [entry.message for entry in shown] == [entry.message for entry in anew]
                    assert state.missing_tokens == sum(entry.tokens for entry in anew) - state.tokens


@pytest.mark.slow
def test_a_call_without_a_result_does_not_make_every_view_slow() -> None:
    """A view that waits for a result from long ago costs about as much as one that waits for none."""
    spent = {}
    for answered in (True, False):
        with plimsoll.open("one", store="memory:", max_tokens=900_000, format="openai-chat") as session:
            call = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            session.append({"role": "assistant", "content": None, "tool_calls": [call]})
            if answered:
                session.append({"role": "tool", "tool_call_id": "a", "content": "found"})
            session.extend([{"role": "user", "content": f"line {number}"} for number in range(1_500)])
            session.view()
            times = []
            for number in range(30):
                session.append({"role": "user", "content": f"more {number}"})
                began = process_time()
                session.view()
                times.append(process_time() - began)
        spent[answered] = min(times)

    assert spent[False] < 4 * spent[True]
