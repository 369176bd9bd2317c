"""Statements said short: what goes, and what must stay apart."""

from __future__ import annotations

from typing import Any

import pytest

from plimsoll.message import text_message
from plimsoll.summary import dense, dense_zh, names_zh, talk
from plimsoll.summary.labels import CHINESE
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.summary.ledger.fact import LIST, Fact
from plimsoll.summary.listening import listen, taken_up
from plimsoll.summary.rules import render
from plimsoll.summary.vocabulary import read, says_something, worths


def fact(text: str, note: str = "Ann") -> Fact:
    """One chat fact."""
    return Fact("chat", text, text, 0, "user", note=note)


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("we're vegetarian, well my wife is, I eat fish", "vegetarian, well wife, eat fish"),
        ("Really, I moved to Bonn", "moved to Bonn"),
        ("it is um the uh old boat", "old boat"),
        ("They're, uh, six hours ahead", "They're six hours ahead"),
        ("at, let me see, the second pier", "at second pier"),
    ],
)
def test_a_comma_stays_where_the_word_before_it_goes(text: str, short: str) -> None:
    """Two clauses never run into one."""
    assert dense.shorten(text) == short


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("The Savoia is too dear", "Savoia too dear"),
        ("I keep bees, too", "keep bees"),
        ("You sent 250 😂 I'll send back 225", "You sent 250, send back 225"),
        ("It shouldn't be more than twelve", "shouldn't be more than twelve"),
        ("We sleep at Inken's on the last night", "sleep at Inken's on the last night"),
        ("We meet at 8 am on Friday", "meet at 8 am on Friday"),
        ("It may be from the ramipril", "may be from ramipril"),
        ("I have to be careful", "have to be careful"),
        ("I booked My Story Figueira, that is Plan A", "booked My Story Figueira, that Plan A"),
        ("That I'm sad because it rains", "sad because it rains"),
    ],
)
def test_a_word_that_readers_mostly_do_without_stays_where_it_says_something(text: str, short: str) -> None:
    """Too much is not much, a.m. is no verb, what must be is not yet, and a name is whole."""
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
    worth = worths({"$400,000": 1, "400,000": 1, "pound": 1}, 100)
    assert worth["$400,000"] == worth["400,000"] > worth["pound"]
    assert says_something(["offer", "$400,000"])


@pytest.mark.parametrize("text", ["Good morning everybody!", "yay 😂😂", "good evening, wow"])
def test_greetings_and_pictures_of_feelings_say_nothing(text: str) -> None:
    """They take the room of what is asked later."""
    assert dense.shorten(text) == ""


def test_a_number_in_words_is_a_figure() -> None:
    """Speakers of a meeting say no digits."""
    assert read("eighty")[1] == read("seventy-five")[1] == read("75")[1]
    assert read("two")[1] == read("boats")[1]


def test_the_name_of_a_firm_ends_no_sentence_that_goes_on() -> None:
    """What stands behind it is of the same statement."""
    text = "I bought it at Lumen & Co. for $980. Then I left the Co. We ran."

    assert [said.text for said in extend(Ledger.empty(), [text_message("user", text)], 0).of("chat")] == [
        "I bought it at Lumen & Co. for $980.",
        "Then I left the Co.",
        "We ran.",
    ]


def test_an_assistant_that_answers_says_nothing_special() -> None:
    """It always answers; a person's answer has its question in front of it."""
    asked = fact("What should I offer?", "user")
    assert listen([asked, fact("That depends.", "assistant")]).asked == [-1, -1]
    assert listen([fact("Which street?", "assistant"), fact("Elm Street.", "user")]).asked == [-1, 0]


def test_what_a_user_answers_an_assistant_is_worth_what_it_says() -> None:
    """An assistant ends most answers with a question; among people with names an answer is what is asked for later."""
    asked, told = "What would you like to do next?", "My street was flooded in May."
    of_user = listen([fact(asked, "assistant"), fact(told, "user")])
    of_ben, of_ann = listen([fact(asked, "Ann"), fact(told, "Ben")]), listen([fact(asked, "Ann"), fact(told, "Ann")])

    assert of_user.gains[1] == of_ann.gains[1] < of_ben.gains[1]


def test_a_user_tells_of_himself_without_an_i_too() -> None:
    """Who writes to an assistant leaves the `I` out: "Booked the hall for Friday."."""
    told = [fact("Booked the hall for Friday.", name) for name in ("user", "assistant", "Ann")]
    of_user, of_assistant, of_ann = (listen([said]).gains[0] for said in told)
    factors = [found.factor for said in told for found in dense.clauses([said])]

    assert of_user > of_assistant == of_ann
    assert factors[0] > factors[1] == factors[2]


