"""What a ledger takes of results that are neither commands nor files: tables, cells of code, measured lines, reports."""

import json

import pytest
from summary_conversation import called

from plimsoll.message import text_message
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.summary.ledger.calls import understand
from plimsoll.summary.ledger.prose import claims
from plimsoll.summary.room import bias_of
from plimsoll.summary.values import items


def _read(*messages):
    """The ledger of these messages."""
    return extend(Ledger.empty(), messages, 0)


def _values(*messages):
    """The values in these messages: their texts with their facts."""
    return {fact.text: fact for fact in _read(*messages).of("identifier")}


def test_a_small_table_of_lists_is_one_value_with_its_columns():
    """As a spreadsheet or a database returns it: rows of cells, not objects."""
    answer = {"range": "Plan!P1:Q3", "values": [["region", "Q2"], ["North", 7743.0], ["Total", 9120.4]]}

    found = _values(*called("read_range", {"range": "Plan!P1:Q3"}, json.dumps(answer)))

    assert [*found] == ["region | Q2; North | 7743.0; Total | 9120.4"]


def test_of_a_long_table_the_first_rows_and_the_last_are_lines_of_output():
    """The newest value of a series, or the total, is below what does not fit."""
    small = {"rows": [["day", "total"], ["1", "77"]]}
    long = {"rows": [["day", "total"], *([f"2026-03-{day:02d}", day * 1_000] for day in range(1, 29))]}

    (table,) = _values(*called("query", {"q": "a"}, json.dumps(small))).values()
    (series,) = [fact for text, fact in _values(*called("query", {"q": "b"}, json.dumps(long))).items() if "…" in text]

    assert series.text.startswith("day | total; 2026-03-01 | 1000; ")
    assert series.text.endswith(" … 2026-03-28 | 28000")
    assert series.weight < table.weight


def test_a_row_that_only_repeats_the_call_is_no_value():
    """The label has it already; a row with anything else stays whole."""
    (fact,) = _values(*called("read_range", {"range": "A1:B24"}, '{"range": "A1:B24", "sheet": "Old_2024"}')).values()

    assert fact.text == "range A1:B24, sheet Old_2024"
    assert [*_values(*called("read_range", {"range": "A1:B24"}, '{"range": "A1:B24", "cells": {}}'))] != [
        "range A1:B24"
    ]


def test_an_acknowledgement_without_a_code_is_worth_less_than_what_came_of_a_call():
    """That 24 cells were updated says less than the name of the call; a booking number does not."""
    bare = _values(*called("set_formula", {"range": "C2:C25"}, '{"updated": 24, "errors": 0}'))
    told = _values(*called("book_room", {"room": "r4"}, '{"ok": true, "booking": "BK-5520"}'))

    assert bare["updated 24, errors 0"].weight * 2 < told["ok yes, booking BK-5520"].weight


def test_a_row_alone_is_worth_more_than_one_of_many():
    """An object that was asked for, beside the hits of a search."""
    hits = {"hits": [{"title": f"Term {n}", "section": f"{n}.4"} for n in range(6)]}

    many = _values(*called("search_terms", {"q": "glass"}, json.dumps(hits)))
    (alone,) = _values(*called("get_term", {"n": 1}, json.dumps({"title": "Term 1", "section": "1.4"}))).values()

    assert many["title Term 1, section 1.4"].weight < alone.weight


def test_a_report_about_a_file_is_labelled_by_all_it_says():
    """Its number and title tell which report got which reference, and what it says are findings."""
    report = {
        "id": "SEC-001",
        "title": "listen() evaluates arguments",
        "file": "logging/config.py",
        "note": "The root cause is that listen() binds to port 9030 without verify by default.",
    }

    ledger = _read(*called("report", report, '{"accepted": true, "ref": "f-20c1a7"}'))

    (fact,) = ledger.of("identifier")
    assert fact.note.startswith("report(SEC-001, listen() evaluates arguments,")
    assert [found.text for found in ledger.of("decision")] == [report["note"]]


def test_what_is_written_into_a_file_is_no_finding():
    """Its text is the file's."""
    note = "The root cause is that listen() binds to port 9030 without verify by default."

    assert not _read(*called("write_file", {"path": "a.md", "content": note}, "written")).of("decision")


@pytest.mark.parametrize(
    ("code", "brief"),
    [
        ("len(df)", "len(df)"),
        ("# Fit the model.\nmodel = fit(rows)\n" * 9, "# Fit the model."),
        ("model = fit(rows)\nprint(model.score)\n" * 9, "run_cell"),
    ],
)
def test_a_cell_of_code_is_described_by_its_comment_or_by_its_tool(code, brief):
    """The beginning of long code says little, and stands in front of each of its values."""
    assert understand("run_cell", json.dumps({"code": code})).brief == brief


def test_a_long_cell_without_a_comment_is_no_command():
    """A command of a shell stays one, however long it is."""
    long = "model = fit(rows)\nprint(model.score)\n" * 9

    assert not _read(*called("run_cell", {"code": long}, "score 0.7041")).of("command")
    assert _read(*called("bash", {"command": long}, "score 0.7041")).of("command")


def test_a_line_with_measured_numbers_is_a_value_and_comes_before_rows_that_are_alike():
    """The result of an experiment, among the rows of the table below it."""
    table = "\n".join(f"decile {n} mean 0.0{n}41 churn 0.1{n}22" for n in range(8))

    found = _values(*called("run", {"cmd": "x"}, f"EXP-6 valid auc 0.7041 recall@p35 0.0814\n{table}"))

    assert (
        found["EXP-6 valid auc 0.7041 recall@p35 0.0814"].weight
        > 1.5 * found["decile 0 mean 0.0041 churn 0.1022"].weight
    )


