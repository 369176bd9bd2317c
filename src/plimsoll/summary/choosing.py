"""Which statements of a talk add most for their length, beside those that are chosen already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from plimsoll.summary.item import Item

Candidate: TypeAlias = tuple["Item", Mapping[str, float], str, float]
"""The item, its words with their worth, whose words they are, and a factor on the whole."""

_SAID_AGAIN = 0.25
"""What a word that is already in the summary adds when the same speaker, or the same topic, says it again."""

_GAIN_MIN = -0.02
"""What adds less for its length only repeats, and is shown where there is nothing else."""


def ranked(candidates: Sequence[Candidate], chars: int, overhead: int, heading: int) -> list[Item]:
    """Return the best statements, best first, until they have `chars` characters: the last may go beyond, and so do headings.

    Each costs `overhead` characters beyond its text, and `heading` more if none is chosen under its heading.
    Greedy by what a statement adds for its length; repeated words add little. Lazy evaluation keeps it near linear.
    """
    worths = [sum(words.values()) for _, words, _, _ in candidates]
    sizes = [length(item.text) + overhead for item, _, _, _ in candidates]
    said: dict[str, set[str]] = {}
    opened: set[str] = {""}

    def gain(index: int) -> float:
        item, words, whose, factor = candidates[index]
        worth = worths[index]
        if known := said.get(whose):
            worth -= (1 - _SAID_AGAIN) * sum([added for word, added in words.items() if word in known])
        return -worth * factor / (sizes[index] + (0 if item.group in opened else heading))

    waiting = _by_heading(candidates)
    heap = [(gain(index), index) for index in range(len(candidates))]
    heapify(heap)
    best: list[Item] = []
    again: list[Item] = []
    told: set[tuple[str, str, str]] = set()
    shown: set[tuple[int, str]] = set()
    """What is said of each message, also in front of what refers to it."""
    used = 0
    while heap and used < chars:
        _, index = heap[0]
        item, words, whose, _ = candidates[index]
        if index not in waiting[item.group]:
            heappop(heap)
            continue
        now = gain(index)
        if len(heap) > 2 and now > min(heap[1][0], heap[2][0]) + 1e-9:
            heapreplace(heap, (now, index))
            continue
        heappop(heap)
        waiting[item.group].discard(index)
        if now > _GAIN_MIN or (whose, item.group, item.text) in told:
            again.append(item)
            continue
        told.add((whose, item.group, item.text))
        if (item.order[0], item.text) in shown:
            continue
        best.append(item._replace(text=_with_subject(item, shown), value=float(len(candidates) - len(best))))
        said.setdefault(whose, set()).update(words)
        used += len(item.text) + overhead
        if item.group not in opened:  # the others under its heading cost less now
            opened.add(item.group)
            for other in sorted(waiting[item.group]):
                heappush(heap, (gain(other), other))
    return best or list({item.text: item for item in again}.values())


def _with_subject(item: Item, shown: set[tuple[int, str]]) -> str:
    """The text of a statement, behind what it refers to where that is not yet `shown`."""
    before = (item.order[0], item.subject)
    is_new = bool(item.subject) and before not in shown
    shown.update([(item.order[0], item.text), *([before] if is_new else [])])
    return f"{item.subject}; {item.text}" if is_new else item.text


def _by_heading(candidates: Sequence[Candidate]) -> dict[str, set[int]]:
    """The places of the candidates under each heading."""
    found: dict[str, set[int]] = {}
    for index, (item, *_) in enumerate(candidates):
        found.setdefault(item.group, set()).add(index)
    return found


def length(text: str) -> int:
    """Return the length of a text in about quarter tokens: a CJK character costs what three or four Latin letters do."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
