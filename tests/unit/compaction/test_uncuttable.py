"""One part that cannot be cut never costs the view everything else."""

from __future__ import annotations

import base64
import json
import random
import re
from typing import Any

import pytest

import plimsoll
import proof

BLOB = base64.b64encode(random.Random(1).randbytes(9_000)).decode()
BULKY = "line of code\n" * 60


def turns(count: int) -> list[dict[str, Any]]:
    """Talk about constraints that matter, before whatever comes."""
    talk = [{"role": "user", "content": "Find the load line rules. Never use paid sources. Contract ZQ-77."}]
    for number in range(count):
        talk.append({"role": "assistant", "content": f"Finding {number}: " + "alpha beta " * 80})
        talk.append({"role": "user", "content": f"go on with part {number}, keep to ZQRULE{number}"})
    return talk


def searched(blob: str = BLOB) -> dict[str, Any]:
    """An answer with a web search of the provider's own, whose results are encrypted."""
    found = {"type": "web_search_result", "title": "Load lines", "url": "https://example.org/1930", "page_age": None}
    return {
        "role": "assistant",
        "content": [
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "plimsoll"}},
            {
                "type": "web_search_tool_result",
                "tool_use_id": "srvtoolu_1",
                "content": [{**found, "encrypted_content": blob}],
            },
            {"type": "text", "text": "The rules are in the 1930 convention."},
        ],
    }


def thought() -> list[dict[str, Any]]:
    """Sealed thinking before a call: it stays or leaves whole."""
    return [
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": BLOB, "signature": "c2ln" * 10},
                {"type": "tool_use", "id": "t1", "name": "read", "input": {}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a b c"}]},
    ]


def chat_calls(count: int) -> list[dict[str, Any]]:
    """One answer with many calls, and their results."""
    calls = [
        {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": "read", "arguments": json.dumps({"path": f"/m{n}.py"})},
        }
        for n in range(count)
    ]
    results = [{"role": "tool", "tool_call_id": f"c{n}", "content": f"{n} {BULKY}"} for n in range(count)]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *results]


def anthropic_calls(count: int) -> list[dict[str, Any]]:
    """The same for Anthropic, after thinking."""
    uses = [{"type": "tool_use", "id": f"c{n}", "name": "read", "input": {"path": f"/m{n}.py"}} for n in range(count)]
    results = [{"type": "tool_result", "tool_use_id": f"c{n}", "content": f"{n} {BULKY}"} for n in range(count)]
    thinking = {"type": "thinking", "thinking": "which files?", "signature": "c2ln" * 10}
    return [{"role": "assistant", "content": [thinking, *uses]}, {"role": "user", "content": results}]


def responses_calls(count: int) -> list[dict[str, Any]]:
    """The same for Responses: each call is led to by reasoning of its own."""
    items: list[dict[str, Any]] = []
    for n in range(count):
        items.append({"type": "reasoning", "id": f"rs_{n}", "summary": [], "encrypted_content": "gAAA" * 10})
        items.append({"type": "function_call", "call_id": f"c{n}", "name": "read", "arguments": "{}"})
    return [
        *items,
        *({"type": "function_call_output", "call_id": f"c{n}", "output": f"{n} {BULKY}"} for n in range(count)),
    ]


def ui_run(count: int) -> list[dict[str, Any]]:
    """One UI message that holds a run of many calls."""
    parts = [
        part
        for n in range(count)
        for part in (
            {"type": "step-start"},
            {"type": "text", "text": f"Now file {n}."},
            {
                "type": "tool-bash",
                "toolCallId": f"c{n}",
                "state": "output-available",
                "input": {"command": f"cat src/file{n}.py"},
                "output": f"line {n} of the file\n" * 40,
            },
        )
    ]
    return [{"id": "a", "role": "assistant", "parts": parts}]


