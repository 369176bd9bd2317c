"""Open work: to-do lists of a tool, unticked boxes, and announced steps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from plimsoll.light.regex import regex
from plimsoll.summary.ledger.fact import CAPS, Fact
from plimsoll.summary.ledger.prose import claims, is_filler, is_lead_in, offers, plain
from plimsoll.summary.ledger.sentences import line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plimsoll.summary.ledger.draft import LedgerDraft

_LIST_KEYS = ("todos", "plan", "items", "tasks", "steps")
_TEXT_KEYS = ("content", "step", "title", "task", "description", "text", "subject")
DONE = frozenset({"completed", "done", "complete", "cancelled", "canceled"})
"""What tools call the status of an item that is no longer open."""

_BOX = regex(r"^\s{0,12}[-*] \[ \] (\S[^\n]{0,240})", re.MULTILINE)
_NEXT = (
    "next step", "remaining", "still need", "still have to", "have yet to", "not done yet", "still missing", "still to do",
    "still open", "not yet", "todo", "follow-up", "pending", "left to do", "下一步", "待办", "尚未", "还需要", "剩余",
)  # fmt: skip
_ITEMS_MAX = 40


def from_plan(arguments: dict[str, Any], draft: LedgerDraft, position: int) -> None:
    """Replace the to-do list by a newer one, so that finished work does not stay open."""
    items = next((value for key in _LIST_KEYS if isinstance(value := arguments.get(key), list)), None)
    if items is None:
        return
    kept = draft.facts["work"]
    for key in [key for key in kept if key.startswith("plan:")]:
        del kept[key]
    for item in items[:_ITEMS_MAX]:
        text, status = _item(item)
        if text:
            shown, weight = line(text, CAPS["work"].text_chars_max), 0.5 if status in DONE else 3.0
            draft.add(Fact("work", f"plan:{shown}", shown, position, "assistant", weight, state=status))


def from_assistant(text: str, position: int) -> Iterator[Fact]:
    """Yield the unticked boxes and announced next steps of an answer."""
    if "[ ]" in text:
        for found in _BOX.findall(text[:24_000])[:_ITEMS_MAX]:
            shown = line(plain(found), CAPS["work"].text_chars_max)
            yield Fact("work", shown, shown, position, "assistant", 2.5, state="pending")
    tail = text[-3_000:]
    if announces(tail):
        for sentence in [*_announced_lists(tail), *(sentence for sentence in claims(tail) if announces(sentence))][:1]:
            shown = line(sentence, CAPS["work"].text_chars_max)
            yield Fact("work", "next", shown, position, "assistant", 2.0, state="pending")


def announces(sentence: str) -> bool:
    """Return whether a sentence names remaining work, which is neither started immediately nor offered."""
    lowered = sentence.lower()
    if not any(map(lowered.__contains__, _NEXT)):
        return False
    return len(sentence) > 400 or not (is_filler(sentence) or lowered.startswith("now ") or offers(sentence))


def _announced_lists(text: str) -> Iterator[str]:
    """Yield the items of each list under a heading or lead-in that announces work."""
    items: list[str] | None = None
    for raw in text.split("\n"):
        sentence = plain(raw)
        if (raw.lstrip().startswith("#") or is_lead_in(sentence)) and announces(sentence):
            items = []
        elif items is not None and sentence and sentence != raw.strip():
            items.append(sentence)
        elif items is not None and sentence:
            if items:
                yield "; ".join(items)
            items = None
    if items:
        yield "; ".join(items)


def _item(item: object) -> tuple[str, str]:
    if isinstance(item, str):
        return item, "pending"
    if not isinstance(item, dict):
        return "", ""
    text = next((value for key in _TEXT_KEYS if isinstance(value := item.get(key), str) and value.strip()), "")
    status = item.get("status")
    return text, line(status, 20).casefold() if isinstance(status, str) else "pending"
