"""One call, no session, no disk: `fit`, `afit`, `plan` and `count_tokens`."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import re
from typing import Any

import pytest

import plimsoll
import proof
from plimsoll.errors import CannotFit, FormatError, SettingError
from workloads import talk, work

WORK = work(61, 30)
TOTAL = plimsoll.count_tokens(WORK)


def step(name: str, arguments: Any, output: str) -> list[dict[str, Any]]:
    """One call and its result."""
    call = {"id": f"c-{name}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": f"c-{name}", "content": output},
    ]


def test_what_fits_comes_back_equal() -> None:
    """With room for exactly all of it nothing changes, and the result shares nothing with the input."""
    fitted = plimsoll.fit(WORK, max_tokens=TOTAL)

    assert fitted.messages == WORK
    assert fitted.messages[1] is not WORK[1]
    assert fitted.report.stage == "none"
    assert {action.decision for action in fitted.report.actions} == {"keep"}
    assert plimsoll.fit(WORK, max_tokens=TOTAL - 1).messages != WORK


@pytest.mark.slow
def test_the_input_is_never_changed() -> None:
    """Neither messages, nor tools, nor system text are touched, whatever has to leave."""
    messages, tools = (
        copy.deepcopy(WORK),
        [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}],
    )
    before = json.dumps([messages, tools])
    for budget in (100, 1_000, 10_000):
        plimsoll.fit(messages, max_tokens=budget, tools=tools, policy="ladder")

    assert json.dumps([messages, tools]) == before


def test_a_changed_result_changes_no_later_one() -> None:
    """Results are the caller's own: changing one does not show in the next."""
    first = plimsoll.fit(WORK, max_tokens=TOTAL)
    for message in first.messages:
        message.clear()

    assert plimsoll.fit(WORK, max_tokens=TOTAL).messages == WORK


@pytest.mark.slow
@pytest.mark.parametrize("budget", [300, 2_000, 8_000])
@pytest.mark.parametrize("policy", ["fill", "ladder"])
def test_plan_shows_what_fit_does(budget: int, policy: str) -> None:
    """A plan is pure data for the same result; applying it twice is the same; `afit` gives it too."""
    plan = plimsoll.plan(WORK, max_tokens=budget, policy=policy)
    fitted = plimsoll.fit(WORK, max_tokens=budget, policy=policy)

    assert plan.apply() == plan.apply() == fitted
    assert plan.report == fitted.report
    assert asyncio.run(plimsoll.afit(WORK, max_tokens=budget, policy=policy)) == fitted
    assert json.loads(json.dumps(plan.to_dict()))["tokens_after"] == fitted.report.tokens_after
    assert json.loads(json.dumps(fitted.to_dict()))["messages"] == fitted.messages


def test_an_edited_summary_is_applied() -> None:
    """`with_summary` leaves the plan as it was and gives another with the words in it, cut to the room."""
    plan = plimsoll.plan(WORK, max_tokens=3_000)
    edited = plan.with_summary("ADA decides. " * 5_000)

    assert plan.summary != edited.summary
    assert plan.apply() == plimsoll.fit(WORK, max_tokens=3_000)
    assert "ADA decides." in str(edited.apply().messages)
    proof.fits(edited.apply().messages, 3_000, "openai-chat")
    assert edited.report.stage == "edited"


@pytest.mark.slow
@pytest.mark.parametrize(
    "system",
    ["Answer in verse.", [{"type": "text", "text": "Answer in verse.", "cache_control": {"type": "ephemeral"}}]],
)
def test_anthropics_system_text_counts_and_comes_back(system: Any) -> None:
    """Text beside the messages is counted, and comes back as it was given while it fits."""
    messages = plimsoll.convert(WORK, to="anthropic").messages
    for budget in (800, 4_000):
        with_it = plimsoll.fit(messages, max_tokens=budget, system=system, format="anthropic")
        proof.fits(with_it.messages, budget - proof.tokens("Answer in verse."), "anthropic")
        assert with_it.system == system


@pytest.mark.spec("W0-04")
def test_a_system_text_over_the_budget_is_cut_in_its_own_shape() -> None:
    """Blocks stay blocks and text stays text; the newest request survives (W0-04)."""
    ask = [{"role": "user", "content": "Who decides?"}]
    long = "The rules are many. " * 2_000
    as_text = plimsoll.fit(ask, max_tokens=400, system=long, format="anthropic")
    as_blocks = plimsoll.fit(
        ask, max_tokens=400, system=[{"type": "text", "text": long, "cache_control": {"type": "ephemeral"}}]
    )

    assert isinstance(as_text.system, str)
    assert isinstance(as_blocks.system, list)
    assert as_blocks.system[0]["cache_control"] == {"type": "ephemeral"}
    for fitted in (as_text, as_blocks):
        assert fitted.messages == ask
        assert fitted.report.tokens_after <= 400