def shown(messages: list[dict[str, Any]]) -> str:
    """Everything the view says."""
    return json.dumps(messages, ensure_ascii=False)


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["fill", "ladder"])
@pytest.mark.parametrize("budget", [2_000, 4_000, 8_000])
@pytest.mark.parametrize("last", ["searched", "thought"])
def test_a_sealed_part_leaves_alone(last: str, budget: int, policy: str) -> None:
    """Encrypted results and sealed thinking larger than the budget leave under a mark; what was said before them stays."""
    history = [*turns(10), *([searched()] if last == "searched" else thought())]
    fitted = plimsoll.fit(history, max_tokens=budget, format="anthropic", policy=policy)

    proof.fits(fitted.messages, budget, "anthropic")
    for said in ("Never use paid sources", "ZQRULE9"):
        assert said in shown(fitted.messages)
    assert "left out" in shown(fitted.messages[-1:])
    assert fitted.report.tokens_after > 0.4 * min(budget, plimsoll.count_tokens(turns(10), format="anthropic"))


def test_a_search_leaves_as_a_pair_and_shows_its_sources() -> None:
    """The provider's call never stays without its result, and titles and addresses of what was found are still there."""
    fitted = plimsoll.fit([*turns(3), searched()], max_tokens=2_000, format="anthropic")
    newest = fitted.messages[-1]["content"]

    assert [block["type"] for block in newest] == ["text", "text"]
    assert "web_search_tool_result" in newest[0]["text"]
    assert "https://example.org/1930" in newest[0]["text"]
    assert newest[1]["text"] == "The rules are in the 1930 convention."


def test_a_search_in_the_tail_costs_only_itself() -> None:
    """The same in the middle of a conversation: where all the rest fits, nothing else leaves."""
    history = [*turns(4), searched(BLOB[:6_000]), {"role": "user", "content": "and then?"}, *turns(2)]
    fitted = plimsoll.fit(history, max_tokens=2_500, format="anthropic")

    proof.fits(fitted.messages, 2_500, "anthropic")
    assert [action.first for action in fitted.report.actions if action.decision != "keep"] == [9]


@pytest.mark.slow
@pytest.mark.parametrize("budget", [700, 2_000, 6_000])
@pytest.mark.parametrize(
    ("format", "calls"),
    [
        ("openai-chat", chat_calls(60)),
        ("anthropic", anthropic_calls(60)),
        ("openai-responses", responses_calls(60)),
    ],
)
def test_many_calls_at_once_keep_their_newest_results(format: Any, calls: list[dict[str, Any]], budget: int) -> None:
    """Of sixty parallel calls the newest stay with a preview, a line counts the others, and the talk before them stays."""
    history = [*turns(8), *calls]
    fitted = plimsoll.fit(history, max_tokens=budget, format=format)

    proof.fits(fitted.messages, budget, format)
    text = shown(fitted.messages)
    assert "59 line of" in text
    assert "earlier tool calls left out: read" in text
    assert "Never use paid sources" in text
    assert "keep to ZQRULE7" in text
    assert fitted.report.tokens_after > 0.9 * budget


@pytest.mark.slow
@pytest.mark.parametrize("budget", [500, 2_000, 6_000])
def test_a_long_ui_message_is_cut_by_its_steps(budget: int) -> None:
    """A UI message of a hundred tool parts keeps its newest steps and its id; the steps before leave under a line."""
    history = [{"id": "u", "role": "user", "parts": [{"type": "text", "text": "please fix the tests"}]}, *ui_run(100)]
    fitted = plimsoll.fit(history, max_tokens=budget)
    answer = fitted.messages[-1]

    proof.fits(fitted.messages, budget, "ui-parts")
    assert answer["id"] == "a"
    assert answer["parts"][-1]["toolCallId"] == "c99"
    assert "earlier tool calls left out: bash" in answer["parts"][0]["text"]
    assert sum(part["type"] == "tool-bash" for part in answer["parts"]) > 1
    assert fitted.report.tokens_after > 0.85 * budget


def test_reasoning_leaves_with_the_calls_it_led_to() -> None:
    """Responses refuses reasoning that leads to nothing: it leaves with its calls, and that of the calls that stay, stays."""
    fitted = plimsoll.fit([*turns(1), *responses_calls(30)], max_tokens=1_500, format="openai-responses")
    ids = [item.get("id") for item in fitted.messages if item.get("type") == "reasoning"]
    calls = [item["call_id"] for item in fitted.messages if item.get("type") == "function_call"]

    assert calls
    assert ids == [f"rs_{call[1:]}" for call in calls]


