"""What a talk is about word by word, and which of its statements may enter a summary: only those are said short and weighed.

Each distinct word of a talk is read once. To say a statement short takes ten times as long.
"""

from __future__ import annotations

from collections import Counter
from functools import reduce
from itertools import chain
from math import exp
from operator import mul, or_
from typing import TYPE_CHECKING

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.summary import vocabulary
from plimsoll.summary.ledger.fact import LIST, RECALLED, RECALLED_OF_PEERS, speaker_of, speakers_of
from plimsoll.summary.vocabulary import FIRST, SIGN_SUMS, SIGNS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from plimsoll.summary.ledger import Fact

ASKS = ("?", "？", "؟")

_OF_STATES = {LIST: SIGNS["list"], RECALLED: SIGNS["recalled"], RECALLED_OF_PEERS: SIGNS["recalled"]}
"""The signs that the states of facts give."""

_NAME_OR_BREAK = regex(r"(?<=[\w,;)’'] )[A-Z][\w'’&-]+|\n")
"""A word with a capital within a sentence, or the end of a statement."""

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
        return known if known is not None else vocabulary.worths({word: 1}, len(self.gains))[word]


def listen(facts: Sequence[Fact]) -> Talk:
    """Read the words of chat facts, each distinct one once. Linear."""
    parts = [fact.text.lower().split() for fact in facts]
    counts = Counter(chain.from_iterable(parts))
    heard = dict(zip(counts, map(vocabulary.read, counts), strict=True))
    spread: dict[str, int] = {}
    for (stems, _), count in zip(heard.values(), counts.values(), strict=True):
        for stem in stems:
            spread[stem] = spread.get(stem, 0) + count
    worths = vocabulary.worths(spread, len(facts))
    callings = frozenset(word.casefold() for name in speakers_of(facts) for word in _callings(name))
    told = {**worths, **dict.fromkeys(callings, 0.0)}
    worth = {
        part: told[stems[0]] if len(stems) == 1 else sum(map(told.__getitem__, stems))
        for part, (stems, _) in heard.items()
    }
    signs = {part: of for part, (_, of) in heard.items() if of}
    asks = [fact.state == "question" or fact.text.endswith(ASKS) for fact in facts]
    asked = _asked(facts, asks)
    return Talk(callings, spread, worths, asked, _gains(facts, parts, worth, signs, asked, asks))


def _gains(  # noqa: PLR0913, PLR0917 - the words of a talk, and what is known of them
    facts: Sequence[Fact],
    parts: Sequence[Sequence[str]],
    worth: Mapping[str, float],
    signs: Mapping[str, int],
    asked: Sequence[int],
    asks: Sequence[bool],
) -> list[float]:
    """About what each statement adds for its length: what its words are worth, and what they tell by what they are."""
    telling = frozenset(signs).intersection  # few words give a sign
    found: list[float] = []
    for fact, said, asker, is_question in zip(facts, parts, asked, asks, strict=True):
        # A user tells an assistant of himself without an `I` too: "Booked it for Friday."
        is_user = speaker_of(fact) == "user"
        own = FIRST if is_user else 0
        of_words = telling(said)
        sign = SIGN_SUMS[reduce(or_, map(signs.__getitem__, of_words), own) if of_words else own]
        if asker >= 0 and not is_user:
            sign += SIGNS["answers"]
        if is_question:
            sign += SIGNS["question"]
        elif fact.state:
            sign += _OF_STATES.get(fact.state, 0.0)
        found.append(sum(map(worth.__getitem__, said)) * exp(sign) / (len(fact.text) + _OVERHEAD_CHARS))
    return found


def likely(talk: Talk, facts: Sequence[Fact], weights: Sequence[float], chars: int) -> list[int]:
    """Return the places of the facts with the highest gains, times their weights, that fill the room several times, in order.

    Of equals the newest come first.
    """
    left = chars * _MARGIN
    chosen: list[int] = []
    worths = list(map(mul, talk.gains, weights))
    for place in sorted(range(len(facts) - 1, -1, -1), key=worths.__getitem__, reverse=True):
        if left < 0:
            break
        left -= len(facts[place].text) + _OVERHEAD_CHARS
        chosen.append(place)
    return sorted(chosen)


def taken_up(facts: Sequence[Fact]) -> set[int]:
    """Return the places of an assistant's statements with a name that the user says later. Linear."""
    last: dict[str, int] = {}
    for place, fact in enumerate(facts):
        if fact.origin == "user":
            last.update((stem, place) for part in fact.text.split() for stem in vocabulary.read(part)[0])
    places = [place for place, fact in enumerate(facts) if fact.origin != "user"]
    found, at = set[int](), 0
    for name in _NAME_OR_BREAK.findall("\n".join([facts[place].text.replace("\n", " ") for place in places])):
        if name == "\n":
            at += 1
        elif any(last.get(stem, -1) > places[at] for stem in vocabulary.read(name)[0]):
            found.add(places[at])
    return found


def _asked(facts: Sequence[Fact], asks: Sequence[bool]) -> list[int]:
    """Who asks is answered by what another says next. An assistant answers always, so that this tells nothing of its words."""
    found: list[int] = []
    asking, asker = -1, ""
    for place, (fact, is_question) in enumerate(zip(facts, asks, strict=True)):
        answers = asking >= 0 and fact.note != asker
        found.append(asking if answers and speaker_of(fact) != "assistant" else -1)
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
