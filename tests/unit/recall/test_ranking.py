"""What a search returns first, what it leaves out, and when it stops."""

import datetime as dt
import itertools
import json
import random

import pytest

from plimsoll.message import Message, Text, ToolResult, text_message
from plimsoll.recall.days import asked_days, day_of, day_said
from plimsoll.recall.index import Index
from plimsoll.recall.kinds import KINDS, NAMED_KINDS
from plimsoll.recall.search import search
from plimsoll.recall.units import NUMBER, OPENING, QUESTION, TIME, kinds_of, unit_ends
from plimsoll.recall.words import Terms, stem
from plimsoll.tokens.estimate import EstimatingCounter

COUNTER = EstimatingCounter()
FILLER = "The weather was calm and the crew painted the railing green all afternoon."


def found(texts, query, *, max_tokens=200, role=None):
    """The hits among messages of these texts, said in turn."""
    index = Index()
    for position, text in enumerate(texts):
        said = text if isinstance(text, Message) else text_message(role or ("user", "assistant")[position % 2], text)
        index.add(said, position)
    return search(index, query, shown=(), counter=COUNTER, max_tokens=max_tokens)


def days_apart(count):
    """Filler that differs from message to message."""
    return [f"Watch {number}: {FILLER} {chr(97 + number % 26) * 5}" for number in range(count)]


def test_an_answer_is_found_by_its_question():
    """The message after a question that has the words of the query is found, though it has none of them."""
    texts = [*days_apart(20), "知道恭王府吗？", "知道，很有名。", "它的门票要多少钱？", "40元。", *days_apart(20)]

    assert any(hit.text == "40元。" for hit in found(texts, "恭王府的门票是多少", max_tokens=60))


def test_what_was_said_before_carries_on():
    """Of two equal statements, the one said shortly after the query's name is first."""
    texts = [*days_apart(10), "Let us talk about the Meridian hotel.", "Sure.", "The lobby opens at nine.",
             *days_apart(20), "Let us talk about the Astoria hotel.", "Sure.", "The lobby opens at seven."]  # fmt: skip
    hits = [hit for hit in found(texts, "when does the Meridian lobby open") if "lobby" in hit.text]

    assert hits[0].text == "The lobby opens at nine."


def test_the_beginning_is_found_when_it_is_asked_for():
    """A question for the original request finds the first message of the user, whatever its words."""
    texts = ["Please repair the winch of the second lifeboat.", "I will.", *days_apart(30)]

    assert found(texts, "what did the user originally ask for?", max_tokens=60)[0].position == 0


def test_a_speaker_who_is_asked_about_comes_first():
    """What a person says outranks what others say to that person, where lines begin with the name of the speaker."""
    texts = ["Ann: Hi Ben, how is the boat, Ben?", "Ben: I sold the boat to my uncle.", "Ann: Ben, sold the boat?"] * 3
    texts = [f"{text} {number}" for number, text in enumerate(texts)]

    assert found(texts, "what did Ben do with the boat")[0].text.startswith("Ben:")


@pytest.mark.parametrize("query", ["who sang in May 2023", "who sang last May", "2023年5月 who sang"])
def test_a_day_that_is_asked_about_comes_first(query):
    """Of equal statements, the one that was said in the days that the question names is first."""
    texts = []
    for month in ("March", "May", "July", "September"):
        texts += [
            f"[Session, 9:00 am on 4 {month}, 2023]\nGood morning!",
            f"In the {month} concert, somebody sang well.",
        ]
        texts += days_apart(5)
    hits = found([text.replace(" May concert", " concert") for text in texts], query)

    first = next(hit for hit in hits if "sang" in hit.text)
    assert first.day == "2023-05-04"


def test_a_name_leads_on():
    """What a hit names is searched for too, where room is left."""
    texts = [*days_apart(30), "The repair was done by a yard called Norrvik.", *days_apart(30),
             "Norrvik sent its bill of 900 crowns.", *days_apart(30)]  # fmt: skip
    hits = found(texts, "who did the repair", max_tokens=400)

    assert any("900 crowns" in hit.text for hit in hits)


