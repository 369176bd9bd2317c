"""Talk in languages other than English and Chinese: what it says stays, in its own words, under headings that are no other's."""

from __future__ import annotations

import re
import unicodedata

import pytest

from plimsoll.message import text_message
from plimsoll.summary.labels import dominant
from plimsoll.summary.language import language_of as language_of_messages
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.summary.ledger.sentences import cut_at_word
from plimsoll.summary.rules import render
from plimsoll.summary.scripts import MARKS, is_english, terms
from plimsoll.truncation.boundaries import boundary_before
from plimsoll.truncation.marker import language_of

SAID = {
    "Russian": (
        "Вчера я ездил с сестрой в Казань, и мы видели Кремль.", "Это здорово!",
        "Я вернусь домой в пятницу, потому что у меня экзамен по химии.", "Понятно.",
        "Мой брат Олег учится в Новосибирске, на третьем курсе.", "Это здорово!",
        "У нас дома две собаки и старый кот Барсик, которого я лечила сама.", "Понятно.",
    ),
    "German": (
        "Gestern bin ich mit meiner Schwester nach Dresden gefahren.", "Das ist schön!",
        "Am liebsten mag ich Biologie, weil ich an der Universität Leipzig im dritten Jahr Tiermedizin studiere.", "Toll!",
        "Mein Bruder Ole hilft mir mit der Chemie.", "Das ist schön!",
        "Wir haben zwei Hunde und einen alten Kater, den ich selbst gepflegt habe.", "Toll!",
    ),
    "Japanese": (
        "昨日、友達と京都へ旅行に行きました。清水寺がとてもきれいでした。", "それは良いですね。",
        "来週の金曜日に東京へ戻ります。予算についての会議があります。", "分かりました。",
        "山本さんは大阪支社から来ます。", "それは良いですね。",
        "妹は猫を二匹飼っています。名前はモモとソラです。", "分かりました。",
    ),
    "Arabic": (
        "ذهبتُ إلى المدرسة مع صديقي أحمد يوم الاثنين وتحدثنا عن مشروع الحديقة الجديدة.", "شكرًا.",
        "أُفَضِّلُ القهوةَ بدون سكر، وأعيش في مدينة الإسكندرية منذ خمس سنوات.", "حسنًا.",
        "أختي ليلى تدرس الطب في القاهرة، وستتخرج في الصيف القادم.", "شكرًا.",
        "نخطط لحفلة في مطعم النيل، وسندعو ثلاثين ضيفًا.", "حسنًا.",
    ),
    "Thai": (
        "เมื่อวานฉันไปเที่ยวเชียงใหม่กับเพื่อนชื่อนก", "น่ารักจัง", "ตั๋วราคาห้าร้อยบาท และค่ารถสองร้อยบาท", "ไม่แพงเลย",
        "แมวของฉันชื่อส้ม อายุสามปี", "น่ารักจัง", "พรุ่งนี้ฉันต้องไปพบหมอที่โรงพยาบาลรามา", "ดีแล้ว",
    ),
}  # fmt: skip
WANTED = {
    "Russian": ("Казань, и мы видели Кремль", "экзамен по химии", "старый кот Барсик"),
    "German": (
        "Gestern bin ich mit meiner Schwester nach Dresden gefahren",
        "Am liebsten mag ich",
        "an der Universität Leipzig im dritten",
    ),
    "Japanese": ("清水寺がとてもきれいでした", "会議があります", "山本さんは大阪支社から来ます"),
    "Arabic": ("مشروع الحديقة الجديدة", "أُفَضِّلُ القهوةَ بدون سكر", "أختي ليلى تدرس الطب"),
    "Thai": ("เชียงใหม่กับเพื่อนชื่อนก", "ตั๋วราคาห้าร้อยบาท", "โรงพยาบาลรามา"),
}


def summary_of(said, tokens_max, counter):
    """The rules' summary of this talk, said twice."""
    messages = [text_message(("user", "assistant")[n % 2], said[n % len(said)]) for n in range(2 * len(said))]
    return render(extend(Ledger(), messages, 0), tokens_max=tokens_max, counter=counter).text


