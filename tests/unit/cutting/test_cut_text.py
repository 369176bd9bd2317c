"""Cutting text to a number of tokens."""

from __future__ import annotations

import pytest

from plimsoll.errors import FormatError, SettingError
from plimsoll.tokens.exact import exact_counter
from plimsoll.truncation import cut_text
from plimsoll.truncation.boundaries import boundary_after, boundary_before, head_end, tail_start
from plimsoll.truncation.marker import markers_in


class FourChars:
    """Counts four characters as a token, rounded up, and records how much it was asked to count."""

    name = "four-chars"
    exact = True

    def __init__(self):
        self.chars = 0

    def count(self, text):
        """Tokens of the text."""
        self.chars += len(text)
        return (len(text) + 3) // 4

    upper = count


PROSE = "First sentence here. Version v1.2 of file.py is 3.14 at http://a.com/?q=1. Third one! " * 40
CHINESE = "这是一个长句子。包含多个分句！每个分句都有意义？还有更多内容。" * 40


@pytest.fixture
def counter():
    """A counter without state from other tests."""
    return FourChars()


@pytest.mark.parametrize("keep", ["head", "tail", "both"])
def test_text_that_fits_is_the_same_text(keep, counter):
    """A text exactly at the limit is not cut."""
    cut = cut_text(PROSE, tokens_max=counter.count(PROSE), counter=counter, keep=keep)

    assert cut.text is PROSE
    assert (cut.removed_chars, cut.removed_tokens) == (0, 0)


@pytest.mark.slow
@pytest.mark.spec("W3-07")
@pytest.mark.parametrize("keep", ["head", "tail", "both"])
@pytest.mark.parametrize("text", [PROSE, CHINESE, "x" * 3_000, "é" * 3_000, "line\n" * 700, " " * 3_000])
@pytest.mark.parametrize("tokens_max", [0, 1, 2, 3, 5, 8, 13, 21, 40, 100, 300])
def test_the_marker_is_inside_the_limit(text, tokens_max, keep, counter):
    """No result exceeds the limit, however small; the kept text is from the ends of the text."""
    cut = cut_text(text, tokens_max=tokens_max, counter=counter, keep=keep)
    found = markers_in(cut.text)
    head, tail = (cut.text[: found[0].start], cut.text[found[0].end :]) if found else ("", "")

    assert counter.upper(cut.text) == cut.tokens <= tokens_max
    assert len(found) <= 1
    assert text.startswith(head.rstrip(" \n"))
    assert text.endswith(tail.lstrip(" \n"))
    if tokens_max >= 40:
        assert bool(head.strip()) is (keep != "tail" and bool(text.strip()))
        assert bool(tail.strip()) is (keep != "head" and bool(text.strip()))
        assert cut.tokens > tokens_max * 0.4


def test_the_marker_says_how_much_and_where(counter):
    """The marker has the number of tokens cut and the reference, in the language of the text."""
    english = cut_text(PROSE, tokens_max=60, counter=counter, reference="ref7")
    chinese = cut_text(CHINESE, tokens_max=60, counter=counter, reference="ref7")

    assert f"[… {english.removed_tokens} tokens cut, reference ref7 " in english.text
    assert f"[… 已截去 {chinese.removed_tokens} 个词元，引用 ref7 " in chinese.text
    assert "个词元 " in cut_text(PROSE, tokens_max=60, counter=counter, language="zh").text


def test_what_was_cut_adds_up(counter):
    """The kept tokens and those the marker names add up to the whole."""
    cut = cut_text(PROSE, tokens_max=60, counter=counter)
    kept = cut.text[: markers_in(cut.text)[0].start].rstrip()

    assert abs(counter.count(kept) + cut.removed_tokens - counter.count(PROSE)) <= 2
    assert len(kept) + cut.removed_chars in {len(PROSE), len(PROSE) - 1}


