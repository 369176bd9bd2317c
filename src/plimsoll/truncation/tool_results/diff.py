"""Diffs: the names of all files and hunks, then what changed, then what surrounds it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plimsoll.brief import pluralize

if TYPE_CHECKING:
    from collections.abc import Sequence

_FILE = ("diff --git ", "--- ", "+++ ", "rename ", "new file", "deleted file", "Binary files")
_CHANGES_PER_RANK = 8
_CHANGE_RANKS_MAX = 40


def ranks(lines: Sequence[str]) -> list[int]:
    """0 files, 1 hunks, 2 and on changed lines (eight of each hunk a rank), last the context."""
    ranked, changes = [], 0
    for line in lines:
        if line.startswith(_FILE):
            ranked.append(0 if line.startswith(_FILE[0]) else 1)
        elif line.startswith("@@"):
            changes = 0
            ranked.append(1)
        elif line.startswith(("+", "-")):
            changes += 1
            ranked.append(min(_CHANGE_RANKS_MAX, 2 + changes // _CHANGES_PER_RANK))
        else:
            ranked.append(_CHANGE_RANKS_MAX + 1)
    return ranked


def facts(lines: Sequence[str]) -> str:
    """Files, lines added and lines removed."""
    files = sum(line.startswith("diff --git ") for line in lines) or sum(line.startswith("+++ ") for line in lines)
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
    return f"{pluralize(files, 'file')}, +{added:,} -{removed:,} {'line' if added + removed == 1 else 'lines'}"
