"""Chinese statements said short and put under what they are about: answers keep their question's noun, fillers go."""

from __future__ import annotations

import re
from collections import Counter
from math import log
from typing import TYPE_CHECKING, NamedTuple

from plimsoll.regex import regex
from plimsoll.summary.ledger.fact import is_recalled, topic_of
from plimsoll.summary.ledger.sentences import pairs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from plimsoll.summary.ledger import Fact

_CLAUSE = regex(r"[，。！？；!?;]+|(?<=[^\dA-Za-z]),|,(?=[^\dA-Za-z ])|\s{2,}")
_ASKS = regex(r"请(?!问)|帮我|麻烦你|给我")
"""A request stays whole: what is asked for and what with stand in different clauses."""

_OPENING = regex(
    r"(?:(?:我|还|也|刚好|正好|恰好|恰巧|已经|早就|真|有|听人)*(?:知道|了解|清楚|记得|晓得|听说|查到|认识)(?:过|些|一些|一点|点|了|的)*|嗯+|哦+|噢|啊+|哎+|唉|哇+|哈+|嘿+|呵+|额|呃|是的|是呀|是啊|对的|对呀|对啊|对了|没错|没问题|当然|好的|好吧|好呀|好啊|可以|不错|确实|听过|看过|去过|那么?|而且|不过|但是|可是|其实|所以|因为|并且|另外|还有就是|然后|就是|我觉得|我认为|我想|据我所知|原来|差不多|毕竟|肯定|可是|有的|有一些"
    r"|你好|您好|谢谢|感谢|不客气|再见|拜拜|的确|反正|看来|应该|有[啊呀的些]?(?=[，,]|\Z)|要[啊呀](?=[，,]|\Z)|好像|大概|也是|也|它|是他|是她|是它"
    r"|这里|那里|这个|嘛|呀|呢)+"
)
_TAIL = regex(r"(?:[呀啊呢吧哦嘛哈喔啦哟噢的了吗么]|来着|对吧|是吧|对吗|是吗|左右|就可以|就行)+\Z")
_QUESTION = regex(
    r"[？?]|[吗么呢]\s*\Z|什么|哪[里儿个些年位家]?|谁|多少|几[点个年月]|怎么|多久|多[大长]|多钱|是否|啥|[吗没]\s*\Z|吗|你有(?!名)"
)
_NOISE = regex(
    r"[那它他她你您我们的了呢吗么呀啊吧是在有都还就也要个会能可以没不给这啥]|知道|请问|什么|多少|哪[里儿个些家年]?|谁|几|如何|怎[么样]"
    r"|具体|了解|告诉|一下|大概|需要|时候|记得|清楚|关于|里面|的话|多久|想问|你说"
)
_FUNCTION = "的了吗呢么吧呀啊哦这那你您我他她它们有是在都也很就还不谁什哪怎几多过对没想去被把和与给让从到个些"
_LONG_RUN = regex(r"[\u3400-\u9fff]{2,}")
_FACTUAL = regex(
    r"\d|[A-Za-z]{2,}|《|“|[省市区县路街号楼层]\w?|[一二三四五六七八九十百千万][年月日元届部座层个处米]|、"
)
_ADDRESS = regex(r"\d|[省市区县路街号]")
_NAMED = rf"[^\s，。！？,!?、；：:《》“”（）()0-9{_FUNCTION}]"
_PERSON = regex(r"(?<![其吉])[他她](?!们)")
_IS_NAMED = regex(rf"(?:是|叫|由)({_NAMED}{{2,10}}?)(?=[，。！,]|\Z)")
_WORK = regex(r"[这该][首张部本篇]")
_TITLE = regex(r"《\s*([^《》]{1,30}?)\s*》")
_KNOWN = regex(r"(?:知道|清楚|了解|记得|听说过?)[了的呀啊]?\Z")
_KNOW = "知道|了解|听说过|听过|看过|去过|玩过|认识|熟悉|清楚|喜欢"
_INTRODUCED = regex(
    rf"(?:{_KNOW})(?:过|一下|一部|一首|一位|的)*({_NAMED}(?:[^\s，。！？,!?、；：:《》]{{0,20}}?{_NAMED})?)"
    rf"(?:[（(][^）)]{{1,20}}[）)])?(?:这[个家部首位座]\w{{0,3}})?(?=[吗么嘛没？?]|不[？?])"
    rf"|(?:对|关于)({_NAMED}[^\s，。！？,!?、；：:《》]{{0,20}}?{_NAMED})(?:这[个家部首位座]\w{{0,3}})?(?:你|您|有|很|不)*(?:些|点|一点|所)?(?:{_KNOW})"
    rf"|(?:^|[，。！？,])(?:那|你|您|对了|请问)*({_NAMED}{{2,16}}?)(?:这[个家部首位座]\w{{0,3}})?(?:你|您)?(?:{_KNOW})(?:吗|么|嘛|不)"
)
_BESIDE = regex(
    rf"(?:边上|旁边|附近|周边|隔壁|不远处)(?:还有|就是|就有|也有|有个|有|的是|的|是)*(?:景点|地方)?(?:就?是|就?有)?({_NAMED}{{2,16}}?)(?=这[个家]|[，。！？,!?、]|就|看|转|玩|\Z)"
)
_SUBJECT = regex(
    rf"(?:^|[，。！？,是由])(?:那|嗯|啊|而且|作为|关于|对了|不过)*({_NAMED}{{2,12}}?)(?=是|我知道|我喜欢|这[个家位])"
)
_BESIDE_OF = regex(r"(?:边上|旁边|附近|周边)的")
_FOREIGN = regex(rf"{_NAMED}{{1,6}}(?:[·•]{_NAMED}{{1,8}}){{1,3}}")
_NAMES_REPLIED = regex(
    rf"(?:^|[有是、，,与和及])(?:一[个座家部首位])?({_NAMED}{{2,10}}?)(?=[、，,。与和及呀啊！]|都|就|\Z)"
)
_ASKS_NAMES = regex(r"什么|哪|谁|啥|推荐|还有")
_PRAISE = regex(
    r"厉害|不错|喜欢|真好|好棒|值得|推荐|谢谢|有机会|有时间|一定去|想去|打算|去看看|期待|开心|佩服|羡慕|可惜|好的|好了"
)
_TOPIC_CHARS_MAX = 24
_TOPICS_MAX = 800
_ASKED_MIN = 3
"""Questions that ask for something before it counts as an attribute."""