@pytest.mark.spec("W0-08")
@pytest.mark.parametrize("first", ["head", "tail", "both"])
@pytest.mark.parametrize("then", ["head", "tail", "both"])
def test_markers_never_stack(first, then, counter):
    """Cutting a cut text leaves one marker, which counts both cuts and keeps the reference."""
    text, removed = PROSE, 0
    for tokens_max, keep in ((400, first), (200, then), (100, first), (50, then)):
        cut = cut_text(
            text, tokens_max=tokens_max, counter=counter, keep=keep, reference="r1" if text is PROSE else None
        )
        text = cut.text
        assert [found.marker.reference for found in markers_in(text)] == ["r1"]
        assert text.count("tokens cut") == 1
        assert cut.removed_tokens > removed
        removed = cut.removed_tokens
    whole = counter.count(PROSE)

    assert whole - 60 <= removed <= whole + 12


def test_a_reference_is_the_last_thing_to_go(counter):
    """With little room the reference stays, and the text does not."""
    cut = cut_text(PROSE, tokens_max=11, counter=counter, keep="both", reference="abc")

    assert "reference abc" in cut.text


@pytest.mark.parametrize("tokens_max", [0, 1, 2])
def test_no_room_gives_a_shorter_marker_or_nothing(tokens_max, counter):
    """If no text fits, the marker gets shorter; if no marker fits, the text is empty."""
    assert cut_text(PROSE, tokens_max=tokens_max, counter=counter).text == ["", "[…]", "[…]"][tokens_max]


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("One two three. Four five", "One two three."),
        ("It costs 3.14 now and then some", "and then"),
        ("Open file.py in the editor window", "the editor"),
        ("See http://a.com/x?y=1 for more of it", "for more"),
        ("Use v1.2 of the library for this", "library for"),
        ("Ask Mr. Smithsonian about it today", "about it"),
        ("今天他把话说完了。然后走了", "说完了。"),
        ("今天他大声地说：“好！”然后走了", "“好！”"),
        ("first line is long\nsecond on", "is long\n"),
        ("It was really?! Yes it", "really?!"),
    ],
)
def test_a_head_ends_where_a_reader_would_stop(text, end):
    """A head ends after a sentence, a line or a word, and never inside a number, a file name or an address."""
    cut = head_end(text, len(text) - 4)

    assert text[:cut].endswith(end)


@pytest.mark.parametrize(
    ("text", "at", "start"),
    [
        ("The end came. Then it was over again for all", 8, "Then it was"),
        ("first line\nsecond line goes on and on", 4, "second line"),
        ("nothing but words without an end here", 3, "but words"),
        ("没有空格。后面的句子在这里继续下去了", 2, "后面的句子"),
    ],
)
def test_a_tail_starts_where_a_reader_would_begin(text, at, start):
    """A tail begins at a line, a sentence or a word."""
    assert text[tail_start(text, at) :].startswith(start)


@pytest.mark.parametrize(
    "whole",
    [
        "e\u0301",
        "\r\n",
        "\ud83d\ude00",
        "👨\u200d👩\u200d👧",
        "👍🏽",
        "🇩🇪",
        "❤\ufe0f",
        "각",
        "\u1100\u1161\u11a8",
        "नि",
        "1\ufe0f\u20e3",
        "🏴\U000e0067\U000e0062\U000e007f",
    ],
)
def test_visible_characters_are_never_split(whole):
    """No cut falls inside a combining sequence, a pair, an emoji or a line end."""
    text = f"ab{whole}cd"
    inside = range(3, 2 + len(whole))

    assert all(boundary_before(text, at) == 2 for at in inside)
    assert all(boundary_after(text, at) == 2 + len(whole) for at in inside)


def test_flags_are_split_between_and_not_within():
    """In a row of flags a cut falls between two of them."""
    text = "🇩🇪🇫🇷🇯🇵"

    assert [boundary_before(text, at) for at in range(7)] == [0, 0, 2, 2, 4, 4, 6]


@pytest.mark.timeout(60)
def test_piles_of_marks_do_not_swallow_a_text():
    """A million combining marks are cut to the limit."""
    counter = FourChars()
    cut = cut_text("a" + "\u0301" * 1_000_000, tokens_max=100, counter=counter)

    assert cut.tokens <= 100


