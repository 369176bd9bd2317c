"""How full a running session is, what fills it, and what its tool's last compaction lost."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from plimsoll.api.inspect import measure
from plimsoll.errors import FormatError
from plimsoll.hooks.loss import lost_facts, shown_first
from plimsoll.hooks.state import take_in
from plimsoll.light.dataclass import dataclass
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.discover import SessionFile
from plimsoll.transcripts.values import Transcript

_LOST_SHOWN = 8
_OF_TOOLS = ("tool calls", "tool results")


@dataclass(frozen=True, slots=True, kw_only=True)
class LastLoss:
    """What the newest compaction lost."""

    facts: Mapping[str, int]
    """Number of facts by kind."""
    first: Sequence[str]
    """The most valuable of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedSession:
    """A running session at one moment. Sizes in tokens."""

    path: str
    tool: str
    tokens: int
    """The newest request: as its provider counted it where the file says so, and what followed as it is estimated."""
    window_tokens: int
    is_counted: bool
    """Whether the provider's count is in it."""
    fills: Sequence[tuple[str, int]]
    """What fills it: kinds of content, and calls with their results by tool, the largest first."""
    compactions: int
    lost: LastLoss | None
    """None before the first compaction, or where its summary cannot be read."""

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        lost = None if self.lost is None else {"facts": dict(self.lost.facts), "first": list(self.lost.first)}
        return {
            "path": self.path,
            "tool": self.tool,
            "tokens": self.tokens,
            "window_tokens": self.window_tokens,
            "is_counted": self.is_counted,
            "fills": [{"label": label, "tokens": tokens} for label, tokens in self.fills],
            "compactions": self.compactions,
            "lost": lost,
        }


def look(path: str) -> WatchedSession:
    """Look at a session's file. Raises FormatError for one that is no session of a coding agent, and what `load_file` raises."""
    loaded = load_file(path)
    if not isinstance(loaded, Transcript):
        raise FormatError("not a session file of Claude Code, Codex or pi")
    found = measure(loaded)
    weights = found.weights
    tools = {f"tool {one.label}": one.tokens for one in weights.tools}
    kinds = {one.label: one.tokens for one in weights.kinds if not (tools and one.label in _OF_TOOLS)}
    fills = sorted({**kinds, **tools}.items(), key=lambda pair: -pair[1])
    return WatchedSession(
        path=path,
        tool=loaded.tool,
        tokens=weights.total_tokens,
        window_tokens=found.base_tokens,
        is_counted=found.usage is not None,
        fills=[(label, tokens) for label, tokens in fills if tokens],
        compactions=len(loaded.compactions),
        lost=_lost(path) if loaded.compactions else None,
    )


def _lost(path: str) -> LastLoss | None:
    state = take_in(path)
    if state.last.position is None or not state.last.summary:
        return None
    ledger = lost_facts(state)
    return LastLoss(
        facts={kind: len(facts) for kind, facts in ledger.facts.items()}, first=shown_first(ledger, _LOST_SHOWN)
    )


def newest_of(files: Iterable[SessionFile], folder: str, tool: str | None = None) -> SessionFile | None:
    """The newest session that runs in a folder or below it; else one that runs above it. None where there is none."""
    here = PurePath(os.path.realpath(folder))
    above: SessionFile | None = None
    for file in files:
        if file.cwd is None or tool not in (None, file.tool):
            continue
        there = PurePath(os.path.realpath(file.cwd))
        if there.is_relative_to(here):
            return file
        if above is None and here.is_relative_to(there):
            above = file
    return above
