"""Shorten a model's summary by what each of its statements is worth per token, wherever it stands."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING

from plimsoll.light.dataclass import dataclass
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.summary.ledger.prose import lines_and_code
from plimsoll.summary.ledger.requests import asks, constrains

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from plimsoll.protocols import TokenCounter

_ATOM = regex(
    r"(?P<run>[A-Za-z_][A-Za-z0-9_/.@-]*)|(?P<number>\d[\d.,:/-]*)|(?P<cjk>[\u3040-\u30ff\u3400-\u9fff]+)"
    r"|(?P<word>[^\W\d_\u3040-\u30ff\u3400-\u9fff]+)",
)
"""Runs of characters; which of them are codes is asked of the whole run, so that a long one takes no longer."""

_CODE = regex(r"[\d_/@]|[a-z][A-Z]")
_WORD = regex(r"[^\W\d_]+")
_HEADING = regex(r"#{1,6}\s|【[^】]{1,40}】$|\*\*[^*]{1,80}\*\*:?$|[^.。;；]{1,60}[:：]$")
_LABEL = regex(
    r"\s{0,12}(?:(?:[-*•]|[0-9]{1,3}[.)])\s{1,3})?[^\s:：;；,，。](?:[^:：;；,，。\n]|:(?=\d)){0,40}(?::(?=[^/\\\d])|：)\s?"
)
"""The subject at the start of a line, which what follows on the line needs."""

_CUE = regex(
    r"\b(?:user|request|asked|wants?|chose|confirmed|agreed|decided|decisions?|constraints?|must|never|error|failed|failing|fixed"
    r"|done|completed|succeeded|cancelled|status|state|next|open|pending|remaining|todo)\b"
    r"|用户|请求|要求|决定|约束|必须|不要|错误|失败|完成|状态|下一步|待办|未完成",
)
_LEGEND = regex(r"(?<=[^\W\d_]{2})\s?\((?P<short>[A-Z][A-Za-z]{0,3})\)|(?P<sign>[^\W\d_]{1,4})\s?=\s?[^\W\d_]{2}")
"""A short form beside what it stands for."""

_SHORT_FORMS_MIN = 5
"""So often a short form is used that needs its legend."""

_FOREIGN_FORMS_MAX = 50
"""So many short forms in another script are looked for, each in the whole text."""

_LEGEND_FACTOR = 5.0
_OPENERS, _CLOSERS = "([{（【《“", ")]}）】》”"
_BREAK = regex(r"[;；。！？]|[.!?](?= )|[}\])],")
_LONG_CHARS = 320
_GAP = " …"
_PIECE_CHARS_MIN = 6
_ASIDE_CHARS_MAX = 24
"""What follows a last arrow is a statement of its own if it is short."""

_SHORT_WORD_CHARS = 3
_STEM_CHARS = 6
_FUNCTION_WORTH = 0.2
"""What a short word is worth against a name or a number of the same length."""

_REPEATED_WORTH, _SHOWN_WORTH = 0.4, 0.15
"""What is left of the worth of a word that stands elsewhere in the summary, or is shown beside it. A number elsewhere is that of
another thing, and worth as much."""

_CUE_FACTOR = 1.5
"""By how much a request, a decision or a status is worth more than other text."""

_CODE_FACTOR = 0.3
"""What a line of code is worth against one of prose."""

_NUMBER_CHARS, _CODE_CHARS, _PAIR_WORTH, _NAME_WORTH = 1.8, 2.8, 0.75, 1.2
"""Characters of a number and of a code that are worth a word; the worth of a pair of CJK characters and of a name."""

_HEADINGS_SHARE = 0.1
"""Headings stay if they take no more of the room."""

_LEFT_TOKENS_MIN, _MISFITS_MAX = 2, 8


class _Piece(NamedTuple):
    line: int
    text: str
    atoms: dict[str, float]
    """Its words, numbers and codes, with their worth where they are new."""
    factor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    label: str
    """The subject of its pieces, repeated where the first of them is dropped."""
    is_heading: bool


def condensed(text: str, *, tokens_max: int, counter: TokenCounter, shown: str = "") -> str:
    """Return as much of a summary as fits, on its lines: what says least for its tokens goes, which is mostly code.

    What `shown` says, or another part of the summary, is worth little. `…` marks gaps. Returns an empty string if nothing fits.
    """
    for candidate in (text, "\n".join(line.rstrip() for line in text.split("\n") if line.strip())):
        if counter.upper(candidate) <= tokens_max:
            return candidate
    lines, pieces = _divided(text)
    order = _ranked(pieces, lines, counter, shown, tokens_max)

    def shortened(chosen: Sequence[int]) -> str:
        return _joined(lines, pieces, sorted(chosen))

    count = bisect_right(
        range(1, len(order) + 1), 0, key=lambda count: counter.upper(shortened(order[:count])) > tokens_max
    )
    best, chosen, misfits = shortened(order[:count]), list(order[:count]), 0
    for at in order[count:]:  # what is small enough for the room that the first ones leave
        left = tokens_max - counter.upper(best)
        if left < _LEFT_TOKENS_MIN or misfits > _MISFITS_MAX:
            break
        made = shortened([*chosen, at]) if counter.upper(pieces[at].text) <= left else None
        if made is not None and counter.upper(made) <= tokens_max:
            best = made
            chosen.append(at)
        else:
            misfits += made is not None
    return best or _start(pieces[order[0]].text if order else "", tokens_max, counter)


def _start(text: str, tokens_max: int, counter: TokenCounter) -> str:
    """Return as many first words of a statement as fit, for a room too small for any."""
    words = text.split()
    count = bisect_right(
        range(1, len(words) + 1), 0, key=lambda count: counter.upper(" ".join(words[:count]) + _GAP) > tokens_max
    )
    return " ".join(words[:count]) + _GAP if count else ""


def _divided(text: str) -> tuple[list[_Line], list[_Piece]]:
    """Divide a summary into lines, and these into statements."""
    lines, pieces = list[_Line](), list[_Piece]()
    section = 1.0
    used = _Used(text)
    for line, is_code in lines_and_code(text):
        raw = line.rstrip()
        if is_code and raw:
            lines.append(_Line(label="", is_heading=False))
            pieces.append(_Piece(len(lines) - 1, raw, _atoms(raw), _CODE_FACTOR))
        if is_code or not raw:
            continue
        is_heading = _HEADING.match(raw.strip()) is not None
        if is_heading:
            section = _factor(raw)
        label = _LABEL.match(raw)
        lines.append(_Line(label=label[0] if label and label.end() < len(raw) else "", is_heading=is_heading))
        for part in [raw] if is_heading else statements(raw):
            factor = _LEGEND_FACTOR if _explains(part, used) else max(section, _factor(part))
            pieces.append(_Piece(len(lines) - 1, part, _atoms(part), factor))
    return lines, pieces


class _Used:
    """How often a text uses a short form: as a word, or in a script without spaces anywhere."""

    def __init__(self, text: str) -> None:
        self._text, self._foreign = text, dict[str, int]()
        self._words = Counter(_WORD.findall(text))

    def count(self, form: str) -> int:
        if form.isascii():
            return self._words[form]
        if form not in self._foreign and len(self._foreign) < _FOREIGN_FORMS_MAX:
            self._foreign[form] = self._text.count(form)
        return self._foreign.get(form, 0)


def _explains(part: str, used: _Used) -> bool:
    """Whether a statement explains a short form that the text often uses."""
    return any(used.count(found["short"] or found["sign"]) > _SHORT_FORMS_MIN for found in _LEGEND.finditer(part))


def statements(line: str) -> Iterator[str]:
    """Split a line, outside of brackets and quotations, after sentences and semicolons and before a last arrow.

    What is long, as JSON on one line and text behind a bracket that never closes, is split inside of them, too.
    """
    for part in _outer_statements(line):
        start = 0
        for found in _BREAK.finditer(part) if len(part) > _LONG_CHARS else ():
            if found.end() - start >= _PIECE_CHARS_MIN:
                yield part[start : found.end()]
                start = found.end()
        if part[start:].strip():
            yield part[start:]


def _outer_statements(line: str) -> Iterator[str]:
    start = depth = 0
    is_quoted, has_pairs = False, line.count('"') % 2 == 0
    arrow = line.rfind("→") if len(line) - line.rfind("→") <= _ASIDE_CHARS_MAX else -1
    for at, char in enumerate(line):
        depth = max(0, depth + (char in _OPENERS) - (char in _CLOSERS))
        is_quoted ^= has_pairs and char == '"'
        if depth or is_quoted or at - start < _PIECE_CHARS_MIN:
            continue
        if at == arrow and not (line[at - 1].isascii() and line[at - 1].isalnum()):
            yield line[start:at]
            start = at
        elif _ends(line, at):
            yield line[start : at + 1]
            start = at + 1
    if line[start:].strip():
        yield line[start:]


def _ends(line: str, at: int) -> bool:
    """Whether a statement ends with this character."""
    char = line[at]
    last = line[at - 1] if char in "\"')" else char
    return char in ";；。！？" or (last in ".!?" and line[at + 1 : at + 2] == " ")


def _factor(text: str) -> float:
    folded = text.casefold()
    return _CUE_FACTOR if _CUE.search(folded) or constrains(text) or asks(text) else 1.0


def _atoms(text: str) -> dict[str, float]:
    """The worth of each word, number and code: about the tokens that it takes, a third more for what can be asked for."""
    found: dict[str, float] = {}
    for atom in _ATOM.finditer(text):
        own = atom[0].casefold()
        if atom["cjk"]:
            found.update(dict.fromkeys((own[at : at + 2] for at in range(max(1, len(own) - 1))), _PAIR_WORTH))
        elif atom["number"]:
            found[own.strip(".,:/-")] = max(1.0, len(own) / _NUMBER_CHARS)
        elif atom["run"] and _CODE.search(atom[0]):
            found[own.strip(".,:/-")] = max(1.0, len(own) / _CODE_CHARS)
        else:
            found.update(_word_worth(word) for word in _WORD.findall(atom[0]))
    return found


def _word_worth(word: str) -> tuple[str, float]:
    """A word's stem and its worth: a short one hardly says anything, a name says more."""
    if len(word) <= _SHORT_WORD_CHARS and not word.isupper():
        return word.casefold(), _FUNCTION_WORTH
    return word.casefold()[:_STEM_CHARS], _NAME_WORTH if word[0].isupper() else 1.0


