"""Callers without a session compact what they got back again and again: the past keeps its dates and its share of the room."""

import re
from itertools import pairwise
from typing import Any

import pytest

import plimsoll

PLACES = ("Lisbon", "Oslo", "Quito", "Perth", "Kyoto", "Malta", "Turin", "Accra", "Delhi", "Lima", "Cork", "Minsk")
PETS = ("otter", "heron", "gecko", "ferret", "llama", "magpie", "newt", "panda", "quail", "raven", "stoat", "toad")


def talk() -> list[dict[str, Any]]:
    """Two people over twelve months: each session begins with its date and has a few things to remember in it."""
    messages = []
    for month, (place, pet) in enumerate(zip(PLACES, PETS, strict=True), 1):
        lines = [
            f"[Session {month}, 4:41 pm on {month + 2} March, {2000 + month}]\nAnna: Hey Bert! How have you been?",
            f"Bert: Great, thanks! I moved to {place} yesterday and adopted a {pet} called {pet.title()}bell.",
            "Anna: Wow, that sounds amazing! What made you decide on it?",
            f"Bert: My sister Hilde works at the {place} harbour, so we signed a lease for {month + 3} years.",
            "Anna: Awesome, I am so happy for you. You always find the nicest things in life, that is inspiring.",
            "Bert: Thanks so much! Your words are always so kind, I will remember them gladly.",
            f"Anna: By the way, I started a {pet} painting this week. It will hang in the town hall of {place}.",
            "Bert: No way, that is fantastic news, congratulations! I can't wait to see it, tell me more soon.",
        ]
        messages += [
            {"role": "user" if line.lstrip("[").startswith(("S", "A")) else "assistant", "content": line}
            for line in lines
        ]
    return messages


def chained(history: list[dict[str, Any]], budget: int, rounds: int = 10) -> list[dict[str, Any]]:
    """The view after so many compactions, each of the last view and a further part of the history."""
    cuts = [len(history) * (3 + part) // (3 + rounds) for part in range(rounds + 1)]
    view = plimsoll.fit(history[: cuts[0]], max_tokens=budget).messages
    for start, end in pairwise(cuts):
        view = plimsoll.fit([*view, *history[start:end]], max_tokens=budget).messages
    return view


def summary_of(view: list[dict[str, Any]]) -> str:
    """The text of the summary in a view."""
    return next(str(message["content"]) for message in view if "Summary of" in str(message["content"]))


@pytest.mark.slow
@pytest.mark.spec("W1-13")
def test_ten_compactions_keep_about_what_one_does() -> None:
    """Facts of the first months are there after ten compactions, about as many as after one of the same history."""
    history = talk()
    once, ten = (
        " ".join(str(message["content"]) for message in view)
        for view in (plimsoll.fit(history, max_tokens=900).messages, chained(history, 900))
    )
    told = [*PLACES, *(f"{pet.title()}bell" for pet in PETS)]

    kept, kept_by_one = (sum(fact in text for fact in told) for text in (ten, once))
    assert kept >= kept_by_one - 2
    assert all(fact in ten for fact in ("Lisbon", "Otterbell"))


@pytest.mark.slow
def test_the_summary_has_the_share_of_the_whole_history() -> None:
    """What earlier summaries stand for counts when the room is shared: after ten compactions most of it is the summary."""
    view = chained(talk(), 900)
    share = plimsoll.count_tokens(summary_of(view)) / 900

    assert share > 0.7


@pytest.mark.slow
def test_a_date_in_front_of_a_summary_dates_nothing_after_it() -> None:
    """The first message stays and has a date; what was said long after it is not put under that date again."""
    headings = re.findall(r"^\[(\d+ March 20\d\d|\d+ Mar 20\d\d)\]$", summary_of(chained(talk(), 900)), re.MULTILINE)

    assert len(headings) > 3
    assert len(headings) == len(set(headings))
    years = [int(heading[-4:]) for heading in headings]
    assert years == sorted(years)
