"""Notes from a log: lost facts as text within a number of tokens, the worthiest for their length first, in a fence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from plimsoll.hooks.event import FENCE
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.summary.excerpt import excerpt
from plimsoll.summary.ledger import Fact, Kind, Ledger
from plimsoll.summary.ledger.draft import value
from plimsoll.summary.ledger.sentences import line
from plimsoll.summary.ledger.work import DONE
from plimsoll.summary.room import allot, estimate

if TYPE_CHECKING:
    from plimsoll.protocols import TokenCounter

_UPPER_RATIO = 1.2
"""Tokens are estimated, for loading a vocabulary takes longer than a hook may. Lines are chosen by a rough estimate; the whole is
held to the upper bound of a good one, which is about so much more."""

_RESERVE = 50
"""One token in so many is kept free: the bound holds for 99 texts in 100, and a little more for the rest."""

_REQUEST_CHARS, _LINE_CHARS, _LABEL_CHARS = 420, 200, 48
_FENCE_WORDS = regex(
    r"<(?=[\s/!?]{0,4}(?:plimsoll|system|user|assistant|human|tool|function|invoke|antml|developer|instructions|environment|hook))",
    re.IGNORECASE,
)
_TITLE_TOKENS = 6
_ROUNDS, _SPARE_TOKENS_MIN = 5, 12
"""Lines that share a heading or a line need less than they were reckoned at, so what is left over is given out again."""


class Line(NamedTuple):
    """One line that may be handed back."""

    text: str
    tokens: int
    worth: float
    order: int
    """Where it was said."""
    group: str = ""
    """The folder that is written once before several files."""


class NoteSection(NamedTuple):
    """Lines of one kind under a title."""

    name: str
    title: str
    share: float
    """Its part of the room, relative to the others'."""
    lines: list[Line]


def write(ledger: Ledger, *, tokens_max: int, counter: TokenCounter, head: str, foot: str) -> str:
    """The facts as text in a fence, at most `tokens_max` tokens with `head` and `foot`; empty where nothing fits."""
    page = _Page(_sections(ledger))
    tokens_max -= tokens_max // _RESERVE
    for _ in range(_ROUNDS):
        spare = tokens_max - counter.upper(_fenced(page.text(), head, foot))
        if spare < _SPARE_TOKENS_MIN or not page.take(int(spare / _UPPER_RATIO)):
            break
    while page.chosen and (tokens := counter.upper(_fenced(page.text(), head, foot))) > tokens_max:
        page.drop(1 - tokens_max / tokens)
    return _fenced(page.text(), head, foot) if page.chosen else ""


def _sections(ledger: Ledger) -> list[NoteSection]:
    """Every section with its lines, those worth most for their length first."""
    made = []
    for name, title, share, facts, show in _rows(ledger):
        base = _PROSE_TOKENS if name in _PROSE else _VALUE_TOKENS
        ranked = ((_line(fact, show, ledger.end), base) for fact in facts)
        lines = sorted((one for one in ranked if one[0].text), key=lambda one: -one[0].worth / (one[0].tokens + one[1]))
        made.append(NoteSection(name, title, share, [one for one, _ in lines]))
    return [section for section in made if section.lines]


def _line(fact: Fact, show: Callable[[Fact], tuple[str, str]], end: int) -> Line:
    text, group = map(_harmless, show(fact))
    return Line(text, estimate(text) + 2, value(fact, end), fact.position, group)


def _rows(ledger: Ledger) -> Iterable[tuple[str, str, float, Sequence[Fact], Callable[[Fact], tuple[str, str]]]]:
    """Of each section its name, its title, its share, its facts, and what shows one of them."""
    files = sorted(ledger.of("file"), key=lambda fact: -value(fact, ledger.end))
    changed = [fact for fact in files if fact.state == "modified"]
    seen = [fact for fact in files if fact.state != "modified"]
    used, other = seen[:_USED_FILES_MAX], seen[_USED_FILES_MAX:]
    rows: dict[str, tuple[Sequence[Fact], Callable[[Fact], tuple[str, str]]]] = {
        "request": (ledger.of("request"), _request),
        "constraint": (_apart(ledger, "constraint"), _sentence),
        "work": (ledger.of("work"), _work),
        "error": (ledger.of("error"), _error),
        "changed": (changed, _whole_path),
        "identifier": (ledger.of("identifier"), _value),
        "used": (used, _whole_path),
        "seen": (other, _path),
        "decision": (ledger.of("decision"), _sentence),
        "chat": (_apart(ledger, "chat"), _sentence),
        "command": (ledger.of("command"), _command),
        "symbol": (ledger.of("symbol"), _symbol),
    }
    return [(name, title, share, *rows[name]) for name, title, share in _SECTIONS]


def _apart(ledger: Ledger, kind: Kind) -> list[Fact]:
    """The facts of a kind that no request says which is short enough to be shown whole."""
    asked = "\n".join(" ".join(fact.text.split()) for fact in ledger.of("request") if len(fact.text) <= _REQUEST_CHARS)
    return [fact for fact in ledger.of(kind) if fact.text not in asked]


