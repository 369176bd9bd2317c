"""Policies and their presets."""

from __future__ import annotations

import json
import math

import pytest

import plimsoll
from plimsoll.compaction.levels import check_view
from plimsoll.errors import SettingError
from plimsoll.policy.budget import Level, LoadLines
from plimsoll.policy.policy import STEP_LEVELS, Policy, policy_named
from plimsoll.policy.presets import PRESETS

LADDER = Policy.named("ladder")


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_found_by_name_and_survive_json(name):
    """Each preset is itself by name, and equal to itself after a trip through JSON."""
    policy = policy_named(name)

    assert policy is Policy.named(name)
    assert policy.name == name
    assert Policy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy


@pytest.mark.parametrize("name", PRESETS)
@pytest.mark.parametrize("budget", [1, 7, 100, 3_000, 128_000, 2_000_000])
def test_presets_work_in_any_budget(name, budget):
    """No preset has lines that fall out of order in a small or a huge budget."""
    lines = Policy.named(name).lines.resolve(budget)

    assert lines.target < lines.soft <= lines.hard <= budget


@pytest.mark.parametrize(
    ("name", "sizes", "keep", "summary", "asks"),
    [
        ("small-window", (10_000, 2_000, 5_000, 8_000), 4, 400, False),
        ("medium-window", (24_000, 4_000, 15_000, 20_000), 6, 800, False),
        ("large-window", (36_000, 6_000, 25_000, 30_000), 10, 1_200, True),
    ],
)
def test_two_line_presets_have_their_numbers(name, sizes, keep, summary, asks):
    """The presets with a soft and a hard line carry their document's numbers, and advise at the soft one."""
    window, reserve, soft, hard = sizes
    policy = Policy.named(name)
    lines = policy.lines.resolve(policy.budget().tokens)

    assert policy.budget().tokens == window - reserve
    assert (lines.soft, lines.hard) == (soft, hard)
    assert (policy.keep_last_messages, policy.summary_tokens_max, policy.use_summarizer) == (keep, summary, asks)
    assert policy.summarizer_fallback
    assert not check_view(soft, policy, lines.budget).should_compact
    assert check_view(soft, policy, lines.budget).urgency == "soft"
    assert check_view(hard, policy, lines.budget).should_compact
    assert check_view(hard, policy, lines.budget).urgency == "hard"


@pytest.mark.spec("S0-02", "S0-29")
def test_graded_preset_has_its_numbers():
    """The graded preset leaves 192,000 tokens and marks 70, 85 and 95 hundredths of them."""
    policy = Policy.named("graded-200k")
    lines = policy.lines.resolve(policy.budget().tokens)

    assert policy.budget().tokens == 192_000
    assert (lines.soft, lines.warn, lines.hard, lines.target) == (134_400, 163_200, 182_400, 96_000)


@pytest.mark.spec("S1-42", "S1-13", "S1-52")
def test_threshold_preset_takes_the_smaller_of_ratio_and_cap():
    """It acts at 0.8 of the budget, and at 100,000 tokens where that is less."""
    policy = Policy.named("threshold-80")

    assert [policy.acts_at(tokens, 32_000) for tokens in (25_599, 25_600)] == [False, True]
    assert [policy.acts_at(tokens, 1_000_000) for tokens in (99_999, 100_000)] == [False, True]
    assert policy.keep_fraction == 0.2


def test_five_turns_preset_has_its_numbers():
    """Five turns, 4,000 tokens, 800 a message, results of 1,000 tokens, 20 items and 500 characters."""
    policy = Policy.named("five-turns")

    assert (policy.keep_last_turns, policy.keep_tokens, policy.message_tokens_max) == (5, 4_000, 800)
    assert (policy.tool_result_tokens_max, policy.result_list_items_max, policy.preview_chars) == (1_000, 20, 500)
    assert policy.budget().tokens == 4_000


@pytest.mark.spec("W2-08")
def test_overrides_merge_over_the_preset():
    """A partial override changes what it names and keeps everything else."""
    policy = policy_named("medium-window", lines={"soft": 12_000}, keep_last_messages=10)
    preset = Policy.named("medium-window")

    assert policy.lines.soft == 12_000
    assert policy.lines.hard == preset.lines.hard
    assert policy.keep_last_messages == 10
    assert policy.summary_tokens_max == preset.summary_tokens_max
    assert preset.keep_last_messages == 6


