"""What the documents behind the specification ask of the whole: each duty through the public names alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from workloads import talk, work

Wire = dict[str, Any]
BUDGETS = [60, 200, 1_000, 4_000]
CHINESE = "长会话的压缩服务必须在预算之内保留最新的用户请求。"


def called_back(_: Any) -> str:
    """A summariser's words."""
    return "They spoke of leases, of queues and of the pier, and agreed on all of it."


def failing(_: Any) -> str:
    """A model that cannot be reached."""
    raise ConnectionError


@pytest.mark.spec("S0-23")
def test_one_message_is_cut_to_its_cap_and_only_where_that_makes_it_shorter() -> None:
    """The cap holds by count, the cut is marked, shorter messages stay as they are, and the input is not changed."""
    messages = talk(3, 12)
    messages[4]["content"] = "the lease is stale; " * 400
    before = json.dumps(messages)
    policy = plimsoll.Policy.named("graded-200k", message_tokens_max=300, window_tokens=128_000)
    fitted = plimsoll.fit(messages, max_tokens=plimsoll.count_tokens(messages), policy=policy)
    shown = next(message for message in fitted.messages if message["content"].startswith("the lease is stale"))

    assert plimsoll.count_tokens([shown]) - plimsoll.count_tokens([]) <= 300
    assert " tokens cut " in shown["content"]
    assert all(message in messages for message in fitted.messages if message is not shown)
    assert json.dumps(messages) == before


@pytest.mark.slow
@pytest.mark.spec("S0-24", "W0-01")
@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("policy", ["fill", "ladder", "graded-200k"])
def test_no_view_is_larger_than_the_window(budget: int, policy: str) -> None:
    """Whatever the history and the policy: within the budget by exact count."""
    for messages in (talk(5, 60), work(6, 20), [{"role": "user", "content": "word " * 20_000}]):
        fitted = plimsoll.fit(messages, max_tokens=budget, policy=policy)
        assert plimsoll.count_tokens(fitted.messages) <= budget


@pytest.mark.spec("S0-35")
def test_a_window_says_how_full_it_is() -> None:
    """Tokens, messages, what may be used, and whether anything is missing; never less than nothing may be used."""
    messages = talk(7, 40)
    policy = plimsoll.Policy(window_tokens=2_000, output_reserve_tokens=800)
    whole, cut = plimsoll.window(messages[:6], policy=policy), plimsoll.window(messages, policy=policy)

    assert (whole.budget, len(whole.messages), whole.trimmed) == (1_200, 6, False)
    assert whole.tokens == plimsoll.count_tokens(messages[:6])
    assert cut.trimmed
    assert cut.tokens <= cut.budget
    assert cut.to_dict()["trimmed"]


@pytest.mark.slow
@pytest.mark.spec("S0-39")
@pytest.mark.parametrize("keep", [2, 4])
def test_a_summary_goes_before_the_newest_messages(keep: int) -> None:
    """System text, summary, the newest messages; nothing is asked where all fits; where the model fails, rules speak."""
    messages = talk(9, 60)
    policy = plimsoll.Policy.named("ladder", strategy="summary", keep_last_messages=keep)
    budget = plimsoll.count_tokens(messages) // 2
    asked: list[Any] = []

    def summarizer(request: Any) -> str:
        asked.append(request)
        return called_back(request)

    everything = plimsoll.fit(messages, max_tokens=100_000, policy=policy, summarizer=summarizer)
    assert everything.messages == messages
    assert asked == []

    fitted = plimsoll.fit(messages, max_tokens=budget, policy=policy, summarizer=summarizer)
    assert asked
    assert fitted.messages[0] == messages[0]
    assert fitted.messages[-keep:] == messages[-keep:]
    assert "agreed on all of it" in str(fitted.messages[1:-keep])

    ruled = plimsoll.fit(messages, max_tokens=budget, policy=policy, summarizer=failing)
    assert ruled.report.stage == "rules"
    assert ruled.messages[-keep:] == messages[-keep:]


@pytest.mark.spec("S0-41")
def test_an_agent_asks_the_functions_or_a_session_alike() -> None:
    """Preparing, counting and status give the same with and without a session."""
    messages = talk(11, 30)
    policy = plimsoll.Policy.named("ladder", window_tokens=4_000, output_reserve_tokens=0)
    with plimsoll.open("agent", store="memory:", policy=policy) as session:
        session.extend(messages)
        status, check = session.status(), plimsoll.check(messages, policy=policy)

        assert status.current_tokens == check.current_tokens == plimsoll.count_tokens(messages)
        assert (status.level, status.recommendation) == (check.level, check.recommendation)
        assert session.view() == plimsoll.fit(messages, max_tokens=4_000, policy=policy).messages


@pytest.mark.slow
@pytest.mark.spec("S1-31")
def test_a_compaction_is_a_boundary_and_a_summary(tmp_path: Path) -> None:
    """In a file of a tool that keeps it so: a boundary without a parent, and the view below it, with the summary in its place."""
    with plimsoll.open("x", store="memory:", max_tokens=3_000) as session:
        session.extend(talk(13, 60))
        done = session.compact()
        path = tmp_path / "out.jsonl"
        session.export(to="claude-code", path=path)
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    boundary = next(row for row in rows if row.get("subtype") == "compact_boundary")
    below = rows[rows.index(boundary) :]
    summary = next(row for row in below if row.get("isCompactSummary"))

    assert (boundary["type"], boundary["parentUuid"]) == ("system", None)
    assert boundary["compactMetadata"]["preTokens"] == done.tokens_before
    assert summary["type"] == "user"
    assert done.summary
    assert done.summary in summary["message"]["content"]
    assert [row["parentUuid"] for row in below[1:]] == [row["uuid"] for row in below[:-1]]


