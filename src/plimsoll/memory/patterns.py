"""The wording of statements that stay true beyond a conversation, in English and Chinese, by kind of memory."""

from __future__ import annotations

import re
from typing import NamedTuple

from plimsoll.protocols import MemoryKind
from plimsoll.regex import regex


class Wording(NamedTuple):
    """One way to state something durable."""

    kind: MemoryKind
    pattern: re.Pattern[str]
    confidence: float
    importance: int


_SOFT = (
    r"(?:(?:really|strongly|generally|usually|normally|typically|mostly|also|still|now|much|personally|just|"
    r"only|always|do|would|'d)\s)*"
)
_PASSING = (
    r"(?:it|this|that|these|those|them|to|the (?:idea|look|way|plan|approach|sound|first|second|last|other|"
    r"above|following|same|latter)"
    r"|your|how|what|when|if)\b"
)
_PLACE = r"(?:at|for|as|in|with|from|near|remotely|part[- ]time|full[- ]time)\b"
_MOMENTARY = (
    r"(?:problem|issue|question|doubt|error|bug|guess|point|idea|goal|plan|task|understanding|concern|test|"
    r"script|function|query"
    r"|result|input|output|data|file|code|request|message|mistake|bad|answer|apolog\w+|feeling|list|look|"
    r"hunch|next|last|first|aim|turn)s?\b"
)
_STATE = (
    r"(?:an?\s)?(?:bit|little|few|lot|couple|while|fan of (?:this|that|it)|bug|error|problem|issue|question|"
    r"mess|way|chance|one\b|pity"
    r"|good (?:idea|point|question)|great (?:idea|point|question)|loss|point where)"
)
_TROUBLE = (
    r"(?!.{0,60}\b(?:fail\w*|broken|crash\w*|wrong|down|stuck|slow|missing|not working|doesn't work|"
    r"timed? out|time out|throw\w*|return\w*|complain\w*"
    r"|error\w*)\b)"
)
_THING = (
    r"(?:project|repo|repository|code ?base|app|application|service|team|company|product|api|back ?end|"
    r"front ?end|database|db|server"
    r"|site|website|build|ci|deployment|production|staging|monorepo|package|library|pipeline|cluster|stack|"
    r"customers?|clients?|schema"
    r"|tests|test suite|(?:\w+ )?branch|release|docs|documentation|deadline|budget|licen[cs]e|style guide|convention)"
)
_HOLDS = (
    r"(?:is|are|was|were|uses?|runs?|lives?|requires?|needs?|has|have|targets?|supports?|must|should|"
    r"deploys?|depends|follows?|goes"
    r"|gets?|comes?|sits|stores?|talks|listens)"
)

