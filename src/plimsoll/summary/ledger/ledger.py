"""The ledger: facts extracted from messages by rules, extended message by message.

    ledger = extend(Ledger.empty(), history[:40], 0)
    ledger = extend(ledger, history[40:], 40)         # reads the new messages only

A fact keeps its message position and author. Tool output never becomes a request or a constraint.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from plimsoll import limits
from plimsoll.formats.exchange import OpenCalls
from plimsoll.formats.provenance import below_notices
from plimsoll.formats.text_tools import as_calls
from plimsoll.light.dataclass import dataclass, field, replace
from plimsoll.message import Message, Text, ToolCall, ToolResult
from plimsoll.summary import frame
from plimsoll.summary.ledger import (
    calls,
    commands,
    decisions,
    dialogue,
    errors,
    files,
    identifiers,
    languages,
    pages,
    requests,
    symbols,
    wire,
    work,
)
from plimsoll.summary.ledger.draft import LedgerDraft
from plimsoll.summary.ledger.fact import BEFORE_ALL, Fact, Kind, author_in, is_recalled
from plimsoll.summary.ledger.material import own_words
from plimsoll.summary.ledger.prose import claims, shape
from plimsoll.summary.ledger.sentences import head_and_tail, line
from plimsoll.summary.ledger.wire import NOTHING, Counts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_LOADED_CHARS_MIN = 1_500  # after a tool result, people rarely type more
_STEP_CLAIMS_MAX = 3
"""So many sentences of an answer may say its step: the first that no step before has said."""

_LISTING_COMMANDS = ("ls ", "rg ", "git", "fin", "gre", "fd ")  # how commands begin that print paths


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """Facts by kind in order of appearance, with counts. Immutable, and bounded in size for a session of any length."""

    facts: Mapping[Kind, tuple[Fact, ...]] = field(default_factory=lambda: MappingProxyType({}))
    counts: Counts = NOTHING
    evicted: Mapping[Kind, int] = field(default_factory=lambda: MappingProxyType({}))
    """Number of facts dropped by kind because of its cap."""
    end: int = 0
    """Position after the last message read."""
    asked: str = ""
    """The assistant's last question, to interpret the next reply."""
    beside: frozenset[tuple[str, str]] = frozenset()
    """Roles and names of messages that a view shows beside the summary. Not stored."""
    words: str = ""
    """Text of earlier summaries without facts: a model's prose, or text of a person or another tool."""

    @staticmethod
    def empty() -> Ledger:
        """Return a ledger of no messages."""
        return Ledger()

    def of(self, kind: Kind) -> tuple[Fact, ...]:
        """Return the facts of one kind, in order of appearance."""
        return self.facts.get(kind, ())

    def only(self, facts: Mapping[Kind, tuple[Fact, ...]]) -> Ledger:
        """Return the ledger with only these facts and no evictions, to render a part of it."""
        return replace(self, facts=MappingProxyType(dict(facts)), evicted=MappingProxyType({}))

    @property
    def is_empty(self) -> bool:
        """Whether the ledger has neither messages nor text."""
        return not (self.counts.messages or self.words)

    def with_words(self, text: str) -> Ledger:
        """Return the ledger with new lines of a summary's text added."""
        known = frozenset(self.words.split("\n"))
        lines = [*self.words.split("\n"), *(line for line in text.split("\n") if line not in known)]
        return self.in_words("\n".join(line for line in lines if line.strip()))

    def in_words(self, text: str) -> Ledger:
        """Return the ledger with this text instead of its own."""
        return replace(self, words=head_and_tail(text, limits.LEDGER_WORDS_CHARS_MAX))

    def recollecting(self, earlier: Ledger) -> Ledger:
        """Return the ledger with the content of another one, parsed from a summary."""
        draft = LedgerDraft(self.facts, self.evicted, self.asked)
        before = [fact.position for found in self.facts.values() for fact in found if fact.position < 0]
        ahead = max(before, default=BEFORE_ALL - 1) + 1 - BEFORE_ALL
        for found in earlier.facts.values():
            draft.add_all(fact._replace(position=fact.position + ahead) for fact in found)
        facts, evicted = draft.finish(), draft.evicted
        for kind, number in earlier.evicted.items():
            evicted[kind] = evicted.get(kind, 0) + number
        return replace(
            self.with_words(earlier.words),
            facts=MappingProxyType(facts),
            counts=self.counts.added(earlier.counts),
            evicted=MappingProxyType(evicted),
        )

    def without_headings(self, before: int) -> Ledger:
        """Return the ledger without the headings of messages in front of an earlier summary: they date nothing after it."""
        headings = tuple(fact for fact in self.of("heading") if not 0 <= fact.position < before)
        if len(headings) == len(self.of("heading")):
            return self
        return replace(self, facts=MappingProxyType({**self.facts, "heading": headings}))

    @property
    def is_dialogue(self) -> bool:
        """Whether this is a dialogue rather than an agent's run with tools."""
        return self.counts.is_dialogue

    def to_dict(self) -> dict[str, Any]:
        """Return JSON values for the session's log, readable by `from_dict`."""
        return wire.to_dict(self.facts, self.counts, self.evicted, self.end, self.asked, self.words)

    @staticmethod
    def from_dict(data: object) -> Ledger:
        """Parse the result of `to_dict`. Raises FormatError if it is damaged."""
        facts, counts, evicted, end, asked, words = wire.from_dict(data)
        return Ledger(
            facts=MappingProxyType(facts),
            counts=counts,
            evicted=MappingProxyType(evicted),
            end=end,
            asked=asked,
            words=words,
        )


