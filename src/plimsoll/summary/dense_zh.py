"""Chinese statements said short and put under what they are about: answers keep their question's noun, fillers go."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain
from math import log
from typing import TYPE_CHECKING

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import led, regex
from plimsoll.summary.kept import kept
from plimsoll.summary.ledger.fact import is_recalled, topic_of
from plimsoll.summary.ledger.sentences import NOT_ASCII, has_digit, pairs
from plimsoll.summary.names_zh import (
    ADDRESS,
    COMMON_ATTRIBUTES,
    FUNCTION,
    NAMED,
    NOISE,
    OPENING,
    QUESTION,
    TITLE,
    introduced,
    may_ask,
    one_of,
    says,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from plimsoll.summary.ledger import Fact

_STOP = led({"，。！？；!?;": "[，。！？；!?;]*", ",": r"(?:(?<=[^\dA-Za-z],)|(?=[^\dA-Za-z ]))", r"\s": r"\s+"})
_CLAUSE, _CLAUSE_AND_STOP = regex(_STOP), regex(f"({_STOP})")
_WHOLE = regex(r"请(?!问)|帮我|麻烦你|给我|^[^你您]{0,60}我(?!觉得|知道|认为|想知)[^你您]{0,60}$")
"""A request, or what a speaker tells of herself, stays whole: who, what and when stand in different clauses."""

_OF_OWN = regex(r"我们?(?:的|家|[\u3400-\u9fff]{0,2}[爸妈哥姐弟妹儿女孩婆公])(?![^《]*《)")
"""What belongs to a speaker, or who: of whatever the talk was before, it is of this now."""

_TAIL = regex(r"(?:[呀啊呢吧哦嘛哈喔啦哟噢的了吗么]|来着|对吧|是吧|对吗|是吗|左右|就可以|就行)+\Z")
_TAIL_ENDS = frozenset("呀啊呢吧哦嘛哈喔啦哟噢的了吗么着右以行")
"""The last characters of all of them."""

_BEHIND = regex(r"的(?=([\u3400-\u9fff]{2,4}))")
_LONG_RUN = regex(r"[\u3400-\u9fff]{2,}")
_FACTUAL = regex(
    led(
        {
            r"\d《“、省市区县路街号楼层": "",
            "A-Za-z": "[A-Za-z]",
            "一二三四五六七八九十百千万": "[年月日元届部座层个处米]",
        }
    )
)
_NUMERAL = regex("[二两三四五六七八九十百千][零一二两三四五六七八九十百千万]|一[百千万]")
"""A number of several characters; many words begin with a single 一 or 万."""

_PERSON = regex(r"(?<![其吉])[他她](?!们)")
_IS_NAMED = regex(rf"(?:是|叫|由)({NAMED}{{2,10}}?)(?=[，。！,]|\Z)")
_WORK = regex(r"[这该][首张部本篇]")
_KNOWN = regex(r"(?:知道|清楚|了解|记得|听说过?)[了的呀啊]?\Z")
_PRAISE = regex(
    r"厉害|不错|喜欢|真好|好棒|值得|推荐|谢谢|有机会|有时间|一定去|想去|打算|去看看|期待|开心|佩服|羡慕|可惜|好的|好了"
)
_RECOMMENDED = regex(r"推荐[^，。]{0,12}《")
_RECOMMENDS = 4.0
"""What a recommendation of a title is worth more: it is asked about later, unlike the praise of one."""

_KEPT_MAX = 4_096
"""Texts of which each reading is kept: a conversation is rendered several times, with nearly the same statements."""

_ASKED_MIN = 3
"""Questions that ask for something before it counts as an attribute."""

_ANSWER_CHARS_MAX = 90
_ADVICE = regex("建议|可以|应该|一定[要会能]|最好|记得|注意|别[忘太担]|不要|每个人|总是")
_ANSWER, _REPLY, _DIGITS, _PARTICULAR, _OF_ME, _RECALLED = 2.4, 1.2, 2.5, 1.5, 1.6, 3.0
"""What makes a statement worth more: it answers what was asked for, or any question; it has digits, or another particular; it is
about who speaks; it was chosen for a summary before."""

_FRAGMENT_CHARS_MAX = 8
"""A shorter clause with a particular says of what it is in the clause before it."""

_DISTINCT_CHARS_MIN = 9
"""A value with digits of this length belongs to one thing: to the one that it was said of most often."""


class Statement(NamedTuple):
    """A candidate: its short form, what it is about, and its character pairs with what each is worth."""

    text: str
    topic: str
    order: tuple[int, ...]
    words: dict[str, float]
    factor: float
    subject: str = ""


class _Said(NamedTuple):
    """A statement before it is weighed."""

    text: str
    topic: str
    order: tuple[int, ...]
    answers: float
    """What makes it worth more for the question before it, 1 where there was none."""
    fact: Fact


def statements(facts: Sequence[Fact], names: Sequence[str]) -> list[Statement]:
    """The clauses of these chat facts that say something, in order, each short and under its topic, one of `names`; none twice."""
    found = _of_one_topic(_Reader(facts, names).read(facts))
    words = [dict.fromkeys(pairs(said.text)) for said in found]
    worth = _worths(Counter(chain.from_iterable(words)), len(found))
    return [
        Statement(
            said.text,
            said.topic,
            said.order,
            dict(zip(of, map(worth.__getitem__, of), strict=True)),
            _factor(said),
            said.topic if said.answers == _ANSWER else "",
        )
        for said, of in zip(found, words, strict=True)
    ]


def _worths(spread: Mapping[str, int], total: int) -> dict[str, float]:
    """What each pair is worth by the number of statements that have it."""
    rare = {count: min(5.0, log((total + 1) / count)) for count in set(spread.values())}
    # A number or a foreign word is one pair here but as long, and as telling, as several.
    return {
        pair: rare[count] + 0.9 * len(pair) if pair < NOT_ASCII and len(pair) > 1 else rare[count]
        for pair, count in spread.items()
    }


def _of_one_topic(found: Sequence[_Said]) -> list[_Said]:
    """Each said once of a topic; a long value with digits only of the topic it was said of most."""
    votes: dict[str, Counter[str]] = {}
    for said in found:
        if _is_distinct(said.text):
            votes.setdefault(said.text, Counter())[said.topic] += 1
    kept: dict[tuple[str, str], _Said] = {}
    for said in found:
        topic = said.topic
        if (topics := votes.get(said.text)) is not None:
            topic = topics.most_common(1)[0][0]
        kept.setdefault((topic, said.text), said if topic == said.topic else said._replace(topic=topic))
    return list(kept.values())


def _is_distinct(text: str) -> bool:
    return len(text) >= _DISTINCT_CHARS_MIN and has_digit(text)


class _Reader:
    """Goes through what was said, knowing what it is about and what was asked last."""

    def __init__(self, facts: Sequence[Fact], names: Sequence[str]) -> None:
        whole = "\n".join(fact.text for fact in facts)
        self.named = one_of(names)
        self.asked_for = attributes(facts, self.named, whole)
        self.topic, self.noun, self.about, self.asked = "", "", "", -2
        self.works = {name for fact in facts for name in TITLE.findall(fact.text)}
        self.latest = {True: "", False: ""}

    def read(self, facts: Sequence[Fact]) -> list[_Said]:
        """The statements, in order."""
        found: list[_Said] = []
        for place, fact in enumerate(facts):
            if is_recalled(fact):  # it is short and under its topic already
                found.append(_Said(fact.text, topic_of(fact), (fact.position, place), _RECALLED, fact))
            else:
                self._fact(fact, place, found)
        return found

    def _fact(self, fact: Fact, place: int, found: list[_Said]) -> None:
        answers = 0 < fact.position - self.asked <= 1
        if not answers:
            self.noun = ""
            self._turn(fact.text, answers=False)
        about, noun = self.about if answers else self.topic, self.noun
        if answers and _OF_OWN.search(fact.text) is not None:
            about = noun = ""
        weight = _ANSWER if noun else _REPLY if answers else 1.0
        whole = answers or _WHOLE.search(fact.text) is not None
        for clause, (short, tells) in enumerate(_runs_of(fact.text, whole=whole)):
            value = _answer(short, noun, self.asked_for) if noun else short
            if value != about and (_says_something(value) if noun else tells):
                found.append(_Said(value, about, (fact.position, place, clause), weight, fact))
        if answers:
            self._turn(fact.text, answers=True)
        self._listen(fact)

    def _listen(self, fact: Fact) -> None:
        """Note what a fact asks, if it does, and of what."""
        asking = _asking(fact.text)
        if asking or fact.state == "question":
            self.noun = self._attribute("，".join(piece for piece in asking if not self._introduces(piece)))
            self.asked, self.about = fact.position, self.topic

    def _introduces(self, text: str) -> str:
        """The names that a question introduces; what else it asks whether one knows is asked for."""
        return "，".join(name for name in introduced(text) if self.named.search(name))

    def _turn(self, text: str, *, answers: bool) -> None:
        """Follow the talk to another topic.

        It goes to what is introduced, to what a sentence begins with, and to the one name that a reply without particulars
        names; a name inside an address or before 的 is passed by. It leaves all of them where a speaker tells of her own.
        """
        if _OF_OWN.search(text) is not None:
            self.topic = ""
            return
        if self.named.search(text) is None:
            self.topic = self._meant(text) or self.topic
            if (told := _IS_NAMED.search(text)) is not None:
                self.latest[False] = told[1]
            return
        found = list(self.named.finditer(text))
        introduced = self._introduces(text)
        opening = OPENING.match(text)
        start = opening.end() if opening is not None else 0
        first, last = found[0], found[-1]
        if (match := next((match for match in found if match[0] in introduced), None)) is not None:
            self.topic = match[0]
        elif first.start() - start <= 3 and not (answers and len(found) > 1):
            self.topic = first[0]
        elif (
            len({match[0] for match in found}) == 1
            and not ADDRESS.search(text)
            and not text.startswith("的", last.end())
        ):
            self.topic = last[0]
        if match is not None:
            self.latest = {True: "", False: ""}
        self.latest[self.topic in self.works] = self.topic

    def _meant(self, text: str) -> str:
        """Whom or what a pronoun takes up: a person is never a title, and what 这首 goes before is one."""
        is_work = self.topic in self.works
        meant = self.latest[not is_work]
        return meant if meant and (_PERSON if is_work else _WORK).search(text) is not None else ""

    def _attribute(self, question: str) -> str:
        """What a question asks for: the longest of the strings that questions keep asking for, the commoner of equals."""
        found, most = "", 0
        for run in _runs(self.named.sub(" ", question)) if question else ():
            parts = [run[at : at + size] for size in (4, 3, 2) for at in range(len(run) - size + 1)]
            for part in filter(self.asked_for.__contains__, parts):
                if (worth := self.asked_for[part] * (len(part) - 1)) > most:
                    found, most = part, worth
        return found


def attributes(facts: Sequence[Fact], named: re.Pattern[str], whole: str) -> dict[str, int]:
    """What questions ask for again and again: an address, a director.

    Found as what is left of questions without names and function words, when it also stands behind 的, as attributes do.
    """
    asked = "\n".join([piece for fact in facts for piece in _asking(fact.text)])
    in_runs, counted = "\n".join(_runs(named.sub(" ", asked))), dict.fromkeys(COMMON_ATTRIBUTES, _ASKED_MIN * 4)
    behind = Counter([after[:size] for after in _BEHIND.findall(whole) for size in range(2, len(after) + 1)])
    learnt = [noun for noun, count in behind.items() if count >= 2 and noun not in counted]
    counted.update((noun, 0) for noun in learnt if in_runs.count(noun) >= _ASKED_MIN)
    for noun in counted:
        at = in_runs.find(noun)
        while at >= 0:  # a run counts once, however often it has the noun
            counted[noun] += 1
            end = in_runs.find("\n", at)
            at = in_runs.find(noun, end) if end >= 0 else -1
    return {noun: count for noun, count in counted.items() if count >= _ASKED_MIN}


def shorten(piece: str) -> str:
    """A clause without opening fillers and closing particles."""
    piece = piece.strip(" 　。，！？,.!?…~;；")
    cut = OPENING.match(piece)
    if cut is not None and len(piece) - cut.end() >= 2:
        piece = piece[cut.end() :].lstrip(" ，,")
    return _TAIL.sub("", piece).strip() if len(piece) > 4 and piece[-1] in _TAIL_ENDS else piece


_JOINT = regex(
    "^，?(?:大约|大概|一般|基本|差不多|也就|就|也|都|只要|只有|只|要|需要|得|能|可以)*(?:是|在|为|有|叫|位于|:|：)*(?:在|于)?"
)


def _answer(short: str, noun: str, asked_for: Mapping[str, int]) -> str:
    """A short answer after the noun its question asked for, or after the one it says itself, without what joins the two."""
    own = next((short[:size] for size in (4, 3, 2) if short[:size] in asked_for), "")
    at = short.find(noun[-2:])
    if short[0] == "我" or (not own and at > 8):
        return short
    value = short.removeprefix(own) if own else short[at + len(noun[-2:]) :] if at >= 0 else short
    return f"{own or noun}{_JOINT.sub('', value) or value}"


@kept(_KEPT_MAX)
def _asking(text: str) -> tuple[str, ...]:
    """Its clauses that ask."""
    if not may_ask(text):
        return ()
    return tuple(piece for piece in _CLAUSE.split(text) if piece and piece.strip() and QUESTION.search(piece))


@kept(_KEPT_MAX)
def _runs_of(text: str, *, whole: bool) -> tuple[tuple[str, bool], ...]:
    """What a sentence tells: its clauses without questions and fillers, short; those of a reply or with particulars together.

    Each with whether it says something when it is short.
    """
    found: list[tuple[str, bool]] = []
    start, end, before, only = -1, -1, -1, ""  # `only` is the short form of a run of one clause
    at, may = 0, may_ask(text)
    parts = [*_CLAUSE_AND_STOP.split(text), ""]
    for piece, stop in zip(parts[::2], parts[1::2], strict=True):
        to = at + len(piece)
        asks = may and QUESTION.search(piece + stop) is not None
        short = "" if asks else shorten(piece)
        particular = _FACTUAL.search(piece) is not None
        joins = whole or particular
        tells = _says_something(short, may_be_particular=particular) and not (
            joins and not particular and "你" in piece
        )
        if start >= 0 and (not tells or not joins or to - start > _ANSWER_CHARS_MAX):
            found.append(_run(text[start:end], only))
            start = -1
        if tells and joins:
            only = short if start < 0 else ""
            if start < 0 and before >= 0 and not whole and to - at <= _FRAGMENT_CHARS_MAX:
                start, only = before, ""
                found.pop()
            start, end, before = (at if start < 0 else start), to, -1
        elif tells:
            found.append((short, True))
        before = at if tells and not joins and stop != "。" else -1
        at = to + len(stop)
    if start >= 0:
        found.append(_run(text[start:end], only))
    return tuple(found)


def _run(text: str, only: str) -> tuple[str, bool]:
    """Several clauses together, or the `only` one, which says something."""
    short = only or shorten(text)
    return short, bool(only) or _says_something(short)


def _runs(question: str) -> list[str]:
    """The runs of Chinese characters in a question once its function words are taken out."""
    return _LONG_RUN.findall(NOISE.sub(" ", question))


def nouns(text: str, edges: str) -> list[str]:
    """The runs of characters in a text that may name something, without function words and `edges` around them."""
    runs = (part.strip(edges) for run in _runs(text) for part in re.split(f"[{FUNCTION}]", run))
    kept = (run for run in runs if 2 <= len(run) <= 8 and run not in COMMON_ATTRIBUTES)
    return [run for run in kept if OPENING.fullmatch(run) is None and _PRAISE.search(run) is None]


def _says_something(short: str, *, may_be_particular: bool = True) -> bool:
    """Whether a clause is more than a greeting, a filler or short praise."""
    if len(short) < 2 or OPENING.fullmatch(short) is not None:
        return False
    if may_be_particular and _FACTUAL.search(short):
        return True
    if len(short) <= 8 and ("你" in short or _KNOWN.search(short) is not None or _PRAISE.search(short) is not None):
        return False
    return says(short)


def _factor(said: _Said) -> float:
    short = said.text
    factor = said.answers
    if has_digit(short):
        factor *= _DIGITS
    elif _FACTUAL.search(short) or _NUMERAL.search(short):
        factor *= _PARTICULAR
    if _RECOMMENDED.search(short):
        factor *= _RECOMMENDS
    elif _PRAISE.search(short):
        factor *= 0.35
    if "你" in short or _ADVICE.search(short):
        factor *= 0.5
    elif "我" in said.fact.text and said.answers == 1:
        factor *= _OF_ME
    return factor
