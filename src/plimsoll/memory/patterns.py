"""The wording of statements that stay true beyond a conversation, in English and Chinese, by kind of memory."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import cast

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex, rows_of
from plimsoll.memory.wording_en import EN, PARTS
from plimsoll.memory.wording_zh import ZH
from plimsoll.protocols import MemoryKind


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
