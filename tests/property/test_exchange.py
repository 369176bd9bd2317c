"""Exchanges: every message in exactly one, and no call apart from its results."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plimsoll
from amounts import examples
from generated import FORMATS
from plimsoll.compaction.normalize import MOVED, normalize
from plimsoll.formats.convert import validate
from plimsoll.formats.exchange import group
from plimsoll.formats.registry import decode_all
from strategies import broken_histories, formats, histories

QUICK = settings(max_examples=examples(60), deadline=None)


@pytest.mark.parametrize("format", FORMATS)
@QUICK
@given(data=st.data())
def test_every_message_is_in_one_exchange(format: Any, data: st.DataObject) -> None:
    """Exchanges partition any history, broken or not, in order."""
    _, messages = decode_all(data.draw(histories(format) | broken_histories(format)), format)
    exchanges = group(messages)

    assert [message for exchange in exchanges for message in exchange.messages] == messages
    assert [exchange.start for exchange in exchanges] == [0, *(exchange.end for exchange in exchanges[:-1])][
        : len(exchanges)
    ]


@pytest.mark.spec("W0-07")
@pytest.mark.parametrize("format", FORMATS)
@QUICK
@given(data=st.data())
def test_a_valid_history_has_its_results_beside_its_calls(format: Any, data: st.DataObject) -> None:
    """In a valid history each exchange has the results of all its calls, and no other; only the last may lack some (W0-07)."""
    _, messages = decode_all(data.draw(histories(format)), format)
    for exchange in group(messages):
        calls = sorted(call.id for call in exchange.calls)
        assert sorted(result.call_id for result in exchange.results) == calls
        assert not exchange.pending


@pytest.mark.spec("W0-07", "W1-11", "W2-04")
@settings(max_examples=examples(150), deadline=None)
@given(data=st.data(), format=formats)
def test_any_part_of_a_history_by_exchanges_is_valid(data: st.DataObject, format: Any) -> None:
    """Whichever exchanges of a valid history leave, no call and no result is alone in what stays (W0-07, W1-11, W2-04)."""
    wires = data.draw(histories(format))
    _, messages = decode_all(wires, format)
    exchanges = group(messages)
    stays = data.draw(st.lists(st.booleans(), min_size=len(exchanges), max_size=len(exchanges)))
    kept = [
        wires[at]
        for exchange, stay in zip(exchanges, stays, strict=True)
        if stay
        for at in range(exchange.start, exchange.end)
    ]
    codes = {found.code for found in validate(kept, format=format)}

    assert not codes & {"result_without_call", "call_without_result", "duplicate_result", "duplicate_id"}


@pytest.mark.spec("W1-06", "W1-11")
@settings(max_examples=examples(200), deadline=None)
@given(data=st.data(), format=formats)
def test_arranging_makes_any_history_valid(data: st.DataObject, format: Any) -> None:
    """What was broken is sent as valid, and no message is there twice but for late results moved to several answers (W1-06, W1-11)."""
    wires = data.draw(histories(format) | broken_histories(format))
    found, messages = decode_all(wires, format)
    normalized = normalize(messages, found, lambda _: 0)

    assert validate(plimsoll.fit(wires, max_tokens=1_000_000, format=format).messages, format=format) == []
    places = [item.position for item in normalized if item.position is not None and MOVED not in item.repairs]
    assert sorted(set(places)) == sorted(places)


@settings(max_examples=examples(300), deadline=None)
@given(data=st.data(), format=formats)
def test_what_a_provider_takes_and_what_fits_stays_as_it_is(data: st.DataObject, format: Any) -> None:
    """Late results, answers in pieces, odd orders: what is valid and fits comes back equal."""
    wires = data.draw(histories(format) | broken_histories(format))
    if validate(wires, format=format) == []:
        assert plimsoll.fit(wires, max_tokens=1_000_000, format=format).messages == wires
