"""What other frameworks were measured to get wrong, each as a conversation that ours must get right.

The budgets and shapes are those of the measurements; `PEER` in each docstring names who failed and how.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import plimsoll
import proof
import workloads
from plimsoll.policy.policy import policy_named

Wire = dict[str, Any]
RNG = random.Random(7)
BIG = workloads.words(RNG, 20_000)
FACT = "The staging password hint is HERON-4471."


def call(id: str, name: str = "read_file", **arguments: Any) -> Wire:
    """One tool call in OpenAI's form."""
    return {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def pair(id: str, output: str) -> list[Wire]:
    """An answer that calls one tool, and its result."""
    return [
        {"role": "assistant", "content": None, "tool_calls": [call(id, path=f"src/{id}.py")]},
        {"role": "tool", "tool_call_id": id, "content": output},
    ]


def both(messages: list[Wire], budget: int, **options: Any) -> list[plimsoll.Fitted]:
    """The conversation fitted in OpenAI's and in Anthropic's form, each proven."""
    fitted = plimsoll.fit(messages, max_tokens=budget, format="openai-chat", **options)
    proof.fits(fitted.messages, budget, "openai-chat")
    made = plimsoll.convert(messages, to="anthropic", format="openai-chat")
    other = plimsoll.fit(made.messages, max_tokens=budget, format="anthropic", system=made.system, **options)
    proof.fits(other.messages, budget, "anthropic")
    return [fitted, other]


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["fill", "ladder"])
def test_a_fact_of_the_first_turn_survives(policy: str) -> None:
    """PEER LangChain: 62k of history, the fact said first, 20k: its summariser was shown 2,059 tokens and the fact was lost."""
    history = [
        {"role": "user", "content": FACT},
        {"role": "assistant", "content": "Noted."},
        *workloads.talk(3, 560)[1:],
    ]
    assert plimsoll.count_tokens(history) > 50_000
    for fitted in both(history, 20_000, policy=policy):
        assert "HERON-4471" in str(fitted.messages)


@pytest.mark.slow
def test_the_summariser_is_shown_what_leaves() -> None:
    """PEER LangChain: the summariser saw a trimmed piece. Ours sees everything that leaves, each message once."""
    history = [*workloads.talk(3, 40)[:-1], {"role": "user", "content": FACT}, *workloads.talk(4, 300)[1:]]
    asked: list[Any] = []
    plimsoll.fit(history, max_tokens=12_000, summarizer=lambda request: asked.append(request) or "Talk about leases.")

    shown = [message.text for request in asked for message in request.messages]
    assert len(shown) == len(set(shown)) > 200
    assert sum("HERON-4471" in str([message.text for message in request.messages]) for request in asked) == 1
    assert "HERON-4471" in str(asked[0].prompt)
    assert sum(plimsoll.count_tokens(part["content"]) for part in asked[0].prompt) > 10_000


@pytest.mark.slow
def test_one_request_and_sixty_tool_pairs() -> None:
    """PEER LangChain: one human turn, then 60 pairs, 20k: the summariser was never called, a placeholder replaced the history."""
    history = [{"role": "user", "content": FACT}]
    for number in range(60):
        history += pair(f"call_{number}", workloads.words(RNG, 700))
        history.append({"role": "assistant", "content": workloads.words(RNG, 400)})
    asked: list[Any] = []
    fitted = plimsoll.fit(
        history, max_tokens=20_000, summarizer=lambda request: asked.append(request) or "Sixty files were read."
    )

    assert len({message.text for request in asked for message in request.messages if message.role == "tool"}) > 40
    assert "Sixty files were read." in fitted.report.summary
    assert fitted.messages[0] == history[0]
    assert len(fitted.messages) > 20
    assert fitted.messages[-3:] == history[-3:]
    proof.fits(fitted.messages, 20_000, "openai-chat")


def test_a_big_final_result() -> None:
    """PEER LangChain keep=5,000 tokens sent 50,043; LiteLLM 1,000 sent 21,078: the final result is larger than the budget."""
    history = [{"role": "user", "content": "What does it print?"}, *pair("call_1", BIG)]
    for budget in (5_000, 1_000):
        for fitted in both(history, budget):
            assert "What does it print?" in str(fitted.messages)
            assert fitted.report.tokens_after > budget * 0.75


def test_a_long_system_text() -> None:
    """PEER trim_messages: 1,000 sent 4,505 and dropped the user's turn: the system text alone is over the budget."""
    history = [{"role": "system", "content": workloads.words(RNG, 4_000)}, {"role": "user", "content": FACT}]
    for fitted in both(history, 1_000):
        assert FACT in str(fitted.messages)
        cut = fitted.system or fitted.messages[0]["content"]
        assert "tokens cut" in cut


@pytest.mark.slow
def test_a_verbose_summariser() -> None:
    """PEER LangMem: 8,000 sent 18,523: the summary is longer than the budget."""
    history = workloads.talk(5, 200)
    for words in (6_000, 100_000):
        fitted = plimsoll.fit(history, max_tokens=8_000, summarizer=lambda _, size=words: workloads.words(RNG, size))
        proof.fits(fitted.messages, 8_000, "openai-chat")
        assert fitted.messages[-1] == history[-1]


