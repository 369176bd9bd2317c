"""Who says what in a message that names its speakers."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll.formats.registry import decode_all
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.summary.ledger.turns import SpeakerTurn, turns
from plimsoll.summary.rules import render


@pytest.mark.parametrize(
    ("text", "turn"),
    [
        ("12/03/2023, 18:22 - Anna: hi", SpeakerTurn("Anna", "Anna: hi", "12/03/2023")),
        ("[12.03.23, 18:22:10] Anna Lee: hi", SpeakerTurn("Anna Lee", "Anna Lee: hi", "12.03.23")),
        ("3/12/23, 6:22 PM - +44 7700 900: hi", SpeakerTurn("+44 7700 900", "+44 7700 900: hi", "3/12/23")),
        ("[18:22] anna_l: hi", SpeakerTurn("anna_l", "anna_l: hi")),
        ("00:12:03 Anna: hi", SpeakerTurn("Anna", "Anna: hi")),
        ("Anna: hi", SpeakerTurn("Anna", "Anna: hi")),
        ("mike92: hi", SpeakerTurn("mike92", "mike92: hi")),
        ("#Person1#: hi", SpeakerTurn("#Person1#", "#Person1#: hi")),
        ("Анна: привет", SpeakerTurn("Анна", "Анна: привет")),
        ("李明：你好", SpeakerTurn("李明", "李明:你好")),
        ("민수: 안녕", SpeakerTurn("민수", "민수: 안녕")),
        ("I meet Anna at 18:22: hi", SpeakerTurn("", "I meet Anna at 18:22: hi")),
        ("18:22:01 ERROR: disk full", SpeakerTurn("", "18:22:01 ERROR: disk full")),
        ("18:22 is late", SpeakerTurn("", "18:22 is late")),
        ("8:30-17:45, closed on Monday", SpeakerTurn("", "8:30-17:45, closed on Monday")),
        ("8:30 - 17:45 on weekdays", SpeakerTurn("", "8:30 - 17:45 on weekdays")),
        ("https://example.org", SpeakerTurn("", "https://example.org")),
    ],
)
def test_a_message_names_its_speaker_with_or_without_a_time_stamp(text: str, turn: SpeakerTurn) -> None:
    """The label is the speaker, the time goes, and the day is kept apart."""
    assert turns(text) == [turn]


def test_each_line_of_an_exported_chat_has_its_own_speaker() -> None:
    """A line without a stamp goes on with what the line above it says."""
    text = "1/2/2023, 9:00 - Ann: hi\nhow are you\n1/2/2023, 9:01 - Bo: fine"

    assert [(turn.name, turn.text) for turn in turns(text)] == [("Ann", "Ann: hi\nhow are you"), ("Bo", "Bo: fine")]


def test_a_transcript_is_split_and_a_list_of_fields_is_not() -> None:
    """Most lines of a transcript have a label, and a label comes again."""
    assert [turn.name for turn in turns("Ann: hi\nBo: hello\nAnn: bye")] == ["Ann", "Bo", "Ann"]
    assert [turn.name for turn in turns("Price: 5\nSize: 4\nColour: red")] == ["Price"]


MAIL = """From: Nadia Ferrante <nadia@example.org>
To: Piotr Zielinski
Date: Mon, 4 Mar 2024 09:12
Subject: Greenhouse sensors

Dear Piotr, we need 48 sensors."""


def test_a_mail_is_said_by_who_wrote_it_on_its_day() -> None:
    """Its header names both; the subject of a reply says nothing new."""
    reply = MAIL.replace("Subject: ", "Subject: Re: ").replace("From", "Von").replace("Date", "Datum")

    assert turns(MAIL) == [
        SpeakerTurn(
            "Nadia Ferrante",
            "Nadia Ferrante: Greenhouse sensors.\nDear Piotr, we need 48 sensors.",
            "Mon, 4 Mar 2024 09:12",
        )
    ]
    assert turns(reply)[0].text == "Nadia Ferrante: Dear Piotr, we need 48 sensors."
    assert turns(reply)[0].day == "Mon, 4 Mar 2024 09:12"
    assert turns("From: the start\nI liked it.")[0].name == "From"


@pytest.mark.parametrize("more", ["", "Date: 3 May\n", "Date: 3 May\n\n"])
def test_a_journey_is_no_mail(more: str) -> None:
    """Where it ends is said by the user: only what mails alone have makes lines the header of a mail."""
    (turn,) = turns(f"From: Lisbon\nTo: Porto\n{more}With two bikes, never by bus.")

    assert "To: Porto" in turn.text
    assert "never by bus" in turn.text


@pytest.mark.parametrize("line", ["Sent: 4 May", "Cc: Eve", "Reply-To: Eve", "Gesendet: 4. Mai", "发送时间：5月4日"])
def test_a_line_that_mails_alone_have_makes_a_mail(line: str) -> None:
    """Who wrote it says what it says, also without a subject and an address."""
    (turn,) = turns(f"From: Ben\n{line}\nTo: Ann\n\nI pay 400 of the rent.")
    assert (turn.name, turn.text) == ("Ben", "Ben: I pay 400 of the rent.")


def test_a_chat_exported_line_by_line_is_summarised_by_day_and_speaker(counter: Any) -> None:
    """What stood in each stamp is said once: the day as a heading, who speaks in front of what they say."""
    people, streets = ("Marco", "Priya"), ("Elm", "Oak", "Ash", "Fir", "Yew", "Bay")
    messages = [
        {
            "role": "user",
            "content": f"1{day}/03/2023, 18:2{day} - {people[day % 2]}: i rented a house in {street} Street",
        }
        for day, street in enumerate(streets)
    ]
    ledger = extend(Ledger.empty(), decode_all(messages, "openai-chat")[1], 0)

    assert [fact.text for fact in ledger.of("heading")] == [f"1{day}/03/2023" for day in range(6)]
    assert {fact.note for fact in ledger.of("chat")} == set(people)
    assert not any("18:2" in fact.text for fact in ledger.of("chat"))
    shown = render(ledger, tokens_max=200, counter=counter).text
    assert "[12/03/2023]\nM: rented house in Ash Street" in shown


def test_a_day_that_begins_within_an_exported_chat_stands_beside_what_was_said_on_it() -> None:
    """The heading holds for the beginning of the message alone."""
    text = "01/02/2023, 9:00 - Ann: hi there\n02/02/2023, 9:01 - Bo: fine, my cat came back"
    ledger = extend(Ledger.empty(), decode_all([{"role": "user", "content": text}], "openai-chat")[1], 0)

    assert [fact.text for fact in ledger.of("chat")] == ["Ann: hi there", "Bo: fine, my cat came back (02/02/2023)"]
