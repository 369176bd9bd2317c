"""Shorten a request or a model's summary to its most relevant sentences, in their original order."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from plimsoll.regex import regex
from plimsoll.summary.ledger.prose import without_code
from plimsoll.summary.ledger.requests import asks, constrains
from plimsoll.summary.ledger.sentences import line, sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_GAP = " … "
_SPECIFIC = regex(r"[^\s。，；]*(?:[0-9_/`\"“《]|[a-z][A-Z])[^\s。，；]*|(?<=[\w,;:(] )[A-Z]\w+")
"""A specific word: a value, path, symbol, quotation, or a capitalised name inside a sentence."""

_SENTENCE_CHARS_MIN = 12
"""A shorter sentence is a greeting or a nod."""

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
    for order in ranked:
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


def condensed(text: str, fits: Callable[[str], bool]) -> str:
    """Return as much of a summary as `fits`, keeping its lines: code is dropped first, then the least specific sentences.

    `…` marks gaps. Returns an empty string if nothing fits.
    """
    bare = "\n".join(line for line in without_code(text).split("\n") if line.strip())
    for candidate in (text, bare):
        if fits(candidate):
            return candidate
    pieces = [(number, sentence) for number, line in enumerate(bare.split("\n")) for sentence in sentences(line)]
    ranked = sorted(range(len(pieces)), key=lambda at: (-_density(pieces[at][1]), at))

    def shown(count: int) -> str:
        return _in_lines(pieces, sorted(ranked[:count]))

    count = bisect_right(range(1, len(pieces) + 1), 0, key=lambda count: not fits(shown(count)))
    return shown(count) if count else ""


def _density(sentence: str) -> float:
    """Return the number of specific words relative to length. Headings score highest, to stay with their content."""
    if sentence.startswith("#"):
        return 1.0
    specifics = len(_SPECIFIC.findall(sentence)) + 2 * (constrains(sentence) or asks(sentence))
    return (1 + specifics) / (20 + len(sentence))


def _in_lines(pieces: Sequence[tuple[int, str]], chosen: Sequence[int]) -> str:
    """Join the chosen sentences, each on its original line."""
    text, line_before, previous = "", 0, -1
    for at in chosen:
        number, sentence = pieces[at]
        gap = _GAP.rstrip() if at > previous + 1 else ""
        text += f"{gap}{chr(10) if number != line_before else ' '}{sentence}" if text else f"{gap} {sentence}".strip()
        line_before, previous = number, at
    return text + (_GAP.rstrip() if previous < len(pieces) - 1 else "")


def _relevance(sentence: str, order: int) -> float:
    score = 2.0 / (1 + order)
    if constrains(sentence):
        score += 1.0
    if asks(sentence):
        score += 1.0
    if len(sentence) < _SENTENCE_CHARS_MIN:
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
