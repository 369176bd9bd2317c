"""The wording of statements that stay true beyond a conversation, in English and Chinese, by kind of memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex, rows_of
from plimsoll.protocols import MemoryKind

ZH = r"""
profile 0.9 8
    我(?:叫|的(?:名字|姓名|全名)(?:是|叫))(?!你|它|他|她|停|做|醒)|(?:请|以后)?(?:叫|称呼)我(?!起|停|做|去|来)
profile 0.8 6
    我(?:现在|目前|一直)?(?:住在|家住|搬到|搬去|来自|出生[于在]|毕业于|就职于|任职于)|我(?:现在|目前)?在.{1,20}(?:工作|
    上班|上学|读书|念书|居住|生活)
profile 0.85 8
    我(?:今年|已经)?[0-9一二三四五六七八九十]{1,3}岁|我对.{1,12}过敏|我(?:不吃|吃素|不能吃|不喝)
profile 0.8 6
    我(?:现在|目前)?是(?:一[名位个]|[名位个]|做)?(?!说|不是|想|在|要|觉得|指|认为|否|这|那)[^，。]{1,20}(?:师|员|生|者|
    人|家|长|手|医|商|工|官|经理|主管|程序|开发|研究)
profile 0.65 5
    我有(?:一|两|二|三|四|[0-9]+)(?:个|只|条|辆|位|名|套|岁)(?!.{0,3}(?:问题|疑问|想法|请求|需求|错误|文件|任务|主意|
    建议|bug))
preference 0.85 7
    我(?:最|比较|特别|一直|更|还是|通常|一般|平时|总是|向来)*(?:喜欢|偏好|偏爱|习惯|爱用|倾向于?|讨厌|不喜欢|
    受不了)(?!你|这样|这个主意)
preference 0.85 7
    我(?:最|更)?(?:常用|喜爱|中意)的.{1,20}(?:是|为)
preference 0.65 6
    我(?:一般|通常|总是|从不|从来不|平时|都|一直)(?:只|都)?(?:用|写|喝|吃|穿|看|使用|采用)|我(?:只)?(?:用|使用|
    不用)(?!了|过|的|完)
preference 0.8 8
    ^(?:请|麻烦)?(?:以后|今后|从现在起|从今以后|从今往后|往后|每次|将来|始终|总是|永远|默认)|(?:不要再|别再|永远不要|
    一律|都要|都用)
preference 0.75 8
    ^(?:请|麻烦)?(?:一直|总是|始终)?(?:用|以)(?:中文|英文|英语|汉语|日语|简体|繁体|[A-Za-z]+).{0,4}(?:回答|回复|交流|
    沟通|答复)
profile 0.7 6
    我的(?!(?:.{0,4})(?:问题|意思|想法|目标|代码|文件|需求|任务|理解|脚本|函数|错误|程序|建议|疑问|
    请求))[^，。是]{1,12}(?:是|在|叫)(?!不是|什么|否)
decision 0.85 7
    (?:我们|咱们|团队|大家|我)(?:已经|最终|最后|刚刚|今天|一致)*(?:决定|选定|商定|敲定|约定|达成一致|改为|改用|换成)
decision 0.65 6
    ^(?:那|那么|好|行|最终|最后)?[，, ]?(?:就|决定|定了|还是)(?:用|采用|选|选择|改用)(?!这|那|它)
preference 0.5 5
    ^(?:请|还是|那|现在|改)?(?:用|使用|改用|换成|改成)(?!这|那|它|户|于|了|来|法)[^，。？?/]{1,20}(?:而不是|不要用|别用|
    代替|缩进|格式|风格|语言|吧|$)
fact 0.7 6
    (?:我们|咱们|本|这个|该)(?:的)?(?:项目|仓库|代码库|代码|服务|团队|公司|产品|接口|后端|前端|数据库|服务器|网站|
    测试环境|生产环境|分支|系统|应用|平台|部署|流水线|客户|截止日期|版本)[^，。？]{0,12}?(?:是|用|使用|在|跑|部署|采用|
    基于|支持|需要|依赖|必须|要求)(?!.{0,12}(?:报错|失败|坏|挂|错误|崩))
