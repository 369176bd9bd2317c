"""What tools print day by day: pages, histories, paths, colours and progress, and what is looked for in them."""

from __future__ import annotations

import base64
import json
import random

import pytest
from tests.unit.tool_results.test_shrink_result import COUNTER, shrink

import plimsoll
from plimsoll.errors import SettingError
from plimsoll.truncation.tool_results import shrink_result
from plimsoll.truncation.tool_results.html_text import text_of_page
from plimsoll.truncation.tool_results.terminal import as_shown
from plimsoll.truncation.tool_results.wanted import words_of


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        ("\x1b[1;31mERROR\x1b[0m disk\n", "ERROR disk\n"),
        ("\x1b]0;title\x07make\x1b(B all", "make all"),
        ("a\r\nb\r\n", "a\nb\n"),
        (" 10%\r 50%\r100%\ndone", "100%\ndone"),
        (" 10%\rERROR: no space\r100%\ndone", "ERROR: no space\n100%\ndone"),
        ("one\rtwo", "one\ntwo"),
        ("N\x08NA\x08AM\x08ME", "NAME"),
        ("plain [31m text", "plain [31m text"),
        ("\x1b[" + "1;" * 40 + "x", "\x1b[" + "1;" * 40 + "x"),
    ],
)
def test_output_is_read_as_a_terminal_shows_it(printed: str, shown: str) -> None:
    """Colours and states that were written over are left out, errors among them are not."""
    assert as_shown(printed) == shown


def test_progress_takes_no_room() -> None:
    """A download's thousand states are one line, and the error below them is shown."""
    bar = "".join(f"\r{n // 10}% [{'=' * (n // 20):50}] {n} kB" for n in range(1_000))
    text = "\n".join([f"fetch part {part}{bar}" for part in range(9)] + ["\x1b[31mE: hash mismatch\x1b[0m"] * 2)
    shown = shrink(text, 300).text

    assert shown.count("99% [") == 9
    assert "\x1b" not in shown
    assert "E: hash mismatch" in shown


PAGE = (
    "<!DOCTYPE html><html><head><title>Tides &amp; harbours</title><style>.a{color:red}</style>"
    "<script>if (a < b) { alert('<p>no</p>') }</script></head><body><!-- not <p>this</p> --><nav><li>Home</li></nav>"
    "<h1>Tides</h1><p>High water   at <b>noon</b>.</p><table><tr><th>Port</th><td>7&nbsp;m</td></tr></table>"
    "<pre>x = 1\ny = 2</pre>{}</body></html>"
)


def test_a_page_is_shown_as_its_text() -> None:
    """Title, headings, paragraphs, rows and code; no scripts, styles, comments and tags."""
    lines = text_of_page(PAGE).split("\n")

    assert lines == [
        *("# Tides & harbours", "- Home", "# Tides", "High water at noon."),
        *("| Port | 7 m", "x = 1", "y = 2", "{}"),
    ]


def test_the_outline_of_a_long_page_comes_first() -> None:
    """And the head says what it was."""
    body = "".join(f"<h2>Part {n}</h2><div class='c'><p>{'Water rises. ' * 30}</p></div>" for n in range(40))
    text = shrink(PAGE.replace("{}", body), 300).text

    assert text.startswith("[shrunk from ")
    assert "HTML page, " in text.split("\n")[0]
    assert "# Tides & harbours" in text
    assert text.count("## Part ") > 8
    assert "<" not in text


@pytest.mark.parametrize(
    "page", ["<html><script>" * 2_000, "<html><!--" * 2_000, "<html>" + "<a " * 20_000, "<html>&#x110000;&lt"]
)
def test_damaged_pages_are_read(page: str) -> None:
    """Tags that never end, and characters that there are not."""
    assert COUNTER.upper(shrink(page * 3, 60).text) <= 60


