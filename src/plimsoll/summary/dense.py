"""English statements said short: fillers, greetings and articles go; names, numbers, dates and what happened stay."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain, filterfalse
from math import exp, log
from typing import TYPE_CHECKING, NamedTuple

from plimsoll.light.regex import regex
from plimsoll.summary.kept import kept
from plimsoll.summary.ledger.fact import is_recalled, speaker_of, speakers_of
from plimsoll.summary.ledger.sentences import STOP, has_digit
from plimsoll.summary.scripts import MARKS, is_english, is_spaceless, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from plimsoll.summary.ledger import Fact

# A lookahead for the first character makes these patterns fail fast: they are tried at every character of a conversation.
_CLAUSE = regex(
    r"(?=[\s–—;.,])(?:\s+[-–—]+\s+|[–—;]\s*|\s*\.\.\.\s*|(?<=[!?])\s+"
    rf"|{STOP}\s+|, (?i:(?=but |so |which |and (?:it|that|he|she|they|we|i|now) )))"
)
_ASKS = ("?", "？", "؟")
_SEPARATORS = (", ", ". ", "! ", "? ", " -", "...", ";", "–", "—")
"""What `_CLAUSE` splits at has one of these; most sentences have none."""

_OPENING = regex(
    r"(?:(?:wow|oh|ooh|ah|hey|hi|hello|yeah|yep|yup|yes|nope|nah|haha|lol|aww?|ugh|hmm|whoa|oops|and|but|plus|btw"
    r"|fyi|by the way|anyway)"
    r"(?:[,!.]+\s*|\s+|\Z)"
    r"|(?:no way|thanks(?: (?:so much|a lot|a bunch))?|thank you|awesome|cool|great|nice|sweet|sure(?: thing)?|absolutely"
    r"|definitely|totally|ok|okay|well|so|also|actually|right|of course|sorry|congrats|congratulations|like i said"
    r"|sounds (?:great|good|fun|awesome|amazing)|(?:ever )?since (?:we|our) last \w+|i (?:think|guess|mean|know|feel like)"
    r"|you know)(?:[,!.]+\s*|\s+(?=i|we|my|it|that)|\Z))",
    re.IGNORECASE,
)
_LOOSE = regex(
    r"(?<![\w-])(?=[aklrsty])"
    r"(?:an? (?:lot|bit|couple|bunch) of|lots of|(?:kind|sort) of|a (?:lot|bit)|as well|you know|at all|right now"
    r"|these days|(?<!or )so(?! that)|this(?! (?:week|month|year|morning|afternoon|evening|spring|summer|fall|autumn|winter|past)))"
    r"(?![\w'’-]) ?",
    re.IGNORECASE,
)
"""Words that tell how much, and `this` but where it tells when."""

_WORD = regex(rf"[^\W_][\w{MARKS}'’:.,/$%-]*[\w{MARKS}%]|[^\W_]|\$[0-9.,]+")
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
_ASKED_OF_YOU = frozenset(
    "you your you're you've do did does have has had any can could would will was were are is the a an got".split()
)
"""Words of questions that say nothing about what is asked."""

_ANSWER_WORDS, _ANSWER_CHARS, _QUESTION_CHARS_MAX = 4, 8, 36
_ANSWERED = "?"

_GENERIC = frozenset(
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

_NOT_TELLING = _STOP | _GENERIC | _DROPPED | _ASKING

_TIMES = frozenset(
    """
    yesterday today tonight tomorrow last next ago since weekend week month year years morning evening monday tuesday
    wednesday thursday friday saturday sunday january february march april may june july august september october november
    december birthday summer winter spring fall recently soon first
    """.split()
)
_FIRST_PERSON = regex(r"\b(?=[imowu])(?:i|my|we|our|me|us|mine)\b", re.IGNORECASE)
_SECOND_PERSON = frozenset("you your yours".split())
_EVENTS = frozenset(
    """
    went took got bought made saw met had won lost found read ran gave moved started began wrote became grew fell broke named
    called favorite favourite plan planning working live lives allergic born married dog cat son daughter brother sister mom
    dad husband wife job work school class book movie game song band trip visited
    """.split()
)
_EVENT = regex(r"\b(?:[a-z]{3,20}ed|(?:want|hope) to)\b")
_TO_SPACES = str.maketrans(dict.fromkeys("'’\".,;:!?()[]{}<>/\\-–—*&#@$%+=~`^|…", " "))
_SIGNS = {
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

_NAMED = 1.5
"""What a word is worth besides in a name."""

_MEDIA = regex(r"\[[a-z ]{0,20}(?:image|photo|picture)[a-z ]{0,20}: (?:an? (?:photo|picture|image)\w{0,6} of )?")
"""How a picture's caption begins in a transcript."""

