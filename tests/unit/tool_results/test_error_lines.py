"""Which texts are looked at closely, and which lines are of one kind."""

from __future__ import annotations

import json

import hypothesis.strategies as st
from hypothesis import given
from tests.unit.tool_results.test_shrink_result import COUNTER

from plimsoll.truncation.tool_results import shrink_result
from plimsoll.truncation.tool_results.errors import containing, error_start, find_errors, kinds_of

STEMS = ["err", "fail", "错误"]
TEXTS = st.lists(st.text(alphabet="eErRfaiİL 错误\n\r\u2028", max_size=12), max_size=12)


@given(TEXTS)
def test_one_pass_finds_what_looking_at_each_text_finds(texts: list[str]) -> None:
    """Texts with line breaks, letters that grow in lower case, and stems over the border of two texts."""
    found = ((at, [stem for stem in STEMS if stem in text.lower()]) for at, text in enumerate(texts))

    assert containing(texts, STEMS) == {at: stems for at, stems in found if stems}


def test_a_number_tells_failure_from_success() -> None:
    """Lines that differ in it only are all read."""
    assert [found.first for found in find_errors(["pier: errors: 0", "pier: errors: 4", "pier: errors: 0"])] == [1]


def test_lines_of_one_kind_differ_in_numbers_ids_paths_and_values() -> None:
    """And lines of different words are of different kinds."""
    same = [f"2026-01-02 10:11:{n:02} GET /item/{n} user={name} id={n * 7919:x}" for n, name in enumerate("xyz")]

    assert len(set(kinds_of(same))) == 1
    assert len(set(kinds_of([*same, "2026-01-02 10:11:00 PUT /item/1 user=x id=0"]))) == 2


def test_many_kinds_of_lines_are_still_told_apart_by_their_beginnings() -> None:
    """Where nearly each line is of another kind."""
    lines = [f"notice {chr(103 + n % 19)}{chr(103 + n // 19 % 19)}{chr(103 + n // 361)} passed" for n in range(6_000)]
    kinds = kinds_of([*lines, "kernel: reboot"])

    assert kinds[-1] not in kinds[:-1]


def test_a_column_of_many_words_does_not_hide_the_odd_row() -> None:
    """A rare value among two counts for more than the rare ones among hundreds."""
    rows = [{"id": n, "city": f"{chr(97 + n % 26)}{chr(97 + n % 23)}", "state": "open"} for n in range(5_000)]
    rows[3_111]["state"] = "shut"

    assert '"shut"' in shrink_result("list", json.dumps(rows), tokens_max=300, counter=COUNTER).text


def test_the_start_of_an_error_is_an_index_into_the_text_itself() -> None:
    """One capital letter is two characters in lower case."""
    text = "İ" * 100 + " FILE NOT FOUND"

    assert error_start(text) == text.index("NOT FOUND")