def test_calls_that_left_are_counted_once() -> None:
    """A view that is cut again counts the calls that were left out before."""
    first = plimsoll.fit([*turns(2), *chat_calls(60)], max_tokens=3_000)
    second = plimsoll.fit(first.messages, max_tokens=1_200)
    stayed = sum(len(message.get("tool_calls") or ()) for message in second.messages)

    assert f"[… {60 - stayed} earlier tool calls left out: read …]" in shown(second.messages)


def test_unanswered_calls_stay() -> None:
    """A call whose result is still to come is not among those that leave."""
    history = [*turns(2), *chat_calls(40)]
    del history[6]  # the result of the first call
    session = plimsoll.open("pending", store="memory:", max_tokens=1_500, project=False)
    session.extend(history)
    view = session.view()

    assert "c0" in [call["id"] for message in view for call in message.get("tool_calls") or ()]
    assert plimsoll.validate(view) == []


def test_words_beside_results_outlive_the_results() -> None:
    """A question in the same message as tool results stays whole where thinking before the call cannot fit."""
    asked = {"type": "text", "text": "Which of these is the contract ZQ-78?"}
    call, answer = thought()
    history = [*turns(2), call, {"role": "user", "content": [*answer["content"], asked]}]
    fitted = plimsoll.fit(history, max_tokens=1_000, format="anthropic")

    proof.fits(fitted.messages, 1_000, "anthropic")
    assert asked in fitted.messages[-1]["content"]


def test_actions_name_what_left_an_exchange() -> None:
    """In a session every call and result that left an exchange can be read back by a reference of its action."""
    session = plimsoll.open("named", store="memory:", max_tokens=2_000, project=False)
    session.extend([*turns(2), *chat_calls(60)])
    session.view()
    act = next(act for done in session.compactions() for act in done.actions if "60 tool calls" in act.what)

    assert act.decision == "offload"
    assert f"0 {BULKY}" in [session.read(reference) for reference in act.references]


@pytest.mark.slow
@pytest.mark.parametrize("format", ["openai-chat", "openai-responses", "anthropic"])
def test_calls_that_wait_leave_one_by_one(format: Any) -> None:
    """Of sixty calls at most one of which is answered, the newest that wait stay: the exchange does not become one line."""
    calls = [
        {
            "id": f"c{n}",
            "type": "function",
            "function": {"name": "read", "arguments": f'{{"path": "/srv/module_{n}.py"}}'},
        }
        for n in range(60)
    ]
    results = [
        {"role": "tool", "tool_call_id": f"c{n}", "content": f"{n} the pallet is at the berth"} for n in range(60)
    ]
    messages = [{"role": "user", "content": "Read all."}, {"role": "assistant", "content": "", "tool_calls": calls}]
    messages = plimsoll.convert([*messages, *results], to=format).messages
    first = 62 if format == "openai-responses" else 3
    with plimsoll.open("s", store="memory:", max_tokens=1_000, format=format, project=False) as session:
        session.extend(messages[:first] if format != "anthropic" else messages[:2])
        before = session.view()
        session.extend(messages[first:] if format != "anthropic" else messages[2:])
        after = session.view()

    assert plimsoll.count_tokens(before, format=format) > 300
    assert plimsoll.validate(after, format=format) == []
    assert plimsoll.count_tokens(after, format=format) > 200


def test_messages_that_say_nothing_are_not_summarised() -> None:
    """Where only an empty message would leave besides a cut exchange, it stays: a summary of it says nothing and costs more."""
    answer = {"role": "assistant", "content": "Done. " + "alpha beta " * 10}
    messages = [{"role": "assistant", "content": ""}, {"role": "user", "content": "Go on."}, *thought(), answer]
    fitted = plimsoll.fit(messages, max_tokens=1_500, format="anthropic")

    assert fitted.report.lost == ()
    assert "[Summary of messages" not in json.dumps(fitted.messages)
    assert plimsoll.fit(fitted.messages, max_tokens=1_500, format="anthropic").messages == fitted.messages


