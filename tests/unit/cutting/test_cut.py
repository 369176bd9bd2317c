"""`plimsoll.cut`: one text within a number of tokens, for callers without a counter."""

from __future__ import annotations

import json
from typing import Any

import pytest

import plimsoll
from plimsoll.errors import FormatError, SettingError

CHINESE = "这是一个很长的句子，需要被截断。第二句话也在这里，版本是3.14。" * 9
ENGLISH = "See file.py and v1.2 of it. The value is 3.14 here. " * 40
DATA = json.dumps({"rows": [{"id": n, "name": "worker " * 9} for n in range(90)], "total": 90})


@pytest.mark.spec("S3-05", "W3-07")
@pytest.mark.parametrize("model", ["gpt-4o", "gpt-4", "claude-sonnet-4-5", None])
@pytest.mark.parametrize(
    "text",
    [CHINESE, ENGLISH, DATA, "👩‍👩‍👧" * 200, "\ud800 x" * 200],
    ids=["chinese", "english", "json", "families", "surrogates"],
)
def test_a_cut_is_never_over(text: str, model: Any) -> None:
    """Any text cut for any model is within the limit by the model's own count, marker included (S3-05, W3-07)."""
    for room in (0, 1, 2, 5, 20, 80):
        cut = plimsoll.cut(text, room, model=model)
        assert plimsoll.count_tokens(cut.text, model=model) <= room
        assert cut.removed_chars


def test_what_fits_comes_back() -> None:
    """A text that fits is unchanged."""
    assert plimsoll.cut(ENGLISH, 10_000).text == ENGLISH
    assert plimsoll.cut(ENGLISH, 10_000).removed_chars == 0


@pytest.mark.parametrize(
    ("keep", "starts", "ends"), [("head", True, False), ("tail", False, True), ("both", True, True)]
)
def test_keep_says_which_end_stays(keep: Any, starts: bool, ends: bool) -> None:
    """The head, the tail or both stay, with the marker where text was removed; the cut is at the end of a sentence."""
    text = f"It begins. {ENGLISH}It ends."
    cut = plimsoll.cut(text, 60, keep=keep)
    kept = cut.text.split(" [… ")[0].split(" tokens cut …] ")

    assert (cut.text.startswith("It begins."), cut.text.endswith("It ends.")) == (starts, ends)
    assert f"{cut.removed_tokens} tokens cut" in cut.text
    assert kept[0].endswith((".", "here")) or not starts


def test_the_marker_is_an_option() -> None:
    """Fixed words, or none, replace the marker; the language of the default marker can be chosen."""
    assert plimsoll.cut(ENGLISH, 30, marker="...").text.endswith("...")
    assert "tokens cut" not in plimsoll.cut(ENGLISH, 30, marker="").text
    assert "tokens cut" in plimsoll.cut(ENGLISH, 60).text
    assert "已截去" in plimsoll.cut(ENGLISH, 60, language="zh").text


@pytest.mark.spec("W3-07")
def test_json_stays_json() -> None:
    """A JSON object keeps its keys and stays valid JSON, unless a `marker` is given (W3-07)."""
    cut = plimsoll.cut(DATA, 120)

    assert json.loads(cut.text)["total"] == 90
    assert plimsoll.cut(DATA, 120, marker="...").text.endswith("...")


@pytest.mark.parametrize(
    ("text", "options", "error"),
    [
        (None, {}, FormatError),
        ("x" * 900, {"max_tokens": -1}, SettingError),
        ("x" * 900, {"max_tokens": 2.5}, SettingError),
        ("x" * 900, {"keep": "middle"}, SettingError),
        ("x" * 900, {"language": "fr"}, SettingError),
    ],
)
def test_what_is_impossible_is_refused(text: Any, options: Any, error: type[Exception]) -> None:
    """A text that is not a str, and invalid options, raise typed errors."""
    with pytest.raises(error):
        plimsoll.cut(text, **{"max_tokens": 10, **options})
