"""Render a ledger as a dense rule-based summary within a token budget."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from typing import TYPE_CHECKING, Literal, TypeAlias

from plimsoll.light.dataclass import dataclass
from plimsoll.summary import repeated, sections, values
from plimsoll.summary.item import Item, Section
from plimsoll.summary.labels import Labels, dominant, labels
from plimsoll.summary.layout import bullets
from plimsoll.summary.ledger.sentences import cut_at_word, line
from plimsoll.summary.left_out import KINDS_TOKENS_MIN, kinds_left, told
from plimsoll.summary.room import TITLE_TOKENS, allot, bias_of, estimate, goal_weight, heading_tokens, title_tokens
from plimsoll.tokens.cache import upper_by_lines

if TYPE_CHECKING:
    from collections.abc import Callable

    from plimsoll.protocols import TokenCounter
    from plimsoll.summary.frame import Language
    from plimsoll.summary.ledger import Kind, Ledger

LanguageChoice: TypeAlias = Literal["auto", "en", "zh"]

_ORDER = tuple(
    "topic request constraint told work chat peers decision modified read symbol command error identifier output activity".split()
)
_TALK_SECTIONS = ("chat", "peers", "decision", "told")
_TALK_DROP_ORDER = (
    "topic",
    *_TALK_SECTIONS,
    *reversed([name for name in _ORDER if name not in ("topic", *_TALK_SECTIONS)]),
)
"""Order in which a dialogue's sections shrink: first those that repeat others, then the largest."""

_BREAK = "\n"
_IN_PARTS: tuple[Kind, ...] = ("chat", "identifier")
"""Kinds whose facts may be several items, which share the second number of their order."""

_VALUES = ("identifier", "output")
"""Sections of values, shown under one title."""

_FIRST: tuple[Kind, ...] = ("request", "chat")
"""Kinds whose first fact is the text of a summary that has no room for sections."""

_MISFITS_MAX = 12
"""Consecutive candidates that do not fit before a section counts as full."""

_COUNTED_ITEMS_MAX = 8
"""Up to this number, candidates are counted instead of estimated, so that an estimation error loses none."""

_VERIFICATIONS_MAX = 8  # corrections of the estimates, before the text is truncated
TITLED_TOKENS_MIN = 40
"""Minimum budget for section titles; below it, only the start of the first request is shown."""

_UNLIMITED_CHARS = 1_000_000  # more than the requests of a ledger can have

_TRUNCATED_CHARS_MIN = 12  # a shorter truncated fact is useless

_CLOSED_TOKENS_MIN = 120
"""Below this budget, a value from a tool says more than the number of messages by role."""

_REST_SHARE = 0.02  # what may stay empty although statements wait


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSummary:
    """The text of a summary, its size, and its numbers of facts."""

    text: str
    tokens: int
    """By the counter's `upper`; at most the budget."""
    facts_kept: int


def render(  # noqa: PLR0913 - everything a summary depends on
    ledger: Ledger,
    *,
    tokens_max: int,
    counter: TokenCounter,
    language: LanguageChoice = "auto",
    covers: tuple[int, int] | None = None,
    query: str | None = None,
    numbered: bool = False,
    goal_is_shown: bool = False,
    counted: bool = True,
) -> RuleSummary:
    """Render facts in at most `tokens_max` tokens by `counter.upper`, in titled sections, with a closing line of omissions.

    Sections share the budget by AGENT_SHARES or DIALOGUE_SHARES; unused shares go to the others.
    `covers` are the positions of the summarised messages, shown in the closing line. Facts that share words with `query` are
    preferred. Where the view itself shows the first request (`goal_is_shown`), requests get no more than their share.
    `numbered` shows the message number of a truncated request; without `counted` there is no closing line. The text is empty if
    nothing fits. Never raises.
    """
    chosen_language: Language = dominant(ledger) if language == "auto" else language
    page = _Page(
        ledger, labels(chosen_language), counter, tokens_max, covers, counted=counted, goal_is_shown=goal_is_shown
    )
    if tokens_max < TITLED_TOKENS_MIN or not any(ledger.facts.values()):
        return page.finished()
    page.gather(chosen_language, bias_of(query), numbered=numbered)
    page.fill()
    return page.finished()


