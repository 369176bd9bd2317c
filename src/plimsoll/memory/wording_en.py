"""How durable statements are worded in English."""

from __future__ import annotations

from plimsoll.protocols import MemoryKind

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

_THINGS = (
    "project repo repository code codebase app application service team company product api back backend front frontend database "
    "db server site website build ci deployment production staging monorepo package library pipeline cluster stack customer "
    "customers client clients schema test tests branch release docs documentation deadline budget license licence style convention"
)

EN: tuple[tuple[str, MemoryKind, str, float, int], ...] = (
    (
        "my i call",
        "profile",
        (
            r"\bmy (?:(?:full|first|last|real|nick) ?)?name(?: is|'s)\b|\bi(?:'m| am) (?:called|named)\b|"
            r"^(?:please |just )?call me\b"
        ),
        0.9,
        8,
    ),
    (
        "i",
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
        "i",
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
        "i",
        "profile",
        (
            rf"\bi(?:'ve got| have| have got) (?:an?|no|one|two|three|four|five|"
            rf"[0-9]{{1,2}}) (?!(?:\w+ )?{_MOMENTARY}|(?:bit|little|few|lot|couple)\b)"
        ),
        0.6,
        5,
    ),
    (
        "my",
        "preference",
        r"\bmy (?:all[- ]time )?(?:favou?rite|preferred|usual|default|go-to)\b.{0,60}?\b(?:is|are|was)\b",
        0.85,
        7,
    ),
    (
        "my",
        "profile",
        (
            rf"\bmy (?!(?:\w+ ){{0,2}}{_MOMENTARY})(?:[\w'-]+ ){{1,3}}(?:is|are|was|lives?|works?|has|have|"
            rf"turns?|turned|speaks?)\b"
        ),
        0.7,
        6,
    ),
    (
        "i",
        "preference",
        rf"\bi {_SOFT}(?:prefer|favou?r|(?:like|love|enjoy|hate|dislike|detest|adore)(?! (?:{_PASSING})))\b",
        0.85,
        7,
    ),
    (
        "i",
        "preference",
        (
            r"\bi(?:'d| would) (?:much )?rather\b|\bi can'?t stand\b|\bi(?:'m| am) (?:a (?:big |huge )?fan of|"
            r"used to|not a fan of|fond of)\b"
        ),
        0.75,
        6,
    ),
    (
        "i",
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
        "i",
        "preference",
        rf"\bi {_SOFT}(?:use|write in|code in|stick (?:to|with)|drink|wear|drive)\b(?! (?:{_PASSING}|the\b))",
        0.6,
        6,
    ),
    (
        "i",
        "preference",
        (
            r"\bi (?:always|never|usually|normally|typically|generally|mostly) (?!get|got|see|have to|thought|"
            r"knew|said)\w+"
        ),
        0.7,
        6,
    ),
    (
        "i",
        "preference",
        (
            r"\bi (?:always )?(?:want|need|expect|ask) (?:you|all|every\w*|answers|replies|"
            r"responses)\b.{0,80}\b(?:always|never|every|whenever|from now on)\b"
        ),
        0.85,
        8,
    ),
    (
        "always never ever now forward future henceforth whenever time rule default",
        "preference",
        (
            r"^(?:(?:please|and|but|also|so|ok|okay|no|actually),? )*(?:(?:always|never)(?! (?:\w+ed|been|had|"
            r"seen|heard|thought|knew|mind|did|was|got|said|nice|good|great|fun|a|an|happy|glad)\b)|don'?t ever|"
            r"do not ever|from now on|going forward|in (?:the )?future|henceforth|as a rule|by default|"
            r"for (?:all )?future|(?:whenever|every time|each time)\b[^,]{3,80}, (?:please |always |never |you )*"
            r"(?:use|make|run|add|write|ask|do|don'?t|call|check|include|show|tell|give|format|answer|reply|"
            r"respond|keep|start|end|avoid|prefer|put|explain|commit|test|let|stop)\b)\b"
            r"|\b(?:from now on|going forward|in (?:the )?future|henceforth)\W*$"
        ),
        0.85,
        8,
    ),
    (
        "answer reply respond speak talk address",
        "preference",
        (
            r"^(?:please )?(?:always )?(?:answer|reply|respond|speak|talk|"
            r"address)(?: to)?(?: me)? (?:only )?(?:in|as|with)\b(?! (?:the|this|that)\b)"
        ),
        0.7,
        8,
    ),
    (
        "we",
        "decision",
        (
            r"\bwe(?:'ve| have)? (?:\w+ )?(?:decided|agreed|chose|chosen|settled|picked|opted|concluded|"
            r"standardi[sz]ed|dropped|switched|migrated)\b"
        ),
        0.85,
        7,
    ),
    (
        "i",
        "decision",
        r"\bi(?:'ve| have)? (?:\w+ )?(?:decided|chosen|chose|settled|opted)\b(?! (?:it|this|that)\b)",
        0.8,
        7,
    ),
    (
        "let lets we i",
        "decision",
        (
            r"\b(?:let'?s|we'll|we will|we(?:'re| are) going to|i'll|we shall) (?:go with|stick (?:to|with)|"
            r"adopt|switch to|standardi[sz]e on|settle on|use)\b(?! (?:it|this|that)\b)"
        ),
        0.65,
        6,
    ),
    (
        "decision go",
        "decision",
        r"\b(?:the|our|final) (?:final )?decision (?:is|was)\b|^decision\s?:|^(?:please |ok,? )?go with\b",
        0.8,
        7,
    ),
    (
        "use stick switch prefer avoid",
        "preference",
        (
            rf"^(?:(?:please|now|actually|no|instead|then|so|and|ok|okay|yes|well),? )*(?:use|stick (?:to|with)|"
            rf"switch (?:over )?to|prefer|avoid)\b(?! (?:{_PASSING}|the\b|my\b|our\b))"
            r"(?=\W+(?:[\w'+#.-]+\W+){0,8}[\w'+#.-]*\W*$)(?!.*[/\\(=]|.*\.\w{1,4}\b)"
        ),
        0.5,
        5,
    ),
    (
        _THINGS,
        "fact",
        rf"\b(?:our|this|the) (?:[\w-]+ ){{0,2}}?{_THING} (?:(?!that|which|where|who)[\w-]+ )?{_HOLDS}\b{_TROUBLE}",
        0.7,
        6,
    ),
    ("our", "fact", rf"\bour (?!(?:\w+ ){{0,2}}{_MOMENTARY})(?:[\w'-]+ ){{1,4}}{_HOLDS}\b{_TROUBLE}", 0.7, 6),
    (
        "we",
        "fact",
        (
            rf"\bwe (?:\w+ly |all |only |always |never |do not |don'?t )?(?:use|run|deploy|host|store|support|"
            rf"target|require|follow|ship|release|keep)\b(?! (?:{_PASSING}))"
        ),
        0.7,
        6,
    ),
)
"""Words of which a statement has one; its kind, pattern, confidence and importance."""
