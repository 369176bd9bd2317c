"""Plimsoll keeps an LLM agent's conversation inside the model's context window: it always fits, nothing is lost.

The public names. Each is imported when first used, so that importing the package is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from plimsoll.formats.provenance import use_key as _use_key

if TYPE_CHECKING:
    __version__: str

    from plimsoll import errors as errors
    from plimsoll.api.check import check as check
    from plimsoll.api.evaluation.blind import BlindResult as BlindResult
    from plimsoll.api.evaluation.blind import grade_sheets as grade_sheets
    from plimsoll.api.evaluation.blind import write_sheets as write_sheets
    from plimsoll.api.evaluation.evaluate import evaluate as evaluate
    from plimsoll.api.evaluation.losses import LossReport as LossReport
    from plimsoll.api.evaluation.losses import loss_report as loss_report
    from plimsoll.api.evaluation.values import AskedConversation as AskedConversation
    from plimsoll.api.evaluation.values import Evaluation as Evaluation
    from plimsoll.api.evaluation.values import Outcome as Outcome
    from plimsoll.api.evaluation.values import Probe as Probe
    from plimsoll.api.evaluation.values import ProbeCounts as ProbeCounts
    from plimsoll.api.evaluation.values import WayScore as WayScore
    from plimsoll.api.files import files_mentioned as files_mentioned
    from plimsoll.api.files import read_files as read_files
    from plimsoll.api.files import with_files as with_files
    from plimsoll.api.fit import afit as afit
    from plimsoll.api.fit import count_tokens as count_tokens
    from plimsoll.api.fit import fit as fit
    from plimsoll.api.fit import plan as plan
    from plimsoll.api.inspect import inspect as inspect
    from plimsoll.api.inspect import measure as measure
    from plimsoll.api.inspect import token_counter as token_counter
    from plimsoll.api.model_summarizer import model_summarizer as model_summarizer
    from plimsoll.api.offloads import Offloads as Offloads
    from plimsoll.api.preloading import preload as preload
    from plimsoll.api.shrink import Shrunk as Shrunk
    from plimsoll.api.shrink import cut as cut
    from plimsoll.api.shrink import shrink as shrink
    from plimsoll.api.window import Windowed as Windowed
    from plimsoll.api.window import window as window
    from plimsoll.compaction.plan import Action as Action
    from plimsoll.compaction.result import Fitted as Fitted
    from plimsoll.compaction.result import Plan as Plan
    from plimsoll.compaction.result import Report as Report
    from plimsoll.compaction.result import View as View
    from plimsoll.compaction.task import SummaryRequest as SummaryRequest
    from plimsoll.conversations.wrapper.clients import session_of as session_of
    from plimsoll.conversations.wrapper.clients import wrap as wrap
    from plimsoll.environment.layers import ContextLayers as ContextLayers
    from plimsoll.environment.layers import Filter as Filter
    from plimsoll.environment.layers import Storage as Storage
    from plimsoll.formats.convert import convert as convert
    from plimsoll.formats.convert import validate as validate
    from plimsoll.formats.format import Converted as Converted
    from plimsoll.formats.format import Loss as Loss
    from plimsoll.formats.format import Violation as Violation
    from plimsoll.memory.memories import Memories as Memories
    from plimsoll.memory.opening import open_memory as open_memory
    from plimsoll.policy.budget import Budget as Budget
    from plimsoll.policy.budget import Check as Check
    from plimsoll.policy.budget import Level as Level
    from plimsoll.policy.budget import LoadLines as LoadLines
    from plimsoll.policy.budget import Status as Status
    from plimsoll.policy.budget import TokenBudget as TokenBudget
    from plimsoll.policy.policy import Policy as Policy
    from plimsoll.protocols import Damage as Damage
    from plimsoll.protocols import Memory as Memory
    from plimsoll.protocols import MemoryOrigin as MemoryOrigin
    from plimsoll.protocols import MemoryStore as MemoryStore
    from plimsoll.protocols import SessionInfo as SessionInfo
    from plimsoll.protocols import Store as Store
    from plimsoll.protocols import TokenCounter as TokenCounter
    from plimsoll.recall.search import Hit as Hit
    from plimsoll.records.stats import Stats as Stats
    from plimsoll.records.usage import Usage as Usage
    from plimsoll.records.values import Compaction as Compaction
    from plimsoll.report.inspection import Inspection as Inspection
    from plimsoll.report.measure import Measure as Measure
    from plimsoll.session.catalog import archive as archive
    from plimsoll.session.catalog import delete as delete
    from plimsoll.session.catalog import repair as repair
    from plimsoll.session.catalog import restore as restore
    from plimsoll.session.catalog import sessions as sessions
    from plimsoll.session.catalog import verify as verify
    from plimsoll.session.messages import HistoryMessage as HistoryMessage
    from plimsoll.session.open import open as open  # noqa: A004 - the public name, as pathlib's and gzip's
    from plimsoll.session.open_async import aopen as aopen
    from plimsoll.session.recalling import recall_sessions as recall_sessions
    from plimsoll.session.session import Session as Session
    from plimsoll.session.transfer.import_file import import_file as import_file
    from plimsoll.session.transfer.import_file import import_name as import_name
    from plimsoll.store.open import open_store as open_store
    from plimsoll.store.verify import Repaired as Repaired
    from plimsoll.store.verify import Verified as Verified
    from plimsoll.summary.file_mentions import FileContent as FileContent
    from plimsoll.summary.file_mentions import FileMention as FileMention
    from plimsoll.transcripts.detect import load_file as load_file
    from plimsoll.transcripts.discover import SessionFile as SessionFile
    from plimsoll.transcripts.discover import discover as discover
    from plimsoll.transcripts.values import Conversation as Conversation
    from plimsoll.transcripts.values import Exported as Exported
    from plimsoll.transcripts.values import Finding as Finding
    from plimsoll.transcripts.values import Transcript as Transcript
    from plimsoll.truncation.text import Cut as Cut

_NAMES = {
    "api.check": "check",
    "api.files": "files_mentioned read_files with_files",
    "api.fit": "afit count_tokens fit plan",
    "api.inspect": "inspect measure token_counter",
    "api.offloads": "Offloads",
    "api.preloading": "preload",
    "api.shrink": "Shrunk cut shrink",
    "api.window": "Windowed window",
    "compaction.plan": "Action",
    "compaction.result": "Fitted Plan Report View",
    "compaction.task": "SummaryRequest",
    "environment.layers": "ContextLayers Filter Storage",
    "api.evaluation.blind": "BlindResult grade_sheets write_sheets",
    "api.evaluation.evaluate": "evaluate",
    "api.evaluation.losses": "LossReport loss_report",
    "api.evaluation.values": "AskedConversation Evaluation Outcome Probe ProbeCounts WayScore",
    "formats.convert": "convert validate",
    "formats.format": "Converted Loss Violation",
    "memory.memories": "Memories",
    "memory.opening": "open_memory",
    "api.model_summarizer": "model_summarizer",
    "policy.budget": "Budget Check Level LoadLines Status TokenBudget",
    "policy.policy": "Policy",
    "protocols": "Damage Memory MemoryOrigin MemoryStore SessionInfo Store TokenCounter",
    "recall.search": "Hit",
    "records.stats": "Stats",
    "records.usage": "Usage",
    "records.values": "Compaction",
    "report.inspection": "Inspection",
    "report.measure": "Measure",
    "session.catalog": "archive delete repair restore sessions verify",
    "session.messages": "HistoryMessage",
    "session.open": "open",
    "session.open_async": "aopen",
    "session.recalling": "recall_sessions",
    "session.session": "Session",
    "session.transfer.import_file": "import_file import_name",
    "store.open": "open_store",
    "store.verify": "Repaired Verified",
    "summary.file_mentions": "FileContent FileMention",
    "transcripts.detect": "load_file",
    "transcripts.discover": "SessionFile discover",
    "transcripts.values": "Conversation Exported Finding Transcript",
    "truncation.text": "Cut",
    "conversations.wrapper.clients": "session_of wrap",
}
"""The public names by their modules."""

_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = [name for name in (*sorted(_HOMES), "errors") if name != "open"]
"""Without `open`, so that `from plimsoll import *` does not replace the built-in function."""


def _key() -> bytes:
    from plimsoll.environment.machine_key import machine_key  # noqa: PLC0415 - needed only when a tag is made or checked

    return machine_key()


_use_key(_key)


if not TYPE_CHECKING:  # hidden from type checkers, so that they report names that do not exist

    def __getattr__(name: str) -> Any:
        if name in ("errors", "memory"):
            return import_module(f"plimsoll.{name}")
        if name == "__version__":
            from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - most programs never ask

            try:
                return version("plimsoll-context")
            except PackageNotFoundError:
                raise AttributeError("plimsoll is not installed, so it has no __version__") from None
        if name not in _HOMES:
            raise AttributeError(f"module 'plimsoll' has no attribute {name!r}")
        value = getattr(import_module(f"plimsoll.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    own = (name for name in globals() if name.startswith("__"))
    return sorted({*own, *_HOMES, "errors", "__version__"})
