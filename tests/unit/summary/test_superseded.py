"""What an assistant tells again: the newest state and the newest version of a text hold, the older ones are not told."""

from __future__ import annotations

from typing import Any

import pytest
from summary_conversation import called

from plimsoll.message import text_message
from plimsoll.summary.excerpt import excerpt
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.summary.rules import render
from plimsoll.summary.superseded import current, labels_of

WEATHER = ("A dry wind from the hills.", "Clouds over the lower field.", "Swallows fly low today.", "Fog until ten.")


def greenhouse(days):
    """A talk about a greenhouse, in which the assistant ends each turn with what is in store."""
    messages = []
    for day in range(days):
        told = f"{WEATHER[day % 4]} Bed {day + 3} was watered by Marta.\n\n*Water: {90 - day} l | Seedlings {12 + day} | Frost nights: {day}*"
        messages += [
            text_message("user", f"I close the hatch of bed {day + 3} and wait."),
            text_message("assistant", told),
        ]
    return messages


def ledger_of(messages):
    """The ledger of these messages."""
    return extend(Ledger.empty(), messages, 0)


@pytest.mark.parametrize("tokens_max", [150, 300, 700])
def test_of_a_state_that_ends_each_turn_the_newest_is_told(tokens_max, counter):
    """Whoever reads on needs what is in store now; yesterday's numbers would be taken for it."""
    text = render(ledger_of(greenhouse(12)), tokens_max=tokens_max, counter=counter).text

    assert "Water: 79 l | Seedlings 23 | Frost nights: 11" in text
    assert text.count("Seedlings") == 1


def test_in_a_run_with_tools_the_newest_state_is_told_as_well(counter):
    """A message with a call between them changes nothing."""
    pairs = [greenhouse(8)[at : at + 2] for at in range(0, 16, 2)]
    probe = called("probe", {"bed": "a"}, "moist", call_id="p")
    text = render(ledger_of([m for pair in pairs for m in (*pair, *probe)]), tokens_max=400, counter=counter).text

    assert "Seedlings 19" in text
    assert text.count("Seedlings") == 1


@pytest.mark.parametrize(
    ("line", "labels"),
    [
        ("[HP 18/22 | Gold: 40 | Pack: rope, lamp]", ("hp", "gold", "pack")),
        ("【体力 18｜金币：40】", ("体力", "金币")),
        ("Round: 3; Score: 12", ("round", "score")),
        ("Score: 12", ()),
        ("We met at noon; it rained", ()),
        ("a | b | c", ()),
        ("", ()),
    ],
)
def test_a_line_of_fields_is_known_by_its_labels(line, labels):
    """Two labels with values make a line of state; a single field may be of many things."""
    assert labels_of(line) == labels


def test_items_of_a_list_with_equal_labels_all_stay():
    """Three boats in one message are three boats, and lines a long talk has now and then are of different things."""
    boats = [text_message("assistant", "\n".join(f"- Boat: B{n} | Berths: {n}" for n in range(2, 6)))]
    ledger = ledger_of([text_message("user", "Which boats are there?"), *boats, text_message("user", "And cars?")])
    assert len(current(ledger.of("chat")).facts) == len(ledger.of("chat"))

    rare = [text_message("assistant", f"Car: C{n} | Seats: {n}") for n in range(3, 6)]
    between = [text_message("assistant", f"The ferry of hour {hour} is full again, I am sorry.") for hour in range(12)]
    spread = [m for n, car in enumerate(rare) for m in (car, *between[n * 4 : n * 4 + 4])]
    ledger = ledger_of([text_message("user", "Any cars?"), *spread])
    assert len(current(ledger.of("chat")).facts) == len(ledger.of("chat"))


SPEECH = [
    "Dear neighbours, the bridge at Hollow Lane has stood for ninety-one years.",
    "Its timbers were cut in the winter of 1934 by the brothers Lund.",
    "For the children of the mill it was the way to school, in any weather.",
    "The council has put aside 60,000 crowns for its repair.",
    "What is missing is a crew of eight people on the second Saturday of May.",
    "Bring gloves, a saw if you own one, and something for the common table.",
    "Whoever cannot carry can cook, and whoever cannot cook can sing.",
]


def test_a_version_of_a_text_that_was_written_again_is_not_told(counter):
    """A figure that the user had corrected stands only in the version before: it is not told as if it were true."""
    newer = [line.replace("60,000", "45,000").replace("eight", "ten") for line in SPEECH]
    messages = [
        text_message("user", "Draft a short speech for the bridge day, please."),
        text_message("assistant", "\n\n".join(SPEECH)),
        text_message("user", "It is 45,000 crowns, and we need ten people."),
        text_message("assistant", "\n\n".join(newer)),
        text_message("user", "Good. Is there anything about the river in it?"),
        text_message("assistant", "Nothing so far; I could add the flood of 1951."),
    ]
    text = render(ledger_of(messages), tokens_max=700, counter=counter).text

    assert "45,000" in text
    assert "60,000" not in text
    assert "eight people" not in text


def test_what_a_user_tells_again_stays():
    """A diary in lines of one shape is a history: the older entries are not replaced."""
    days = [
        m
        for day in range(6)
        for m in (
            text_message("user", f"Steps: {day}100 | Weight: {80 - day}.5 kg | Sleep: {day}"),
            text_message("assistant", f"Noted, day {day} is a quiet one for you."),
        )
    ]
    told = [fact.text for fact in current(ledger_of(days).of("chat")).facts]
    assert sum("Steps" in text for text in told) == 6


