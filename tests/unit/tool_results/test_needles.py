"""One line or row that matters, at a random place among many that do not: it is in the preview."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from tests.unit.tool_results.test_shrink_result import COUNTER

import plimsoll
from plimsoll.truncation import json_text
from plimsoll.truncation.tool_results import errors, shrink_result
from plimsoll.truncation.tool_results.errors import find_errors, severity, stems_in

CAPS = (300, 1_000, 4_000)
TRIALS = 4


def service_log(number: int) -> str:
    """A line of a log with a time, a worker and numbers that vary."""
    verbs = ("opened", "closed", "renewed", "listed")
    host = f"10.0.{number % 9}.{number % 251}"
    return (
        f"2026-03-0{1 + number // 1200} 0{number // 200 % 10}:{number // 60 % 60:02}:{number % 60:02},{number % 997:03} "
        f"INFO  [worker-{number % 17}] lease {number * 31:08x} {verbs[number % 4]} by {host} in {number % 90} ms"
    )


def kernel_log(number: int) -> str:
    """A line of a log in which a weak word of failure is common."""
    texts = (
        f"sshd[{number}]: authentication failure; uid=0 rhost=host{number % 40}.example.org user=root",
        f"sshd[{number}]: check pass; user unknown",
        f"cron[{number}]: session opened for user news by (uid=0)",
        f"ftpd[{number}]: connection from 10.1.{number % 200}.7 timed out after 900 seconds",
    )
    return f"Jun {1 + number // 100:2} 04:{number % 60:02}:11 harbour {texts[number % 4]}"


def error_log(number: int) -> str:
    """A line of a log in which the same two errors repeat."""
    kind = "error" if number % 3 else "notice"
    text = f"worker env in error state {number % 9}" if number % 3 else f"found child {number} in slot {number % 11}"
    return f"[Sun Dec 04 04:{number % 60:02}:44 2005] [{kind}] {text}"


def json_log(number: int) -> str:
    """A line of JSON."""
    return f'{{"time":"2026-01-02T10:{number % 60:02}:00Z","level":"info","msg":"served","ms":{number % 77},"id":"{number:x}"}}'


def access_log(number: int) -> str:
    """A line of a web server's log."""
    return (
        f'10.2.3.{number % 250} - - [02/Jan/2026:10:{number % 60:02}:00] "GET /item/{number} HTTP/1.1" 200 {number * 7}'
    )


def chinese_log(number: int) -> str:
    """A line in Chinese."""
    return f"2026-01-02 10:{number % 60:02}:00 信息 第{number}个任务已完成，用时{number % 50}毫秒"


ERROR_LINES = {
    service_log: "2026-03-01 04:00:00,001 ERROR [worker-3] disk failure on volume {}",
    kernel_log: "Jun  3 04:11:11 harbour raid[77]: FATAL: array degraded {}",
    error_log: "[Sun Dec 04 04:33:44 2005] [crit] kernel panic: no space left {}",
    json_log: '{{"time":"2026-01-02T10:11:00Z","level":"error","msg":"ledger write failed","id":"{}"}}',
    access_log: '10.2.3.9 - - [02/Jan/2026:10:11:00] "GET /item/{} HTTP/1.1" 503 0',
    chinese_log: "2026-01-02 10:11:00 错误 磁盘写入失败 {}",
}


def survived(make: Any, cap: int, **options: Any) -> int:
    """In how many trials a needle is in the preview; `make` gives the text with the needle in it."""
    found = 0
    for trial in range(TRIALS):
        key = f"qz{trial}x{cap}"
        shrunk = shrink_result("read_output", make(random.Random(key), key), tokens_max=cap, counter=COUNTER, **options)
        assert shrunk.tokens_after <= cap
        found += key in shrunk.text
    return found