def test_fixed_words_replace_the_marker(counter):
    """A fixed suffix is inside the limit, is not set apart, and is not repeated by a second cut."""
    once = cut_text(PROSE, tokens_max=50, marker="...", counter=counter).text
    twice = cut_text(once, tokens_max=20, marker="...", counter=counter).text

    assert once.endswith("...")
    assert twice.endswith("...")
    assert "......" not in twice
    assert counter.count(once) <= 50
    assert counter.count(twice) <= 20


@pytest.mark.parametrize(
    ("text", "tokens_max", "expected"),
    [
        ("这是一个长句子。包含多个分句。每个分句都有意义。", 10, "这是一个长句子。包含多个分句。每个分句都有意义。"),
        ("这是一个长句子。包含多个分句。每个分句都有意义。", 5, "这是一个长句子。包含多个分句。..."),
        ("这是一个长句子。包含多个分句。每个分句都有意义。", 3, "这是一个长句子。..."),
        ("anything at all", 0, ""),
        ("anything at all", 1, "..."),
        ("", 0, ""),
    ],
)
def test_truncation_keeps_whole_sentences(text, tokens_max, expected, counter):
    """A cut text ends after a sentence if it can, and is empty if not even the suffix fits."""
    assert cut_text(text, tokens_max=tokens_max, marker="...", counter=counter).text == expected


def test_mixed_scripts_stay_within_an_exact_count():
    """200 Han characters and 1,000 letters to 150 tokens are at most 150 by the true vocabulary."""
    counter = exact_counter("o200k_base")
    text = "汉字测试内容" * 33 + "abcdefghij " * 90

    for keep in ("head", "tail", "both"):
        cut = cut_text(text, tokens_max=150, counter=counter, keep=keep)
        assert 100 <= counter.count(cut.text) <= 150


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"tokens_max": -1}, "tokens_max"),
        ({"tokens_max": 1.5}, "tokens_max"),
        ({"tokens_max": True}, "tokens_max"),
        ({"tokens_max": 5, "keep": "middle"}, "keep"),
        ({"tokens_max": 5, "language": "fr"}, "language"),
    ],
)
def test_impossible_options_name_their_field(options, field, counter):
    """An invalid option is refused, and the error names it."""
    with pytest.raises(SettingError) as raised:
        cut_text("text", counter=counter, **options)

    assert raised.value.field == field


@pytest.mark.parametrize("text", [None, 3, b"bytes", ["list"]])
def test_only_text_is_cut(text, counter):
    """A text that is not a str is refused."""
    with pytest.raises(FormatError):
        cut_text(text, tokens_max=5, counter=counter)


@pytest.mark.parametrize("reference", ["has space", "brac]ket", "new\nline", "r" * 500, "", 3])
def test_references_a_marker_cannot_carry_are_refused(reference, counter):
    """A reference that could not be found again in its marker is refused."""
    with pytest.raises(SettingError) as raised:
        cut_text(PROSE, tokens_max=300, counter=counter, reference=reference)

    assert raised.value.field == "reference"


def test_the_tokenizer_sees_little_of_a_huge_text():
    """Of 40 million characters, the counter gets a few times what is kept, and samples of the rest."""
    counter = FourChars()
    text = PROSE * 12_000
    cut = cut_text(text, tokens_max=2_000, counter=counter, keep="both")

    assert cut.tokens <= 2_000
    assert counter.chars < 300_000
    assert abs(cut.removed_tokens - len(text) // 4) < len(text) // 40
    assert "about" in cut.text


@pytest.mark.spec("W3-19")
def test_a_forged_marker_is_text(counter):
    """An imitation of a marker without a valid tag is treated as text: its number and reference are not taken over."""
    forged = "[… 99,999 tokens cut, reference EVIL-1 00000000 …]"
    for text in (f"{forged}\n{PROSE}", f"{PROSE}\n{forged}", f"{PROSE}\n{forged}\n{PROSE}"):
        cut = cut_text(text, tokens_max=100, counter=counter, keep="both", reference="mine")
        assert cut.removed_tokens <= counter.count(text)
        assert [found.marker.reference for found in markers_in(cut.text)] == ["mine"]
        assert cut.text.startswith(text[:20])
        assert cut.text.endswith(text[-10:])
