"""The names that Chinese talk is about: titles, what questions introduce, what answers to them name."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from itertools import accumulate, compress, count
from operator import add
from typing import TYPE_CHECKING

from plimsoll.light.regex import led, regex
from plimsoll.summary.kept import kept, kept_at_once

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from plimsoll.summary.ledger import Fact

OPENING = regex(
    r"(?:(?:我|还|也|刚好|正好|恰好|恰巧|已经|早就|真|有|听人){0,4}(?:知道|了解|清楚|记得|晓得|听说|查到|认识)(?:过|些|一些|一点|点|了|的){0,3}|[嗯哦噢啊哎唉哇哈嘿呵额呃嘛呀呢也它]"
    r"|是的|是呀|是啊|对的|对呀|对啊|对了|没错|没问题|当然|好的|好吧|好呀|好啊|可以|不错|确实|听过|看过|去过|那么?|而且|不过|但是|可是|其实|所以|因为|并且|另外"
    r"|还有就是|然后|就是|我觉得|我认为|我想|据我所知|原来|差不多|毕竟|肯定|有的|有一些"
    r"|你好|您好|谢谢|感谢|不客气|再见|拜拜|的确|反正|看来|应该|有[啊呀的些]?(?=[，,]|\Z)|要[啊呀](?=[，,]|\Z)|好像|大概|也是|是[他她它]"
    r"|这里|那里|这个)+"
)
"""Fillers that a sentence begins with."""
QUESTION = regex(
    led(
        {
            "？?谁啥哪吗": "",
            "么呢没": r"\s*\Z",
            "什怎": "么",
            "多": "[少久大长钱]",
            "几": "[点个年月]",
            "是": "否",
            "你": "有(?!名)",
        }
    )
)
_MAY_ASK = regex(
    led({"？?吗么呢哪谁啥没": "", "多": "[少大长久钱]", "几": "[点个年月]", "怎": "么", "是": "否", "你": "有"})
)
"""What every find of QUESTION has a part of: most statements have none, and are not searched clause by clause."""

_NOISE = (
    r"[那它他她你您我们的了呢吗么呀啊吧是在有都还就也要个会能可以没不给这啥]|知道|请问|什么|多少|哪[里儿个些家年]?|谁|几|如何|怎[么样]"
    r"|具体|了解|告诉|一下|大概|需要|时候|记得|清楚|关于|里面|的话|多久|想问|你说"
)
NOISE = regex(_NOISE)
_SAYS = regex(rf"(?s)(?:{_NOISE})*+.(?:{_NOISE})*+.")
"""Two characters that are no noise, and what stands before them."""

FUNCTION = "的了吗呢么吧呀啊哦这那你您我他她它们有是在都也很就还不谁什哪怎几多过对没想去被把和与给让从到个些"
ADDRESS = regex(r"\d|[省市区县路街号]")
NAMED = r"[^\s，。！？,!?、；：:《》【】“”（）()0-9的了吗呢么吧呀啊哦这那你您我他她它们有是在都也很就还不谁哪怎过对没被和与]"
TITLE = regex(r"《\s*([^《》]{1,30}?)\s*》")
_KNOW = "知道|了解|听说过|听过|看过|去过|玩过|认识|熟悉|清楚|喜欢"
INTRODUCED = regex(
    rf"(?:{_KNOW})(?:过|一下|一部|一首|一位|的)*({NAMED}(?:[^\s，。！？,!?、；：:《》]{{0,20}}?{NAMED})?)"
    rf"(?:[（(][^）)]{{1,20}}[）)])?(?:这[个家部首位座]\w{{0,3}})?(?=[吗么嘛没？?]|不[？?]|在[哪什])"
    rf"|(?:对|关于)({NAMED}[^\s，。！？,!?、；：:《》]{{0,20}}?{NAMED})(?:这[个家部首位座]\w{{0,3}})?(?:你|您|有|很|不)*(?:些|点|一点|所)?(?:{_KNOW})"
    rf"|(?:^|[，。！？,])(?:那|你|您|对了|请问)*({NAMED}{{2,16}}?)(?:这[个家部首位座]\w{{0,3}})?(?:你|您)?(?:{_KNOW})(?:吗|么|嘛|不)"
)
_BESIDE = regex(
    rf"(?:边上|旁边|附近|周边|隔壁|不远处)(?:还有|就是|就有|也有|有个|有|的是|的|是)*(?:景点|地方)?(?:就?是|就?有)?({NAMED}{{2,16}}?)"
    r"(?=这[个家]|[，。！？,!?、]|就|看|转|玩|\Z)"
)
_SUBJECT = regex(
    rf"(?:^|[，。！？,是由])(?:那|嗯|啊|而且|作为|关于|对了|不过)*({NAMED}{{2,12}}?)(?=是|我知道|我喜欢|这[个家位])"
)
_CALLED = regex(
    rf"叫(?:做|个)?({NAMED}{{2,12}}?)(?=[，。,]|的(?:地方|人|店|歌|书)|\Z)|(?:^|[，。！？,去到])(?:那|那么|关于)?({NAMED}{{2,12}}?)这[个家部首位座]"
    rf"|[去到]({NAMED}{{2,12}}?)(?=玩|旅游|逛逛|转转|看看)"
)
_BESIDE_OF = regex(r"(?:边上|旁边|附近|周边)的")
_FOREIGN = regex(rf"{NAMED}{{1,6}}(?:[·•]{NAMED}{{1,8}}){{1,3}}")
_NAMES_REPLIED = regex(
    rf"(?:^|[有是、，,与和及])(?:一[个座家部首位])?({NAMED}{{2,10}}?)(?=[、，,。与和及呀啊！]|都|就|\Z)"
)
_ASKS_NAMES = regex(r"什么|哪|谁|啥|推荐|还有")
_TOPIC_CHARS_MAX = 24
_TOPICS_MAX = 800
_KEPT_MAX = 4_096
_KNOWS = regex(_KNOW)
_SOURCES = (
    (TITLE, 6, regex("《")),
    (INTRODUCED, 4, _KNOWS),
    (_CALLED, 3, regex("[叫这去到]")),
    (_BESIDE, 2, regex("边上|旁边|附近|周边|隔壁|不远处")),
    (_FOREIGN, 3, regex("[·•]")),
    (_SUBJECT, 1, regex("是|我知道|我喜欢|这")),
)
"""Where names are found, how much one find says, and what a pattern needs, which is faster to look for. Below 2 in all a name is
not taken for a topic."""
_TRIM = regex(
    rf"^(?:{_KNOW}|关于|对于|比如|例如|具体|周边|附近|旁边|想|要|先|能|那|我|你|也|就|又|还|只|着|下|的|而且|并且|但是|因为|所以|由|于|是|像|以|把|离|从|和|与|及|去|到|在|叫|过|为|有|一下"
    r"|一[个座家部首位名种张本]|这[个座家部首位])+(?=.{2})|(?:这个\w{0,2}|那个\w{0,2}|一下|怎么样|如何|尤其|主要|特别|应该|可能|已经|确实|[吗呢吧])$"
)
_CLASS_WORDS = frozenset(
    {"的", "什么", "啥", "哪些", "多少", "其他", "其它", "不少", "很多", *"个位名首部张种座家等男女项"}
)
"""What stands before a noun that many things are called by, and hardly before a name."""
_NO_NAME = frozenset("它他她这那哪谁啥最，。、")
_IN_TITLE = regex(r"《([^《》]+)》")
COMMON_ATTRIBUTES = frozenset(
    """
    地址 位置 地方 电话 号码 邮箱 网址 门票 票价 价格 费用 时间 时长 日期 生日 年龄 身高 体重 名字 原因 目的 爱好 职业 工作 学校
    专业 公司 数量 金额 地点 类型 风格 语言 版本 作品 特色 面积 人口 建议 预算
    """.split()
)
"""Nouns, of two characters, that ask for a particular in everyday Chinese; others are learnt from the conversation."""


def topics(facts: Sequence[Fact]) -> list[str]:
    """What the conversation is about, longest first: titles, names that questions introduce, and what sentences begin with."""
    named: Counter[str] = Counter()
    texts = [fact.text for fact in facts]
    asked = False
    for text, (names, asks) in zip(texts, _read(texts), strict=True):
        for name, score in names:
            named[name] += score
        if asked:
            named.update({name: 2 for name in _replied(text) if named[name] < 2})
        asked = asks
    likely = {name: score for name, score in named.items() if score >= 2 and len(name) >= 2}
    said = _Said(_BESIDE_OF.sub("，", "\n".join(texts)), likely)
    kept = {name for name, score in likely.items() if not _generic(name, score, said)}
    # What goes on after a name that is known better is no part of it.
    whole_names = [
        name
        for name in kept
        if named[name] > 4
        or not any(name[:end] in kept and named[name[:end]] > named[name] for end in range(2, len(name)))
    ]
    return sorted(whole_names, key=lambda name: (-len(name), name))[:_TOPICS_MAX]


@kept_at_once(_KEPT_MAX)
def _read(texts: Sequence[str]) -> list[tuple[list[tuple[str, int]], bool]]:
    """What each statement names, with how much that says, and whether it asks for names.

    Readings are kept: a conversation is rendered again and again, with little more said.
    """
    joined = JoinedTexts(texts)
    names: list[list[tuple[str, int]]] = [[] for _ in texts]
    for pattern, score, needed in _SOURCES:
        for place in joined.holding(needed):
            found = flat(pattern.findall(texts[place]))
            whole = found if pattern is TITLE else (_TRIM.sub("", name.strip()).partition("的")[0] for name in found)
            names[place] += [(name, score) for name in whole]
    asking = {place for place in joined.holding(_ASKS_NAMES) if QUESTION.search(texts[place]) is not None}
    return [(found, place in asking) for place, found in enumerate(names)]


class JoinedTexts:
    """Texts that are searched all at once, which takes a fraction of the time of searching each."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._whole = "\n".join(texts)
        self._ends = list(accumulate([len(text) + 1 for text in texts]))

    def holding(self, needed: re.Pattern[str]) -> set[int]:
        """The places of the texts that hold one of these words."""
        return {bisect_right(self._ends, found.start()) for found in needed.finditer(self._whole)}