@pytest.mark.slow
@pytest.mark.spec("S3-14")
@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("line", ERROR_LINES, ids=lambda line: line.__name__)
def test_the_error_line_of_a_log_is_shown(line: Any, cap: int) -> None:
    """One error among two thousand lines, also where other errors repeat."""

    def log(rng: random.Random, key: str) -> str:
        lines = [line(number) for number in range(2_000)]
        lines.insert(rng.randrange(1, 2_000), ERROR_LINES[line].format(key))
        return "\n".join(lines)

    assert survived(log, cap) == TRIALS


def test_an_error_that_repeats_is_shown_once_with_its_count() -> None:
    """The head gives errors, kinds and the time span; the line gives how many lines are like it."""
    lines = [service_log(number) for number in range(1_500)]
    lines[100:800:10] = [f"2026-03-01 04:00:00 ERROR lost packet {number}" for number in range(70)]
    head, *rest = shrink_result("logs", "\n".join(lines), tokens_max=300, counter=COUNTER).text.split("\n")

    assert "1,500 lines, 70 error lines of 1 kind, 2026-03-01 00:00:00 to 2026-03-02 " in head
    assert any(line.endswith("lost packet 0 (1 of 70 alike)") for line in rest)
    assert sum("lost packet" in line for line in rest) <= 2


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("ERROR disk is gone", 2),
        ("thread 'main' panicked at src/main.rs", 1),
        ("java.lang.NullPointerException: x", 2),
        ("error: cannot borrow", 2),
        ("Permission denied", 1),
        ('"GET /x HTTP/1.1" 502 0', 2),
        ('"GET /x HTTP/1.1" 200 500', 0),
        ("finished with 0 errors", 0),
        ("no failures, errors=0", 0),
        ("errors=3", 1),
        ("zero failures, WITHOUT exceptions", 0),
        ("errors: nil, failed = FALSE", 0),
        ("failures 3, without a pause", 1),
        ("ERROR: no space left", 2),
        ("error: none of the hosts answered", 2),
        ('{"error": null, "ok": true}', 0),
        ("OOMKilled", 1),
        ("web-1 0/1 CrashLoopBackOff 7", 1),
        ("a terrorist in the mirror", 0),
        ("all is well", 0),
        ("数据库连接失败", 2),
        ("", 0),
    ],
)
def test_severity(text: str, level: int) -> None:
    """Errors named as such, words of failure, and what only looks like them."""
    assert severity(text, stems_in(text)) == level