fact 0.7 6
    (?:我们|咱们)(?:都|一直|统一|只|主要|目前|现在)*(?:用|使用|采用|部署|遵循|支持|基于)(?!这|那|它)
"""
"""For each wording its kind, confidence and importance; below it the pattern."""


PARTS = {
    "SOFT": (
        r"(?:(?:really|strongly|generally|usually|normally|typically|mostly|also|still|now|much|personally|just|"
        r"only|always|do|would|'d)\s)*"
    ),
    "PASSING": (
        r"(?:it|this|that|these|those|them|to|the (?:idea|look|way|plan|approach|sound|first|second|last|other|"
        r"above|following|same|latter)|your|how|what|when|if)\b"
    ),
    "PLACE": r"(?:at|for|as|in|with|from|near|remotely|part[- ]time|full[- ]time)\b",
    "MOMENTARY": (
        r"(?:problem|issue|question|doubt|error|bug|guess|point|idea|goal|plan|task|understanding|concern|test|"
        r"script|function|query|result|input|output|data|file|code|request|message|mistake|bad|answer|apolog\w+|"
        r"feeling|list|look|hunch|next|last|first|aim|turn)s?\b"
    ),
    "STATE": (
        r"(?:an?\s)?(?:bit|little|few|lot|couple|while|fan of (?:this|that|it)|bug|error|problem|issue|question|"
        r"mess|way|chance|one\b|pity|good (?:idea|point|question)|great (?:idea|point|question)|loss|point where)"
    ),
    "TROUBLE": (
        r"(?!.{0,60}\b(?:fail\w*|broken|crash\w*|wrong|down|stuck|slow|missing|not working|doesn't work|timed? out|"
        r"time out|throw\w*|return\w*|complain\w*|error\w*)\b)"
    ),
    "THING": (
        r"(?:project|repo|repository|code ?base|app|application|service|team|company|product|api|back ?end|"
        r"front ?end|database|db|server|site|website|build|ci|deployment|production|staging|monorepo|package|"
        r"library|pipeline|cluster|stack|customers?|clients?|schema|tests|test suite|(?:\w+ )?branch|release|docs|"
        r"documentation|deadline|budget|licen[cs]e|style guide|convention)"
    ),
    "HOLDS": (
        r"(?:is|are|was|were|uses?|runs?|lives?|requires?|needs?|has|have|targets?|supports?|must|should|deploys?|"
        r"depends|follows?|goes|gets?|comes?|sits|stores?|talks|listens)"
    ),
    "THINGS": (
        "project repo repository code codebase app application service team company product api back backend "
        "front frontend database db server site website build ci deployment production staging monorepo package "
        "library pipeline cluster stack customer customers client clients schema test tests branch release docs "
        "documentation deadline budget license licence style convention"
    ),
}
"""What is named in braces below."""

EN = r"""
profile 0.9 8 my i call
    \bmy (?:(?:full|first|last|real|nick) ?)?name(?: is|'s)\b|\bi(?:'m| am) (?:called|named)\b|^(?:please |
    just )?call me\b
profile 0.75 6 i
    \bi(?:'m| am) (?:also )?(?!{STATE})(?:an? (?=[\w'-]+(?: [\w'-]+){0,6})|the (?=\w+ (?:of|at|for|
    in)\b))(?!.{0,30}(?:bit|little) )|\bi(?:'m| am) (?:an? )?(?:severely |mildly |very )?(?:allergic|vegetarian|vegan|
    lactose|gluten|celiac|diabetic|dyslexic|colou?r[- ]?blind|left-handed|right-handed|deaf|blind|married|single|
    divorced|retired|pregnant|based|from|located|originally|originating|turning|[0-9]{1,3}(?: years old)?\W*$|
    [0-9]{1,3} years)\b
profile 0.75 6 i
    \bi (?:currently |now |also )?(?:live[ds]?|grew up|was born|moved|relocated|speak|teach|majored|graduated|stud(?:y|
    ied)|work(?:ed)? {PLACE}|own (?!th))\b|\bi(?:'ve| have) (?:been (?:living|working|teaching|studying)|lived|
    worked {PLACE}|moved)\b