def extend(ledger: Ledger, messages: Sequence[Message], start: int) -> Ledger:
    """Return the ledger with the facts of `messages`, at positions `start`, `start + 1`, ... of the history.

    Messages before `ledger.end` are skipped, so ranges may overlap. Linear in the new messages.
    """
    return Reading(ledger, messages, start).ledger


class Reading:
    """An extension of a ledger that can also return the ledger of slightly fewer messages without rereading all."""

    __slots__ = ("_checkpoints", "_new", "_start", "base", "ledger")

    def __init__(self, base: Ledger, messages: Sequence[Message], start: int) -> None:
        """Extend `base` by `messages`, at positions from `start` on."""
        self.base = base
        skipped = max(0, base.end - start)
        self._new, self._start = as_calls(messages[skipped:], start + skipped), start + skipped
        self._checkpoints: list[tuple[int, _Reader]] = []
        """Copies of the reader, with the number of messages each has read."""
        self.ledger = base
        """The ledger of all messages."""
        if self._new:
            counts = base.counts.plus(self._new)
            draft = LedgerDraft(base.facts, base.evicted, base.asked)
            if not counts.is_dialogue:
                draft.add_all(decisions.from_talk(base.of("chat")))
            self.ledger = self._read(_Reader(draft, is_dialogue=counts.is_dialogue), 0, self._new, counts)

    def ledger_of(self, messages: Sequence[Message], start: int) -> Ledger | None:
        """Return `extend(base, messages, start)`; None unless `messages` are a slightly shorter prefix of those read."""
        new = as_calls(messages[max(0, self.base.end - start) :], self._start)
        if start + len(messages) - len(new) != self._start or not 0 < len(new) <= len(self._new):
            return None
        counts = self.base.counts.plus(new)
        checkpoints = [checkpoint for checkpoint in self._checkpoints if checkpoint[0] <= len(new)]
        if not checkpoints or checkpoints[-1][1].is_dialogue is not counts.is_dialogue:
            return None
        if _close_ranges(len(new), counts) != _close_ranges(len(self._new), self.ledger.counts):
            return None
        if not all(one is other or one == other for one, other in zip(new, self._new, strict=False)):
            return None
        at, reader = checkpoints[-1]
        return self._read(reader.copied(), at, new, counts)

    def _read(self, reader: _Reader, at: int, new: Sequence[Message], counts: Counts) -> Ledger:
        """Read the messages from index `at` on and return the ledger."""
        beginning, newest = _close_ranges(len(new), counts)
        for index in range(at, len(new)):
            if new is self._new and len(new) - index in _CHECKPOINT_DISTANCES:
                self._checkpoints.append((index, reader.copied()))
            read = reader.read if index < beginning or index >= newest else reader.skim
            read(new[index], self._start + index)
        base, draft = self.base, reader.draft
        if not reader.is_dialogue:
            # The start of an agent's run looked like a dialogue; its sentences are also requests and findings.
            base = base.with_words(_recalled_talk(draft))
            draft.forget("chat", "heading", "topic")
        facts = draft.finish()
        return Ledger(
            facts=MappingProxyType(facts),
            counts=counts,
            evicted=MappingProxyType(draft.evicted),
            end=self._start + len(new),
            asked=draft.asked(),
            words=base.words,
        )


