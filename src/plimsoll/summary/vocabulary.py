"""English words: which carry information, what they are worth, and what they say of the sentence that they stand in."""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from plimsoll.light.regex import regex
from plimsoll.summary.kept import kept
from plimsoll.summary.ledger.sentences import has_digit
from plimsoll.summary.scripts import MARKS, terms

if TYPE_CHECKING:
    from collections.abc import Sequence

_PATTERN = rf"[^\W_][\w{MARKS}'’:.,/$%-]*[\w{MARKS}%]|[^\W_]|\$[0-9.,]+"
_WORD_OR_BREAK = regex(rf"{_PATTERN}|\n")

_DROPPED = frozenset(
    """
    a an the i i'm i've i'd i'll im ive we we're we've we'd we'll our really just very super totally quite pretty truly
    definitely absolutely actually basically literally honestly it's its that's been am is are was were be being have has
    my some also too even ever such there's gonna here's
    """.split()
)
"""Words a reader does without: the speaker stands in front, and nothing hangs on an article."""

_STOP = frozenset(
    """
    a an and the or of to in on at for from with by as is am are was were be been being it its it's this that these those i
    i'm i've i'd i'll im you your you're you've we our us he she his her they them their me my mine do does did done have has
    had having not no so but if then than what which who when where how why there here just really very too also can could
    would should will may might get got gets getting go goes going gonna one some any all more most much many lot about into
    out up down over again s t don't didn't can't that's there's let let's been because cause cuz
    """.split()
)

GENERIC = frozenset(
    """
    good great nice awesome amazing wonderful cool fantastic incredible inspiring inspired beautiful lovely happy glad
    excited proud love loved like liked thanks thank sure totally absolutely definitely wow hey yeah yep feel feeling feels
    felt think thought know sounds sound look looks looking see seeing thing things something anything everything way make
    makes making made keep time people person life support supportive important special hard tough best better fun enjoy
    enjoying enjoyed well right new day days always never want wanted need needed helps help helping helped try trying take
    taking care share sharing agree hope hear heard mean means bring brings brought world positive journey moments memories
    experience experiences passion strength courage power powerful grateful thankful appreciate congrats congratulations
    welcome luck friend friends tell talk talked chat chatted say said spoke happen happened catch busy pretty
    """.split()
)
"""Words of feeling and agreement: they fill friendly talk and answer no question."""

_ASKING = frozenset(
    """
    please pls add ask call change check create do explain find fix give help let list make please put read recommend remove
    run set show suggest tell translate try update use using write while after before during without within between both each
    every only never must yes same other another however like fine okay
    """.split()
)
"""Words of asking and telling, which stand beside what a sentence is about."""

_NOT_TELLING = _STOP | GENERIC | _DROPPED | _ASKING

_TIMES = frozenset(
    """
    yesterday today tonight tomorrow last next ago since weekend week month year years morning evening monday tuesday
    wednesday thursday friday saturday sunday january february march april may june july august september october november
    december birthday summer winter spring fall recently soon first
    """.split()
)

_SECOND_PERSON = frozenset("you your yours".split())

_EVENTS = frozenset(
    """
    went took got bought made saw met had won lost found read ran gave moved started began wrote became grew fell broke named
    called favorite favourite plan planning working live lives allergic born married dog cat son daughter brother sister mom
    dad husband wife job work school class book movie game song band trip visited
    """.split()
)

SIGNS = {
    "first": 0.7,
    "second": -0.8,
    "time": 0.8,
    "event": 0.2,
    "digit": 0.4,
    "question": -1.2,
    "answers": 1.5,
    "generic": -1.0,
    "recalled": 0.5,
}
"""By how much, as exponents, signs in a statement change its worth."""

BREAK = "\n"
"""Stands between the words of two texts."""

_TOLD = {
    **dict.fromkeys(("i", "my", "we", "our", "me", "us", "mine"), SIGNS["first"]),
    **dict.fromkeys((*_EVENTS, "want", "hope"), SIGNS["event"]),
    **dict.fromkeys(_TIMES, SIGNS["time"]),
    **dict.fromkeys(_SECOND_PERSON, SIGNS["second"]),
}


def words_of(lines: str) -> list[str]:
    """Return the words of texts, one a line, lower-case, with a BREAK between two texts."""
    return _WORD_OR_BREAK.findall(lines.casefold().replace("’", "'"))


@kept(8_192)
def sign(word: str) -> float:
    """Return what a lower-case word changes, as an exponent, of the worth of a statement that it stands in."""
    bare = word.partition("'")[0]
    if known := _TOLD.get(bare):
        return known
    return SIGNS["digit"] if has_digit(word) else SIGNS["event"] if bare.endswith("ed") and len(bare) > 4 else 0.0


def stems(word: str) -> tuple[str, ...]:
    """Return what of a lower-case word carries information: nothing, its stem, or pairs of characters."""
    return tuple(filter(None, map(carried, (word,) if word.isascii() else terms((word,)))))


def content(text: str) -> list[str]:
    """Its words that carry information, lower-case, plural and possessive endings off."""
    return telling(words_of(text))


def telling(words: Sequence[str]) -> list[str]:
    """Those of these lower-case words that carry information, without endings, those of scripts without spaces as pairs."""
    return list(filter(None, map(carried, words if all(map(str.isascii, words)) else terms(words))))


@kept(8_192)
def drops(word: str) -> bool:
    """Whether a reader does without a word."""
    return word.strip(",.!").casefold().replace("’", "'") in _DROPPED


@kept(8_192)
def carried(word: str) -> str:
    """A lower-case word without its ending; empty if it carries no information."""
    return "" if word in _STOP or word == BREAK else stem(word)


@kept(8_192)
def is_telling(word: str) -> bool:
    """Whether a word names something: no function word, no word of feeling, no number."""
    bare = word.casefold().replace("’", "'")
    return len(bare) > 2 and bare[0].isalpha() and bare not in _NOT_TELLING and bare not in _TIMES


def stem(word: str) -> str:
    """A word without the commonest English endings, so that `camping`, `camped` and `camp` meet."""
    word = word.removesuffix("'s")
    if len(word) > 5:
        for ending in ("ing", "ed", "es", "s"):
            if word.endswith(ending) and len(word) - len(ending) >= 4:
                return word[: -len(ending)]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def worth(word: str, spread: int, total: int) -> float:
    """Rare words and numbers are worth much, words of feeling little."""
    rare = min(5.0, log((total + 1) / spread))
    return rare * 0.25 if word in GENERIC else rare + 2.0 if word[0].isdigit() else rare


def says_something(words: Sequence[str]) -> bool:
    """Whether a clause has two words of substance, or one and a number."""
    specific = len(words) - sum(map(GENERIC.__contains__, words))
    return specific > 1 or (specific == 1 and any(word[0].isdigit() for word in words))