def may_ask(text: str) -> bool:
    """Whether a text may hold a question."""
    return _MAY_ASK.search(text) is not None


def says(text: str) -> bool:
    """Whether a text has two characters that are no noise."""
    return _SAYS.match(text) is not None


def one_of(names: Sequence[str]) -> re.Pattern[str]:
    """A pattern for any of these names; where several begin at one place, for the first of them."""
    return re.compile("|".join(map(re.escape, names)) or r"(?!)")


@kept(_KEPT_MAX)
def introduced(text: str) -> tuple[str, ...]:
    """What questions in a text introduce."""
    return tuple(flat(INTRODUCED.findall(text))) if _KNOWS.search(text) is not None else ()


@kept(_KEPT_MAX)
def _replied(text: str) -> frozenset[str]:
    """What an answer names."""
    if ADDRESS.search(text):
        return frozenset()
    return frozenset(_TRIM.sub("", name) for name in _NAMES_REPLIED.findall(text))


def flat(found: Sequence[str | tuple[str, ...]]) -> Iterator[str]:
    """What `findall` gave, the groups of one find as one string."""
    for name in found:
        yield name if isinstance(name, str) else "".join(name)


class _Said:
    """All that was said, and where in it these names are: one pass over its pairs of characters finds all of them."""

    def __init__(self, whole: str, names: Iterable[str]) -> None:
        self.whole, self.titles = whole, frozenset(_IN_TITLE.findall(whole))
        self._begin: dict[str, list[int]] = {name[:2]: [] for name in names}
        pairs = list(map(add, whole, whole[1:]))
        for at in compress(count(), map(self._begin.__contains__, pairs)):
            self._begin[pairs[at]].append(at)

    def places(self, name: str) -> list[int]:
        """Where a name is."""
        found = self._begin[name[:2]]
        return [at for at in found if self.whole.startswith(name, at)] if len(name) > 2 else found

    def is_of_a_class(self, at: int) -> bool:
        """Whether a word stands in front of a place that stands before what many things are called by."""
        whole = self.whole
        return whole[max(0, at - 1) : at] in _CLASS_WORDS or whole[max(0, at - 2) : at] in _CLASS_WORDS


def _generic(name: str, score: int, said: _Said) -> bool:
    """Whether a name is no topic: a connective, function words, or an attribute, which often stands behind 的."""
    if len(name) > _TOPIC_CHARS_MAX or name[0] == name[1] or OPENING.fullmatch(name) is not None:
        return True
    if name in said.titles:
        return False
    if not says(name) or not _NO_NAME.isdisjoint(name) or QUESTION.search(name):
        return True
    if name[-2:] in COMMON_ATTRIBUTES and len(name) <= 6:
        return True
    if len(name) == 2 and score < 4:
        return True
    places = said.places(name)
    return score * 6 < len(places) or sum(map(said.is_of_a_class, places)) >= max(2, score, len(places) // 5)
