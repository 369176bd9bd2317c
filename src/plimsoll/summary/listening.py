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
    from collections.abc import Iterator, Sequence

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
    spread: Counter[str]
    """How often each word that carries information is said."""
    total: int
    """The number of statements."""
    asked: list[int]
    """The statement with the question that each answers; -1 where there is none."""
    gains: list[float]
    """About what each adds to a summary for its length."""

    def worth(self, word: str) -> float:
        """What a word is worth: much if it is rare or a number, little if it is of feeling."""
        return vocabulary.worth(word, self.spread[word] or 1, self.total)


def listen(facts: Sequence[Fact]) -> Talk:
    """Read the words of chat facts. Linear."""
    words = vocabulary.words_of("\n".join([fact.text for fact in facts]))
    counted = Counter(words)
    stems = {word: vocabulary.stems(word) for word in counted}
    spread: Counter[str] = Counter()
    for word, count in counted.items():
        for stem in stems[word]:
            spread[stem] += count
    callings = frozenset(word.casefold() for name in speakers_of(facts) for word in _callings(name))
    talk = Talk(callings, spread, len(facts), _asked(facts), [])
    worth = {word: sum([talk.worth(stem) for stem in of if stem not in callings]) for word, of in stems.items()}
    signs = {word: vocabulary.sign(word) for word in counted}
    sums = list(accumulate(map(worth.__getitem__, words), initial=0.0))
    told = list(map(signs.__getitem__, words))
    ends = [at for at, word in enumerate(words) if word == BREAK]
    for fact, begin, end, asker in zip(facts, [0, *ends], [*ends, len(words)], talk.asked, strict=True):
        sign = sum(set(told[begin:end]))
        sign += (
            SIGNS["answers"] * (asker >= 0) + SIGNS["question"] * _asks(fact) + SIGNS["recalled"] * is_recalled(fact)
        )
        talk.gains.append((sums[end] - sums[begin]) * exp(sign) / (len(fact.text) + _OVERHEAD_CHARS))
    return talk


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


def _asks(fact: Fact) -> bool:
    return fact.state == "question" or fact.text.endswith(ASKS)


def _asked(facts: Sequence[Fact]) -> list[int]:
    """Who asks is answered by what another says next."""
    found: list[int] = []
    asking, asker = -1, ""
    for place, fact in enumerate(facts):
        answers = asking >= 0 and fact.note != asker
        found.append(asking if answers else -1)
        if _asks(fact):
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
