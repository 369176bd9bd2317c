"""Every field of a policy changes something that can be seen; so does every option of `fit`, `plan` and `open`."""

from __future__ import annotations

import dataclasses
import inspect
import json
import random
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import plimsoll
import proof
from plimsoll.cli.main import main
from plimsoll.policy.budget import Level
from plimsoll.policy.policy import Policy, policy_named
from workloads import talk, turns, words, work

TALK = talk(21, 80)
WORK = work(22, 40)
TOTAL = plimsoll.count_tokens(TALK)
WORK_TOTAL = plimsoll.count_tokens(WORK)
ROWS = json.dumps([{"id": n, "name": words(random.Random(n), 8)} for n in range(300)])
READ = [
    {"role": "user", "content": "Read the table."},
    {"role": "assistant", "content": None, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "q", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c1", "content": ROWS},
]  # fmt: skip


def fitted(messages: list[Any], budget: int, policy: Policy, **options: Any) -> plimsoll.Fitted:
    """A proven view."""
    found = plimsoll.fit(messages, max_tokens=budget, policy=policy, format="openai-chat", **options)
    proof.fits(found.messages, budget, "openai-chat")
    return found


def said(messages: list[Any], budget: int, policy: Policy) -> int:
    """How many messages stay as they were said."""
    return sum(message in messages for message in fitted(messages, budget, policy).messages)


def level(budget: int, policy: Policy) -> Level:
    """How loaded the talk is."""
    return fitted(TALK, budget, policy).report.level


def after(budget: int, policy: Policy, messages: list[Any] = TALK) -> int:
    """What is left of it, in tokens."""
    return fitted(messages, budget, policy).report.tokens_after


def summary_size(policy: Policy) -> int:
    """The size of the summary of long work."""
    return plimsoll.count_tokens(fitted(WORK, WORK_TOTAL // 2, policy).report.summary or "")


def roles(policy: Policy) -> set[str]:
    """Who speaks the summary."""
    messages = fitted(TALK, TOTAL // 2, policy).messages
    return {message["role"] for message in messages if "[Summary of messages" in str(message["content"])}


def frame(policy: Policy) -> str:
    """The first line of the summary as it is sent."""
    (sent,) = [m for m in fitted(TALK, TOTAL // 2, policy).messages if m not in TALK]
    return str(sent["content"]).split("\n", 1)[0]


def arrived(policy: Policy) -> int:
    """The size of the view right after a large result came."""
    with plimsoll.open("x", store="memory:", max_tokens=40_000, policy=policy) as session:
        session.extend(READ)
        return session.status().current_tokens


def compacted_at(policy: Policy) -> list[int]:
    """The sizes at which a long talk is compacted."""
    with plimsoll.open("x", store="memory:", max_tokens=TOTAL // 4, policy=policy) as session:
        for message in TALK:
            session.append(message)
            session.view()
        return [done.tokens_before for done in session.compactions()]


def language(policy: Policy) -> bool:
    """Whether the fixed strings are Chinese."""
    return "的摘要，由程序生成" in str(fitted(TALK, TOTAL // 2, policy).messages)


def shown_items(policy: Policy) -> int:
    """Rows left of a table that was cut."""
    content = next(m["content"] for m in fitted(READ, 4_000, policy).messages if m["role"] == "tool")
    return len(json.loads(content)["items"])


def previews(policy: Policy) -> int:
    """What remains when old bulk leaves."""
    return after(int(WORK_TOTAL / 0.8), policy, WORK)


def model_speaks(policy: Policy) -> str:
    """Which means spoke, with a model there."""
    return fitted(TALK, TOTAL // 2, policy, summarizer=lambda _: "They talked about leases and queues.").report.stage


def model_speaks_late(policy: Policy) -> str:
    """Which means spoke, with a model that fails at first."""
    answers = iter(["", "They talked about leases and queues."])
    return fitted(TALK, TOTAL // 2, policy, summarizer=lambda _: next(answers)).report.stage


def requests(policy: Policy) -> int:
    """How often a model is asked about a long talk."""
    asked: list[int] = []

    def model(request: Any) -> str:
        asked.append(len(request.messages))
        return "They talked about leases and queues."

    fitted(TALK, TOTAL // 2, policy, summarizer=model)
    return len(asked)


def failure(policy: Policy) -> str:
    """Which means spoke, with a model that fails."""
    return fitted(TALK, TOTAL // 2, policy, summarizer=lambda _: "").report.stage


def flushed(policy: Policy) -> int:
    """Memories kept by a compaction."""
    said = [{"role": "user", "content": "I prefer tabs."}, *TALK[1:]]
    with plimsoll.open("x", store="memory:", memory="memory:", max_tokens=TOTAL, policy=policy) as session:
        session.extend(said)
        return session.compact().flushed_memories


def notes_tokens(policy: Policy) -> int:
    """Tokens of what a new session is shown."""
    with plimsoll.open_memory("memory:") as memories:
        memories.add("I prefer tabs.")
        store = memories._store
    with plimsoll.open("x", store="memory:", memory=store, max_tokens=TOTAL, policy=policy) as session:
        return plimsoll.count_tokens(session.view()) if session.view() else 0


def kept_after_failure(policy: Policy) -> int:
    """Messages that stay when the model fails."""
    found = fitted(TALK, TOTAL, dataclasses.replace(policy, fill=False), summarizer=lambda _: "")
    return sum(message in TALK for message in found.messages)


def longest_message(policy: Policy) -> int:
    """What is left of a long answer near the end of a talk."""
    answer = words(random.Random(1), 1_500)
    messages = [*TALK[:78], {"role": "assistant", "content": answer}, *TALK[79:83]]
    found = fitted(messages, int(plimsoll.count_tokens(messages) / 0.86), policy).messages
    return sum(plimsoll.count_tokens([m]) for m in found if str(m["content"]).startswith(answer[:30]))


def model_asked(policy: Policy) -> str | None:
    """The model that a summariser is told to use."""
    asked = []
    plimsoll.fit(
        TALK, max_tokens=TOTAL // 2, policy=policy, summarizer=lambda request: asked.append(request.model) or ""
    )
    return asked[0]


LONG_SYSTEM = [{"role": "system", "content": "Always answer with the number of the rule. " * 150}, *TALK]
"""Talk under a system text of some 1,300 tokens."""


def shown(policy: Policy) -> str:
    """What `plimsoll show` says of the policy of a session."""
    with TemporaryDirectory() as folder, redirect_stdout(StringIO()) as printed:
        with plimsoll.open("x", store=folder, policy=policy) as session:
            session.append(TALK[0])
        assert main(["show", "x", "--store", folder]) == 0
    return printed.getvalue().partition("policy ")[2].partition(", openai-chat")[0]


def assumed_budget(policy: Policy) -> int:
    """The budget where the caller names neither model nor size."""
    return plimsoll.fit(TALK[:3], policy=policy).report.budget


LADDER = policy_named("ladder")
CHANGES: dict[str, tuple[Callable[[Policy], Any], dict[str, Any], Any]] = {
    "name": (shown, {"name": "mine"}, "mine (default of sessions)"),
    "source": (shown, {"source": "a page"}, "ladder (a page)"),
    "lines": (lambda policy: level(TOTAL * 2, policy), {"lines": {"soft": 0.4, "target": 0.2}}, Level.normal),
    "window_tokens": (assumed_budget, {"window_tokens": 9_000, "output_reserve_tokens": 0}, 9_000),
    "output_reserve_tokens": (assumed_budget, {"window_tokens": 9_000, "output_reserve_tokens": 1_000}, 8_000),
    "steps": (lambda policy: fitted(TALK, TOTAL // 2, policy).report.stage, {"steps": ("window",)}, "window"),
    "act_at": (lambda policy: after(int(TOTAL / 0.9), policy), {"act_at": "emergency"}, TOTAL),
    "levels_up": (lambda policy: fitted(TALK, int(TOTAL / 0.75), policy).report.stage, {"levels_up": 1}, "rules"),
    "fill": (lambda policy: after(int(TOTAL / 0.9), policy), {"fill": True}, TOTAL),
    "clear_at_least": (compacted_at, {"clear_at_least": 0}, None),
    "keep_last_messages": (lambda policy: said(TALK, TOTAL, policy), {"keep_last_messages": 4}, 6),
    "keep_last_turns": (lambda policy: said(TALK, TOTAL, policy), {"keep_last_turns": 3}, 8),
    "keep_tokens": (lambda policy: said(TALK, TOTAL, policy) < 14, {"keep_tokens": 600}, True),
    "keep_fraction": (lambda policy: said(TALK, TOTAL, policy), {"keep_fraction": 0.1}, 18),
    "keep_last_messages_min": (
        lambda policy: said(TALK, TOTAL, policy),
        {"keep_tokens": 300, "keep_last_messages_min": 20},
        22,
    ),
    "keep_fraction_after_failure": (
        kept_after_failure,
        {"keep_fraction": 0.2, "keep_fraction_after_failure": 0.1},
        18,
    ),
    "summary_tokens_max": (lambda policy: summary_size(policy) <= 120, {"summary_tokens_max": 120}, True),
    "summary_share": (lambda policy: summary_size(policy) < WORK_TOTAL // 50, {"summary_share": 0.02}, True),
    "summary_role": (roles, {"summary_role": "system"}, {"system"}),
    "summary_frame": (frame, {"summary_frame": "bracketed"}, "[Previous conversation summary]"),
    "language": (language, {"language": "zh"}, True),
    "summary_model": (model_asked, {"summary_model": "small-one"}, "small-one"),
    "use_summarizer": (model_speaks, {"use_summarizer": False}, "rules"),
    "summarizer_attempts": (model_speaks_late, {"summarizer_attempts": 1}, "rules"),
    "summarizer_input_tokens_max": (requests, {"summarizer_input_tokens_max": 3_000}, None),
    "summarizer_requests_max": (requests, {"summarizer_requests_max": 1, "summarizer_input_tokens_max": 3_000}, 1),
    "summarizer_fallback": (failure, {"summarizer_fallback": False}, "window"),
    "flush_memories": (flushed, {"flush_memories": False}, 0),
    "memory_tokens_max": (notes_tokens, {"memory_tokens_max": 0}, 0),
    "tool_result_tokens_max": (lambda policy: arrived(policy) < 700, {"tool_result_tokens_max": 500}, True),
    "message_tokens_max": (lambda policy: longest_message(policy) < 400, {"message_tokens_max": 300}, True),
    "kept_message_tokens_max": (
        lambda policy: plimsoll.count_tokens([fitted(LONG_SYSTEM, 3_000, policy).messages[0]]) < 420,
        {"kept_message_tokens_max": 400},
        True,
    ),
    "result_list_items_max": (lambda policy: shown_items(policy) <= 5, {"result_list_items_max": 5}, True),
    "preview_chars": (previews, {"preview_chars": 200}, None),
}
"""Field -> what is looked at, the change, and what is then seen (None: anything else than before)."""


@pytest.mark.slow
@pytest.mark.spec("W0-11", "W1-24", "W2-01", "W2-03", "W2-06")
@pytest.mark.parametrize("field", CHANGES)
def test_every_field_changes_what_comes_out(field: str) -> None:
    """With the field changed, and nothing else, something else comes out (W0-11, W1-24, W2-01, W2-03, W2-06)."""
    look, change, seen = CHANGES[field]
    other = {name: value for name, value in change.items() if name != field}
    before, now = look(policy_named(LADDER, **other)), look(policy_named(LADDER, **change))

    assert now != before
    assert seen is None or now == seen


def test_no_field_is_forgotten() -> None:
    """Every field of Policy is in the table: none is without effect."""
    assert {field.name for field in dataclasses.fields(Policy)} == {*CHANGES}


@pytest.mark.slow
@pytest.mark.spec("S0-21", "S1-48", "S2-11")
@pytest.mark.parametrize("role", ["user", "system", "assistant"])
@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("bracketed", "[Previous conversation summary]"),
        ("emergency", "[Emergency Summary - "),
        ("chinese", "[以下是之前对话的摘要]"),
    ],
)
def test_a_summary_in_another_frame_is_still_ours(name: Any, header: str, role: Any) -> None:
    """Under the headers of other systems too there is one summary, which the next one goes on from (S0-21, S1-48, S2-11)."""
    policy = Policy.named("ladder", summary_frame=name, summary_role=role)
    view: list[Any] = []
    for turn in turns(5, 60):
        view = fitted([*view, *turn], 12_000, policy).messages
        ours = [message for message in view if str(message["content"]).startswith(header)]
        assert [message["role"] for message in ours] in ([], [role])

    assert len(ours) == 1
    assert "LIMIT-7 at 7." in ours[0]["content"]
    assert fitted(view, 12_000, policy).messages == view


def answer_of(**options: Any) -> Any:
    """What `fit` makes of the work at a quarter of its size."""
    found = plimsoll.fit(WORK, **{"max_tokens": WORK_TOTAL // 4, **options})
    return found.messages, found.system, found.report.to_dict()


TOOL = {
    "type": "function",
    "function": {"name": "read", "parameters": {"type": "object", "properties": {"x": {"type": "string"}}}},
}
OPTIONS: dict[str, dict[str, Any]] = {
    "max_tokens": {"max_tokens": WORK_TOTAL // 5},
    "model": {"model": "claude-sonnet-4-5"},
    "tools": {"tools": [TOOL]},
    "policy": {"policy": "ladder"},
    "summarizer": {"summarizer": lambda _: "An agent read files."},
    "query": {"query": "LIMIT-7 request 7"},
    "format": {"format": "openai-responses"},
    "system": {"system": "Speak in verse."},
    "counter": {"counter": len},
}


@pytest.mark.slow
@pytest.mark.spec("W0-11")
@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_of_fit_changes_what_comes_out(option: str) -> None:
    """Each option has an effect, the same in `plan` (W0-11)."""
    plain = answer_of()
    if option == "format":
        with pytest.raises(plimsoll.errors.FormatError):
            answer_of(**OPTIONS[option])
        return
    changed = answer_of(**OPTIONS[option])
    planned = plimsoll.plan(WORK, **{"max_tokens": WORK_TOTAL // 4, **OPTIONS[option]}).apply()

    assert changed != plain
    assert (planned.messages, planned.system, planned.report.to_dict()) == changed


def test_no_option_is_forgotten() -> None:
    """`fit`, `afit` and `plan` take the same options, and each is in the table."""
    options = [
        list(inspect.signature(function).parameters) for function in (plimsoll.fit, plimsoll.afit, plimsoll.plan)
    ]

    assert options[0] == options[1] == options[2]
    assert set(options[0]) == {"messages", *OPTIONS}


@pytest.mark.slow
@pytest.mark.spec("S0-01", "S2-20", "W2-08")
def test_a_policy_may_be_some_of_its_fields() -> None:
    """A mapping replaces fields of the default of each entry, or of the preset it names; all others stay."""
    some = {"keep_last_turns": 2, "lines": {"soft": 0.5, "target": 0.3}}
    for name, call in {"fill": plimsoll.fit, "five-turns": plimsoll.window}.items():
        by_name = call(WORK, max_tokens=WORK_TOTAL // 3, policy=Policy.named(name, **some))
        assert call(WORK, max_tokens=WORK_TOTAL // 3, policy=some).to_dict() == by_name.to_dict()
        assert call(WORK, max_tokens=WORK_TOTAL // 3, policy=Policy.named("ladder").to_dict()).to_dict() == (
            call(WORK, max_tokens=WORK_TOTAL // 3, policy="ladder").to_dict()
        )
    assert plimsoll.check(TALK, max_tokens=TOTAL * 2, policy=some).level is Level.normal
    named = plimsoll.fit(WORK, max_tokens=WORK_TOTAL, policy={"preset": "ladder", "strategy": "sliding"})
    assert named.report.stage == "window"
    for wrong in ({"keep_last_tuns": 3}, {3: 4}, {"preset": "laddr"}, {"keep_last_turns": "3"}, {"lines": {"sof": 1}}):
        with pytest.raises(plimsoll.errors.SettingError):
            plimsoll.fit(WORK, max_tokens=WORK_TOTAL, policy=wrong)


@pytest.mark.spec("S0-01", "S0-03")
def test_a_policy_knows_its_strategy() -> None:
    """The name of the order of steps can be read back, also from a policy that was stored."""
    for name in ("adaptive", "summary", "pruning", "sliding", "aggressive"):
        made = Policy.named("ladder", strategy=name)
        assert Policy.from_dict(made.to_dict()).strategy == made.strategy == name
    assert Policy(steps=("offload",)).strategy is None


@pytest.mark.slow
def test_a_query_keeps_what_answers_it() -> None:
    """An old exchange about what is asked next stays word for word; without the query it leaves."""
    needle = {"role": "assistant", "content": "The zanzibar endpoint wants header X-Quorum: 17 on every call."}
    messages = [*TALK[:30], {"role": "user", "content": "How about zanzibar?"}, needle, *TALK[31:]]
    plain = plimsoll.fit(messages, max_tokens=TOTAL // 3)
    asked = plimsoll.fit(messages, max_tokens=TOTAL // 3, query="what header does zanzibar want?")

    assert needle in asked.messages
    assert needle not in plain.messages
    assert any("answers what is asked" in action.reason for action in asked.report.actions)


@pytest.mark.spec("W0-21", "WE-06")
def test_tools_count() -> None:
    """The tools' schemas are taken off the budget: by an independent count all of it still fits (W0-21, WE-06)."""
    tools = [TOOL] * 40
    found = plimsoll.fit(WORK, max_tokens=8_000, tools=tools)

    assert proof.least_tokens(found.messages, tools) <= 8_000
    assert found.report.budget == 8_000 - (plimsoll.count_tokens([], tools=tools, format="openai-chat") - 3)


@pytest.mark.spec("W0-20")
def test_the_window_of_the_model_is_the_budget() -> None:
    """Without a size the model's window less its reply is what there is (W0-20)."""
    assert plimsoll.fit(TALK, model="gpt-4o").report.budget == 128_000 - 16_384
    assert plimsoll.fit(TALK, model="claude-sonnet-4-5").report.budget > 100_000
