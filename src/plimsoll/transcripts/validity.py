"""Repair what a provider would not accept from a damaged file: unreadable messages and invalid views."""

from __future__ import annotations

from collections.abc import Sequence

from plimsoll.compaction.normalize import normalize
from plimsoll.errors import FormatError, LimitExceeded
from plimsoll.formats.registry import FORMATS, decode_all, format_named
from plimsoll.message import FormatName, Message, Wire
from plimsoll.transcripts.values import Finding, Viewed


def read_message(wire: Wire, format: FormatName) -> Message | None:
    """A message decoded in its format, or None if it cannot be read."""
    try:
        return FORMATS[format].decode(wire, 0)
    except (FormatError, LimitExceeded):
        return None


def accepted(viewed: Sequence[Viewed], format: FormatName) -> tuple[tuple[Viewed, ...], tuple[Finding, ...]]:
    """A view that its provider accepts, and the changes made for that; none for an undamaged file."""
    shape = format_named(format)
    problems = shape.validate([shown.wire for shown in viewed]) if viewed else []
    if not problems:
        return tuple(viewed), ()
    _, messages = decode_all([shown.wire for shown in viewed], format)
    normalized = [
        Viewed(
            wire=shape.encode(found.message), messages=() if found.position is None else viewed[found.position].messages
        )
        for found in normalize(messages, shape, lambda _: 0)
    ]
    findings = (Finding(kind="refused", detail=f"sent otherwise: {problem.reason}"[:120]) for problem in problems)
    return tuple(normalized), tuple(findings)