def test_a_big_first_turn() -> None:
    """PEER LlamaIndex Memory: 4,000 sent 20,001: the first turn alone is five times the budget."""
    history = [
        {"role": "user", "content": BIG},
        {"role": "assistant", "content": "Read."},
        {"role": "user", "content": FACT},
    ]
    for fitted in both(history, 4_000):
        assert FACT in str(fitted.messages)
        assert "Read." in str(fitted.messages)


def test_a_big_last_turn_keeps_the_system_text() -> None:
    """PEER MS Agent Framework: 4,000 sent 15,000 and dropped the system prompt: the last turn is larger than the budget."""
    history = [
        {"role": "system", "content": "Answer in verse. " * 20},
        {"role": "user", "content": f"{FACT} {BIG} Which one?"},
    ]
    for fitted in both(history, 4_000):
        assert (fitted.system or fitted.messages[0]["content"]) == history[0]["content"]
        assert FACT in str(fitted.messages)
        assert "Which one?" in str(fitted.messages)
        assert "tokens cut" in str(fitted.messages)


@pytest.mark.slow
@pytest.mark.spec("W2-02")
@pytest.mark.parametrize("policy", ["fill", "ladder", "graded-200k", "threshold-80", "five-turns"])
def test_a_big_user_turn_or_return(policy: str) -> None:
    """PEER Pydantic AI's tiers: 8,000 sent 75,005 and 75,008; deepagents refused the first: clamping, clearing and sliding all ran."""
    user = [*workloads.talk(6, 4), {"role": "user", "content": BIG}]
    returned = [*workloads.talk(6, 4), {"role": "user", "content": "Read it."}, *pair("call_1", BIG)]
    for history in (user, returned):
        for fitted in both(history, 8_000, policy=policy):
            assert fitted.report.tokens_after <= 8_000


def test_the_odd_row_of_a_table_stays() -> None:
    """PEER Headroom: 4,000 sent 28,123 (it did keep the planted row): ours fits and keeps it."""
    rows = [{"id": n, "status": "ok", "ms": 20 + n % 5, "host": f"worker-{n % 8}"} for n in range(2_000)]
    rows[1_234] = {"id": 1_234, "status": "failed", "ms": 98_765, "host": "worker-2", "error": "lease LX-77 lost"}
    history = [{"role": "user", "content": "Which row failed?"}, *pair("call_1", json.dumps(rows))]
    for fitted in both(history, 4_000):
        assert "LX-77" in str(fitted.messages)


def test_a_budget_in_messages_leaves_no_orphan() -> None:
    """PEER AutoGen: six of seven messages left a result without its call. A cap in messages moves to whole exchanges."""
    history = [{"role": "user", "content": FACT}]
    for number in range(3):
        history += pair(f"call_{number}", "ok " * 300)
    for cap in range(1, 7):
        policy = policy_named("ladder", keep_last_messages=cap)
        fitted = plimsoll.fit(history, max_tokens=int(plimsoll.count_tokens(history) * 1.03), policy=policy)
        proof.fits(fitted.messages, fitted.report.budget, "openai-chat")
        assert fitted.messages[0] == history[0]


def test_a_big_user_turn_is_sent_cut() -> None:
    """PEER deepagents: a user turn over the 8,000 window was refused with an error. Ours is sent, and the cut says so."""
    for fitted in both([{"role": "user", "content": f"{FACT} {BIG}"}], 8_000):
        assert fitted.report.tokens_after > 7_500
        assert "tokens cut" in str(fitted.messages)


def test_four_big_parallel_results_are_all_seen() -> None:
    """PEER deepagents sent 1,748 of 8,000 (offloaded, good): ours shows a part of each of four results and uses the budget."""
    calls = [call(f"call_{n}", path=f"part{n}.txt") for n in range(4)]
    texts = [f"PART-{n} begins. {BIG} PART-{n} ends." for n in range(4)]
    history = [
        {"role": "user", "content": "Compare the parts."},
        {"role": "assistant", "content": None, "tool_calls": calls},
        *({"role": "tool", "tool_call_id": f"call_{n}", "content": texts[n]} for n in range(4)),
    ]
    for fitted in both(history, 8_000):
        assert all(f"PART-{n} begins" in str(fitted.messages) for n in range(4))
        assert all(f"PART-{n} ends" in str(fitted.messages) for n in range(4))
        assert fitted.report.tokens_after > 6_000


@pytest.mark.slow
def test_a_summariser_that_raises_ends_nothing() -> None:
    """PEER deepagents: the run was aborted. Ours goes on by rules and reports it."""

    def raises(request: Any) -> str:
        raise TimeoutError("upstream")

    fitted = plimsoll.fit(workloads.talk(8, 200), max_tokens=8_000, summarizer=raises)

    assert fitted.report.stage == "rules"
    assert "TimeoutError" in fitted.report.note
    proof.fits(fitted.messages, 8_000, "openai-chat")
