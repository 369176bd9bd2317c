"""Of a long talk only the statements that may enter its summary are said short and weighed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.message import text_message
from plimsoll.summary import dense
from plimsoll.summary.ledger import Ledger, decisions, extend
from plimsoll.summary.ledger.draft import LedgerDraft
from plimsoll.summary.ledger.fact import RECALLED_OF_PEERS, Fact
from plimsoll.summary.listening import likely, listen
from plimsoll.summary.names_zh import NOISE, QUESTION, may_ask, says
from plimsoll.summary.rules import render
from plimsoll.summary.topics import topics
from plimsoll.summary.vocabulary import SIGN_SUMS, SIGNS, read

CHATTER = ("It was really nice to talk with you about it all again!", "Thanks, that sounds good, I hope so too.")
TOLD = "My sister Ilse sold her yellow sailing boat to a dentist in Bergen last Friday."


def said(*texts: str) -> list[Fact]:
    """Chat facts of two speakers in turn."""
    return [
        Fact("chat", f"{place}", text, place, "user", note="Ann" if place % 2 == 0 else "Ben", last=place)
        for place, text in enumerate(texts)
    ]


def test_what_says_most_for_its_length_is_likely_wherever_it_stands() -> None:
    """One telling statement among a hundred of chatter is among the few that are looked at, first, last or in the middle."""
    for place in (0, 50, 100):
        facts = said(*[CHATTER[at % 2] for at in range(place)], TOLD, *[CHATTER[at % 2] for at in range(100 - place)])
        assert place in likely(listen(facts), facts, [1.0] * len(facts), 60)


@pytest.mark.parametrize("word", ["at修复", "the北京in上海", "修复at", "'s", "’s", "the", "to的"])
def test_words_of_two_scripts_carry_what_each_part_carries(word: str) -> None:
    """A function word beside a Chinese one carries nothing, and the talk is read."""
    assert all(read(word)[0])
    facts = said(*[f"We went {word} with Ann on day {number}, it was fine." for number in range(12)])
    assert len(listen(facts).gains) == 12


def test_an_answer_knows_its_question() -> None:
    """What another says after a question answers it; what the asker adds does not, nor what follows the answer."""
    facts = said("Where do you moor?", "At pier nine; near lock two.", "Ah, the long one.")
    assert listen(facts).asked == [-1, 0, -1]
    assert [clause.text.startswith("(Where moor?)") for clause in dense.clauses(facts)].count(True) == 1


def test_what_answers_or_was_chosen_before_adds_more_and_names_of_speakers_add_nothing() -> None:
    """The words are the same; what they are worth is not."""
    answer = listen(said("Where do you moor?", "At pier nine.")).gains[1]
    remark = listen(said("There you moor.", "At pier nine.")).gains[1]
    known, *_ = facts = said("The kettle is red.", "The kettle is red.")
    chosen = listen([known._replace(state=RECALLED_OF_PEERS), *facts[1:]]).gains

    assert answer > remark
    assert chosen[0] > chosen[1]
    assert listen(said("Ann, Ben!", "Ann.")).gains == [0.0, 0.0]


def test_a_weight_moves_a_statement_up() -> None:
    """What is worth more by its weight comes in before an equal one."""
    facts = said("The kettle is red metal.", "The ladder is green steel.")
    assert likely(listen(facts), facts, [1.0, 4.0], 1) == [1]


def test_few_statements_of_a_long_talk_are_said_short(monkeypatch: pytest.MonkeyPatch, counter: Any) -> None:
    """A summary of a twentieth of a talk shortens less than a third of its statements."""
    shortened: list[str] = []
    shorten = dense.shorten
    monkeypatch.setattr(dense, "shorten", lambda text, callings: shortened.append(text) or shorten(text, callings))
    texts = [f"{'Ann' if at % 2 else 'Ben'}: I sold boat {at} to a dentist called Rui{at} in May." for at in range(400)]
    messages = [text_message("user" if at % 2 else "assistant", text) for at, text in enumerate(texts)]
    summary = render(extend(Ledger.empty(), messages, 0), tokens_max=400, counter=counter)
    assert 0 < summary.tokens <= 400
    assert len(shortened) < 400 / 3


def test_a_talk_that_repeats_itself_still_fills_its_summary(counter: Any) -> None:
    """Where the best statements all say the same in other words, those behind them are read as well."""
    same = [f"Ann: The dredger anchor winch motor gearbox bearing shaft broke{'!' * at}" for at in range(1, 31)]
    other = [
        f"Ben: So that was how it was with all of us and the cake and boat{at}x then and there, and over again."
        for at in range(200)
    ]
    messages = [text_message("user", text) for text in [*same, *other]]
    text = render(extend(Ledger.empty(), messages, 0), tokens_max=150, counter=counter).text
    assert text.count("gearbox") == 1
    assert text.count("cake") > 3


@given(st.text("？?吗么呢什哪里谁多少几点个怎久大长钱是否啥没你有名 ，码头"))
def test_every_chinese_question_is_one_that_may_ask(text: str) -> None:
    """Whatever the pattern of questions finds in a text, the quick check in front of it finds as well."""
    assert may_ask(text) or QUESTION.search(text) is None


@given(st.text("那它我们知道请问什么多少哪里怎样码头\n"))
def test_a_chinese_text_says_something_if_two_characters_of_it_are_no_noise(text: str) -> None:
    """As many as are left where all noise is taken out, which takes longer."""
    assert says(text) is (len(NOISE.sub("", text)) >= 2)


def test_an_answer_is_looked_through_for_its_question_only_before_a_short_reply(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A long reply says itself what it is about; a short one gets the question in front of it, also in the next reading."""
    looked: list[str] = []
    question = decisions.question
    monkeypatch.setattr(decisions, "question", lambda text: looked.append(text) or question(text))
    talk = [
        text_message("assistant", "Which pier, A or B?"),
        text_message("user", "Neither, " + "we stay at sea. " * 9),
    ]
    ledger = extend(Ledger.empty(), talk * 3, 0)
    assert looked == []
    ledger = extend(ledger, [text_message("assistant", "May I cast off?")], 6)
    assert looked == ["May I cast off?"]
    assert extend(ledger, [text_message("user", "Yes.")], 7).of("request")[-1].note == "May I cast off?"


