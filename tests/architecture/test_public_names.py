"""The public names: what `plimsoll` exports is exactly what is promised."""

from __future__ import annotations

import importlib
import inspect
import types
from importlib.metadata import version

import pytest

import plimsoll

FUNCTIONS = {
    "afit": "messages *",
    "aopen": "name",
    "archive": "name store",
    "check": "messages * max_tokens model tools policy",
    "convert": "messages * to format",
    "count_tokens": "text_or_messages * model tools",
    "cut": "text max_tokens * keep marker language model",
    "delete": "name store",
    "discover": "",
    "evaluate": "sources * against share cut model policy",
    "files_mentioned": "messages * limit format",
    "fit": "messages * max_tokens model tools policy summarizer query format",
    "grade_sheets": "folder",
    "import_file": "source * name store update",
    "import_name": "path",
    "inspect": "source * max_tokens model tools policy format label",
    "load_file": "source",
    "loss_report": "session compaction_id",
    "measure": "source * model tools format label",
    "model_summarizer": "model * client base_url timeout_s stream",
    "open": "name * store model max_tokens policy tools summarizer",
    "open_memory": "store * project user_id everyone",
    "open_store": "spec * durability",
    "plan": "messages * max_tokens model tools policy summarizer query format",
    "preload": "model",
    "read_files": "files * root lines_max",
    "recall_sessions": "query * store sessions max_tokens limit order role tool before after",
    "repair": "name store * into copy_name",
    "restore": "name store",
    "session_of": "client",
    "sessions": "store * archived agent_id",
    "shrink": "tool_name result * max_tokens store list_items_max preview_chars",
    "token_counter": "model",
    "validate": "messages * format",
    "verify": "name store",
    "window": "messages * start_seq max_tokens model tools policy keep_system format",
    "write_sheets": "evaluation folder * questions_max",
    "with_files": "summarizer * root limit lines_max",
    "wrap": "client * name store model max_tokens policy summarizer",
}
"""Name and parameters in order; a parameter here keeps its name for ever, more may follow it. `*` begins the keyword-only ones."""

CLASSES = {
    "Budget": "",
    "Fitted": "messages origins report",
    "LoadLines": "",
    "Memories": "add search list get forget notes where scopes close __enter__ __exit__",
    "Offloads": "put get read close",
    "Plan": "actions summary with_summary apply",
    "Policy": "named from_dict to_dict",
    "Session": (
        "append extend view sync sync_async aappend aextend aview aclose memory flush_memories aflush_memories check can_append preview compact acompact compactions rollback history recall read tools "
        "call_tool pin unpin record_usage fork stats status export update messages message usage name where model policy options message_count history_count measure inspect not_exportable close __enter__ __exit__ __aenter__ __aexit__"
    ),
    "Shrunk": "text reference tokens_before tokens_after",
    "TokenBudget": "allocate release remaining breakdown",
    "Windowed": "messages positions origins sizes tokens budget truncated_count excluded_count covered_count last_included holes trimmed to_dict",
}
"""Name and the members that callers may rely on."""