_NAME = regex(r"(?<=[a-z,] )[A-Z][\w'&]+|\"[^\"]{2,60}\"")


class Clause(NamedTuple):
    """A candidate statement: its short form and the words that carry its information, with what each is worth."""

    text: str
    speaker: str
    order: tuple[int, ...]
    words: dict[str, float]
    factor: float


class _Short(NamedTuple):
    """What a clause says by itself."""

    text: str
    words: tuple[str, ...]
    """The words that carry information, each once, without what speakers are called."""
    names: tuple[str, ...]
    """Those of them that are part of a name."""
    signs: tuple[float, ...]
    """What those of `_SIGNS` count that depend on nothing else: `second` to `digit`."""
    generic: float
    says_something: bool


class _Piece(NamedTuple):
    """A clause before its words are weighed."""

    short: _Short
    shown: str
    """Its text, a short answer behind its question."""
    speaker: str
    order: tuple[int, ...]
    factor: float
    """First-person events with a time are what people ask about later; praise and questions hardly are."""


def clauses(facts: Sequence[Fact]) -> list[Clause]:
    """The clauses of these chat facts that say something, in order, each shortened; all of them where none does. Linear."""
    callings = frozenset(word.casefold() for name in speakers_of(facts) for word in _callings(name))
    pieces = list(_pieces(facts, callings, shortens=is_english([fact.text for fact in facts])))
    spread = Counter(chain.from_iterable([piece.short.words for piece in pieces]))
    worth = {word: _worth(word, count, len(pieces)) for word, count in spread.items()}
    telling = [piece for piece in pieces if piece.short.says_something] or pieces
    made: list[Clause] = []
    for piece in telling:
        words = {word: worth[word] for word in piece.short.words}
        for word in piece.short.names:
            if word in words:
                words[word] += _NAMED
        made.append(Clause(piece.shown, piece.speaker, piece.order, words, piece.factor))
    return made


def _pieces(facts: Sequence[Fact], callings: frozenset[str], *, shortens: bool) -> Iterator[_Piece]:
    asked, asker = "", ""
    for place, fact in enumerate(facts):
        speaker = speaker_of(fact)
        # An earlier summary chose what was read back from it, which has lost its `I` there.
        is_kept = is_recalled(fact) and not fact.text.startswith("[")
        is_first_person = is_kept or _FIRST_PERSON.search(fact.text) is not None
        has_parts = any(map(fact.text.__contains__, _SEPARATORS))
        for clause, raw in enumerate(_CLAUSE.split(fact.text) if has_parts else (fact.text,)):
            is_question = raw.rstrip().endswith(_ASKS) or (fact.state == "question" and raw == fact.text)
            answers = bool(asked) and speaker != asker
            short = _read(raw, callings, shortens=shortens)
            if short.text:
                shown = short.text
                if answers and not is_question and _is_short(shown):
                    shown, asked = _with_question(shown, asked), _ANSWERED
                signs = (
                    _SIGNS["first"] * is_first_person,
                    *short.signs,
                    _SIGNS["question"] * is_question,
                    _SIGNS["answers"] * answers,
                    _SIGNS["recalled"] * is_kept,
                    short.generic,
                )
                yield _Piece(short, shown, speaker, (fact.position, place, clause), exp(sum(signs)))
            if is_question:
                asked, asker = short.text, speaker
            elif speaker != asker:
                asked = ""


def _is_short(answer: str) -> bool:
    """Whether an answer has few words; in a script without spaces, few characters."""
    return len(answer) < _ANSWER_CHARS if is_spaceless(answer) else answer.count(" ") < _ANSWER_WORDS


def _with_question(answer: str, question: str) -> str:
    """A short answer behind what its question asks about, if the question says that shortly and the answer does not."""
    words = [
        word for word in question.rstrip("".join(_ASKS)).split() if word.casefold().strip(",") not in _ASKED_OF_YOU
    ]
    about = " ".join(words)
    if not words or len(about) > _QUESTION_CHARS_MAX or set(content(about)) <= set(content(answer)):
        return answer
    return f"({about}?) {answer}"


