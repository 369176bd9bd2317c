"""Sentences of a message without code, headings, tables, lead-ins and emphasis."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plimsoll.light.regex import regex
from plimsoll.summary.kept import kept
from plimsoll.summary.ledger.sentences import cjk_chars, sentences

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE = regex(r"[ \t>]{0,12}(?:(?:[-*+]|[0-9]{1,3}[.)])[ \t]{1,4})?(`{3,}(?=[^`\n]*$)|~{3,})")
_MARKER = regex(r"(?:\s{0,12}(?:[-*+•>]|#{1,6}|[0-9]{1,3}[.)]|\[[ xX]\])(?=\s)){1,4}\s*")
_HEADING = regex(r"\s{0,12}#{1,6}(?:\s|\Z)")
_STRONG = regex(r"\*{2,3}|(?<!\w)__(?=\S)|(?<=\S)__(?!\w)")
_LIGHT = regex(r"(?<![\w*\\])\*([^\s*][^*\n]{0,200})\*(?![\w*])")
_TAGS = regex(r"</?(?:b|i|u|s|em|strong|mark|small|span|font|sub|sup|p|li|h[1-6])>", re.IGNORECASE)
"""Tags of emphasis and paragraphs without attributes, which editors of mails and chats write."""

_CODE_SPAN = regex(r"`[^`\n]{1,300}`")
_CODE_LINE = regex(
    r"(?://|/\*|\*/|\*\s@|#include|#!|>>>|\$\s|@[\w.]+\s*(?:\(|$)|</?[a-zA-Z][\w-]*[\s/>])"
    r"|[\w.\[\]\"'*&, ]{1,60}\s(?::=|\+=|-=|==|!=|=)\s"
    r"|[\w.]{1,80}\([^()]*\)[;,]?$"
)
"""The start of a line of code, or all of it, in most languages: a comment, tag, assignment or bare call."""

_MARKUP = regex(r"[\n`~*_|=(){}\[\];/\\@$<>#—]")
"""A text that begins with a letter, has none of these and is no lead-in is all said: nothing is code, emphasis or a list."""

_NO_DIGITS = str.maketrans("", "", "0123456789")
_ENDS_CODE = ("{", "}", ";", "(", "[", "=>", "});", "*/", "\\")
_WORD = regex(r"[^\W\d_][^\W_'’-]+")
_WORDS_MIN = 3  # fewer are a label
_CJK_CHARS_MIN = 4
_LEAD_IN_WORDS = 8  # a longer sentence with a colon has content
_LEAD_IN_CJK_CHARS = 14
_INCOMPLETE_END = regex(
    r"\b(?:a|an|the|this|these|those|that|which|because|since|for|to|with|without|of|in|on|at|by|as|and|or|but|is|are|was|were|be"
    r"|will|would|can|could|should|might|may|must|has|have|into|from|via|using|like|when|where|if|how|what|here|below|following"
    r"|follows|including|includes?|ones|things|steps|changes|options|issues)[*_`]*\s?:$|(?:如下|以下|下面|包括|分别是|有|是|为)[：:]$"
)
"""A word that cannot end a sentence, or that refers to what follows."""

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
    """Remove fenced code blocks. As in Markdown, an unclosed fence extends to the end. Linear time."""
    return "\n".join(line for line, is_code in lines_and_code(text) if not is_code)


def lines_and_code(text: str) -> Iterator[tuple[str, bool]]:
    """The lines of a text without its fences, and whether each was between two of them."""
    fence = ""
    for raw in text.split("\n"):
        found = _FENCE.match(raw) if "```" in raw or "~~~" in raw else None
        if fence and found is not None and found[1].startswith(fence) and not raw.strip("`~> \t\r"):
            fence = ""
        elif fence or found is None:
            yield raw, bool(fence)
        else:
            fence = found[1]


def plain(line: str) -> str:
    """Remove list markers, heading marks and emphasis, also by tags; turn the cells of a table row into a list."""
    marker = _MARKER.match(line)
    bare = line[marker.end() :] if marker is not None else line.strip()
    if bare.startswith("|"):
        bare = "; ".join(cell for cell in map(str.strip, bare.split("|")) if cell.strip(":- "))
    if "</" in bare and "`" not in bare:
        bare = _TAGS.sub("", bare)
    if "*" not in bare and "__" not in bare:
        return bare.strip()
    if "`" not in bare:
        return _without_emphasis(bare).strip()
    parts = re.split(r"(`[^`\n]{1,300}`)", bare)
    return "".join(part if part.startswith("`") else _without_emphasis(part) for part in parts).strip()


def _without_emphasis(text: str) -> str:
    strong = _STRONG.sub("", text)
    return _LIGHT.sub(r"\1", strong) if "*" in strong else strong


@kept(4)  # several readers split the same message
def spoken(text: str) -> tuple[str, ...]:
    """Return the sentences line by line, without markers, emphasis, code and lead-ins."""
    if text[:1].isalpha() and _MARKUP.search(text) is None and not is_lead_in(text.strip()):
        return tuple(sentences(text.strip()))
    found: list[str] = []
    for raw in without_code(text).split("\n"):
        sentence = plain(raw)
        if sentence and not is_lead_in(sentence) and not is_code(sentence):
            found.extend(sentences(sentence))
    return tuple(found)


@kept(4)  # as above
def claims(text: str) -> tuple[str, ...]:
    """Return the sentences that make a statement, in order. Consecutive short fields form one sentence."""
    return tuple(sentence for sentence in _with_joined_fields(_statements(text)) if is_claim(sentence))


def is_claim(sentence: str) -> bool:
    """Return whether a sentence is a statement: enough words, and not a question, a lead-in or code."""
    if sentence.endswith(("?", "？")) or is_lead_in(sentence) or is_code(sentence):
        return False
    words = _CODE_SPAN.sub(" code ", sentence) if "`" in sentence else sentence
    return len(_WORD.findall(words)) >= _WORDS_MIN or cjk_chars(words) >= _CJK_CHARS_MIN


def is_lead_in(sentence: str) -> bool:
    """Return whether a sentence only introduces the next: "The reason is:", but not "The fix is to skip such files too:"."""
    bare = sentence.rstrip("*_ ")
    if not bare.endswith((":", "：", "——")):
        return False
    is_short = len(_WORD.findall(bare)) < _LEAD_IN_WORDS and cjk_chars(bare) < _LEAD_IN_CJK_CHARS
    return is_short or _INCOMPLETE_END.search(bare) is not None


def is_code(sentence: str) -> bool:
    """Return whether a line is code outside a fence, judging by its shape without inline code."""
    bare = (_CODE_SPAN.sub("x", sentence) if "`" in sentence else sentence).strip()
    return _CODE_LINE.match(bare) is not None or bare.endswith(_ENDS_CODE)


def shape(step: str, chars_max: int = 80) -> str:
    """Return what steps have in common that are said again for the next page, row or attempt: the first words, without numbers."""
    start = step[:chars_max].casefold()
    return start.translate(_NO_DIGITS) if start.isascii() else "".join(mark for mark in start if not mark.isdigit())


def is_filler(sentence: str) -> bool:
    """Return whether a sentence starts with politeness or with an immediate next step."""
    return _FILLER.match(sentence[:80].lower()) is not None


def offers(sentence: str) -> bool:
    """Return whether a sentence is an offer, which depends on the user's answer."""
    return _OFFER.search(sentence.lower()) is not None


