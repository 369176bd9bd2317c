"""A row of a table that recall finds, or that a summary shows, says what its columns are."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spent import cpu_s

import plimsoll
from plimsoll.recall.headers import header_above
from plimsoll.truncation.tables import header_of

COLUMNS = ("invoice", "boat", "amount_eur", "state")
ROWS = [(f"90{at:04}", f"Sula{at}", str(17 * at + 300), ("paid", "open")[at % 2]) for at in range(200)]
RULES = {"markdown": "|---|---|---:|---|", "mysql": "+---+---+---+---+", "psql": "-----+----+-----+----"}


def cells(row: tuple[str, ...], kind: str) -> str:
    """One line of a table."""
    match kind:
        case "markdown" | "mysql":
            return f"| {' | '.join(row)} |"
        case "psql":
            return f" {' | '.join(cell.ljust(10) for cell in row)}"
        case "columns":
            return "".join(cell.ljust(16) for cell in row).upper()
        case _:
            return {"csv": ",", "tsv": "\t", "semicolons": ";"}[kind].join(row)


def table(kind: str) -> str:
    """The table as a tool prints it."""
    head = [cells(COLUMNS, kind), *([RULES[kind]] if kind in RULES else ())]
    rows = [cells(row, kind) for row in ROWS]
    return "\n".join([RULES[kind], *head, *rows, RULES[kind]] if kind == "mysql" else [*head, *rows])


KINDS = ["markdown", "mysql", "psql", "csv", "tsv", "semicolons", "columns"]


def session_of(text: str, **options: Any) -> plimsoll.Session:
    """A session in which a tool printed this text, which has left the view."""
    session = plimsoll.open("tables", store="memory:", max_tokens=2_000, **options)
    call = {"id": "c1", "type": "function", "function": {"name": "sql", "arguments": "{}"}}
    session.append({"role": "user", "content": "List the invoices."})
    session.append({"role": "assistant", "content": None, "tool_calls": [call]})
    session.append({"role": "tool", "tool_call_id": "c1", "content": text})
    for _ in range(3):
        session.append({"role": "assistant", "content": "The ferry leaves at noon. " * 80})
        session.append({"role": "user", "content": "And the next one? " * 20})
    session.compact()
    return session


@pytest.mark.parametrize("before", ["", "$ sql invoices\n", "Here they are.\n\n"], ids=["bare", "command", "prose"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_that_is_found_has_the_header_of_its_table(kind: str, before: str) -> None:
    """The header stands beside the text, which is the log's own, byte for byte, at its offset."""
    text = before + table(kind)
    with session_of(text) as session:
        [hit, *_] = [hit for hit in session.recall("Sula137", max_tokens=400) if "ula137" in hit.text.casefold()]

        assert hit.header == cells(COLUMNS, kind).strip()
        assert session.read(hit.reference)[hit.offset :].startswith(hit.text)
        assert hit.text in text
        assert hit.to_dict()["header"] == hit.header


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_that_recalls_a_row_is_told_its_columns(kind: str) -> None:
    """The tool's answer names the columns in the heading of the excerpt."""
    with session_of(table(kind)) as session:
        answer = session.call_tool("recall", {"query": "Sula137"})

    assert "columns: " + " ".join(cells(COLUMNS, kind).split()) in answer


@pytest.mark.parametrize("kind", KINDS)
def test_a_summary_that_shows_rows_names_their_columns_once(kind: str) -> None:
    """Rows of output without their header are numbers without a meaning."""
    with session_of(table(kind)) as session:
        [summary] = [text for wire in session.view() if "Values from tools" in (text := str(wire["content"]))]

    assert summary.casefold().count("amount_eur") == 1
    assert "9000" in summary


@pytest.mark.parametrize(
    "text",
    [
        table("csv"),
        "\n".join(f"Sula{at} came in, it was late, and the crew went home." for at in range(200)),
        "\n".join(f"Sula{at} | came in" for at in range(200)),
        table("csv").partition("\n")[2],
    ],
    ids=["the header itself", "prose", "bars", "rows alone"],
)
def test_what_is_no_row_below_a_header_has_none(text: str) -> None:
    """A hit that begins with the header, prose with commas, lines with bars, and rows without a header."""
    with session_of(text) as session:
        hits = session.recall(f"{COLUMNS[0]} {COLUMNS[2]} Sula3", max_tokens=300, limit=1)

    assert [hit.header for hit in hits] == [""]


def test_headers_count_as_text_does() -> None:
    """All texts and headers together are within the tokens that were asked for."""
    tables = "\n\n".join(f"{table('markdown')}\n\nPier {at} closes." for at in range(3))
    with session_of(tables) as session:
        for tokens_max in (60, 120, 400):
            hits = session.recall("Sula137 Sula9 Sula55", max_tokens=tokens_max)
            shown = {hit.header for hit in hits} | {hit.text for hit in hits}

            assert sum(plimsoll.count_tokens(text) for text in shown) <= tokens_max


