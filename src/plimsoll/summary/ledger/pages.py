"""What pages and small tables that a tool returned say to what was asked: whole sentences, and rows with their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plimsoll.light.regex import regex
from plimsoll.summary.ledger.commands import failed
from plimsoll.summary.ledger.fact import Fact
from plimsoll.summary.ledger.prose import is_code, plain, shape
from plimsoll.summary.ledger.sentences import has_digit, line, sentences

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from plimsoll.summary.ledger.calls import Call
    from plimsoll.summary.ledger.fact import Kind

    Known = Mapping[Kind, Mapping[str, Fact]]
    """The facts of the messages before, by kind and key."""

_PAGE_CHARS_MIN, _PAGE_CHARS_MAX = 200, 12_000
_SENTENCE_CHARS_MAX = 220
_SENTENCE_WORDS_MIN, _SENTENCE_WORDS_MAX, _LINE_WORDS_MIN = 5, 80, 8
_WEIGHTS = (0.8, 0.7, 0.6)
"""Of the sentences of a page, best first: as lines that programs printed, in whose section they stand."""

_ASKED_WORD, _WANTED_WORD, _NUMBER, _NAME, _OPENING = 1.0, 0.5, 0.4, 0.2, 0.8
"""What a word of the call, one of the request, a number, a name and the first place add to a sentence."""

_COUNTED_MAX, _SCORE_MIN = 3, 1.0
_KEY = "page|"
"""Start of the key of a page's sentence."""

_TELLING = 5.0
"""A sentence of a page is worth less, the further its score is below this."""

_WORD = regex(r"[^\W\d_]{4,}")
_NAMED = regex(r"(?<=[a-z,;] )[A-Z][a-zà-ÿ]{2,}")
_NUMBERED = regex(r"(?<![\w.])[0-9][0-9.,:/-]*")
_STOPS = (".", "!", ".)", '."', "。", "”", "]", "[…]")
_NO_PROSE = regex(r"[\[|<>{}#$+*/\\-]|[0-9]{1,6}[:|\t ]|[A-Z_ ]{4,24}:|[^|\n]{0,200}\|")
"""The start of a line of markup, of a table or of a list of elements, and a label in capitals."""

_ELEMENT = regex(r"</?[A-Za-z][^<>]{0,400}>")
_TABLE_CHARS_MAX, _TABLE_ROWS_MAX = 320, 9
_CELLS = regex(r"\s*\|\s*|\t+|\s{2,}")
_RULE = regex(r"[\s|+:=-]{3,}")

_INTERPRETERS = frozenset(
    "python sql sqlite ipython jupyter run_cell execute_sql run_sql query run_query execute_query code r".split()
)
"""Tools that run code or queries, whose small results are what they were asked for."""


def words_of(text: str) -> frozenset[str]:
    """Return the longer words of a text, without case and the ending of a plural."""
    return frozenset(word.casefold().removesuffix("s") for word in _WORD.findall(text[:2_000]))


def answers(call: Call) -> bool:
    """Return whether a call asks for what a page or a table says: not for a file, nor for what a command of a shell prints."""
    return not call.paths and (call.action in ("other", "search", "read") or call.name in _INTERPRETERS)


def _asked_of(call: Call) -> frozenset[str]:
    """Return the longer words of a call's arguments."""
    return words_of(" ".join(value for value in call.arguments.values() if isinstance(value, str)))


def from_answer(text: str, call: Call, position: int, known: Known) -> list[Fact] | None:
    """Return a small table as one fact, else the sentences that a page says to what is asked; None for what is neither.

    A sentence that other pages have too, but for its numbers, tells nothing of this one; where this page had it, the newest count.
    Where pages are read beside work on files, one sentence stays.
    """
    if small := list(from_table(text, call, position)):
        return small
    told = _telling(text, call, _wanted(known)) if len(text) >= _PAGE_CHARS_MIN else []
    values, files = known.get("identifier", {}), known.get("file", {}).values()
    note = f"{call.brief}\t"
    best = {f"{_KEY}{shape(sentence, _SENTENCE_CHARS_MAX)}": (score, sentence) for score, sentence in reversed(told)}
    new = [(*of, key) for key, of in best.items() if key not in values or values[key].note == note]
    facts = []
    for weight, (score, sentence, key) in zip(_WEIGHTS, sorted(new, reverse=True), strict=False):
        shown, worth = line(sentence, _SENTENCE_CHARS_MAX), weight * min(1.0, (_SCORE_MIN + score) / _TELLING)
        facts.append(Fact("identifier", key, shown, position, "tool", worth, note=note))
    is_aside = any(fact.state == "modified" for fact in files)
    return (facts[:1] if is_aside else facts) if told else None


