"""Candidate lines of each section of a summary, with their values."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plimsoll.light.regex import regex
from plimsoll.summary import files, layout, repeated, superseded, values
from plimsoll.summary.excerpt import excerpt, level
from plimsoll.summary.item import Item, Section
from plimsoll.summary.labels import by_several
from plimsoll.summary.ledger.draft import value
from plimsoll.summary.ledger.fact import author_of
from plimsoll.summary.ledger.identifiers import codes_in, is_output_line
from plimsoll.summary.ledger.prose import is_filler, plain, spoken
from plimsoll.summary.ledger.requests import instruction_in, is_pasted
from plimsoll.summary.ledger.work import DONE
from plimsoll.summary.speakers import authors, has_speakers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from plimsoll.summary.labels import Labels
    from plimsoll.summary.ledger import Fact, Ledger
    from plimsoll.summary.ledger.fact import Origin

AGENT_SHARES: dict[str, float] = {
    "request": 25, "constraint": 12, "modified": 18, "identifier": 32, "output": 6, "decision": 14, "command": 5, "error": 6,
    "work": 3, "read": 10, "symbol": 9, "activity": 2,
}  # fmt: skip
"""Tuned on recorded agent runs: most to the user's text and to values from tools."""

DIALOGUE_SHARES: dict[str, float] = {
    "request": 6,
    "constraint": 12,
    "chat": 86,
    "identifier": 4,
    "output": 4,
    "work": 1,
    "command": 1,
}
"""Later questions about a dialogue are mostly about its statements."""

_REQUEST_CHARS_MIN = 24  # instead of cutting all shorter, requests are omitted
_REQUEST_CHARS = 60
"""Characters of each request when not all fit, unless they are shorter."""

_ASKING_SHARE = 34.0
"""Added share of requests if all of the user's messages are requests."""

_OWN_WISH = regex(
    r"(?s)\A(?!.*(?:请|帮|麻烦|给我|告诉)).*我(?:们|也|还|就|最近|一直)*(?:想|要|需要)(?!你|您|问|知道|了解|请)"
    r"|\A(?!.*\b(?:must|never|always|only|keep|avoid|without|at most|at least|no more|not|don['’]t|limit|unchanged|you)\b)"
    r"\W*(?:(?:so|and|but|also|now|then|well|ok(?:ay)?),? )*i(?:['’]d| would)? (?:like|want|need|love|hope|plan) to"
    r" (?!know|see|ask)",
    re.IGNORECASE,
)
"""A wish about the speaker's own plans, not a request."""

_DECIDED, _DECIDED_MAX = 0.3, 3
"""What each number, day or id in a request adds to its rank: they are what the user decided."""

_ASKING_WEIGHT, _ASKING_WEIGHT_OF_TALK = 3.0, 4.0
"""The least weight of a request in a dialogue, and of one that is a question or a wish."""

_GOAL_POSITION_MAX = 1  # behind system text
_REQUEST_LETTERS_MIN = 6  # fewer letters without the clauses are not a request
_CUT_MARK_CHARS = 10  # about the length of ` [+123 m45]`
_FIRST_CHARS_MIN = 160
"""Minimum for the first request, which is usually the goal of the session."""


def shares(ledger: Ledger) -> dict[str, float]:
    """Return section shares. In a dialogue, requests get more the larger their part of the user's messages is."""
    if not ledger.is_dialogue:
        return AGENT_SHARES
    return {**DIALOGUE_SHARES, "request": DIALOGUE_SHARES["request"] + _ASKING_SHARE * asking_share(ledger)}


def has_values(ledger: Ledger) -> bool:
    """Return whether this is an agent's run whose tools returned values."""
    return bool(ledger.of("identifier")) and not ledger.is_dialogue


def constraint_share(shares: Mapping[str, float]) -> float:
    """Return the share that gives a dialogue's constraints all they need, up to a third of the budget.

    Constraints are short and apply to all later messages, but none fits in their usual share of a small budget.
    """
    return (sum(shares.values()) - shares["constraint"]) / 2


def asking_share(ledger: Ledger) -> float:
    """Return the share of the user's messages that request an action."""
    return len(_asking(ledger)) / max(1, len(ledger.of("request")))