_ANSWER_CHARS_MAX = 90
_ANSWER, _REPLY, _DIGITS, _PARTICULAR = 2.4, 1.2, 2.5, 1.5
"""What makes a statement worth more: it answers what was asked for, or any question; it has digits, or another particular."""

_DISTINCT_CHARS_MIN = 9
"""A value with digits of this length belongs to one thing: to the one that it was said of most often."""

_SOURCES = ((_TITLE, 6), (_INTRODUCED, 4), (_BESIDE, 2), (_FOREIGN, 3), (_SUBJECT, 1))
"""Where names are found, and how much one find says. Below 2 in all a name is not taken for a topic."""

_TRIM = regex(
    rf"^(?:{_KNOW}|关于|对于|比如|例如|具体|那|我|你|也|就|又|还|只|着|下|的|而且|并且|但是|因为|所以|由|于|是|像|以|把|离|从|和|与|及|去|到|在|叫|过|为|有|一下|一[个座家部首位]"
    r"|这[个座家部首位])+(?=.{2})|(?:这个\w{0,2}|那个\w{0,2}|一下|怎么样|如何|[吗呢吧])$"
)


class Statement(NamedTuple):
    """A candidate: its short form, what it is about, and its character pairs with what each is worth."""

    text: str
    topic: str
    order: tuple[int, ...]
    words: dict[str, float]
    factor: float


class _Said(NamedTuple):
    """A statement before it is weighed."""

    text: str
    topic: str
    order: tuple[int, ...]
    answers: float
    """What makes it worth more for the question before it, 1 where there was none."""
    fact: Fact


def statements(facts: Sequence[Fact]) -> list[Statement]:
    """The clauses of these chat facts that say something, in order, each short and under its topic, none twice."""
    found = _of_one_topic(list(_Reader(facts).read(facts)))
    spread: Counter[str] = Counter()
    for said in found:
        spread.update(set(pairs(said.text)))
    total = len(found)
    return [
        Statement(
            said.text,
            said.topic,
            said.order,
            {pair: _worth(pair, spread[pair], total) for pair in pairs(said.text)},
            _factor(said),
        )
        for said in found
    ]