_EN: tuple[tuple[MemoryKind, str, float, int], ...] = (
    (
        "profile",
        (
            r"\bmy (?:(?:full|first|last|real|nick) ?)?name(?: is|'s)\b|\bi(?:'m| am) (?:called|named)\b|"
            r"^(?:please |just )?call me\b"
        ),
        0.9,
        8,
    ),
    (
        "profile",
        (
            rf"\bi(?:'m| am) (?:also )?(?!{_STATE})(?:an? (?=[\w'-]+(?: [\w'-]+){{0,6}})|the (?=\w+ (?:of|at|for|"
            rf"in)\b))(?!.{{0,30}}(?:bit|little) )"
            r"|\bi(?:'m| am) (?:an? )?(?:severely |mildly |very )?(?:allergic|vegetarian|vegan|lactose|gluten|"
            r"celiac|diabetic|dyslexic|colou?r[- ]?blind"
            r"|left-handed|right-handed|deaf|blind|married|single|divorced|retired|pregnant|based|from|located|"
            r"originally|originating|turning"
            r"|[0-9]{1,3}(?: years old)?\W*$|[0-9]{1,3} years)\b"
        ),
        0.75,
        6,
    ),
    (
        "profile",
        (
            rf"\bi (?:currently |now |also )?(?:live[ds]?|grew up|was born|moved|relocated|speak|teach|majored|"
            rf"graduated|stud(?:y|ied)|work(?:ed)? {_PLACE}"
            rf"|own (?!th))\b|\bi(?:'ve| have) (?:been (?:living|working|teaching|studying)|lived|worked {_PLACE}|moved)\b"
        ),
        0.75,
        6,
    ),
    (
        "profile",
        (
            rf"\bi(?:'ve got| have| have got) (?:an?|no|one|two|three|four|five|"
            rf"[0-9]{{1,2}}) (?!(?:\w+ )?{_MOMENTARY}|(?:bit|little|few|lot|couple)\b)"
        ),
        0.6,
        5,
    ),
    (
        "preference",
        r"\bmy (?:all[- ]time )?(?:favou?rite|preferred|usual|default|go-to)\b.{0,60}?\b(?:is|are|was)\b",
        0.85,
        7,
    ),
    (
        "profile",
        (
            rf"\bmy (?!(?:\w+ ){{0,2}}{_MOMENTARY})(?:[\w'-]+ ){{1,3}}(?:is|are|was|lives?|works?|has|have|"
            rf"turns?|turned|speaks?)\b"
        ),
        0.7,
        6,
    ),
    (
        "preference",
        rf"\bi {_SOFT}(?:prefer|favou?r|(?:like|love|enjoy|hate|dislike|detest|adore)(?! (?:{_PASSING})))\b",
        0.85,
        7,
    ),
    (
        "preference",
        (
            r"\bi(?:'d| would) (?:much )?rather\b|\bi can'?t stand\b|\bi(?:'m| am) (?:a (?:big |huge )?fan of|"
            r"used to|not a fan of|fond of)\b"
        ),
        0.75,
        6,
    ),
    (
        "preference",
        (
            rf"\bi (?:do not|don'?t|no longer|never|cannot|can'?t|won'?t) (?:like|use|want|eat|drink|wear|drive|"
            rf"watch|read|prefer|enjoy|accept|care for|touch)"
            rf"\b(?! {_PASSING})"
        ),
        0.75,
        7,
    ),
    (
        "preference",
        rf"\bi {_SOFT}(?:use|write in|code in|stick (?:to|with)|drink|wear|drive)\b(?! (?:{_PASSING}|the\b))",
        0.6,
        6,
    ),
    (
        "preference",
        (
            r"\bi (?:always|never|usually|normally|typically|generally|mostly) (?!get|got|see|have to|thought|"
            r"knew|said)\w+"
        ),
        0.7,
        6,
    ),
    (
        "preference",
        (
            r"\bi (?:always )?(?:want|need|expect|ask) (?:you|all|every\w*|answers|replies|"
            r"responses)\b.{0,80}\b(?:always|never|every|whenever|from now on)\b"
        ),
        0.85,
        8,
    ),
    (
        "preference",
        (
            r"^(?:(?:please|and|but|also|so|ok|okay|no|actually),? )*(?:always|never|don'?t ever|do not ever|"
            r"from now on|going forward|in (?:the )?future"
            r"|henceforth|whenever|every time|as a rule|by default|for (?:all )?future)\b|\b(?:from now on|"
            r"going forward|in (?:the )?future|henceforth)\W*$"
        ),
        0.85,
        8,
    ),
    (
        "preference",
        (
            r"^(?:please )?(?:always )?(?:answer|reply|respond|speak|talk|"
            r"address)(?: to)?(?: me)? (?:only )?(?:in|as|with)\b(?! (?:the|this|that)\b)"
        ),
        0.7,
        8,
    ),
    (
        "decision",
        (
            r"\bwe(?:'ve| have)? (?:\w+ )?(?:decided|agreed|chose|chosen|settled|picked|opted|concluded|"
            r"standardi[sz]ed|dropped|switched|migrated)\b"
        ),
        0.85,
        7,
    ),
    ("decision", r"\bi(?:'ve| have)? (?:\w+ )?(?:decided|chosen|chose|settled|opted)\b(?! (?:it|this|that)\b)", 0.8, 7),
    (
        "decision",
        (
            r"\b(?:let'?s|we'll|we will|we(?:'re| are) going to|i'll|we shall) (?:go with|stick (?:to|with)|"
            r"adopt|switch to|standardi[sz]e on|settle on|use)\b(?! (?:it|this|that)\b)"
        ),
        0.65,
        6,
    ),
    (
        "decision",
        r"\b(?:the|our|final) (?:final )?decision (?:is|was)\b|^decision\s?:|^(?:please |ok,? )?go with\b",
        0.8,
        7,
    ),
    (
        "preference",
        (
            rf"^(?:(?:please|now|actually|no|instead|then|so|and|ok|okay|yes|well),? )*(?:use|stick (?:to|with)|"
            rf"switch (?:over )?to|prefer|avoid)\b(?! (?:{_PASSING}|the\b|my\b|our\b))"
            r"(?=\W+(?:[\w'+#.-]+\W+){0,8}[\w'+#.-]*\W*$)(?!.*[/\\(=]|.*\.\w{1,4}\b)"
        ),
        0.5,
        5,
    ),
    ("fact", rf"\b(?:our|this|the) (?:[\w-]+ ){{0,2}}?{_THING} (?:[\w-]+ )?{_HOLDS}\b{_TROUBLE}", 0.7, 6),
    ("fact", rf"\bour (?!(?:\w+ ){{0,2}}{_MOMENTARY})(?:[\w'-]+ ){{1,4}}{_HOLDS}\b{_TROUBLE}", 0.7, 6),
    (
        "fact",
        (
            rf"\bwe (?:\w+ly |all |only |always |never |do not |don'?t )?(?:use|run|deploy|host|store|support|"
            rf"target|require|follow|ship|release|keep)\b(?! (?:{_PASSING}))"
        ),
        0.7,
        6,
    ),
)