def test_a_long_header_is_left_out() -> None:
    """A line of hundreds of characters is no short account of a row."""
    columns = [f"a_very_long_name_of_column_{at}" for at in range(20)]
    rows = [[f"{at}{column}" for column in range(20)] for at in range(1_000, 1_100)]
    with session_of("\n".join(map(",".join, [columns, *rows]))) as session:
        assert {hit.header for hit in session.recall("10507", max_tokens=400)} == {""}


def test_a_row_has_the_header_of_the_table_it_is_in() -> None:
    """Of tables below each other, the one above a row is its own, also where each row has a rule below it."""
    tables = "## Boats\n| id | boat |\n|---|---|\n| 1 | Sula |\n## Piers\n| id | pier |\n|---|---|\n| 1 | North |"
    ruled = "+--+--+\n| id | boat |\n+--+--+\n| 1 | Sula |\n+--+--+\n| 2 | Lomvi |\n+--+--+\n| 3 | Terne |"

    assert header_above(tables, tables.index("| 1 | Sula"), tables.index("## Piers")) == "| id | boat |"
    assert header_above(tables, tables.index("| 1 | North"), len(tables)) == "| id | pier |"
    assert header_above(ruled, ruled.index("| 3"), len(ruled)) == "| id | boat |"


BOATS = "name,age,port\nSula,3,Vigo\nLomvi,4,Faro\nTerne,5,Vigo\nSkua,6,Faro\nAlk,7,Vigo\nErne,8,Faro\nIbis,9,Vigo\n"
PRICES = "article,price,stock\nrope,3.5,10\nsail,4.5,11\nbell,5.5,12\nlamp,6.5,13"


@pytest.mark.parametrize("below", [PRICES, PRICES.replace(",1", ",red,1").replace("stock", "color,stock")])
@pytest.mark.parametrize("name", ["rope", "bell", "lamp"])
def test_a_row_of_a_table_directly_below_another_has_its_own_header(name: str, below: str) -> None:
    """No blank line tells them apart, but a line of names below numbers and above other ones."""
    text = f"{BOATS}{below}"
    at = text.index(name)

    assert header_above(text, at, at + 9) == below.partition("\n")[0]
    assert header_above(text, text.index("Terne"), at) == "name,age,port"


def test_a_row_without_its_number_is_no_header() -> None:
    """What is unknown stands between rows with numbers in the same column."""
    for text in (BOATS.replace("Lomvi,4", "Lomvi,unknown"), BOATS.replace(",4,", ",unknown,").replace(",5,", ",none,")):
        assert header_above(text, text.index("Skua"), len(text)) == "name,age,port"


@pytest.mark.parametrize("unknown", ["", "n/a", "-"])
def test_a_row_without_any_of_its_numbers_is_no_header(unknown: str) -> None:
    """What is said of several columns alike, or not at all, names none of them."""
    rows = [
        f"{name},{at},{at * 3},{at + 60}" for at, name in enumerate(["Sula", "Lomvi", "Terne", "Skua", "Alk", "Ibis"])
    ]
    text = "\n".join(["name,age,length,draught", *rows[:3], f"Erne,{unknown},{unknown},{unknown}", *rows[3:]])
    assert header_above(text, text.index("Alk"), len(text)) == "name,age,length,draught"


@pytest.mark.parametrize(
    "line",
    ["|" * 100_000, "a,b" * 30_000 + "7", "| a " * 25_000, "a " * 50_000 + "|"],
    ids=["bars", "names", "cells", "words"],
)
def test_a_header_is_looked_for_in_wide_lines_once(line: str) -> None:
    """The time grows with the text, however many cells a line has."""
    row = "| a | b | c |\n"
    text = f"intro\n{line}\n{line}\n{row}"

    assert cpu_s(lambda text: header_above(text, len(text) - len(row), len(text)), text) < 0.5


def test_the_first_row_of_a_listing_without_a_header_is_none() -> None:
    """Its fields are those of the rows below but for their numbers; columns that are named after percentiles are a header."""
    listing = [
        f"#{2210 + n}  {title}  {n + 1} days ago  {n} comments"
        for n, title in enumerate(("Crash", "Docs", "Leak", "Typo"))
    ]
    spread = ["name  mean  25%  50%  75%", *(f"row{n}  {n}.5  {n}.25  {n}.50  {n}.75" for n in range(1, 5))]

    assert header_of("\n".join(listing), listing[2]) == (-1, "")
    assert header_of("\n".join(spread), spread[2]) == (0, spread[0])
