"""A summary made by rules: the ledger rendered densely within a token budget, never a token over it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, TypeAlias

from plimsoll.dataclass import dataclass
from plimsoll.summary import sections
from plimsoll.summary.item import Item, Section
from plimsoll.summary.labels import Labels, dominant, labels, number_of
from plimsoll.summary.layout import bullets
from plimsoll.summary.ledger.sentences import line
from plimsoll.summary.room import allot, bias_of, estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from plimsoll.protocols import TokenCounter
    from plimsoll.summary.frame import Language
    from plimsoll.summary.ledger import Kind, Ledger

LanguageChoice: TypeAlias = Literal["auto", "en", "zh"]

_ORDER = (
    "topic",
    "request",
    "constraint",
    "told",
    "work",
    "chat",
    "peers",
    "decision",
    "modified",
    "read",
    "symbol",
    "command",
    "error",
    "identifier",
    "activity",
)
_SAID = ("chat", "peers", "decision", "told")
_LEAVING_TALK = ("topic", *_SAID, *reversed([name for name in _ORDER if name not in ("topic", *_SAID)]))
"""In which order sections of a dialogue shrink where estimates were too low: what is said elsewhere, then where most is."""

_BREAK = "\n"
_TITLE_TOKENS, _LABEL_TOKENS, _HEADING_TOKENS = 9, 4, 2
_MISFITS_MAX = 12
"""Candidates in a row that do not fit before a section is taken to be full."""

_COUNTED_ITEMS_MAX = 8
"""The candidates of a section that are counted beforehand: of so few, one left out for an estimate's error is a loss."""

_VERIFICATIONS_MAX = 8
_TITLED_TOKENS_MIN = 40
"""Below this there is room for a few words of the first request and nothing else."""

_GOAL_FIRST_TOKENS_MAX = 200
"""In less room than this the requests come before all else."""

_WHOLE_CHARS = 1_000_000
"""More than all requests of a ledger have."""

_SQUEEZED_CHARS_MIN = 12
"""Less of a fact says nothing."""

_KINDS_TOKENS_MIN = 300
"""In less room what is left out is one number, and in less than half of that nothing says which messages these are."""

_LEFT_OUT_TOKENS_MIN = 60
"""In less room only the messages are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSummary:
    """A summary's text with its size and what it keeps."""

    text: str
    tokens: int
    """By the counter's `upper`; at most the budget."""
    facts_kept: int
    facts_left: int


def render(  # noqa: PLR0913 - everything a summary depends on
    ledger: Ledger,
    *,
    tokens_max: int,
    counter: TokenCounter,
    language: LanguageChoice = "auto",
    covers: tuple[int, int] | None = None,
    query: str | None = None,
    numbered: bool = False,
) -> RuleSummary:
    """The ledger's facts in at most `tokens_max` tokens by `counter.upper`, in titled sections, ending with what is left out.

    The budget is shared by section (AGENT_SHARES or DIALOGUE_SHARES); what a section does not need goes to the others.
    `covers` are the positions the summary stands for, named in its last line. `query` raises facts that share words with
    it. `numbered` names the message of a request that is cut, for a reader who can look it up. With no room at all the text is
    empty. Never raises.
    """
    chosen_language: Language = dominant(ledger) if language == "auto" else language
    page = _Page(ledger, labels(chosen_language), counter, tokens_max, covers)
    if tokens_max < _TITLED_TOKENS_MIN or not any(ledger.facts.values()):
        return page.finished()
    page.gather(chosen_language, bias_of(query), numbered=numbered)
    page.fill()
    return page.finished()


