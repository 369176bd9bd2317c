"""English statements said short: fillers, greetings and articles go; names, numbers, dates and what happened stay."""

from __future__ import annotations

import re
from functools import partial, reduce
from itertools import chain
from math import exp
from operator import or_
from typing import TYPE_CHECKING

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.summary.kept import kept
from plimsoll.summary.ledger.fact import LIST, is_recalled, speaker_of
from plimsoll.summary.ledger.sentences import STOP, has_digit
from plimsoll.summary.listening import ASKS, Talk, listen
from plimsoll.summary.scripts import is_english, is_spaceless
from plimsoll.summary.vocabulary import FIRST, GENERIC, SIGN_SUMS, SIGNS, content, drops, read, says_something

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from plimsoll.summary.ledger import Fact

# A lookahead for the first character makes these patterns fail fast: they are tried at every character of a conversation.
_CLAUSE = regex(rf"(?=[\s–—;.])(?:(?<=[^\W\d])[–—](?=[^\W\d])|;\s*|\s*\.\.\.\s*|(?<=[!?])\s+|{STOP}\s+)")
"""Where a sentence says another thing. A dash between spaces and a conjunction go on with what was said, and keep its subject."""

_SEPARATORS = (". ", "! ", "? ", "...", ";", "–", "—")
"""What `_CLAUSE` splits at has one of these; most sentences have none."""

_CONNECTIVE = regex(
    r"\s+(?=(?:u[hm]+|erm|you know|i mean|so|but|because|and (?:then|so|i|it|we|he|she|they|there|that))\s)"
)
_SPEECH_CHARS_MIN = 100
"""What is longer and has no punctuation was written down as it was spoken."""

_HESITATION = regex(
    r", (?:u[hm]+|erm|like|you know|i mean|let me (?:see|think)|lol|haha|tbh)(?:,|(?=[.!?]*\Z))", re.IGNORECASE
)
"""What speakers put between two commas while they look for words."""

_EMOJI = regex("\\s*[\u2600-\u27bf\ufe0f\u200d\U0001f300-\U0001faff]+\\s*")

