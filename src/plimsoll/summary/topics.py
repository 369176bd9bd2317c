"""What a dialogue was about: the words its users keep coming back to, never their sentences."""

from __future__ import annotations

from math import log
from operator import attrgetter
from typing import TYPE_CHECKING

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.summary import vocabulary
from plimsoll.summary.item import Item
from plimsoll.summary.kept import kept
from plimsoll.summary.ledger.fact import CAPS, is_recalled, speakers_of, topic_of
from plimsoll.summary.scripts import MARKS, is_english

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from plimsoll.summary.frame import Language
    from plimsoll.summary.ledger import Fact, Ledger

_TOPICS_MAX = 12
_TOKENS_EACH = 80
"""So many tokens of a summary there are for each topic."""

_EACH_MAX = 3
"""Topics that one message gives at most."""

_READ_MAX = 200
"""Statements that are read for topics, evenly spread."""

_WORDS_MAX = 3
_WORD = regex(rf"[^\W_][\w{MARKS}'’&/-]*|[^\w\s]|\n")
_EDGES = "成为到改做用看说要请帮让给加写动把第个不修删添换调查找再先后好吧呢吗"
"""Characters that stand before or after what a Chinese phrase names."""


class _Phrase(NamedTuple):
    text: str
    head: str
    """Phrases with one head are about the same."""
    score: float


_SCORE = attrgetter("score")


def topics(  # noqa: PLR0913 - what was said, and how it is read
    ledger: Ledger,
    said: Sequence[Fact],
    language: Language,
    tokens_max: int,
    *,
    named: bool,
    subjects: Sequence[str] = (),
    spread: Mapping[str, int] | None = None,
) -> list[Item]:
    """What was talked about, what came up most first: from users' messages, and from what an earlier summary says.

    Among people with names everybody's messages count. `subjects` are the names that Chinese talk is known to be about,
    `spread` says how often each word of other talk is said.
    """
    recalled = ledger.of("topic")
    asked = [fact for fact in said if (named or fact.origin == "user") and not (recalled and is_recalled(fact))]
    asked = asked[:: -(-len(asked) // _READ_MAX) or 1]
    if language == "en" and not is_english([fact.text for fact in asked]):
        asked = []  # in a language whose function words are unknown, what comes up most is those
    names = {word.casefold() for name in speakers_of(said) for word in name.split()} if named else set[str]()
    read = _Chinese(said or asked, subjects) if language == "zh" else _English(spread or {})
    merged: dict[str, tuple[_Phrase, int, int]] = {}
    for fact in recalled:
        phrase = read.phrase(fact.text)
        merged[phrase.head] = phrase, fact.mentions, fact.position
    for position, texts in _by_message(asked):
        for phrase in sorted(read.phrases(texts), key=_SCORE, reverse=True)[:_EACH_MAX]:
            if phrase.head in names:
                continue
            known, count, first = merged.get(phrase.head, (phrase, 0, position))
            merged[phrase.head] = phrase if phrase.score > known.score else known, count + 1, first
    values = [count + min(1.0, phrase.score / 20) for phrase, count, _ in merged.values()]
    most = min(_TOPICS_MAX, tokens_max // _TOKENS_EACH)
    best = sorted(range(len(values)), key=values.__getitem__, reverse=True)[:most]
    found = list(merged.values())
    return [
        Item("topic", found[place][0].text[: CAPS["topic"].text_chars_max], values[place], (found[place][2], place))
        for place in best
    ]


class _English:
    """Runs of telling words; those whose words come up most say most."""

    def __init__(self, spread: Mapping[str, int]) -> None:
        self.spread, self.worth = spread, dict[str, float]()

    def phrases(self, texts: Sequence[str]) -> list[_Phrase]:
        """Those of one message."""
        return [self._phrase(run, stems) for text in texts for run, stems in _runs(text)]

    def phrase(self, text: str) -> _Phrase:
        """A phrase, known by its commonest word."""
        return self._phrase(text, [vocabulary.carried(vocabulary.bare(word)) for word in text.split(" ")])

    def _phrase(self, text: str, stems: Sequence[str]) -> _Phrase:
        worths = self.worth
        for stem in stems:
            if stem not in worths:
                worths[stem] = 1 + log(1 + self.spread.get(stem, 0))
        names = sum([not word[:1].islower() for word in text.split(" ")])
        if len(stems) == 1:
            return _Phrase(text, stems[0], worths[stems[0]] + names)
        distinct = dict.fromkeys(stems)
        _, head = max([(worths[stem], stem) for stem in distinct])
        return _Phrase(text, head, sum([worths[stem] for stem in distinct]) + names)


_KEPT_MAX = 6_000
"""Texts of which the reading is kept: a conversation is rendered again and again, with what was said before and a little more."""


@kept(_KEPT_MAX)
def _runs(text: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The runs of telling words beside each other in an English text, each of at most a few words, with their stems."""
    runs: list[tuple[str, tuple[str, ...]]] = []
    run: list[str] = []
    stems: list[str] = []
    for word in [*_WORD.findall(text), ""]:
        if stem := vocabulary.told(word):
            run.append(word)
            stems.append(stem)
        if run and (not stem or len(run) == _WORDS_MAX):
            runs.append((" ".join(run), tuple(stems)))
            run, stems = [], []
    return tuple(runs)


class _Chinese:
    """The names a message says, else the runs of characters in it that come up most."""

    def __init__(self, said: Sequence[Fact], names: Sequence[str]) -> None:
        from plimsoll.summary import dense_zh, names_zh  # noqa: PLC0415 - one language's patterns are enough

        self.nouns, self.whole, self.names = dense_zh.nouns, "\n".join(fact.text for fact in said), names
        self.known: dict[str, _Phrase] = {}
        self.named = names_zh.one_of(names)

    def phrases(self, texts: Sequence[str]) -> list[_Phrase]:
        """Those of one message."""
        text = "，".join(texts)
        found = [name for name in self.names if name in text] if self.named.search(text) is not None else []
        if not found and len(self.names) < _TOPICS_MAX:  # where names come up, other words are hardly what it is about
            found = self.nouns(text, _EDGES)
        return [self.phrase(noun) for noun in dict.fromkeys(found)]

    def phrase(self, text: str) -> _Phrase:
        """A phrase, known by itself."""
        known = self.known.get(text)
        if known is None:
            known = self.known[text] = _Phrase(text, text, min(9, self.whole.count(text)) + len(text) / 10)
        return known


def _by_message(facts: Sequence[Fact]) -> Iterator[tuple[int, list[str]]]:
    texts: dict[int, list[str]] = {}
    for fact in facts:
        texts.setdefault(fact.position, []).append(topic_of(fact) or fact.text)
    yield from texts.items()