def test_a_sentence_that_takes_back_another_is_joined_to_it() -> None:
    """What was broken off is not what holds."""
    text = "We take two big batteries... no wait, small ones. Hmm... I went home. Wait for me."

    assert [fact.text for fact in extend(Ledger.empty(), [text_message("user", text)], 0).of("chat")] == [
        "We take two big batteries, no wait, small ones.",
        "Hmm...",
        "I went home.",
        "Wait for me.",
    ]


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


@pytest.mark.parametrize(
    "text",
    [
        "Slow Horses (Apple TV+) - disgraced spies",
        "QA needs three days, and it is only Mei who knows how",
        "Andina – ceviche, so we both ate well",
    ],
)
def test_what_goes_on_with_the_same_thing_is_one_statement(text: str) -> None:
    """Behind a dash between spaces, or a conjunction, stands what is said of what was named in front of it."""
    assert len(dense.clauses([fact(text)])) == 1


def test_a_dash_without_spaces_and_an_ellipsis_begin_another_statement() -> None:
    """But a range of numbers is one."""
    assert len(dense.clauses([fact("I sold the blue boat—Ilse bought a red tandem")])) == 2
    assert len(dense.clauses([fact("I sold the blue boat... Ilse bought a red tandem")])) == 2
    assert len(dense.clauses([fact("The red tandem costs 300–400 crowns")])) == 1


def test_what_an_assistant_names_is_taken_up_where_the_user_says_it_later() -> None:
    """Of what is recommended the choice of the user counts; what the user named first is no choice."""
    said = [
        fact("Where in Portland can we eat?", "user"),
        fact("In Portland there are Farm Spirit and Harlow.", "assistant")._replace(origin="assistant"),
        fact("There is also Andina, which serves fish.", "assistant")._replace(origin="assistant"),
        fact("ok, andina it is", "user"),
    ]

    assert taken_up(said) == {2}


def test_a_chosen_recommendation_and_the_names_of_a_list_come_before_advice(counter: Any) -> None:
    """In a summary of little room, for the same number of characters."""
    advice = " ".join(
        f"Try to {verb} every week before winter." for verb in ("knead", "sieve", "polish", "stretch", "rinse")
    )
    texts = [
        *("Where can we eat fish?", f"{advice} You can reserve a table at Casa Andina. {advice}"),
        *("andina it is, I booked a table", "Lovely."),
        *(
            "And a bakery?",
            "Here are some bakeries:\n- Nuvrei - croissants\n- Ken's Artisan - sourdough\n- Grand Central - rye",
        ),
    ]
    messages = [text_message("user" if at % 2 == 0 else "assistant", text) for at, text in enumerate(texts)]
    text = render(extend(Ledger.empty(), messages, 0), tokens_max=90, counter=counter).text

    assert "Casa Andina" in text
    assert "bakeries: Nuvrei, Ken's Artisan, Grand Central" in text
    assert "polish" not in text


def test_a_short_sentence_that_names_whom_the_next_one_means_is_joined_to_it() -> None:
    """A pronoun alone would name nobody."""
    text = "Tom apologised! He brought me sunflowers. I liked them very much when we met. He smiled. Did he? It rained."

    assert [fact.text for fact in extend(Ledger.empty(), [text_message("user", text)], 0).of("chat")] == [
        "Tom apologised, He brought me sunflowers.",
        "I liked them very much when we met.",
        "He smiled.",
        "Did he?",
        "It rained.",
    ]


def test_of_a_talk_too_long_for_a_ledger_the_users_statements_and_names_in_lists_stay() -> None:
    """However early they were said; the other sentences of the assistant go first."""
    advice = " ".join(f"Tip {{0}}.{tip} is to fold sheet {{0}} along edge {tip}." for tip in range(30))
    books = "Here are some books:\n- The Wager - a wreck\n- Entangled Life - fungi\n- The Perfect Storm - a boat"
    texts = [f"I adopted kitten number {at}." if at % 2 == 0 else advice.format(at) for at in range(240)]
    messages = [
        text_message("user" if at % 2 == 0 else "assistant", text)
        for at, text in enumerate([*texts[:3], books, *texts[4:]])
    ]
    kept = extend(Ledger.empty(), messages, 0).of("chat")

    assert sum(fact.origin == "user" for fact in kept) == 120
    assert any("Entangled Life" in fact.text for fact in kept if fact.state == LIST)
    assert len(kept) < 2_500