_OPENING = regex(
    r"(?:(?:wow|oh|ooh|ah|hey|hi|hello|yeah|yep|yup|yes|nope|nah|haha|lol|omg|yay|aww?|ugh|hmm|whoa|oops|and|but|plus|btw"
    r"|fyi|by the way|anyway)"
    r"(?:[,!.]+\s*|\s+|\Z)"
    r"|good (?:morning|afternoon|evening)(?: (?:everybody|everyone|all))?(?:[,!.]+\s*|\Z)"
    r"|(?:no way|thanks(?: (?:so much|a lot|a bunch))?|thank you|awesome|cool|great|nice|sweet|sure(?: thing)?|absolutely"
    r"|definitely|totally|ok|okay|well|so|also|actually|right|of course|sorry|congrats|congratulations|like i said"
    r"|sounds (?:great|good|fun|awesome|amazing)|(?:ever )?since (?:we|our) last \w+|i (?:think|guess|mean|know|feel like)"
    r"|you know)(?:[,!.]+\s*|\s+(?=i|we|my|it|that)|\Z)"
    r"|that\s+(?=(?:i|we|he|she|they|it)\b))",
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

_ASKED_OF_YOU = frozenset(
    "you your you're you've do did does have has had any can could would will was were are is the a an got".split()
)
"""Words of questions that say nothing about what is asked."""

_HAVING = frozenset(("have", "has"))
_HAD = frozenset("it them him her one ones this that these those some any none both all nothing everything to".split())
"""What `have` and `has` are verbs of their own in front of: "I have it", "we have to leave"."""

_BEFORE_BE = frozenset(
    "to can could may might must should will would won't can't cannot couldn't shouldn't wouldn't mustn't".split()
)
"""What says more of a `be` than that something is."""

_REFERS = regex(
    r"(?:and |but |so |which )?(?:it|they|he|she|that|this|these|those)(?:['’](?:s|re|d|ll))? ", re.IGNORECASE
)
"""The start of a clause whose subject stands in the one before it."""

_SUBJECT_CHARS_MAX = 60

_ANSWER_WORDS, _ANSWER_CHARS, _QUESTION_CHARS_MAX = 4, 8, 36
_FIRST_PERSON = regex(r"\b(?=[imowu])(?:i|my|we|our|me|us|mine)\b", re.IGNORECASE)
_NAMED = 1.5
"""What a word is worth besides in a name."""

_MEDIA = regex(r"\[[a-z ]{0,20}(?:image|photo|picture)[a-z ]{0,20}: (?:an? (?:photo|picture|image)\w{0,6} of )?")
"""How a picture's caption begins in a transcript."""

_NAME = regex(r"(?<=[a-z,] )[A-Z][\w'&]+|\"[^\"]{2,60}\"")
_ELLIPSIS = regex(
    r"(?:i|we|you|he|she|it|they)(?: (?:do|did|does|can|could|will|would|have|has|had|am|is|are|was|were)|['’](?:d|ll))(?:,|\Z)",
    re.IGNORECASE,
)
"""The start of an answer whose verb stands in its question: "I do, on Friday"."""


class Clause(NamedTuple):
    """A candidate statement: its short form and the words that carry its information, with what each is worth."""

    text: str
    """A short answer has its question in front."""
    speaker: str
    order: tuple[int, ...]
    words: dict[str, float]
    factor: float
    """First-person events with a time are what people ask about later; praise and questions hardly are."""
    subject: str = ""
    """The clause before it, shortened, where its own subject is a pronoun."""


class _Short(NamedTuple):
    """What a clause says by itself."""

    text: str
    words: tuple[str, ...]
    """The words that carry information, each once, without what speakers are called."""
    names: tuple[str, ...]
    """Those of them that are part of a name."""
    sign: float
    """What those of `SIGNS` count that depend on nothing else: `second` to `digit`, and `generic`."""
    says_something: bool


def clauses(facts: Sequence[Fact], talk: Talk | None = None, places: Iterable[int] | None = None) -> list[Clause]:
    """The clauses of these chat facts that say something, in order, each shortened; all of them where none does. Linear.

    With `places`, only those of the facts there. `talk` is what `listen` made of the facts.
    """
    talk = talk or listen(facts)
    found = list(_clauses(facts, talk, range(len(facts)) if places is None else places))
    known = talk.worths
    made: list[Clause] = []
    for short, clause in [pair for pair in found if pair[0].says_something] or found:
        words = clause.words
        for word in short.words:
            words[word] = known[word] if word in known else talk.worth(word)
        for word in short.names:
            if word in words:
                words[word] += _NAMED
        made.append(clause)
    return made


def _clauses(facts: Sequence[Fact], talk: Talk, places: Iterable[int]) -> Iterator[tuple[_Short, Clause]]:
    """The clauses of the facts at these places, whose words are not weighed yet, with what each says by itself."""
    callings, shortens = talk.callings, is_english([fact.text for fact in facts])
    shortened = partial(_shortened, callings=callings, shortens=shortens)
    for place in places:
        fact, asker = facts[place], talk.asked[place]
        text, state, speaker = fact.text, fact.state, speaker_of(fact)
        # An earlier summary chose what was read back from it, which has lost its `I` there.
        is_kept = is_recalled(fact) and not text.startswith("[")
        of_self = is_kept or speaker == "user"
        if not of_self:
            of_self = _FIRST_PERSON.search(text) is not None if shortens else _tells_of_self(fact)
        told = SIGNS["first"] * of_self + SIGNS["recalled"] * is_kept + SIGNS["list"] * (state == LIST)
        asked = shortened(_asked(facts, asker)) if asker >= 0 else ""
        parts = _parts(text)
        for at, raw in enumerate(parts):
            short = _read(raw, callings, shortens=shortens)
            shown = short.text
            if not shown:
                continue
            is_question = raw.rstrip().endswith(ASKS) or (state == "question" and raw == text)
            answers = bool(asked) and at == 0
            if answers and not is_question and (_is_short(shown) or _ELLIPSIS.match(raw) is not None):
                shown = _with_question(shown, asked)
            sign = (
                told + short.sign + SIGNS["question"] * is_question + SIGNS["answers"] * (answers and speaker != "user")
            )
            subject = ""
            # A value of what it does not name: "It cost £42".
            if has_digit(short.text) and _REFERS.match(raw.lstrip()):
                before = shortened(parts[at - 1] if at else _sentence_before(facts, place))
                subject = before if len(before) <= _SUBJECT_CHARS_MAX else ""
            yield short, Clause(shown, speaker, (fact.position, place, at), {}, exp(sign), subject)


def _sentence_before(facts: Sequence[Fact], place: int) -> str:
    """The last clause of the sentence before, in the same message."""
    is_same = place > 0 and facts[place - 1].position == facts[place].position
    return _parts(facts[place - 1].text)[-1] if is_same else ""


def _tells_of_self(fact: Fact) -> bool:
    """Whether a statement in any language has a word of the first person."""
    return any(read(part)[1] & FIRST for part in fact.text.split())


def _parts(text: str) -> Sequence[str]:
    """The clauses of a sentence; of long speech without any punctuation, what its connectives begin."""
    if any(map(text.__contains__, _SEPARATORS)):
        return _CLAUSE.split(text)
    return _CONNECTIVE.split(text) if len(text) > _SPEECH_CHARS_MIN and text.isascii() and "," not in text else (text,)


def _question(text: str) -> str:
    """The last clause of a sentence that asks; all of it where its end does not show which."""
    return next((part for part in reversed(_parts(text)) if part.rstrip().endswith(ASKS)), text)


def _asked(facts: Sequence[Fact], asker: int) -> str:
    """The question that a statement asks; what it asks about, where it only asks for it: "Tom writes the plan. By when?"."""
    question = _question(facts[asker].text)
    return question if content(question) else _sentence_before(facts, asker) or question


def _is_short(answer: str) -> bool:
    """Whether an answer has few words; in a script without spaces, few characters."""
    return len(answer) < _ANSWER_CHARS if is_spaceless(answer) else answer.count(" ") < _ANSWER_WORDS


def _with_question(answer: str, question: str) -> str:
    """A short answer behind what its question asks about, if the question says that shortly and the answer does not."""
    words = [word for word in question.rstrip("".join(ASKS)).split() if word.casefold().strip(",") not in _ASKED_OF_YOU]
    about = " ".join(words)
    if not words or len(about) > _QUESTION_CHARS_MAX or set(content(about)) <= set(content(answer)):
        return answer
    return f"({about}?) {answer}"


@kept(6_000)
def _read(clause: str, callings: frozenset[str], *, shortens: bool) -> _Short:
    """A clause, shortened if it is English. Readings are kept: a conversation is rendered several times, with few new clauses."""
    short = _shortened(clause, callings, shortens=shortens)
    heard = list(map(read, short.lower().split()))  # as `listen` has read them
    words = list(chain.from_iterable([stems for stems, _ in heard]))
    # Names are capital letters after the first one, or quoted: most clauses have neither, and are not searched.
    has_names = '"' in short or not short[1:].islower()
    names = tuple([word for name in _NAME.findall(short) for word in content(name)]) if has_names else ()
    told = SIGN_SUMS[reduce(or_, [signs for _, signs in heard], 0) & ~FIRST]  # that is told of the whole sentence
    generic = sum(map(GENERIC.__contains__, words)) / max(1, len(words))
    distinct = tuple([word for word in dict.fromkeys(words) if word not in callings])
    return _Short(short, distinct, names, told + SIGNS["generic"] * generic, says_something(distinct))


def _shortened(clause: str, callings: frozenset[str], *, shortens: bool) -> str:
    return shorten(clause, callings) if shortens else clause.strip(" ,.!;:-。！、")


def shorten(text: str, callings: Iterable[str] = ()) -> str:
    """A clause without opening fillers, names, articles and auxiliaries: "I just got a new cat!" is "got new cat"."""
    text = (text if text.isascii() else _EMOJI.sub(", ", text)).strip(" ,.!;:-")
    text = _HESITATION.sub("", text) if ", " in text else text
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
        goes = [at == 0 or any(map(drops, words[at + 1 : at + 2])) for at in range(len(words))]
        words = [word for word, is_loose in zip(words, goes, strict=True) if word not in ("it", "It") or not is_loose]
    goes = list(map(drops, words))
    for at, is_loose in enumerate(goes):
        if is_loose and _carries(words[at], words[at - 1] if at else "", words[at + 1] if at + 1 < len(words) else ""):
            goes[at] = False
    if "," in text:
        _keep_commas(words, goes)
    return " ".join([word for word, is_loose in zip(words, goes, strict=True) if not is_loose]).strip(" ,.!-")


def _carries(word: str, before: str, after: str) -> bool:
    """Whether a word that readers mostly do without says something between these: "too dear", "to be", "at 8 am", "Plan A"."""
    bare = word.strip(",.!?")
    if bare in _HAVING:
        return after.strip(",.!?") in _HAD
    if bare == "be":
        return before in _BEFORE_BE
    if bare == "the":
        return after in ("last", "next")
    if bare == "too":
        return bool(after) and bare == word
    if bare == "am":
        return before[-1:].isdigit()
    return bare[:1].isupper() and bare[:1] != "I" and bool(before)


def _keep_commas(words: list[str], goes: Sequence[bool]) -> None:
    """Move the comma behind each word that goes to the word before it that stays: clauses must not run together."""
    before = -1
    for at, word in enumerate(words):
        if not goes[at]:
            before = at
        elif before >= 0 and word.endswith(",") and words[before][-1].isalnum():
            words[before] += ","