def test_a_history_is_shown_commit_by_commit() -> None:
    """Hash, author, date and subject of a commit on one line, the newest and the oldest first."""
    history = "\n".join(
        f"commit {n:040x}\nAuthor: Ada <ada@example.org>\nDate:   Mon Jun 1 10:{n % 60:02}:00 2026 +0000\n\n    Subject {n}\n\n"
        + "    Why it was done. \n" * 20
        for n in range(100, 200)
    )
    shrunk = shrink(history, 300)

    assert shrunk.kind == "history"
    assert "100 commits" in shrunk.text.split("\n")[0]
    assert "0000000000 Subject 100 (Ada, Mon Jun 1 10:40:00 2026 +0000)" in shrunk.text
    assert shrunk.text.count(" Subject ") >= 8


def test_a_history_with_its_changes_shows_its_commits() -> None:
    """The commits and their subjects before the files of each."""
    files = "".join(
        f"diff --git a/src/part{n}.py b/src/part{n}.py\n--- a/src/part{n}.py\n+++ b/src/part{n}.py\n@@ -1 +1 @@\n-old\n+new\n"
        for n in range(40)
    )
    text = "\n".join(
        f"commit {n:040x}\nAuthor: Ada <ada@example.org>\nDate:   Mon Jun 1\n\n    Subject {n}\n\n    Why it was done.\n\n{files}"
        for n in (171, 172, 173)
    )
    shrunk = shrink(text, 300)

    assert shrunk.kind == "diff"
    assert "3 commits, 120 files, +120 -120 lines" in shrunk.text.split("\n")[0]
    assert all(f"    Subject {n}" in shrunk.text for n in (171, 172, 173))
    assert "diff --git" in shrunk.text


@pytest.mark.parametrize("label", ["npm error", "npm ERR!", "yarn error:", "gyp ERR!"])
def test_lines_that_a_program_labels_as_errors_are_shown(label: str) -> None:
    """Between other lines, though none of their words alone says much; fewer than three may be prose."""
    warnings = ["npm warn deprecated part: This module is not supported"] * 60
    block = [
        f"{label} code ERESOLVE",
        *(f"{label} {text}" for text in ("While resolving: shop@1.4.0", "Found: react@18.2.0", "Fix it")),
    ]
    text = "\n".join([*warnings, *block, *(f"added {n} packages, invalid or missing {n}" for n in range(60))])

    assert all(line in shrink(text, 200).text for line in block[:3])


def test_what_is_cut_of_a_line_ends_at_words() -> None:
    """Both ends of a long line are whole words."""
    words = [f"word{n}" for n in range(400)]
    line = next(line for line in shrink(f"{' '.join(words)}\n" * 40, 200).text.split("\n")[1:] if " … " in line)

    assert set(line.replace(" … ", " ").split(" (")[0].split()) <= set(words)


def test_a_folder_does_not_count_itself() -> None:
    """`.` and `..` of a long listing are no paths."""
    names = ["drwxr-xr-x 2 root root 4096 Nov 22 20:38 .", "drwxr-xr-x 2 root root 4096 Nov 22 20:38 .."]
    names += [f"-rw-r--r-- 1 root root 9444 Nov 22 20:38 module_{n}.py" for n in range(40)]
    text = "\n\n".join("\n".join([f"src/part{folder}:", "total 48", *names]) for folder in range(4))

    assert "160 paths in" in shrink(text, 200).text


@pytest.mark.parametrize("header", ["Author: Ada <", "commit 00ff", "Date:   Mon"])
def test_an_error_in_the_header_of_a_commit_is_shown(header: str) -> None:
    """What follows a damaged header stays."""
    commits = [
        f"commit {n:040x}\nAuthor: Ada <a@example.org>\nDate:   Mon Jun 1\n\n    Subject {n}\n" for n in range(100)
    ]
    commits.insert(50, f"commit {'a' * 40}\n{header} ERROR: disk failure lostit\n\n    Subject\n")

    assert "lostit" in shrink("\n".join(commits), 300).text


