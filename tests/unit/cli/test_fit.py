"""`plimsoll fit`: the view, in what the input came in."""

from __future__ import annotations

import io
import json
import sys

import pytest

import plimsoll

BUDGET = 2_000


def test_view_fits(run, chat):
    """Standard output is the view as a JSON list within the budget, in the format of the input."""
    ran = run("fit", chat, "--max-tokens", BUDGET)

    assert ran.status == 0
    assert plimsoll.count_tokens(ran.json) <= BUDGET < plimsoll.count_tokens(json.loads(chat.read_text()))
    assert plimsoll.validate(ran.json, format="openai-chat") == []


def test_same_as_library(run, chat):
    """The view and the report of --json are those of `plimsoll.fit`, and the view is also what is printed without it."""
    fitted = plimsoll.fit(json.loads(chat.read_text()), max_tokens=BUDGET)
    printed = run("fit", chat, "--max-tokens", BUDGET, "--json").json

    assert printed["messages"] == fitted.messages == run("fit", chat, "--max-tokens", BUDGET).json
    assert printed["report"] == fitted.report.to_dict()
    assert printed["format"] == "openai-chat"


def test_report_on_standard_error(run, chat):
    """People get sizes, level and what was done on standard error; with --json nothing is there."""
    ran = run("fit", chat, "--max-tokens", BUDGET)

    assert "tokens of 2,000" in ran.err
    assert "level aggressive" in ran.err
    assert "summarise" in ran.err
    assert run("fit", chat, "--max-tokens", BUDGET, "--json").err == ""


def test_request_body_keeps_all_else(run, tmp_path, messages, tools):
    """A request body comes back as one: messages changed, every other field as it was, tools counted."""
    body = {"model": "gpt-4o", "temperature": 0.5, "messages": messages, "tools": tools, "x": {"y": [1, None]}}
    (tmp_path / "body.json").write_text(json.dumps(body))
    made = run("fit", "body.json", "--max-tokens", BUDGET).json

    assert list(made) == list(body)
    assert {**made, "messages": 0} == {**body, "messages": 0}
    assert plimsoll.count_tokens(made["messages"], tools=tools) <= BUDGET
    assert len(made["messages"]) < len(body["messages"])


@pytest.mark.slow
def test_system_of_a_body_stays_apart(run, tmp_path):
    """Anthropic's system text stays in its own field, and counts."""
    said = [
        {"role": "user", "content": "hello"},
        {"role": "assistant", "content": [{"type": "text", "text": "a"}]},
    ] * 300
    body = {"system": "Be brief. " * 50, "messages": [*said, {"role": "user", "content": "last"}], "max_tokens": 9}
    (tmp_path / "body.json").write_text(json.dumps(body))
    made = run("fit", "body.json", "--max-tokens", BUDGET, "--format", "anthropic", "--model", "gpt-4o").json

    assert made["system"] == body["system"]
    assert made["max_tokens"] == 9
    assert plimsoll.count_tokens([{"role": "system", "content": made["system"]}, *made["messages"]]) <= BUDGET


def test_responses_body(run, tmp_path):
    """A Responses body keeps `input` and `instructions`; an input of one text stays a text."""
    body = {"model": "gpt-4o", "instructions": "Be brief.", "input": "Where is the light?"}
    (tmp_path / "body.json").write_text(json.dumps(body))

    assert run("fit", "body.json", "--max-tokens", BUDGET).json == body


def test_lines_stay_lines(run, tmp_path, messages):
    """JSON lines come back as JSON lines."""
    (tmp_path / "chat.jsonl").write_text("".join(f"{json.dumps(message)}\n" for message in messages))
    out = run("fit", "chat.jsonl", "--max-tokens", BUDGET).out

    assert [json.loads(line) for line in out.splitlines()] == plimsoll.fit(messages, max_tokens=BUDGET).messages


def test_standard_input(run, chat, monkeypatch, messages):
    """`-` reads standard input."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(chat.read_bytes())))

    assert run("fit", "-", "--max-tokens", BUDGET).json == plimsoll.fit(messages, max_tokens=BUDGET).messages


@pytest.mark.slow
@pytest.mark.parametrize(
    "option", [("--policy", "ladder"), ("--query", "number 3 light"), ("--format", "openai-responses")]
)
def test_options_reach_the_library(run, chat, option):
    """Policy, query and format give what `plimsoll.fit` gives with them."""
    if option[0] == "--format":
        messages = [{"role": "user", "content": "one"}, {"role": "user", "content": "two"}] * 400
        chat.write_text(json.dumps(messages))
    messages = json.loads(chat.read_text())
    wanted = plimsoll.fit(messages, max_tokens=BUDGET, **{option[0][2:]: option[1]})

    assert run("fit", chat, "--max-tokens", BUDGET, *option).json == wanted.messages


def test_policy_changes_the_view(run, chat):
    """The ladder comes down to its target where fill uses the whole budget."""
    after = {
        policy: run("fit", chat, "--max-tokens", BUDGET, "--policy", policy, "--json").json["report"]["tokens_after"]
        for policy in ("fill", "ladder")
    }

    assert after["ladder"] <= BUDGET // 2 < after["fill"]


def test_model_gives_budget_and_count(run, chat):
    """Without --max-tokens the model's window is the budget; with neither it is gpt-4o's, and the report says so, as in `fit`."""
    named = run("fit", chat, "--model", "gpt-4o", "--json").json["report"]
    assumed = run("fit", chat, "--json").json["report"]

    assert named["budget"] == assumed["budget"] == 111_616
    assert named["note"] is None
    assert "gpt-4o is assumed" in assumed["note"]
    assert "gpt-4o is assumed" in run("fit", chat).err


@pytest.mark.spec("S0-18", "S0-40")
@pytest.mark.parametrize(
    "text", ["[]", " [ ]\n", '{"messages": []}', '{"system": "Be brief.", "messages": []}', '{"input": []}']
)
def test_a_conversation_that_has_not_begun(run, tmp_path, text):
    """An empty list is fitted, counted and inspected like any other, and comes out as it came in."""
    file = tmp_path / "empty.json"
    file.write_text(text)
    fitted = run("fit", file, "--max-tokens", 100)

    assert fitted.status == 0
    assert json.loads(fitted.out) == json.loads(text)
    assert run("count", file, "--json").json["messages"] == 0
    assert run("inspect", file, "--json").status == 0


def test_output_file(run, chat, tmp_path):
    """-o writes the same bytes to a file and nothing to standard output; `-o -` is standard output."""
    out = tmp_path / "view.json"
    ran = run("fit", chat, "--max-tokens", BUDGET, "-o", out)

    assert ran.out == ""
    assert out.read_text() == run("fit", chat, "--max-tokens", BUDGET, "-o", "-").out
    assert sorted(path.name for path in tmp_path.glob(".view*")) == []


def test_session_by_name(run, session):
    """A session's name that is no file's stands for its view."""
    made = run("fit", session, "--max-tokens", BUDGET, "--json")

    assert made.json["report"]["tokens_after"] <= BUDGET


def test_file_before_session(run, session, tmp_path):
    """A file of that name is taken before a session."""
    (tmp_path / session).write_text('[{"role": "user", "content": "from the file"}]')

    assert run("fit", session, "--max-tokens", BUDGET).json[0]["content"] == "from the file"


def test_too_small_a_budget(run, chat):
    """A budget that nothing fits into is refused by name and size, and nothing is written."""
    ran = run("fit", chat, "--max-tokens", 5, "-o", "view.json")

    assert ran.status == 1
    assert "at least" in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not chat.with_name("view.json").exists()