def test_similar_lines_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the lines is at most twice the work, and lines that differ in digits are looked at once."""
    read: list[str] = []
    real = errors.severity

    def counted(text: str, stems: Any) -> int:
        read.append(text)
        return real(text, stems)

    monkeypatch.setattr(errors, "severity", counted)
    find_errors([f"error {number:05} in bay {number % 10}" for number in range(5_000)])

    assert len(read) == 1


@pytest.mark.slow
@pytest.mark.parametrize("cap", CAPS)
def test_one_hit_or_changed_line_or_listing_with_an_error_is_shown(cap: int) -> None:
    """Of search hits, diffs and listings."""
    hits = [f"src/mod_{number // 40}.py:{number % 40 + 1}:    total = total + {number}" for number in range(900)]

    def search(rng: random.Random, key: str) -> str:
        at = rng.randrange(len(hits))
        return "\n".join([*hits[:at], f"{hits[at]}  # ERROR: {key}", *hits[at:]])

    def diff(rng: random.Random, key: str) -> str:
        head = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1,9 +1,9 @@\n"
        files = [head.format(f"f{n}.py") + "\n".join(f"+value {n} {k}" for k in range(40)) for n in range(40)]
        at = rng.randrange(len(files))
        files[at] += f"\n+raise LedgerError('{key}')\n+end"
        return "\n".join(files)

    def listing(rng: random.Random, key: str) -> str:
        entries = [f"-rw-r--r-- 1 me me {n} Jan  1 10:00 src/errors/failed_{n}.py" for n in range(500)]
        entries.insert(rng.randrange(500), f"ls: cannot open directory '{key}': Permission denied")
        return "\n".join(entries)

    assert survived(listing, cap) == TRIALS
    assert survived(search, cap) == TRIALS
    assert survived(diff, cap) == TRIALS


ODD = {
    "error": lambda row, key: row.update(status=f"failed: {key}"),
    "error key": lambda row, key: row.update(error=f"E{key}"),
    "rare key": lambda row, key: row.update(escalated_to=key),
    "rare state": lambda row, key: row.update(state=key),
    "error in an object": lambda row, key: row["owner"].update(note=f"Connection refused {key}"),
}


def ship(number: int) -> dict[str, Any]:
    """A row like all others."""
    return {
        "id": f"ship-{number}",
        "state": ("moored", "sailing")[number % 2],
        "tons": 1_000 + number * 37 % 900,
        "owner": {"name": f"Owner {number % 30}", "port": ("Kiel", "Riga", "Oslo")[number % 3]},
        "tags": [f"t{number % 5}", f"t{number % 7}"],
    }


JSON_SHAPES = {
    "list": lambda rows: rows,
    "page": lambda rows: {"items": rows, "cursor": "abc", "total": 9_000},
    "deep list": lambda rows: {"v": 2, "data": {"region": {"name": "north", "ships": rows}, "notes": ["a", "b"]}},
    "object of rows": lambda rows: {row["id"]: row for row in rows},
}


@pytest.mark.slow
@pytest.mark.spec("S3-14")
@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("shape", JSON_SHAPES)
def test_the_odd_row_of_json_is_shown(shape: str, odd: str, cap: int) -> None:
    """A row that differs from hundreds of peers, in lists at any depth and in objects of rows."""

    def document(rng: random.Random, key: str) -> str:
        rows = [ship(number) for number in range(300)]
        ODD[odd](rng.choice(rows), key)
        return json.dumps(JSON_SHAPES[shape](rows))

    assert survived(document, cap) == TRIALS


@pytest.mark.slow
@pytest.mark.parametrize("cap", CAPS)
def test_a_number_far_outside_is_shown(cap: int) -> None:
    """One value of a million among thousands."""

    def document(rng: random.Random, key: str) -> str:
        rows = [ship(number) for number in range(300)]
        row = rng.choice(rows)
        row["tons"], row["id"] = 9_000_000, key
        return json.dumps({"data": {"ships": rows}})

    assert survived(document, cap) == TRIALS


def test_json_with_an_odd_row_stays_json_and_counts_what_is_cut() -> None:
    """The gaps around the odd row and the items shown add up to all rows."""
    rows = [ship(number) for number in range(300)]
    rows[150]["status"] = "failed: no berth"
    text = shrink_result("api", json.dumps({"data": {"ships": rows}}), tokens_max=400, counter=COUNTER).text
    shown = json.loads(text)["data"]["ships"]
    gaps = [int(item.split()[1]) for item in shown if isinstance(item, str)]

    assert len(gaps) == 2
    assert sum(gaps) + len(shown) - len(gaps) == 300


@pytest.mark.slow
def test_nested_json_uses_its_room() -> None:
    """Where one item more of every container does not fit, some containers keep more."""
    value = {
        f"group{n}": {"name": f"g{n}", "parts": {f"p{k}": {"id": k, "size": k * n} for k in range(40)}}
        for n in range(15)
    }
    for cap in (800, 2_000, 3_500):
        assert shrink_result("api", json.dumps(value), tokens_max=cap, counter=COUNTER).tokens_after > cap * 0.75


def test_trying_sizes_of_json_does_not_read_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten times the rows is hardly more work for the search, because a size that is too large is given up early."""
    nodes = []
    for count in (2_000, 20_000):
        placed = 0
        put = json_text._Pruned._put

        def counted(pruned: Any, *given: Any, put: Any = put) -> None:
            nonlocal placed
            placed += 1
            put(pruned, *given)

        monkeypatch.setattr(json_text._Pruned, "_put", counted)
        json_text.cut_value({"rows": [ship(n) for n in range(count)]}, tokens_max=300, counter=COUNTER)
        monkeypatch.undo()
        nodes.append(placed)

    assert nodes[1] < nodes[0] * 1.5