def is_marked_up(text: str) -> bool:
    """Return whether a text has elements that end, as XML and HTML do: its words stand between them."""
    return "</" in text[:_PAGE_CHARS_MAX]


def _wanted(known: Known) -> frozenset[str]:
    """Return the words of the user's first and newest requests, which a page may say something to."""
    asked = [fact.text for fact in known.get("request", {}).values()]
    return words_of("\n".join([text[:1_000] for text in (*asked[:1], *asked[-1:])]))


def _telling(text: str, call: Call, wanted: Collection[str]) -> list[tuple[float, str]]:
    """Return the sentences of a page of prose that say most to the words of the call and of the request, best first. Linear."""
    asked, given = _asked_of(call), "\n".join(value for value in call.arguments.values() if isinstance(value, str))
    page = _ELEMENT.sub("\n", text[:_PAGE_CHARS_MAX]) if is_marked_up(text) else text[:_PAGE_CHARS_MAX]
    found = [sentence for raw in page.split("\n") if _is_prose(raw) for sentence in sentences(plain(raw))]
    told = [sentence for sentence in found if _SENTENCE_WORDS_MIN <= sentence.count(" ") + 1 <= _SENTENCE_WORDS_MAX]
    scored = [
        (_score(sentence, asked, wanted) + _OPENING * (order == 0), -order, sentence)
        for order, sentence in enumerate(told)
    ]
    telling = [(score, order, sentence) for score, order, sentence in scored if score >= _SCORE_MIN]
    return [(score, sentence) for score, _, sentence in sorted(telling, reverse=True) if sentence not in given]


def _is_prose(raw: str) -> bool:
    """Return whether a line is of sentences: mostly of words, with a full stop at its end, and neither a row, a label nor code."""
    bare = raw.strip()
    if not bare.endswith(_STOPS) or "{" in bare or _NO_PROSE.match(bare) is not None or is_code(bare[:200]):
        return False
    words = bare.split(" ")
    return len(words) > _LINE_WORDS_MIN and sum(map(str.isalpha, words)) * 2 > len(words)


def _score(sentence: str, asked: Collection[str], wanted: Collection[str]) -> float:
    words = words_of(sentence)
    numbers, names = len(_NUMBERED.findall(sentence)), len(_NAMED.findall(sentence))
    return (
        _ASKED_WORD * min(_COUNTED_MAX, len(words.intersection(asked)))
        + _WANTED_WORD * min(_COUNTED_MAX, len(words.intersection(wanted)))
        + _NUMBER * min(_COUNTED_MAX, numbers)
        + _NAME * min(_COUNTED_MAX, names)
    )


def from_table(text: str, call: Call, position: int) -> Iterator[Fact]:
    """Yield a small table as one line, its columns first: what a query for a few rows was made for."""
    bare = text.strip()
    if not bare or len(bare) > _TABLE_CHARS_MAX or not has_digit(bare) or failed(bare, is_error=False):
        return
    rows = [row for raw in bare.split("\n") if (row := raw.strip(" |\t")) and _RULE.fullmatch(row) is None]
    cells = [len(_CELLS.split(row)) for row in rows]
    is_labelled = call.action != "search" and sum(": " in row for row in rows) * 2 > len(rows)
    is_short = len(rows) <= _COUNTED_MAX and call.action == "shell"
    if 1 < len(rows) <= _TABLE_ROWS_MAX and (max(cells) > 1 or is_labelled or is_short):
        shown = line("; ".join(" | ".join(_CELLS.split(row)) for row in rows), _TABLE_CHARS_MAX)
        yield Fact(
            "identifier",
            f"{call.brief}|{shown}",
            shown,
            position,
            "tool",
            1.2,
            note=f"{call.brief}\t",
        )