class _Page:
    """One rendering: candidate sections, the items chosen so far, and the tokens they take."""

    def __init__(
        self,
        ledger: Ledger,
        words: Labels,
        counter: TokenCounter,
        tokens_max: int,
        covers: tuple[int, int] | None,
    ) -> None:
        self.ledger, self.words, self.counter, self.tokens_max = ledger, words, counter, tokens_max
        self.numbers = f"m{covers[0]}-m{covers[1] - 1} " if covers is not None and covers[1] > covers[0] else ""
        self.sections: list[Section] = []
        self.chosen: dict[str, list[Item]] = {}
        self.costs: dict[int, int] = {}
        self.used = 0
        self.spelt: dict[Kind, int] = {}
        """Facts by kind that the requests shown say themselves."""
        self.closing_tokens = counter.upper(self._closing()) if tokens_max >= _TITLED_TOKENS_MIN else 0

    def gather(self, language: Language, bias: Callable[[str], float], *, numbered: bool) -> None:
        """Collect the candidates. Requests are cut to their share first, because their length can be chosen."""
        ledger, shares = self.ledger, sections.shares(self.ledger)
        weight = _goal_weight(self.tokens_max)
        shares = {**shares, "request": shares["request"] * weight, "constraint": shares["constraint"] * weight}
        rest = sections.build(ledger, self.words, bias, self._room())
        needed = {section.name: sum(estimate(item.text) for item in section.items) for section in rest}
        apart = [fact.text for fact in sections.insisted(ledger)] if ledger.is_dialogue else []
        if ledger.is_dialogue:
            needed["chat"] = sum(estimate(fact.text) for fact in ledger.of("chat"))
            needed["constraint"] = sum(estimate(text) + 2 for text in apart) + _TITLE_TOKENS * bool(apart)
            shares = {**shares, "constraint": _constraint_share(shares)}
        wanted = sum(estimate(fact.text) for fact in ledger.of("request"))
        allotted = allot({**needed, "request": wanted + _TITLE_TOKENS}, shares, self._room())
        chars_per_token = 1.2 if language == "zh" else 3.6
        room = max(0, allotted["request"] - _TITLE_TOKENS)
        chars = int(room * chars_per_token) if room < wanted else _WHOLE_CHARS
        asked = sections.requests(ledger, self.words, chars, apart, numbered=numbered)
        insisted = sections.constraints(ledger, asked, bias)
        self.spelt["constraint"] = sections.spelt_out(ledger, asked)
        head = [
            Section("request", shares["request"], sorted(asked, key=lambda item: -item.value), bullets),
            Section("constraint", shares["constraint"], sorted(insisted, key=lambda item: -item.value), bullets),
        ]
        if ledger.is_dialogue:
            from plimsoll.summary import talk  # noqa: PLC0415 - its patterns are many, and only dialogues need them

            is_said = sections.spelt_by(asked, apart)
            self.spelt["chat"] = sum(map(is_said, ledger.of("chat")))
            rest += talk.sections(ledger, self.words, bias, self.tokens_max, is_said)
        self.sections = [section for section in [*head, *rest] if section.items]

    def fill(self) -> None:
        """Give each section its share, then what is left over to whoever still has facts, then a last round for the gaps."""
        shares = {section.name: section.share for section in self.sections}
        for _ in range(3):
            room = self._room() - self.used
            waiting = [section for section in self.sections if section.items]
            if room < 6 or not waiting:
                return
            needed = {section.name: self._needed(section) for section in waiting}
            allotted = allot(needed, shares, room)
            for section in waiting:
                self._take(section, allotted[section.name])
        for section in self.sections:
            self._take(section, self._room() - self.used)
        if self.sections and not any(self.chosen.values()):
            self._squeeze(self.sections[0])
        self._unsay()

    def _unsay(self) -> None:
        """Drop requests of which only the beginning of a constraint is shown that stands there whole."""
        insisted = [item.text for item in self.chosen.get("constraint", ())]
        asked = self.chosen.get("request", [])
        for item in [item for item in asked if item.label and any(item.label in text for text in insisted)]:
            asked.remove(item)
            self.used -= self._cost(item)

    def _squeeze(self, section: Section) -> None:
        """Take the best item of a section cut to the room there is: where nothing fits whole, a part says more than nothing."""
        item, room = section.items[0], self._room() - _TITLE_TOKENS
        low, high = 0, len(item.text)
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if self.counter.upper(line(item.text, middle)) < room else (low, middle - 1)
        if low >= _SQUEEZED_CHARS_MIN:
            self.chosen[section.name] = [item._replace(text=line(item.text, low))]

    def finished(self) -> RuleSummary:
        """Lay out and verify; while it is over, drop the least valuable facts; while there is much room, add some."""
        for _ in range(_VERIFICATIONS_MAX):
            text = self._text()
            tokens = self.counter.upper(text)
            over = tokens - self.tokens_max
            if over <= 0:
                if -over > max(8, self.tokens_max // 150) and self._more(-over - 4):
                    continue
                return self._rendered(text, tokens) if text else self._cut(self._foremost())
            self._drop(over + 2)
        return self._cut(self._text() or self._foremost())

    def _needed(self, section: Section) -> int:
        """What all that waits in a section costs, its title included while that is not there yet."""
        title = 0 if self.chosen.get(section.name) else _title_tokens(section)
        size = self._cost if len(section.items) <= _COUNTED_ITEMS_MAX else self._estimated
        groups = {item.group for item in section.items}
        return title + sum(map(size, section.items)) + sum(map(_heading_tokens, groups))

    def _room(self) -> int:
        """What is left of the budget for facts once the closing line, at its longest, has its part."""
        return self.tokens_max - self.closing_tokens

    def _estimated(self, item: Item) -> int:
        return self.costs.get(id(item)) or estimate(item.text) + 2

    def _cost(self, item: Item) -> int:
        known = self.costs.get(id(item))
        if known is None:
            known = self.costs[id(item)] = self.counter.upper(item.text) + (1 if item.kind in ("chat", "file") else 2)
        return known

    def _take(self, section: Section, tokens: int) -> None:
        """Move items from the section's candidates to the chosen, best first, within `tokens`."""
        chosen = self.chosen.setdefault(section.name, [])
        left = tokens - (0 if chosen else _title_tokens(section))
        if left <= 0:
            return
        misfits = 0
        kept: list[Item] = []
        groups = {item.group for item in chosen}
        for place, item in enumerate(section.items):
            if misfits >= _MISFITS_MAX or left < 3:
                kept.extend(section.items[place:])
                break
            cost = self._cost(item) + (0 if item.group in groups else _heading_tokens(item.group))
            if cost > left:
                misfits += 1
                kept.append(item)
                continue
            groups.add(item.group)
            if not chosen:
                self.used += _title_tokens(section)
            chosen.append(item)
            left -= cost
            self.used += cost
        section.items[:] = kept

    def _more(self, tokens: int) -> bool:
        """Use room that the estimate of titles and joints had reserved. Whether anything was added."""
        before = sum(map(len, self.chosen.values()))
        for section in self.sections:
            if tokens > 4 and section.items:
                used = self.used
                self._take(section, tokens)
                tokens -= self.used - used
        self._unsay()
        return sum(map(len, self.chosen.values())) > before

    def _drop(self, tokens: int) -> None:
        """Drop the least valuable items until about `tokens` are saved: seen files first, the user's words last."""
        for name in _LEAVING_TALK if self.ledger.is_dialogue else reversed(_ORDER):
            chosen = self.chosen.get(name, [])
            chosen.sort(key=lambda item: -item.value)
            while chosen and tokens > 0:
                saved = self._cost(chosen.pop())
                tokens -= saved
                self.used -= saved
            if tokens <= 0:
                return

    def _text(self) -> str:
        by_name = {section.name: section for section in self.sections}
        parts = [
            f"{self._title(name)}{'' if name == 'topic' else _BREAK}{by_name[name].lay_out(chosen)}"
            for name in _ORDER
            if (chosen := self.chosen.get(name))
        ]
        closing = self._closing()
        return "\n".join([*parts, closing] if closing else parts)

    def _title(self, name: str) -> str:
        """The title of a section; that of the requests explains the marks of those that are cut."""
        is_cut = name == "request" and any(item.text.endswith("]") and " [+" in item.text for item in self.chosen[name])
        return self.words.sections["cut request" if is_cut else name]

    def _closing(self) -> str:
        """Whose messages it stands for, code languages, and what is left out by kind; shorter the smaller the budget."""
        left = sections.kinds_left(self.ledger, self._kept())
        if self.tokens_max < _TITLED_TOKENS_MIN or not (left or any(self.chosen.values())):
            return ""
        words, counts, code = self.words, self.ledger.counts, [fact.text for fact in self.ledger.of("language")][:6]
        numbers = self.numbers if self.tokens_max * 2 >= _KINDS_TOKENS_MIN else ""
        parts = [words.counts.format(numbers=numbers, user=counts.user, assistant=counts.assistant, tool=counts.tool)]
        if code and self.tokens_max * 2 >= _KINDS_TOKENS_MIN:
            parts.append(f"{words.languages} {', '.join(code)}.")
        if left and self.tokens_max >= _KINDS_TOKENS_MIN:
            listed = words.separator.join(number_of(kind, number, words) for kind, number in left.items())
            parts.append(words.left_out.format(list=listed))
        elif left and self.tokens_max >= _LEFT_OUT_TOKENS_MIN:
            parts.append(words.left_out.format(list=number_of("fact", sum(left.values()), words)))
        return " ".join(parts)

    def _kept(self) -> dict[Kind, int]:
        """How many facts are in the text. Of what was said several statements can be of one fact."""
        items = [item for items in self.chosen.values() for item in items]
        kept: Counter[Kind] = Counter(item.kind for item in items if item.kind != "chat")
        kept["chat"] = len({item.order[1] for item in items if item.kind == "chat"})
        return kept + Counter(self.spelt)

    def _rendered(self, text: str, tokens: int) -> RuleSummary:
        kept = sum(self._kept().values())
        left = sum(sections.kinds_left(self.ledger, self._kept()).values())
        return RuleSummary(text=text, tokens=tokens, facts_kept=kept, facts_left=left)

    def _foremost(self) -> str:
        """The first request, for a budget too small for any section; else the first fact of all."""
        facts = [facts[0] for kind in ("request", "chat") if (facts := self.ledger.of(kind))]
        return facts[0].text if facts and self.tokens_max > 0 else ""

    def _cut(self, text: str) -> RuleSummary:
        """The last resort, for a budget of a few tokens: as many characters as fit, by bisection."""
        low, high = 0, len(text)
        while low < high:
            middle = (low + high + 1) // 2
            if self.counter.upper(text[:middle]) <= self.tokens_max:
                low = middle
            else:
                high = middle - 1
        return self._rendered(text[:low], self.counter.upper(text[:low]) if low else 0)


def _goal_weight(tokens_max: int) -> float:
    """How much more than their share requests and constraints get of a small summary.

    It falls from 3 to 1 over one more such room, so that a larger summary never has less of them than a smaller one.
    """
    return min(3.0, max(1.0, 5.0 - 2.0 * tokens_max / _GOAL_FIRST_TOKENS_MAX))


def _constraint_share(shares: Mapping[str, float]) -> float:
    """What gives the constraints of a dialogue their whole need, while that is at most a third of the room.

    They hold for all that is said later, and are short: in their usual share of a small room none of them fits.
    """
    return (sum(shares.values()) - shares["constraint"]) / 2


def _heading_tokens(group: str) -> int:
    return estimate(group) + _HEADING_TOKENS if group else 0


def _title_tokens(section: Section) -> int:
    return _LABEL_TOKENS if section.name == "topic" else _TITLE_TOKENS
