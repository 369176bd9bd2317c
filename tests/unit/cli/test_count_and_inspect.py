"""`plimsoll count` and `plimsoll inspect`: where the tokens are, and what would leave."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

import plimsoll


def test_count_is_the_library_count(run, messages, chat):
    """The total is that of `count_tokens`, and both tables add up to it."""
    counted = run("count", chat, "--json").json

    assert counted["tokens"] == plimsoll.count_tokens(messages)
    assert sum(row["tokens"] for row in counted["roles"]) == counted["tokens"]
    assert sum(row["tokens"] for row in counted["kinds"]) == counted["tokens"]


def test_count_of_a_body(run, messages, tools, tmp_path):
    """Tool definitions count, under a name of their own, and the body's model is used."""
    (tmp_path / "body.json").write_text(json.dumps({"model": "gpt-4", "messages": messages, "tools": tools}))
    counted = run("count", "body.json", "--json").json

    assert counted["tokens"] == plimsoll.count_tokens(messages, model="gpt-4", tools=tools)
    assert "tool definitions" in [row["label"] for row in counted["kinds"]]
    assert counted["model"] == "gpt-4"


def test_model_changes_the_count(run, chat):
    """--model changes tokens and window."""
    plain, claude = (run("count", chat, *more, "--json").json for more in ((), ("--model", "claude-sonnet-4-5")))

    assert (plain["model"], plain["exact"]) == ("gpt-4o", True)
    assert claude["tokens"] > plain["tokens"]
    assert claude["window_tokens"] > plain["window_tokens"]
    assert not claude["exact"]


def test_an_estimate_says_what_is_likely(run, messages, chat):
    """Where the vocabulary is not public, the total is a safe one and the likely number is told beside it; else they are one."""
    exact, estimated = (
        run("count", chat, "--model", model, "--json").json for model in ("gpt-4o", "claude-sonnet-4-5")
    )
    shown = run("count", chat, "--model", "claude-sonnet-4-5").out

    assert exact["estimate"] == exact["tokens"]
    assert 0.8 * estimated["tokens"] < estimated["estimate"] < 0.95 * estimated["tokens"]
    assert f"about {estimated['estimate']:,} are likely" in shown
    assert "likely" not in run("count", chat).out


def test_count_for_people(run, chat):
    """People see roles, kinds, shares with separators, and the largest messages."""
    out = run("count", chat).out

    assert "tool results" in out
    assert " of 128,000" in out
    assert "largest" in out
    assert "line 0: light on the pier" in out


def test_largest_first(run, messages, chat):
    """The largest messages are listed in order of size."""
    messages[1]["content"] = "pier " * 5_000
    chat.write_text(json.dumps(messages))
    largest = run("count", chat, "--json").json["heaviest"]

    assert largest[0]["position"] == 1
    assert [row["tokens"] for row in largest] == sorted((row["tokens"] for row in largest), reverse=True)


def test_inspect_shows_the_plan(run, messages, chat):
    """The plan is that of `plimsoll.plan`, and its groups add up to its actions."""
    shown = run("inspect", chat, "--max-tokens", 2_000, "--json").json
    plan = plimsoll.plan(messages, max_tokens=2_000)

    assert shown["plan"] == plan.report.to_dict()
    assert sum(group["exchanges"] for group in shown["groups"]) == len(plan.actions)
    assert shown["level"] == "emergency"  # more than the whole budget
    assert shown["lines"] == {"target": 1_000, "soft": 1_400, "warn": 1_700, "hard": 1_900}


def test_inspect_by_tool(run, chat):
    """Calls and results are put down to their tool, each call once."""
    rows = run("inspect", chat, "--json").json["tools"]

    assert [(row["label"], row["count"]) for row in rows] == [("grep", 12)]