def test_paths_are_shown_by_folder() -> None:
    """Each folder with the number of paths below it and the names in it, the upper folders first."""
    paths = [f"src/pkg{n % 9}/sub{n % 4}/module_{n}.py" for n in range(600)] + ["README.md", "src/setup.py"]
    shrunk = shrink("\n".join(sorted(paths)), 300)

    assert "602 paths in " in shrunk.text.split("\n")[0]
    assert "README.md" in shrunk.text
    assert "src/ (601): setup.py" in shrunk.text
    assert all(f"src/pkg{n}/ (" in shrunk.text for n in range(9))


def test_a_short_gap_is_filled() -> None:
    """Lines that cost no more than the mark of a gap are shown, so that no blank line is counted."""
    text = shrink("\n".join(f"## Part {n}\n\n" for n in range(900)), 400).text

    assert "## Part 0\n\n\n## Part 1\n" in text
    assert text.count("cut …]") == 1


@pytest.mark.parametrize("width", [76, 10**6])
def test_base64_is_named_and_not_shown(width: int) -> None:
    """Its kind, size and hash in the head, and its beginning; the rest would tell nothing."""
    encoded = base64.b64encode(b"\x89PNG\r\n" + random.Random(4).randbytes(40_000)).decode()
    shrunk = shrink("\n".join(encoded[at : at + width] for at in range(0, len(encoded), width)), 1_000)

    assert shrunk.kind == "base64"
    assert "base64 of 40,006 bytes (PNG image), sha256 of the text " in shrunk.text.split("\n")[0]
    assert shrunk.tokens_after < 60


def test_an_error_within_one_endless_line_is_shown() -> None:
    """A line of a hundred thousand characters is shown in pieces, with both ends."""
    items = [f'{{"t":{n},"state":"calm"}}' for n in range(6_000)]
    items[3_333] = '{"t":3333,"level":"ERROR","why":"mast broke"}'
    shrunk = shrink(" ".join(items), 300)

    assert "mast broke" in shrunk.text
    assert shrunk.text.split("\n")[1].startswith('{"t":0')
    assert 't":5999' in shrunk.text
    assert "1 line of " in shrunk.text.split("\n")[0]


@pytest.mark.parametrize(
    "lines",
    [
        [
            "NAME            READY   STATUS             AGE",
            *(f"web-{n:03}-abcxyz   1/1     Running            {n}d" for n in range(150)),
            "web-999-lostit  0/1     Pending            9d",
            *(f"web-{n:03}-abcxyz   1/1     Running            {n}d" for n in range(150, 300)),
        ],
        [
            "| port | tide | state |",
            "|---|---|---|",
            *(f"| p{n} | {n % 7} | open |" for n in range(200)),
            "| lostit | 4 | shut |",
            *(f"| p{n} | {n % 7} | open |" for n in range(200)),
        ],
        [
            "   Compiling foo v0.1",
            *(f"   Compiling dep{n} v1.{n}.0" for n in range(200)),
            "error[E0308]: lostit",
            "  --> a.rs:1:2",
        ]
        + [f"   Compiling post{n} v1.{n}.0" for n in range(200)],
        ["app@1.0.0", *(f"├── pkg{n}@1.{n}.0" for n in range(300)), "├── UNMET DEPENDENCY lostit@1", "└── zed@1.0.0"],
        [
            "CONTAINER ID   STATUS",
            *(f"{n:012x}   Up {n} hours" for n in range(300)),
            "00lostit0000   Exited (137) 2 hours ago",
        ]
        + [f"{n:012x}   Up {n} hours" for n in range(200)],
    ],
    ids=["kubectl", "markdown", "cargo", "npm", "docker"],
)
def test_the_odd_line_of_what_tools_print_is_shown(lines: list[str]) -> None:
    """A row of an aligned or a Markdown table, a compiler's error, an entry that is marked, a state of failure; and the header."""
    text = shrink("\n".join(lines), 300).text

    assert "lostit" in text
    assert lines[0] in text


CITIES = ("oslo", "riga", "bern", "rome")


