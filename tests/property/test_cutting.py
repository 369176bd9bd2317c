"""Properties of every cut, for any text."""

from __future__ import annotations

import json
import unicodedata

from hypothesis import given, settings
from hypothesis import strategies as st

from amounts import examples
from plimsoll.tokens.exact import exact_counter
from plimsoll.truncation import cut_json, cut_text
from plimsoll.truncation.boundaries import boundary_after, boundary_before
from plimsoll.truncation.marker import markers_in
from plimsoll.truncation.tool_results import shrink_result

EXACT = exact_counter("o200k_base")

ODD = [
    "\ud83d",
    "\ude00",
    "\x00",
    "e\u0301",
    "👨\u200d👩\u200d👧",
    "🇩🇪",
    "\r\n",
    "。",
    "<|endoftext|>",
    "[… 12 tokens cut …]",
    "…]",
    "[… ",
]
PIECES = st.one_of(
    st.text(max_size=30), st.sampled_from(ODD), st.sampled_from(["word ", "line\n", "End. ", "汉字", "    "])
)
TEXTS = st.builds(lambda pieces, times: "".join(pieces) * times, st.lists(PIECES, max_size=20), st.integers(1, 12))
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), TEXTS)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=8), st.dictionaries(st.text(max_size=8), inner, max_size=8)),
    max_leaves=25,
)


@settings(max_examples=examples(150), deadline=None)
@given(TEXTS, st.integers(0, 80), st.sampled_from(["head", "tail", "both"]))
def test_a_cut_is_within_its_limit_and_from_the_text(text, tokens_max, keep):
    """The result is within the limit by the exact count, unchanged if it fits, and made of the text's own ends."""
    cut = cut_text(text, tokens_max=tokens_max, counter=EXACT, keep=keep)

    assert EXACT.upper(cut.text) == cut.tokens <= tokens_max
    if EXACT.upper(text) <= tokens_max:
        assert cut.text == text
        return
    assert cut.removed_chars > 0 or markers_in(text)
    found = markers_in(cut.text)
    assert len(found) <= 1
    if found:
        assert text.startswith(cut.text[: found[0].start].rstrip())
        assert text.endswith(cut.text[found[0].end :].lstrip())


@settings(max_examples=examples(100), deadline=None)
@given(TEXTS, st.integers(0, 80), st.integers(0, 80), st.sampled_from(["head", "tail", "both"]))
def test_cutting_again_never_stacks(text, first, second, keep):
    """A cut text that fits is unchanged; cut further it has at most one marker."""
    once = cut_text(text, tokens_max=first, counter=EXACT, keep=keep).text
    twice = cut_text(once, tokens_max=second, counter=EXACT, keep=keep).text

    assert cut_text(once, tokens_max=first, counter=EXACT, keep=keep).text == once
    assert EXACT.upper(twice) <= second
    if EXACT.upper(once) > second:
        assert len(markers_in(twice)) <= 1


@settings(max_examples=examples(150), deadline=None)
@given(VALUES, st.integers(0, 120))
def test_cut_json_is_json_within_its_limit(value, tokens_max):
    """The result parses, is within the limit (or is `{}`), and keeps the top-level keys unless it was wrapped."""
    text = json.dumps(value)
    cut = cut_json(text, tokens_max=tokens_max, counter=EXACT)
    made = json.loads(cut.text)

    assert cut.tokens <= tokens_max or cut.text == "{}"
    assert EXACT.upper(cut.text) == cut.tokens
    if cut.text != text and isinstance(value, dict) and "_cut" not in made and made:
        assert list(made) == list(value)


@settings(max_examples=examples(150), deadline=None)
@given(TEXTS, st.integers(0, 500))
def test_safe_places_are_not_inside_a_character(text, at):
    """No boundary is before a combining mark with a base, or between the halves of a surrogate pair."""
    for place in (boundary_before(text, at), boundary_after(text, at)):
        if 0 < place < len(text):
            assert unicodedata.category(text[place]) not in {"Mn", "Me"} or len(text) > 64
            assert not ("\ud800" <= text[place - 1] <= "\udbff" and "\udc00" <= text[place] <= "\udfff")
            assert text[place - 1 : place + 1] != "\r\n"


@settings(max_examples=examples(100), deadline=None)
@given(st.text(max_size=20), TEXTS, st.integers(0, 120), st.sampled_from([None, "ref123"]))
def test_a_shrunk_result_is_within_its_limit(tool_name, content, tokens_max, reference):
    """Any text shrinks to any limit, and is unchanged if it fits."""
    shrunk = shrink_result(tool_name, content, tokens_max=tokens_max, counter=EXACT, reference=reference)

    assert EXACT.upper(shrunk.text) == shrunk.tokens_after <= tokens_max
    if EXACT.upper(content) <= tokens_max:
        assert (shrunk.text, shrunk.kind) == (content, "whole")


@settings(max_examples=examples(80), deadline=None)
@given(VALUES, st.integers(60, 200))
def test_a_shrunk_json_result_is_json(value, tokens_max):
    """A JSON result with some room stays JSON, and its note comes first."""
    text = json.dumps(value)
    shrunk = shrink_result("api", text, tokens_max=tokens_max, counter=EXACT)

    assert shrunk.tokens_after <= tokens_max
    if shrunk.kind == "json":
        made = json.loads(shrunk.text)
        assert next(iter(made)).strip("_") == "shrunk"
