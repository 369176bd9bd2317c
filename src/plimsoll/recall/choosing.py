"""Choosing: the best units within a number of tokens, without repetition, filler, or more neighbours than answers.

Filler are sentences that keep a talk going and tell nothing: greetings, thanks, agreement. Hits neither begin nor end with them.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence

from plimsoll.light.regex import regex
from plimsoll.protocols import TokenCounter
from plimsoll.recall.ranking import Candidate
from plimsoll.recall.segment import Entry
from plimsoll.recall.words import words
from plimsoll.truncation.boundaries import boundary_before
from plimsoll.truncation.measure import chars_within

SAME_SHARE = 0.9
"""Units whose words have this Jaccard similarity are duplicates; only the better one is returned."""

RELEVANT_SHARE, LED_SHARE = 0.15, 0.05
"""A unit whose score is less than this share of the best one's ends the search: its first hop, and its second."""

LEAST_TOKENS = 16
"""The search ends when less room than this is left."""

HITS_MAX = 70
"""Units that are chosen. Nobody reads more excerpts."""

SHORTEST_CHARS = 4
"""A unit that is cut to fewer characters says nothing."""

LATER = 0.99
"""The most that a unit of the second hop scores, as a share of the least of the first."""

FIRST_HOP = 20
"""Units of the first ranking that come before any of the second hop."""


class Choice:
    """The units that are chosen, and the tokens that are left."""

    def __init__(self, counter: TokenCounter, tokens_max: int, *, skips_phatic: bool = True) -> None:
        """What tells nothing is left out with `skips_phatic`."""
        self._picked: list[Candidate] = []
        self._room = tokens_max
        self._counter = counter
        self._counted: dict[str, int] = {}
        self._seen = Vocabularies()
        self._skips_phatic = skips_phatic
        self._answers = self._neighbours = 0
        self._taken: set[tuple[int, int, int]] = set()
        self._waiting: deque[tuple[Candidate, int]] = deque()
        """Neighbours, with their tokens, that wait until there are more answers."""

    @property
    def picked(self) -> Sequence[Candidate]:
        """The chosen units, in the order in which they were chosen."""
        return tuple(self._picked)

    @property
    def is_full(self) -> bool:
        """Whether nothing more fits."""
        return bool(self._picked) and self._room < LEAST_TOKENS

    def take(self, candidates: Iterable[Candidate], most: int, relevant_share: float = RELEVANT_SHARE) -> None:
        """Choose from candidates, best first, until there are `most`, none is relevant, or nothing fits.

        All of them get a lower score than those that were chosen before.
        """
        least = min((pick.score for pick in self._picked), default=0.0)
        best = scale = 0.0
        for candidate in candidates:
            best = best or candidate.score
            scale = scale or (min(1.0, LATER * least / best) if least else 1.0)
            if self.is_full or candidate.score < relevant_share * best or len(self._picked) >= most:
                return
            self._consider(candidate._replace(score=candidate.score * scale))
            while self._waiting and self._admits(self._waiting[0][1]):
                self._consider(self._waiting.popleft()[0])

    def _consider(self, candidate: Candidate) -> None:
        place = place_of(candidate)
        if place in self._taken:
            return
        vocabulary = frozenset(words(candidate.text) or candidate.text.split())
        if not vocabulary or self._seen.has_like(vocabulary):
            return
        chosen = candidate if self._picked else self._shortened(candidate)
        if not chosen.text:
            return
        first, end = said_of(chosen.entry, chosen.text)
        if self._skips_phatic and not end:
            return
        tokens = self.tokens(chosen.text[first:end] or chosen.text)
        if tokens > self._room:
            return
        if not (candidate.matches or self._admits(tokens, candidate.score)):
            self._waiting.append((candidate, tokens))
            return
        self._picked.append(chosen)
        self._seen.add(vocabulary)
        self._taken.add(place)
        self._room -= tokens
        if candidate.matches:
            self._answers += tokens
        else:
            self._neighbours += tokens

    def tokens(self, text: str) -> int:
        """The tokens of a text by the counter's upper bound; counted once."""
        if text not in self._counted:
            self._counted[text] = self._counter.upper(text)
        return self._counted[text]

    def _admits(self, tokens: int, score: float = math.inf) -> bool:
        """Whether a neighbour leaves at least half of all tokens to units with a word of the question, and no better one waits."""
        if self._waiting and score < self._waiting[0][0].score:
            return False
        return self._neighbours + tokens <= max(self._answers, 2 * LEAST_TOKENS)

    def _shortened(self, candidate: Candidate) -> Candidate:
        """The unit with as much of its text as fits."""
        fitting = chars_within(candidate.text, self._room, self._counter)
        if fitting >= len(candidate.text):
            return candidate
        text = candidate.text[: boundary_before(candidate.text, fitting)]
        return candidate._replace(text=text if len(text) >= SHORTEST_CHARS else "")


