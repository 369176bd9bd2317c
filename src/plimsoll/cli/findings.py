"""Describe the findings of a file for people, one line for each kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import plimsoll

_MEANINGS: dict[str, tuple[str, str]] = {
    "bad-line": ("line is not a JSON object", "it is kept, but not read"),
    "bad-message": ("message has no readable content", "it is kept, but not sent"),
    "broken-archive": ("archive is broken", "its readable part was read"),
    "cycle": ("line is its own ancestor", "the conversation is read up to it"),
    "duplicate-call": ("tool call occurs twice", "it is sent once"),
    "duplicate-result": ("tool call has two results", "the first is sent"),
    "duplicate-uuid": ("line has an id that was used before", "the last one is used"),
    "missing-parent": (
        "line follows one that is not in this file",
        "the conversation before it is elsewhere; everything in this file is read",
    ),
    "no-id": ("line has no id", "it is ignored"),
    "no-opening": ("conversation begins with an answer", "a user message was inserted before it"),
    "no-result": ("tool call has no result", "a placeholder result is sent"),
    "orphan-result": ("tool result has no call", "it is not sent"),
    "preserved-broken": ("compaction kept messages that cannot be found", "they are left out, as the tool does"),
    "reasoning-alone": ("reasoning has no answer after it", "it is not sent"),
    "refused": ("message would be refused by the provider", "it is repaired before it is sent"),
    "thinking-only": ("answer contains only thinking", "it is not sent"),
    "torn-line": ("last line is incomplete", "it is kept, but not read"),
    "wrong-place": ("user message contains content that only the model may send", "that part is not sent"),
}
"""Kind -> description of one finding, and its consequence."""


def described(findings: Sequence[plimsoll.Finding]) -> Iterator[str]:
    """One line for each kind: the number, the first line and the consequence."""
    kinds: dict[str, list[plimsoll.Finding]] = {}
    for finding in findings:
        kinds.setdefault(finding.kind, []).append(finding)
    for kind, found in kinds.items():
        lines = [finding.line + 1 for finding in found if finding.line is not None]
        where = f" (line {lines[0]}{' first' if len(found) > 1 else ''})" if lines else ""
        if kind not in _MEANINGS:
            more = f"; {len(found) - 1:,} more of the kind {kind}" if len(found) > 1 else ""
            yield f"{kind}{where}: {found[0].detail}{more}"
            continue
        what, meaning = _MEANINGS[kind]
        yield f"{len(found):,} × {what}{where}: {meaning}"
