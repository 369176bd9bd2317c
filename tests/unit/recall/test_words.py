"""The search terms of texts."""

import pytest

from plimsoll.recall.words import WORD_CHARS_MAX, Terms, stem


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("retries", "retry"),
        ("running", "run"),
        ("failed", "fails"),
        ("files", "file"),
        ("boxes", "box"),
        ("configured", "configure"),
        ("quickly", "quick"),
        ("studied", "studies"),
    ],
)
def test_forms_of_a_word_share_a_stem(one, other):
    """Plurals, -ing, -ed and -ly do not hide a word."""
    assert stem(one) == stem(other)


@pytest.mark.parametrize("word", ["class", "status", "this", "bus", "is", "v2", "a", ""])
def test_endings_that_are_no_endings_stay(word):
    """A word that only looks like a plural, or is too short for endings, is its own stem."""
    assert stem(word) == word


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("getUserName", "user"),
        ("getUserName", "getusername"),
        ("HTTPServer", "server"),
        ("retry_limit_max", "limit"),
        ("src/app/config.yaml", "config"),
        ("__init__", "init"),
        ("test2", "test"),
        ("Größe", "gross"),
        ("café", "caf"),
        ("cafe\u0301", "caf"),
        ("ＡＢＣ", "abc"),
        ("临江剧场", "剧场"),
        ("临江剧场", "场"),
        ("東京タワー", "タワ"),
        ("서울에서", "서울"),
        ("กรุงเทพ", "กร"),
        ("हिन्दी", "हि"),
        ("проверка границ", "границ"),
        ("done 🎉🎉", "🎉"),
        ("👍🏽", "👍"),
        ("❤️", "❤"),
        ("tests ✅ lint ❌", "❌"),
        ("🇳🇴", "🇳🇴"),
    ],
)
def test_what_a_text_is_found_by(text, term):
    """Compound names are found by their parts, regardless of accents and width; scripts without spaces by pairs of characters."""
    assert term in Terms().of(text)


def test_a_hash_is_no_compound():
    """A code of digits and letters is found as a whole, not by its parts."""
    assert Terms().of("7bc4de21") == {"7bc4de21"}


def test_long_words_are_cut():
    """Only the beginning of an overlong word is indexed."""
    assert max(map(len, Terms().of("x" * 10_000))) <= WORD_CHARS_MAX