def _asking(ledger: Ledger) -> list[Fact]:
    """Return the requests: in a dialogue, the first message and those that request an action."""
    facts = ledger.of("request")
    if not ledger.is_dialogue:
        return list(facts)
    if has_speakers(ledger):
        return []
    # Where the view has the session's first messages, the first that left may be as little of a request as any other.
    goal = facts[: 1 if facts and facts[0].position <= _GOAL_POSITION_MAX else 0]
    asking = [fact for fact in facts[len(goal) :] if fact.weight >= _ASKING_WEIGHT and _asks(fact)]
    return [*goal, *asking]


def _asks(fact: Fact) -> bool:
    """Return whether a message of a dialogue requests an action.

    Questions, wishes and what holds no instruction need more, as they are often small talk: "I should return the boots."
    """
    if fact.weight < _ASKING_WEIGHT_OF_TALK and (
        _is_question(fact.text) or _OWN_WISH.search(fact.text) is not None or not _instructs(fact.text)
    ):
        return False
    return not is_pasted(fact.text)


def _instructs(text: str) -> bool:
    return any(instruction_in(sentence) and not _OWN_WISH.search(sentence) for sentence in spoken(text))


def _is_question(text: str) -> bool:
    return text.rstrip().endswith(("?", "？", "吗", "呢", "么"))


def _without_clauses(text: str, clauses: Sequence[str]) -> str:
    """Remove clauses shown elsewhere from a request, if enough text remains."""
    for clause in clauses:
        if clause in text:
            before, _, after = text.partition(clause)
            rest = f"{before.rstrip(' ，,;；')} … {after.lstrip(' .。!！，,;；')}".strip("… \n")
            text = rest if sum(map(str.isalnum, rest)) >= _REQUEST_LETTERS_MIN else text
    return text


def requests(
    ledger: Ledger, words: Labels, chars: int, elsewhere: Sequence[str] = (), *, numbered: bool = False
) -> list[Item]:
    """Return the user's requests in about `chars` characters: complete if all fit, else cut to a common maximum length.

    `elsewhere` are clauses shown in another section. A cut is marked with its size and, if `numbered`, the number of the message.
    An item's label is its shown text.
    """
    facts = [fact._replace(text=_without_clauses(fact.text, elsewhere)) for fact in _asking(ledger)]
    if ledger.is_dialogue:  # the others are in the user's chat facts
        facts = _fitting(facts, chars)
    if not facts:
        return []
    several = authors(ledger, "user")
    lengths = [len(fact.text) + len(fact.note) + 4 for fact in facts]
    first_max, cap = _caps(lengths, chars)
    if cap < _REQUEST_CHARS_MIN:
        facts = _first_last_heaviest(
            facts, chars // min(_REQUEST_CHARS, max(_REQUEST_CHARS_MIN, sum(lengths) // len(lengths)))
        )
        first_max, cap = _caps([len(fact.text) + len(fact.note) + 4 for fact in facts], chars)
        cap = max(_REQUEST_CHARS_MIN, cap)
    items = []
    for order, fact in enumerate(facts):
        most = max(_REQUEST_CHARS_MIN, first_max) if order == 0 else cap
        text = fact.text if len(fact.text) <= most + _CUT_MARK_CHARS else excerpt(fact.text, most)
        note = fact.note.rpartition("\t")[2]
        asked = f"({words.reply_to}: {note[:90]}) " if note and len(note) + len(text) < 3 * cap else ""
        shown = f"{_named(fact, several)}{asked}{text}{_cut_mark(fact, text, numbered=numbered)}"
        rank = 100.0 if order == 0 else fact.weight + (3.0 if order == len(facts) - 1 else order / len(facts))
        rank += _DECIDED * min(_DECIDED_MAX, len(codes_in(text)))
        items.append(Item("request", shown, rank, (fact.position, 0), label=_flat_text(text).strip("… ")))
    return items


