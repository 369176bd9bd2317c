"""What every view keeps, on the histories that once broke it."""

from __future__ import annotations

from typing import Any

import pytest

import plimsoll
import proof
from plimsoll.errors import CannotFit
from plimsoll.policy.budget import LoadLines
from plimsoll.policy.policy import Policy
from plimsoll.summary.frame import omission

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PIXEL = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}}
LONG = "\n".join(f"line {n} of what the tool found" for n in range(60))


def ui_answer(number: int, *outputs: str) -> dict[str, Any]:
    """A UI message of the agent's with a call for each output."""
    tools = [
        {
            "type": "tool-search",
            "toolCallId": f"c{number}_{at}",
            "state": "output-available",
            "input": {},
            "output": output,
        }
        for at, output in enumerate(outputs)
    ]
    return {"id": f"m{number}", "role": "assistant", "parts": tools}


def chat_call(*ids: str, arguments: str = '{"path": "somewhere"}') -> dict[str, Any]:
    """A chat message with a call for each id."""
    calls = [{"id": id, "type": "function", "function": {"name": "read", "arguments": arguments}} for id in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def chat_results(*ids: str, content: str = LONG) -> list[dict[str, Any]]:
    """The results of these calls."""
    return [{"role": "tool", "tool_call_id": id, "content": content} for id in ids]


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["graded-200k", "ladder", "threshold-80", "five-turns"])
@pytest.mark.parametrize("share", [0.4, 0.6, 0.7, 0.75, 0.9])
def test_a_run_where_nobody_asks_reaches_its_target_at_once(policy: str, share: float) -> None:
    """Only the agent speaks, and its newest answer passes the target by itself: a second run finds nothing left to do."""
    history = [ui_answer(1, LONG, LONG), ui_answer(2, LONG.upper(), LONG, LONG)]
    budget = int(plimsoll.count_tokens(history, format="ui-parts") * share)
    view = plimsoll.fit(history, max_tokens=budget, format="ui-parts", policy=policy).messages

    assert plimsoll.fit(view, max_tokens=budget, format="ui-parts", policy=policy).messages == view


def test_the_newest_exchange_is_no_old_bulk_even_alone() -> None:
    """Past the soft line only old results are taken out of the view; the only exchange there is, is not old."""
    history = [ui_answer(1, LONG, LONG.upper())]
    budget = int(plimsoll.count_tokens(history, format="ui-parts") / 0.75)

    assert plimsoll.fit(history, max_tokens=budget, format="ui-parts", policy="ladder").messages == history


@pytest.mark.parametrize("blank", ["", "\n ", []])
@pytest.mark.parametrize("format", ["openai-chat", "openai-responses", "anthropic"])
def test_a_blank_message_is_no_request(format: Any, blank: Any) -> None:
    """What the user asked last stays whole though an empty message came after it."""
    asked = {"role": "user", "content": "Which of the two parsers is faster, and why?"}
    working = {"role": "assistant", "content": "Measuring both of them. " * 40}
    history = [{"role": "user", "content": "hi " * 300}, asked, working, {"role": "user", "content": blank}, working]

    assert asked in plimsoll.fit(history, max_tokens=150, format=format).messages


def test_late_outputs_stay_where_they_were_said() -> None:
    """Responses takes an output anywhere after its call: a kept one keeps its place."""
    old = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi " * 300}]
    late = [
        {"role": "user", "content": "start both"},
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"},
        {"type": "function_call", "call_id": "b", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "b", "output": "b is done"},
        {"role": "assistant", "content": "waiting for a"},
        {"role": "user", "content": "and?"},
        {"type": "function_call_output", "call_id": "a", "output": "a is done"},
        {"role": "assistant", "content": "both are done"},
    ]
    assert plimsoll.validate(late, format="openai-responses") == []

    view = plimsoll.fit([*old, *late], max_tokens=160, format="openai-responses").messages
    assert view[-len(late) :] == late