def _ranked(
    pieces: Sequence[_Piece], lines: Sequence[_Line], counter: TokenCounter, shown: str, tokens_max: int
) -> list[int]:
    """Order the pieces by worth per token, each beside those before it. Headings come first, if they leave room."""
    headings = [at for at, piece in enumerate(pieces) if lines[piece.line].is_heading]
    sizes = [max(1, counter.upper(piece.text)) for piece in pieces]
    if sum(sizes[at] for at in headings) > tokens_max * _HEADINGS_SHARE:
        headings = []
    beside, seen = frozenset(_atoms(shown)), set[str]()
    order, waiting = list(headings), list[tuple[float, int]]()
    skipped = {at for at, piece in enumerate(pieces) if lines[piece.line].is_heading}
    told: set[str] = set()
    for at, piece in enumerate(pieces):
        if at not in skipped and piece.text.strip() not in told:
            told.add(piece.text.strip())
            heapq.heappush(waiting, (-_worth(piece, seen, beside) / (sizes[at] + 1), at))
    while waiting:
        _, at = heapq.heappop(waiting)
        worth = -_worth(pieces[at], seen, beside) / (sizes[at] + 1)
        if waiting and worth > waiting[0][0]:
            heapq.heappush(waiting, (worth, at))
            continue
        order.append(at)
        seen.update(atom for atom in pieces[at].atoms if not atom[:1].isdigit())
    return order


def _worth(piece: _Piece, seen: AbstractSet[str], beside: AbstractSet[str]) -> float:
    worth = sum(
        worth * (_SHOWN_WORTH if atom in beside else _REPEATED_WORTH if atom in seen else 1.0)
        for atom, worth in piece.atoms.items()
    )
    return worth * piece.factor


def _joined(lines: Sequence[_Line], pieces: Sequence[_Piece], chosen: Sequence[int]) -> str:
    """Join the chosen pieces, each on its own line. A heading stays only above something."""
    made: list[str] = []
    current, headings = -1, list[str]()
    previous = -1
    for at in chosen:
        piece = pieces[at]
        if lines[piece.line].is_heading:
            headings = [piece.text]
            continue
        if piece.line != current:
            made += headings
            headings = []
            is_first = at == 0 or pieces[at - 1].line != piece.line
            made.append(piece.text if is_first else f"{lines[piece.line].label}{piece.text.lstrip()}")
            current = piece.line
        else:
            made[-1] += piece.text if previous == at - 1 else f"{_GAP.strip()}{piece.text.lstrip()}"
        previous = at
    if made and len(chosen) < len(pieces):
        made[-1] += _GAP
    return "\n".join(made)