@pytest.mark.parametrize("policy", ["fill", "ladder"])
def test_results_outlive_thinking_that_has_no_room(policy: Any) -> None:
    """Sealed thinking larger than the budget costs the calls after it, not what came of them."""
    found = "The load line is at ZQ-1930. " * 5
    call, result = thought()
    result["content"][0]["content"] = found
    answer = {"role": "assistant", "content": "Done."}
    messages = [{"role": "user", "content": "Go on."}, call, result, answer]
    fitted = plimsoll.fit(messages, max_tokens=1_500, format="anthropic", policy=policy)

    proof.fits(fitted.messages, 1_500, "anthropic")
    assert found.strip() in json.dumps(fitted.messages)
    assert BLOB[:100] not in json.dumps(fitted.messages)
    again = plimsoll.fit(fitted.messages, max_tokens=1_500, format="anthropic", policy=policy)
    assert again.messages == fitted.messages


def test_thinking_before_the_newest_request_leaves_alone() -> None:
    """No provider asks for it any more: the calls that it led to stay with their results."""
    call, result = thought()
    ask, answer = {"role": "user", "content": "Go on."}, {"role": "assistant", "content": "Done."}
    messages = [ask, call, result, answer, {"role": "user", "content": "And now?"}]
    fitted = plimsoll.fit(messages, max_tokens=1_500, format="anthropic")

    proof.fits(fitted.messages, 1_500, "anthropic")
    assert fitted.messages == [ask, {**call, "content": call["content"][1:]}, result, *messages[3:]]
    assert plimsoll.fit(fitted.messages, max_tokens=1_500, format="anthropic").messages == fitted.messages


@pytest.mark.slow
def test_one_call_that_left_is_one_call() -> None:
    """The line that counts the calls left out is good English for one too, and is read back when more leave."""
    history = [*turns(0), *responses_calls(6)]
    views = [plimsoll.fit(history, max_tokens=budget, format="openai-responses") for budget in range(320, 480, 8)]
    one = next(view for view in views if "… 1 earlier tool call left out: read …" in shown(view.messages))

    more = plimsoll.fit(one.messages, max_tokens=250, format="openai-responses")
    named = re.findall(r"… (\d+) earlier tool calls left out: read …", shown(more.messages))
    assert named == [str(6 - shown(more.messages).count('"function_call"'))]
    assert not any("1 earlier tool calls" in shown(view.messages) for view in views)


def test_the_providers_own_compaction_is_the_last_to_leave() -> None:
    """An encrypted compaction stands for all that came before it: it stays while others leave, and is never shown in pieces."""
    sealed = {"type": "compaction", "id": "cmp_1", "encrypted_content": random.Random(1).randbytes(1_000).hex()}
    older = {"type": "compaction", "id": "cmp_0", "encrypted_content": "00" * 400}
    messages = [{"role": "user", "content": "go"}, older, *turns(4), sealed, *turns(8)]
    whole = plimsoll.count_tokens(messages)

    assert plimsoll.count_tokens([sealed]) < len(sealed["encrypted_content"]) // 4 + 40
    for share in (0.9, 0.6, 0.4):
        view = plimsoll.fit(messages, max_tokens=int(whole * share)).messages
        assert sealed in view
        assert older not in view or share == 0.9
    smallest = plimsoll.fit(messages, max_tokens=300).messages
    assert sealed not in smallest
    assert sealed["encrypted_content"][:12] not in json.dumps(smallest)


def test_a_compaction_block_of_anthropic_stays() -> None:
    """A block with the summary that Anthropic wrote stays with its message."""
    block = {"type": "compaction", "content": "The user wants load lines; rule ZQ-77 holds. " * 10}
    said = {"role": "assistant", "content": [block, {"type": "text", "text": "Going on."}]}
    messages = [{"role": "user", "content": "go"}, said, *turns(12)]
    whole = plimsoll.count_tokens(messages, format="anthropic")

    for share in (0.9, 0.5, 0.3):
        assert said in plimsoll.fit(messages, max_tokens=int(whole * share), format="anthropic").messages