def _of_one_topic(found: Sequence[_Said]) -> list[_Said]:
    """Each said once of a topic; a long value with digits only of the topic it was said of most."""
    votes: dict[str, Counter[str]] = {}
    for said in found:
        votes.setdefault(said.text, Counter())[said.topic] += 1
    kept: dict[tuple[str, str], _Said] = {}
    for said in found:
        topic = said.topic
        if len(said.text) >= _DISTINCT_CHARS_MIN and any(map(str.isdigit, said.text)):
            topic = votes[said.text].most_common(1)[0][0]
        kept.setdefault((topic, said.text), said._replace(topic=topic))
    return list(kept.values())


class _Reader:
    """Goes through what was said, knowing what it is about and what was asked last."""

    def __init__(self, facts: Sequence[Fact]) -> None:
        whole = "\n".join(fact.text for fact in facts)
        names = topics(facts, whole)
        self.named = re.compile("|".join(map(re.escape, names))) if names else re.compile(r"(?!)")
        self.asked_for = attributes(facts, self.named, whole)
        self.topic, self.noun, self.about, self.asked = "", "", "", -2
        self.works = {name for fact in facts for name in _TITLE.findall(fact.text)}
        self.latest = {True: "", False: ""}

    def read(self, facts: Sequence[Fact]) -> Iterator[_Said]:
        """The statements, in order."""
        for place, fact in enumerate(facts):
            if is_recalled(fact):  # it is short and under its topic already
                yield _Said(
                    fact.text,
                    topic_of(fact),
                    (fact.position, place),
                    _ANSWER if _FACTUAL.search(fact.text) else 1.0,
                    fact,
                )
            else:
                yield from self._fact(fact, place)

    def _fact(self, fact: Fact, place: int) -> Iterator[_Said]:
        answers = 0 < fact.position - self.asked <= 1
        if not answers:
            self.noun = ""
            self._turn(fact.text, answers=False)
        about = self.about if answers else self.topic
        for clause, text in enumerate(_runs_of(fact.text, whole=answers or _ASKS.search(fact.text) is not None)):
            short = _answer(text, self.noun, self.asked_for) if self.noun else shorten(text)
            if _says_something(short) and short != about:
                yield _Said(
                    short,
                    about,
                    (fact.position, place, clause),
                    _ANSWER if self.noun else _REPLY if answers else 1.0,
                    fact,
                )
        if answers:
            self._turn(fact.text, answers=True)
        self._listen(fact)

    def _listen(self, fact: Fact) -> None:
        """Note what a fact asks, if it does, and of what."""
        asking = [piece for piece in _pieces(fact.text) if _QUESTION.search(piece)]
        if asking or fact.state == "question":
            self.noun = self._attribute("，".join(piece for piece in asking if not self._introduces(piece)))
            self.asked, self.about = fact.position, self.topic

    def _introduces(self, text: str) -> str:
        """The names that a question introduces; what else it asks whether one knows is asked for."""
        return "，".join(name for name in _flat(_INTRODUCED.findall(text)) if self.named.search(name))

    def _turn(self, text: str, *, answers: bool) -> None:
        """Follow the talk to another topic.

        It goes to what is introduced, to what a sentence begins with, and to the one name that a reply without particulars
        names; a name inside an address or before 的 is passed by.
        """
        found = list(self.named.finditer(text))
        if not found:
            self.topic = self._meant(text) or self.topic
            if (told := _IS_NAMED.search(text)) is not None:
                self.latest[False] = told[1]
            return
        introduced = self._introduces(text)
        opening = _OPENING.match(text)
        start = opening.end() if opening is not None else 0
        first, last = found[0], found[-1]
        if (match := next((match for match in found if match[0] in introduced), None)) is not None:
            self.topic = match[0]
        elif first.start() - start <= 3 and not (answers and len(found) > 1):
            self.topic = first[0]
        elif (
            len({match[0] for match in found}) == 1
            and not _ADDRESS.search(text)
            and not text.startswith("的", last.end())
        ):
            self.topic = last[0]
        if match is not None:
            self.latest = {True: "", False: ""}
        self.latest[self.topic in self.works] = self.topic

    def _meant(self, text: str) -> str:
        """Whom or what a pronoun takes up: a person is never a title, and what 这首 goes before is one."""
        if self.topic in self.works and _PERSON.search(text):
            return self.latest[False]
        return self.latest[True] if self.topic not in self.works and _WORK.search(text) else ""

    def _attribute(self, question: str) -> str:
        """What a question asks for: the longest of the strings that questions keep asking for, the commoner of equals."""
        found = ""
        for run in _runs(self.named.sub(" ", question)):
            for size in (4, 3, 2):
                for at in range(len(run) - size + 1):
                    part = run[at : at + size]
                    if self.asked_for.get(part, 0) * (size - 1) > self.asked_for.get(found, 0) * (len(found) - 1):
                        found = part
        return found


