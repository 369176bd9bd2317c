"""Cutting JSON text so that it stays JSON."""

from __future__ import annotations

import json

import pytest

from plimsoll.errors import FormatError, SettingError
from plimsoll.formats.wire import parse_json
from plimsoll.truncation import cut_json


class FourChars:
    """Counts four characters as a token, rounded up."""

    name = "four-chars"
    exact = True

    def count(self, text):
        """Tokens of the text."""
        return (len(text) + 3) // 4

    upper = count


COUNTER = FourChars()
LONG = "First sentence. Second one follows. " * 200


def cut(value, tokens_max, **options):
    """The value after cutting its JSON text."""
    made = cut_json(
        value if isinstance(value, str) else json.dumps(value), tokens_max=tokens_max, counter=COUNTER, **options
    )
    assert made.tokens == COUNTER.upper(made.text)
    assert made.tokens <= max(1, tokens_max)
    return json.loads(made.text)


def test_json_that_fits_is_the_same_text():
    """White space, escapes and order are unchanged if nothing has to be cut."""
    text = '{ "b": 1,\n "a": "\\u00e9" }'

    assert cut_json(text, tokens_max=100, counter=COUNTER).text is text


def test_the_longest_strings_are_cut_first():
    """Short values stay whole; the long one keeps its ends around a marker."""
    made = cut({"path": "src/a.py", "content": LONG, "mode": 7}, 100)

    assert (made["path"], made["mode"]) == ("src/a.py", 7)
    assert made["content"].startswith("First sentence.")
    assert "tokens cut" in made["content"]


def test_equal_strings_share_the_room():
    """Two long strings are cut to about the same size."""
    made = cut({"old": LONG, "new": LONG}, 200)

    assert abs(len(made["old"]) - len(made["new"])) < 60
    assert len(made["old"]) > 200


def test_long_lists_keep_their_ends():
    """A list that is too long keeps items of both ends and says how many are missing."""
    made = cut({"rows": [{"id": n, "name": f"n{n}"} for n in range(1_000)], "total": 1_000}, 200)
    rows = made["rows"]

    assert made["total"] == 1_000
    assert rows[0] == {"id": 0, "name": "n0"}
    assert rows[-1] == {"id": 999, "name": "n999"}
    gap = next(row for row in rows if isinstance(row, str))
    assert gap == f"[… {1_000 - len(rows) + 1:,} items cut …]"


def test_short_lists_beside_a_long_string_stay():
    """A list that fits is not shortened for the sake of a long string."""
    rows = [{"id": n} for n in range(5)]

    assert cut({"content": LONG, "rows": rows}, 100)["rows"] == rows


def test_all_top_level_keys_stay():
    """Many long fields all stay, each shorter."""
    made = cut({f"field_{n}": LONG for n in range(20)}, 300)

    assert list(made) == [f"field_{n}" for n in range(20)]


def test_inner_objects_lose_keys_before_the_outer_one_does():
    """An inner object with many keys keeps some of them and a note."""
    made = cut({"meta": {f"key{n}": n for n in range(500)}, "id": "x1"}, 100)

    assert made["id"] == "x1"
    assert 0 < len(made["meta"]) < 40
    assert "items cut" in made["meta"]["_cut"]


@pytest.mark.parametrize(
    "text",
    [
        "{bad" * 200,
        '{"a": NaN, "b": "' + "x" * 900 + '"}',
        '{"a": 1e999, "b": "' + "x" * 900 + '"}',
        "[" * 100_000,
        '{"a":' * 50_000 + "1" + "}" * 50_000,
        "9" * 10_000,
        "plain words " * 200,
        json.dumps({f"key{n}": 1 for n in range(5_000)}),
        "\ud800" * 500,
        "null" + " " * 900,
    ],
)
def test_what_cannot_be_cut_as_json_is_wrapped(text):
    """Text that is not JSON, or has too many keys, becomes the one string of an object."""
    made = cut(text, 60)

    assert list(made) == ["_cut"]
    assert made["_cut"][:3] == text[:3]


@pytest.mark.parametrize("tokens_max", range(12))
def test_tiny_limits_still_give_json(tokens_max):
    """The result is JSON under any limit; the shortest is an empty object."""
    made = cut_json(json.dumps({"path": "a", "content": LONG}), tokens_max=tokens_max, counter=COUNTER)

    assert isinstance(json.loads(made.text), dict)
    assert made.tokens <= max(1, tokens_max)


def test_escapes_are_counted():
    """Text that grows when escaped is cut to its escaped size, and lone surrogates stay encodable."""
    made = cut_json(json.dumps({"a": '"\n\\' * 2_000, "b": "\ud800" * 500}), tokens_max=200, counter=COUNTER)

    assert made.tokens <= 200
    made.text.encode("utf-8")
    assert set(json.loads(made.text)) == {"a", "b"}


def test_deep_values_are_cut_without_recursion():
    """Values nested beyond the limit are replaced by a note; nothing overflows."""
    value = "leaf" * 300
    for _ in range(200):
        value = {"in": value}
    made = cut({"deep": value, "id": 5}, 150)

    assert made["id"] == 5


def test_cut_json_again_is_stable():
    """A cut text that fits is left alone, and cutting further does not stack markers."""
    once = cut_json(json.dumps({"content": LONG}), tokens_max=200, counter=COUNTER).text

    assert cut_json(once, tokens_max=200, counter=COUNTER).text is once
    again = cut_json(once, tokens_max=100, counter=COUNTER).text
    assert again.count("tokens cut") == 1


def test_markers_follow_the_language():
    """Markers inside JSON are in the language of its text, or the one asked for."""
    assert "个词元" in cut({"content": "这是一个很长的句子。" * 300}, 60)["content"]
    assert "个词元" in cut({"content": LONG}, 60, language="zh")["content"]
    assert "已略去" in str(cut({"rows": list(range(5_000))}, 60, language="zh"))


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_large_json_is_cut():
    """Cutting 20 MB of rows takes bounded time."""
    text = json.dumps([{"id": n, "text": "some words here"} for n in range(300_000)])

    assert cut_json(text, tokens_max=1_000, counter=COUNTER).tokens <= 1_000


def test_nan_and_its_kind_are_no_json():
    """Only strict JSON counts as JSON."""
    assert [parse_json(text) for text in ("NaN", "-Infinity", "{", "", "[1]")] == [None, None, None, None, [1]]


def test_wrong_kinds_are_refused():
    """A text that is not a str, and a limit that is not an int, raise the library's errors."""
    with pytest.raises(FormatError):
        cut_json({"a": 1}, tokens_max=5, counter=COUNTER)
    with pytest.raises(SettingError):
        cut_json("{}", tokens_max=-1, counter=COUNTER)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 1.0])
@pytest.mark.parametrize(
    "value",
    [
        {"ids": list(range(500))},
        {"words": [f"word {n}" for n in range(500)]},
        [{"id": n, "name": f"name {n}"} for n in range(500)],
        {"by id": {str(n): n for n in range(500)}},
    ],
)
def test_as_many_items_stay_as_fit(value, share):
    """A list that is one token too long loses a few items, not a quarter of them."""
    text = json.dumps(value, separators=(",", ":"))
    room = int(COUNTER.upper(text) * share) - 1
    cut = cut_json(text, tokens_max=room, counter=COUNTER)

    assert 0.9 * room <= COUNTER.upper(cut.text) <= room
    assert json.loads(cut.text) != value
