"""The message that represents removed messages: written by rules or by a model, or a bare notice; always within its room."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from plimsoll.compaction.task import SummaryFailed, SummaryRequest, Task
from plimsoll.compaction.view_message import ViewExchange
from plimsoll.compaction.working_view import WorkingView
from plimsoll.light.brief import pluralize
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.limits import SUMMARIZER_OUTPUT_TOKENS_MAX
from plimsoll.message import Message, Text, text_message
from plimsoll.summary.frame import (
    PRESENTATIONS,
    omission,
    omitted,
    recognise,
    rewrapped,
    short_omission,
    unwrapped,
    wrap,
)
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.summary.ledger.identifiers import codes_in
from plimsoll.summary.ledger.wire import NOTHING
from plimsoll.summary.reread import is_title, quoted, reread
from plimsoll.summary.rules import render
from plimsoll.tokens.cache import upper_by_lines
from plimsoll.truncation import cut_text

if TYPE_CHECKING:
    from plimsoll.summary.grounds import Grounds

SHORTEN_ROUNDS_MAX = 3
"""Joined parts can cost slightly more than their sum; then they are rendered again with less room."""

TAG_TOKENS = 2
"""By so much more than in the last round a frame may take in the next, because its tag is another one."""

CARRIED_SHARE = 0.5
"""Share of the room for text of earlier summaries that is not in the ledger's facts."""

REPEATED_SHARE = 0.25
"""The same beside a model's prose, which already covers earlier summaries: only for text that the prose omits."""

WORD_CHARS_MIN = 2
"""A summary of fewer letters and digits says nothing."""

