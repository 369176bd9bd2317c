"""The conversation section: which statements of a dialogue stay, chosen so that each adds what the others do not say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from heapq import heapify, heappop, heapreplace
from typing import TYPE_CHECKING, TypeAlias

from plimsoll.summary import layout
from plimsoll.summary.item import Item, Section
from plimsoll.summary.sections import DIALOGUE_SHARES

if TYPE_CHECKING:
    from plimsoll.summary.frame import Language
    from plimsoll.summary.ledger import Ledger

_SAID_AGAIN = 0.12
"""What a word that is already in the summary adds when the same speaker, or the same topic, says it again."""

_GAIN_MIN = -0.02
"""What adds less for its length only repeats, and is shown where there is nothing else."""

_OVERHEAD_CHARS = {"en": 18, "zh": 5}
"""About what a statement costs beyond its text: a separator and its part of labels and headings."""

Candidate: TypeAlias = tuple[Item, Mapping[str, float], str, float]
"""The item, its words with their worth, whose words they are, and a factor on the whole."""


def section(ledger: Ledger, language: Language, bias: Callable[[str], float], chars: int) -> Section:
    """Candidate statements, best first. `chars` is about what there is room for: ranking stops at twice that."""
    if language == "zh":
        candidates, lay_out = _by_topic(ledger, bias), layout.topical
    else:
        candidates, lay_out = _by_speaker(ledger, bias), partial(_with_legend, _legend(ledger))
    ranked = _ranked(candidates, chars * 2, _OVERHEAD_CHARS[language])
    return Section("chat", DIALOGUE_SHARES["chat"], ranked, lay_out)


def _by_topic(ledger: Ledger, bias: Callable[[str], float]) -> list[Candidate]:
    from plimsoll.summary import dense_zh  # noqa: PLC0415 - one language's patterns are enough

    return [
        (Item("chat", said.text, 0.0, said.order, said.topic), said.words, said.topic, said.factor * bias(said.text))
        for said in dense_zh.statements(ledger.of("chat"))
    ]


def _by_speaker(ledger: Ledger, bias: Callable[[str], float]) -> list[Candidate]:
    from plimsoll.summary import dense  # noqa: PLC0415 - one language's patterns are enough

    facts, headings = ledger.of("chat"), _headings(ledger)
    initials = _initials([fact.note for fact in facts])
    candidates: list[Candidate] = []
    for said in dense.clauses(facts):
        heading, speaker = _heading_at(headings, said.order[0]), initials[said.speaker]
        item = Item("chat", said.text, 0.0, said.order, heading, speaker)
        candidates.append((item, said.words, said.speaker, said.factor * bias(said.text)))
    return candidates


def _legend(ledger: Ledger) -> str:
    initials = _initials([fact.note for fact in ledger.of("chat")])
    return ", ".join(f"{short} = {name}" for name, short in initials.items() if short != name)


def _with_legend(legend: str, items: Sequence[Item]) -> str:
    return f"({legend})\n{layout.spoken(items)}" if legend and len(items) > 2 else layout.spoken(items)


def _ranked(candidates: Sequence[Candidate], chars: int, overhead: int) -> list[Item]:
    """Greedy by what a statement adds for its length; repeated words add little. Lazy evaluation keeps it near linear."""
    said: set[tuple[str, str]] = set()

    def gain(index: int) -> float:
        item, words, whose, factor = candidates[index]
        worth = sum(number * (_SAID_AGAIN if (whose, word) in said else 1.0) for word, number in words.items())
        return -worth * factor / (_length(item.text) + overhead)

    heap = [(gain(index), index) for index in range(len(candidates))]
    heapify(heap)
    ranked: list[Item] = []
    again: list[Item] = []
    used = 0
    while heap and used < chars:
        _, index = heap[0]
        now = gain(index)
        if len(heap) > 2 and now > min(heap[1][0], heap[2][0]) + 1e-9:
            heapreplace(heap, (now, index))
            continue
        heappop(heap)
        item, words, whose, _ = candidates[index]
        if now > _GAIN_MIN:
            again.append(item)
            continue
        ranked.append(item._replace(value=float(len(candidates) - len(ranked))))
        said.update((whose, word) for word in words)
        used += len(item.text) + overhead
    return ranked or list({item.text: item for item in again}.values())


def _length(text: str) -> int:
    """Its length in about quarter tokens: a CJK character costs what three or four Latin letters do."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _headings(ledger: Ledger) -> list[tuple[int, str]]:
    return [(fact.position, fact.text) for fact in ledger.of("heading")]


def _heading_at(headings: Sequence[tuple[int, str]], position: int) -> str:
    """The newest heading at or before a position. A plain bisection over (position, text)."""
    low, high = 0, len(headings)
    while low < high:
        middle = (low + high) // 2
        if headings[middle][0] <= position:
            low = middle + 1
        else:
            high = middle
    return headings[low - 1][1] if low else ""


def _initials(names: Sequence[str]) -> dict[str, str]:
    """A short label for each speaker: the first letter of a name where no other speaker shares it."""
    distinct = sorted(set(names))
    letters = [name[:1] for name in distinct]
    return {
        name: name[0]
        if name not in ("user", "assistant", "tool") and len(name) > 3 and letters.count(name[0]) == 1
        else name
        for name in distinct
    }
