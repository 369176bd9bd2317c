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
    from plimsoll.budget import LoadLines as LoadLines
    from plimsoll.budget import TokenBudget as TokenBudget
    from plimsoll.checking import check as check
    from plimsoll.files import files_mentioned as files_mentioned
    from plimsoll.files import read_files as read_files
    from plimsoll.files import with_files as with_files
    from plimsoll.fitted import Fitted as Fitted
    from plimsoll.fitted import Plan as Plan
    from plimsoll.formats.convert import convert as convert
    from plimsoll.formats.convert import validate as validate
    from plimsoll.interchange import import_file as import_file
    from plimsoll.offloads import Offloads as Offloads
    from plimsoll.oneshot import afit as afit
    from plimsoll.oneshot import count_tokens as count_tokens
    from plimsoll.oneshot import fit as fit
    from plimsoll.oneshot import plan as plan
    from plimsoll.opening import delete as delete
    from plimsoll.opening import open as open  # noqa: A004 - the public name, as pathlib's and gzip's
    from plimsoll.opening import sessions as sessions
    from plimsoll.opening_async import aopen as aopen
    from plimsoll.policy import Policy as Policy
    from plimsoll.session import Session as Session
    from plimsoll.shrinking import Shrunk as Shrunk
    from plimsoll.shrinking import cut as cut
    from plimsoll.shrinking import shrink as shrink
    from plimsoll.windowing import Windowed as Windowed
    from plimsoll.windowing import window as window

_HOMES = {
    "Budget": "budget",
    "Fitted": "fitted",
    "LoadLines": "budget",
    "Offloads": "offloads",
    "Plan": "fitted",
    "Policy": "policy",
    "Session": "session",
    "Shrunk": "shrinking",
    "TokenBudget": "budget",
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

__all__ = [*sorted(_HOMES), "errors"]  # noqa: PLE0604 - the names of _HOMES are text


def _key() -> bytes:
    from plimsoll.machine import machine_key  # noqa: PLC0415 - only where a tag is made or checked

    return machine_key()


_use_key(_key)


def __getattr__(name: str) -> Any:
    if name == "errors":
        return import_module("plimsoll.errors")
    if name not in _HOMES:
        raise AttributeError(f"module 'plimsoll' has no attribute {name!r}")
    value = getattr(import_module(f"plimsoll.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
