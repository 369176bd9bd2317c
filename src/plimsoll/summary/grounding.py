"""Strike what a model's summary claims and the conversation does not contain: files, identifiers, numbers, words of the user."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from plimsoll.light.regex import regex
from plimsoll.summary.condense import statements
from plimsoll.summary.coverage import terms
from plimsoll.summary.ledger.sentences import CJK

if TYPE_CHECKING:
    from collections.abc import Iterable

_RUN = regex(r"https?://[^\s<>\"')\]]+|\d{1,3}(?:,\d{3})+(?![\d,])|[\w.@+/~-]+", re.ASCII)
"""Characters of a claim beside each other. Whether they are one is asked of the whole run, so that a long one takes no longer."""

_WHOLE = regex(
    r"https?://.+|(?:~?/|\.{1,2}/)[\w.@+-]+(?:/[\w.@+-]+)*/?|(?:[\w.@+-]+/)+[\w.@+-]+\.[a-z]{1,5}|[\w.+-]+@[\w-]+\.[\w.]+"
    r"|\d{1,3}(?:,\d{3})+|[\w-]+(?:\.[\w-]+)*\.[a-z]{1,4}",
    re.ASCII,
)
"""An address, a path, a grouped number or a file."""

_PART = regex(
    r"[A-Za-z]+(?:[-_][A-Za-z0-9]+)*[-_]?\d[\w-]*|\d[\w-]*[A-Za-z][\w-]*|\d{5,}|[A-Za-z]+_\w+|[a-z]+[A-Z]\w+", re.ASCII
)
"""An identifier, a large number, or a name in code."""

_QUANTITY = regex(
    r"~?\d{1,4}(?:\.\d{1,3})?-?[a-z]{1,8}(?:-[a-z]{1,8}){0,3}|(?:pre|post|mid|early|late)-\d{4}s?", re.ASCII
)
"""Such as `30min`, `1-yr-old` or `mid-2023`: a short form of what was said in more words, and like other small numbers no claim."""

_BETWEEN_PARTS = regex(r"([/.@+~])")
_SEPARATOR = regex(r"[^0-9A-Za-z]+|_")
_GROUPED = regex(r"(?<=\d),(?=\d{3})")
_TOKEN = regex(r"[0-9a-z]+")
_PLAIN_NUMBER = regex(r"[a-z]?\d{1,4}[a-z]?", re.ASCII)
"""Such as a line, an hour or a step. Ranges of them are in no conversation."""

_PART_CHARS_MIN, _DIGITS_MIN, _CODE_CHARS_MIN = 4, 5, 5

_ATTRIBUTED = regex(
    r"\busers?\b[^.;\n]{0,30}?\b(?:ask|request|want|requir|said|says|told|tells|insist|order|demand|instruct|approv|authori[sz]"
    r"|permit|allow|agree|confirm|need)|用户[^，。；\n]{0,8}(?:要求|请求|希望|想|说|让|命令|指示|同意|批准|授权|需要)"
)
_CUE_TERMS = frozenset(
    "user users asked asks reque wants wante requi said told insis order deman instr appro autho permi allow agree confi needs"
    " neede 用户 要求 请求 希望 户要 户请 户希 户说 户让 户想 户同 户批 户授 户需 同意 批准 授权 命令 需要".split()
)
_ATTRIBUTED_SHARE_MIN = 0.34
_JUDGED_SHARE_MIN = 0.4
"""A text with fewer of its words in the conversation is in another language, or of something else."""

_LANGUAGE_SHARE_MIN = 0.25
_SHORT_WORD = regex(r"\b[^\W\d_]{1,3}\b")

_STRUCK = "…"


class Grounds:
    """What was said, to be asked whether it contains a claim."""

    def __init__(self, texts: Iterable[str], spoken: Iterable[str]) -> None:
        self._folded = "\n".join(texts).casefold()
        self.spoken = tuple(spoken)

    @cached_property
    def spoken_terms(self) -> frozenset[str]:
        """The terms of what user and assistant said."""
        return frozenset[str]().union(*(terms(text.casefold()) for text in self.spoken))

    @cached_property
    def _digits(self) -> str:
        return _GROUPED.sub("", self._folded)

    @cached_property
    def _tokens(self) -> frozenset[str]:
        """The words and numbers as they stand: two line numbers in a list are not one large number."""
        return frozenset(_TOKEN.findall(self._folded))

    def mentions(self, term: str) -> bool:
        """Whether a stem stands anywhere in the conversation, a tool's text included."""
        return term in self._folded

    def holds(self, claim: str) -> bool:
        """Whether a path, identifier or number stands in the conversation, or each of its longer parts does."""
        own = claim.casefold().strip(".-_")
        if own in self._folded:
            return True
        bare = _GROUPED.sub("", own)
        if bare.isdigit():
            return bare in self._digits or (bare != own and self._tokens.issuperset(own.split(",")))
        parts = [part for part in _SEPARATOR.split(own) if part and _PLAIN_NUMBER.fullmatch(part) is None]
        telling = [
            part for part in parts if len(part) >= (_DIGITS_MIN if any(map(str.isdigit, part)) else _PART_CHARS_MIN)
        ]
        return all(part in self._folded for part in telling) if telling else self._tokens.issuperset(parts)