@pytest.mark.parametrize(
    "said",
    ["Lovely, that is it: never move the second verse.", "Yes!! Great, never move the second verse."],
)
def test_an_instruction_behind_praise_is_a_constraint(said, counter):
    """What the user insists on is verbatim, also where the sentence begins with something else."""
    talk = [
        m
        for verse in range(9)
        for m in (
            text_message("user", f"How does verse {verse} sound to you with the bells in it?"),
            text_message("assistant", f"Verse {verse} sounds heavy, the bells come in before bar {verse + 4}."),
        )
    ]
    text = render(ledger_of([*talk[:6], text_message("user", said), *talk[7:]]), tokens_max=260, counter=counter).text
    assert "- never move the second verse" in text.lower()


NOTICE = "The stalls stay open until six as every year. "
MARKET = [
    "Stall {n} goes to Ines{n} for {n}4 crowns.",
    "The tent of row {n} leaks at pole {n}7.",
    "Row {n} wants its lamp {n}9 back from the depot.",
]


def market(weeks):
    """A user who pastes notes of meetings about a market, and an assistant that confirms what is in them."""
    messages = [
        text_message("user", "I paste you my notes on the spring market."),
        text_message("assistant", "Please do."),
    ]
    for n in range(1, weeks + 1):
        lines = [line.format(n=n) for line in MARKET]
        pasted = f"Notes of week {n}:\n" + "\n".join(f"- {line}" for line in [*[NOTICE] * 12, *lines, *[NOTICE] * 12])
        messages += [
            text_message("user", pasted),
            text_message("assistant", f"Noted for week {n}: {lines[0]} {lines[1]}"),
        ]
    return messages


def test_what_an_assistant_confirms_takes_no_room_of_what_else_was_said(counter):
    """A user's notes that are read back are told once, and the phrase that all notes have at most once."""
    text = render(ledger_of(market(6)), tokens_max=280, counter=counter).text

    assert text.count("stalls stay open") <= 1
    assert sum(f"Ines{n}" in text for n in range(1, 7)) == 6
    assert sum(f"lamp {n}9" in text for n in range(1, 7)) >= 4


@pytest.mark.parametrize("tokens_max", [900, 1_500])
def test_pasted_notes_are_no_request(tokens_max, counter):
    """A long text that neither begins nor ends with a wish is told by its statements; one that does is a request."""
    notes = market(3)
    wanted = text_message("user", f"Make a poster out of this, please.\n\n{NOTICE * 30}")
    requests = render(ledger_of(notes), tokens_max=tokens_max, counter=counter).text.partition("Said by")[0]
    asked = render(ledger_of([*notes, wanted]), tokens_max=1500, counter=counter).text.partition("Said by")[0]

    assert "\n- I paste you my notes" in requests
    assert requests.count("\n- ") == 1
    assert "Make a poster" in asked


def test_an_excerpt_of_a_request_shows_what_it_repeats_once():
    """The room is for what else it says."""
    short = excerpt(f"Make a poster out of this. {NOTICE * 9}Ines brings the paint on Friday. {NOTICE * 9}", 150)

    assert short.count("stalls stay open") == 1
    assert "Ines brings the paint" in short


def test_a_statement_with_a_limiting_word_behind_a_comma_is_no_instruction(counter):
    """The tent stands without a pole: nobody is told to do anything."""
    talk = market(2)
    talk[2] = text_message("user", "Notes of week 1: the tent stood all night, without a pole; it was only Tuesday.")
    assert "without a pole" not in render(ledger_of(talk), tokens_max=300, counter=counter).text.partition("Said by")[0]


def test_talk_of_other_languages_keeps_its_words(counter):
    """What is an article in English is a preposition in Italian, and a verb in Dutch: only English talk is told without."""
    italian = [
        m
        for hour in range(7, 15)
        for m in (
            text_message(
                "user", f"Alle {hour} porto la cassa {hour}3 a Paolo, poi vado a Siena con il furgone grande."
            ),
            text_message(
                "assistant", f"Bene: la cassa {hour}3 va a Paolo alle {hour}, e il furgone resta a Siena fino a sera."
            ),
        )
    ]
    text = render(ledger_of(italian), tokens_max=400, counter=counter).text

    assert "vado a Siena" in text
    assert "vado Siena" not in text


def test_what_little_a_user_says_comes_before_an_assistants_many_proposals(counter):
    """A garden is planned: the user's short answers are what holds of the long proposals before them."""
    beds = ("peonies", "currants", "asters", "fennel", "quinces", "lovage", "salvia", "hops")
    talk = []
    for at, bed in enumerate(beds):
        proposal = " ".join(
            f"Corner {at}{part} takes {part + 2} rows of Kessel{at}{part} at {30 + part * 7} cm from the wall of Tor{part}{at}."
            for part in range(6)
        )
        talk += [
            text_message("assistant", proposal),
            text_message("user", f"Fine, {bed} in corner {at}3, the rest stays lawn."),
        ]
    text = render(ledger_of([text_message("user", "We plan my garden."), *talk]), tokens_max=260, counter=counter).text

    assert sum(bed in text for bed in beds) >= 7


class Counted:
    """A fact that counts how often its place is looked at."""

    looks = 0

    def __init__(self, number: int) -> None:
        self.origin, self.key, self.last, self.mentions = "assistant", str(number), number, 1
        self.text = f"{''.join(chr(97 + int(digit)) for digit in str(number))}: 1 | gold: 2"
        self._position = number

    @property
    def position(self) -> int:
        """The number of its message."""
        Counted.looks += 1
        return self._position


def test_many_lines_of_different_labels_are_linear() -> None:
    """Each fact is looked at a few times, however many lines have labels of their own."""
    Counted.looks = 0
    facts: Any = [Counted(number) for number in range(500)]

    assert current(facts).facts == facts
    assert Counted.looks < 20 * len(facts)
