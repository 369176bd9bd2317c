"""Of values that a user changed, the newest stays longest."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import plimsoll
from plimsoll.summary.updates import worth
from spent import cpu_s

CHANGE = (
    "I've been pre-approved for $350,000 by Wells Fargo for the house.",
    "By the way, Wells Fargo has now pre-approved me for $400,000.",
)
TOLD = (
    "I met {0} in {1} last week and we bought a tent.",
    "My friend {0} is moving to {1} in {2} weeks.",
    "I paid ${2}0 for the {3} at the shop in {1}.",
    "I went to {1} with {0} for {2} days and saw a play.",
    "I started at 7:{2} and walked {2} miles with {0}.",
)
PEOPLE = ("Maya", "Omar", "Lin", "Petra", "Hugo", "Aisha", "Colin")
PLACES = ("Lisbon", "Oslo", "Kyoto", "Bergen", "Leeds", "Naples", "Cork")
FILLER = (
    "garden fence",
    "jazz piano",
    "bread oven",
    "kayak trip",
    "book club",
    "desk lamp",
    "leaking tap",
    "wool coat",
)


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
    """A chat of 60 turns, of which two tell one value and its change."""
    choose = Random(seed)
    turns = {choose.randint(0, 25): CHANGE[0], choose.randint(30, 59): CHANGE[1]}
    messages: list[dict[str, Any]] = []
    for turn in range(60):
        told = [
            choose.choice(TOLD).format(
                choose.choice(PEOPLE), choose.choice(PLACES), choose.randint(11, 29), choose.choice(FILLER)
            )
            for _ in range(2)
        ]
        topic = choose.choice(FILLER)
        said = " ".join(filter(None, (turns.get(turn), *told, f"What do you think about the {topic}?")))
        answer = f"For the {topic}, start with a plan and set aside an hour. Keep notes of what works for you."
        messages += [{"role": "user", "content": said}, {"role": "assistant", "content": answer}]
    return [*messages, {"role": "user", "content": "And now?"}]


@pytest.mark.parametrize("seed", range(6))
def test_an_old_value_is_not_shown_without_the_new_one(seed: int) -> None:
    """Where there is not room for all that was told."""
    for tokens_max in (500, 650, 800):
        shown = str(plimsoll.fit(_talk(seed), max_tokens=tokens_max, model="gpt-4o"))

        assert "$400,000" in shown or "$350,000" not in shown


def test_many_statements_with_the_same_words_take_linear_time() -> None:
    """Only the last few with a word are compared."""

    def weigh(text: str) -> list[float]:
        return worth([(f"{text} of ${at}", _words(f"{text} of ${at}")) for at in range(20_000)])

    assert cpu_s(weigh, "bank mortgage") < 1