def test_inspect_for_people(run, chat):
    """People see bars, the load lines, and what would leave and why."""
    out = run("inspect", chat, "--max-tokens", "2k").out

    for expected in ("█", "lines: target 1,000, soft 1,400", "grep", "What would leave it and why", "summarise"):
        assert expected in out


@pytest.mark.parametrize(
    ("options", "field", "value"),
    [
        (("--max-tokens", "9,000"), "budget_tokens", 9_000),
        (("--model", "gpt-4"), "model", "gpt-4"),
        (("--model", "gpt-4"), "window_tokens", 8_192),
        (("--policy", "five-turns", "--max-tokens", "4k"), "level", "emergency"),
    ],
)
def test_inspect_options(run, chat, options, field, value):
    """Budget, model and policy show in the inspection."""
    assert run("inspect", chat, *options, "--json").json[field] == value


def test_policy_changes_what_would_leave(run, chat):
    """The ladder plans to come down further than fill."""
    after = [
        run("inspect", chat, "--max-tokens", 2_000, "--policy", policy, "--json").json["plan"]["tokens_after"]
        for policy in ("ladder", "fill")
    ]

    assert after[0] < after[1]


def test_inspect_session(run, session):
    """A session is inspected under its own budget, with what `compact` would do, and is not changed."""
    before = run("history", session, "--json").json
    shown = run("inspect", session, "--json").json

    assert shown["budget_tokens"] == 4_000
    assert shown["plan"]["tokens_after"] < shown["plan"]["tokens_before"]
    assert run("history", session, "--json").json == before


class _Page(HTMLParser):
    """Collects the elements of a page and everything that would be fetched or run."""

    def __init__(self):
        super().__init__()
        self.tags, self.reaching = set(), []

    def handle_starttag(self, tag, attrs):
        """Note the element."""
        self.tags.add(tag)
        self.reaching += [name for name, _ in attrs if name in ("src", "href", "srcset", "action") or name[:2] == "on"]


def test_html(run, messages, tmp_path):
    """--html writes one page: no script, nothing fetched, and hostile text escaped."""
    messages[1]["content"] = "<script>alert(1)</script>\u202e\x1b]52;c;x\x07 \" onload='x' " * 2_000
    (tmp_path / "chat.json").write_text(json.dumps(messages))
    ran = run("inspect", "chat.json", "--max-tokens", 20_000, "--html", "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    page = _Page()
    page.feed(text)

    assert (ran.status, ran.out, ran.err) == (0, "", "written: page.html\n")
    assert page.reaching == []
    assert page.tags.isdisjoint({"script", "img", "link", "iframe", "object", "form", "a"})
    assert "&lt;script&gt;" in text
    assert not {"\u202e", "\x1b", "\x07"} & set(text)
    assert "chat.json" in text


def test_html_and_json(run, chat, tmp_path):
    """With --json the page is written and the data printed."""
    ran = run("inspect", chat, "--html", "page.html", "--json")

    assert ran.json["label"] == "chat.json"
    assert (tmp_path / "page.html").stat().st_size > 2_000
    page = run("inspect", chat, "--html", "-")
    assert page.out.endswith("</html>\n")
    assert page.err == ""
    assert run("inspect", chat, "--html", "-", "--json").status == 2


@pytest.mark.spec("S2-18")
@pytest.mark.parametrize(
    "text", ["", "hello world\n", "[not json", '[{"role": "user", "content": "x"}]', "潮汐 \udcff\0"]
)
def test_count_text(run, tmp_path, text):
    """--text counts a file as the text it is, whatever it looks like (S2-18)."""
    (tmp_path / "words.txt").write_bytes(text.encode("utf-8", "surrogateescape"))
    shown = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    found = run("count", "words.txt", "--text", "--model", "gpt-4o", "--json").json

    assert found["tokens"] == plimsoll.count_tokens(shown, model="gpt-4o")
    assert (found["characters"], found["exact"]) == (len(shown), True)
    assert f"{found['tokens']} tokens" in run("count", "words.txt", "--text").out
