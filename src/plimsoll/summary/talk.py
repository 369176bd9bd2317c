"""A dialogue's sections: which statements stay, chosen so that each adds what the others do not say, and who made them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from plimsoll.summary import layout, superseded, updates
from plimsoll.summary.choosing import Candidate, length, ranked
from plimsoll.summary.item import Item, Section
from plimsoll.summary.ledger.dates import day_in, resolved, shown
from plimsoll.summary.ledger.fact import (
    RECALLED_OF_PEERS,
    Fact,
    is_recalled,
    speaker_of,
    speakers_of,
)
from plimsoll.summary.listening import likely, listen, taken_up
from plimsoll.summary.sections import DIALOGUE_SHARES, asking_share
from plimsoll.summary.speakers import authors, has_speakers, reworded, statements
from plimsoll.summary.topics import topics

if TYPE_CHECKING:
    from plimsoll.summary.dense import Clause
    from plimsoll.summary.dense_zh import Statement
    from plimsoll.summary.frame import Language
    from plimsoll.summary.labels import Labels
    from plimsoll.summary.ledger import Ledger

_OVERHEAD_CHARS = {"en": 18, "zh": 2}
"""About what a statement costs beyond its text: a separator and its part of labels and headings."""

_HEADING_CHARS = 24
"""What the first statement under a heading costs besides: six tokens of a day."""

_TOPICS_SHARE = 5.0
_TOPICS_SHARE_OF_PEERS = 0.4
_SIDES = ("told", "decision")
_PEER_SHARE = 0.2
_PEERS_ASK = 0.25
"""Two talk as peers where the user says so much of what is worth keeping and hardly asks for anything."""

_STEERS, _STEERING_SHARE = 3.0, 0.5
"""What the words of a user are worth besides, the less they are; none from this share of all words on."""

_TAKEN_UP = 2.0
"""What a statement of an assistant is worth that has a name which the user says too: the hotel that was booked, of five."""

_SIDE_MIN = 0.3
"""Of what is said in a dialogue each side gets at least this part."""

_SIDES_TOKENS_MIN = 300
_CHARS_PER_TOKEN = {"en": 4.5, "zh": 2.0}


def sections(
    ledger: Ledger,
    words: Labels,
    bias: Callable[[str], float],
    tokens_max: int,
    is_said: Callable[[Fact], bool],
) -> list[Section]:
    """Candidate statements, best first, and what a dialogue was about; ranking stops at twice what there is room for.

    What a user told and what the assistant concluded are apart, without what `is_said` elsewhere. People with names are in one
    section, and so are several users or assistants, and a user and an assistant who talk as peers, each line with who said it.
    """
    named, language = has_speakers(ledger), words.language
    several = authors(ledger, "user") | authors(ledger, "assistant") if not named else frozenset[str]()
    said = statements(ledger, named=named, several=several)
    said, worth = superseded.current(said) if not named else (said, {})
    named = named or bool(several)
    if not said:
        return []
    together: Callable[[Sequence[Item]], str]
    told_of = _Statements(ledger, said, worth, bias, language, named=named)
    by_topic, subjects = told_of.by_topic, told_of.subjects
    chars = int(tokens_max * _CHARS_PER_TOKEN[language])
    best = told_of.best(chars)
    spread = told_of.talk.spread if told_of.talk is not None else None
    came_up = topics(ledger, said, language, tokens_max, named=named, subjects=subjects, spread=spread)
    about = Section("topic", _TOPICS_SHARE_OF_PEERS, came_up, layout.inline)
    if named:
        names = {short: name for name, short in _initials(speakers_of(said)).items()}
        together = layout.topical if by_topic else partial(_by_name, names)
        return [Section("chat", DIALOGUE_SHARES["chat"], _without(best, said, is_said), together), about]
    rest = _without(best, said, is_said)
    sides = {name: [item for item in rest if _side_of(item, said) == name] for name in _SIDES}
    for name in [name for name, items in sides.items() if not items]:  # the other's are worth more, and fill the list
        sides[name] = _without(told_of.of_side(name, chars), said, is_said)
    told = _told_share(rest, said, chars)
    if _are_peers(ledger, told):
        together = partial(layout.topical, user=words.user) if by_topic else layout.spoken
        name = "chat" if language == "zh" and not by_topic else "peers"  # the Chinese title of peers explains a mark
        return [Section(name, DIALOGUE_SHARES["chat"], rest, together), about]
    least = (
        _SIDE_MIN if tokens_max >= _SIDES_TOKENS_MIN else 0.5
    )  # in little room each side needs half of it for one line
    told = min(1 - least, max(least, told)) if all(sides.values()) else told
    shares = {"told": DIALOGUE_SHARES["chat"] * told, "decision": DIALOGUE_SHARES["chat"] * (1 - told)}
    apart = layout.topical if by_topic else layout.noted
    return [
        *(Section(name, shares[name], items, apart) for name, items in sides.items()),
        about._replace(share=_TOPICS_SHARE),
    ]


class _Statements:
    """What was said, as candidates: those that may find room, or all of a side."""

    def __init__(  # noqa: PLR0913 - what was said, and how it is read
        self,
        ledger: Ledger,
        said: Sequence[Fact],
        worth: Mapping[str, float],
        bias: Callable[[str], float],
        language: Language,
        *,
        named: bool,
    ) -> None:
        self.ledger, self.said, self.bias, self.language, self.named = ledger, said, bias, language, named
        self.by_topic = language == "zh" and not (named or ledger.of("heading"))
        self.subjects = _subjects(said) if language == "zh" else []
        self.talk = listen(said) if language != "zh" else None
        self.weights = [1.0] * len(said) if named and not worth else self._weighed(worth)

    def _weighed(self, worth: Mapping[str, float]) -> list[float]:
        """What each statement is worth besides, by what replaces it and whose it is."""
        taken = set[int]() if self.named or self.talk is None else taken_up(self.said)
        steers = 1.0 if self.named else _steering(self.said)
        return [
            worth.get(fact.key, 1.0) * (steers if fact.origin == "user" else _TAKEN_UP if place in taken else 1.0)
            for place, fact in enumerate(self.said)
        ]

    def best(self, chars: int) -> list[Item]:
        """Those that add most, best first, up to twice the room."""
        places = likely(self.talk, self.said, self._biased(), chars) if self.talk is not None else None
        best = self._ranked(self._candidates(places), chars * 2)
        if places is None or len(places) == len(self.said) or sum(len(item.text) for item in best) >= chars:
            return best
        return self._ranked(self._candidates(None), chars * 2)

    def of_side(self, name: str, chars: int) -> list[Item]:
        """Those of one side."""
        places = [place for place, fact in enumerate(self.said) if _side_of_fact(fact) == name]
        candidates = self._candidates(places if self.talk is not None else None)
        alone = [candidate for candidate in candidates if _side_of(candidate[0], self.said) == name]
        return self._ranked(alone, chars)

    def _ranked(self, candidates: Sequence[Candidate], chars: int) -> list[Item]:
        heading = 0 if self.by_topic else _HEADING_CHARS
        return ranked(candidates, chars, _OVERHEAD_CHARS[self.language], heading)

    def _biased(self) -> list[float]:
        return [weight * self.bias(fact.text) for weight, fact in zip(self.weights, self.said, strict=True)]

    def _candidates(self, places: Sequence[int] | None) -> list[Candidate]:
        """The candidates of the statements at these places, or of all."""
        if self.talk is not None:
            from plimsoll.summary import dense  # noqa: PLC0415 - one language's patterns are enough

            clauses = dense.clauses(self.said, self.talk, places)
            made = _by_speaker(self.ledger, self.said, clauses, self.bias, self.language, named=self.named)
            if not self.named:
                made = _with_updates(made, self.said)
        else:
            from plimsoll.summary import dense_zh  # noqa: PLC0415

            told = dense_zh.statements(self.said, self.subjects)
            made = (
                _by_topic(self.said, told, self.bias, named=self.named)
                if self.by_topic
                else _by_speaker(self.ledger, self.said, told, self.bias, self.language, named=self.named)
            )
        return [(item, words, whose, factor * self.weights[item.order[1]]) for item, words, whose, factor in made]


def _with_updates(candidates: Sequence[Candidate], said: Sequence[Fact]) -> list[Candidate]:
    """Of values that a user changed, the newest is worth most."""
    own = [at for at, (item, *_) in enumerate(candidates) if said[item.order[1]].origin == "user"]
    worths = dict(zip(own, updates.worth([(candidates[at][0].text, candidates[at][1]) for at in own]), strict=True))
    return [
        (item, words, whose, factor * worths.get(at, 1.0)) for at, (item, words, whose, factor) in enumerate(candidates)
    ]


def _steering(said: Sequence[Fact]) -> float:
    """What a user's words are worth, who says little to an assistant that writes much: they decide what of it holds."""
    chars = sum(len(fact.text) for fact in said)
    share = sum(len(fact.text) for fact in said if fact.origin == "user") / max(1, chars)
    return 1.0 + _STEERS * max(0.0, 1.0 - share / _STEERING_SHARE)