@pytest.mark.spec("S3-14")
@pytest.mark.parametrize("cap", [300, 1_000])
def test_what_is_looked_for_is_shown(cap: int) -> None:
    """A query's rare words choose lines of text, search hits, code and rows of JSON; common words choose nothing."""
    query = "What does the harbour master know about berth quay-7741?"
    rng = random.Random(cap)
    hits = [f"src/mod_{n // 40}.py:{n % 40 + 1}:    total = harbour + {n}" for n in range(900)]
    rows = [{"id": n, "berth": f"quay-{n}", "city": rng.choice(CITIES), "master": "x" * 20} for n in range(900)]
    code = [line for n in range(400) for line in (f"def step_{n}(harbour):", f"    return harbour + {n}")]
    at = rng.randrange(300, 600)
    rows[at]["berth"] = "quay-7741"
    texts = {
        "search": "\n".join([*hits[:at], "src/odd.py:3:    berth = 'quay-7741'", *hits[at:]]),
        "code": "\n".join([*code[:at], "    berth = 'quay-7741'", *code[at:]]),
        "rows": json.dumps(rows),
    }

    assert "quay-7741" not in shrink_result("t", texts["code"], tokens_max=cap, counter=COUNTER).text
    for text in texts.values():
        shrunk = shrink_result("t", text, tokens_max=cap, counter=COUNTER, query=query)
        assert "quay-7741" in shrunk.text
        assert shrunk.tokens_after <= cap
    assert "quay-7741" in plimsoll.shrink("t", rows, max_tokens=cap, query=query).text


def test_a_name_within_a_long_line_is_shown() -> None:
    """Of a long line, or the line of a large folder, what is around the name that is asked for."""
    paths = [f"src/{'abc'[n % 3]}/module_{n}.py" for n in range(900)]
    paths[431] = "src/a/lantern_7.py"
    rows = [f"row {n} {'calm water ' * 30}" for n in range(90)]
    rows[43] = f"row {'calm water ' * 90} lantern_7 {'calm water ' * 90}"

    for text in ("\n".join(paths), "\n".join(rows)):
        assert "lantern_7" not in shrink(text, 300).text
        assert "lantern_7" in shrink(text, 300, query="where is lantern_7").text


def test_a_number_is_found_in_json() -> None:
    """Numbers are looked at as text."""
    rows = [{"order": 10_000 + 7 * n, "open": True} for n in range(2_000)]

    assert '"order":17735' in plimsoll.shrink("t", rows, max_tokens=300, query="order 17735").text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("What does the master know of quay-7741?", {"master": False, "quay-7741": True}),
        ("Is Rome open?", {"rome": True, "open": False}),
        ("src/odd.py:3", {"src/odd.py:3": True}),
        ("订单7741", {"订单": False, "7741": True}),
        ("是 a b", {}),
    ],
)
def test_words_of_a_query(query: str, words: dict[str, bool]) -> None:
    """Names, numbers and identifiers weigh more than other words; common words count for nothing."""
    assert words_of(query) == words


def test_common_words_of_a_query_do_not_hide_an_error() -> None:
    """A name that is asked for comes first, a word of everyday language does not."""
    rows = [{"id": n, "note": f"harbour {n} is calm"} for n in range(900)]
    rows[500]["note"] = "the pilot came late"
    rows[700]["note"] = "ERROR: buoy lost"
    for query in ("Was the pilot late?", "What went wrong?"):
        assert "buoy lost" in plimsoll.shrink("t", rows, max_tokens=150, query=query).text


def test_a_query_is_text() -> None:
    """Anything else is refused."""
    with pytest.raises(SettingError):
        plimsoll.shrink("t", "x", query=7)  # type: ignore[arg-type]


def test_folders_that_hold_only_folders_are_not_counted():
    """A list of paths says how many folders hold them: 200 paths in 2 folders are not in 4."""
    text = "\n".join(f"lib/docks/{side}/crane_{number}.py" for side in ("north", "south") for number in range(100))

    assert "200 paths in 2 folders" in shrink(text, 200).text.splitlines()[0]
