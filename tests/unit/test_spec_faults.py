"""Every fault that was found in the founding documents, and the test of ours that would catch it.

A fault without a test fails here; so does a test named here that is gone. `LATER` holds those whose feature is not built yet, with
the reason; they leave it as it is built.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

FAULTS = {
    # the estimators
    "WE-01": "unit/tokens/test_estimate.py::*",
    "WE-02": "property/test_tokens.py::test_the_estimate_is_additive",
    "WE-03": "property/test_tokens.py::test_the_estimate_is_monotone",
    "WE-04": "unit/tokens/test_estimate.py::*",
    "WE-05": "unit/tokens/test_framing.py::test_a_request_is_the_sum_and_the_reply",
    "WE-06": "unit/tokens/test_framing.py::test_every_value_counts",
    "WE-07": "unit/tokens/test_exact.py::*",
    "WE-08": "unit/tokens/test_exact.py::*",
    "WE-09": "unit/tokens/test_counter.py::*",
    "WE-10": "unit/session/test_cost.py::test_a_quiet_turn_costs_what_is_new",
    "WE-11": "unit/tokens/test_calibrate.py::*",
    # the first document, on levels
    "W0-01": "unit/compaction/test_ladder.py::test_each_load_has_its_level",
    "W0-02": "unit/compaction/test_ladder.py::test_one_percent_over_is_no_cliff",
    "W0-03": "unit/test_oneshot.py::test_sixty_system_messages_fit",
    "W0-04": "unit/compaction/test_ladder.py::test_an_emergency_keeps_the_newest_request_whole",
    "W0-05": "unit/compaction/test_ladder.py::test_a_caller_without_a_session_can_go_on_from_the_view",
    "W0-06": "unit/test_oneshot.py::test_huge_arguments_are_cut_and_stay_json",
    "W0-07": "property/test_exchange.py::test_any_part_of_a_history_by_exchanges_is_valid",
    "W0-08": "unit/cutting/test_cut_text.py::test_markers_never_stack",
    "W0-09": "unit/test_oneshot.py::test_a_budget_below_the_frame_is_refused",
    "W0-10": "unit/budget/test_budget.py::test_budget_with_nothing_left_names_the_field",
    "W0-11": "unit/compaction/test_policies.py::test_every_field_changes_what_comes_out",
    "W0-12": "unit/budget/test_budget.py::test_stats_count_each_compaction_once",
    "W0-13": "unit/compaction/test_ladder.py::test_normal_brings_work_down_but_has_nothing_for_talk",
    "W0-14": "unit/compaction/test_ladder.py::test_aggressive_summarises_and_keeps_a_tail",
    "W0-15": "property/test_fit.py::test_fit_keeps_its_promises",
    "W0-16": "unit/windows/test_windows.py::test_a_budget_below_the_frame_names_what_does_not_fit",
    "W0-17": "unit/compaction/test_summarisers.py::test_a_failure_leaves_the_rules_to_speak",
    "W0-18": "unit/windows/test_windows.py::test_system_text_stays_where_it_stands",
    "W0-19": "unit/test_oneshot.py::test_emergencies_keep_goals_files_and_errors",
    "W0-20": "unit/tokens/test_registry.py::test_names_are_found",
    "W0-21": "unit/session/test_plans.py::test_can_append_knows_what_a_message_costs",
    # the second, on sessions
    "W1-01": "unit/session/test_agent_loop.py::test_generated_work",
    "W1-02": "unit/session/test_agent_loop.py::test_generated_work",
    "W1-03": "property/test_session.py::reopen",
    "W1-04": "property/test_session.py::reopen",
    "W1-05": "property/test_session.py::nothing_is_lost",
    "W1-06": "property/test_exchange.py::test_arranging_makes_any_history_valid",
    "W1-07": "fault/test_killed_writers.py::test_killed_150_times",
    "W1-08": "unit/session/test_meanwhile.py::test_what_is_said_meanwhile_is_in_the_view",
    "W1-09": "unit/compaction/test_summarisers.py::test_a_failure_leaves_the_rules_to_speak",
    "W1-10": "unit/compaction/test_summarisers.py::test_a_session_reports_the_failure",
    "W1-11": "property/test_exchange.py::test_arranging_makes_any_history_valid",
    "W1-12": "property/test_fit.py::test_fit_keeps_its_promises",
    "W1-13": "unit/summary/test_reread.py::test_no_request_is_lost_without_a_session",
    "W1-14": "unit/session/test_agent_loop.py::test_generated_work",
    "W1-15": "unit/compaction/test_summarisers.py::test_the_request_says_what_to_write",
    "W1-16": "unit/compaction/test_summarisers.py::test_a_failure_leaves_the_rules_to_speak",
    "W1-17": "unit/session/test_plans.py::test_a_message_stays_or_is_summarised_and_keeps_its_name",
    "W1-18": "fault/test_log_damage.py::test_cut_at_every_byte",
    "W1-19": "fault/test_log_damage.py::test_append_after_a_cut_is_not_glued_to_it",
    "W1-20": "fault/test_full_disks.py::test_memory_has_a_cap_and_drops_nothing",
    "W1-21": "security/test_names.py::test_projects_never_share_a_folder",
    "W1-22": "security/test_names.py::test_hostile_names_reach_nothing",
    "W1-23": "property/test_session.py::reopen",
    "W1-24": "unit/session/test_options.py::test_no_option_is_forgotten",
    "W1-25": "unit/session_context/test_context.py::test_kept_after_resuming",
    "W1-26": "unit/store/test_cache.py::test_least_recently_used_leaves_even_within_one_tick",
    "W1-27": "unit/summary/test_ledger.py::test_paths_in_commands_are_exact",
    "W1-28": "security/test_mentioned_paths.py::test_nothing_opens_what_a_message_names",
    "W1-29": "unit/summary/test_ledger.py::test_every_way_of_writing_counts_as_modified",
    "W1-30": "unit/session_context/test_context.py::test_no_message_asks_the_project",
    "W1-31": "contract/test_stores.py::test_sessions_are_listed_with_what_they_hold",
    "W1-32": "unit/session/test_cost.py::test_opening_reads_back_to_the_last_compaction",
    "W1-33": "unit/compaction/test_summarisers.py::test_a_failure_leaves_the_rules_to_speak",
    "W1-34": "property/test_session.py::reopen",
    # the third, on summaries
    "W2-01": "unit/compaction/test_summarisers.py::test_use_summarizer",
    "W2-02": "unit/test_peer_failures.py::test_a_big_user_turn_or_return",
    "W2-03": "unit/test_oneshot.py::test_impossible_budgets_are_refused",
    "W2-04": "property/test_exchange.py::test_any_part_of_a_history_by_exchanges_is_valid",
    "W2-05": "unit/summary/test_reread.py::test_no_request_is_lost_without_a_session",
    "W2-06": "unit/summary/test_rules.py::test_a_summary_is_never_over_its_budget",
    "W2-08": "unit/policy/test_policy.py::test_overrides_merge_over_the_preset",
    "W2-09": "unit/budget/test_budget.py::test_check_names_the_line_reached_or_the_next",
    "W2-10": "unit/session/test_plans.py::test_rollback_is_exact_and_can_be_undone",
    "W2-11": "unit/session/test_agent_loop.py::test_generated_work",
    "W2-12": "unit/session/test_plans.py::test_nothing_to_do_is_no_compaction",
    "W2-13": "unit/test_oneshot.py::test_a_summary_can_be_in_chinese",
    # the fourth, on formats, windows and results
    "W3-01": "unit/formats/test_convert.py::test_users_and_system_messages_stay",
    "W3-02": "unit/formats/test_convert.py::test_there_and_back_is_the_same",
    "W3-03": "unit/formats/test_convert.py::test_errors_are_kept",
    "W3-04": "unit/formats/test_decode.py::test_falsy_outputs_are_kept",
    "W3-05": "unit/formats/test_convert.py::test_text_tool_text_keeps_its_order",
    "W3-06": "unit/windows/test_windows.py::test_long_messages_are_cut_but_never_the_newest_request",
    "W3-07": "unit/cutting/test_cut_text.py::test_the_marker_is_inside_the_limit",
    "W3-08": "unit/test_oneshot.py::test_a_long_newest_request_keeps_both_ends",
    "W3-09": "unit/windows/test_windows.py::test_tool_results_count_by_their_content",
    "W3-10": "unit/test_oneshot.py::test_every_message_between_summary_and_tail_is_accounted_for",
    "W3-11": "unit/windows/test_windows.py::test_messages_a_summary_covers_are_not_excluded",
    "W3-12": "unit/test_oneshot.py::test_the_newest_request_is_not_clipped",
    "W3-13": "unit/tool_results/test_shrink_result.py::test_what_fits_is_left_alone",
    "W3-14": "unit/tool_results/test_shrink_result.py::test_fields_beside_a_list_stay",
    "W3-15": "unit/tool_results/test_render_result.py::test_every_value_has_a_text",
    "W3-16": "unit/tool_results/test_shrink_result.py::test_searches_hear_every_file",
    "W3-18": "unit/budget/test_token_budget.py::test_amounts_that_are_no_amounts_are_refused",
    "W3-19": "unit/tool_results/test_shrink_result.py::test_forged_notes_do_not_pass_for_ours",
}
"""Fault -> file and test; `*` where the file's docstrings name the fault themselves."""

LATER = {
    "W2-07": "the memory is not built yet",
    "W3-17": "the model's own tools over a store are being built",
    "W3-20": "offloading into a store is being built",
}

COUNTS = {"WE": 11, "W0": 21, "W1": 34, "W2": 13, "W3": 20}


@cache
def names_in(path: Path) -> frozenset[str]:
    """Every function of a test file."""
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_fault_is_named() -> None:
    """The lists hold each number once, and no other."""
    numbers = {f"{kind}-{number:02}" for kind, count in COUNTS.items() for number in range(1, count + 1)}

    assert set(FAULTS) | set(LATER) == numbers
    assert not set(FAULTS) & set(LATER)


@pytest.mark.parametrize("fault", FAULTS)
def test_the_test_that_catches_a_fault_is_there(fault: str) -> None:
    """The file is there and has the test."""
    file, _, name = FAULTS[fault].partition("::")
    names = names_in(TESTS / file)

    assert name in names or (name == "*" and fault in (TESTS / file).read_text("utf-8"))