def test_a_recommended_title_is_worth_more_than_a_praised_one() -> None:
    """Chinese talk has both words in both."""
    told = [
        fact("我推荐《解忧杂货店》，东野圭吾写的", "assistant")._replace(position=1),
        fact("《解忧杂货店》真不错，值得推荐，东野圭吾写的", "assistant")._replace(position=3),
    ]
    factors = {statement.text[:2]: statement.factor for statement in dense_zh.statements(told, [])}

    assert factors["我推"] > 4 * factors["《解"]


def test_what_questions_ask_for_is_counted_once_in_each_run_of_characters() -> None:
    """An attribute is what several questions have, not what one repeats; it stands behind 的 too."""
    told = "塔的塔高是九丈。桥的塔高是三丈。塔的船号是甲。桥的船号是乙。"
    questions = ["塔高塔高塔高是什么？", "塔高是什么？", *["船号是什么？"] * 3]
    facts = [fact(text) for text in (*questions, told)]
    found = dense_zh.attributes(facts, names_zh.one_of([]), "\n".join([*questions, told]))
    assert found["船号"] == 3
    assert "塔高" not in found


def test_a_title_is_a_topic_whatever_characters_it_has() -> None:
    """In its marks a name has commas, or words that other names are no topics for."""
    told = ["你知道《你好，李焕英》吗？", "知道，《你好，李焕英》是2021年的电影。", "《你好，李焕英》票房很高。"]
    assert names_zh.topics(list(map(fact, told))) == ["你好，李焕英"]


def test_a_short_chinese_clause_with_a_number_keeps_the_clause_that_says_of_what() -> None:
    """`干了28年` alone says of nobody what it counts."""
    said = fact("他以前在电影制片厂当录音师，干了28年。", note="assistant")

    assert [found.text for found in dense_zh.statements([said], [])] == ["他以前在电影制片厂当录音师，干了28年"]


def test_what_a_chinese_user_tells_of_her_own_is_not_of_the_topic_before() -> None:
    """Her father did not retire from the opera that the assistant named."""
    told = [
        fact("你知道歌剧魅影吗？", note="user"),
        fact("歌剧魅影是一九八六年首演的音乐剧。", note="assistant"),
        fact("我爸特别喜欢。", note="user"),
        fact("他2008年退休。", note="user"),
    ]
    facts = [said._replace(position=place) for place, said in enumerate(told)]

    topics = {found.text: found.topic for found in dense_zh.statements(facts, ["歌剧魅影"])}

    assert topics["他2008年退休"] == ""
    assert "歌剧魅影" in topics.values()


def test_a_chinese_answer_that_tells_of_the_speaker_has_no_noun_in_front() -> None:
    """Of two questions at once, it may answer the other one."""
    asked = [fact(f"店{at}的位置在哪里？", note="assistant") for at in range(3)]
    told = [fact("请问您的位置在哪里？", note="assistant"), fact("我姓欧阳，住枫林路88号。", note="user")]
    facts = [said._replace(position=place) for place, said in enumerate([*asked, *told])]

    assert [found.text for found in dense_zh.statements(facts, [])] == ["我姓欧阳，住枫林路88号"]


def test_a_chinese_number_in_words_is_a_particular() -> None:
    """A rent in words is asked for like one in digits."""
    facts = [fact("花店房租是每月六千五，"), fact("花店房间是每位客人的，")]

    assert [found.factor for found in dense_zh.statements(facts, [])] == [1.5, 1.0]


@pytest.mark.parametrize(("advice", "is_half"), [("", True), ("而且建议每天学习，" * 9, False)], ids=["half", "more"])
def test_a_chinese_user_of_few_words_decides_what_is_kept(advice: str, *, is_half: bool) -> None:
    """Where an assistant writes most of the talk, what the user says of herself comes first; between equals it does not."""
    said = [f"第{at}课的考试在{at}月{advice}" if at % 2 else f"苏州零件厂{at}车间在招质检。" for at in range(12)]
    ledger = extend(Ledger.empty(), [text_message(("user", "assistant")[at % 2], t) for at, t in enumerate(said)], 1)
    peers, *_ = talk.sections(ledger, CHINESE, lambda _: 1.0, 400, lambda _: False)

    assert ([item.label for item in peers.items[:4]] == ["user"] * 4) is not is_half