def _flat(found: Sequence[str | tuple[str, ...]]) -> Iterator[str]:
    for name in found:
        yield name if isinstance(name, str) else "".join(name)


def attributes(facts: Sequence[Fact], named: re.Pattern[str], whole: str) -> dict[str, int]:
    """What questions ask for again and again: an address, a director.

    Found as what is left of questions without names and function words, when it also stands behind 的, as attributes do.
    """
    counted: Counter[str] = Counter(dict.fromkeys(_COMMON_ATTRIBUTES, _ASKED_MIN * 4))
    for fact in facts:
        for piece in _pieces(fact.text):
            if _QUESTION.search(piece):
                for run in _runs(named.sub(" ", piece)):
                    counted.update({run[at : at + size] for size in (2, 3, 4) for at in range(len(run) - size + 1)})
    return {
        noun: count
        for noun, count in counted.items()
        if noun in _COMMON_ATTRIBUTES or (count >= _ASKED_MIN and whole.count(f"的{noun}") >= 2)
    }


def topics(facts: Sequence[Fact], whole: str) -> list[str]:
    """What the conversation is about, longest first: titles, names that questions introduce, and what sentences begin with."""
    named: Counter[str] = Counter()
    asked, whole = False, _BESIDE_OF.sub("，", whole)
    for fact in facts:
        for pattern, score in _SOURCES:
            for name in _flat(pattern.findall(fact.text)):
                named[name if pattern is _TITLE else _TRIM.sub("", name.strip()).partition("的")[0]] += score
        if asked and not _ADDRESS.search(fact.text):
            named.update(dict.fromkeys(_NAMES_REPLIED.findall(fact.text), 2))
        asked = _QUESTION.search(fact.text) is not None and _ASKS_NAMES.search(fact.text) is not None
    kept = {name for name, score in named.items() if score >= 2 and len(name) >= 2 and not _generic(name, score, whole)}
    # What goes on after a name that is known better is no part of it.
    whole_names = [
        name
        for name in kept
        if named[name] > 4
        or not any(name[:end] in kept and named[name[:end]] > named[name] for end in range(2, len(name)))
    ]
    return sorted(whole_names, key=lambda name: (-len(name), name))[:_TOPICS_MAX]


def shorten(piece: str) -> str:
    """A clause without opening fillers and closing particles."""
    piece = piece.strip(" 　。，！？,.!?…~;；")
    cut = _OPENING.match(piece)
    if cut is not None and len(piece) - cut.end() >= 2:
        piece = piece[cut.end() :].lstrip(" ，,")
    return _TAIL.sub("", piece).strip() if len(piece) > 4 else piece


_JOINT = regex(
    "^，?(?:大约|大概|一般|基本|差不多|也就|就|也|都|只要|只有|只|要|需要|得|能|可以)*(?:是|在|为|有|叫|位于|:|：)*(?:在|于)?"
)


def _answer(text: str, noun: str, asked_for: Mapping[str, int]) -> str:
    """An answer after the noun its question asked for, or after the one it says itself, without what joins the two."""
    text = shorten(text)
    own = next((text[:size] for size in (4, 3, 2) if text[:size] in asked_for), "")
    at = text.find(noun[-2:])
    if not own and at > 8:
        return text
    value = text.removeprefix(own) if own else text[at + len(noun[-2:]) :] if at >= 0 else text
    return f"{own or noun}{_JOINT.sub('', value) or value}"


def _pieces(text: str) -> list[str]:
    """Its clauses."""
    return [piece for piece in _CLAUSE.split(text) if piece and piece.strip()]