def test_a_search_stops_when_nothing_relevant_is_left():
    """The cap is not filled with what only stands near an answer."""
    texts = [*days_apart(30), "The beacon of pier nine blinks every seventeen seconds.", *days_apart(30)]
    hits = found(texts, "how often does the beacon blink", max_tokens=2000)

    assert "seventeen" in hits[0].text
    assert sum(COUNTER.upper(hit.text) for hit in hits) < 300


def test_neighbours_take_at_most_half():
    """What has no word of the query takes no more tokens than what has one."""
    texts = []
    for number in range(12):
        texts += [
            f"The beacon number {number} was painted {chr(97 + number) * 4}.",
            f"Oh, nice to hear it {number}! And the crew was calm all afternoon, every day of it.",
        ]
    hits = found(texts, "beacon painted", max_tokens=1000)
    answers = sum(COUNTER.upper(hit.text) for hit in hits if "beacon" in hit.text)
    neighbours = sum(COUNTER.upper(hit.text) for hit in hits if "beacon" not in hit.text)

    assert answers
    assert neighbours <= answers


def test_a_hit_in_json_is_a_whole_row():
    """A hit among rows of JSON has whole objects, with all their keys."""
    rows = ", ".join(
        f'{{"id": {number}, "name": "boat {number}", "owner": {{"first": "A{number}", "city": "Bergen"}}, "note": "{"x " * 40}"}}'
        for number in range(200)
    )
    result = Message(role="tool", parts=(ToolResult(call_id="a", content=f'{{"rows": [{rows}]}}'),))
    text = found([result], "boat 77 A77", max_tokens=300)[0].text

    assert '"id": 77' in text
    assert text.count("{") == text.count("}")
    assert '"note"' in text.split('"id": 77')[1]


@pytest.mark.parametrize(
    ("query", "first", "last"),
    [
        ("on 3 July 2023", "2023-07-03", "2023-07-03"),
        ("in July 2022", "2022-07-01", "2022-07-31"),
        ("last May", "2023-05-01", "2023-05-31"),
        ("last December", "2022-12-01", "2022-12-31"),
        ("on 2023-02-28", "2023-02-28", "2023-02-28"),
        ("yesterday", "2023-08-15", "2023-08-15"),
        ("last week", "2023-08-07", "2023-08-13"),
        ("上周说了什么", "2023-08-07", "2023-08-13"),
        ("上个月", "2023-07-01", "2023-07-31"),
        ("2023年5月", "2023-05-01", "2023-05-31"),
        ("去年", "2022-01-01", "2022-12-31"),
    ],
)
def test_days_that_a_question_names(query, first, last):
    """Days are read in English and Chinese, and relative to the newest day of the history."""
    days = asked_days(f"what happened {query}", day_said("[16 August, 2023] hello"))

    assert days is not None
    assert [str(dt.date.fromordinal(day)) for day in days[:2]] == [first, last]


@pytest.mark.parametrize("query", ["you may go", "on 31 February 2023", "9999年99月", "", "march on"])
def test_queries_that_name_no_day(query):
    """Words that are no days, and days that no calendar has, are no days."""
    assert asked_days(query, day_said("[16 August, 2023]")) is None
    assert asked_days(query, 0) is None
    assert day_of(10**30) == day_of(-(10**30)) == 0


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("It opens at nine.", NUMBER),
        ("40元", NUMBER),
        ("When? [shares a photo]", QUESTION),
        ("你知道吗", QUESTION),
        ("It was yesterday.", TIME),
        ("Is it yes? It is.", 0),
        ("", 0),
    ],
)
def test_kinds_of_statements(text, kinds):
    """A statement that asks, has a number or says when is known as such."""
    assert kinds_of(text, Terms().of(text)) == kinds


def test_units_of_json_are_whole_rows():
    """No unit ends within a small object, and the units cover the text."""
    text = "[\n" + ",\n".join(f'  {{"a": {n}, "b": "{{[ {n}", "c": [{n}, {n}]}}' for n in range(50)) + "\n]"
    ends = list(unit_ends(text))

    assert ends[-1] == len(text)
    assert all(text[end - 1] == "}" for end in ends[:-1])
    assert list(unit_ends('{"a": "' + "x " * 2_000)) != []