PROSE_TOKENS_MIN = 24
"""With fewer tokens for text than this, no model is asked: the rules fit more facts into it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryMessage:
    """The summary message. `text` excludes the frame; `facts` is the number of ledger facts included (1 for prose)."""

    message: Message
    text: str
    tokens: int
    facts: int
    reason: str
    written: str | None = None
    """The model's answer, unchanged."""
    prose: str | None = None
    """The answer without what was struck from it."""
    words: str | None = None
    """Text that the ledger carries from now on beside its facts; None leaves it unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryWriter:
    """Writes the message that represents what leaves a view, within its room.

    `covers` are the positions `[start, end)` that it covers, `tokens_max` is its room, frame included.
    """

    view: WorkingView
    task: Task
    covers: tuple[int, int]
    tokens_max: int

    @property
    def room(self) -> int:
        """Tokens left for text after the frame, less one for a token that may span the boundary."""
        return (
            self.tokens_max
            - self.view.count_message(text_message(self.task.policy.summary_role, self._wrapped("")))
            - 1
        )

    @property
    def answer_tokens_max(self) -> int:
        """Maximum tokens of a model's answer. It is limited because the next prompt has to contain the answer."""
        third = self.task.policy.summarizer_input_tokens_max // 3
        return min(self.tokens_max, SUMMARIZER_OUTPUT_TOKENS_MAX, third)

    def by_rules(self, visible: Ledger, *, goal_is_shown: bool) -> SummaryMessage | None:
        """Summarise what the view does not show by rules; None if the room is too small for any text.

        `goal_is_shown`: the view has the first request itself.
        """
        view, room, excess = self.view, self.room, 0
        carried = self._carried(visible.words, int(room * CARRIED_SHARE))
        for _ in range(SHORTEN_ROUNDS_MAX):
            rendered = render(
                visible,
                tokens_max=max(0, room - excess - view.counter.upper(carried)),
                counter=view.counter,
                language=view.language,
                covers=self._numbers(visible),
                query=self.task.query,
                numbered=view.recall is not None,
                goal_is_shown=goal_is_shown,
            )
            text = f"{carried}{rendered.text}".rstrip()
            if room <= 0 or not text:
                return None
            summary = self._framed(text, "older than the tail; its facts are in the summary", rendered.facts_kept)
            if summary.tokens <= self.tokens_max:
                return summary
            excess += summary.tokens - self.tokens_max + TAG_TOKENS
        return None

    def by_model(
        self, prose: str, ledger: Ledger, *, replaced_tokens: int, conversation: Grounds, shown: str = ""
    ) -> SummaryMessage | SummaryFailed:
        """Strike what a model's prose claims without support, add what it omits, and cut the result to the room.

        What `shown`, the rest of the view, says is the first to be cut.

        Fails if the prose is empty, a refusal, an error message or no shorter than the `replaced_tokens` it replaces, or if it
        does not fit.
        """
        from plimsoll.summary.grounding import grounded  # noqa: PLC0415 - only for models
        from plimsoll.summary.verify import Rejection, accept, completed, omitted_words  # noqa: PLC0415 - only for models

        counter, language = self.view.counter, self.view.language
        verdict = accept(prose, tokens_max=replaced_tokens, input_tokens=replaced_tokens, counter=counter)
        if isinstance(verdict, Rejection):
            return SummaryFailed(reason=f"{verdict.reason.replace('_', ' ')}: {verdict.detail}")
        supported, struck = grounded(verdict, conversation)
        if sum(map(str.isalnum, supported)) < WORD_CHARS_MIN:
            return SummaryFailed(reason=f"unsupported: the conversation holds none of {pluralize(struck, 'claim')}")
        prose = quoted(supported)
        left, room = omitted_words(ledger.words, prose), self.room
        for _ in range(SHORTEN_ROUNDS_MAX):
            share = int(room * REPEATED_SHARE)
            carried = self._carried(left, max(share, room - counter.upper(prose) - share))
            rest = room - counter.upper(carried)
            text = carried + completed(prose, ledger, tokens_max=rest, counter=counter, language=language, shown=shown)
            if not text.strip():
                break
            summary = self._framed(text, f"older than the tail; covered by the summary{_struck(struck)}")
            if summary.tokens <= self.tokens_max:
                words = f"{left}\n{prose}" if left else prose
                return replace(summary, written=verdict, prose=supported, words=words)
            room -= summary.tokens - self.tokens_max
        return SummaryFailed(reason=f"no room for it in {pluralize(self.tokens_max, 'token')}")

    def by_person(self, text: str) -> SummaryMessage | None:
        """An edited summary, cut to its room; None if the room does not hold the frame."""
        view, room = self.view, self.room
        while room > 0:
            kept = cut_text(text, tokens_max=room, counter=view.counter, keep="both", language=view.language).text
            summary = self._framed(kept, "older than the tail; covered by an edited summary")
            if summary.tokens <= self.tokens_max:
                return summary
            room -= summary.tokens - self.tokens_max
        return None

    def reframed(self, summary: SummaryMessage) -> SummaryMessage:
        """The summary in a frame that states the positions of this writer."""
        made = self._framed(summary.text, summary.reason, summary.facts)
        return replace(summary, message=made.message, tokens=made.tokens)

    def request(
        self, messages: Sequence[Message], lines: Sequence[str], previous: str | None, *, left_out: int
    ) -> SummaryRequest:
        """A request to extend the previous summary by these messages. `lines` are the parts of them that the prompt shows."""
        from plimsoll.summary.prompt import build_prompt  # noqa: PLC0415 - only where a model is asked

        view, task = self.view, self.task

        def write(files: Sequence[tuple[str, str]]) -> tuple[dict[str, str], ...]:
            return build_prompt(
                lines,
                previous=previous,
                tokens_max=self.answer_tokens_max,
                input_tokens_max=task.policy.summarizer_input_tokens_max,
                counter=view.counter,
                language=view.language,
                focus=task.query,
                files=files,
                left_out=left_out,
            )

        return SummaryRequest(
            messages=tuple(messages),
            previous=previous,
            tokens_max=self.answer_tokens_max,
            language=view.language,
            focus=task.query,
            model=task.policy.summary_model,
            prompt=write(()),
            write=write,
        )

    def _carried(self, words: str, tokens_max: int) -> str:
        """Text of earlier summaries that is not in the ledger's facts, cut to its share of the room."""
        if not words or tokens_max <= 0:
            return ""
        from plimsoll.summary.condense import condensed  # noqa: PLC0415 - only where there are such texts

        return f"{condensed(words, tokens_max=tokens_max - 1, counter=self.view.counter)}\n"

    def _numbers(self, ledger: Ledger) -> tuple[int, int] | None:
        """The message numbers for a summary's last line. None if the frame states them or they belong to another history."""
        is_named = self.task.policy.summary_frame == "numbered"
        return None if is_named or ledger.counts.messages > self.covers[1] - self.covers[0] else self.covers

    def _framed(self, text: str, reason: str, facts: int = 1) -> SummaryMessage:
        wrapped = self._wrapped(text)
        upper_by_lines(self.view.counter, wrapped)  # fills the cache for the next count: most of its lines are known
        message = text_message(self.task.policy.summary_role, wrapped)
        return SummaryMessage(
            message=message, text=text, tokens=self.view.count_message(message), facts=facts, reason=reason
        )

    def _wrapped(self, text: str) -> str:
        frame = self.task.policy.summary_frame
        presentation = PRESENTATIONS[self.view.language if frame == "numbered" else frame]
        return wrap(text, covers=self.covers, presentation=presentation, recall=self.view.recall)


def _struck(count: int) -> str:
    return f", without {pluralize(count, 'claim')} that the conversation does not hold" if count else ""


