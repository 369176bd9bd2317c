"""A summary in little room: no more stays empty than its share, and topics stand only where no statement fits instead."""

import pytest

import plimsoll
from plimsoll.message import text_message
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.summary.rules import RuleSummary, render

SAID = [
    text_message(("user", "assistant")[at % 2], f"In {1700 + at} Ana sold {at} boats to Ben in Port {at * 37 % 991}.")
    for at in range(300)
]
ROOMS = range(300, 700, 7)


@pytest.fixture(scope="module")
def summaries() -> dict[int, RuleSummary]:
    """The summary of statements that are all as long, by its room."""
    ledger = extend(Ledger.empty(), SAID, 0)
    return {room: render(ledger, tokens_max=room, counter=plimsoll.token_counter()) for room in ROOMS}


def test_no_more_stays_empty_than_half_a_statement_while_statements_wait(summaries: dict[int, RuleSummary]) -> None:
    """Whatever the room is and whatever was dropped to fit it, topics or a statement take what is left."""
    empty = {room: room - summary.tokens for room, summary in summaries.items()}

    assert {room: tokens for room, tokens in empty.items() if tokens > max(9, room * 0.02)} == {}


def test_topics_stand_where_no_statement_fits_instead(summaries: dict[int, RuleSummary]) -> None:
    """Of summaries in little room some name the topics, and others say one statement more."""
    named = ["Topics: " in summary.text for summary in summaries.values()]

    assert 0 < sum(named) < len(named)
