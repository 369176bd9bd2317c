"""How durable statements are worded in English; patterns.py reads it."""

from __future__ import annotations

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
