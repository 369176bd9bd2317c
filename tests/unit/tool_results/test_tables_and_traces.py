"""Tables as databases and `ps` print them, stack traces within other output, and what an error is inside of."""

from __future__ import annotations

import pytest

import plimsoll
from plimsoll.truncation.tool_results.shapes import detect_lines

NAMES = ("id", "customer", "status", "amount")
ROWS = [
    (str(n), f"Ann {n}", "DISPUTED" if n == 233 else ("paid", "open")[n % 2], "98765.43" if n == 312 else f"{n % 89}.5")
    for n in range(400)
]
WIDTHS = [max(len(row[column]) for row in [NAMES, *ROWS]) for column in range(4)]


def framed(left, rule, corners, row):
    """A table whose cells have `left` and its like between them, as lines of three parts: above, below the header, at the end."""
    cells = left.join(f" {cell:<{width}} " for cell, width in zip(row, WIDTHS, strict=True))
    return cells if rule is None else corners.join(rule * (width + 2) for width in WIDTHS)


def table(kind):
    """The rows as `psql`, `mysql` or `sqlite3 -box` prints them."""
    border = "│" if kind == "box" else "|"
    outer = "" if kind == "psql" else border
    rule = framed(border, "─" if kind == "box" else "-", "┼" if kind == "box" else "+", NAMES)
    body = [f"{outer}{framed(border, None, '', row)}{outer}" for row in [NAMES, *ROWS]]
    below = {"psql": ["(400 rows)", ""], "mysql": [f"+{rule}+", "400 rows in set (0.02 sec)"], "box": [f"└{rule}┘"]}[
        kind
    ]
    edge = f"+{rule}+" if kind == "mysql" else rule
    return "\n".join([*([] if kind == "psql" else [edge]), body[0], edge, *body[1:], *below])


@pytest.mark.parametrize("kind", ["psql", "mysql", "box"])
@pytest.mark.parametrize("tokens_max", [300, 1_000])
def test_printed_tables_keep_their_header_odd_rows_and_count(kind, tokens_max):
    """The row with a rare word and the one with a far number are shown; the head says how many rows there are."""
    shown = plimsoll.shrink("bash", table(kind), max_tokens=tokens_max).text

    assert "400 rows, 4 columns" in shown.splitlines()[0]
    assert all(word in shown for word in ("customer", "DISPUTED", "98765.43", "Ann 0 ", "Ann 399"))
    assert kind != "psql" or "(400 rows)" in shown
    assert kind != "mysql" or "400 rows in set" in shown


@pytest.mark.parametrize("empty", [0, 2, 3])
@pytest.mark.parametrize("outer", ["", "|"])
@pytest.mark.parametrize("apart", ["|", " | "])
def test_empty_cells_beside_a_border_are_cells(empty, outer, apart):
    """As `sqlite3` and `psql -A` print NULL: the columns stay where they are, so that the one odd row is found."""
    rows = [[cell if column != empty or n % 3 else "" for column, cell in enumerate(row)] for n, row in enumerate(ROWS)]
    rows = [[*row[:2], "paid" if row[2] == "open" else row[2], row[3]] for row in rows]
    rows[233] = ["9233", "Ann 233", "DISPUTED", "11.5"]
    text = "\n".join(f"{outer}{apart.join(row)}{outer}" for row in [NAMES, *rows])
    shown = plimsoll.shrink("bash", text, max_tokens=300).text

    assert "400 rows, 4 columns" in shown.splitlines()[0]
    assert all(apart.join(row) in shown for row in (NAMES, rows[233], rows[-1]))


def test_columns_of_words_are_a_table():
    """The process that takes most is shown; prose with a heading in capitals is no table."""
    busy = "root  4711 99.7 61.2 9055140 8822576 ?  Rl 02:13 412:20 python train.py --epochs 90"
    lines = [f"root {n:5}  0.{n % 3}  0.1   5140   2576 ?  S  02:13   0:20 worker --number {n}" for n in range(200)]
    lines[120] = busy

    assert (
        busy
        in plimsoll.shrink(
            "bash", "\n".join(["USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND", *lines]), max_tokens=300
        ).text
    )
    assert detect_lines("", "THE END OF IT\n" + "It was late and nobody spoke.\n\n" * 30) == "text"


