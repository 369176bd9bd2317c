"""What a talk is about word by word, and which of its statements may enter a summary: only those are said short and weighed.

All words of a talk are read in one pass. To say a statement short takes ten times as long.
"""

from __future__ import annotations

from collections import Counter
from itertools import accumulate
from math import exp
from typing import TYPE_CHECKING, NamedTuple

from plimsoll.summary import vocabulary
from plimsoll.summary.ledger.fact import is_recalled, speakers_of
from plimsoll.summary.vocabulary import BREAK, SIGNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from plimsoll.summary.ledger import Fact

ASKS = ("?", "？", "؟")

_MARGIN = 2
"""The candidates take so many times the room: what is chosen repeats no words, and each is said shorter than it was."""

_OVERHEAD_CHARS = 18
"""About what a statement costs beyond its text."""


class Talk(NamedTuple):
    """The words of a talk, and what is known of each statement before it is read as a whole."""

    callings: frozenset[str]
    """What its speakers are called, lower-case."""
    spread: Mapping[str, int]
    """How often each word that carries information is said."""
    worths: Mapping[str, float]
    """What each of them is worth: much if it is rare or a number, little if it is of feeling."""
    asked: list[int]
    """The statement with the question that each answers; -1 where there is none."""
    gains: list[float]
    """About what each adds to a summary for its length."""

    def worth(self, word: str) -> float:
        """What a word is worth; one that only a short form has is rare."""
        known = self.worths.get(word)
        return known if known is not None else vocabulary.worth(word, 1, len(self.gains))


def listen(facts: Sequence[Fact]) -> Talk:
    """Read the words of chat facts. Linear."""
    words = vocabulary.words_of("\n".join([fact.text.replace("\n", " ") for fact in facts]))
    counted = Counter(words)
    stems = {word: vocabulary.stems(word) for word in counted}
    spread: dict[str, int] = {}
    for word, count in counted.items():
        for stem in stems[word]:
            spread[stem] = spread.get(stem, 0) + count
    worths = {stem: vocabulary.worth(stem, min(count, len(facts)), len(facts)) for stem, count in spread.items()}
    callings = frozenset(word.casefold() for name in speakers_of(facts) for word in _callings(name))
    asks = [fact.state == "question" or fact.text.endswith(ASKS) for fact in facts]
    asked = _asked(facts, asks)
    gains = _gains(facts, words, stems, {**worths, **dict.fromkeys(callings, 0.0)}, asked, asks)
    return Talk(callings, spread, worths, asked, gains)


def _gains(  # noqa: PLR0913, PLR0917 - the words of a talk, and what is known of them
    facts: Sequence[Fact],
    words: Sequence[str],
    stems: Mapping[str, Sequence[str]],
    worths: Mapping[str, float],
    asked: Sequence[int],
    asks: Sequence[bool],
) -> list[float]:
    """About what each statement adds for its length: what its words are worth, and what they tell by what they are."""
    worth = {word: sum(map(worths.__getitem__, of)) for word, of in stems.items()}
    told = {word: vocabulary.sign(word) for word in stems}
    sums = list(accumulate(map(worth.__getitem__, words), initial=0.0))
    signs = list(map(told.__getitem__, words))
    found: list[float] = []
    ends = [at for at, word in enumerate(words) if word == BREAK]
    for fact, begin, end, asker, is_question in zip(facts, [0, *ends], [*ends, len(words)], asked, asks, strict=True):
        sign = sum(set(signs[begin:end]))
        if asker >= 0:
            sign += SIGNS["answers"]
        if is_question:
            sign += SIGNS["question"]
        elif is_recalled(fact):
            sign += SIGNS["recalled"]
        found.append((sums[end] - sums[begin]) * exp(sign) / (len(fact.text) + _OVERHEAD_CHARS))
    return found


def likely(talk: Talk, facts: Sequence[Fact], weights: Sequence[float], chars: int) -> list[int]:
    """Return the places of the facts with the highest gains, times their weights, that fill the room several times, in order."""
    left = chars * _MARGIN
    chosen: list[int] = []
    gains = talk.gains
    for place in sorted(range(len(facts)), key=lambda place: -gains[place] * weights[place]):
        if left < 0:
            break
        left -= len(facts[place].text) + _OVERHEAD_CHARS
        chosen.append(place)
    return sorted(chosen)


def _asked(facts: Sequence[Fact], asks: Sequence[bool]) -> list[int]:
    """Who asks is answered by what another says next."""
    found: list[int] = []
    asking, asker = -1, ""
    for place, (fact, is_question) in enumerate(zip(facts, asks, strict=True)):
        answers = asking >= 0 and fact.note != asker
        found.append(asking if answers else -1)
        if is_question:
            asking, asker = place, fact.note
        elif answers:
            asking = -1
    return found


def _callings(name: str) -> Iterator[str]:
    """What a speaker is called: the whole name, its words, and their short forms of three and four letters."""
    yield name
    for word in name.split():
        yield word
        yield from {word[:size] for size in (3, 4) if len(word) > size + 1}