@pytest.mark.spec("W2-12")
@pytest.mark.parametrize(
    "messages", [[], [{"role": "system", "content": "be brief"}], [{"role": "assistant", "content": "hello"}]]
)
def test_little_is_fine(messages: list[Any]) -> None:
    """No messages, only system text, only an answer: they come back as they are (W2-12)."""
    assert plimsoll.fit(messages, max_tokens=1_000, format="openai-chat").messages == messages


@pytest.mark.spec("W0-09", "W0-16", "W3-08")
@pytest.mark.parametrize("budget", [1, 3, 8])
def test_a_budget_below_the_frame_is_refused(budget: int) -> None:
    """CannotFit names the part and the smallest budget that would do, and that one does (W0-09, W0-16, W3-08)."""
    messages = [{"role": "system", "content": "be brief " * 30}, {"role": "user", "content": "hello " * 30}]
    with pytest.raises(CannotFit) as raised:
        plimsoll.fit(messages, max_tokens=budget)

    assert raised.value.part in ("system text", "newest user message")
    assert raised.value.needed_tokens < 20
    assert (
        plimsoll.fit(messages, max_tokens=raised.value.needed_tokens).report.tokens_after <= raised.value.needed_tokens
    )


@pytest.mark.spec("W0-10", "W2-03")
@pytest.mark.parametrize("budget", [0, -1, 10**13, True, 1.5, "many", float("nan")])
def test_impossible_budgets_are_refused(budget: Any) -> None:
    """A budget that is none is refused by its name (W0-10, W2-03)."""
    with pytest.raises(SettingError):
        plimsoll.fit(WORK, max_tokens=budget)


@pytest.mark.parametrize(
    "messages", [None, 3, "text", [3], [{"role": "wizard", "content": "x"}], [{"content": "x"}], {"role": "user"}]
)
def test_what_is_no_conversation_is_refused(messages: Any) -> None:
    """A typed error, whatever it is."""
    with pytest.raises(FormatError):
        plimsoll.fit(messages, max_tokens=100)


def test_tools_larger_than_the_budget_are_refused() -> None:
    """When the schemas leave nothing, the field that took it is named."""
    tools = [{"type": "function", "function": {"name": f"f{n}", "parameters": {"type": "object"}}} for n in range(200)]
    with pytest.raises(SettingError) as raised:
        plimsoll.fit(WORK, max_tokens=1_000, tools=tools)

    assert raised.value.field == "tools_tokens"


@pytest.mark.slow
@pytest.mark.spec("W0-03", "W0-18")
def test_sixty_system_messages_fit() -> None:
    """Any number of them, in the middle too, ends within the budget, the request last (W0-03, W0-18)."""
    messages = [{"role": "system", "content": f"rule {n} " + "words " * 20} for n in range(60)]
    messages.append({"role": "user", "content": "And now?"})
    for budget in (320, 600, 1_000):
        fitted = plimsoll.fit(messages, max_tokens=budget)
        proof.fits(fitted.messages, budget, "openai-chat")
        assert fitted.messages[-1] == messages[-1]
    with pytest.raises(CannotFit):
        plimsoll.fit(messages, max_tokens=300)
    mixed = [*talk(62, 6)[1:], {"role": "system", "content": "The user is in a hurry."}, *talk(63, 6)[1:]]
    fitted = plimsoll.fit(mixed, max_tokens=plimsoll.count_tokens(mixed) - 200)
    assert proof.same_order([m for m in fitted.messages if m in mixed], mixed) == sorted(
        mixed.index(m) for m in fitted.messages if m in mixed
    )