def test_topics_are_of_the_whole_talk() -> None:
    """What was spoken of for long at the beginning is one, however much was said since."""
    facts = said(*["How deep is the northern quay?"] * 300, *["Is the ferry late?"] * 900)
    found = topics(Ledger.empty(), facts, "en", 800, named=True, spread=listen(facts).spread)

    assert {"northern quay", "ferry late"} <= {item.text for item in found}


def test_a_copy_of_a_draft_knows_the_last_question() -> None:
    """Also where nobody has asked for it yet."""
    draft = LedgerDraft({}, {}, "")
    draft.heard("May I cast off?")

    assert draft.copied().asked() == draft.asked() == "May I cast off?"


def test_a_statement_of_several_lines_is_one() -> None:
    """A log that somebody changed may hold a statement with line ends in it; its words are still its own."""
    facts = said("I sold\nthe boat\n", "To whom?", TOLD)
    talk = listen(facts)
    assert len(talk.gains) == 3
    assert max(range(3), key=talk.gains.__getitem__) == 2


def test_a_word_said_many_times_in_one_statement_is_still_worth_something() -> None:
    """A word counts at most once for each statement there is, so none is worth less than nothing."""
    talk = listen(said("Buoy, buoy, buoy, buoy, buoy, buoy, buoy!", "What is it?"))
    assert talk.worth("buoy") > 0
    assert min(talk.gains) >= 0


def test_of_equal_statements_the_newest_are_likely() -> None:
    """Where all say as much, those said last are looked at."""
    facts = said(*[f"The kettle is red, {number}." for number in range(10, 40)])
    assert likely(listen(facts), facts, [1.0] * len(facts), 60)[-1] == 29


@pytest.mark.parametrize(
    ("part", "stems", "signs"),
    [
        ("(Camping),", ("camp",), 0.0),
        ("Yesterday!", ("yesterday",), SIGNS["time"]),
        ("I've", (), SIGNS["first"]),
        ("well-known", ("well-known",), 0.0),
        ("yesterday;today", ("yesterday", "today"), SIGNS["time"]),
        ("walked!you", ("walk",), SIGNS["event"] + SIGNS["second"]),
        ("$12", ("$12",), SIGNS["digit"]),
    ],
)
def test_each_part_of_a_text_is_read_by_its_words(part: str, stems: tuple[str, ...], signs: float) -> None:
    """Marks around a word carry nothing, and what several words of one part tell alike is told once."""
    assert read(part)[0] == stems
    assert SIGN_SUMS[read(part)[1]] == pytest.approx(signs)