def _without(items: Sequence[Item], said: Sequence[Fact], is_said: Callable[[Fact], bool]) -> list[Item]:
    """The statements that are not said elsewhere."""
    facts = ((item, said[item.order[1]]) for item in items)
    return [item for item, fact in facts if not (is_said(fact) or is_said(reworded(fact, item.text, fact.note)))]


def _side_of(item: Item, said: Sequence[Fact]) -> str:
    return _side_of_fact(said[item.order[1]])


def _side_of_fact(fact: Fact) -> str:
    return _SIDES[fact.origin != "user"]


def _are_peers(ledger: Ledger, told: float) -> bool:
    """Whether both tell and neither serves; a summary that was read back has found so already."""
    recalled = {fact.state for fact in ledger.of("chat") if is_recalled(fact)}
    if recalled:
        return RECALLED_OF_PEERS in recalled
    return told >= _PEER_SHARE and asking_share(ledger) <= _PEERS_ASK


def _told_share(best: Sequence[Item], said: Sequence[Fact], chars: int) -> float:
    """The user's part of the best statements that there is room for."""
    lengths = {True: 0, False: 1}
    for item in best:
        if sum(lengths.values()) > chars:
            break
        lengths[said[item.order[1]].origin == "user"] += length(item.text)
    return lengths[True] / sum(lengths.values())