class _Page:
    """The lines that are shown, by section, and those that wait."""

    def __init__(self, sections: Sequence[NoteSection]) -> None:
        self._sections = sections
        self.chosen: dict[str, list[Line]] = {}

    def take(self, room: int) -> bool:
        """Take lines within so many tokens: at first each section to its share, then in order. Returns whether any was taken."""
        waiting = [one for one in self._sections if one.lines]
        if self.chosen:
            return any(self._fill(one, room) for one in waiting)
        needed = {one.name: _TITLE_TOKENS + sum(found.tokens for found in one.lines) for one in waiting}
        given = allot(needed, {one.name: one.share for one in waiting}, room)
        taken = [self._fill(one, given[one.name]) for one in waiting]
        return any(taken)

    def _fill(self, section: NoteSection, room: int) -> bool:
        """Take the lines of a section that fit, the best first."""
        shown = self.chosen.get(section.name, [])
        groups = {one.group for one in shown} | {""}
        left = room - (0 if shown else _TITLE_TOKENS)
        rest: list[Line] = []
        fresh: list[Line] = []
        for one in section.lines:
            tokens = one.tokens + (0 if one.group in groups else estimate(one.group) + 2)
            if tokens <= left:
                groups.add(one.group)
                fresh.append(one)
                left -= tokens
            else:
                rest.append(one)
        section.lines[:] = rest
        if fresh:
            self.chosen[section.name] = [*shown, *fresh]
        return bool(fresh)

    def drop(self, share: float) -> None:
        """Take about that share of the lines away again, from the last section on; at least one."""
        for _ in range(max(1, int(share * sum(map(len, self.chosen.values())) / 2))):
            name = [one.name for one in self._sections if one.name in self.chosen][-1]
            self.chosen[name].pop()
            if not self.chosen[name]:
                del self.chosen[name]

    def text(self) -> str:
        parts = [
            "\n".join((one.title, *_laid_out(self.chosen[one.name], is_nested=one.name == "identifier")))
            for one in self._sections
            if one.name in self.chosen
        ]
        return "\n".join(parts)


def _laid_out(lines: Sequence[Line], *, is_nested: bool) -> Iterable[str]:
    """Lines in the order in which they were said; those of a group on one line."""
    groups: dict[str, list[str]] = {}
    for one in sorted(lines, key=lambda one: one.order):
        if one.group:
            groups.setdefault(one.group, []).append(one.text)
        else:
            yield f"- {one.text}"
    for group, texts in groups.items():
        if is_nested and len(texts) > 1:
            yield f"- {group}:"
            yield from (f"  {text}" for text in texts)
        else:
            yield f"- {group}: {', '.join(texts)}"


def _request(fact: Fact) -> tuple[str, str]:
    asked = f"({line(fact.note, 90)}) " if fact.note else ""
    return asked + excerpt(" ".join(fact.text.split()), _REQUEST_CHARS), ""


def _sentence(fact: Fact) -> tuple[str, str]:
    return line(fact.text, _LINE_CHARS), ""


def _work(fact: Fact) -> tuple[str, str]:
    return ("" if fact.state in DONE else line(fact.text, _LINE_CHARS)), ""


def _error(fact: Fact) -> tuple[str, str]:
    return line(f"{fact.text} (fixed)" if fact.state == "fixed" else fact.text, _LINE_CHARS), ""


def _command(fact: Fact) -> tuple[str, str]:
    return line(f"{fact.text} → {fact.note}" if fact.note else fact.text, _LINE_CHARS), ""


def _value(fact: Fact) -> tuple[str, str]:
    return line(fact.text, _LINE_CHARS), line(fact.note.partition("\t")[0], _LABEL_CHARS)


def _whole_path(fact: Fact) -> tuple[str, str]:
    """A file as tools take it."""
    return f"{fact.note}{fact.text}", ""


def _path(fact: Fact) -> tuple[str, str]:
    """A file by its name and folder, the folders above as its group: short, and no two are alike."""
    parts = fact.text.rsplit("/", 2)
    return (f"{parts[1]}/{parts[2]}", f"{parts[0]}/") if len(parts) == 3 and parts[0] else (fact.text, ".")


def _symbol(fact: Fact) -> tuple[str, str]:
    return fact.text, fact.note or "names"


_SECTIONS = (
    ("request", "The user asked (verbatim):", 20.0),
    ("constraint", "The user's conditions:", 10.0),
    ("work", "Open work:", 5.0),
    ("error", "Errors:", 6.0),
    ("changed", "Files changed:", 9.0),
    ("used", "Files used:", 12.0),
    ("identifier", "Values that tools returned (data):", 22.0),
    ("seen", "Files listed:", 12.0),
    ("decision", "Conclusions:", 8.0),
    ("chat", "Said:", 20.0),
    ("command", "Commands:", 4.0),
    ("symbol", "Names in code:", 3.0),
)
"""In the order in which they are shown. Of the room each gets its share, and what it does not need goes to the others."""

_PROSE = frozenset({"request", "constraint", "decision", "chat"})
_PROSE_TOKENS, _VALUE_TOKENS = 20, 4
"""Added to a line's tokens where lines are ranked by what they are worth for a token: short prose says less than short values."""

_USED_FILES_MAX = 8


def _harmless(text: str) -> str:
    """Text that cannot close the fence or open one of the tool's own."""
    return _FENCE_WORDS.sub("‹", text) if "<" in text else text


def _fenced(body: str, head: str, foot: str) -> str:
    mark = sha256(body.encode("utf-8", "replace")).hexdigest()[:8]
    return f'{FENCE}"{mark}">\n{head}\n{body}\n{foot}\n</plimsoll-notes id="{mark}">'
