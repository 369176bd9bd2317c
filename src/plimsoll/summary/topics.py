"""What a dialogue was about: the words its users keep coming back to, never their sentences."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.summary import vocabulary
from plimsoll.summary.item import Item
from plimsoll.summary.kept import kept
from plimsoll.summary.ledger.fact import CAPS, is_recalled, speakers_of, topic_of
from plimsoll.summary.scripts import MARKS, is_english, is_spaceless

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from plimsoll.summary.frame import Language
    from plimsoll.summary.ledger import Fact, Ledger

_TOPICS_MAX = 12
_TOKENS_EACH = 80
"""So many tokens of a summary there are for each topic."""

_EACH_MAX = 3
"""Topics that one message gives at most."""

_READ_MAX = 400
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
        for phrase in sorted(read.phrases(texts), key=lambda phrase: -phrase.score)[:_EACH_MAX]:
            if phrase.head in names:
                continue
            known, count, first = merged.get(phrase.head, (phrase, 0, position))
            merged[phrase.head] = phrase if phrase.score > known.score else known, count + 1, first
    items = [
        Item("topic", phrase.text[: CAPS["topic"].text_chars_max], count + min(1.0, phrase.score / 20), (first, place))
        for place, (phrase, count, first) in enumerate(merged.values())
    ]
    return sorted(items, key=lambda item: -item.value)[: min(_TOPICS_MAX, tokens_max // _TOKENS_EACH)]


class _English:
    """Runs of telling words; those whose words come up most say most."""

    def __init__(self, spread: Mapping[str, int]) -> None:
        self.spread, self.worth = spread, dict[str, float]()

    def phrases(self, texts: Sequence[str]) -> list[_Phrase]:
        """Those of one message."""
        return [self.phrase(run) for text in texts for run in _runs(text)]

    def phrase(self, text: str) -> _Phrase:
        """A phrase, known by its commonest word."""
        stems, names = _stems(text)
        for stem in stems:
            if stem not in self.worth:
                self.worth[stem] = 1 + log(1 + self.spread.get(stem, 0))
        worth, head = max(zip(map(self.worth.__getitem__, stems), stems, strict=True))
        return _Phrase(text, head, (worth if len(stems) == 1 else sum(map(self.worth.__getitem__, stems))) + names)


_KEPT_MAX = 6_000
"""Texts of which each reading is kept: a conversation is rendered again and again, with what was said before and a little more."""


@kept(_KEPT_MAX)
def _runs(text: str) -> tuple[str, ...]:
    """The runs of telling words beside each other in an English text, each of at most a few words."""
    runs: list[str] = []
    run: list[str] = []
    for word in [*_WORD.findall(text), ""]:
        tells = bool(word) and vocabulary.is_telling(word) and not is_spaceless(word)
        if tells:
            run.append(word)
        if run and (not tells or len(run) == _WORDS_MAX):
            runs.append(" ".join(run))
            run = []
    return tuple(runs)


@kept(_KEPT_MAX)
def _stems(phrase: str) -> tuple[tuple[str, ...], int]:
    """The words of an English phrase without their endings, each once, and how many of its words are capitalised."""
    words = phrase.split(" ")
    stems = dict.fromkeys(map(vocabulary.carried, phrase.casefold().replace("’", "'").split(" ")))
    return tuple(stems), sum(not word[:1].islower() for word in words)


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