def grounded(prose: str, conversation: Grounds) -> tuple[str, int]:
    """Return the prose without unsupported claims, and how many were struck.

    A statement is dropped with its claim, unless it also holds supported ones or nothing else would remain: then only the claim is.
    A text that shares hardly a word with the conversation cannot be judged by its words, and stays.
    """
    own = [term for term in terms(prose.casefold()) - _CUE_TERMS if len(term) >= _PART_CHARS_MIN or not term.isascii()]
    if sum(map(conversation.mentions, own)) < len(own) * _JUDGED_SHARE_MIN:
        return prose, 0
    judges_requests = _speaks_alike(prose, conversation)
    lines, count = list[str](), 0
    for line in prose.split("\n"):
        kept, struck = _grounded_line(line, conversation, judges_requests=judges_requests)
        count += struck
        if kept.strip() or not line.strip():
            lines.append(kept)
    left = "\n".join(lines)
    if count and sum(map(str.isalnum, left)) < 2:
        return _without_claims(prose, conversation)[0], count
    return left, count


def _grounded_line(line: str, conversation: Grounds, *, judges_requests: bool) -> tuple[str, int]:
    kept, count = list[str](), 0
    for statement in statements(line):
        bare, struck, supported = _without_claims(statement, conversation)
        if struck and not supported:
            count += struck
        elif judges_requests and _is_put_in_mouth(statement, conversation):
            count += 1
        else:
            kept.append(bare)
            count += struck
    left = "".join(kept)
    return (left if line[:1].isspace() else left.lstrip()) if count else line, count


def _without_claims(text: str, conversation: Grounds) -> tuple[str, int, int]:
    """Return a text with unsupported claims replaced, and the numbers of unsupported and supported ones."""
    struck = supported = 0

    def checked(claim: str) -> str:
        nonlocal struck, supported
        if len(claim) < _CODE_CHARS_MIN:
            return claim
        if conversation.holds(claim):
            supported += 1
            return claim
        struck += 1
        return _STRUCK

    def checked_run(found: re.Match[str]) -> str:
        run = found[0].rstrip(".-")
        after = found[0][len(run) :]
        if _WHOLE.fullmatch(run):
            return checked(run) + after
        if _QUANTITY.fullmatch(run):
            return found[0]
        parts = (checked(part) if _PART.fullmatch(part) else part for part in _BETWEEN_PARTS.split(run))
        return "".join(parts) + after

    return _RUN.sub(checked_run, text), struck, supported


def _is_put_in_mouth(statement: str, conversation: Grounds) -> bool:
    """Whether a statement says that the user asked for something that neither the user nor the assistant spoke of."""
    folded = statement.casefold()
    if _ATTRIBUTED.search(folded) is None:
        return False
    needed = terms(folded) - _CUE_TERMS
    return bool(needed) and len(needed & conversation.spoken_terms) < len(needed) * _ATTRIBUTED_SHARE_MIN


def _speaks_alike(prose: str, conversation: Grounds) -> bool:
    """Whether prose and conversation are in one language, by the short words of both, or by CJK characters."""
    folded = prose.casefold()
    if _ATTRIBUTED.search(folded) is None:
        return False
    if CJK.search(folded):
        return any(CJK.search(text) for text in conversation.spoken)
    short = frozenset(_SHORT_WORD.findall(folded))
    said = frozenset(word for text in conversation.spoken for word in _SHORT_WORD.findall(text.casefold()))
    return len(short & said) >= len(short) * _LANGUAGE_SHARE_MIN