def test_a_speaker_by_the_name_of_the_message():
    """The name field of a message names its speaker as well."""
    index = Index()
    for position in range(4):
        index.add(Message(role="user", name="ann", parts=(Text(text=f"hello {position}"),)), position)

    assert index.spoken["ann"] == 4


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("We bought a trawler in Bergen.", "who can buy a trawler"),
        ("My daughter plays the accordion every evening.", "which instrument do the kids play"),
        ("The workshop was taught by an old welder.", "who teaches"),
    ],
)
def test_other_forms_and_other_words_for_the_same(said, asked):
    """A statement is found by another form of its word, or by a word that stands for it."""
    hits = found([*days_apart(15), said, *days_apart(15)], asked, max_tokens=60)

    assert hits[0].text == said


def test_hits_begin_and_end_with_what_they_tell():
    """Thanks, greetings and agreement take no room, before and after a statement and alone; the name of a speaker stays."""
    texts = ["Wow, that's great! The lagoon freezes in January. Bye!", "Thanks, Ann! The lagoon?", "Yes, the lagoon. Thank you so much!",
             "Ann: Sounds good! The lagoon thaws in May. See you soon!", "谢谢。", "嗯嗯，好的，谢谢。"]  # fmt: skip
    hits = found(texts, "lagoon thanks great 谢谢")

    assert [hit.text.strip() for hit in sorted(hits, key=lambda hit: hit.position)] == [
        "The lagoon freezes in January.", "The lagoon?", "Yes, the lagoon.", "Ann: Sounds good! The lagoon thaws in May."
    ]  # fmt: skip
    assert all(texts[hit.position][hit.offset :].startswith(hit.text) for hit in hits)


def test_thanks_are_found_where_nothing_else_is():
    """What tells nothing is an answer if there is no other."""
    assert [hit.text for hit in found([FILLER, "Thanks a lot!", FILLER], "thanks")][:1] == ["Thanks a lot!"]


def test_a_result_that_says_ok_is_whole():
    """Only what people say is shortened."""
    texts = [
        Message(role="tool", parts=(ToolResult(call_id="c", content="Thanks! The lock of the sluice is open. OK."),))
    ]

    assert found(texts, "sluice lock")[0].text == "Thanks! The lock of the sluice is open. OK."


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            "what is in src/hull/keel_test.go?",
            f"The files that were touched: src/hull/keel_test.go and others. {FILLER} {FILLER[:40]}",
        ),
        (
            'who said "anchor the test hull"',
            f"Then he said to anchor the test hull, and so it was. {FILLER} {FILLER[:40]}",
        ),
        ("为什么改了src/设置/船.json", "src/设置/船.json 的端口改成了 8080"),
    ],
)
def test_paths_and_quotations_count_word_for_word(query, said):
    """Of texts with the same words, the one that has them as they were asked for comes first."""
    like = [
        "The test of the keel, src of the go hull.",
        "hull/src/test/go_keel said who he anchor test the",
        "船的设置 src json 改了",
    ]
    texts = [*days_apart(5), *like, said, *like, *days_apart(5)]

    assert found([f"{text} {number}" for number, text in enumerate(texts)], query)[0].position == texts.index(said)


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("I brought my old cello to the quay.", "which instruments does the captain play?"),
        ("Spain was too hot for us.", "which countries did they visit?"),
        ("We moved it all over to Redis.", "what database is used"),
        ("They went kayaking and came home wet.", "what outdoor activities were there?"),
    ],
)
def test_a_kind_finds_its_examples(said, asked):
    """A question that names a kind of things finds a statement with one of them and no word of the question."""
    texts = [*days_apart(15), said, *days_apart(15)]

    assert found(texts, asked, max_tokens=60)[0].text == said


def test_kinds_and_examples_are_words_that_texts_have():
    """Each is one term, as a text with it has it: of a name with a hyphen the parts would be."""
    tables = (KINDS, NAMED_KINDS)
    listed = {word for table in tables for kind, examples in table.items() for word in (kind, *examples)}

    assert {word for word in listed if Terms().of(word) != {stem(word)}} == set()


@pytest.mark.parametrize(
    "asked", ["does it work", "what causes the error", "is this item in place", "the major version"]
)
def test_words_of_many_uses_name_no_kind(asked):
    """A question with them finds no statement for an example of what they may mean."""
    texts = [*days_apart(15), "The lamp was sold by a nurse of the cancer shelter.", *days_apart(15)]

    assert not any("lamp" in hit.text for hit in found(texts, asked, max_tokens=60))