def _caps(lengths: Sequence[int], chars: int) -> tuple[int, int]:
    """Return maximum lengths for the first request and each other one, reserving room for truncation marks."""
    first = max(chars * 2 // 5, level(list(lengths), chars), min(chars, _FIRST_CHARS_MIN))
    room = max(0, chars - min(lengths[0], first))
    cap = level(list(lengths[1:]), room)
    cuts = sum(length > cap + _CUT_MARK_CHARS for length in lengths[1:])
    return first, level(list(lengths[1:]), max(0, room - cuts * _CUT_MARK_CHARS))


def _cut_mark(fact: Fact, shown: str, *, numbered: bool) -> str:
    """Return the mark for characters omitted here and in an earlier summary, with the number of the message if `numbered`."""
    cut = len(fact.text) - len(shown.replace("…", "").strip()) if shown != fact.text else 0
    cut += int(fact.state or 0)
    number = f" m{fact.position}" if numbered and fact.position >= 0 else ""
    return f" [+{cut}{number}]" if cut > 0 else ""


def insisted(ledger: Ledger) -> list[Fact]:
    """Return the constraints; in a dialogue, only instructions to the assistant."""
    facts = ledger.of("constraint")
    if not ledger.is_dialogue:
        return list(facts)
    if has_speakers(ledger):
        return []
    told = (fact for fact in facts if not _is_question(fact.text) and _OWN_WISH.search(fact.text) is None)
    return [fact._replace(text=clause) for fact in told if (clause := instruction_in(fact.text))]


def constraints(ledger: Ledger, shown: Sequence[Item], bias: Callable[[str], float]) -> list[Item]:
    """Return constraints that the shown requests do not contain."""
    shown_text = _flat(shown)
    facts = [fact for fact in insisted(ledger) if fact.text.rstrip("…") not in shown_text]
    several = authors(ledger, "user") if facts else ()
    return [_item(fact, f"{_named(fact, several)}{fact.text}", bias, ledger.end) for fact in facts]


def spelt_out(ledger: Ledger, shown: Sequence[Item]) -> int:
    """Return the number of constraints the shown requests contain."""
    shown_text = _flat(shown)
    return sum(fact.text.rstrip("…") in shown_text for fact in ledger.of("constraint"))


def spelt_by(shown: Sequence[Item], elsewhere: Sequence[str]) -> Callable[[Fact], bool]:
    """Return a predicate for user facts that are in the shown requests or among the clauses of another section (`elsewhere`)."""
    shown_text, bare = _flat(shown), {clause.strip(" .。!！") for clause in elsewhere}
    if not (shown_text or bare):
        return lambda _fact: False
    return lambda fact: (
        fact.origin == "user"
        and (_without_clauses(fact.text, elsewhere) in shown_text or fact.text.strip(" .。!！") in bare)
    )


def _flat(shown: Sequence[Item]) -> str:
    return "\n".join(_flat_text(item.text) for item in shown)


def _flat_text(text: str) -> str:
    """Join the lines of a text and remove emphasis marks."""
    return " ".join(" ".join(map(plain, text.split("\n"))).split())


def _named(fact: Fact, several: Collection[str]) -> str:
    """Return what tells a fact's author from others."""
    author = author_of(fact)
    return f"{author}: " if author in several else ""


def title(ledger: Ledger, words: Labels, name: str) -> str:
    """Return a section's title, which says where its items begin with names."""
    side = _SIDES.get(name)
    return by_several(words.sections[name]) if side and authors(ledger, side) else words.sections[name]


_SIDES: dict[str, Origin] = {"request": "user", "cut request": "user", "constraint": "user", "decision": "assistant"}


def build(ledger: Ledger, words: Labels, bias: Callable[[str], float], tokens: int) -> list[Section]:
    """Return all other sections, candidates best first. `tokens` is the budget of the summary."""
    share = (DIALOGUE_SHARES if ledger.is_dialogue else AGENT_SHARES).get
    listed = files.items(ledger, bias, {name: int(tokens * share(name, 1.0) / 100) for name in ("modified", "read")})
    concluded = {fact.text for fact in ledger.of("decision")}
    found = repeated.values(ledger)
    told = values.items(found, bias, ledger.end)
    has_assistant = not (ledger.is_dialogue and has_speakers(ledger))
    made: dict[str, tuple[Sequence[Item], Callable[[Sequence[Item]], str]]] = {
        "decision": (_findings(ledger, bias), layout.bullets),
        "command": (
            [_item(fact, _command(fact, words), bias, ledger.end) for fact in repeated.commands(ledger)],
            layout.bullets,
        ),
        "error": ([_item(fact, _error(fact, words), bias, ledger.end) for fact in ledger.of("error")], layout.bullets),
        "identifier": ([item for item in told if not is_output_line(found[item.order[1]])], layout.grouped),
        "output": ([item for item in told if is_output_line(found[item.order[1]])], layout.grouped),
        "work": (
            [_item(f, _work(f), bias, ledger.end) for f in ledger.of("work") if f.state not in DONE],
            layout.bullets,
        ),
        "activity": (
            [_item(fact, fact.text, bias, ledger.end) for fact in _steps(ledger, concluded)],
            layout.bullets,
        ),
        "symbol": (
            [_item(fact, fact.text, bias, ledger.end, fact.note) for fact in ledger.of("symbol")],
            layout.listed,
        ),
        "modified": ([item for item in listed if item.label == "modified"], layout.listed),
        "read": ([item for item in listed if item.label == "read"], layout.listed),
    }
    return [
        Section(
            name,
            share(name, 1.0),
            sorted(items, key=lambda item: -item.value),
            lay_out,
            _FILE_WORTH_MIN if name == "read" else 0.0,
        )
        for name, (items, lay_out) in made.items()
        if items and not (ledger.is_dialogue and name in (_REPEATED_IN_CHAT if has_assistant else _REPEATED_BY_PEOPLE))
    ]


_FILE_WORTH_MIN = 1.0
"""Less is worth no room that others can use: a file that an old result merely listed, in a folder the agent does not work in."""

_REPEATED_IN_CHAT = frozenset({"decision", "activity", "symbol"})
"""Sections whose facts are also chat facts in a dialogue."""

_REPEATED_BY_PEOPLE = _REPEATED_IN_CHAT | {"work"}
"""Named people do not assign work to the model."""


def _item(fact: Fact, text: str, bias: Callable[[str], float], end: int, group: str = "") -> Item:
    return Item(fact.kind, text, value(fact, end) * bias(text), (fact.position, 0), group)


def _findings(ledger: Ledger, bias: Callable[[str], float]) -> list[Item]:
    """Return what the assistant found, without what its later messages replace."""
    facts, worth = superseded.current(ledger.of("decision"))
    several = authors(ledger, "assistant") if facts else ()
    items = [_item(fact, f"{_named(fact, several)}{fact.text}", bias, ledger.end) for fact in facts]
    if not worth:
        return items
    factors = [worth.get(fact.key, 1.0) for fact in facts]
    return [item._replace(value=item.value * factor) for item, factor in zip(items, factors, strict=True)]


def _steps(ledger: Ledger, concluded: Collection[str]) -> list[Fact]:
    """Return the latest steps that say what was done: the newest in any case, others unless they only announce a look."""
    steps = [fact for fact in ledger.of("activity") if fact.text not in concluded]
    return [fact for fact in steps if fact is steps[-1] or not _announces(fact.text)]


def _announces(step: str) -> bool:
    return is_filler(step) or step[:4].lower() == "now "


def _command(fact: Fact, words: Labels) -> str:
    ended = f"{words.failed} {fact.note}".strip() if fact.state == "failed" else fact.note
    return f"{fact.text} → {ended}" if ended else fact.text


def _error(fact: Fact, words: Labels) -> str:
    return f"{fact.text} ({words.fixed})" if fact.state == "fixed" else fact.text


def _work(fact: Fact) -> str:
    return fact.text if fact.state in ("", "pending") else f"{fact.text} ({fact.state})"


def _fitting(facts: Sequence[Fact], chars: int) -> list[Fact]:
    """Return the first request, whole or cut, then the last and the heaviest that fit completely in `chars`, in order.

    In less than _REQUEST_CHARS_MIN characters, the first must fit completely too.
    """
    last = len(facts) - 1
    ranked = sorted(range(len(facts)), key=lambda at: (at != 0, at != last, -facts[at].weight, at))
    chosen, left = set[int](), chars
    for at in ranked:
        cost = len(facts[at].text) + (4 if at else 0)
        if cost <= left or (at == 0 and chars >= _REQUEST_CHARS_MIN):
            chosen.add(at)
            left -= cost
    return [facts[at] for at in sorted(chosen)]


def _first_last_heaviest(facts: Sequence[Fact], number: int) -> list[Fact]:
    """Return the first, the last and the heaviest other requests, at most `number` or the first alone, in order."""
    between = sorted(facts[1:-1], key=lambda fact: -fact.weight)[: max(0, number - 2)]
    chosen = {fact.key for fact in [facts[0], *between, *([facts[-1]] if number > 1 else [])]}
    return [fact for fact in facts if fact.key in chosen]
