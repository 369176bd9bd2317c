"""English words: which carry information, what they are worth, and what they say of the sentence that they stand in."""

from __future__ import annotations

from functools import reduce
from math import log
from operator import or_
from typing import TYPE_CHECKING, TypeAlias

from plimsoll.light.regex import regex
from plimsoll.summary.kept import kept
from plimsoll.summary.ledger.sentences import NOT_ASCII, has_digit
from plimsoll.summary.scripts import MARKS, is_spaceless, terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WORD = regex(rf"[^\W_][\w{MARKS}'’:.,/$%-]*[\w{MARKS}%]|[^\W_]|\$[0-9.,]+")

_EDGES = ".,!?:;\"'()*"
"""What stands around most words."""

_DROPPED = frozenset(
    """
    a an the i i'm i've i'd i'll im ive we we're we've we'd we'll our really just very super totally quite pretty truly
    definitely absolutely actually basically literally honestly it's its that's been am is are was were be being have has
    um uh uhm erm my some also too even ever such there's gonna here's
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

_NUMBERS = frozenset(
    """
    ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy
    eighty ninety hundred thousand million
    """.split()
)
"""Numbers in words; smaller ones stand in much that is no figure."""

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
    "list": 1.1,
}
"""By how much, as exponents, signs in a statement change its worth."""

_OF_WORDS = ("first", "second", "time", "event", "digit")
FIRST, _SECOND, _TIME, _EVENT, _DIGIT = (1 << at for at in range(len(_OF_WORDS)))
"""The signs that words give, as bits."""

SIGN_SUMS = tuple(
    sum(SIGNS[name] for at, name in enumerate(_OF_WORDS) if signs >> at & 1) for signs in range(1 << len(_OF_WORDS))
)
"""What signs, as bits, change together."""

_FIRST_PERSON_ELSEWHERE = frozenset(
    """
    ich mich mir mein meine meinen meinem meiner wir uns unser unsere je j moi mon ma mes nous notre nos yo mi mis nuestro nuestra
    eu meu minha meus minhas nosso nossa io mio mia miei noi я меня мне мной мой моя моё мои моего моей моему мою мы нас нам наш
    наша наши ik mijn wij ons ja mnie mój moja jag mig
    min mitt vi jeg ben benim bana 저는 제가 저도 저 제 나는 내가 나도 내 우리
    """.split()
)
_SECOND_PERSON_ELSEWHERE = frozenset(
    """
    du dich dir dein deine deinen deinem deiner ihnen euch tu te toi ton tes vous votre vos ti tus usted você seu sua seus suas
    ты тебя тебе тобой твой твоя твоё твои вы вас вам ваш ваша ваши вами jij jouw
    """.split()
)
_TIMES_ELSEWHERE = frozenset(
    """
    gestern heute morgen übermorgen vorgestern woche monat jahr montag dienstag mittwoch donnerstag freitag samstag sonntag
    geburtstag demain aujourd semaine mois année lundi mardi mercredi jeudi vendredi samedi dimanche anniversaire
    ayer hoy mañana semana mes año lunes martes miércoles jueves viernes sábado domingo cumpleaños ontem hoje amanhã mês ano
    вчера сегодня завтра неделю неделе месяц году год понедельник вторник среду четверг пятницу субботу воскресенье
    어제 오늘 내일 작년에 내년 다음
    """.split()
)
"""Words of other languages that say the same; none of them is an English word that is common in talk."""

_TOLD = {
    **dict.fromkeys(_TIMES_ELSEWHERE, _TIME),
    **dict.fromkeys(_SECOND_PERSON_ELSEWHERE, _SECOND),
    **dict.fromkeys(_FIRST_PERSON_ELSEWHERE, FIRST),
    **dict.fromkeys(("i", "my", "we", "our", "me", "us", "mine"), FIRST),
    **dict.fromkeys((*_EVENTS, "want", "hope"), _EVENT),
    **dict.fromkeys(_TIMES, _TIME),
    **dict.fromkeys(_NUMBERS, _DIGIT),
    **dict.fromkeys(_SECOND_PERSON, _SECOND),
}


Reading: TypeAlias = tuple[tuple[str, ...], int]
"""What a part of a text between two spaces says: its stems, and the signs that its words give, as bits. Stems are what of its
words carries information, lower-case and without endings; pairs of characters in scripts without spaces."""


@kept(16_384)
def read(part: str) -> Reading:
    """Read a part of a text between two spaces. No word goes beyond it, and a talk has few distinct ones."""
    word = part.strip(_EDGES)
    if word.isascii() and word.isalpha():
        word = word.lower()
        return () if word in _STOP else (stem(word),), _TOLD.get(word) or _of_event(word)
    words = _WORD.findall(part.casefold().replace("’", "'"))
    return tuple(filter(None, map(carried, terms(words)))), reduce(or_, map(_sign, words), 0)


def _sign(word: str) -> int:
    """Return the sign that a lower-case word gives."""
    bare = word.partition("'")[0]
    return _TOLD.get(bare) or (_DIGIT if has_digit(word) or bare.partition("-")[0] in _NUMBERS else _of_event(bare))


def _of_event(bare: str) -> int:
    return _EVENT if bare.endswith("ed") and len(bare) > 4 else 0


def content(text: str) -> list[str]:
    """Its words that carry information, lower-case, plural and possessive endings off."""
    return [stem for part in text.split() for stem in read(part)[0]]


@kept(8_192)
def drops(word: str) -> bool:
    """Whether a reader does without a word."""
    return word.strip(",.!").casefold().replace("’", "'") in _DROPPED


@kept(8_192)
def carried(word: str) -> str:
    """A lower-case word without its ending; empty if it carries no information."""
    return "" if word in _STOP else stem(word)


def bare(word: str) -> str:
    """A word in lower case, with a plain apostrophe."""
    return word.casefold().replace("’", "'")


@kept(8_192)
def told(word: str) -> str:
    """The stem of a word that names something; empty for function words, words of feeling, numbers and clauses without spaces."""
    found = bare(word)
    names = len(found) > 2 and found[0].isalpha() and found not in _NOT_TELLING and found not in _TIMES
    return stem(found) if names and not is_spaceless(word) else ""


_ENDINGS = {"g": ("ing",), "d": ("ed",), "s": ("es", "s")}
"""The endings that `stem` takes off, by their last letters."""


def stem(word: str) -> str:
    """A word without the commonest English endings, so that `camping`, `camped` and `camp` meet."""
    if word[-1:] not in _ENDINGS:  # as most words
        return word
    word = word.removesuffix("'s")
    if len(word) > 5:
        for ending in _ENDINGS.get(word[-1], ()):
            if word.endswith(ending) and len(word) - len(ending) >= 4:
                return word[: -len(ending)]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def worths(spread: Mapping[str, int], total: int) -> dict[str, float]:
    """What words are worth by how often each is said in so many statements: rare ones and numbers much, words of feeling little."""
    rare = {count: min(5.0, log((total + 1) / min(count, total or 1))) for count in set(spread.values())}
    found = {word: rare[count] for word, count in spread.items()}
    for word in GENERIC.intersection(found):
        found[word] *= 0.25
    for word in [word for word in found if word < _DIGITS_END or word >= NOT_ASCII]:
        if is_number(word):
            found[word] += 2.0
    return found


def says_something(words: Sequence[str]) -> bool:
    """Whether a clause has two words of substance, or one and a number."""
    specific = len(words) - sum(map(GENERIC.__contains__, words))
    return specific > 1 or (specific == 1 and any(map(is_number, words)))


_DIGITS_END = ":"
"""Of words in ASCII only numbers and amounts are less."""


def is_number(word: str) -> bool:
    """Whether a word is a number or an amount of money."""
    return word[0].isdigit() or word[0] == "$"