_CHECKPOINT_DISTANCES = frozenset({8, 16, 32, 64, 128})
"""Distances from the end at which a reader is copied: about as far as a tail grows if a summary is short."""

_CLOSE_STEP = 128
"""The newest fully read part begins at a multiple of this, so that slightly fewer messages usually give the same start."""


def _recalled_talk(draft: LedgerDraft) -> str:
    """Return the chat facts from summaries as text, because no message contains them."""
    recalled = (fact for fact in draft.facts["chat"].values() if is_recalled(fact))
    return "\n".join(": ".join(filter(None, (*fact.note.split("\t"), fact.text))) for fact in recalled)


def _close_ranges(count: int, counts: Counts) -> tuple[int, int]:
    """Return `(n, m)`: messages before `n` and from `m` on are read fully. Only very long agent runs have a gap."""
    if counts.is_dialogue or count <= limits.LEDGER_CLOSE_MESSAGES_MAX:
        return 0, 0
    newest = limits.LEDGER_CLOSE_MESSAGES_MAX * 9 // 10
    return limits.LEDGER_CLOSE_MESSAGES_MAX - newest, -(-(count - newest) // _CLOSE_STEP) * _CLOSE_STEP


class _Reader:
    """Reads messages into a draft, and matches tool results with their calls."""

    __slots__ = ("after_result", "calls", "draft", "is_dialogue")

    def __init__(self, draft: LedgerDraft, *, is_dialogue: bool) -> None:
        self.draft = draft
        self.is_dialogue = is_dialogue
        self.calls: OpenCalls[calls.Call] = OpenCalls()
        self.after_result = False
        """Whether the previous message has a tool result: then a long user text is probably inserted by the agent program."""

    def copied(self) -> _Reader:
        """Return an independent copy."""
        other = _Reader(self.draft.copied(), is_dialogue=self.is_dialogue)
        other.calls, other.after_result = self.calls.copied(), self.after_result
        return other

    def read(self, message: Message, position: int) -> None:
        if message.role == "system":
            return
        has_calls = has_results = False
        for part in message.parts:
            if isinstance(part, ToolCall):
                has_calls = True
                self._call(part, position, author_in(message))
            elif isinstance(part, ToolResult):
                has_results = True
                self._result(part, position)
        self._texts(message, position, has_calls=has_calls)
        self.after_result = has_results

    def skim(self, message: Message, position: int) -> None:
        """Read only facts with lasting value: the user's requests, the assistant's conclusions, and changed files."""
        asked = message.calls
        for call in asked:
            if calls.may_edit(call.name):
                self._call(call, position, author_in(message))
        if message.role == "user" or (message.role == "assistant" and not asked):
            self._texts(message, position, has_calls=bool(asked))
        self.after_result = bool(message.results)

    def _texts(self, message: Message, position: int, *, has_calls: bool) -> None:
        for part in message.parts:
            if isinstance(part, Text) and part.text and not part.text.isspace():
                self._text(message, part.text, position, has_calls=has_calls)

    def _text(self, message: Message, text: str, position: int, *, has_calls: bool) -> None:
        if frame.recognise(text) is not None:
            return  # a summary of plimsoll: its facts are already in the ledger
        if message.role == "user":
            text = own_words(text)
        if message.role == "user" and self.after_result and len(text) > _LOADED_CHARS_MIN:
            self.draft.add_all(requests.injected(text, position))
        elif message.role == "user":
            self.draft.add_all(requests.from_user(text, position, self.draft.asked, author_in(message)))
            self.draft.heard("")
        elif message.role == "assistant":
            self._answer(text, position, author_in(message), has_calls=has_calls)
        else:
            return
        self.draft.add_all(languages.from_text(text, position, "user" if message.role == "user" else "assistant"))
        if self.is_dialogue:
            self.draft.add_all(dialogue.from_message(text, position, message.role, author_in(message)))

    def _answer(self, text: str, position: int, author: str, *, has_calls: bool) -> None:
        if not self.is_dialogue:  # in a dialogue, each of its sentences is a chat fact
            self.draft.add_all(decisions.from_assistant(text, position, final=not has_calls, author=author))
            if said := claims(text[:2_000])[:_STEP_CLAIMS_MAX]:
                known = self.draft.facts["activity"]
                step = next((claim for claim in said if shape(claim) not in known), said[0])
                self.draft.renew(Fact("activity", shape(step), line(step, 240), position, "assistant"))
            self.draft.add_all(symbols.from_text(text, position))
        self.draft.add_all(work.from_assistant(text, position))
        if not has_calls:
            self.draft.heard(text)

    def _call(self, part: ToolCall, position: int, author: str) -> None:
        call = calls.understand(part.name, part.arguments)
        self.calls.ask(part.id, call)
        if call.action == "plan":
            work.from_plan(call.arguments, self.draft, position)
            return
        self.draft.add_all(decisions.from_call(call, position, author))
        self.draft.add_all(symbols.from_call(call, position))
        for fact in files.from_call(call, position):
            self.draft.add(fact)
            if fact.state == "modified":
                self.draft.add_all(languages.from_path(fact.text, position))

    def _result(self, result: ToolResult, position: int) -> None:
        call = self.calls.answer(result.call_id) or calls.UNKNOWN
        content, has_reported = below_notices(result.content), False
        text = _scanned(content)
        if call.action == "shell":
            has_reported = self._shell(call, text, position, is_error=result.is_error)
        elif result.is_error and text:
            self.draft.add_all(errors.from_result(text[:600], position, call.brief, is_error=True))
        if call.action in ("edit", "plan") or not text:
            return
        self.draft.add_all(symbols.from_result(call, content, position))
        self._values(call, content, text, position, without_errors=has_reported)

    def _shell(self, call: calls.Call, text: str, position: int, *, is_error: bool) -> bool:
        """Read a command and its outcome. Return whether its output was searched for errors."""
        shown = call.brief if calls.is_cell(call.arguments) else call.command or call.brief
        fact = commands.from_result(shown, text, position, is_error=is_error)
        self.draft.add_all([fact] if fact.key != call.name else ())  # the name of a tool that runs code says nothing
        family = commands.family(call.command or call.brief)
        if fact.state == "ok":
            errors.settle(self.draft, family)
        is_read = (fact.state == "failed" or len(text) < 1_500) and errors.may_report(text)
        self.draft.add_all(errors.from_result(text, position, family, is_error=is_error) if is_read else ())
        return is_read

    def _says(self, call: calls.Call, text: str, position: int, *, is_done: bool) -> bool:
        """Read the answer of one line, the small table or the page that a tool returned. Return whether that is all of it."""
        if call.action in ("other", "search") or is_done:
            self.draft.add_all(identifiers.from_sentence(text, call.brief, position, is_done=is_done))
        if not pages.answers(call):
            return False
        found = pages.from_answer(text, call, position, self.draft.facts)
        self.draft.add_all(found or ())
        return found is not None and call.action != "search" and not pages.is_marked_up(text)

    def _values(self, call: calls.Call, content: str, text: str, position: int, *, without_errors: bool) -> None:
        is_done = calls.acts(call)
        is_json = text[:40].lstrip()[:1] in ("{", "[")
        if is_json and (facts := list(identifiers.from_json(content, call.brief, position, is_done=is_done))):
            self.draft.add_all(facts)
            return
        if self._says(call, text, position, is_done=is_done):
            return
        if call.action == "search":
            self.draft.add_all(files.in_listing(text, position))
        elif call.action == "delegate":
            self.draft.add_all(identifiers.from_report(text, call.brief, position))
            self.draft.add_all(symbols.from_report(content, position))
            self.draft.add_all(files.in_report(content, position))
        elif text.startswith("diff --git"):
            return
        elif call.action in ("shell", "other"):
            self.draft.add_all(identifiers.from_lines(text, call.brief, position, without_errors=without_errors))
            if "git " in call.command[:200]:
                self.draft.add_all(files.in_report(text, position))
            elif call.command[:3] in _LISTING_COMMANDS:
                self.draft.add_all(files.in_listing(text, position))


def _scanned(content: str) -> str:
    """Return the part of a tool result to scan: all of a short one, else its head and tail."""
    if len(content) <= limits.LEDGER_SCAN_CHARS_MAX:
        return content
    tail = limits.LEDGER_SCAN_CHARS_MAX // 2
    begin = content.find("\n", len(content) - tail, len(content) - 1) + 1 or len(content) - tail
    return f"{content[: limits.LEDGER_SCAN_CHARS_MAX - tail - 1]}\n{content[begin:]}"
