"""What a message says in prose: its sentences without code, headings, tables, lead-ins and marks of emphasis."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from plimsoll.regex import regex
from plimsoll.summary.ledger.sentences import CJK, sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE = regex(r"[ \t>]{0,12}(?:(?:[-*+]|[0-9]{1,3}[.)])[ \t]{1,4})?(`{3,}(?=[^`\n]*$)|~{3,})")
_MARKER = regex(r"(?:\s{0,12}(?:[-*+•>]|#{1,6}|[0-9]{1,3}[.)]|\[[ xX]\])(?=\s)){1,4}\s*")
_STRONG = regex(r"\*{2,3}|(?<!\w)__(?=\S)|(?<=\S)__(?!\w)")
_LIGHT = regex(r"(?<![\w*\\])\*([^\s*][^*\n]{0,200})\*(?![\w*])")
_CODE_SPAN = regex(r"`[^`\n]{1,300}`")
_LINE_OF_CODE = regex(
    r"(?://|/\*|\*/|\*\s@|#include|#!|>>>|\$\s|@[\w.]+\s*(?:\(|$)|</?[a-zA-Z][\w-]*[\s/>])"
    r"|[\w.\[\]\"'*&, ]{1,60}\s(?::=|\+=|-=|==|!=|=)\s"
    r"|[\w.]{1,80}\([^()]*\)[;,]?$"
)
"""How a line of code begins, or what it is as a whole, in most languages: a comment, a tag, an assignment, a bare call."""

_ENDS_CODE = ("{", "}", ";", "(", "[", "=>", "});", "*/", "\\")
_WORD = regex(r"[^\W\d_][^\W_'’-]+")
_WORDS_MIN = 3
_CJK_CHARS_MIN = 4
_LEAD_IN_WORDS = 8
_LEAD_IN_CJK_CHARS = 14
_DANGLING = regex(
    r"\b(?:a|an|the|this|these|those|that|which|because|since|for|to|with|without|of|in|on|at|by|as|and|or|but|is|are|was|were|be"
    r"|will|would|can|could|should|might|may|must|has|have|into|from|via|using|like|when|where|if|how|what|here|below|following"
    r"|follows|including|includes?|ones|things|steps|changes|options|issues)[*_`]*\s?:$|(?:如下|以下|下面|包括|分别是|有|是|为)[：:]$"
)
"""A word with which a sentence is not over, or that stands for what follows."""

_FIELD = regex(r"([^:：\n]{1,40})(?::\s{1,3}|：\s{0,3})\S[^\n]{0,40}")
_FIELD_WORDS_MAX = 4
_RECORD_CHARS_MAX = 280
_FILLER = regex(
    r"(?:let me|now let me|now i'll|i'll (?:start|now|check|look|read|help)|great|perfect|excellent|good|sure|certainly"
    r"|of course|thank|you're welcome|would you like|let's|looking at|is there anything|if you have|feel free|please let)"
)
_OFFER = regex(
    r"\b(?:would you like|do you want|want me to|should i|shall i|let me know|if you(?:'d)? (?:like|want|prefer)|ready to)\b"
    r"|要不要|需要我|是否需要|如果[你您]?(?:需要|想|愿意)"
)


def without_code(text: str) -> str:
    """The text without its fenced blocks of code; a fence that is not closed reaches to the end, as in Markdown. Linear."""
    if "```" not in text and "~~~" not in text:
        return text
    kept: list[str] = []
    fence = ""
    for raw in text.split("\n"):
        found = _FENCE.match(raw)
        if fence:
            closes = found is not None and found[1].startswith(fence) and not raw.strip("`~> \t")
            fence = "" if closes else fence
        elif found is not None:
            fence = found[1]
        else:
            kept.append(raw)
    return "\n".join(kept)


def plain(line: str) -> str:
    """A line without its list markers, heading marks and emphasis, balanced or not; the cells of a table's row in a list."""
    marker = _MARKER.match(line)
    bare = line[marker.end() :] if marker is not None else line.strip()
    if bare.startswith("|"):
        bare = "; ".join(cell for cell in map(str.strip, bare.split("|")) if cell.strip(":- "))
    if "*" not in bare and "__" not in bare:
        return bare.strip()
    parts = re.split(r"(`[^`\n]{1,300}`)", bare)
    return "".join(part if part.startswith("`") else _LIGHT.sub(r"\1", _STRONG.sub("", part)) for part in parts).strip()