RETURNED = {
    "AskedConversation": "name cut messages tokens probes",
    "BlindResult": "missing means answers",
    "Evaluation": "scores conversations outcomes share skipped probes to_dict",
    "Outcome": "way conversation text tokens budget_tokens by_kind needed_next time_s error total",
    "Probe": "kind question answer position used_at to_dict",
    "ProbeCounts": "kept recalled lost total kept_share found_share",
    "WayScore": "way kept kept_interval found found_interval needed_next identifier_precision tokens_mean over_budget failed by_kind",
    "Action": "decision first last what reason tokens_before tokens_after references",
    "Check": "should_compact urgency level current_tokens threshold recommendation",
    "Compaction": "flushed_memories id at trigger level stage tokens_before tokens_after summary covers lost",
    "ContextLayers": "",
    "Conversation": "messages format system tools model findings view",
    "Converted": "messages system losses",
    "Cut": "text tokens removed_chars removed_tokens",
    "Damage": "",
    "Exported": "lines data losses path backup",
    "FileContent": "path content cut problem to_dict",
    "FileMention": "path mentions last_mentioned modified to_dict",
    "Filter": "",
    "HistoryMessage": "id message at_ms state",
    "Finding": "kind detail line",
    "Hit": "text reference session",
    "Inspection": "measure budget_tokens level lines plan groups html to_dict",
    "Level": "none normal aggressive emergency",
    "Loss": "",
    "LossReport": "compaction left by_kind missed total to_dict",
    "Measure": "label format model counter exact window_tokens weights usage to_dict",
    "Memory": "id text kind by scope origins confidence importance time_ms hits superseded_by to_dict",
    "MemoryOrigin": "time_ms session message tool",
    "MemoryStore": "where exclusive memories put delete search read_to set_read_to close",
    "Repaired": "name records lost blobs_lost",
    "Report": "tokens_before tokens_after messages_before messages_kept budget level actions summary stage lost to_dict",
    "SessionFile": "path tool session_id modified",
    "SessionInfo": "name",
    "Stats": "to_dict",
    "Status": "",
    "Storage": "",
    "Store": "",
    "SummaryRequest": "messages previous tokens_max language focus prompt with_files",
    "TokenCounter": "name exact count upper",
    "Transcript": "tool format system findings compactions view",
    "Usage": "",
    "Verified": "ok records messages damage",
    "View": "origins",
    "Violation": "",
}
"""Values that public calls return or take, for annotations, and the members that callers may rely on."""

MODULES = {"errors"}
OWN_IMPORTS = {"annotations", "import_module", "Any", "TYPE_CHECKING"}
"""What the package needs to export its names late; no promise."""

EXPORTED = {*FUNCTIONS, *CLASSES, *RETURNED, *MODULES}


def test_exports_are_the_promised_names():
    """`plimsoll.__all__` is the tables above, but for `open`, which would replace the built-in one."""
    assert {*plimsoll.__all__, "open"} == EXPORTED
    assert "open" not in plimsoll.__all__
    assert set(dir(plimsoll)) >= EXPORTED


def test_a_prompt_completes_public_names_alone():
    """What a REPL offers after `plimsoll.` is what may be used, with the version that is installed."""
    assert {name for name in dir(plimsoll) if not name.startswith("_")} == EXPORTED
    assert plimsoll.__version__ == version("plimsoll-context")


def test_nothing_else_is_public():
    """Besides its submodules, the package has no public attribute that it does not export."""
    extra = [
        name
        for name, value in vars(plimsoll).items()
        if not name.startswith("_") and name not in EXPORTED | OWN_IMPORTS and not isinstance(value, types.ModuleType)
    ]

    assert extra == []


@pytest.mark.parametrize(("name", "parameters"), FUNCTIONS.items())
def test_parameters_keep_their_names(name, parameters):
    """A public function has the promised parameters, in order and of the promised kind."""
    positional, _, keyword = (part.split() for part in parameters.partition("*"))
    found = inspect.signature(getattr(plimsoll, name)).parameters
    by_keyword = [key for key, parameter in found.items() if parameter.kind is inspect.Parameter.KEYWORD_ONLY]

    assert positional == list(found)[: len(positional)]
    assert set(keyword) <= set(by_keyword)


def pairs(table):
    """Each name of a table with each of its members."""
    return [(owner, member) for owner, members in table.items() for member in members.split()]


def has(cls, member):
    """Whether a class has a member, or declares it as a field."""
    return hasattr(cls, member) or any(member in inspect.get_annotations(base) for base in cls.__mro__)


@pytest.mark.slow
@pytest.mark.parametrize(("owner", "member"), pairs(CLASSES | RETURNED))
def test_members_exist(owner, member):
    """A public class has the promised member."""
    assert has(getattr(plimsoll, owner), member)


@pytest.mark.parametrize("name", sorted(EXPORTED))
def test_public_names_are_documented(name):
    """Every public name explains itself."""
    assert (inspect.getdoc(getattr(plimsoll, name)) or "").strip()


def test_errors_have_one_root():
    """Every exception in plimsoll.errors that can be raised is a PlimsollError; warnings are warnings."""
    errors = importlib.import_module("plimsoll.errors")
    found = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, BaseException)]

    assert [cls for cls in found if not issubclass(cls, (errors.PlimsollError, Warning))] == []
