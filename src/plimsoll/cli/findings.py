"""What is wrong with a file that was read all the same, one line for each kind, in words for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import plimsoll

_MEANINGS: dict[str, tuple[str, str]] = {
    "bad-line": ("line is no JSON object", "it is kept, and not read"),
    "bad-message": ("message has no readable content", "it is kept, and not sent"),
    "broken-archive": ("archive is broken", "what could be read of it was"),
    "cycle": ("line comes after itself", "its conversation is read as far as it goes"),
    "duplicate-call": ("tool call is there twice", "it is sent once"),
    "duplicate-result": ("tool call has two results", "the first is sent"),
    "duplicate-uuid": ("line has an id that was used before", "the last one is meant"),
    "missing-parent": (
        "line follows one that is not in this file",
        "the conversation before it is elsewhere, and what is here is read whole",
    ),
    "no-id": ("line has no id", "nothing follows it"),
    "no-opening": ("conversation begins with an answer", "a line in the user's place says so"),
    "no-result": ("tool call has no result", "the model is told that it was interrupted"),
    "orphan-result": ("tool result has no call", "it is not sent"),
    "preserved-broken": ("compaction kept messages that cannot be found", "they are left out, as the tool does"),
    "reasoning-alone": ("thought led to nothing", "it is not sent"),
    "refused": ("message would be refused by the provider", "it is sent in another way"),
    "thinking-only": ("answer thinks and says nothing", "it is not sent"),
    "torn-line": ("line at the end was not written whole", "it is kept, and not read"),
    "wrong-place": ("message of the user's holds what only the model says", "that part is not sent"),
}
"""Of each kind: what there is one of, and what that means."""


def described(findings: Sequence[plimsoll.Finding]) -> Iterator[str]:
    """One line a kind: how many, where the first is, and what it means."""
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