@pytest.mark.spec("S0-03", "S2-20")
def test_a_policy_by_name_is_public():
    """`Policy.named` is the same from the public class: presets, partial overrides, strategies, and errors (S0-03, S2-20)."""
    policy = plimsoll.Policy.named("medium-window", lines={"soft": 12_000}, keep_last_messages=10, strategy="sliding")

    assert policy == policy_named("medium-window", lines={"soft": 12_000}, keep_last_messages=10, steps=("window",))
    with pytest.raises(SettingError):
        plimsoll.Policy.named("medium-widow")


def test_overrides_apply_to_a_policy_too():
    """A policy that is no preset takes overrides the same way, and none leave it as it is."""
    policy = Policy(name="mine", keep_last_turns=3)

    assert policy_named(policy) is policy
    assert policy_named(policy, fill=True).keep_last_turns == 3


@pytest.mark.spec("S0-34")
@pytest.mark.parametrize(
    ("strategy", "steps", "levels_up"),
    [
        ("adaptive", ("collapse", "offload", "clip", "summarise", "ledger"), 0),
        ("summary", ("summarise", "collapse", "offload", "clip", "ledger"), 0),
        ("pruning", ("collapse", "offload", "clip", "window"), 0),
        ("sliding", ("window",), 0),
        ("aggressive", ("collapse", "offload", "clip", "summarise", "ledger"), 1),
    ],
)
def test_a_strategy_is_an_order_of_steps(strategy, steps, levels_up):
    """Each strategy changes which steps run, in which order, or from which level."""
    policy = policy_named("ladder", strategy=strategy)

    assert (policy.steps, policy.levels_up) == (steps, levels_up)


@pytest.mark.parametrize(
    ("levels_up", "level", "steps"),
    [
        (0, Level.none, ()),
        (0, Level.normal, ("collapse", "offload")),
        (0, Level.aggressive, ("collapse", "offload", "clip", "summarise")),
        (0, Level.emergency, ("collapse", "offload", "clip", "summarise", "ledger")),
        (1, Level.none, ()),
        (1, Level.normal, ("collapse", "offload", "clip", "summarise")),
        (3, Level.normal, ("collapse", "offload", "clip", "summarise", "ledger")),
    ],
)
def test_steps_follow_the_level(levels_up, level, steps):
    """A level allows its own steps and the cheaper ones; going levels up allows more, and nothing at level none."""
    assert policy_named("ladder", levels_up=levels_up).steps_at(level) == steps


def test_normal_steps_lose_nothing():
    """Only reversible steps are allowed at level normal."""
    assert {step for step, level in STEP_LEVELS.items() if level == Level.normal} == {"collapse", "offload"}


def test_filling_acts_only_over_the_budget():
    """A policy that fills uses the whole budget: exactly full is fine, one more is not, and it comes down to the budget."""
    fill = Policy.named("fill")

    assert [fill.acts_at(tokens, 1_000) for tokens in (999, 1_000, 1_001)] == [False, False, True]
    assert fill.target_tokens(1_000) == 1_000
    assert LADDER.target_tokens(1_000) == 500
    assert check_view(990, fill, 1_000).threshold == 1_000
    assert not check_view(990, fill, 1_000).should_compact


@pytest.mark.parametrize(
    ("tokens", "new_tokens", "due"),
    [(700, None, True), (700, 399, False), (700, 400, True), (949, 399, False), (950, 0, True), (699, None, False)],
)
def test_a_compaction_waits_for_enough_that_is_new(tokens, new_tokens, due):
    """Between soft and hard a compaction waits until 40 hundredths of the budget are new; past hard it does not."""
    assert check_view(tokens, LADDER, 1_000, new_tokens=new_tokens).should_compact is due


def test_a_level_whose_steps_are_all_excluded_is_not_due():
    """Where no step is allowed at a level, nothing is reported as due."""
    sliding = policy_named("ladder", strategy="sliding")

    assert [check_view(tokens, sliding, 1_000).should_compact for tokens in (700, 850)] == [False, True]


def test_limits_take_the_smaller_of_share_and_number():
    """Caps given as a share and a number hold the smaller; None caps nothing."""
    policy = Policy(summary_tokens_max=800, tool_result_tokens_max=(0.1, 500), message_tokens_max=0.25)

    assert [policy.summary_limit(budget) for budget in (1_000, 100_000)] == [100, 800]
    assert [policy.tool_result_limit(budget) for budget in (1_000, 100_000)] == [100, 500]
    assert policy.message_limit(1_000) == 250
    assert Policy().tool_result_limit(1_000) is None
    assert Policy().message_limit(1_000) is None
    assert Policy().summary_limit(1_000) == 100


