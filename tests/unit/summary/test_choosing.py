"""Which statements are chosen: by what they add, for what they and their headings cost."""

from __future__ import annotations

import os
import subprocess
import sys

from plimsoll.summary.choosing import Candidate, ranked
from plimsoll.summary.item import Item


def said(place: int, text: str, heading: str, *, worth: float = 1.0) -> Candidate:
    """A statement each word of which says something."""
    item = Item("chat", text, 0.0, (place, place, 0), heading, "Ann")
    return item, dict.fromkeys(text.split(), 1.0), "Ann", worth


def test_a_statement_under_an_open_heading_comes_before_a_little_better_one_under_another() -> None:
    """The line of a day costs as much as a short statement."""
    told = [
        said(0, "larch saves money", "5 March", worth=1.3),
        said(1, "slate costs extra", "6 March", worth=1.2),
        said(2, "Baloise insures it", "5 March"),
    ]

    assert [item.order[0] for item in ranked(told, 200, 18, heading=24)] == [0, 2, 1]
    assert [item.order[0] for item in ranked(told, 200, 18, heading=0)] == [0, 1, 2]


def test_each_statement_is_chosen_once_also_where_its_heading_opens_late() -> None:
    """What costs less since its heading is open stands twice in the queue, and once in the summary."""
    told = [said(at, f"word{at} thing{at}", f"{at % 3} May", worth=1.0 + at / 100) for at in range(30)]
    chosen = ranked(told, 10_000, 18, heading=24)

    assert sorted(item.order[0] for item in chosen) == list(range(30))
    assert [item.value for item in chosen] == sorted((item.value for item in chosen), reverse=True)


_SAME_WORDS_IN_ANOTHER_ORDER = """
from plimsoll.summary.choosing import ranked
from plimsoll.summary.item import Item
from plimsoll.summary.room import allot

candidates = []
for at in range(80):
    words = [f"word{(at // 2 + n * n) % 31}" for n in range(7)][:: -1 if at % 2 else 1]
    item = Item("chat", f"{at:02} " + " ".join(words), 0.0, (at, at, 0), "", "Ann")
    candidates.append((item, {word: 90 / (3 + int(word[4:])) for word in words}, "Ann", 1.0))
shares = {f"s{at}": 0.1 * at for at in range(1, 20)}
print([item.order[0] for item in ranked(candidates, 10_000, 18, heading=24)], allot(dict.fromkeys(shares, 900), shares, 950))
"""


def test_statements_of_equal_worth_and_shares_of_room_are_the_same_in_every_process() -> None:
    """Python orders a set of strings anew in each process, and a sum of floats depends on the order."""
    printed = {
        subprocess.check_output(
            [sys.executable, "-c", _SAME_WORDS_IN_ANOTHER_ORDER], env={**os.environ, "PYTHONHASHSEED": str(seed)}
        )
        for seed in range(4)
    }

    assert len(printed) == 1