def unseen(ledger: Ledger, shown: Sequence[ViewExchange], gone: Sequence[ViewExchange]) -> Ledger:
    """The ledger without the facts and counts of exchanges that are shown. Headings stay, because they date what follows.

    Facts of a message stay if any part of it leaves, and so do constraints in the part of a message that is cut from it.
    """
    if not shown:
        return ledger
    positions = _positions(shown) - _positions(gone)
    cut = _cut_texts(shown)
    facts = {
        kind: found
        if kind == "heading"
        else tuple(
            [
                fact
                for fact in found
                if fact.last not in positions
                or (kind == "constraint" and fact.last in cut and fact.text.rstrip("…") not in cut[fact.last])
            ]
        )
        for kind, found in ledger.facts.items()
    }
    counts = NOTHING.plus([message for exchange in shown for message in exchange.original.messages])
    return replace(ledger, facts=facts, counts=ledger.counts.added(counts, times=-1))


def _cut_texts(shown: Iterable[ViewExchange]) -> dict[int | None, str]:
    """What is left of the users' messages that are shown cut, on one line, by their position."""
    entries = (entry for exchange in shown for entry in exchange.entries if not entry.whole)
    return {entry.position: " ".join(entry.message.text.split()) for entry in entries if entry.message.role == "user"}


def with_cut_values(ledger: Ledger, cut: Iterable[tuple[str, Sequence[Message], int]]) -> Ledger:
    """The ledger with the values of results that the view shows cut, as far as they are not shown.

    `cut` are the shown text, the original messages and the position of the first of them, of each exchange.
    """
    facts = {fact.key: fact for fact in ledger.of("identifier")}
    end = ledger.end
    for shown, messages, start in cut:
        found = extend(Ledger.empty(), messages, start)
        for fact in found.of("identifier"):
            if not all(map(shown.__contains__, codes_in(fact.text))):
                facts[fact.key], end = fact, max(end, found.end)
    return replace(ledger, facts={**ledger.facts, "identifier": tuple(facts.values())}, end=end)


def _positions(exchanges: Sequence[ViewExchange]) -> set[int | None]:
    return {entry.position for exchange in exchanges for entry in exchange.entries}


def omission_notice(view: WorkingView, task: Task, count: int) -> SummaryMessage:
    """An omission notice with the number of messages, or the shortest notice if that one alone exceeds the budget."""
    words = omission(count, view.language)
    message = text_message(task.policy.summary_role, words)
    if view.count_message(message) > task.budget_tokens:
        words = short_omission(view.language)
        message = text_message(task.policy.summary_role, words)
    tokens = view.count_message(message)
    return SummaryMessage(message=message, text=words, tokens=tokens, facts=0, reason="older than the tail")


def is_summary_or_notice(text: str) -> bool:
    """True for a plimsoll summary or omission notice found in an input history."""
    return text.startswith("[") and (recognise(text) is not None or omitted(text) is not None)


def shorten(view: WorkingView, exchange: ViewExchange, tokens_max: int) -> bool:
    """Cut a plimsoll summary to `tokens_max` inside its frame, least important facts first. False for a text without a frame."""
    entry = exchange.entries[0]
    text, parts = entry.message.text, entry.message.parts
    span = unwrapped(text)
    if span is None or len(parts) != 1 or not isinstance(parts[0], Text):
        return False
    bare = entry.message.with_parts((replace(parts[0], text=rewrapped(text, "") or ""),))
    room = max(0, tokens_max - view.count_message(bare) - 1)
    ledger = reread(span.body)
    for _ in range(SHORTEN_ROUNDS_MAX):
        kept = cut_text(ledger.words, tokens_max=int(room * CARRIED_SHARE), counter=view.counter, keep="both").text
        left = max(0, room - view.counter.upper(f"{kept}\n"))
        facts = render(ledger, tokens_max=left, counter=view.counter, language=view.language).text
        view.edit(exchange, 0, [replace(parts[0], text=rewrapped(text, f"{kept}\n{facts}".strip("\n")) or "")])
        if exchange.tokens <= tokens_max:
            break
        room = max(0, room - (exchange.tokens - tokens_max))
    return True


def edited_ledger(ledger: Ledger, summary: str, text: str) -> Ledger:
    """Update the ledger's text to an edited summary: add what is new in it and remove what it no longer contains.

    The facts stay, because they quote the history.
    """
    before, carried = frozenset(summary.split("\n")), frozenset(ledger.words.split("\n"))
    kept = (line for line in text.split("\n") if line in carried or (line not in before and not is_title(line)))
    return ledger.in_words(quoted("\n".join(kept)))