@pytest.mark.spec("S1-36")
def test_at_most_five_files_of_a_thousand_lines(tmp_path: Path) -> None:
    """By default; both limits are options."""
    names = [f"src/file_{number}.py" for number in range(9)]
    messages = [{"role": "user", "content": f"look at {name}"} for name in names]
    (tmp_path / "src").mkdir()
    for name in names:
        (tmp_path / name).write_text("line\n" * 1_200, "utf-8")
    mentioned = plimsoll.files_mentioned(messages)
    read = plimsoll.read_files(mentioned, root=tmp_path)

    assert len(mentioned) == 5
    assert len(plimsoll.files_mentioned(messages, limit=7)) == 7
    assert {(file.content or "").count("line\n") for file in read} == {1_000}
    assert {
        (file.content or "").count("line\n") for file in plimsoll.read_files(mentioned, root=tmp_path, lines_max=9)
    } == {9}


@pytest.mark.slow
@pytest.mark.spec("S1-53")
def test_a_compaction_by_hand_replaces_the_view_and_is_recorded() -> None:
    """The view is smaller, its count is right, and the record says what was covered and what the summary says."""
    with plimsoll.open("x", store="memory:", max_tokens=8_000) as session:
        session.extend(talk(15, 60))
        before = session.view()
        done = session.compact()
        after = session.view()

        assert done.tokens_before == plimsoll.count_tokens(before)
        assert done.tokens_after == plimsoll.count_tokens(after) == session.status().current_tokens
        assert len(after) < len(before)
        assert session.compactions()[-1].summary == done.summary
        assert done.covers


@pytest.mark.slow
@pytest.mark.spec("S1-56")
def test_what_a_context_manager_promises(tmp_path: Path) -> None:
    """It compacts by itself, keeps calls with results, goes on without a model, apart for each project, in lines of JSON."""
    policy = plimsoll.Policy.named("threshold-80", window_tokens=6_000, output_reserve_tokens=0)
    for place in ("one", "two"):
        with plimsoll.open("main", store=str(tmp_path / place), policy=policy, summarizer=failing) as session:
            for message in work(17, 60 if place == "one" else 2):
                session.append(message)
                if message["role"] != "assistant" or not message.get("tool_calls"):
                    assert plimsoll.validate(session.view()) == []
            assert session.stats().compactions == len(session.compactions())
            assert bool(session.compactions()) is (place == "one")

    files = [path for path in (tmp_path / "one").rglob("*") if path.suffix == ".jsonl"]
    assert files
    assert all(json.loads(line) for path in files for line in path.read_text("utf-8").splitlines())
    assert len(plimsoll.sessions(str(tmp_path / "two"))) == 1


@pytest.mark.spec("S3-01", "S3-24")
def test_the_five_duties_have_public_names() -> None:
    """Counting, tracking a budget, cutting, a sliding window, and making tool results smaller."""
    messages = talk(19, 20)
    budget = plimsoll.TokenBudget(plimsoll.count_tokens(messages))

    assert budget.allocate("messages", plimsoll.count_tokens(messages))
    assert budget.remaining() == 0
    assert plimsoll.cut("the lease is stale. " * 100, 50).tokens <= 50
    assert plimsoll.window(messages, max_tokens=300).tokens <= 300
    assert plimsoll.shrink("search", ["hit " * 40] * 200, max_tokens=400).tokens_after <= 400


@pytest.mark.spec("S3-04")
@pytest.mark.parametrize("text", ["好" * 100, "word " * 80, "好" * 50 + "word " * 40], ids=["han", "english", "both"])
def test_an_estimate_is_near_the_count(text: str) -> None:
    """Where no tokenizer is asked the count is never too small, and within two and a half times of it."""
    exact = plimsoll.count_tokens(text, model="gpt-4o")
    assert exact <= plimsoll.count_tokens(text, counter="estimate") <= 2.5 * exact


@pytest.mark.spec("S3-06", "W3-07")
def test_a_chinese_text_is_cut_to_ten_tokens() -> None:
    """The cut keeps the beginning, its marker is counted, and what it says of itself is true."""
    text = CHINESE[:24]
    cut = plimsoll.cut(text, 10, marker="...")

    assert plimsoll.count_tokens(cut.text) == cut.tokens <= 10
    assert cut.text.endswith("...")
    assert text.startswith(cut.text.removesuffix("..."))
    assert cut.removed_chars == len(text) - len(cut.text.removesuffix("..."))


@pytest.mark.spec("S3-11")
@pytest.mark.parametrize("state", ["input-available", "output-available", "output-error"])
def test_messages_of_parts_keep_their_fields(state: str) -> None:
    """Ids, sequences, text, reasoning and tools in every state come back as they were, and are counted."""
    tool = {"type": "tool-search", "toolCallId": "t1", "state": state, "input": {"query": "lease"}}
    answer = {"output-available": {"output": {"hits": 3}}, "output-error": {"errorText": "no such index"}}.get(
        state, {}
    )
    parts = [
        {"type": "text", "text": "I look."},
        {"type": "reasoning", "text": "The index may be stale."},
        {**tool, **answer},
    ]
    messages = [
        {"id": "a", "role": "user", "sequence": 100, "parts": [{"type": "text", "text": "Where is the lease?"}]},
        {"id": "b", "role": "assistant", "sequence": 101, "parts": parts},
    ]
    with plimsoll.open("ui", store="memory:", max_tokens=4_000) as session:
        session.extend(messages)
        assert session.history() == messages
    assert plimsoll.fit(messages, max_tokens=4_000).messages[0] == messages[0]
    calls = [
        call
        for message in plimsoll.convert(messages, to="openai-chat").messages
        for call in message.get("tool_calls", ())
    ]
    assert [call["function"]["name"] for call in calls] == ["search"]
