"""In talk of people among themselves nobody asks the model for anything: its first message stays no longer than the others."""

from __future__ import annotations

from typing import Any

import pytest

import plimsoll

MAILS = [
    f"From: {('Dora Marks <dora@a.example>', 'Henk Vos <henk@b.example>')[at % 2]}\nTo: all\nDate: {at + 2} Mar 2026 09:14\n"
    f"Subject: Re: the barn\n\nBeam {at} weighs {at + 310} kilos and comes from Namur on day {at}. Nobody may lift it alone."
    for at in range(24)
]
LINES = [
    f"{('Ingrid', 'Tom', 'Lucille')[at % 3]}: Gate {at} costs {at + 340} euros and opens on day {at}."
    for at in range(60)
]
ASKED = "Summarise what Henk promised."


def first_user_message(messages: list[dict[str, Any]], tokens_max: int) -> str:
    """What a view of these begins with in the user's role."""
    view = plimsoll.fit(messages, max_tokens=tokens_max, model="gpt-4o").messages
    return next(message["content"] for message in view if message["role"] == "user")


def by_users(texts: list[str]) -> list[dict[str, Any]]:
    """The texts as messages of users."""
    return [{"role": "user", "content": text} for text in texts]


@pytest.mark.parametrize("texts", [MAILS, LINES, [*MAILS, ASKED], [*MAILS[:8], ASKED]])
def test_the_first_of_many_mails_or_speakers_is_summarised_like_the_others(texts: list[str]) -> None:
    """Its words take no room that facts need; the newest message stays."""
    messages = by_users(texts)

    assert first_user_message(messages, 400).startswith("[Summary of messages m0 to ")
    assert texts[-1] in plimsoll.fit(messages, max_tokens=400, model="gpt-4o").messages[-1]["content"]


@pytest.mark.parametrize(
    "messages",
    [
        by_users([ASKED, *MAILS]),
        by_users([text for line in LINES for text in (line, "Where does that stand in the plan of this week?")]),
        by_users([f"Task: paint gate {at} in colour {at * 7}, and note what it cost." for at in range(60)]),
        [
            {
                "role": ("user", "assistant")[at % 2],
                "content": f"{('Question', 'Thought')[at % 2]}: gate {at} is {at * 7}.",
            }
            for at in range(60)
        ],
    ],
)
def test_a_first_message_that_asks_stays(messages: list[dict[str, Any]]) -> None:
    """What has no name in front, one label alone, and what an assistant answers are no talk of people."""
    assert first_user_message(messages, 400).startswith(messages[0]["content"][:20])
