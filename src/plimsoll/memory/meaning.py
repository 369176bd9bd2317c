"""What a memory says, reduced to what can be compared: whether two say the same, and whether they contradict each other.

Rules of language only: negation, the value somebody chose and the one they rejected, what they chose it for, and questions that
have one answer at a time, such as a name or a home. Statements that these rules do not relate both hold.
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import MappingProxyType

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex, rows_of
from plimsoll.limits import MEMORIES_MAX
from plimsoll.recall.words import stem, words

_CHOICES: dict[str, tuple[str, ...]] = {
    "indentation": ("tab=tabs=制表符=tab键", "space=spaces=空格"),
    "theme": ("light=浅色=亮色", "dark=深色=暗色"),
    "quotes": ("single=单引号", "double=双引号"),
    "length": ("short=brief=concise=terse=简短=简洁", "long=detailed=verbose=详细=冗长"),
    "manner": ("formal=正式", "informal=casual=随意=非正式"),
    "units": ("metric=公制", "imperial=英制"),
    "clock": ("12h=12-hour=十二小时制", "24h=24-hour=二十四小时制"),
    "spelling": ("british=英式", "american=美式"),
    "names": ("camelcase=驼峰", "snake_case=snakecase=下划线", "kebab-case"),
    "history": ("merge=合并", "rebase=变基", "squash"),
    "node packages": ("npm", "yarn", "pnpm", "bun"),
    "python packages": ("pip", "poetry", "uv", "pipenv", "conda"),
    "editor": ("vim", "emacs", "nano", "vscode", "neovim"),
    "python tests": ("pytest", "unittest", "nose"),
    "javascript tests": ("jest", "vitest", "mocha"),
    "web framework": ("react", "vue", "angular", "svelte"),
    "written script": ("simplified=简体", "traditional=繁体"),
}
"""Choices by what they are about. `=` joins spellings of one choice."""

_ABOUT = tuple(
    (
        "indent indents indenting indentation 缩进 theme themes mode 主题 模式 quote quotes 引号 answer answers reply replies "
        "response responses explanation explanations 回答 回复 解释 unit units 单位 format formatting 格式 style 风格 "
        "spelling 拼写 naming 命名 name names manager database 数据库 editor 编辑器"
    ).split()
)
"""Words beside a choice that only say what it is about."""

_SPELLINGS = [
    (group, spelling, choice.partition("=")[0])
    for group, choices in _CHOICES.items()
    for choice in choices
    for spelling in choice.split("=")
]

GROUP_OF = MappingProxyType({first: group for group, _, first in _SPELLINGS})
"""What a choice is about, by its first spelling."""

ABOUT = "about"
"""Stands for each word that only says what a choice is about."""

GROUP_WORDS = MappingProxyType(
    {**dict.fromkeys(_ABOUT, ABOUT), **{spelling: first for _, spelling, first in _SPELLINGS}}
)
"""The first spelling of a choice by each of its spellings; and words that only say what a choice is about."""


_UNSAID = regex(
    r"\b(?:please|really|also|just|now|actually|always|usually|generally|normally|typically|mostly|only|still"
    r"|currently|personally|very|much|so|ok|okay|instead|from now on|going forward|in (?:the )?future|by default"
    r"|as a rule|whenever possible|anymore|any more|any longer|again|everywhere|i|i'm|i'd|i've|me|my|mine|we|we're"
    r"|we've|our|us|you|your|the|a|an|this|that|to|do|does|did|will|would|should|shall|be|am|is|are|was|were|have|has"
    r"|had|been|let's|all|it|and|of|for|when|while)\b|请|麻烦|以后|今后|从现在起|往后|总是|始终|一直|一律|永远|通常"
    r"|一般|平时|现在|目前|还是|直接|我们|咱们|我|你|您|的|都|了|吧|啦|呀|就|也|很|最|更|比较|特别|是",
    re.IGNORECASE,
)
"""Words that do not change what is stated."""

_NEGATION = regex(
    r"\b(?:not|no|never|don'?t|do not|doesn'?t|does not|didn'?t|can'?t|cannot|won'?t|isn'?t|aren'?t|wasn'?t|no longer"
    r"|avoid|stop|without|hate|dislike|detest|stopped|can'?t stand|quit)\b|不(?:要|再|能|得|准|许|可|喜欢|用|想|吃|喝"
    r"|爱|是)?|别|从不|从来不|没有?|禁止|避免|讨厌|停止|受不了",
    re.IGNORECASE,
)
_CHOOSING = regex(
    r"\b(?:prefer(?:s|red)?|like[sd]?|love[sd]?|enjoy(?:s|ed)?|adore|favou?r|use[sd]?|using|want|stick(?:ing)? (?:to"
    r"|with)|go(?:ing)? with|switch(?:ed|ing)? (?:over )?to|rather|adopt(?:ed)?|chose|chosen|picked|decided (?:on|to"
    r"|for)|settled (?:on|for)|opted for|standardi[sz]ed? on|hate|dislike|detest|avoid|stop|fan of|fond of|write in"
    r"|code in|migrated to|moved to)\b|喜欢|偏好|偏爱|习惯|倾向于?|爱用|使用|采用|改用|换成|改成|改为|决定|选定|选择"
    r"|用|爱|讨厌",
    re.IGNORECASE,
)
_REJECTED = regex(
    r"\b(?:instead of|rather than|in place of|over|and not|,? ?not|but not|no longer|no more|away from"
    r"|replacing)\s+(?P<en>[^,.;。，]+)|(?:而不是|而非|不要用|不用|别用|不再用|代替|取代|不是)\s*(?P<zh>[^,.;。，]+)",
    re.IGNORECASE,
)
"""What a choice rejects; only read after the value that is chosen."""

_PURPOSE = regex(r"\b(?:for|when|while|in|on|during|at|whenever|if)\s+(.+)$|(?:来|做|写|处理)(.+)$", re.IGNORECASE)
_NUMBER = regex(r"\d(?:[\d.,:]*\d)?|[零一二两三四五六七八九十百千万]+(?=[个岁行次天小分年月日号人])")
_VERB = regex(
    r"\b(?:is|are|was|were|has|have|had|must|should|will|can|may|runs?|starts?|ends?|needs?|uses?|requires?|takes?|belongs?"
    r"|contains?|covers?|goes|comes?|stays?|lives?|opens?|closes?)\b|是|在|有|用|需要|开始|属于",
    re.IGNORECASE,
)
_CJK_RUN = regex(r"[぀-ヿ㐀-鿿가-힯]+")
_NAMING = (
    r"(?:is|are|was|were|'s|=|:|now|changed to|runs? on|lives? (?:in|on|at|under)|points? to|is named|"
    r"is called|is at|is in|falls? on)"
)

_SLOTS = tuple(
    (slot, regex(pattern, re.IGNORECASE))
    for slot, pattern in rows_of(
        r"""