@pytest.mark.parametrize("language", SAID)
def test_what_was_told_stays_in_its_own_words(language, counter):
    """Facts before nods, none of them twice, and no word of them dropped as if it were English."""
    summary = summary_of(SAID[language], 260, counter)

    assert [words for words in WANTED[language] if words not in summary] == []
    assert all(summary.count(words) == 1 for words in WANTED[language])
    assert "Said by" in summary
    assert "Topics" not in summary


@pytest.mark.parametrize("language", SAID)
@pytest.mark.parametrize("tokens_max", range(5, 60, 5))
def test_no_cut_is_inside_a_character(language, tokens_max, counter):
    """Each line of a small summary is a beginning of what was said, or says where it is cut."""
    said = " ".join(SAID[language])
    for line in summary_of(SAID[language], tokens_max, counter).splitlines():
        start = line.removesuffix("…")
        if start in said:
            end = said.index(start) + len(start)
            assert boundary_before(said, end) == end


def test_vowel_signs_and_accents_are_parts_of_words():
    """All of those that are in use in Unicode's first plane, as far as a word can be made of them."""
    word = re.compile(rf"[^\W_][\w{MARKS}]*")
    scripts = (
        "ARABIC",
        "HEBREW",
        "DEVANAGARI",
        "BENGALI",
        "TAMIL",
        "TELUGU",
        "THAI",
        "LAO",
        "KHMER VOWEL",
        "MYANMAR VOWEL",
        "COMBINING",
    )
    marks = [chr(code) for code in range(0x300, 0xFFFF) if unicodedata.category(chr(code)) in ("Mn", "Mc")]
    marks = [
        mark
        for mark in marks
        if unicodedata.name(mark, "").startswith(scripts) and "EXTENDED" not in unicodedata.name(mark)
    ]
    marks = [mark for mark in marks if ord(mark) < 0x2DE0]

    assert [unicodedata.name(mark) for mark in marks if word.fullmatch(f"a{mark}b") is None] == []
    assert all(word.fullmatch(one) for one in ("أُفَضِّلُ", "कीमत", "שָׁלוֹם", "ตั๋วราคา", "می‌خواهم"))


def test_words_without_spaces_between_them_are_compared_by_pairs():
    """Others are left alone."""
    assert terms(["ตั๋ว", "hello", "東京都", "GPT東京"]) == ["ตั", "ั๋", "๋ว", "hello", "東京", "京都", "GPT", "東京"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("請看這個檔案，門票是六十元。", "zh"),
        ("我喜歡の這個字，門票是六十元，很便宜。", "zh"),
        ("来週の金曜日に東京へ戻ります。", "en"),
        ("サーバーの設定を変更しました。", "en"),
        ("The word 東京 is a name.", "en"),
    ],
)
def test_japanese_is_not_taken_for_chinese(text, language):
    """Neither in a marker nor in a summary; a single sign in Chinese does not change it."""
    assert language_of(text) == language
    messages = [text_message(("user", "assistant")[n % 2], f"{text} {text}") for n in range(6)]
    assert language_of_messages(messages) == language
    assert dominant(extend(Ledger(), messages, 0)) == language


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["I went to the garden with my sister.", "It was fun."], True),
        (["painted the fence", "dentist on 4 May is for my sister"], True),
        (["Was ist das? Am Abend in Leipzig."], False),
        (["Il a quatorze ans, je suis allée à Lyon."], False),
        ([], True),
    ],
)
def test_english_is_known_by_its_commonest_words(texts, expected):
    """Which no other language has in that number; a few words may be of any."""
    assert is_english(texts * 8) is expected
    assert is_english(texts)


@pytest.mark.parametrize(
    ("text", "chars", "cut"),
    [
        ("the quick brown fox", 12, "the quick…"),
        ("the quick brown fox", 19, "the quick brown fox"),
        ("a" * 40, 10, "a" * 9 + "…"),
        ("x " + "b" * 40, 30, "x " + "b" * 27 + "…"),
        ("พระธาตุ", 7, "พระธาตุ"),
        ("พระธาตุดอย", 7, "พระธา…"),
        ("word", 1, "…"),
    ],
)
def test_a_cut_is_at_a_word_or_marked_within_a_long_one(text, chars, cut):
    """At most so many characters, the mark among them."""
    assert cut_at_word(text, chars) == cut
