"""The message that speaks for what left: made by the rules, by a model, or a bare mark; always within its room."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from plimsoll.brief import pluralize
from plimsoll.compaction.task import SummaryFailed, SummaryRequest, Task
from plimsoll.compaction.view_message import ViewExchange
from plimsoll.compaction.working_view import WorkingView
from plimsoll.dataclass import dataclass
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
from plimsoll.summary.ledger import Ledger
from plimsoll.summary.ledger.wire import NOTHING
from plimsoll.summary.reread import is_title, quoted, reread
from plimsoll.summary.rules import render
from plimsoll.truncation import cut_text

SHORTEN_ROUNDS_MAX = 3
"""Put together, parts can cost a little more than each by itself: then they are put together again in less room."""

CARRIED_SHARE = 0.5
"""What words of earlier summaries that are no facts may take of the new one's room."""

REPEATED_SHARE = 0.25
"""The same next to a model's prose, which was written from them: only words that the prose leaves out."""

PROSE_TOKENS_MIN = 24
"""With less room than this for words a model is not asked: the rules say more in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryMessage:
    """The summary message. `text` excludes the frame; `facts` is the number of ledger facts included (1 for prose)."""

    message: Message
    text: str
    tokens: int
    facts: int
    reason: str
    written: str | None = None
    """What a model wrote, whole."""
    words: str | None = None
    """What the ledger carries on beside its facts from now on; None where that is what it carried before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryWriter:
    """Makes the message that speaks for what leaves a view, within its room.

    `covers` are the positions `[start, end)` that it speaks for, `tokens_max` is its room, frame included.
    """

    view: WorkingView
    task: Task
    covers: tuple[int, int]
    tokens_max: int

    @property
    def room(self) -> int:
        """Tokens left for words once the frame is paid, less one for a token that joins across the seam."""
        return self.tokens_max - self.view.weigh(text_message(self.task.policy.summary_role, self._wrapped(""))) - 1

    @property
    def answer_tokens_max(self) -> int:
        """How long an answer a model is asked for: the next prompt has to hold it too."""
        third = self.task.policy.summarizer_input_tokens_max // 3
        return min(self.tokens_max, SUMMARIZER_OUTPUT_TOKENS_MAX, third)

    def by_rules(
        self, ledger: Ledger, *, gone: Sequence[ViewExchange], shown: Sequence[ViewExchange] = ()
    ) -> SummaryMessage | None:
        """The ledger's summary; None where the room is too little to say anything.

        Facts of the blocks in `shown` are left out: the view shows the messages themselves. Those in `gone` leave.
        """
        view, room = self.view, self.room
        carried = self._carried(ledger.words, int(room * CARRIED_SHARE))
        visible, excess = unseen(ledger, shown, gone), 0
        for _ in range(SHORTEN_ROUNDS_MAX):
            rendered = render(
                visible,
                tokens_max=max(0, room - excess - view.counter.upper(carried)),
                counter=view.counter,
                language=view.language,
                covers=self._numbers(visible),
                query=self.task.focus,
                numbered=view.recall is not None,
            )
            text = f"{carried}{rendered.text}".rstrip()
            if room <= 0 or not text:
                return None
            summary = self._framed(text, "older than the tail; its facts are in the summary", rendered.facts_kept)
            excess += summary.tokens - self.tokens_max
            if summary.tokens <= self.tokens_max:
                return summary
        return None

    def by_model(self, prose: str, ledger: Ledger, *, replaced_tokens: int) -> SummaryMessage | SummaryFailed:
        """A model's prose with the facts it left out, and what earlier summaries said that it left out, cut to its room.

        A failure when it is empty, a refusal, an error message, no shorter than the `replaced_tokens` that it replaces, or when
        there is no room for it.
        """
        from plimsoll.summary.verify import Rejection, accept, completed, omitted_words  # noqa: PLC0415 - only for models

        counter, language = self.view.counter, self.view.language
        verdict = accept(prose, tokens_max=replaced_tokens, input_tokens=replaced_tokens, counter=counter)
        if isinstance(verdict, Rejection):
            return SummaryFailed(reason=f"{verdict.reason.replace('_', ' ')}: {verdict.detail}")
        prose = quoted(verdict)
        left, room = omitted_words(ledger.words, prose), self.room
        for _ in range(SHORTEN_ROUNDS_MAX):
            carried = self._carried(left, int(room * REPEATED_SHARE))
            rest = room - counter.upper(carried)
            text = carried + completed(prose, ledger, tokens_max=rest, counter=counter, language=language)
            summary = self._framed(text, "older than the tail; the summary speaks for it")
            if summary.tokens <= self.tokens_max:
                return replace(summary, written=verdict, words=f"{left}\n{prose}" if left else prose)
            room -= summary.tokens - self.tokens_max
        return SummaryFailed(reason=f"no room for it in {pluralize(self.tokens_max, 'token')}")

    def by_person(self, text: str) -> SummaryMessage | None:
        """An edited summary, cut to its room; None where that is too little for its frame."""
        view, room = self.view, self.room
        while room > 0:
            kept = cut_text(text, tokens_max=room, counter=view.counter, keep="both", language=view.language).text
            summary = self._framed(kept, "older than the tail; an edited summary speaks for it")
            if summary.tokens <= self.tokens_max:
                return summary
            room -= summary.tokens - self.tokens_max
        return None

    def reframed(self, summary: SummaryMessage) -> SummaryMessage:
        """A summary in a frame that names these positions."""
        made = self._framed(summary.text, summary.reason, summary.facts)
        return replace(summary, message=made.message, tokens=made.tokens)

    def request(
        self, messages: Sequence[Message], lines: Sequence[str], previous: str | None, *, left_out: int
    ) -> SummaryRequest:
        """The question to a model: extend the summary so far by what these messages add. `lines` are what it is shown of them."""
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
                focus=task.focus,
                files=files,
                left_out=left_out,
            )

        return SummaryRequest(
            messages=tuple(messages),
            previous=previous,
            tokens_max=self.answer_tokens_max,
            language=view.language,
            focus=task.focus,
            model=task.policy.summary_model,
            prompt=write(()),
            write=write,
        )

    def _carried(self, words: str, tokens_max: int) -> str:
        """The words of earlier summaries that are no facts of the ledger's, in their share of the room."""
        if not words or tokens_max <= 0:
            return ""
        view = self.view
        cut = cut_text(words, tokens_max=tokens_max - 1, counter=view.counter, keep="both", language=view.language)
        return f"{cut.text}\n"

    def _numbers(self, ledger: Ledger) -> tuple[int, int] | None:
        """The message numbers for a summary's last line: none where the frame has them, or they are another history's."""
        is_named = self.task.policy.summary_frame == "numbered"
        return None if is_named or ledger.counts.messages > self.covers[1] - self.covers[0] else self.covers

    def _framed(self, text: str, reason: str, facts: int = 1) -> SummaryMessage:
        message = text_message(self.task.policy.summary_role, self._wrapped(text))
        return SummaryMessage(message=message, text=text, tokens=self.view.weigh(message), facts=facts, reason=reason)

    def _wrapped(self, text: str) -> str:
        frame = self.task.policy.summary_frame
        presentation = PRESENTATIONS[self.view.language if frame == "numbered" else frame]
        return wrap(text, covers=self.covers, presentation=presentation, recall=self.view.recall)


