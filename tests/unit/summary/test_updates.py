"""Of values that a user changed, the newest stays longest."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from typing import Any

import pytest

import plimsoll
from plimsoll.summary.updates import worth
from spent import cpu_s

CHANGES = (
    (
        "I've been pre-approved for $350,000 by Wells Fargo for the house.",
        "By the way, Wells Fargo has now pre-approved me for $400,000.",
    ),
    ("My personal best in the charity 5K is 27:12.", "I just beat my personal best in the 5K, it is 25:50 now."),
    ("I have 20 titles on my to-watch list.", "My to-watch list has grown to 25 titles."),
    ("My yoga class is on Tuesdays with Rina.", "My yoga class moved to Thursdays, still with Rina."),
    ("My rent is $1,450 a month.", "My rent went up to $1,600 a month."),
)
TOLD = (
    "I met {0} in {1} last {4} and we bought {3}.",
    "My friend {0} is moving to {1} in {2} weeks.",
    "I paid ${2}0 for {3} at the shop in {1}.",
    "I went to {1} with {0} for {2} days and saw a play.",
    "{0} gave me {3} for my {2}th anniversary.",
    "I started at 7:{2} and walked {2} miles with {0}.",
    "I signed up for a class in {1} that starts on the {2}th.",
    "I returned {3} to {0} on {4}.",
)
PEOPLE = ("Maya", "Omar", "Lin", "Petra", "Hugo", "Aisha", "Colin", "Rosa", "Ken", "Daria")
PLACES = ("Lisbon", "Oslo", "Kyoto", "Bergen", "Austin", "Leeds", "Naples", "Cork", "Turin", "Ghent")
THINGS = ("a bread machine", "a tent", "a cello", "two lamps", "a bike rack", "a camera", "a desk", "a kayak", "a rug")
DAYS = ("Monday", "Tuesday", "Wednesday", "Saturday", "Sunday")


def _words(text: str) -> dict[str, float]:
    return dict.fromkeys(text.lower().split(), 3.0)


@pytest.mark.parametrize(
    ("earlier", "later", "replaces"),
    [
        ("bank approved mortgage of $350,000", "bank approved mortgage of $400,000", True),
        ("yoga class Tuesdays Rina", "yoga class moved Thursdays", True),
        ("bank approved mortgage of $350,000", "told bank of mortgage of $350,000", False),
        ("bank approved mortgage of $350,000", "kitchen has 4 windows", False),
        ("yoga class on Tuesdays", "yoga class was fun", False),
    ],
)
def test_a_statement_with_another_value_of_the_same_matter_replaces_the_earlier(
    earlier: str, later: str, *, replaces: bool
) -> None:
    """By another number, or a word that says that something changed."""
    old, new = worth([(text, _words(text)) for text in (earlier, later)])

    assert (old < 1 < new) == replaces
    assert replaces or (old, new) == (1, 1)


def _talk(seed: int) -> list[dict[str, Any]]:
    """A chat of 60 turns, in which a few values are told and change later."""
    choose = Random(seed)
    turns: dict[int, list[str]] = defaultdict(list)
    for before, after in CHANGES:
        turns[choose.randint(0, 25)].append(before)
        turns[choose.randint(30, 59)].append(after)
    messages: list[dict[str, Any]] = []
    for turn in range(60):
        for _ in range(choose.randint(0, 2)):
            people, things = (
                (choose.choice(PEOPLE), choose.choice(PLACES)),
                (choose.choice(THINGS), choose.choice(DAYS)),
            )
            turns[turn].append(choose.choice(TOLD).format(*people, choose.randint(11, 29), *things))
        said = " ".join((*turns[turn], "What do you think about houseplants?"))
        answer = f"Set aside {choose.randint(10, 90)} minutes a day. Keep notes of what works for you. Would you like a plan?"
        messages += [{"role": "user", "content": said}, {"role": "assistant", "content": answer}]
    return [*messages, {"role": "user", "content": "And now?"}]


@pytest.mark.parametrize("seed", range(6))
def test_an_old_value_is_not_shown_without_the_new_one(seed: int) -> None:
    """Where there is not room for all that was told."""
    view = plimsoll.fit(_talk(seed), max_tokens=400, model="gpt-4o").messages
    shown = "\n".join(message["content"] for message in view)

    assert "$400,000" in shown or "$350,000" not in shown


def test_many_statements_with_the_same_words_take_linear_time() -> None:
    """Only the last few with a word are compared."""

    def weigh(text: str) -> list[float]:
        return worth([(f"{text} of ${at}", _words(f"{text} of ${at}")) for at in range(20_000)])

    assert cpu_s(weigh, "bank mortgage") < 1
