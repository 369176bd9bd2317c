"""From a ledger to candidate lines: which facts compete for each section of a summary, and what each is worth."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from plimsoll.regex import regex
from plimsoll.summary import layout
from plimsoll.summary.excerpt import excerpt, level
from plimsoll.summary.folders import folders_of, one_each
from plimsoll.summary.item import Item, Section
from plimsoll.summary.ledger.draft import value
from plimsoll.summary.ledger.fact import speaker_of
from plimsoll.summary.ledger.prose import plain
from plimsoll.summary.ledger.requests import asks, insists
from plimsoll.summary.room import estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from plimsoll.summary.labels import Labels
    from plimsoll.summary.ledger import Fact, Kind, Ledger

AGENT_SHARES: dict[str, float] = {
    "request": 22, "constraint": 9, "modified": 12, "identifier": 24, "decision": 8, "command": 5, "error": 6, "work": 3,
    "read": 3, "symbol": 8, "activity": 2,
}  # fmt: skip
"""What did best on recorded agent runs: the user's words a third, values from tools nearly as much, the rest little each."""

DIALOGUE_SHARES: dict[str, float] = {
    "request": 6,
    "constraint": 12,
    "chat": 86,
    "identifier": 4,
    "work": 1,
    "command": 1,
}
"""Among people talking, what they said is what is asked for later."""

_REQUEST_CHARS_MIN = 24
_REQUEST_CHARS = 60
"""What a request gets where not all have room, unless they are shorter."""

_ASKING_SHARE = 34.0
"""What requests get besides where all that users say is requests."""

_WANTS = regex(
    r"(?s)\A(?!.*(?:请|帮|麻烦|给我|告诉)).*我(?:们|也|还|就|最近|一直)*(?:想|要|需要)(?!你|您|问|知道|了解|请)"
    r"|\A(?!.*\b(?:must|never|always|only|keep|avoid|without|at most|at least|no more|not|don['’]t|limit|unchanged|you)\b)"
    r"\W*(?:so |and |also,? )?i(?:['’]d| would)? (?:like|want|need|love|hope|plan) to (?!know|see|ask)",
    re.IGNORECASE,
)
"""What a speaker wants for herself."""

_REQUEST_LETTERS_MIN = 6
_CUT_MARK_CHARS = 10
_FIRST_CHARS_MIN = 160
"""The first request is the goal: before others get room it has this much."""


def shares(ledger: Ledger) -> dict[str, float]:
    """What each section gets of the room. In a dialogue requests get the more of it, the more of what users say they are."""
    if not ledger.is_dialogue:
        return AGENT_SHARES
    return {**DIALOGUE_SHARES, "request": DIALOGUE_SHARES["request"] + _ASKING_SHARE * asking_share(ledger)}


def asking_share(ledger: Ledger) -> float:
    """How many of a user's messages ask for something to be done."""
    return len(_asking(ledger)) / max(1, len(ledger.of("request")))


def _asking(ledger: Ledger) -> list[Fact]:
    """The user's messages that are requests: in a dialogue the first, and those that ask for something to be done."""
    facts = ledger.of("request")
    if not ledger.is_dialogue:
        return list(facts)
    if has_speakers(ledger):
        return []
    return [*facts[:1], *(fact for fact in facts[1:] if fact.weight >= _asking_weight(fact.text))]


def _asking_weight(text: str) -> float:
    """From which weight on a user's message in a dialogue is a request: questions and what somebody wants are often mere talk."""
    return 4.0 if _is_question(text) or _WANTS.search(text) is not None else 3.0


def _is_question(text: str) -> bool:
    return text.rstrip().endswith(("?", "？", "吗", "呢", "么"))


def _apart(text: str, clauses: Sequence[str]) -> str:
    """A request without these clauses, which are said elsewhere, while something is left of it."""
    for clause in clauses:
        if clause in text:
            before, _, after = text.partition(clause)
            rest = f"{before.rstrip(' ，,;；')} … {after.lstrip(' .。!！，,;；')}".strip("… \n")
            text = rest if sum(map(str.isalnum, rest)) >= _REQUEST_LETTERS_MIN else text
    return text