def table(rng: random.Random, odd: str) -> str:
    """A table of ships with one odd row."""
    rows = [
        f'{n},ship-{n},{("moored", "sailing")[n % 2]},{1_000 + n * 37 % 900},"Pier {n % 9}, north"' for n in range(800)
    ]
    rows.insert(rng.randrange(1, 800), odd)
    return "\n".join(["id,name,state,tons,berth", *rows])


@pytest.mark.slow
@pytest.mark.parametrize("cap", CAPS)
@pytest.mark.parametrize(
    "odd",
    [
        '9001,{},moored,1200,"ERROR: no berth, north"',
        '9001,{},sunk,1200,"Pier 3, north"',
        '9001,{},moored,88000000,"Pier 3, north"',
        '9001,{},moored,n/a,"Pier 3, north"',
    ],
)
def test_the_odd_row_of_a_table_is_shown(odd: str, cap: int) -> None:
    """Below the header, which is always there."""
    assert survived(lambda rng, key: table(rng, odd.format(key)), cap) == TRIALS
    shrunk = shrink_result("query", table(random.Random(5), odd.format("x")), tokens_max=cap, counter=COUNTER)
    head, header, *_ = shrunk.text.split("\n")
    assert shrunk.kind == "csv"
    assert "801 rows, 5 columns" in head
    assert header == "id,name,state,tons,berth"
    again = shrink_result("query", shrunk.text, tokens_max=200, counter=COUNTER)
    assert (again.kind, again.text.split("\n")[1]) == ("csv", header)


@pytest.mark.parametrize("cap", [100, 150, 200, 300, 500, 2_000])
def test_the_rows_that_the_note_names_are_the_rows_there_are(cap: int) -> None:
    """The note of a list of objects names the rows that are shown and no others, the wanted one among them, without gaps between."""
    rows = [{"id": number, "name": f"user{number}", "mail": f"u{number}@example.org"} for number in range(3_000)]
    found = json.loads(plimsoll.shrink("list", rows, max_tokens=cap, query="what is the mail of user1234?").text)

    named = found["_shrunk"]["shown"].split(": ")[1].split(", ")
    runs = [[int(end) for end in run.split("-")] for run in named]
    assert [row["id"] for row in found["items"]] == [id for run in runs for id in range(run[0], run[-1] + 1)]
    assert found["_shrunk"]["shown"].startswith(f"{len(found['items'])} of 3,000")
    assert 1234 in [row["id"] for row in found["items"]]


@pytest.mark.parametrize("cap", range(50, 130, 10))
@pytest.mark.parametrize("row", [{"id": 7, "text": "word " * 400}, ["one " * 90, "two " * 90], "three " * 300])
def test_a_note_names_no_rows_where_none_has_room(row: object, cap: int) -> None:
    """Either the named rows are there, or the note names none and the gaps count all that is left out."""
    found = json.loads(plimsoll.shrink("list", {"rows": [row] * 60, "page": 1}, max_tokens=cap).text)

    held = found.get("content", found)
    rows = held["rows"] if isinstance(held, dict) else held
    rows = rows if isinstance(rows, list) else [rows]
    gaps = [part for part in rows if isinstance(part, str) and "items cut" in part]
    shown = found["_shrunk"].get("shown")
    if shown is not None:
        assert shown.startswith(f"{len(rows) - len(gaps)} of 60 ")
    else:
        assert sum(int(gap.split()[1]) for gap in gaps) == 60 - (len(rows) - len(gaps))