@pytest.mark.parametrize(
    ("cap", "capped"),
    [
        ({}, False),
        ({"keep_last_messages": 1}, True),
        ({"keep_last_turns": 1}, True),
        ({"keep_tokens": 0.5}, True),
        ({"keep_fraction": 0.5}, True),
    ],
)
def test_a_policy_knows_whether_it_caps_the_tail(cap, capped):
    """Any of the four caps bounds the tail."""
    assert Policy(**cap).caps_tail is capped


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", None),
        ("source", 3),
        ("lines", 0.5),
        ("lines", {"soft": 2.0}),
        ("lines", {"medium": 0.5}),
        ("window_tokens", 0),
        ("window_tokens", True),
        ("output_reserve_tokens", -1),
        ("steps", "collapse"),
        ("steps", ("collapse", "collapse")),
        ("steps", ("explode",)),
        ("steps", 3),
        ("act_at", "panic"),
        ("act_at", 1),
        ("levels_up", 4),
        ("levels_up", -1),
        ("fill", 1),
        ("clear_at_least", 1.1),
        ("clear_at_least", math.nan),
        ("keep_last_messages", 0),
        ("keep_last_turns", 0),
        ("keep_last_turns", 2.0),
        ("keep_tokens", 0),
        ("keep_fraction", 0.0),
        ("keep_fraction", 1.5),
        ("keep_fraction_after_failure", "all"),
        ("summary_tokens_max", 0),
        ("summary_share", None),
        ("summary_share", 0),
        ("summary_role", "tool"),
        ("summary_role", ["user"]),
        ("summary_frame", "gilded"),
        ("language", "fr"),
        ("use_summarizer", None),
        ("summarizer_fallback", "yes"),
        ("summarizer_attempts", 0),
        ("summarizer_attempts", True),
        ("tool_result_tokens_max", -1),
        ("tool_result_tokens_max", math.nan),
        ("message_tokens_max", "800"),
        ("result_list_items_max", 0),
        ("preview_chars", -1),
        ("colour", "red"),
        ("strategy", "chaos"),
    ],
)
def test_impossible_values_name_their_field(field, value):
    """Every field refuses what it cannot be, by its name or the mark's."""
    with pytest.raises(SettingError) as raised:
        policy_named("ladder", **{field: value})

    assert raised.value.field in ({field, *value} if isinstance(value, dict) else {field})


@pytest.mark.parametrize("name", ["laddr", "", None, 3, ["ladder"], "x" * 10_000, "\ud800"])
def test_unknown_presets_list_the_known(name):
    """A name that is no preset is refused with the names there are, shortly."""
    with pytest.raises(SettingError) as raised:
        policy_named(name)

    assert "ladder, fill" in str(raised.value)
    assert len(str(raised.value)) < 400
    assert str(raised.value).isascii()


def test_unknown_fields_in_stored_policies_are_refused():
    """A stored policy with a field of another version is refused, not half understood."""
    with pytest.raises(SettingError) as raised:
        Policy.from_dict({"keep_everything": True})

    assert raised.value.field == "keep_everything"
    with pytest.raises(SettingError):
        Policy.from_dict([("fill", True)])


def test_budget_needs_a_window():
    """Without a window of its own a policy needs one; with it the reserve and the tools are taken off."""
    with pytest.raises(SettingError) as raised:
        LADDER.budget()

    assert raised.value.field == "window_tokens"
    assert Policy(output_reserve_tokens=100).budget(1_000, tools_tokens=50).tokens == 850


def test_lines_may_be_given_whole():
    """LoadLines replace the preset's."""
    lines = LoadLines(soft=0.5, target=0.2)

    assert policy_named("ladder", lines=lines).lines is lines


def test_an_unknown_field_is_told_what_was_meant() -> None:
    """A slip of the pen gets the fields it resembles, and what resembles none all there are."""
    with pytest.raises(SettingError, match=r"keep_last: no such option; did you mean keep_[a-z_]+ or keep_[a-z_]+"):
        policy_named("ladder", keep_last=3)
    with pytest.raises(SettingError, match=r"known: act_at, .*window_tokens"):
        policy_named("ladder", zzz=3)
