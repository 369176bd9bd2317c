"""Changes: the way from one JSON value to another leads there, and is short where they have much in common."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.records.json_diff import LEVELS_MAX, changed, changes

WORDS = st.lists(st.sampled_from(["a" * 30, "the hold is full ", "荷物", "\n", "x", "😀" * 9]), max_size=12).map(
    "".join
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=4) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=4),
    max_leaves=12,
)


def alike(one: Any, other: Any) -> bool:
    """Equal as Python has it: 1 and True are not told apart by the change."""
    return bool(one == other)


@pytest.mark.slow
@given(VALUES, VALUES)
def test_leads_there(before: Any, after: Any) -> None:
    """What is changed is what was meant, also after the change was written down and read."""
    change = json.loads(json.dumps(changes(before, after)))

    assert alike(changed(before, change), after)


@pytest.mark.slow
@given(WORDS, WORDS, WORDS)
def test_texts_that_share_stretches(one: str, two: str, three: str) -> None:
    """Stretches of an old text in a new one, in any order and cut anywhere, give the new text."""
    before, after = one + two + three, three[1:] + "…" + one + two[:-1]

    assert changed(before, changes(before, after)) == after


@pytest.mark.parametrize(
    ("before", "after", "chars_max"),
    [
        (
            {"role": "tool", "content": "line\n" * 2_000 + "tail"},
            {"role": "tool", "content": "line\n" * 9 + "[cut]"},
            90,
        ),
        ([{"type": "text", "text": "ab" * 400}], [{"type": "text", "text": "ab" * 300 + "…"}], 90),
        ({"a": list(range(500))}, {"a": [*range(200), -1, *range(200, 500)]}, 70),
        ("w" * 1_000, "w" * 1_000, 20),
    ],
)
def test_is_short(before: Any, after: Any, chars_max: int) -> None:
    """A cut of a long text or list is said in a few characters."""
    change = changes(before, after)

    assert changed(before, change) == after
    assert len(json.dumps(change)) <= chars_max


def test_lone_surrogates() -> None:
    """Halves of a character next to each other come back as one, so such texts are replaced, never counted into."""
    before, after = "\ud83d\ude00" + "x" * 90, "x" * 60
    change = changes(before, after)

    assert changed(json.loads(json.dumps(before)), json.loads(json.dumps(change))) == after


def test_nests_little_deeper() -> None:
    """A deep value is replaced below a few levels, so that its change stays within what a record may nest."""
    before: Any = "x"
    after: Any = "y"
    for _ in range(60):
        before, after = {"k": before}, {"k": after}
    text = json.dumps(changes(before, after))

    assert text.count("{") <= 60 + 2 * LEVELS_MAX + 2


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("ab" * 500_000, "ba" * 50_000),
        ("a" * 1_000_000, "a" * 99_999 + "b"),
        ("a" * 1_000_000, ("a" * 23 + "b") * 4_000),
        ("".join(map(chr, range(40, 4_000))) * 200, "z" * 100_000),
    ],
)
def test_is_linear(before: str, after: str) -> None:
    """Texts made to match everywhere or nowhere end; what is not linear would take hours."""
    change = changes(before, after)

    assert changed(before, change) == after