name
    \bmy (?:full |real |first )?name(?: is|'s)(?: now)? (?P<value>.+)|\bi(?:'m| am) (?:called|named) (?P<value2>.+)|
    我(?:叫|的(?:名字|姓名)[是叫])(?P<value3>.+)
address as
    \b(?:call|address) me (?:as )?(?P<value>.+)|(?:叫|称呼)我(?P<value2>.+)
home
    \bi (?:now |currently )?(?:live|moved|relocated)(?: (?:in|to|at))? (?P<value>.+)|\bi(?:'m| am) (?:now |
    currently )?(?:based|located|living) in (?P<value2>.+)|我(?:现在|目前)?(?:住在|家住|搬到了?|搬去了?)(?P<value3>.+)
work
    \bi (?:now |currently )?work (?:at|for) (?P<value>.+?)(?: as .+)?$|我(?:现在|目前)?(?:在(?P<value2>.+)(?:工作|上班)|
    就职于(?P<value3>.+)|任职于(?P<value4>.+))
job
    \bi work as (?P<value>.+)
age
    \bi(?:'m| am) (?:now )?(?P<value>[0-9]{1,3})(?: years old)?\W*$|我(?:今年|
    已经)?(?P<value2>[0-9一二三四五六七八九十]{1,3})岁