def requests(
    ledger: Ledger, words: Labels, chars: int, apart: Sequence[str] = (), *, numbered: bool = False
) -> list[Item]:
    """The user's requests within about `chars` characters: all of them when they fit, else each cut to a level length.

    `apart` are clauses of theirs that have a place of their own. What is cut is marked with how much, and where `numbered` with
    the number of its message. The label of an item is what it shows.
    """
    facts = _asking(ledger)
    if not facts:
        return []
    facts = [fact._replace(text=_apart(fact.text, apart)) for fact in facts]
    if ledger.is_dialogue:  # what is not among them is among what the user told
        facts = _fitting(facts, chars)
    lengths = [len(fact.text) + len(fact.note) + 4 for fact in facts]
    first_max, cap = _caps(lengths, chars)
    if cap < _REQUEST_CHARS_MIN:
        facts = _foremost(
            facts, max(1, chars // min(_REQUEST_CHARS, max(_REQUEST_CHARS_MIN, sum(lengths) // len(lengths))))
        )
        first_max, cap = _caps([len(fact.text) + len(fact.note) + 4 for fact in facts], chars)
        cap = max(_REQUEST_CHARS_MIN, cap)
    items = []
    for order, fact in enumerate(facts):
        most = first_max if order == 0 else cap
        text = fact.text if len(fact.text) <= most + _CUT_MARK_CHARS else excerpt(fact.text, most)
        asked = f"({words.reply_to}: {fact.note[:90]}) " if fact.note and len(fact.note) + len(text) < 3 * cap else ""
        shown = f"{asked}{text}{_cut_mark(fact, text, numbered=numbered)}"
        rank = 100.0 if order == 0 else fact.weight + (3.0 if order == len(facts) - 1 else order / len(facts))
        items.append(Item("request", shown, rank, (fact.position, 0), label=_flat_text(text).strip("… ")))
    return items


def _caps(lengths: Sequence[int], chars: int) -> tuple[int, int]:
    """The most characters of the first request and of each other, such that all fit with the marks of those that are cut."""
    first = max(chars * 2 // 5, level(list(lengths), chars), min(chars, _FIRST_CHARS_MIN))
    room = max(0, chars - min(lengths[0], first))
    cap = level(list(lengths[1:]), room)
    cuts = sum(length > cap + _CUT_MARK_CHARS for length in lengths[1:])
    return first, level(list(lengths[1:]), max(0, room - cuts * _CUT_MARK_CHARS))


def _cut_mark(fact: Fact, shown: str, *, numbered: bool) -> str:
    """How many characters of a request are not shown, here or in the summary it was read back from, and where they stand."""
    cut = len(fact.text) - len(shown.replace("…", "").strip()) if shown != fact.text else 0
    cut += int(fact.state or 0)
    number = f" m{fact.position}" if numbered and fact.position >= 0 else ""
    return f" [+{cut}{number}]" if cut > 0 else ""


def insisted(ledger: Ledger) -> list[Fact]:
    """The constraints there are: in a dialogue those that tell the assistant what to do or to leave."""
    facts = ledger.of("constraint")
    if not ledger.is_dialogue:
        return list(facts)
    if has_speakers(ledger):
        return []
    told = (fact for fact in facts if asks(fact.text) or insists(fact.text))
    return [fact for fact in told if not _is_question(fact.text) and _WANTS.search(fact.text) is None]


def constraints(ledger: Ledger, shown: Sequence[Item], bias: Callable[[str], float]) -> list[Item]:
    """Constraints that the requests shown do not already spell out."""
    spelt = _flat(shown)
    facts = [fact for fact in insisted(ledger) if fact.text.rstrip("…") not in spelt]
    return [_item(fact, fact.text, bias, ledger.end) for fact in facts]


def spelt_out(ledger: Ledger, shown: Sequence[Item]) -> int:
    """How many constraints the requests shown spell out."""
    spelt = _flat(shown)
    return sum(fact.text.rstrip("…") in spelt for fact in ledger.of("constraint"))


def spelt_by(shown: Sequence[Item], apart: Sequence[str]) -> Callable[[Fact], bool]:
    """Whether the requests shown say what a fact says, but for the clauses that are said elsewhere, or those say it."""
    spelt, bare = _flat(shown), {clause.strip(" .。!！") for clause in apart}
    return lambda fact: (
        fact.origin == "user" and (_apart(fact.text, apart) in spelt or fact.text.strip(" .。!！") in bare)
    )


def _flat(shown: Sequence[Item]) -> str:
    return "\n".join(_flat_text(item.text) for item in shown)


def _flat_text(text: str) -> str:
    """On one line, without marks of emphasis."""
    return " ".join(" ".join(map(plain, text.split("\n"))).split())


def has_speakers(ledger: Ledger) -> bool:
    """Whether it is a conversation of named people, on both sides: then nobody in it asks anything of the model."""
    named, unnamed = Counter[str](), Counter[str]()
    for fact in ledger.of("chat"):
        (unnamed if speaker_of(fact) in ("user", "assistant") else named)[fact.origin] += 1
    return bool(named) and all(named[side] > unnamed[side] for side in named | unnamed)


def build(ledger: Ledger, words: Labels, bias: Callable[[str], float], tokens: int) -> list[Section]:
    """Every section but requests and constraints, candidates best first. `tokens` is the room of all sections together."""
    share = (DIALOGUE_SHARES if ledger.is_dialogue else AGENT_SHARES).get
    files = _files(ledger, bias, {name: int(tokens * share(name, 1.0) / 100) for name in ("modified", "read")})
    serves = not (ledger.is_dialogue and has_speakers(ledger))
    made: dict[str, tuple[list[Item], Callable[[Sequence[Item]], str]]] = {
        "decision": ([_item(fact, fact.text, bias, ledger.end) for fact in ledger.of("decision")], layout.bullets),
        "command": (
            [_item(fact, _command(fact, words), bias, ledger.end) for fact in ledger.of("command")],
            layout.bullets,
        ),
        "error": ([_item(fact, _error(fact, words), bias, ledger.end) for fact in ledger.of("error")], layout.bullets),
        "identifier": (_identifiers(ledger, bias), layout.grouped),
        "work": (
            [_item(f, _work(f), bias, ledger.end) for f in ledger.of("work") if f.state not in _DONE],
            layout.bullets,
        ),
        "activity": ([_item(fact, fact.text, bias, ledger.end) for fact in ledger.of("activity")], layout.bullets),
        "symbol": (
            [_item(f, f.text, bias, ledger.end)._replace(group=f.note) for f in ledger.of("symbol")],
            layout.listed,
        ),
        "modified": ([item for item in files if item.label == "modified"], layout.listed),
        "read": ([item for item in files if item.label == "read"], layout.listed),
    }
    return [
        Section(name, share(name, 1.0), sorted(items, key=lambda item: -item.value), lay_out)
        for name, (items, lay_out) in made.items()
        if items and not (ledger.is_dialogue and name in (_SAID_ALREADY if serves else _SAID_BY_PEOPLE))
    ]


_SAID_ALREADY = frozenset({"decision", "activity", "symbol"})
"""Sections of the assistant's words: in a dialogue they are among what was said."""

_SAID_BY_PEOPLE = _SAID_ALREADY | {"work"}
"""Where people with names talk, nobody works for another."""

_DONE = frozenset({"completed", "done", "complete", "cancelled", "canceled"})


def _item(fact: Fact, text: str, bias: Callable[[str], float], end: int) -> Item:
    return Item(fact.kind, text, value(fact, end) * bias(text), (fact.position, 0))


def _files(ledger: Ledger, bias: Callable[[str], float], room: Mapping[str, int]) -> list[Item]:
    """File names, whole where a section has room for all of its own, else below the folders that many share.

    The label of an item is its section.
    """
    facts = one_each(ledger.of("file"))
    folders = folders_of(fact.text for fact in facts)
    items: list[Item] = []
    forgotten = bool(ledger.evicted.get("file"))
    for name in ("modified", "read"):
        found = [fact for fact in facts if (fact.state == "modified") == (name == "modified")]
        is_tight = forgotten or sum(estimate(fact.text) + 1 for fact in found) > 2 * room[name]
        for fact in found:
            folder = folders[fact.text] if is_tight else ""
            item = _item(fact, fact.text.removeprefix(folder), bias, ledger.end)
            items.append(item._replace(group=folder, label=name))
    return items


def _command(fact: Fact, words: Labels) -> str:
    ended = f"{words.failed} {fact.note}".strip() if fact.state == "failed" else fact.note
    return f"{fact.text} → {ended}" if ended else fact.text


def _error(fact: Fact, words: Labels) -> str:
    return f"{fact.text} ({words.fixed})" if fact.state == "fixed" else fact.text


def _work(fact: Fact) -> str:
    return fact.text if fact.state in ("", "pending") else f"{fact.text} ({fact.state})"


def _identifiers(ledger: Ledger, bias: Callable[[str], float]) -> list[Item]:
    """Values with their labels. Rows with the same columns say the columns once, in their group's heading."""
    items: list[Item] = []
    facts = ledger.of("identifier")
    columns: dict[str, int] = {}
    for fact in facts:
        columns[fact.note] = columns.get(fact.note, 0) + 1
    for fact in facts:
        label, _, schema = fact.note.partition("\t")
        text, group = fact.text, label
        if schema and columns[fact.note] > 2:
            text, group = _without_columns(fact.text, schema), f"{label} [{schema}]"
        if fact.state:
            text = f"{text} ({fact.state})"
        items.append(_item(fact, text, bias, ledger.end)._replace(group=group))
    return items


def _without_columns(text: str, schema: str) -> str:
    """A row's values alone, where its columns are said in a heading."""
    cells = text.split(", ")
    names = schema.split(" ")
    if len(cells) != len(names):
        return text
    return " | ".join(cell.removeprefix(name + " ") for cell, name in zip(cells, names, strict=True))


def _fitting(facts: Sequence[Fact], chars: int) -> list[Fact]:
    """The first request, then the last and the weightiest that fit whole beside it, in order."""
    last = len(facts) - 1
    ranked = sorted(range(1, len(facts)), key=lambda at: (at != last, -facts[at].weight, at))
    chosen, left = {0}, chars - len(facts[0].text)
    for at in ranked:
        if len(facts[at].text) + 4 <= left:
            chosen.add(at)
            left -= len(facts[at].text) + 4
    return [facts[at] for at in sorted(chosen)]


def _foremost(facts: Sequence[Fact], number: int) -> list[Fact]:
    """The first and the last request and the weightiest between, in order."""
    between = sorted(facts[1:-1], key=lambda fact: -fact.weight)[: max(0, number - 2)]
    chosen = {fact.key for fact in [facts[0], *between, *([facts[-1]] if number > 1 else [])]}
    return [fact for fact in facts if fact.key in chosen]


_COUNTED_OF_RUN: tuple[Kind, ...] = (
    "request", "constraint", "decision", "file", "command", "error", "identifier", "symbol", "work",
)  # fmt: skip
_COUNTED_OF_TALK: tuple[Kind, ...] = ("chat", "identifier", "file", "command", "work")


def kinds_left(ledger: Ledger, kept: Mapping[Kind, int]) -> dict[Kind, int]:
    """How many facts of each kind a summary leaves out, those the ledger had to forget included."""
    counted = _COUNTED_OF_TALK if ledger.is_dialogue else _COUNTED_OF_RUN
    left = {kind: len(ledger.of(kind)) + ledger.evicted.get(kind, 0) - kept.get(kind, 0) for kind in counted}
    return {kind: number for kind, number in left.items() if number > 0}
