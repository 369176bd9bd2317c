"""The ledger of a few messages less is what reading those alone would give."""

from __future__ import annotations

import random

import pytest

from generated import random_history
from plimsoll import limits
from plimsoll.formats.registry import decode_all
from plimsoll.message import Message
from plimsoll.summary.ledger import Ledger, Reading, extend
from plimsoll.summary.ledger import ledger as ledgers


def conversation(seed: int, count: int) -> list[Message]:
    """That many messages of an agent's work."""
    rng = random.Random(seed)
    found: list[Message] = []
    while len(found) < count:
        found += decode_all(random_history(rng, "openai-chat"))[1]
    return found[:count]


@pytest.mark.slow
@pytest.mark.parametrize("close_max", [600, 60])
@pytest.mark.parametrize("seed", range(6))
def test_a_reading_gives_the_ledgers_of_fewer_messages(
    seed: int, close_max: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `extend` does, whether all are read closely or not; where it cannot, it says so."""
    monkeypatch.setattr(limits, "LEDGER_CLOSE_MESSAGES_MAX", close_max)
    messages = conversation(seed, 150 + seed)
    base = extend(Ledger.empty(), messages[:10], 0) if seed % 2 else Ledger.empty()
    reading = Reading(base, messages, 0)
    assert reading.ledger == extend(base, messages, 0)
    found = 0
    for count in range(len(messages) - 20, len(messages) + 1):
        known = reading.ledger_of(messages[:count], 0)
        assert known in (None, extend(base, messages[:count], 0))
        found += known is not None
    assert found > 5
    assert reading.ledger == extend(base, messages, 0)


def test_other_messages_are_read_anew() -> None:
    """Another start, other words, and more than was read."""
    messages = conversation(1, 60)
    reading = Reading(Ledger.empty(), messages, 0)
    assert reading.ledger_of(messages[1:55], 1) is None
    assert reading.ledger_of([messages[1], *messages[1:55]], 0) is None
    assert reading.ledger_of([*messages, messages[0]], 0) is None
    assert reading.ledger_of(messages[:20], 0) is None


def test_what_stays_is_read_from_the_nearest_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not from the beginning."""
    messages = conversation(2, 120)
    reading = Reading(Ledger.empty(), messages, 0)
    read: list[int] = []
    monkeypatch.setattr(ledgers._Reader, "read", lambda _, __, position: read.append(position))
    assert reading.ledger_of(messages[:110], 0) is not None
    assert read == list(range(104, 110))
