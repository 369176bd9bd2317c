"""Text made neutral, and numbers and times for people."""

from __future__ import annotations

import json
import unicodedata
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.light.brief import pluralize
from plimsoll.report.figures import number, share, size, when
from plimsoll.report.safe_text import json_safe, neutral, one_line

DIRECTIONS = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
ANY_TEXT = st.text(st.characters(exclude_categories=())) | st.text("\x1b\x07\u202e\ud800\U000e0041\n\tä[0m")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain ä 灯 💡\n\tx", "plain ä 灯 💡\n\tx"),
        ("\x1b[31m", "\\x1b[31m"),
        ("\x9b", "\\x9b"),
        ("\r\x00\x7f", "\\x0d\\x00\\x7f"),
        ("\u202e", "\\u202e"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
    ],
)
def test_neutral(text, expected):
    """Controls, direction and invisible characters are spelt out; all else stays."""
    assert neutral(text) == expected


@pytest.mark.slow
@given(ANY_TEXT)
def test_neutral_is_total(text):
    """Always something every terminal and encoding can show, and the same when done twice."""
    shown = neutral(text)

    shown.encode("utf-8")
    assert neutral(shown) == shown
    assert {unicodedata.category(char) for char in shown if char not in "\n\t"}.isdisjoint({"Cc", "Cs", "Zl", "Zp"})
    assert {unicodedata.bidirectional(char) for char in shown}.isdisjoint(DIRECTIONS)


@pytest.mark.slow
@given(ANY_TEXT, st.integers(2, 50))
def test_one_line(text, chars_max):
    """Always one line of at most so many characters."""
    line = one_line(text, chars_max)

    assert len(line) <= chars_max
    assert "\n" not in line


@given(ANY_TEXT)
def test_json_safe(text):
    """Escaped JSON reads back as the same text."""
    encoded = json_safe(json.dumps({text: [text]}, ensure_ascii=False))

    encoded.encode("utf-8")
    assert json.loads(encoded) == {text: [text]}


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (number(1_234_567), "1,234,567"),
        (share(1, 3), "33 %"),
        (share(1, 1_000), "0.1 %"),
        (share(999_999, 1_000_000), "99.9 %"),
        (share(3, 3), "100 %"),
        (share(0, 3), "0 %"),
        (share(1, 0), "–"),
        (size(999), "999 bytes"),
        (size(1_500_000), "1.5 MB"),
        (pluralize(1, "message"), "1 message"),
        (pluralize(2_000, "message"), "2,000 messages"),
        (when(None), "unknown"),
        (when(10**18), "unknown"),
    ],
)
def test_figures(shown, expected):
    """Numbers as people read them."""
    assert shown == expected


@pytest.mark.parametrize("ago", [timedelta(0), timedelta(hours=27), timedelta(days=365)])
def test_times(ago):
    """Times are local, and of one form however long ago they were."""
    at = datetime.now().astimezone() - ago

    assert when(int(at.timestamp() * 1000)) == f"{at:%Y-%m-%d %H:%M}"