def test_a_word_of_many_uses_is_a_kind_where_a_question_asks_which():
    """`what items` finds an item."""
    texts = [*days_apart(15), "We sold the lamp on Monday.", *days_apart(15)]

    assert found(texts, "what old items were there?", max_tokens=60)[0].text == "We sold the lamp on Monday."


def test_an_example_counts_less_than_the_word():
    """What has the word of the question is still first."""
    texts = [
        *days_apart(9),
        "The guitar is in the hold.",
        *days_apart(9),
        "All instruments are in the hold.",
        *days_apart(9),
    ]

    assert found(texts, "where are the instruments?", max_tokens=60)[0].text == "All instruments are in the hold."


def test_a_long_answer_waits_for_its_room():
    """An answer without a word of the question, longer than the question before it, comes in once there are more hits."""
    answer = (
        "Fourteen now! It feels as if we had moved aboard only yesterday, with two trunks and a parrot in a brass cage."
    )
    others = [f"{name} has lived on a ketch {place}, which took many days." for name, place in PLACES]
    texts = [
        *days_apart(9),
        "How many years have you lived on the ketch?",
        answer,
        *days_apart(9),
        *others,
        *days_apart(9),
    ]

    assert any(hit.text == answer for hit in found(texts, "how many years lived on the ketch?", max_tokens=150))


PLACES = [
    ("Ann", "near the old mill"),
    ("Ben", "behind the customs house"),
    ("Cleo", "at the northern pier"),
    ("Dan", "under the iron bridge"),
    ("Eva", "beside the ice factory"),
    ("Finn", "off the coast of Jutland"),
    ("Gro", "in the middle of the lagoon"),
    ("Hal", "by the lighthouse keeper"),
]


def order(number, words):
    """An order of more than a thousand characters."""
    text = [" ".join(words.choices(HARBOUR, k=50)) for _ in range(3)]
    about = {"order_id": 4000 + number, "notes": text[0], "address": {"street": f"{number} Mole", "city": "Oslo"}}
    return about | {"history": text[1], "status": f"held by {number * 13}", "comment": text[2], "total": number + 0.25}


HARBOUR = "ledger cargo freight bill lading customs tariff berth crane hull keel mast pilot tug lock canal".split()


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("key", ["status", "total", "city"])
def test_a_value_of_a_long_object_is_found_by_what_names_the_object(indent, key):
    """However far the key is from the number at the object's beginning, and though its neighbours have the same keys."""
    orders = [order(number, random.Random(number)) for number in range(30)]
    result = Message(role="tool", parts=(ToolResult(call_id="c", content=json.dumps(orders, indent=indent)),))
    wanted = {"status": "held by 234", "total": "18.25", "city": "18 Mole"}[key]

    hits = found([*days_apart(4), result, *days_apart(4)], f"what is the {key} of order 4018", max_tokens=300)
    assert any(wanted in hit.text for hit in hits)


@pytest.mark.parametrize("indent", [None, 1])
def test_no_statement_is_of_two_long_objects(indent):
    """A unit ends where an object ends, a key stays with its value, and all units together are the text."""
    text = json.dumps([order(number, random.Random(number)) for number in range(6)], indent=indent)
    ends = list(unit_ends(text))
    units = [text[start:end] for start, end in itertools.pairwise([0, *ends])]

    assert "".join(units) == text
    assert all(unit.strip() for unit in units)
    assert not any('"total"' in unit and '"order_id"' in unit for unit in units)
    assert all(unit.count('"address":') == unit.count('"street":') for unit in units)
    assert [bool(kinds_of(unit, set()) & OPENING) for unit in units].count(True) == 6


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("What was the decision?", "We decided that the pilot comes at noon."),
        ("Tell me of the adoption.", "They adopted a heron from the marsh."),
        ("Is there ice cream?", "The icecream stands beside the lock."),
        ("How is the musician called?", "Her music is played by Ottoline."),
    ],
)
def test_a_word_is_found_by_another_of_its_root(query, text):
    """A question has a noun where the text has the verb, or two words that the text writes as one."""
    assert found([*days_apart(15), text, *days_apart(15)], query)[0].text == text