SEARCH = {"type": "tool_search_call", "call_id": "a", "arguments": {"query": LONG}}
"""A call whose arguments are the provider's: they cannot be cut."""

FRAMES: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "words": (
        "openai-chat",
        [{"role": "system", "content": "Be brief. " * 30}, {"role": "user", "content": "What now? " * 30}],
    ),
    "calls": ("openai-chat", [chat_call("a", "b"), *chat_results("a", "b")]),
    "unanswered": ("openai-chat", [chat_call(*"abcdef", arguments='{"deep": [[["x"]]], "n": 1, "say": "much"}')]),
    "a small image": ("openai-chat", [{"role": "system", "content": LONG}, {"role": "user", "content": [PIXEL]}]),
    "names": ("openai-chat", [{"role": "user", "name": "", "content": LONG}, {"role": "developer", "content": LONG}]),
    "what cannot be cut": ("openai-responses", [SEARCH, {"role": "assistant", "content": LONG}]),
    "what must open it": (
        "anthropic",
        [
            {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"q": LONG}}]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "a", "content": LONG},
                    {"type": "text", "text": "ok?"},
                ],
            },
            {"role": "assistant", "content": "fine"},
        ],
    ),
    "nobody asks": (
        "anthropic",
        [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {"q": LONG}}]}],
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5"])
@pytest.mark.parametrize("frame", FRAMES)
def test_a_refusal_tells_the_truth(frame: str, model: str) -> None:
    """Whatever was asked for, the same smallest budget is named; it is enough, and one less is not."""
    format, history = FRAMES[frame]
    with pytest.raises(CannotFit) as refusal:
        plimsoll.fit(history, max_tokens=1, format=format, model=model)
    needed = refusal.value.needed_tokens

    for budget in (*range(1, needed, max(1, needed // 8)), needed - 1):
        with pytest.raises(CannotFit) as again:
            plimsoll.fit(history, max_tokens=budget, format=format, model=model)
        assert again.value.needed_tokens == needed
    view = plimsoll.fit(history, max_tokens=needed, format=format, model=model).messages
    assert plimsoll.count_tokens(view, model=model, format=format) <= needed
    assert "'content': ''" not in str(view)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "no-such-model"])
def test_nothing_is_cut_to_nothing(model: str) -> None:
    """However short room is, each text that stays says at least that something was cut."""
    used = [{"type": "tool_use", "id": id, "name": "f", "input": {"q": LONG}} for id in "ab"]
    results = [{"type": "tool_result", "tool_use_id": id, "content": LONG, "is_error": id == "a"} for id in "ab"]
    history = [
        {"role": "user", "content": [{"type": "text", "text": LONG}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Looking."}, *used]},
        {"role": "user", "content": results},
    ]
    for budget in (*range(20, 160), *range(160, 2_000, 90)):
        try:
            fitted = plimsoll.fit(
                history, max_tokens=budget, model=model, format="anthropic", system=[{"type": "text", "text": LONG}]
            )
        except CannotFit:
            continue
        assert plimsoll.validate(fitted.messages, format="anthropic", system=fitted.system) == []
        assert '"text": ""' not in str([fitted.messages, fitted.system]).replace("'", '"')
        assert "The tool failed without output." not in str(fitted.messages)


@pytest.mark.parametrize("model", ["gpt-4o", "claude-sonnet-4-5", "no-such-model"])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_messages_that_join_cost_no_more_than_apart(model: str, count: int) -> None:
    """Anthropic's neighbours of one role go out as one message; a budget they fit apart, they fit together."""
    texts = ["a", "What now?", "So be it.", "x y z"][:count]
    apart = sum(plimsoll.count_tokens([{"role": "user", "content": text}], model=model) - 3 for text in texts)
    blocks = [{"type": "text", "text": text} for text in texts]
    together = plimsoll.count_tokens([{"role": "user", "content": blocks}], model=model, format="anthropic") - 3

    assert together <= apart


def test_ui_calls_of_one_id_keep_their_own_results() -> None:
    """A call without a result does not take the result of another call of the same id."""
    waiting = {"type": "tool-f", "toolCallId": "c", "state": "input-available", "input": {}}
    done = {"type": "tool-f", "toolCallId": "c", "state": "output-available", "input": {}, "output": "the answer"}
    history = [{"id": "m", "role": "assistant", "parts": [waiting, done, waiting]}]
    view = plimsoll.fit(history, max_tokens=500, format="ui-parts").messages

    proof.fits(view, 500, "ui-parts")
    assert [part["state"] for part in view[0]["parts"]] == ["output-error", "output-available", "output-error"]
    assert view[0]["parts"][1]["output"] == "the answer"


def used(*ids: str) -> dict[str, Any]:
    """An answer of Anthropic's with a call for each id."""
    return {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "f", "input": {}} for id in ids]}


def came(*ids: str, content: str = "done", then: str = "") -> dict[str, Any]:
    """The results of these calls, and perhaps the user's words."""
    results = [{"type": "tool_result", "tool_use_id": id, "content": f"{content} {id}"} for id in ids]
    return {"role": "user", "content": [*results, *([{"type": "text", "text": then}] if then else [])]}


OLD = [{"role": "user", "content": "go"}, {"role": "assistant", "content": LONG}]


@pytest.mark.parametrize(
    "turn",
    [
        [used("a", "b"), {"role": "assistant", "content": "and then"}, came("a", "b")],
        [used("a", "b"), came("a"), came("b")],
        [used("a"), used("b"), came("a"), came("b", then="now?")],
    ],
)
def test_a_turn_in_several_messages_stays_together(turn: list[dict[str, Any]]) -> None:
    """Anthropic reads neighbours of one role as one: calls and results apart that way stay together, the results in one message."""
    history = [*OLD, *turn, {"role": "assistant", "content": "fine"}]
    assert plimsoll.validate(history, format="anthropic") == []

    view = plimsoll.fit(history, max_tokens=240, format="anthropic").messages
    results = [block for message in turn if message["role"] == "user" for block in message["content"]]
    asked = [message for message in turn if message["role"] == "assistant"]
    tail = [*asked, {"role": "user", "content": results}, history[-1]]
    assert view[-len(tail) :] == tail


@pytest.mark.parametrize("stray", ["nobody", "a"])
def test_results_in_several_messages_with_one_too_many(stray: str) -> None:
    """A result nobody asked for becomes words, and after words no result may come."""
    history = [{"role": "user", "content": "go"}, used("a", "b"), came("a", stray), came("b")]
    for budget in (60, 90, 1_000):
        proof.fits(plimsoll.fit(history, max_tokens=budget, format="anthropic").messages, budget, "anthropic")


def test_a_function_message_needs_no_call() -> None:
    """The legacy message is taken without one, so it stays what it is, even where others leave."""
    said = {"role": "function", "name": "old", "content": "found it"}
    history = [*OLD, said, {"role": "assistant", "content": "good"}]
    assert said in plimsoll.fit(history, max_tokens=200, format="openai-chat").messages


@pytest.mark.slow
@pytest.mark.parametrize("budget", [120, 160, 200])
def test_what_was_put_in_to_open_a_view_opens_it_again(budget: int) -> None:
    """Come back in a history it is no message that may leave, so the same call finds the same to do."""
    history = [used("a"), came("a", content=LONG), {"role": "assistant", "content": LONG[:200]}]
    for policy in ("ladder", "graded-200k", "threshold-80"):
        for share in (1, 2, 3, 4):
            view = plimsoll.fit(history, max_tokens=budget * share, format="anthropic", policy=policy).messages
            again = plimsoll.fit(view, max_tokens=budget * share, format="anthropic", policy=policy)
            assert again.messages == view


def test_thinking_does_not_part_from_what_it_led_to() -> None:
    """An answer that quotes what plimsoll says is taken apart; its thinking goes with the words."""
    mark = {"type": "text", "text": omission(12, "en")}
    answer = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, mark]}
    history = [{"role": "user", "content": "go"}, answer, {"role": "user", "content": LONG}]
    for budget in range(40, 400, 20):
        proof.fits(plimsoll.fit(history, max_tokens=budget, format="anthropic").messages, budget, "anthropic")


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
def test_what_others_leave_behind_is_within_reach_in_the_same_run(share: float) -> None:
    """The newest request carries large results and much came after it: once that is summarised, the results are cut too."""
    talk = [{"role": "assistant", "content": f"{n}: {LONG}"} for n in range(6)]
    history = [*OLD, used("a"), came("a", content=LONG * 4, then="and now?"), *talk]
    budget = int(plimsoll.count_tokens(history, format="anthropic") * share)
    with plimsoll.open("x", store="memory:", format="anthropic", max_tokens=budget, policy="ladder") as session:
        session.extend(history)

        assert plimsoll.count_tokens(session.view(), format="anthropic") <= budget / 2
        assert len(session.compactions()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("format", ["openai-chat", "anthropic"])
@pytest.mark.parametrize("repeats", [2, 3])
@pytest.mark.parametrize("share", [0.6, 0.7, 0.8])
def test_what_one_run_leaves_the_next_takes_up_in_the_same_call(format: Any, repeats: int, share: float) -> None:
    """Repeats collapse only after old bulk was looked for: now more of it is within reach. Both runs are one report."""
    history: list[dict[str, Any]] = [{"role": "user", "content": "go"}]
    for at, content in enumerate([f"new: {LONG}", *[LONG.upper()] * repeats]):
        history += [chat_call(f"c{at}"), *chat_results(f"c{at}", content=content)]
    history += [{"role": "assistant", "content": LONG}, {"role": "user", "content": "and now?"}]
    policy = Policy(name="order", steps=("offload", "collapse"), lines=LoadLines(soft=0.55, warn=0.6, hard=0.7))
    history = plimsoll.convert(history, to=format).messages
    whole = plimsoll.count_tokens(history, format=format)
    plan = plimsoll.plan(history, max_tokens=int(whole * share), policy=policy, format=format)
    view = plan.apply().messages

    assert plimsoll.fit(view, max_tokens=int(whole * share), policy=policy, format=format).messages == view
    report, actions = plan.report, plan.actions
    assert (report.tokens_before, report.tokens_after) == (whole, plimsoll.count_tokens(view, format=format))
    assert [at for action in actions for at in range(action.first, action.last + 1)] == list(range(len(history)))
    assert [entry.position for entry in plan.outline.entries] == list(range(len(history)))
    assert 3 + sum(action.tokens_before for action in actions) == whole
    assert 3 + sum(action.tokens_after for action in actions) == report.tokens_after
    assert {action.decision for action in actions} == {"keep", "shrink"}


def test_a_constraint_cut_from_the_task_is_in_the_summary() -> None:
    """A task longer than its room is shown cut; what it insists on in its middle is said among the user's constraints."""
    code = "\n".join(f"    step_{n} = prepare(step_{n - 1})" for n in range(40))
    rule = "Never change the files below tests/golden."
    task = f"Fix the exporter.\n{code}\n\n{rule}\n\n{code}\nThe exporter writes to out/."
    history: list[dict[str, Any]] = [{"role": "user", "content": task}]
    for n in range(12):
        call = chat_call(f"c{n}", arguments=f'{{"path": "src/part_{n}.py"}}')
        history += [call, {"role": "tool", "tool_call_id": f"c{n}", "content": f"part {n}\n{LONG}"}]

    view = plimsoll.fit(history, max_tokens=700).messages
    assert rule not in view[0]["content"]
    assert any(f"- {rule}" in str(message["content"]) for message in view[1:])