_ZH: tuple[tuple[MemoryKind, str, float, int], ...] = (
    (
        "profile",
        (
            r"我(?:叫|的(?:名字|姓名|全名)(?:是|叫))(?!你|它|他|她|停|做|醒)|(?:请|以后)?(?:叫|称呼)我(?!起|停|"
            r"做|去|来)"
        ),
        0.9,
        8,
    ),
    (
        "profile",
        (
            r"我(?:现在|目前|一直)?(?:住在|家住|搬到|搬去|来自|出生[于在]|毕业于|就职于|任职于)|我(?:现在|"
            r"目前)?在.{1,20}(?:工作|上班|上学|读书|念书|居住|生活)"
        ),
        0.8,
        6,
    ),
    (
        "profile",
        r"我(?:今年|已经)?[0-9一二三四五六七八九十]{1,3}岁|我对.{1,12}过敏|我(?:不吃|吃素|不能吃|不喝)",
        0.85,
        8,
    ),
    (
        "profile",
        (
            r"我(?:现在|目前)?是(?:一[名位个]|[名位个]|做)?(?!说|不是|想|在|要|觉得|指|认为|否|这|"
            r"那)[^，。]{1,20}(?:师|员|生|者|人|家|长|手|医|商|工|官|经理|主管|程序|开发|研究)"
        ),
        0.8,
        6,
    ),
    (
        "profile",
        (
            r"我有(?:一|两|二|三|四|[0-9]+)(?:个|只|条|辆|位|名|套|岁)(?!.{0,3}(?:问题|疑问|想法|请求|需求|错误|"
            r"文件|任务|主意|建议|bug))"
        ),
        0.65,
        5,
    ),
    (
        "preference",
        (
            r"我(?:最|比较|特别|一直|更|还是|通常|一般|平时|总是|向来)*(?:喜欢|偏好|偏爱|习惯|爱用|倾向于?|讨厌|"
            r"不喜欢|受不了)(?!你|这样|这个主意)"
        ),
        0.85,
        7,
    ),
    ("preference", r"我(?:最|更)?(?:常用|喜爱|中意)的.{1,20}(?:是|为)", 0.85, 7),
    (
        "preference",
        (
            r"我(?:一般|通常|总是|从不|从来不|平时|都|一直)(?:只|都)?(?:用|写|喝|吃|穿|看|使用|采用)|"
            r"我(?:只)?(?:用|使用|不用)(?!了|过|的|完)"
        ),
        0.65,
        6,
    ),
    (
        "preference",
        (
            r"^(?:请|麻烦)?(?:以后|今后|从现在起|从今以后|从今往后|往后|每次|将来|始终|总是|永远|默认)|"
            r"(?:不要再|别再|永远不要|一律|都要|都用)"
        ),
        0.8,
        8,
    ),
    (
        "preference",
        (
            r"^(?:请|麻烦)?(?:一直|总是|始终)?(?:用|以)(?:中文|英文|英语|汉语|日语|简体|繁体|"
            r"[A-Za-z]+).{0,4}(?:回答|回复|交流|沟通|答复)"
        ),
        0.75,
        8,
    ),
    (
        "profile",
        (
            r"我的(?!(?:.{0,4})(?:问题|意思|想法|目标|代码|文件|需求|任务|理解|脚本|函数|错误|程序|建议|疑问|"
            r"请求))[^，。是]{1,12}(?:是|在|叫)(?!不是|什么|否)"
        ),
        0.7,
        6,
    ),
    (
        "decision",
        (
            r"(?:我们|咱们|团队|大家|我)(?:已经|最终|最后|刚刚|今天|一致)*(?:决定|选定|商定|敲定|约定|达成一致|"
            r"改为|改用|换成)"
        ),
        0.85,
        7,
    ),
    (
        "decision",
        r"^(?:那|那么|好|行|最终|最后)?[，, ]?(?:就|决定|定了|还是)(?:用|采用|选|选择|改用)(?!这|那|它)",
        0.65,
        6,
    ),
    (
        "preference",
        (
            r"^(?:请|还是|那|现在|改)?(?:用|使用|改用|换成|改成)(?!这|那|它|户|于|了|来|"
            r"法)[^，。？?/]{1,20}(?:而不是|不要用|别用|代替|缩进|格式|风格|语言|吧|$)"
        ),
        0.5,
        5,
    ),
    (
        "fact",
        (
            r"(?:我们|咱们|本|这个|该)(?:的)?(?:项目|仓库|代码库|代码|服务|团队|公司|产品|接口|后端|前端|数据库|"
            r"服务器|网站|测试环境|生产环境|分支|系统|应用|平台|部署|流水线|客户|截止日期|"
            r"版本)[^，。？]{0,12}?(?:是|用|使用|在|跑|部署|采用|基于|支持|需要|依赖|必须|"
            r"要求)(?!.{0,12}(?:报错|失败|坏|挂|错误|崩))"
        ),
        0.7,
        6,
    ),
    (
        "fact",
        r"(?:我们|咱们)(?:都|一直|统一|只|主要|目前|现在)*(?:用|使用|采用|部署|遵循|支持|基于)(?!这|那|它)",
        0.7,
        6,
    ),
)

WORDINGS: tuple[Wording, ...] = tuple(
    Wording(kind, regex(pattern, re.IGNORECASE), confidence, importance)
    for kind, pattern, confidence, importance in (*_EN, *_ZH)
)
"""The first that matches gives a sentence its kind."""

REMEMBER = regex(
    r"^(?:(?:please|also|and|but|ok|okay|hey|so),? )*(?:(?:can|could|would) you )?(?:please )?(?:remember|"
    r"note|keep in mind|bear in mind|don'?t forget|do not forget"
    r"|make a note|take note|for the record|fyi|memori[sz]e)(?: for (?:later|next time|the future|"
    r"future (?:sessions|reference)))?(?! to\b| when\b| the (?:first|last)\b)"
    r"[\s,:-]*(?:of the fact that |that |this: ?|of )?(?P<en>.{6,})$"
    r"|^(?:请|麻烦|你要|帮我|也)?(?:记住|记得|记下|牢记|别忘了|不要忘记|记一下|备注)(?:一下|了|"
    r"这一点)?[，,：: ]*(?P<zh>.{3,})$",
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
