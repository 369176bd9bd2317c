"""Plimsoll keeps an LLM agent's conversation inside the model's context window: it always fits, nothing is lost.

The public names. Each is loaded when it is first used, so that importing the package costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from plimsoll.provenance import use_key as _use_key

if TYPE_CHECKING:
    from plimsoll import errors as errors
    from plimsoll.budget import Budget as Budget
    from plimsoll.budget import Check as Check
    from plimsoll.budget import Level as Level
    from plimsoll.budget import LoadLines as LoadLines
    from plimsoll.budget import Status as Status
    from plimsoll.budget import TokenBudget as TokenBudget
    from plimsoll.checking import check as check
    from plimsoll.compaction.plan import Action as Action
    from plimsoll.compaction.task import SummaryRequest as SummaryRequest
    from plimsoll.context import ContextLayers as ContextLayers
    from plimsoll.context import Filter as Filter
    from plimsoll.context import Storage as Storage
    from plimsoll.cutting.text import Cut as Cut
    from plimsoll.files import files_mentioned as files_mentioned
    from plimsoll.files import read_files as read_files
    from plimsoll.files import with_files as with_files
    from plimsoll.fitted import Fitted as Fitted
    from plimsoll.fitted import Plan as Plan
    from plimsoll.fitted import Report as Report
    from plimsoll.fitted import View as View
    from plimsoll.formats.convert import convert as convert
    from plimsoll.formats.convert import validate as validate
    from plimsoll.formats.format import Converted as Converted
    from plimsoll.formats.format import Loss as Loss
    from plimsoll.formats.format import Violation as Violation
    from plimsoll.interchange import import_file as import_file
    from plimsoll.mentions import FileContent as FileContent
    from plimsoll.mentions import FileMention as FileMention
    from plimsoll.offloads import Offloads as Offloads
    from plimsoll.oneshot import afit as afit
    from plimsoll.oneshot import count_tokens as count_tokens
    from plimsoll.oneshot import fit as fit
    from plimsoll.oneshot import plan as plan
    from plimsoll.opening import delete as delete
    from plimsoll.opening import open as open  # noqa: A004 - the public name, as pathlib's and gzip's
    from plimsoll.opening import sessions as sessions
    from plimsoll.opening_async import aopen as aopen
    from plimsoll.payloads import Compaction as Compaction
    from plimsoll.policy import Policy as Policy
    from plimsoll.ports import Damage as Damage
    from plimsoll.ports import SessionInfo as SessionInfo
    from plimsoll.recall.search import Hit as Hit
    from plimsoll.session import Session as Session
    from plimsoll.shrinking import Shrunk as Shrunk
    from plimsoll.shrinking import cut as cut
    from plimsoll.shrinking import shrink as shrink
    from plimsoll.stats import Stats as Stats
    from plimsoll.transcripts.values import Exported as Exported
    from plimsoll.usage import Usage as Usage
    from plimsoll.windowing import Windowed as Windowed
    from plimsoll.windowing import window as window

_HOMES = {
    "Action": "compaction.plan",
    "Budget": "budget",
    "Check": "budget",
    "Compaction": "payloads",
    "ContextLayers": "context",
    "Converted": "formats.format",
    "Cut": "cutting.text",
    "Damage": "ports",
    "Exported": "transcripts.values",
    "FileContent": "mentions",
    "FileMention": "mentions",
    "Filter": "context",
    "Fitted": "fitted",
    "Hit": "recall.search",
    "Level": "budget",
    "LoadLines": "budget",
    "Loss": "formats.format",
    "Offloads": "offloads",
    "Plan": "fitted",
    "Policy": "policy",
    "Report": "fitted",
    "Session": "session",
    "SessionInfo": "ports",
    "Shrunk": "shrinking",
    "Stats": "stats",
    "Status": "budget",
    "Storage": "context",
    "SummaryRequest": "compaction.task",
    "TokenBudget": "budget",
    "Usage": "usage",
    "View": "fitted",
    "Violation": "formats.format",
    "Windowed": "windowing",
    "afit": "oneshot",
    "aopen": "opening_async",
    "check": "checking",
    "convert": "formats.convert",
    "count_tokens": "oneshot",
    "cut": "shrinking",
    "delete": "opening",
    "files_mentioned": "files",
    "fit": "oneshot",
    "import_file": "interchange",
    "open": "opening",
    "plan": "oneshot",
    "read_files": "files",
    "sessions": "opening",
    "shrink": "shrinking",
    "validate": "formats.convert",
    "window": "windowing",
    "with_files": "files",
}

__all__ = [name for name in (*sorted(_HOMES), "errors") if name != "open"]
"""Without `open`: `from plimsoll import *` leaves the built-in one in its place."""


def _key() -> bytes:
    from plimsoll.machine import machine_key  # noqa: PLC0415 - only where a tag is made or checked

    return machine_key()


_use_key(_key)


if not TYPE_CHECKING:  # a name that does not exist is an error for type checkers, too

    def __getattr__(name: str) -> Any:
        if name == "errors":
            return import_module("plimsoll.errors")
        if name not in _HOMES:
            raise AttributeError(f"module 'plimsoll' has no attribute {name!r}")
        value = getattr(import_module(f"plimsoll.{_HOMES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, "errors"})
