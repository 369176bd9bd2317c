"""What pages and small tables that a tool returned say: sentences about what was asked, and rows with their columns."""

from __future__ import annotations

import json

import pytest
from summary_conversation import called

from plimsoll.message import text_message
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.summary.ledger.calls import understand
from plimsoll.summary.ledger.fact import Fact
from plimsoll.summary.ledger.pages import from_answer, from_table
from spent import cpu_s

_FILLER = "The town has a market and a school, and people like it there all the year. " * 8


def _said(name, arguments, result, *, request="Who built the bridge?"):
    """The texts of the values in a result, after a request."""
    run = [text_message("user", request), *called(name, arguments, result)]
    return [fact.text for fact in extend(Ledger.empty(), run, 0).of("identifier")]


def test_a_page_is_kept_by_its_sentences_about_what_was_asked():
    """A sentence with the words of the call, also without any code or long number."""
    page = f"{_FILLER}\nVasse, who built the Marrow bridge, was born in Hollen in 1869.\n{_FILLER}"

    assert "Vasse, who built the Marrow bridge, was born in Hollen in 1869." in _said(
        "open_page", {"topic": "Vasse"}, page
    )


def test_the_words_of_the_request_find_a_sentence_that_the_call_does_not_name():
    """A page is opened by its address; what it is opened for was said by the user."""
    page = f"{_FILLER}\nThe lighthouse was designed by an engineer of the navy.\n{_FILLER}"
    wanted = "Who designed the lighthouse?"

    assert _said("open_page", {"url": "https://a.example/4"}, page, request=wanted)[0].startswith("The lighthouse was")


@pytest.mark.parametrize(
    "row",
    [
        "| Vasse | the Marrow bridge was built by Vasse of Hollen in the year of 1869. |",
        "[12] link 'Vasse built the Marrow bridge at the town of Hollen in the year 1869.'",
        "OBJECTIVE: Find when Vasse built the Marrow bridge in the town of Hollen, and for whom.",
        '{"Vasse": "built the Marrow bridge at the town of Hollen in the year of 1869."}',
    ],
)
def test_rows_elements_and_labels_are_no_sentences_of_a_page(row):
    """Only what is written in sentences is one."""
    call = understand("open_page", '{"topic": "Vasse bridge"}')

    assert row not in [fact.text for fact in from_answer(f"{row}\n{_FILLER}", call, 4, {}) or ()]


def test_a_page_says_less_beside_work_on_files():
    """One sentence, where the run changes files; and nothing that the call itself said."""
    page = "Vasse built the Marrow bridge in 1869 at Hollen. Vasse built the Long bridge in 1871 at Hollen. " * 4
    call = understand("open_page", '{"topic": "Vasse bridge"}')

    changed = Fact("file", "a.py", "a.py", 2, "tool", state="modified")
    assert len(list(from_answer(page, call, 4, {"file": {"a.py": changed}}) or ())) == 1
    assert not list(from_answer(page, understand("plan", json.dumps({"text": page})), 4, {}) or ())


def test_a_sentence_that_pages_share_but_for_its_numbers_stands_once():
    """Each page is kept by what it alone says; what only repeats other pages has no other lines either."""
    shared = "The clerk of the town keeps the records of the bridge for {} years in the hall. "
    run = [text_message("user", "Which bridge was sold?")]
    for at, own in enumerate(["The bridge of Hollen was sold in 1871 to a company of millers.", ""]):
        run += called("open_page", {"page": at}, f"{shared.format(at + 7)}{own} {_FILLER}", call_id=f"c{at}")

    found = [fact.text for fact in extend(Ledger.empty(), run, 0).of("identifier")]

    assert sum("keeps the records" in text for text in found) == 1
    assert "The bridge of Hollen was sold in 1871 to a company of millers." in found


def _read(*pages: str, same: bool) -> list[Fact]:
    """The values of pages, which one call returns anew, or each another one."""
    run = [text_message("user", "What is the state of the Marrow bridge?")]
    for at, page in enumerate(pages):
        arguments = {"topic": "Marrow bridge"} if same else {"topic": "Marrow bridge", "place": f"page {at}"}
        run += called("open_page", arguments, f"{page} {_FILLER}", call_id=f"c{at}")
    return extend(Ledger.empty(), run, 0).of("identifier")


def test_the_newest_number_of_a_page_that_is_read_again_stands() -> None:
    """With the number that it replaces. Of another page the sentence only repeats this one."""
    pages = [f"The toll of the Marrow bridge is at {toll} crowns this morning." for toll in ("18.20", "20.10")]

    (fact,) = _read(*pages, same=True)
    assert fact.text == pages[1]
    assert fact.state == "was 18.20"
    (fact,) = _read(*pages, same=False)
    assert fact.text == pages[0]


def test_sentences_that_begin_alike_are_several() -> None:
    """A long subject says nothing of what is said about it."""
    subject = "The Marrow bridge, which the millers of the town of Hollen built over the river with their own hands,"
    told = [f"{subject} cost 80 crowns.", f"{subject} was sold in 1871."]

    assert {fact.text for fact in _read(" ".join(told), same=True)} == set(told)


def test_what_pages_share_takes_no_room_from_what_one_alone_says() -> None:
    """However much the shared sentences say to what is asked."""
    names = ("Vasse", "Hollen", "Maria")
    shared = " ".join(f"The state of the Marrow bridge is good, says {name} in 1869 and 1871." for name in names)
    own = "The bridge of the town was painted in green at last."

    assert own in {fact.text for fact in _read(shared, f"{shared} {own}", same=False)}


def test_a_sentence_that_says_less_to_what_is_asked_is_worth_less() -> None:
    """Also where it is the best of its page."""
    weak, strong = (
        "The bridge of the town was painted in green.",
        "The state of the Marrow bridge is good in 1869, says Vasse.",
    )

    (little,), (much,) = _read(weak, same=True), _read(strong, same=True)
    assert little.weight < much.weight


def test_a_small_table_is_one_value_with_its_columns():
    """What a query of a few rows was made for, whatever its numbers are like."""
    table = "berth_id | med_h | n\n---------|-------|---\nT2 | 30.9 | 498\nT7 | 27.2 | 139"

    assert _said("sql", {"code": "SELECT 4"}, table) == ["berth_id | med_h | n; T2 | 30.9 | 498; T7 | 27.2 | 139"]
    assert _said("run_cell", {"code": "x"}, "ticket_price     0.03\nage              0.44") == [
        "ticket_price | 0.03; age | 0.44"
    ]


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("Grep", "Found 1 file\nsrc/a4.py"),
        ("sql", "a | b\n" + "4 | 5\n" * 80),
        ("sql", "Error: no such table: a4\nHINT: look"),
        ("python", "Traceback (most recent call last):\n  File 4\nValueError: 4"),
    ],
)
def test_listings_long_tables_and_failures_are_no_small_tables(name, result):
    """They are read as what they are."""
    assert not list(from_table(result, understand(name, '{"code": "x"}'), 4))


@pytest.mark.parametrize("text", ["a " * 60_000 + ".", "A. " * 40_000, "| " * 60_000, "Aa Bb " * 30_000 + "."])
def test_hostile_pages_take_linear_time(text):
    """Lines without an end, and nothing but ends of sentences."""
    call = understand("open_page", '{"topic": "Vasse bridge"}')

    assert cpu_s(lambda page: list(from_answer(page, call, 4, {}) or ()), text) < 1