def spoken(text: str) -> list[str]:
    """The sentences of a text without fenced code, line by line, markers and emphasis off, lines of code and lead-ins left out."""
    return list(_spoken(text))


@lru_cache(4)
def _spoken(text: str) -> tuple[str, ...]:
    """The newest texts are kept, because several readers ask for the sentences of one message."""
    found: list[str] = []
    for raw in without_code(text).split("\n"):
        said = plain(raw)
        if said and not is_lead_in(said) and not is_code(said):
            found.extend(sentences(said))
    return tuple(found)


def claims(text: str) -> list[str]:
    """The sentences that claim something, in order. A list of short fields under each other is one sentence."""
    return list(_claims(text))


@lru_cache(4)
def _claims(text: str) -> tuple[str, ...]:
    return tuple(said for said in _joined(_body(text)) if is_claim(said))


def is_claim(said: str) -> bool:
    """Whether a sentence says something on its own: it has words, asks nothing, leads to nothing and is no code."""
    if said.endswith(("?", "？")) or is_lead_in(said) or is_code(said):
        return False
    words = _CODE_SPAN.sub(" code ", said)
    return len(_WORD.findall(words)) >= _WORDS_MIN or len(CJK.findall(words)) >= _CJK_CHARS_MIN


def is_lead_in(said: str) -> bool:
    """Whether it only announces what follows: "The reason is:" says nothing, "The fix is to skip such files too:" does."""
    bare = said.rstrip("*_ ")
    if not bare.endswith((":", "：", "——")):
        return False
    is_short = len(_WORD.findall(bare)) < _LEAD_IN_WORDS and len(CJK.findall(bare)) < _LEAD_IN_CJK_CHARS
    return is_short or _DANGLING.search(bare) is not None


def is_code(said: str) -> bool:
    """Whether a line is code outside of a fence, by its shape: words in it that are set as code do not count."""
    bare = _CODE_SPAN.sub("x", said).strip()
    return _LINE_OF_CODE.match(bare) is not None or bare.endswith(_ENDS_CODE)


def is_filler(said: str) -> bool:
    """Whether it opens with politeness or with what the assistant does at once."""
    return _FILLER.match(said[:80].lower()) is not None


def offers(said: str) -> bool:
    """Whether it offers something, so that it depends on the user's answer."""
    return _OFFER.search(said.lower()) is not None


def _body(text: str) -> Iterator[str]:
    """Its lines less headings, with their sentences apart, but for short fields, which stay whole."""
    for raw in without_code(text).split("\n"):
        if raw.lstrip().startswith("#"):
            continue
        said = plain(raw)
        if _is_field(said):
            yield said
        elif said:
            yield from sentences(said)


def _is_field(said: str) -> bool:
    """Whether a line is a name and its value: `Price: $105`."""
    found = _FIELD.fullmatch(said)
    return found is not None and len(found[1].split()) <= _FIELD_WORDS_MAX and not is_code(said)


def _joined(lines: Iterator[str]) -> Iterator[str]:
    """The lines, several fields in a row as one."""
    record = ""
    for said in lines:
        field = _is_field(said)
        if field and record and len(record) + len(said) < _RECORD_CHARS_MAX:
            record = f"{record.rstrip('.。')}; {said}"
            continue
        if record:
            yield record
        record = said if field else ""
        if not field:
            yield said
    if record:
        yield record
