"""What commands say of sizes: as the provider counted, with one base for shares and one number for each message."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import plimsoll

WORDS = "the load line of a ship marks how deep she may lie in the water " * 20


def claude_rows(*, unseen: int = 20_000) -> list[dict[str, Any]]:
    """A Claude Code session: a call whose results are the user's message, an automatic compaction, and one more turn."""
    rows: list[dict[str, Any]] = []

    def put(uuid: str, parent: str | None, kind: str, **more: Any) -> None:
        time = f"2026-01-01T00:00:{len(rows):02}.000Z"
        rows.append({"uuid": uuid, "parentUuid": parent, "sessionId": "s", "timestamp": time, "type": kind, **more})

    def answer(id: str, tokens: int, *blocks: dict[str, Any]) -> dict[str, Any]:
        usage = {
            "input_tokens": 1,
            "cache_creation_input_tokens": 2,
            "cache_read_input_tokens": unseen + tokens - 3,
            "output_tokens": 7,
        }
        return {
            "message": {
                "role": "assistant",
                "id": id,
                "model": "claude-opus-4-5",
                "usage": usage,
                "content": list(blocks),
            }
        }

    call = {"type": "tool_use", "id": "c1", "name": "Read", "input": {"file_path": "a.txt"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "content": WORDS}
    put("u1", None, "user", message={"role": "user", "content": "Read the lighthouse file"})
    put("a1", "u1", "assistant", **answer("x1", 20, call))
    put("u2", "a1", "user", message={"role": "user", "content": [result]})
    put("a2", "u2", "assistant", **answer("x2", 330, {"type": "text", "text": "I read it"}))
    boundary = {"subtype": "compact_boundary", "compactMetadata": {"trigger": "auto", "preTokens": 167_979}}
    put("b", None, "system", logicalParentUuid="a2", **boundary)
    put("s", "b", "user", isCompactSummary=True, message={"role": "user", "content": "Summary: a.txt was read."})
    put("a3", "s", "assistant", **answer("x3", 40, {"type": "text", "text": "Going on"}))
    put("u3", "a3", "user", message={"role": "user", "content": "And now?"})
    put("a4", "u3", "assistant", **answer("x4", 60, {"type": "text", "text": "Done"}))
    return rows


@pytest.fixture
def claude(tmp_path: Path) -> Path:
    """The file of that session."""
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in claude_rows()))
    return path


@pytest.fixture
def imported(run: Any, claude: Path) -> str:
    """The session made of it."""
    assert run("import", claude, "--as", "light").status == 0
    return "light"


@pytest.mark.slow
def test_sizes_say_what_they_leave_out(run: Any, imported: str) -> None:
    """A compaction's sizes are of the messages; what only the provider counts is said beside them."""
    with plimsoll.open(imported) as session:
        session.extend([{"role": "user", "content": f"{number}: {WORDS}"} for number in range(30)])
        unseen = session.status().unseen_tokens
    done, listed = run("compact", imported, "--target", "600"), run("history", imported)

    assert unseen > 0
    said = f"and {unseen:,} more that only the provider counts"
    assert said in done.out
    assert said in listed.out


@pytest.mark.slow
@pytest.mark.parametrize("command", ["count", "inspect"])
@pytest.mark.parametrize("source", ["s.jsonl", "light"])
def test_the_newest_request_is_shown_as_it_was_counted(run: Any, imported: str, command: str, source: str) -> None:
    """A file and its session say the same: what was reported, of which window, and how much of it is not in the file."""
    told = run(command, source, "--json").json

    assert (told["usage"]["prompt_tokens"], told["usage"]["completion_tokens"], told["usage"]["id"]) == (
        20_060,
        7,
        "m7",
    )
    assert (told["base"], told["base_tokens"], told["window_tokens"]) == ("window", 200_000, 200_000)
    assert told["unseen_tokens"] == pytest.approx(20_000, abs=60)
    assert told["total_tokens"] == pytest.approx(20_067, abs=60)
    for rows in ("roles", "kinds"):
        assert sum(row["tokens"] for row in told[rows]) == told["total_tokens"]
    out = run(command, source).out
    assert "20,060 tokens (10 %), 20,057 of them from its cache; its answer m7: 7 tokens" in out
    assert "of the window of 200,000" in out
    assert "not in this file" in out