def _subjects(said: Sequence[Fact]) -> list[str]:
    from plimsoll.summary import names_zh  # noqa: PLC0415 - one language's patterns are enough

    return names_zh.topics(said)


def _by_topic(
    said: Sequence[Fact], statements: Iterable[Statement], bias: Callable[[str], float], *, named: bool
) -> list[Candidate]:
    candidates: list[Candidate] = []
    for found in statements:
        side = _side(said[found.order[1]], named=named)
        item = Item("chat", found.text, 0.0, found.order, found.topic, side)
        candidates.append((item, found.words, found.topic, found.factor * bias(found.text)))
    return candidates


def _side(fact: Fact, *, named: bool) -> str:
    return "user" if fact.origin == "user" and not named else ""


def _by_speaker(  # noqa: PLR0913 - what was said, and how it is read
    ledger: Ledger,
    said: Sequence[Fact],
    statements: Iterable[Statement | Clause],
    bias: Callable[[str], float],
    language: Language,
    *,
    named: bool,
) -> list[Candidate]:
    """In the order of the talk, under the headings of its days. What an assistant repeats of a user's words is no news."""
    headings = _Headings(ledger, language)
    initials = _initials(speakers_of(said))
    candidates: list[Candidate] = []
    for found in statements:
        heading, text = headings.over(found.order[0], found.text)
        speaker = speaker_of(said[found.order[1]])
        item = Item("chat", text, 0.0, found.order, heading, initials[speaker], found.subject)
        candidates.append((item, found.words, speaker if named else "", found.factor * bias(found.text)))
    return candidates


def _by_name(names: Mapping[str, str], items: Sequence[Item]) -> str:
    """Statements by speaker: behind whole names, or behind `names` of one letter and their legend where that is shorter."""
    whole = layout.spoken([item._replace(label=names[item.label]) for item in items])
    said = dict.fromkeys(item.label for item in items)
    legend = ", ".join(f"{short} = {names[short]}" for short in sorted(said) if short != names[short])
    return min((f"({legend})\n" if legend else "") + layout.spoken(items), whole, key=len)


class _Headings:
    """The headings over what was said; one that names a day is shown as that day."""

    def __init__(self, ledger: Ledger, language: Language) -> None:
        found = [(fact.position, day_in(fact.text), fact.text) for fact in ledger.of("heading")]
        self.positions = [position for position, _, _ in found]
        self.shown = [(shown(day, language) if day else text, day) for _, day, text in found]

    def over(self, position: int, text: str) -> tuple[str, str]:
        """The newest heading at or before a position, and the text with the days that it means by then."""
        at = bisect_right(self.positions, position) - 1
        if at < 0:
            return "", text
        heading, day = self.shown[at]
        return heading, resolved(text, day) if day else text


def _initials(names: Iterable[str]) -> dict[str, str]:
    """A short label for each speaker: the first letter of a name where no other speaker shares it."""
    distinct = sorted(set(names))
    letters = [name[:1] for name in distinct]
    return {
        name: name[0]
        if name not in ("user", "assistant", "tool") and len(name) > 3 and letters.count(name[0]) == 1
        else name
        for name in distinct
    }
