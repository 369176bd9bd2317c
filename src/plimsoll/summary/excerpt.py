"""Shorten a request to its most relevant sentences, in their original order."""

from __future__ import annotations

from plimsoll.summary.ledger.prose import without_code
from plimsoll.summary.ledger.requests import asks, constrains
from plimsoll.summary.ledger.sentences import line, sentences

_GAP = " … "
_SENTENCE_CHARS_MIN = 12
"""A shorter sentence is a greeting or a nod. One in square brackets is a heading."""

_OPENING_CHARS_MIN = 40
"""A shorter sentence that asks nothing is worth less in the first place: it may be a nod before what is wanted."""

_TRUNCATED_CHARS_MAX = 160
"""Below this length, the start of the best sentence is more useful than a complete, less relevant one."""


def excerpt(text: str, chars_max: int) -> str:
    """Return at most `chars_max` characters: requests and constraints first, then the opening. `…` marks gaps."""
    if len(text) <= chars_max:
        return text
    prose = without_code(text).strip()
    if prose and len(prose) < len(text):  # code is removed before prose
        return f"{excerpt(prose, chars_max - 2).removesuffix(' …')} …"
    pieces = sentences(text) or [text]
    ranked = sorted(range(len(pieces)), key=lambda order: (-_relevance(pieces[order], order), order))
    if chars_max < _TRUNCATED_CHARS_MAX and len(pieces[ranked[0]]) > chars_max:
        return line(pieces[ranked[0]], max(1, chars_max))
    room, chosen = chars_max - len(_GAP), set[int]()
    first = {piece: order for order, piece in reversed(list(enumerate(pieces)))}  # what a text repeats is shown once
    for order in ranked:
        if first[pieces[order]] != order:
            continue
        cost = len(pieces[order]) + 3
        if cost <= room:
            chosen.add(order)
            room -= cost
    if not chosen:
        return line(pieces[ranked[0]], max(1, chars_max))
    shown: list[str] = []
    previous = -1
    for order in sorted(chosen):
        shown.append((_GAP if order > previous + 1 else " " if shown else "") + pieces[order])
        previous = order
    return "".join(shown).strip() + (" …" if previous < len(pieces) - 1 else "")


def _relevance(sentence: str, order: int) -> float:
    score = 2.0 / (1 + order)
    if constrains(sentence):
        score += 1.0
    if asks(sentence):
        score += 1.0
    elif len(sentence) < _OPENING_CHARS_MIN:
        score *= len(sentence) / _OPENING_CHARS_MIN
    if len(sentence) < _SENTENCE_CHARS_MIN or (sentence[0] == "[" and sentence[-1] == "]"):
        score -= 1.5
    if sentence.endswith((":", "```")):
        score -= 0.8
    return score - min(1.0, len(sentence) / 800)


def level(lengths: list[int], total: int) -> int:
    """Return the largest cap such that `lengths`, each limited to it, add up to at most `total`."""
    left, count = total, len(lengths)
    for length in sorted(lengths):
        if length * count >= left:
            return max(0, left // count)
        left -= length
        count -= 1
    return max(lengths, default=0)