@kept(6_000)
def _read(clause: str, callings: frozenset[str], *, shortens: bool) -> _Short:
    """A clause, shortened if it is English. Readings are kept: a conversation is rendered several times, with few new clauses."""
    short = shorten(clause, callings) if shortens else clause.strip(" ,.!;:-")
    folded = short.lower()
    words, tokens = tuple(content(short)), folded.translate(_TO_SPACES).split()
    # Names are capital letters after the first one, or quoted: most clauses have neither, and are not searched.
    has_names = '"' in short or short[1:] != folded[1:]
    names = tuple(word for name in _NAME.findall(short) for word in content(name)) if has_names else ()
    happened = not _EVENTS.isdisjoint(tokens) or (
        ("ed" in folded or " to" in folded) and _EVENT.search(folded) is not None
    )
    signs = (
        _SIGNS["second"] * (not _SECOND_PERSON.isdisjoint(tokens)),
        _SIGNS["time"] * (not _TIMES.isdisjoint(tokens)),
        _SIGNS["event"] * happened,
        _SIGNS["digit"] * has_digit(short),
    )
    generic = sum(map(_GENERIC.__contains__, words)) / max(1, len(words))
    distinct = tuple([word for word in dict.fromkeys(words) if word not in callings])
    return _Short(short, distinct, names, signs, _SIGNS["generic"] * generic, _says_something(distinct))


def shorten(text: str, callings: Iterable[str] = ()) -> str:
    """A clause without opening fillers, names, articles and auxiliaries: "I just got a new cat!" is "got new cat"."""
    text = text.strip(" ,.!;:-")
    for _ in range(4):
        cut = _OPENING.match(text)
        if cut is None or cut.end() == 0:
            break
        text = text[cut.end() :].lstrip(" ,!.")
        first, _, rest = text.partition(",")
        if first.casefold() in callings:
            text = rest.lstrip()
    head, _, last = text.rpartition(", ")
    if head and last.strip("!.?").casefold() in callings:
        text = head
    text = _LOOSE.sub("", _MEDIA.sub("[photo: ", text) if "[" in text else text)
    words = text.split()
    if "it" in words or "It" in words:
        # An `it` says nothing where a clause begins, or where its verb goes.
        goes = [at == 0 or any(map(_drops, words[at + 1 : at + 2])) for at in range(len(words))]
        words = [word for word, drops in zip(words, goes, strict=True) if word not in ("it", "It") or not drops]
    return " ".join(filterfalse(_drops, words)).replace(" ,", ",").strip(" ,.!-")


def content(text: str) -> list[str]:
    """Its words that carry information, lower-case, plural and possessive endings off."""
    words = _WORD.findall(text.replace("’", "'"))
    return list(filter(None, map(_carried, words if text.isascii() else terms(words))))


@kept(8_192)
def _drops(word: str) -> bool:
    return word.strip(",.!").casefold().replace("’", "'") in _DROPPED


@kept(8_192)
def _carried(word: str) -> str:
    """A word lower-case and without its ending; empty if it carries no information."""
    word = word.casefold()
    return "" if word in _STOP else stem(word)


@kept(8_192)
def is_telling(word: str) -> bool:
    """Whether a word names something: no function word, no word of feeling, no number."""
    bare = word.casefold().replace("’", "'")
    return len(bare) > 2 and bare[0].isalpha() and bare not in _NOT_TELLING and bare not in _TIMES


@kept(8_192)
def stem(word: str) -> str:
    """A word without the commonest English endings, so that `camping`, `camped` and `camp` meet."""
    word = word.removesuffix("'s")
    if len(word) > 5:
        for ending in ("ing", "ed", "es", "s"):
            if word.endswith(ending) and len(word) - len(ending) >= 4:
                return word[: -len(ending)]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _worth(word: str, spread: int, total: int) -> float:
    """Rare words and numbers are worth much, words of feeling little."""
    rare = min(5.0, log((total + 1) / spread))
    return rare * 0.25 if word in _GENERIC else rare + 2.0 if word[0].isdigit() else rare


def _says_something(words: Sequence[str]) -> bool:
    """Whether a clause has two words of substance, or one and a number."""
    specific = len(words) - sum(map(_GENERIC.__contains__, words))
    return specific > 1 or (specific == 1 and any(word[0].isdigit() for word in words))


def _callings(name: str) -> set[str]:
    """What a speaker is called: the whole name, its words, and their short forms of three and four letters."""
    words = name.split()
    return {
        name,
        *words,
        *(word[:3] for word in words if len(word) > 4),
        *(word[:4] for word in words if len(word) > 5),
    }
