"""Statements said short: what goes, and what must stay apart."""

from __future__ import annotations

import pytest

from plimsoll.message import text_message
from plimsoll.summary import dense
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.summary.ledger.fact import Fact
from plimsoll.summary.listening import listen
from plimsoll.summary.vocabulary import read, says_something, worth


def fact(text: str, note: str = "Ann") -> Fact:
    """One chat fact."""
    return Fact("chat", text, text, 0, "user", note=note)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("we're vegetarian, well my wife is, I eat fish", "vegetarian, well wife, eat fish"),
        ("Really, I moved to Bonn", "moved to Bonn"),
        ("it is um the uh old boat", "old boat"),
    ],
)
def test_a_comma_stays_where_the_word_before_it_goes(text: str, short: str) -> None:
    """Two clauses never run into one."""
    assert dense.shorten(text) == short


def test_speech_without_punctuation_is_split_at_its_connectives() -> None:
    """A long run of words is several statements; a short one is one."""
    text = "my grandfather kept hives behind his pub in hereford and i got stung on the eyelid when i was six but i kept asking"

    assert [clause.text for clause in dense.clauses([fact(text)])][:2] == [
        "grandfather kept hives behind his pub in hereford",
        "got stung on eyelid when six",
    ]
    assert len(dense.clauses([fact("i got a boat and i sold the house")])) == 1


def test_japanese_statements_end_without_their_full_stop() -> None:
    """They are joined by semicolons."""
    assert [clause.text for clause in dense.clauses([fact("神戸の学校に転勤になります。")])] == [
        "神戸の学校に転勤になります"
    ]


@pytest.mark.parametrize("word", ["ich", "je", "yo", "eu", "я", "저는"])
def test_who_speaks_of_themselves_is_heard_in_other_languages(word: str) -> None:
    """As `I` is in English."""
    assert read(word)[1] == read("i")[1] != read("usted")[1] == read("you")[1]


def test_an_amount_of_money_is_a_number() -> None:
    """Also where its sign stands in front."""
    assert worth("$400,000", 1, 100) == worth("400,000", 1, 100) > worth("pound", 1, 100)
    assert says_something(["offer", "$400,000"])


def test_an_assistant_that_answers_says_nothing_special() -> None:
    """It always answers; a person's answer has its question in front of it."""
    asked = fact("What should I offer?", "user")
    assert listen([asked, fact("That depends.", "assistant")]).asked == [-1, -1]
    assert listen([fact("Which street?", "assistant"), fact("Elm Street.", "user")]).asked == [-1, 0]


@pytest.mark.parametrize(
    ("text", "is_question"),
    [
        ("how do i remove red wine", True),
        ("Write me a poem", True),
        ("What a day we had", False),
        ("I wrote a poem", False),
    ],
)
def test_a_task_of_the_user_is_a_question_without_its_mark(text: str, *, is_question: bool) -> None:
    """It tells little about who asks."""
    (said,) = extend(Ledger.empty(), [text_message("user", text)], 0).of("chat")

    assert (said.state == "question") == is_question