language
    \b(?:answer|reply|respond|speak|talk|write)(?: to)?(?: me)? (?:only )?(?:in) (?P<value>[A-Za-z]+)\b|
    用(?P<value2>中文|英文|英语|汉语|日语|法语|德语).{0,4}(?:回答|回复|交流|沟通|答复)
"""
    )
)
"""Questions about the speaker that have one answer at a time."""

_COPULA = regex(
    rf"\b(?:my|our|the|this)\s+(?P<what>(?:[\w'-]+\s+){{1,5}}?){_NAMING}\s+(?:now\s+|at\s+|in\s+)*(?P<value>.+)$"
    r"|(?:我|我们|咱们|本|这个)(?:的|最喜欢的|最爱的)?(?P<what_zh>[^是在叫，。]{1,14})(?:现在)?(?:是|在|叫|"
    r"改成了?|改为|换成了?)(?P<value_zh>.+)$",
    re.IGNORECASE,
)
_ONE_VALUE = regex(
    r"\b(?:name|branch|port|version|address|url|host|e-?mail|phone|number|birthday|deadline|date|time ?zone|colou?r"
    r"|editor|ide|shell|os|laptop|database|db|framework|language|licen[cs]e|path|directory|folder|region|domain|limit"
    r"|length|size|indent\w*|style|theme|manager|boss|wife|husband|partner|city|country|hometown|job|role|title"
    r"|favou?rite|preferred|default|usual|main|primary|target|owner|budget|price|runtime|provider|cloud|schedule|day"
    r"|formatter|linter|server|registry|endpoint|pronouns|employer|company|team|major|school|university|age|height"
    r"|weight)s?\b|生日|名字|分支|端口|版本|地址|网址|域名|邮箱|电话|号码|截止日期|时区|颜色|编辑器|数据库|框架|语言"
    r"|路径|目录|地区|风格|主题|老板|经理|妻子|老婆|丈夫|老公|城市|家乡|职业|职位|公司|负责人|预算|价格|年龄|身高"
    r"|体重|默认|最喜欢",
    re.IGNORECASE,
)
"""Things that have one value at a time: what is said of them later replaces what was said before."""


class Meaning(NamedTuple):
    """What a statement says, for comparison."""

    content: frozenset[str]
    """Its words without those that do not change what is stated, negation and verbs of choosing."""
    is_negative: bool
    is_choice: bool
    """Whether it chooses or rejects something."""
    rejected: frozenset[str]
    """The words of what it rejects in favour of something."""
    purpose: frozenset[str]
    """The words of what it is chosen for."""
    slot: str
    """The question that it answers, if that has one answer at a time."""
    value: frozenset[str]
    numbers: tuple[str, ...]
    names_by_number: bool
    """Whether a number names what the statement is about, as in "room 12 is free"."""

    @property
    def words(self) -> frozenset[str]:
        """Words of which two statements share one if they say the same or contradict each other."""
        groups = (f"choice of {GROUP_OF[word]}" for word in self.content if word in GROUP_OF)
        slot = (f"slot {self.slot}",) if self.slot else ()
        return self.content.union(self.rejected, groups, slot)

    @property
    def chosen(self) -> frozenset[str]:
        """The words of what is chosen, without what it is for."""
        return (self.content - self.rejected - self.purpose) or (self.content - self.rejected)


_CACHED_MAX = 2 * MEMORIES_MAX + 1_000
"""All memories that one caller sees, of a user and of a project, and some new ones: each is compared with all of them."""


@lru_cache(_CACHED_MAX)
def meaning_of(text: str) -> Meaning:
    """The meaning of a statement of at most a few hundred characters."""
    rejected = _REJECTED.search(text)
    other = "" if rejected is None else rejected["en"] or rejected["zh"] or ""
    main = text if rejected is None else f"{text[: rejected.start()]} {text[rejected.end() :]}"
    purpose = _PURPOSE.search(main) if _CHOOSING.search(main) else None
    slot, value = _slot(text)
    negated = _NEGATION.search(main) is not None
    if rejected is not None and not _content(main):  # "no longer tabs", "not tabs": nothing is chosen instead
        main, other, negated = other, "", True
    return Meaning(
        content=_content(main),
        is_negative=negated,
        is_choice=_CHOOSING.search(main) is not None,
        rejected=_content(other),
        purpose=_content(purpose[1] or purpose[2] or "") if purpose else frozenset(),
        slot=slot,
        value=value,
        numbers=tuple(sorted(_NUMBER.findall(text))),
        names_by_number=any(_VERB.search(text, number.end()) for number in _NUMBER.finditer(text)),
    )


def says_same(one: Meaning, other: Meaning) -> bool:
    """Whether two statements say the same in other words."""
    if (one.is_negative, one.numbers, one.rejected) != (other.is_negative, other.numbers, other.rejected):
        return False
    if one.slot or other.slot:
        return (one.slot, one.value) == (other.slot, other.value)
    return bool(one.content) and one.content == other.content and one.is_choice == other.is_choice


def contradicts(one: Meaning, other: Meaning) -> bool:
    """Whether two statements cannot both hold. Symmetric."""
    if one.slot and one.slot == other.slot:
        return one.value != other.value
    if one.content == other.content and one.content:
        return one.is_negative != other.is_negative and not (one.rejected or other.rejected)
    if _differs_in_number(one, other):
        return True
    return one.is_choice and other.is_choice and _chooses_otherwise(one, other)


def _chooses_otherwise(one: Meaning, other: Meaning) -> bool:
    if one.is_negative or other.is_negative:
        return False
    for chosen, rejected in ((one.chosen, other.rejected), (other.chosen, one.rejected)):
        if rejected and (rejected <= chosen or chosen <= rejected) and chosen:
            return True
    groups = {GROUP_OF[word]: word for word in one.chosen if word in GROUP_OF}
    for word in other.chosen:
        mine = groups.get(GROUP_OF.get(word, ""))
        if mine is not None and mine != word:
            return _bare(one) == _bare(other)
    return bool(one.purpose) and one.purpose == other.purpose and not one.chosen & other.chosen


def _bare(meaning: Meaning) -> frozenset[str]:
    """The content without the words of groups of choices."""
    return frozenset(word for word in meaning.content if word not in GROUP_OF and word != ABOUT)


def _differs_in_number(one: Meaning, other: Meaning) -> bool:
    """Whether two statements are equal but for their numbers, and say more than a number."""
    if not (one.numbers and other.numbers) or one.numbers == other.numbers or one.is_negative != other.is_negative:
        return False
    if one.names_by_number or other.names_by_number:
        return False
    rest = one.content - frozenset(one.numbers)
    return len(rest) >= 2 and rest == other.content - frozenset(other.numbers)


def _slot(text: str) -> tuple[str, frozenset[str]]:
    """The question with one answer that a statement answers, and the answer."""
    for slot, pattern in _SLOTS:
        if (found := pattern.search(text)) is not None:
            value = next((value for value in found.groupdict().values() if value), "")
            return slot, _content(value)
    copula = _COPULA.search(text)
    if copula is None:
        return "", frozenset()
    what = copula["what"] or copula["what_zh"]
    if not _ONE_VALUE.search(text[: copula.end("what" if copula["what"] else "what_zh")]):
        return "", frozenset()
    return " ".join(sorted(_content(what))), _content(copula["value"] or copula["value_zh"])


def _content(text: str) -> frozenset[str]:
    """The words that say something: stems of words, and runs of Chinese, Japanese and Korean."""
    bare = _UNSAID.sub(" ", _CHOOSING.sub(" ", _NEGATION.sub(" ", text.replace("’", "'"))))
    found: set[str] = set()
    for word in words(bare):
        if _CJK_RUN.fullmatch(word):
            found |= _parted(word)
        elif word not in {"s", "t", "m", "ve", "d", "re", "ll"}:
            found.add(GROUP_WORDS.get(word.lower(), stem(word.lower())))
    return frozenset(found)


def _parted(run: str) -> set[str]:
    """A run of Chinese as one word, without the names of groups of choices, which stand beside what is chosen."""
    for name in sorted(GROUP_WORDS, key=len, reverse=True):
        if name and not name.isascii() and name in run:
            rest = run.replace(name, "", 1)
            return {GROUP_WORDS[name], *(_parted(rest) if rest else ())} - {""}
    return {run}
