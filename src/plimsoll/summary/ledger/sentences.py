"""Clean text, and split it into sentences and clauses, in English and Chinese."""

from __future__ import annotations

from operator import add
from typing import TYPE_CHECKING

from plimsoll.light.regex import led, regex
from plimsoll.truncation.boundaries import word_before

if TYPE_CHECKING:
    import re

_JOINABLE = r"[\u0600-\u0dff\u1000-\u109f\u1780-\u18af\u2190-\u2bff\ufe0f\U0001f000-\U0001faff]"
"""Letters of Arabic and Indic scripts, and emoji: a joiner between two of them is part of the word or picture."""
_JOINER = r"[\u200c\u200d]"
_CONTROL = regex(
    r"(?:[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2064\ufeff]"
    rf"|(?<!{_JOINABLE}){_JOINER}|{_JOINER}(?!{_JOINABLE}))+"
)
_ANSI = regex(r"\x1b\[[0-9;]{0,16}[A-Za-z]")
_MONTH = r"(?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Sept|Okt|Nov|Dez)(?:r?uar|z|il|i|ust|t?ember|ober)?\b"
"""A German month, which has a capital: an ordinal number with a full stop stands in front of it."""

_ENDS = (
    r"(?<!\b(?:Mr|Ms|Mx|Dr|St|Mt|Hr|Sr|Lt|vs|cf)\.)(?<!\b(?:Mrs|Dra|Sra|Mme|Rev|Col|Gen|Gov|Sen|Sgt|e\.g|i\.e)\.)"
    r"(?<!\b(?:Prof|Srta|Capt|Mlle)\.)(?!(?<=\b(?:[Nn]o|[Nn]r|pp|ca)\.) [0-9])"
    r"(?!(?<=\bCo\.) (?:KG|Ltd|Inc|KGaA|GmbH)\b)(?!(?<=\b(?:Inc|Ltd|etc|bzw)\.| Co\.) [a-zà-ÿ])"
    rf"(?!(?<=\b[pS]\.) [0-9])(?!(?<=[0-9]\.) (?:[a-zà-ÿ]|[0-9]{{1,2}}\.|{_MONTH}))"
    r"(?!(?<=\b[A-HJ-Z]\.) (?!(?:I|It|The|We|He|She|They|You|This|That|My|And|But|So|Is|Do|What|Where|When|Who|How|Why)\b)[A-Z])"
)
"""Where a full stop ends a sentence, which is behind it."""

STOP = rf"\.{_ENDS}"
"""The pattern of a full stop that ends a sentence: not in `Dr. Okafor`, `No. 4`, `p. 12`, `am 1. Mai` or `Ursula K. Le Guin`."""

_END = regex(led({r"!?。！？；\n": "", ".": _ENDS}) + r"[\"')\]”’]{0,2}(?:\s+|(?<=[\n。！？；”’]))")
_DIGIT = regex(
    r"[\d\u00b2\u00b3\u00b9\u1369-\u1371\u19da\u2070\u2074-\u2079\u2080-\u2089\u2460-\u2468\u2474-\u247c\u2488-\u2490\u24ea"
    r"\u24f5-\u24fd\u24ff\u2776-\u277e\u2780-\u2788\u278a-\u2792\U00010a40-\U00010a43\U00010e60-\U00010e68"
    r"\U00011052-\U0001105a\U0001f100-\U0001f10a]"
)
"""What `str.isdigit` takes for a digit: also raised, lowered and circled ones."""

_ASCII_DIGIT = regex(r"[0-9]")

CJK = regex(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")

_RUN = regex(r"[\u3400-\u9fff]+|[A-Za-z][\w&'. -]*|\d[\d:.,\-~—/]*")

NOT_ASCII = "\x80"
"""A text that begins with an ASCII character is less."""

_ASIDE_CHARS_MAX = 240
"""What is longer in brackets is sentences of its own."""

SENTENCES_MAX = 400
"""Maximum number of sentences to examine in one message."""


def clean(text: str) -> str:
    """Remove control, bidirectional and zero-width characters, ANSI colours and lone surrogates; joiners inside words stay."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if text.isprintable():  # it holds none of these
        return text
    if text.isascii():
        return _CONTROL.sub(" ", text)
    return _CONTROL.sub(" ", text.encode("utf-8", "replace").decode("utf-8"))


def line(text: str, chars_max: int) -> str:
    """Return one clean line of at most `chars_max` characters; `…` marks a cut."""
    if len(text) <= chars_max and text.isprintable() and "  " not in text:
        return text.strip()
    return cut_at_word(" ".join(clean(text[: chars_max * 4]).split()), chars_max)


def cut_at_word(text: str, chars_max: int) -> str:
    """Return at most `chars_max` characters of a text with `…` in place of the rest; whole words where they are short."""
    if len(text) <= chars_max:
        return text
    return f"{text[: word_before(text, chars_max - 1)].rstrip()}…"


def head_and_tail(text: str, chars_max: int) -> str:
    """Return at most `chars_max` characters: two thirds from the head, one third from the tail, with the cut marked."""
    if len(text) <= chars_max:
        return text
    tail = max(0, chars_max // 3 - 3)
    return f"{text[: chars_max - tail - 3]} … {text[len(text) - tail :]}"


def has_digit(text: str) -> bool:
    """Return whether a text contains a digit."""
    return (_ASCII_DIGIT if text.isascii() else _DIGIT).search(text) is not None


def sentences(text: str) -> list[str]:
    """Return the non-blank sentences in order, split after `.!?。！？；` and at line ends, not in brackets. Linear time."""
    found: list[str] = []
    start = 0
    for end in _END.finditer(text):
        piece = text[start : end.end()]
        if "(" in piece and _is_aside(text, start, end):
            continue
        if piece := piece.strip():
            found.append(piece)
        start = end.end()
        if len(found) >= SENTENCES_MAX:
            return found
    if piece := text[start:].strip():
        found.append(piece)
    return found


def _is_aside(text: str, start: int, end: re.Match[str]) -> bool:
    """Return whether a sentence that began at `start` ends inside brackets that are closed soon, on the same line."""
    opened = text.rfind("(", start, end.start())
    if end.start() - start > _ASIDE_CHARS_MAX or opened < text.rfind(")", start, end.end()):
        return False
    closed = text.find(")", end.end(), opened + _ASIDE_CHARS_MAX)
    return closed > 0 and "\n" not in text[end.start() : closed]


def cjk_chars(text: str) -> int:
    """Return the number of Chinese, Japanese and Korean characters."""
    return 0 if text.isascii() else sum(map(len, CJK.findall(text)))


def pairs(text: str) -> list[str]:
    """Return the terms of a Chinese text: pairs of characters, and complete words in Latin letters or digits."""
    found: list[str] = []
    for run in _RUN.findall(text):
        if run[0].isascii():
            found.append(run.strip().casefold())
        elif len(run) == 1:
            found.append(run)
        else:
            found.extend(map(add, run, run[1:]))
    return found
