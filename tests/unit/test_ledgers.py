"""Ledgers in a log: each compaction writes what it changed, and reading them back gives the ledger as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest

import workloads
from plimsoll.formats.registry import decode_all
from plimsoll.records.ledgers import Ledgers, ledger_data
from plimsoll.summary.ledger import Ledger, extend


def written(count: int) -> tuple[dict[int, dict[str, Any]], list[Ledger]]:
    """The `ledger` fields of records 0, 1, ... of a session, and the ledgers they stand for."""
    _, messages = decode_all(workloads.work(5, count * 4), None)
    records: dict[int, dict[str, Any]] = {}
    ledgers = [Ledger.empty()]
    shelf = Ledgers(records.__getitem__)
    step = len(messages) // count
    for number in range(count):
        start = number * step
        ledger = extend(ledgers[-1], messages[start : start + step], start)
        since = number - 1 if number else None
        before, chars = shelf.at(since)
        records[number] = json.loads(json.dumps(ledger_data(before, ledger, since, chars)))
        ledgers.append(ledger)
    return records, ledgers[1:]


@pytest.mark.slow
def test_read_back() -> None:
    """Every ledger is read back as it was, from changes and now and then a whole one, in any order."""
    records, ledgers = written(16)
    assert {"whole", "changes"} <= {key for record in records.values() for key in record}
    for order in (range(16), reversed(range(16)), (3, 12, 4, 4, 0, 15)):
        shelf = Ledgers(records.__getitem__)
        for number in order:
            assert shelf.at(number)[0] == ledgers[number]


@pytest.mark.slow
def test_reading_does_not_grow_with_the_session() -> None:
    """A whole ledger is written again before the changes are longer than one: so many records are read at most, however many
    compactions there were, and the log grows by no more than the facts do.
    """
    records, ledgers = written(120)
    whole = [number for number, record in records.items() if "whole" in record]
    assert len(whole) > 3
    for number in (40, 80, 119):
        asked: list[int] = []
        Ledgers(lambda seq, asked=asked: (asked.append(seq), records[seq])[1]).at(number)
        changes = sum(len(json.dumps(records[seq])) for seq in asked if "whole" not in records[seq])
        assert "whole" in records[asked[-1]]
        assert changes <= 1.5 * len(json.dumps(ledgers[number].to_dict()))


@pytest.mark.slow
def test_the_next_is_read_from_its_own_changes() -> None:
    """Going on from the ledger at hand reads one record a compaction, and nothing twice."""
    records, _ = written(16)
    asked: list[int] = []
    shelf = Ledgers(lambda seq: (asked.append(seq), records[seq])[1])
    for number in range(16):
        shelf.at(number)
        shelf.at(number)

    assert asked == list(range(16))


def test_the_beginning() -> None:
    """Before the first compaction there is nothing, whatever was read before."""
    records, _ = written(3)
    shelf = Ledgers(records.__getitem__)
    shelf.at(2)

    assert shelf.at(None) == (Ledger.empty(), 0)