profile 0.6 5 i
    \bi(?:'ve got| have| have got) (?:an?|no|one|two|three|four|five|[0-9]{1,2}) (?!(?:\w+ )?{MOMENTARY}|(?:bit|little|
    few|lot|couple)\b)
preference 0.85 7 my
    \bmy (?:all[- ]time )?(?:favou?rite|preferred|usual|default|go-to)\b.{0,60}?\b(?:is|are|was)\b
profile 0.7 6 my
    \bmy (?!(?:\w+ ){0,2}{MOMENTARY})(?:[\w'-]+ ){1,3}(?:is|are|was|lives?|works?|has|have|turns?|turned|speaks?)\b
preference 0.85 7 i
    \bi {SOFT}(?:prefer|favou?r|(?:like|love|enjoy|hate|dislike|detest|adore)(?! (?:{PASSING})))\b
preference 0.75 6 i
    \bi(?:'d| would) (?:much )?rather\b|\bi can'?t stand\b|\bi(?:'m| am) (?:a (?:big |huge )?fan of|used to|
    not a fan of|fond of)\b
preference 0.75 7 i
    \bi (?:do not|don'?t|no longer|never|cannot|can'?t|won'?t) (?:like|use|want|eat|drink|wear|drive|watch|read|prefer|
    enjoy|accept|care for|touch)\b(?! {PASSING})
preference 0.6 6 i
    \bi {SOFT}(?:use|write in|code in|stick (?:to|with)|drink|wear|drive)\b(?! (?:{PASSING}|the\b))
preference 0.7 6 i
    \bi (?:always|never|usually|normally|typically|generally|mostly) (?!get|got|see|have to|thought|knew|said)\w+
preference 0.85 8 i
    \bi (?:always )?(?:want|need|expect|ask) (?:you|all|every\w*|answers|replies|responses)\b.{0,80}\b(?:always|never|
    every|whenever|from now on)\b
preference 0.85 8 always never ever now forward future henceforth whenever time rule default
    ^(?:(?:please|and|but|also|so|ok|okay|no|actually),? )*(?:(?:always|never)(?! (?:\w+ed|been|had|seen|heard|thought|
    knew|mind|did|was|got|said|nice|good|great|fun|a|an|happy|glad)\b)|don'?t ever|do not ever|from now on|
    going forward|in (?:the )?future|henceforth|as a rule|by default|for (?:all )?future|(?:whenever|every time|
    each time)\b[^,]{3,80}, (?:please |always |never |you )*(?:use|make|run|add|write|ask|do|don'?t|call|check|include|
    show|tell|give|format|answer|reply|respond|keep|start|end|avoid|prefer|put|explain|commit|test|let|stop)\b)\b|
    \b(?:from now on|going forward|in (?:the )?future|henceforth)\W*$
preference 0.7 8 answer reply respond speak talk address
    ^(?:please )?(?:always )?(?:answer|reply|respond|speak|talk|address)(?: to)?(?: me)? (?:only )?(?:in|as|
    with)\b(?! (?:the|this|that)\b)
decision 0.85 7 we
    \bwe(?:'ve| have)? (?:\w+ )?(?:decided|agreed|chose|chosen|settled|picked|opted|concluded|standardi[sz]ed|dropped|
    switched|migrated)\b
decision 0.8 7 i
    \bi(?:'ve| have)? (?:\w+ )?(?:decided|chosen|chose|settled|opted)\b(?! (?:it|this|that)\b)
decision 0.65 6 let lets we i
    \b(?:let'?s|we'll|we will|we(?:'re| are) going to|i'll|we shall) (?:go with|stick (?:to|with)|adopt|switch to|
    standardi[sz]e on|settle on|use)\b(?! (?:it|this|that)\b)
decision 0.8 7 decision go
    \b(?:the|our|final) (?:final )?decision (?:is|was)\b|^decision\s?:|^(?:please |ok,? )?go with\b
preference 0.5 5 use stick switch prefer avoid
    ^(?:(?:please|now|actually|no|instead|then|so|and|ok|okay|yes|well),? )*(?:use|stick (?:to|with)|
    switch (?:over )?to|prefer|avoid)\b(?! (?:{PASSING}|the\b|my\b|our\b))(?=\W+(?:[\w'+#.-]+\W+){0,8}[\w'+#.-]*\W*$)
    (?!.*[/\\(=]|.*\.\w{1,4}\b)
fact 0.7 6 {THINGS}
    \b(?:our|this|the) (?:[\w-]+ ){0,2}?{THING} (?:(?!that|which|where|who)[\w-]+ )?{HOLDS}\b{TROUBLE}
fact 0.7 6 our
    \bour (?!(?:\w+ ){0,2}{MOMENTARY})(?:[\w'-]+ ){1,4}{HOLDS}\b{TROUBLE}
fact 0.7 6 we
    \bwe (?:\w+ly |all |only |always |never |do not |don'?t )?(?:use|run|deploy|host|store|support|target|require|
    follow|ship|release|keep)\b(?! (?:{PASSING}))
"""
"""For each wording its kind, confidence, importance and cues, of which a statement has one; below it the pattern."""


class Wording(NamedTuple):
    """One way to state something durable."""

    cues: frozenset[str]
    """Words of which it has one."""
    kind: MemoryKind
    pattern: re.Pattern[str]
    confidence: float
    importance: int


_CJK = "cjk"
"""Stands for the characters of which each Chinese wording has one."""


def _read(table: str) -> Iterator[Wording]:
    """The wordings in a table, whose patterns are indented below what is said of them."""
    for name, part in PARTS.items():
        table = table.replace(f"{{{name}}}", part)
    for head, pattern in rows_of(table):
        kind, confidence, importance, *cues = head.split()
        words, found = frozenset(cues or (_CJK,)), regex(pattern, re.IGNORECASE)
        yield Wording(words, cast(MemoryKind, kind), found, float(confidence), int(importance))


WORDINGS = (*_read(EN), *_read(ZH))
"""The first that matches gives a sentence its kind."""

REMEMBER = regex(
    r"^(?:(?:please|also|and|but|ok|okay|hey|so),? )*(?:(?:can|could|would) you )?(?:please )?(?:remember|"
    r"note (?:that|down)|keep in mind|bear in mind|don'?t forget|do not forget"
    r"|make a note|take note|for the record|fyi|memori[sz]e)(?: for (?:later|next time|the future|"
    r"future (?:sessions|reference)))?(?! to\b| when\b| the (?:first|last)\b)"
    r"[\s,:-]*(?:of the fact that |that |this: ?|of )?(?P<en>(?!\s*(?:what|when|where|how|who|which|why|if)\b).{6,}?)\??$"
    r"|^(?:(?:请|麻烦|你要|帮我|也)?(?:记住|记下|牢记|别忘了|不要忘记|记一下)|(?:请|麻烦|你要|帮我|务必)记得)"
    r"(?:一下|了|这一点)?[，,：: ]*(?P<zh>.{3,})$",
    re.IGNORECASE,
)
"""A request to remember something; the rest is what to remember."""

PROJECT = regex(
    (
        r"\b(?:in|for|on|of) (?:this|the|our) (?:project|repo|repository|code ?base|app|package|service)\b|"
        r"\bhere\b|(?:这个|本|该)(?:项目|仓库|代码库)"
    ),
    re.IGNORECASE,
)
"""A statement about the project at hand."""

_REMEMBER_CUES = frozenset("remember note mind forget record fyi memorize memorise".split())
_CUES = _REMEMBER_CUES.union(*(wording.cues for wording in WORDINGS))
_LATIN = regex(r"[a-z]+")
_CJK_CUE = regex(r"[我咱们本这该项请麻以今从往每将始总永默一都别不就决定还那好行最用改换使记备牢团大称叫]")


def cues_in(sentence: str) -> frozenset[str]:
    """The words of a sentence that a durable statement may have; empty for most sentences. Fast."""
    found = _CUES.intersection(_LATIN.findall(sentence.lower()))
    return found if sentence.isascii() or not _CJK_CUE.search(sentence) else found | {_CJK}