class Vocabularies:
    """The words of texts, to find texts that say the same. A text is compared with those that share a rare word with it only."""

    def __init__(self) -> None:
        self._by_word: defaultdict[str, list[frozenset[str]]] = defaultdict(list)

    def add(self, vocabulary: frozenset[str]) -> None:
        """Note the words of a text."""
        for word in _telling(vocabulary):
            self._by_word[word].append(vocabulary)

    def has_like(self, vocabulary: frozenset[str]) -> bool:
        """Whether a text says the same as one before."""
        near = (other for word in _telling(vocabulary) for other in self._by_word.get(word, ()))
        return any(is_duplicate(vocabulary, other) for other in near)


def _telling(vocabulary: frozenset[str]) -> list[str]:
    """The first words in a fixed order: two texts whose similarity is SAME_SHARE have one of these in common."""
    return sorted(vocabulary)[: int(len(vocabulary) * (1 - SAME_SHARE) + 1e-9) + 1]


def said_of(entry: Entry, text: str) -> tuple[int, int]:
    """Where a text of an entry begins and ends to tell something: what people say is returned without its greetings and thanks."""
    return told(text) if entry.voice in {"user", "assistant"} else (0, len(text))


def place_of(candidate: Candidate) -> tuple[int, int, int]:
    """Where a unit stands: its message, its part, its first character."""
    return candidate.entry.position, candidate.entry.part, candidate.offset


def is_duplicate(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether texts with these words say the same."""
    if not SAME_SHARE * len(other) <= len(one) <= len(other) / SAME_SHARE:
        return False
    shared = len(one & other)
    return shared >= SAME_SHARE * (len(one) + len(other) - shared)


def runs(picked: Sequence[Candidate]) -> Iterator[list[Candidate]]:
    """The chosen units in the order they were said, adjacent units of a part together."""
    run: list[Candidate] = []
    for candidate in sorted(picked, key=place_of):
        last = run[-1] if run else None
        if last and (last.entry[:2], last.offset + len(last.text)) != (candidate.entry[:2], candidate.offset):
            yield run
            run = []
        run.append(candidate)
    if run:
        yield run


_SENTENCE = regex(r"[^.!?。！？\n]{1,120}(?:[.!?。！？~]+[\"')\]]?\s*|\s*$|\n+)")
_SPEAKER = regex(r"(?:\[[^\]\n]{1,80}\]\s{0,4})?[^\W\d][^:：\n.,;!?]{0,30}[:：]\s")
_ADDRESS = regex(r",? (?<=[a-z!, ] )[A-Z][a-z]{1,15}(?=[,.!?~]|\s*$)")
"""A name at the end of a clause: `Thanks, Ann!`"""
_WORD = regex(r"[^\W\d_]+(?:['’][a-z]+)?|[0-9]+")
_EMPTY = frozenset(
    (
        "a about absolutely agree agreed ah all alright always am amazing and anytime appreciate are as aw awesome aww "
        "beautiful best bet bye can can't catch cheers completely congrats congratulations cool course definitely do "
        "doing don't enjoy exactly excellent fantastic fine for forward fun gee glad gonna good goodbye gosh great ha "
        "haha happy have hear hello hey hi hope how how's i i'd i'll i'm i've incredible indeed inspiring is it it's "
        "just keep kind know later like lol looking lot love lovely luck lucky man me mean means much my nah nice no of "
        "oh ok okay okey on perfect please pleasure pretty problem proud ready really right see so soon sorry sound "
        "sounds super sure sweet take talk thank thanks that that's the then there these this to too totally true ttyl "
        "understand understood up very wait was way welcome well what what's wish wonderful wow yay yeah yep yes you "
        "you'll you're you've your yours yup "
    ).split()
)
_EMPTY_UNSPACED = regex(
    r"(?:[嗯哦噢啊呀哈好的呢吧啦了吗是对行那就我你您，,、～~\s]|谢谢|多谢|感谢|不客气|不用谢|再见|拜拜|可以|没错|知道|明白|这样|原来如此)+"
)


def told(text: str) -> tuple[int, int]:
    """Where a text begins and ends to tell something, without such sentences around it. `(0, 0)` if it has only those.

    Where the name of a speaker stands before the text, the beginning stays.
    """
    named = _SPEAKER.match(text)
    head = named.end() if named else 0
    start = stop = None
    at = head
    for found in _SENTENCE.finditer(text, head):
        if found.start() > at or not is_phatic(found[0]):
            start = at if start is None else start
            stop = found.end()
        at = found.end()
    if at < len(text):
        start, stop = at if start is None else start, len(text)
    if start is None or stop is None:
        return 0, 0
    return (0 if named else start), stop


def is_phatic(sentence: str) -> bool:
    """Whether a sentence tells nothing."""
    if not sentence.isascii() and _EMPTY_UNSPACED.fullmatch(sentence.strip(" 。！!？?.\n")):
        return True
    words = _WORD.findall(_ADDRESS.sub("", sentence).lower().replace("’", "'"))
    return len(words) <= 12 and all(word in _EMPTY for word in words) and "```" not in sentence