def unseen(ledger: Ledger, shown: Sequence[ViewExchange], gone: Sequence[ViewExchange]) -> Ledger:
    """The ledger without the facts of exchanges that are shown, nor these in its counts. Their headings date what follows them.

    Where one part of a message is shown and another leaves, its facts stay: they may be those of the other.
    """
    if not shown:
        return ledger
    positions = _positions(shown) - _positions(gone)
    facts = {
        kind: tuple(fact for fact in found if kind == "heading" or fact.last not in positions)
        for kind, found in ledger.facts.items()
    }
    counts = NOTHING.plus([message for block in shown for message in block.exchange.messages])
    return replace(ledger, facts=facts, counts=ledger.counts.added(counts, times=-1))


def _positions(blocks: Sequence[ViewExchange]) -> set[int | None]:
    return {piece.position for block in blocks for piece in block.pieces}


def omission_notice(view: WorkingView, task: Task, tokens_max: int, count: int) -> SummaryMessage | None:
    """A line that only says how many messages left, or in the smallest room that some did."""
    for words in (omission(count, view.language), short_omission(view.language)):
        message = text_message(task.policy.summary_role, words)
        tokens = view.weigh(message)
        if tokens <= tokens_max:
            return SummaryMessage(message=message, text=words, tokens=tokens, facts=0, reason="older than the tail")
    return None


def is_summary_or_notice(text: str) -> bool:
    """Whether a text is a plimsoll summary or omission notice found in an input history."""
    return text.startswith("[") and (recognise(text) is not None or omitted(text) is not None)


def shorten(view: WorkingView, block: ViewExchange, tokens_max: int) -> bool:
    """Cut a plimsoll summary to `tokens_max` inside its frame, least facts first. False for a text without a frame."""
    piece = block.pieces[0]
    text, parts = piece.message.text, piece.message.parts
    span = unwrapped(text)
    if span is None or len(parts) != 1 or not isinstance(parts[0], Text):
        return False
    bare = piece.message.with_parts((replace(parts[0], text=rewrapped(text, "") or ""),))
    room = max(0, tokens_max - view.weigh(bare) - 1)
    ledger = reread(span.body)
    for _ in range(SHORTEN_ROUNDS_MAX):
        kept = cut_text(ledger.words, tokens_max=int(room * CARRIED_SHARE), counter=view.counter, keep="both").text
        left = max(0, room - view.counter.upper(f"{kept}\n"))
        facts = render(ledger, tokens_max=left, counter=view.counter, language=view.language).text
        view.edit(block, 0, [replace(parts[0], text=rewrapped(text, f"{kept}\n{facts}".strip("\n")) or "")])
        if block.tokens <= tokens_max:
            break
        room = max(0, room - (block.tokens - tokens_max))
    return True


def edited_ledger(ledger: Ledger, summary: str, text: str) -> Ledger:
    """The ledger with what an edited summary says that the one before it did not, and without the words it no longer has.

    The facts stay: they are what was said, whatever is told of it.
    """
    before, carried = frozenset(summary.split("\n")), frozenset(ledger.words.split("\n"))
    kept = (line for line in text.split("\n") if line in carried or (line not in before and not is_title(line)))
    return ledger.in_words(quoted("\n".join(kept)))