@pytest.mark.spec("W0-06")
def test_huge_arguments_are_cut_and_stay_json() -> None:
    """A call whose arguments fill the window is cut inside, remains an object, and keeps its result (W0-06)."""
    arguments = json.dumps({"path": "a.py", "text": "lorem ipsum " * 20_000})
    call = {"id": "c1", "type": "function", "function": {"name": "write", "arguments": arguments}}
    messages = [
        {"role": "user", "content": "Write it."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    ]
    fitted = plimsoll.fit(messages, max_tokens=1_000)
    made = json.loads(fitted.messages[1]["tool_calls"][0]["function"]["arguments"])

    assert made["path"] == "a.py"
    assert fitted.messages[2] == messages[2]
    proof.fits(fitted.messages, 1_000, "openai-chat")


@pytest.mark.spec("W0-08", "W1-32", "W3-07")
def test_cutting_again_leaves_one_mark() -> None:
    """A text cut twice has one mark, which counts both cuts; no code point is cut in half (W0-08, W1-32, W3-07)."""
    messages: list[Any] = [{"role": "user", "content": "修复这个问题🚀 " * 3_000}]
    for budget in (4_000, 2_000, 500, 120):
        messages = plimsoll.fit(messages, max_tokens=budget).messages
        content = messages[0]["content"]

        assert content.count("…") <= 2
        content.encode("utf-8")


@pytest.mark.spec("W3-08", "W3-12")
def test_a_long_newest_request_keeps_both_ends() -> None:
    """The newest request is cut only when it alone is over, in the middle (W3-08, W3-12)."""
    ask = "FIRST WORDS. " + "filler words here. " * 3_000 + "LAST WORDS?"
    fitted = plimsoll.fit([*talk(64, 10), {"role": "user", "content": ask}], max_tokens=1_000)
    content = fitted.messages[-1]["content"]

    assert content.startswith("FIRST WORDS.")
    assert content.endswith("LAST WORDS?")


@pytest.mark.spec("W3-12")
@pytest.mark.parametrize("policy", ["five-turns", "graded-200k"])
def test_the_newest_request_is_not_clipped(policy: str) -> None:
    """A policy that cuts long messages does not cut what is being answered while it fits, however long it is (W3-12)."""
    ask = {"role": "user", "content": "filler words here. " * 800}
    messages = [*talk(64, 20), ask, *talk(65, 40)[2:3], *step("grep", {"pattern": "x"}, "lorem ipsum " * 2_000)]
    fitted = plimsoll.fit(messages, max_tokens=5_000, policy=policy)

    assert ask in fitted.messages
    proof.fits(fitted.messages, 5_000, "openai-chat")


@pytest.mark.slow
@pytest.mark.spec("W1-17", "W3-10", "W3-11")
def test_every_message_between_summary_and_tail_is_accounted_for() -> None:
    """Positions of the summary and of what stays cover the history without a gap (W3-10, W3-11, W1-17)."""
    for budget in (1_000, 3_000, 9_000):
        plan = plimsoll.plan(WORK, max_tokens=budget)
        first, end = plan.outline.covers or (0, 0)
        kept = {entry.position for entry in plan.outline.entries if entry.position is not None}

        assert kept | set(range(first, end)) == set(range(len(WORK)))


@pytest.mark.spec("S2-04")
def test_the_report_counts_messages() -> None:
    """How many there were and how many of them stayed: the others left, and the summary is none of them (S2-04)."""
    fitted = plimsoll.fit(WORK, max_tokens=4_000)
    gone = sum(action.last - action.first + 1 for action in fitted.report.lost)
    ours = sum(proof.is_ours(message) for message in fitted.messages)

    assert (fitted.report.messages_before, ours) == (len(WORK), 1)
    assert fitted.report.messages_kept == len(WORK) - gone == len(fitted.messages) - ours
    assert plimsoll.fit(WORK, max_tokens=TOTAL).report.messages_kept == len(WORK)


@pytest.mark.spec("W0-19")
def test_emergencies_keep_goals_files_and_errors() -> None:
    """When next to nothing fits, the summary still has what was asked, decided, changed and what failed long ago (W0-19)."""
    early = [
        {"role": "user", "content": "Begin."},
        {"role": "user", "content": "Move the lease table to quay.db. Never touch the berths."},
        *step("edit_file", {"path": "src/quay_store.py", "old_string": "a", "new_string": "b"}, "edited"),
        *step("bash", {"command": "make test"}, "ValueError: berth 17 is taken\nmake: *** [test] Error 1"),
        {"role": "assistant", "content": "I decided to keep the old index because readers still use it."},
    ]
    fitted = plimsoll.fit([*early, *WORK[1:]], max_tokens=4_000, policy="ladder")

    assert fitted.report.level is plimsoll.policy.budget.Level.emergency
    for fact in (
        "Move the lease table",
        "Never touch the berths",
        "quay_store.py",
        "make test",
        "berth 17 is taken",
        "old index",
    ):
        assert fact in (fitted.report.summary or "")


@pytest.mark.slow
@pytest.mark.spec("W2-13")
def test_a_summary_can_be_in_chinese() -> None:
    """A Chinese conversation gets Chinese headings and marks without being told (W2-13)."""
    messages = []
    for number in range(60):
        messages.append(
            {"role": "user", "content": f"请修复第{number}个问题，订单号是{number * 7}，不要修改接口。" * 4}
        )
        messages.append({"role": "assistant", "content": f"第{number}个问题已经修复，测试全部通过。" * 6})
    fitted = plimsoll.fit(messages, max_tokens=plimsoll.count_tokens(messages) // 3)

    assert "的摘要，由程序生成" in str(fitted.messages)
    assert "Summary of" not in str(fitted.messages)


@pytest.mark.spec("WE-07")
def test_counting_takes_texts_and_messages() -> None:
    """A text by itself, messages with their frames, tools on top; special tokens are text (WE-07)."""
    assert plimsoll.count_tokens("hello world") == 2
    assert plimsoll.count_tokens("<|endoftext|>") > 1
    assert plimsoll.count_tokens([{"role": "user", "content": "hello world"}]) == 2 + 1 + 3 + 3
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    assert plimsoll.count_tokens([], tools=tools, format="openai-chat") > 15


def test_fit_and_afit_say_the_same() -> None:
    """The twins take the same options, with the same defaults."""
    for name, parameter in inspect.signature(plimsoll.fit).parameters.items():
        assert inspect.signature(plimsoll.afit).parameters[name].default == parameter.default


@pytest.mark.spec("S0-18", "S0-40")
@pytest.mark.parametrize("name", ["fit", "plan", "window", "check", "validate", "count_tokens", "files_mentioned"])
def test_nothing_is_no_list_of_messages(name: str) -> None:
    """None is a FormatError everywhere, and an empty list is a conversation that has not begun."""
    call = getattr(plimsoll, name)
    with pytest.raises(plimsoll.errors.FormatError):
        call(None)
    call([])

    assert plimsoll.fit([]).messages == plimsoll.window([]).messages == []


def test_an_assumed_budget_is_told() -> None:
    """With neither a budget nor a model the report says whose window was taken; with either, or a policy's own, it does not."""
    hello: list[Any] = [{"role": "user", "content": "hello"}]

    assert "gpt-4o is assumed" in str(plimsoll.fit(hello).report.note)
    assert "gpt-4o is assumed" in str(plimsoll.plan(hello).report.note)
    for options in ({"max_tokens": 90}, {"model": "gpt-4o"}, {"policy": "graded-200k"}):
        assert plimsoll.fit(hello, **options).report.note is None


@pytest.mark.parametrize("system", [None, "apart"])
def test_a_system_text_that_is_cut_is_noted(system: str | None) -> None:
    """Who looks at the report alone learns that instructions were cut; where they stay whole there is no note."""
    rules = "\n".join(f"Rule {number}: be careful with case {number * 3}." for number in range(300))
    hello = [{"role": "user", "content": "Hello there, which rule is it?"}]
    given: dict[str, Any] = {"system": rules} if system else {}
    messages = hello if system else [{"role": "system", "content": rules}, *hello]

    fitted = plimsoll.fit(messages, max_tokens=1_000, **given)
    assert re.fullmatch(r"the system text was cut from 3,\d\d\d to \d\d\d tokens", str(fitted.report.note))
    assert plimsoll.fit(messages, max_tokens=9_000, **given).report.note is None


@pytest.mark.parametrize("policy", [plimsoll.Policy(), plimsoll.Policy(summary_role="system")])
def test_system_messages_that_leave_and_summaries_are_no_system_text_that_was_cut(policy: Any) -> None:
    """The note is about the instructions at the start, also where earlier summaries in the system role are cut."""
    rules = {"role": "system", "content": "Be careful at the quay."}
    steps = [
        {"role": role, "content": f"Step {number} is done at the quay. " * 12}
        for number in range(30)
        for role in ("user", "assistant", *(["system"] if number % 5 == 2 else []))
    ]
    fitted = plimsoll.fit([rules, *steps], max_tokens=1_500, policy=policy)
    again = plimsoll.fit([*fitted.messages, *steps], max_tokens=500, policy=policy)

    assert fitted.report.tokens_after < fitted.report.tokens_before
    assert again.messages[0] == fitted.messages[0] == rules
    assert fitted.report.note is again.report.note is None


def test_tools_larger_than_the_budget_are_named() -> None:
    """The error says that the tools are too large, not that a number is."""
    tool = {"type": "function", "function": {"name": "look", "description": "far " * 900, "parameters": {}}}
    with pytest.raises(plimsoll.errors.SettingError, match=r"the tools take \d+ tokens, which leaves nothing of 500"):
        plimsoll.fit([{"role": "user", "content": "Hello."}], max_tokens=500, tools=[tool])


def test_the_system_text_handed_back_is_a_copy() -> None:
    """Changing what a plan returned changes neither the caller's system text nor what the plan returns next."""
    system = [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    plan = plimsoll.plan([{"role": "user", "content": "hello"}], max_tokens=300, system=system, format="anthropic")

    first = plan.apply()
    first.system[0]["text"], first.system[0]["cache_control"]["type"] = "Be long.", "other"

    assert system == [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}]
    assert plan.apply().system == system
