"""Results of one call that was made again: the older one is shown as its difference to the newest.

Nothing is lost by this: the newest result and the difference say what the older one said.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from plimsoll.compaction.keep import NEWEST_EXCHANGE
from plimsoll.compaction.view_message import ViewExchange
from plimsoll.compaction.working_view import WorkingView
from plimsoll.formats.provenance import notice, verified_notice
from plimsoll.light.dataclass import replace
from plimsoll.limits import REREAD_LINES_MAX
from plimsoll.message import Text, ToolResult

CHANGED = {
    "en": "The same call was made again later; lines of this earlier result that were replaced (-) and what replaced them (+)",
    "zh": "后来再次进行了同一调用；本次较早结果中被替换的行（-）及替换后的行（+）",
}
"""The first line in place of an older result, by language."""

REPEAT_CHARS_MIN = 200
"""Shorter results cost less than the text that would replace them."""

DIFFERENCE_SHARE_MAX = 0.5
"""A difference of more characters than this share of the result is not shown: the result itself says more."""

CallKey = tuple[str, str]

_ENCODER = json.JSONEncoder(sort_keys=True)


def call_of(exchange: ViewExchange, result: ToolResult) -> CallKey | None:
    """The tool and the arguments of the call that a result answers; equal for arguments that differ in layout alone."""
    for call in exchange.original.calls:
        if call.id == result.call_id:
            try:
                return call.name, _ENCODER.encode(json.loads(call.arguments))
            except (ValueError, RecursionError):
                return call.name, call.arguments
    return None


def collapse_rereads(view: WorkingView, goal_tokens: int) -> None:
    """Show older results of a repeated call as their difference to the newest one, oldest first, until the goal is reached.

    Exchanges that must stay are skipped, as their newest result may leave before them. So is a result that another one is
    shown as a difference to.
    """
    newest: dict[CallKey, str] = {}
    found: list[tuple[ViewExchange, int, int, CallKey]] = []
    needed: set[CallKey] = set()
    for exchange, number, index, result in results_of(view):
        if len(result.content) < REPEAT_CHARS_MIN or result.media:
            continue
        key = call_of(exchange, result)
        if key is None:
            continue
        if is_changed_since(result):
            needed.add(key)
        elif key not in newest:
            newest[key] = result.content
        elif newest[key] != result.content and exchange.kept_as in (None, NEWEST_EXCHANGE) and not result.is_error:
            found.append((exchange, number, index, key))
    for exchange, number, index, key in reversed(found):
        if not view.passes(goal_tokens):
            return
        if key not in needed:
            _show_difference(view, exchange, number, index, newest[key])


def _show_difference(view: WorkingView, exchange: ViewExchange, number: int, index: int, newer: str) -> None:
    entry = exchange.entries[number]
    part = entry.message.parts[index]
    assert isinstance(part, ToolResult)
    reference = view.refer(entry, index)
    text = changed_since(view, part.content, newer, reference if view.recall else None)
    if text is None:
        return
    parts = [replace(part, content=text) if at == index else other for at, other in enumerate(entry.message.parts)]
    exchange.decide("offload" if reference else "shrink", "the same call was made again later", reference=reference)
    view.edit(exchange, number, parts)


def changed_since(view: WorkingView, older: str, newer: str, reference: str | None) -> str | None:
    """What stands in place of an older result: its difference to the newer one; None if that is not much shorter."""
    lines = list(_difference(older.split("\n"), newer.split("\n")))
    if not lines or sum(map(len, lines)) + len(lines) > len(older) * DIFFERENCE_SHARE_MAX:
        return None
    where = {"en": f", reference {reference}", "zh": f"，引用 {reference}"}[view.language] if reference else ""
    return "\n".join([notice(f"{CHANGED[view.language]}{where}"), *lines])


def is_changed_since(result: ToolResult) -> bool:
    """True for a text that `changed_since` made."""
    words = verified_notice(result.content)
    return words is not None and words.startswith(tuple(CHANGED.values()))


def _difference(older: list[str], newer: list[str]) -> Iterator[str]:
    """The lines that differ, each run under its line number in the older text; nothing for texts of too many other lines.

    Equal lines at both ends are set aside first, so that the time depends on what lies between the changes.
    """
    start = next((at for at, (one, other) in enumerate(zip(older, newer, strict=False)) if one != other), None)
    if start is None:
        start = min(len(older), len(newer))
    end = 0
    while end < min(len(older), len(newer)) - start and older[-1 - end] == newer[-1 - end]:
        end += 1
    old, new = older[start : len(older) - end], newer[start : len(newer) - end]
    if max(len(old), len(new)) > REREAD_LINES_MAX:
        return
    from difflib import SequenceMatcher  # noqa: PLC0415 - only where a call was made again

    for tag, first, last, first_new, last_new in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield f"@ line {start + first + 1}"
            yield from (f"-{line}" for line in old[first:last])
            yield from (f"+{line}" for line in new[first_new:last_new])


def results_of(view: WorkingView) -> Iterator[tuple[ViewExchange, int, int, ToolResult]]:
    """The results of a view, newest first: exchange, number of the message in it, index of the part, and the result."""
    for exchange in reversed(view.exchanges):
        for number in range(len(exchange.entries) - 1, -1, -1):
            parts = exchange.entries[number].message.parts
            if len(parts) == 1 and type(parts[0]) is Text:  # as most are
                continue
            for index in range(len(parts) - 1, -1, -1):
                if isinstance(part := parts[index], ToolResult):
                    yield exchange, number, index, part