def _statements(text: str) -> Iterator[str]:
    """Yield the sentences of all lines except headings, also of tables; short fields are not split."""
    lines = without_code(text).split("\n")
    for raw, following in zip(lines, [*lines[1:], ""], strict=True):
        if _HEADING.match(raw) is not None or (raw.lstrip().startswith("|") and _is_rule(following)):
            continue
        sentence = plain(raw)
        if _is_field(sentence):
            yield sentence
        elif sentence:
            yield from sentences(sentence)


def _is_rule(raw: str) -> bool:
    """Return whether a line is the one below the heading of a table."""
    return "--" in raw and not raw.strip("|:- \t")


def _is_field(sentence: str) -> bool:
    """Return whether a line is a name with a value, such as `Price: $105`."""
    found = _FIELD.fullmatch(sentence) if ":" in sentence or "：" in sentence else None
    return found is not None and len(found[1].split()) <= _FIELD_WORDS_MAX and not is_code(sentence)


def _with_joined_fields(lines: Iterator[str]) -> Iterator[str]:
    """Join consecutive fields."""
    record = ""
    for sentence in lines:
        field = _is_field(sentence)
        if field and record and len(record) + len(sentence) < _RECORD_CHARS_MAX:
            record = f"{record.rstrip('.。')}; {sentence}"
            continue
        if record:
            yield record
        record = sentence if field else ""
        if not field:
            yield sentence
    if record:
        yield record