def test_one_base_for_all_shares(run: Any, chat: Path) -> None:
    """Where the user sets a budget shares are of that, else of the window; the column says so, and none passes 100 % in bars."""
    assert "of the window of 128,000" in run("inspect", chat).out
    small = run("inspect", chat, "--max-tokens", "2k").out
    assert "of the budget of 2,000" in small
    assert any(line.startswith("role") and "of the budget" in line for line in small.splitlines())
    assert "of the window" not in small


def test_results_of_tools_are_not_the_users_words(run: Any, claude: Path, tmp_path: Path) -> None:
    """Anthropic's user messages carry results; what the user typed can be seen."""
    rows = claude_rows()[:4]
    (tmp_path / "plain.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    roles = {row["label"]: row for row in run("count", "plain.jsonl", "--json").json["roles"]}

    assert roles["user"]["tokens"] < 30
    assert roles["tool results"]["tokens"] > 200
    assert [row["label"] for row in run("count", "plain.jsonl", "--json").json["tools"]] == ["Read"]


def test_history_has_the_tools_own_compactions(run: Any, imported: str) -> None:
    """With its time, trigger, sizes and what left; --at shows the view it led to."""
    rows = run("history", imported, "--json").json
    out = run("history", imported).out

    assert [row["trigger"] for row in rows] == ["auto", "import"]
    assert "claude-code" in out
    assert "2026-01-01" in out or "2025-12-31" in out
    assert "167,979" in out
    assert "m0-m3" in out
    assert "newest request as the provider counted it" in out
    shown = run("show", imported, "--at", rows[0]["id"], "--json").json
    assert shown["messages"] == [{"role": "user", "content": "Summary: a.txt was read."}]
    assert run("show", imported, "--at", "c9999").status == 1
    assert run("show", imported, "--at", rows[0]["id"], "--full").status == 2


@pytest.mark.slow
def test_a_message_has_one_number(run: Any, session: str) -> None:
    """A table's, a hit's and a reference's number is the message's place in the history, and can be typed back."""
    run("compact", session)
    hit = run("recall", session, "light", "number", "3", "--json").json[0]
    assert hit["reference"].startswith(f"{hit['id']}.")
    assert hit["at_ms"] > 0
    whole = run("read", session, hit["id"])
    assert hit["text"] in whole.out
    assert whole.out == run("read", session, hit["id"][1:]).out
    assert run("read", session, "m999").status == 1
    shown = run("show", session, "--json").json
    history = run("show", session, "--full", "--json").json
    for message, positions in zip(shown["messages"], shown["origins"], strict=True):
        if len(positions) == 1 and message == history["messages"][positions[0]]:
            assert f"m{positions[0]} {message['role']}" in run("show", session).out


def test_a_preview_names_messages(run: Any, session: str) -> None:
    """Which messages leave is in the table and in the JSON."""
    plan = run("compact", session, "--preview", "--json").json
    left = [action for action in plan["actions"] if action["decision"] == "summarise"]

    assert left
    assert f"m{left[0]['first']}" in run("compact", session, "--preview").out


def test_recall_is_bounded_and_spaced(run: Any, session: str) -> None:
    """--limit bounds the hits, which stand apart."""
    run("compact", session)
    assert len(run("recall", session, "light", "--limit", "2", "--json").json) == 2
    assert "\n\n" in run("recall", session, "light", "--limit", "2").out
    assert run("recall", session, "light", "--limit", "0").status == 2


def test_a_pipe_gets_one_line_a_row(run: Any, chat: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However wide a row is, a program that reads lines finds all of it on one."""
    monkeypatch.setenv("COLUMNS", "60")
    name = "a-very-long-name-of-a-session-that-no-table-would-leave-whole-60"
    run("import", chat, "--as", name)

    assert any(line.startswith(name) for line in run("sessions").out.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("command", [("show", "light", "--full"), ("history", "light"), ("count", "s.jsonl")])
def test_a_reader_that_goes_away_is_no_error(imported: str, command: tuple[str, ...]) -> None:
    """The status is 141, as the documents say, and nothing is written on standard error."""
    code = f"import sys; from plimsoll.cli.main import main; sys.exit(main({list(command)!r}))"
    read, write = os.pipe()
    os.close(read)
    ran = subprocess.run([sys.executable, "-c", code], stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)

    assert (ran.returncode, ran.stderr) == (141, b"")


def test_no_color_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where NO_COLOR is set, a terminal gets no escape sequence at all."""
    import io

    from plimsoll.report.drawing import draw
    from plimsoll.report.terminal import line

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    for value, escapes in (("1", False), ("", True)):
        monkeypatch.setenv("NO_COLOR", value)
        stream = Terminal()
        draw(stream, [line("plain", "bold red")])
        assert ("\x1b" in stream.getvalue()) is escapes


@pytest.mark.parametrize("source", ["s.jsonl", "light"])
def test_the_page_tells_the_story(run: Any, imported: str, tmp_path: Path, source: str) -> None:
    """Each message is a strip that opens; requests are drawn over time with the compactions that were made."""
    assert run("inspect", source, "--html", "page.html").status == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")

    assert page.count("<details>") == 4
    assert page.count('class="dot"') == 4
    assert page.count('class="cut"') == 1
    assert "167,979 →" in page
    assert ">m8<" not in page
    assert all(f'<span class="name">{name}</span>' in page for name in ("m4", "m5", "m6", "m7"))
    assert "newest" in page
    assert "overflow-wrap: anywhere" in page


def test_the_page_holds_so_much_of_a_message(run: Any, tmp_path: Path) -> None:
    """What is longer is cut, with the command that reads the rest."""
    said = [{"role": "user", "content": "light " * 5_000}, {"role": "assistant", "content": "yes"}]
    (tmp_path / "long.json").write_text(json.dumps(said))
    run("inspect", "long.json", "--html", "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")

    assert len(page) < 30_000
    assert "24,000 more characters: plimsoll read NAME m0" in page


@pytest.mark.spec("S2-18")
def test_plain_text_is_counted(run: Any, tmp_path: Path) -> None:
    """A file that is no JSON is counted as it is; one that calls itself JSON is refused."""
    (tmp_path / "plain.txt").write_text("Fifteen men on the dead man's chest\n")
    counted = run("count", "plain.txt", "--json")

    assert counted.json["tokens"] == run("count", "plain.txt", "--text", "--json").json["tokens"] > 5
    (tmp_path / "broken.json").write_text("Fifteen men")
    assert run("count", "broken.json").status == 1
    assert run("fit", "plain.txt", "--max-tokens", "100").status == 1


@pytest.mark.parametrize(
    ("text", "tokens"), [("1.5k", 1_500), ("0.25m", 250_000), ("2,000", 2_000), ("1_000k", 1_000_000)]
)
def test_sizes_as_people_write_them(text: str, tokens: int) -> None:
    """Thousands and millions may have decimals."""
    from plimsoll.cli.options import tokens as read

    assert read(text) == tokens


@pytest.mark.parametrize("text", ["1.5", "0.0001k", "1.5.5k", "k", "-1k", "1e3", "0k", ".5k"])
def test_what_is_no_size(run: Any, chat: Path, text: str) -> None:
    """What is no whole number of tokens is wrong usage."""
    assert run("fit", chat, f"--max-tokens={text}").status == 2


def test_errors_name_the_file_that_was_asked_for(run: Any, chat: Path, tmp_path: Path) -> None:
    """No name of a temporary file is in the message."""
    folder = tmp_path / "missing"
    ran = run("fit", chat, "--max-tokens", "2k", "-o", folder / "out.json")

    assert ran.err.splitlines()[-1] == f"plimsoll: {folder / 'out.json'}: No such file or directory"


def test_findings_of_a_kind_are_one_line(run: Any, tmp_path: Path) -> None:
    """However many lines of a file are odd in one way, it is said once, with the first of them."""
    rows = [{**row, "parentUuid": f"gone-{place}"} for place, row in enumerate(claude_rows()[:4])]
    (tmp_path / "odd.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    notes = [line for line in run("count", "odd.jsonl").err.splitlines() if "not in this file" in line]

    assert len(notes) == 1
    assert notes[0].startswith("note: 4 ×")