def test_the_last_line_of_an_output_is_read_also_behind_many_rows():
    """There the total stands."""
    rows = "\n".join(f"auc 0.7{n:02d}1 recall 0.04{n:02d}" for n in range(60))

    assert "auc sd 0.03014 recall sd 0.06874" in _values(
        *called("run", {"cmd": "x"}, f"{rows}\nauc sd 0.03014 recall sd 0.06874")
    )


def test_references_below_a_page_are_no_values_beside_its_sentences():
    """A page is read for what it says."""
    page = "Repurposing a pack costs 38 to 61 EUR in most of the plants.\n" + "\n".join(
        f"[{n}] Berg et al., Applied Energy {n}02 (2019) 12471{n}." for n in range(1, 9)
    )

    assert [
        *_values(text_message("user", "What does it cost?"), *called("open", {"url": "https://a.example"}, page))
    ] == ["Repurposing a pack costs 38 to 61 EUR in most of the plants."]


def test_the_first_request_tells_what_a_page_is_read_for_beside_the_newest():
    """What the run is about was said at its beginning; a plural finds the singular."""
    filler = "The town has a market and a school, and people like it there all the year. " * 8
    page = f"{filler}\nThe incident rate is low among stationary plants of any size.\n{filler}"
    asked = [text_message("user", "How many incidents had stationary plants?"), text_message("user", "Be short.")]

    found = _values(*asked, *called("open_page", {"url": "https://a.example/4"}, page))

    assert next(iter(found)) == "The incident rate is low among stationary plants of any size."


def test_a_line_of_code_that_raises_an_error_is_none():
    """Also where a search puts its number in front; the error itself is one."""
    found = "70: raise ValueError('invalid operation on closed shelf')\n91: throw new StateError('closed')"

    assert not _read(*called("bash", {"command": "grep -n closed a.py"}, found)).of("error")
    assert _read(*called("bash", {"command": "python a.py"}, "ValueError: invalid operation on closed shelf")).of(
        "error"
    )


def test_a_command_whose_outcome_has_a_number_is_worth_more_than_one_that_says_nothing():
    """What was measured is an answer, whatever program printed it."""
    (measured,) = _read(*called("bash", {"command": "python time_it.py"}, "4000 words in 0.045 s")).of("command")
    (told,) = _read(*called("bash", {"command": "python time_it.py"}, "all is well")).of("command")

    assert measured.weight > told.weight


def test_a_short_result_of_labelled_lines_is_one_value():
    """As instruments and programs without JSON answer."""
    result = "slope: 0.5197\nintercept: 0.0519\nR2: 0.9994\nresidual max: A7 0.002"

    assert [*_values(*called("fit", {"y": [0.05]}, result))] == [result.replace("\n", "; ")]


def test_what_a_tool_says_again_but_for_numbers_comes_after_what_differs():
    """Of a hundred transfers the one with a clot and the newest say most; the others stay candidates."""
    run = []
    for at in range(12):
        warning = "\nwarning: clot detected" if at == 3 else ""
        run += called(
            "transfer", {"to": f"W{at}"}, f"time: {at + 5} s\npressure: {at + 90} mbar{warning}", call_id=f"c{at}"
        )
    ledger = _read(*run)

    ranked = [item.group for item in items(ledger.of("identifier"), bias_of(None), ledger.end)]

    assert {*ranked[:2]} == {"transfer(W11)", "transfer(W3)"}
    assert len(ranked) == 12


def test_the_words_between_elements_are_the_sentences_of_a_page():
    """What a mail in XML says, beside the lines with its ids."""
    body = "Friday afternoon is good, but please use the other program for the call."
    mails = "<mails>\n" + "".join(
        f'<mail id="M-77{n}2"><subject>Re: interview</subject><body>{body if n == 4 else "Fine."}</body></mail>\n'
        for n in range(6)
    )

    found = _values(
        text_message("user", "When is the call?"), *called("mailbox", {"folder": "inbox"}, mails + "</mails>")
    )

    assert body in found
    assert any("M-7702" in text for text in found)


def test_a_time_inside_a_line_stays_and_one_in_front_leaves():
    """A log has one in front of each line; an event has its own."""
    found = _values(
        *called(
            "log", {}, "2026-03-04T12:00:01Z backup B-88120417 done\nx y z\nstart=2026-03-05T10:00:00 id=EV-15996\n" * 2
        )
    )

    assert [*found] == ["backup B-88120417 done", "start=2026-03-05T10:00:00 id=EV-15996"]


def test_a_number_sign_in_front_of_a_number_is_no_heading():
    """It names an issue."""
    said = "#2210 is a crash in cfg_parse_section."

    assert claims(f"# What was found in the code\n{said}") == (said,)


def test_an_address_that_ends_with_what_the_call_names_is_worth_less_than_a_new_one():
    """A comment that was made has an id of its own; a label that was set has only that of the issue."""
    place = "https://git.example/kestrel/issues/2228"
    edited = _read(*called("update_issue", {"number": 2228}, place)).of("identifier")
    commented = _read(*called("post_comment", {"number": 2228}, f"{place}#issuecomment-1771200456")).of("identifier")

    assert max(fact.weight for fact in edited) < max(fact.weight for fact in commented)