def _runs_of(text: str, *, whole: bool) -> list[str]:
    """What a sentence tells: its clauses, without questions and fillers; those of a reply or with particulars beside each other."""
    found: list[str] = []
    start = end = -1
    at = 0
    for stop in [*_CLAUSE.finditer(text), None]:
        to = stop.start() if stop is not None else len(text)
        piece = text[at:to]
        asks = _QUESTION.search(piece + (stop[0] if stop is not None else "")) is not None
        particular = _FACTUAL.search(piece) is not None
        joins = whole or particular
        tells = not asks and _says_something(shorten(piece)) and not (joins and not particular and "你" in piece)
        if start >= 0 and (not tells or not joins or to - start > _ANSWER_CHARS_MAX):
            found.append(text[start:end])
            start = -1
        if tells and joins:
            start, end = (at if start < 0 else start), to
        elif tells:
            found.append(piece)
        at = stop.end() if stop is not None else to
    if start >= 0:
        found.append(text[start:end])
    return found


def _runs(question: str) -> list[str]:
    """The runs of Chinese characters in a question once its function words are taken out."""
    return _LONG_RUN.findall(_NOISE.sub(" ", question))


def nouns(text: str, edges: str) -> list[str]:
    """The runs of characters in a text that may name something, without function words and `edges` around them."""
    runs = (part.strip(edges) for run in _runs(text) for part in re.split(f"[{_FUNCTION}]", run))
    kept = (run for run in runs if 2 <= len(run) <= 8 and run not in _COMMON_ATTRIBUTES)
    return [run for run in kept if _OPENING.fullmatch(run) is None and _PRAISE.search(run) is None]


def _worth(pair: str, spread: int, total: int) -> float:
    rare = min(5.0, log((total + 1) / (spread or 1)))
    # A number or a foreign word is one pair here but as long, and as telling, as several.
    return rare + 0.9 * len(pair) if pair[0].isascii() and len(pair) > 1 else rare


def _says_something(short: str) -> bool:
    """Whether a clause is more than a greeting, a filler or short praise."""
    if len(short) < 2 or _OPENING.fullmatch(short) is not None:
        return False
    if _FACTUAL.search(short):
        return True
    if len(short) <= 8 and _KNOWN.search(short) is not None:
        return False
    return len(_NOISE.sub("", short)) >= 2 and not (len(short) <= 8 and (_PRAISE.search(short) or "你" in short))


def _factor(said: _Said) -> float:
    short = said.text
    factor = said.answers
    if any(map(str.isdigit, short)):
        factor *= _DIGITS
    elif _FACTUAL.search(short):
        factor *= _PARTICULAR
    if _PRAISE.search(short):
        factor *= 0.35
    if "你" in short:
        factor *= 0.5
    return factor


def _generic(name: str, score: int, whole: str) -> bool:
    """Whether a name is no topic: a connective, function words, or an attribute, which often stands behind 的."""
    if len(name) > _TOPIC_CHARS_MAX or name[0] == name[1] or _OPENING.fullmatch(name) is not None:
        return True
    if f"《{name}》" in whole:
        return False
    if len(_NOISE.sub("", name)) < 2 or set(name) & set("它他她这那哪谁啥最，。、") or _QUESTION.search(name):
        return True
    if any(name.endswith(noun) and len(name) - len(noun) <= 4 for noun in _COMMON_ATTRIBUTES):
        return True
    seen = whole.count(name)
    if score * 6 < seen or (len(name) == 2 and score < 4):
        return True
    return sum(whole.count(f"{word}{name}") for word in _CLASS_WORDS) >= max(2, score, seen // 5)


_CLASS_WORDS = ("的", "什么", "啥", "哪些", "多少", "其他", "其它", "不少", "很多", *"个位名首部张种座家等男女项")
"""What stands before a noun that many things are called by, and hardly before a name."""

_COMMON_ATTRIBUTES = frozenset(
    """
    地址 位置 地方 电话 号码 邮箱 网址 门票 票价 价格 费用 时间 时长 日期 生日 年龄 身高 体重 名字 原因 目的 爱好 职业 工作 学校
    专业 公司 数量 金额 地点 类型 风格 语言 版本 作品 特色 面积 人口 建议 预算
    """.split()
)
"""Nouns that ask for a particular in everyday Chinese; others are learnt from the conversation's own questions."""