class _Page:
    """State of one rendering: candidate sections, chosen items, and tokens used."""

    def __init__(  # noqa: PLR0913 - everything a summary depends on
        self,
        ledger: Ledger,
        words: Labels,
        counter: TokenCounter,
        tokens_max: int,
        covers: tuple[int, int] | None,
        *,
        counted: bool = True,
        goal_is_shown: bool = False,
    ) -> None:
        self.counted, self.goal_is_shown = counted, goal_is_shown
        self.ledger, self.words, self.counter, self.tokens_max = ledger, words, counter, tokens_max
        self.numbers = f"m{covers[0]}-m{covers[1] - 1} " if covers is not None and covers[1] > covers[0] else ""
        self.sections: list[Section] = []
        self.chosen: dict[str, list[Item]] = {}
        self.costs: dict[int, int] = {}
        self.used = 0
        self.shown_in_requests: dict[Kind, int] = {}
        """Number of facts by kind whose text is part of a chosen request."""
        self.closing_tokens = counter.upper(self._closing()) if tokens_max >= self._closed_tokens_min() else 0

    def gather(self, language: Language, bias: Callable[[str], float], *, numbered: bool) -> None:
        """Collect the candidates. Requests are truncated to their share first, because their length is adjustable."""
        ledger, shares = self.ledger, {**sections.shares(self.ledger)}
        weight = 1.0 if self.goal_is_shown else goal_weight(self.tokens_max, beside_values=sections.has_values(ledger))
        shares |= {name: shares[name] * weight for name in ("request", "constraint")}
        rest = sections.build(ledger, self.words, bias, self._room())
        needed = {section.name: sum(estimate(item.text) for item in section.wanted()) for section in rest}
        elsewhere = [fact.text for fact in sections.insisted(ledger)] if ledger.is_dialogue else []
        if ledger.is_dialogue:
            needed["chat"] = estimate(*[fact.text for fact in ledger.of("chat")])
            needed["constraint"] = sum(estimate(text) + 2 for text in elsewhere) + TITLE_TOKENS * bool(elsewhere)
            shares["constraint"] = sections.constraint_share(shares)
        wanted = sum(estimate(fact.text) for fact in ledger.of("request"))
        allotted = allot({**needed, "request": wanted + TITLE_TOKENS}, shares, self._room())
        room = max(0, allotted["request"] - TITLE_TOKENS)
        chars = int(room * (1.2 if language == "zh" else 3.6)) if room < wanted else _UNLIMITED_CHARS
        asked = sections.requests(ledger, self.words, chars, elsewhere, numbered=numbered)
        if ledger.is_dialogue and room < wanted and all(self._cost(item) > room for item in asked):
            asked = []  # what they say is left to the statements of the talk
        insisted = sections.constraints(ledger, asked, bias)
        if ledger.is_dialogue and not asked:  # requests without room leave it to constraints, not to what else was said
            shares["constraint"] += shares["request"]
        self.shown_in_requests["constraint"] = sections.spelt_out(ledger, asked)
        head = [
            Section("request", shares["request"], sorted(asked, key=lambda item: -item.value), bullets),
            Section("constraint", shares["constraint"], sorted(insisted, key=lambda item: -item.value), bullets),
        ]
        if ledger.is_dialogue:
            from plimsoll.summary import talk  # noqa: PLC0415 - its patterns are many, and only dialogues need them

            is_shown = sections.spelt_by(asked, elsewhere)
            self.shown_in_requests["chat"] = sum(map(is_shown, ledger.of("chat")))
            rest += talk.sections(ledger, self.words, bias, self.tokens_max, is_shown)
        self.sections = [section for section in [*head, *rest] if section.items]

    def fill(self) -> None:
        """Fill each section to its share, redistribute the remainder, then use what is left in order."""
        shares = {section.name: section.share for section in self.sections}
        for _ in range(3):
            room = self._room() - self.used
            waiting = [section for section in self.sections if section.wanted()]
            if room < 6 or not waiting:
                return
            needed = {section.name: self._needed(section) for section in waiting}
            allotted = allot(needed, shares, room)
            for section in waiting:
                self._take(section, allotted[section.name])
        for section in self._by_share():
            self._take(section, self._room() - self.used, is_last=True)
        for section in self._by_share():
            self._take(section, self._room() - self.used, of_little_worth=True)
        for section in self.sections:
            if section.name in _VALUES and section.items:
                self._take_start(section, self._room() - self.used)
        if self.sections and not any(self.chosen.values()):
            self._take_truncated(self.sections[0])
        self._drop_repeated()

    def _by_share(self) -> list[Section]:
        """Return the sections, those with the largest share first: that is who gets what others leave."""
        return sorted(self.sections, key=lambda section: -section.share)

    def _drop_repeated(self) -> None:
        """Drop truncated requests whose visible part repeats the start of a chosen constraint."""
        insisted = [item.text for item in self.chosen.get("constraint", ())]
        asked = self.chosen.get("request", [])
        for item in [item for item in asked if item.label and any(item.label in text for text in insisted)]:
            asked.remove(item)
            self.used -= self._cost(item)

    def _take_start(self, section: Section, tokens: int) -> bool:
        """Choose the first values of the best row, which does not fit. Return whether there is room for any."""
        item, chosen = section.items[0], self.chosen.setdefault(section.name, [])
        title = 0 if chosen else title_tokens(section.name)
        heading = 0 if item.group in {other.group for other in chosen} else heading_tokens(item.group)
        start = values.start_of(item, tokens - title - heading - 4, self.counter)
        if start is None:
            return False
        chosen.append(start)
        del section.items[0]
        self.used += title + heading + self._cost(start)
        return True

    def _take_truncated(self, section: Section) -> None:
        """Choose the section's best item truncated to the room, when no complete item fits."""
        item, room = section.items[0], self._room() - TITLE_TOKENS
        sizes = range(1, len(item.text) + 1)
        chars = bisect_left(sizes, room, key=lambda size: self.counter.upper(line(item.text, size)))
        if chars >= _TRUNCATED_CHARS_MIN:
            self.chosen[section.name] = [item._replace(text=line(item.text, chars))]

    def finished(self) -> RuleSummary:
        """Format and count: drop the least valuable facts while over budget, add facts while much room is left."""
        found, refills = self._rendered("", 0), _VERIFICATIONS_MAX
        for _ in range(_VERIFICATIONS_MAX):
            text = self._text()
            left = self.tokens_max - upper_by_lines(self.counter, text)
            if left < 0:
                self._drop(2 - left)
                refills = min(refills, 1)  # what is taken instead may have to be dropped as well
                continue
            found = max(found, self._rendered(text, self.tokens_max - left), key=lambda made: made.tokens)
            refills -= 1
            if refills < 0 or left <= max(8, self.tokens_max // 150) or not self._take_more(left):
                break
        return found if found.text else self._truncated(self._text() or self._first_text())

    def _needed(self, section: Section) -> int:
        """Return the tokens needed by the remaining candidates, and the title if it is not yet used."""
        title = 0 if self.chosen.get(section.name) else title_tokens(section.name)
        size = self._cost if len(section.items) <= _COUNTED_ITEMS_MAX else self._estimated
        wanted = section.wanted()
        return title + sum(map(size, wanted)) + sum(map(heading_tokens, {item.group for item in wanted}))

    def _room(self) -> int:
        """Return the budget for facts: all but the closing line's maximum."""
        return self.tokens_max - self.closing_tokens

    def _estimated(self, item: Item) -> int:
        return self.costs.get(id(item)) or estimate(item.text) + 2

    def _cost(self, item: Item) -> int:
        known = self.costs.get(id(item))
        if known is None:
            text = f"{item.label}: {item.text}" if item.kind == "identifier" and item.label else item.text
            known = self.costs[id(item)] = self.counter.upper(text) + (1 if item.kind in ("chat", "file") else 2)
        return known

    def _take(self, section: Section, tokens: int, *, is_last: bool = False, of_little_worth: bool = False) -> None:
        """Choose candidates of a section, best first, within `tokens`; those `of_little_worth` only if told so."""
        chosen = self.chosen.setdefault(section.name, [])
        left = tokens - (0 if chosen else title_tokens(section.name))
        if left <= 0:
            return
        misfits = 0
        kept: list[Item] = []
        groups = {item.group for item in chosen}
        for place, item in enumerate(section.items):
            is_unwanted = item.value < section.worth_min and not of_little_worth
            if misfits >= _MISFITS_MAX or left < 3 or is_unwanted:
                kept.extend(section.items[place:])
                break
            cost = self._cost(item) + (0 if item.group in groups else heading_tokens(item.group))
            if cost > left:
                is_best = section.name in _VALUES and not chosen and not misfits
                if is_best and (not is_last or self._take_start(section, tokens)):
                    return  # the best row waits for the room that others leave; in the end it is cut
                misfits += 1
                kept.append(item)
                continue
            groups.add(item.group)
            if not chosen:
                self.used += title_tokens(section.name)
            chosen.append(item)
            left -= cost
            self.used += cost
        section.items[:] = kept

    def _take_more(self, tokens: int) -> bool:
        """Choose more items from tokens reserved for titles and separators. Return whether any was added.

        Topics give way to a statement that has no room beside them.
        """
        before = self.used
        for section in self._by_share():
            self._take(section, tokens + before - self.used, of_little_worth=True)
        self._drop_repeated()
        topics = self.chosen.get("topic")
        if self.used > before or not topics or tokens <= self.tokens_max * _REST_SHARE:
            return self.used > before
        self.sections = [section for section in self.sections if section.name != "topic"]
        self.used -= sum(map(self._cost, self.chosen.pop("topic")), title_tokens("topic"))
        return self._take_more(tokens + before - self.used)

    def _drop(self, tokens: int) -> None:
        """Drop the least valuable items until about `tokens` are saved: the user's own text last, in an agent's run.

        What was dropped before a large item and still fits beside the rest comes back.
        """
        dropped: list[tuple[list[Item], Item]] = []
        for name in _TALK_DROP_ORDER if self.ledger.is_dialogue else reversed(_ORDER):
            chosen = self.chosen.get(name, [])
            chosen.sort(key=lambda item: -item.value)
            while chosen and tokens > 0:
                dropped.append((chosen, chosen.pop()))
                tokens -= self._cost(dropped[-1][1])
                self.used -= self._cost(dropped[-1][1])
            if tokens <= 0:
                break
        for chosen, item in reversed(dropped):
            if self._cost(item) <= -tokens:
                chosen.append(item)
                tokens += self._cost(item)
                self.used += self._cost(item)

    def _text(self) -> str:
        by_name = {section.name: section for section in self.sections}
        shown = {name: chosen for name, chosen in self.chosen.items() if chosen}
        if "output" in shown:
            by_name["identifier"] = by_name["output"]
            shown["identifier"] = [*shown.get("identifier", ()), *shown.pop("output")]
        parts = [
            f"{self._title(name)}{'' if name == 'topic' else _BREAK}{by_name[name].lay_out(chosen)}"
            for name in _ORDER
            if (chosen := shown.get(name))
        ]
        closing = self._closing()
        return "\n".join([*parts, closing] if closing else parts)

    def _title(self, name: str) -> str:
        """Return a section's title; that of requests explains the truncation marks, if there are any."""
        is_cut = name == "request" and any(item.text.endswith("]") and " [+" in item.text for item in self.chosen[name])
        return sections.title(self.ledger, self.words, "cut request" if is_cut else name)

    def _closing(self) -> str:
        """Return the closing line: message counts, code languages and omitted facts by kind, shorter for smaller budgets."""
        left = kinds_left(self.ledger, self._kept())
        if not self.counted or self.tokens_max < self._closed_tokens_min() or not (left or any(self.chosen.values())):
            return ""
        words, counts, code = self.words, self.ledger.counts, [fact.text for fact in self.ledger.of("language")][:6]
        numbers = self.numbers if self.tokens_max * 2 >= KINDS_TOKENS_MIN else ""
        parts = [words.counts.format(numbers=numbers, user=counts.user, assistant=counts.assistant, tool=counts.tool)]
        if code and self.tokens_max * 2 >= KINDS_TOKENS_MIN:
            parts.append(f"{words.languages} {', '.join(code)}.")
        return " ".join([*parts, *told(left, self.tokens_max, words)])

    def _closed_tokens_min(self) -> int:
        """Return the least budget with a closing line: more for an agent's run whose frame says which messages it covers."""
        is_told = not self.numbers and not self.ledger.is_dialogue
        return _CLOSED_TOKENS_MIN if is_told else TITLED_TOKENS_MIN

    def _kept(self) -> dict[Kind, int]:
        """Return the number of facts shown by kind. Several statements of a chat fact and columns of a row count once."""
        items = [item for items in self.chosen.values() for item in items]
        kept: Counter[Kind] = Counter(item.kind for item in items if item.kind not in _IN_PARTS)
        for kind in _IN_PARTS:
            kept[kind] = len({item.order[1] for item in items if item.kind == kind})
        return kept + Counter(self.shown_in_requests)

    def _rendered(self, text: str, tokens: int) -> RuleSummary:
        return RuleSummary(text=text, tokens=tokens, facts_kept=sum(self._kept().values()))

    def _first_text(self) -> str:
        """Return the text for a budget too small for sections: of the first request, the first chat fact or the best values.

        If the view itself shows the first request, the values come before the requests after it.
        """
        said = next((facts[0].text for kind in _FIRST if (facts := self.ledger.of(kind))), "")
        if self.tokens_max <= 0:
            return ""
        if said and not (self.goal_is_shown and sections.has_values(self.ledger)):
            return said
        return values.best_of(repeated.values(self.ledger), self.ledger.end, self.tokens_max, self.counter) or said

    def _truncated(self, text: str) -> RuleSummary:
        """Return as much of the beginning as fits, by bisection, for a budget of a few tokens."""
        sizes = range(1, len(text) + 1)
        chars = bisect_right(sizes, self.tokens_max, key=lambda size: self.counter.upper(cut_at_word(text, size)))
        start = cut_at_word(text, chars) if chars > 1 else ""
        return self._rendered(start, self.counter.upper(start) if start else 0)