TRACES = {
    "python": (
        (
            "Traceback (most recent call last):\n"
            + "".join(f'  File "/lib/outer.py", line {n}, in call\n    return call_{n}(request)\n' for n in range(12))
            + '  File "/srv/views.py", line 214, in checkout\n    total = cart.total()\n'
            '  File "/srv/cart.py", line 88, in total\n    return sum(i.price for i in self.items)\nAttributeError: no attribute price'
        ),
        ("AttributeError", 'cart.py", line 88', "views.py"),
    ),
    "java": (
        (
            'Exception in thread "main" java.lang.IllegalStateException: closed\n\tat com.acme.Queue.put(Queue.java:41)\n'
            "\tat com.acme.Batch.send(Batch.java:8)\n\tat com.acme.Batch.run(Batch.java:5)\n"
            "\tat com.acme.Worker.run(Worker.java:17)\n\tat java.lang.Thread.run(Thread.java:840)\n"
            + "".join(f"\tat org.server.Filter{n}.apply(Filter{n}.java:{n})\n" for n in range(9))
            + "Caused by: java.io.IOException: pipe\n"
            "\tat com.acme.Net.write(Net.java:99)\n\t... 2 more"
        ),
        ("IllegalStateException", "Queue.java:41", "Worker.java:17", "Caused by"),
    ),
    "javascript": (
        (
            "TypeError: Cannot read properties of undefined (reading 'profile')\n    at render (/srv/index.js:41:17)\n"
            "    at page (/srv/page.js:5:9)\n    at route (/srv/route.js:77:3)\n    at Layer.handle [as handle_request] (/srv/node_modules/express/layer.js:95:5)"
        ),
        ("TypeError", "index.js:41:17", "route.js:77:3"),
    ),
    "go": (
        (
            "panic: runtime error: invalid memory address\n[signal SIGSEGV: segmentation violation code=0x1]\n\ngoroutine 18 [running]:\n"
            "main.(*Server).handle(0x0, {0xc000012345, 0x5})\n\t/srv/server.go:77 +0x31\ncreated by main.main\n\t/srv/main.go:20 +0x5c"
        ),
        ("panic: runtime", "server.go:77"),
    ),
    "rust": (
        (
            "thread 'main' panicked at src/pool.rs:57:14:\ncalled `Result::unwrap()` on an `Err` value: TooManyFiles\nstack backtrace:\n"
            "   0: rust_begin_unwind\n   1: core::panicking::panic_fmt\n   2: acme::Pool::get\n             at ./src/pool.rs:57:14"
        ),
        ("src/pool.rs:57:14", "TooManyFiles", "acme::Pool::get"),
    ),
}


@pytest.mark.parametrize(
    "other", ["request {0} was handled by worker {1}", "2026-05-17 10:00:{1:02} INFO request {0} handled"]
)
@pytest.mark.parametrize("language", TRACES)
def test_a_trace_within_other_output_keeps_its_cause_and_inner_frames(language, other):
    """The frames beyond the lines next to the error, in plain output and in a log."""
    trace, wanted = TRACES[language]
    lines = [other.format(n, n % 8) for n in range(600)]
    text = "\n".join([*lines[:350], trace, *lines[350:]])
    shown = plimsoll.shrink("bash", text, max_tokens=250).text

    assert [word for word in wanted if word not in shown] == []


def test_an_error_comes_with_what_it_is_inside_of():
    """A failure of a test report is shown with the name of its test, also the second of two that are alike."""
    cases = [f'    <testcase classname="app.Mod{n // 10}" name="test_case_{n}" time="0.0"/>' for n in range(240)]
    for n in (77, 190):
        cases[n] = (
            f'    <testcase name="test_case_{n}">\n      <failure>AssertionError: expected 200 but got {500 + n % 4}</failure>\n    </testcase>'
        )
    text = "\n".join(
        ["<testsuites>", '  <testsuite tests="240" failures="2">', *cases, "  </testsuite>", "</testsuites>"]
    )
    shown = plimsoll.shrink("bash", text, max_tokens=400).text

    assert all(word in shown for word in ("test_case_77", "test_case_190", "got 501"))
