"""The messages and exchanges of a view during a compaction, with their token counts and origins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from plimsoll.formats.atoms import Atoms, message_of
from plimsoll.formats.cache_marks import marks_of
from plimsoll.formats.exchange import Exchange, group
from plimsoll.light.dataclass import dataclass, field, replace
from plimsoll.message import Message, Text
from plimsoll.tokens.framing import long_text

Origin: TypeAlias = Literal["history", "summary", "made"]
"""`history`: from the history, possibly cut. `summary`: a summary or notice. `made`: inserted because the provider requires it."""

Origins: TypeAlias = tuple[tuple[int, ...], ...]
"""For each message of a view the positions it came from: empty for an inserted message, several for a merged one."""

Decision: TypeAlias = Literal["keep", "repair", "shrink", "offload", "summarise", "drop"]
"""What happens to a message or an exchange."""


CountMessage: TypeAlias = Callable[[Message], int]
"""Upper bound of a message's tokens as sent, framing included."""


def placed_at(positions: Iterable[int], places: Sequence[int] | None) -> list[int]:
    """The positions at which messages were given, ascending and without duplicates: several may be given as one response."""
    return sorted(set(positions) if places is None else {places[position] for position in positions})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ViewMessage:
    """One message of a view, equal to itself only. `position` is its index in the history, None for an inserted message.

    A message that nobody is working on may rest: it is then held as atoms (see formats/atoms.py), and decoded when it is asked for.
    """

    shown: Message | Atoms
    """The message, or its atoms while it rests."""
    count_message: CountMessage = field(repr=False)
    position: int | None = None
    origin: Origin = "history"
    whole: bool = True
    """True if the message is as in the history: neither cut nor repaired."""
    apart: bool = False
    """True if it is sent as a separate message even next to one of the same role, as in an imported file."""
    joined: bool = False
    """True if it is sent in one message with the one before it, as in an imported file, even if adjacent in the history."""
    repairs: tuple[str, ...] = ()
    """What was changed so that the provider accepts it."""

    _marks: int | None = field(default=None, init=False, repr=False)
    _tokens: int | None = field(default=None, init=False, repr=False)

    @property
    def message(self) -> Message:
        """The message. One that rests is decoded for each call, so ask `awake` for those that are looked at repeatedly."""
        return self.shown if isinstance(self.shown, Message) else message_of(self.shown, self.position)

    @property
    def is_plain(self) -> bool:
        """True if it is a message of the history, unchanged."""
        return self.position is not None and self.whole and self.origin == "history" and not (self.apart or self.joined)

    @property
    def is_system(self) -> bool:
        """True for system text, which does not rest: it is looked at for each view."""
        return isinstance(self.shown, Message) and self.shown.role == "system"

    def rest(self, atoms: Atoms) -> None:
        """Hold the message as its atoms."""
        object.__setattr__(self, "shown", atoms)

    def wake(self) -> None:
        """Hold the message decoded again, if it was not counted yet."""
        if self._tokens is None:
            object.__setattr__(self, "shown", self.message)

    def awake(self) -> ViewMessage:
        """The same with its message decoded. Counts are kept."""
        if isinstance(self.shown, Message):
            return self
        made = replace(self, shown=self.message)
        object.__setattr__(made, "_marks", self._marks)
        object.__setattr__(made, "_tokens", self._tokens)
        return made

    @property
    def marks(self) -> int:
        """Number of provider cache marks it may be sent with."""
        if self._marks is None:
            object.__setattr__(self, "_marks", marks_of(self.message))
        return self._marks or 0

    def counted(self, tokens: int) -> ViewMessage:
        """Note the count of the message; returns self."""
        object.__setattr__(self, "_tokens", tokens)
        return self

    @property
    def tokens_if_counted(self) -> int | None:
        """Tokens of the message; None if it was not counted yet."""
        return self._tokens

    @property
    def tokens(self) -> int:
        """Tokens of the message, counted on first access: most of a history far over its budget is never counted."""
        if self._tokens is None:
            object.__setattr__(self, "_tokens", self.count_message(self.message))
        return self._tokens or 0


@dataclass(slots=True, kw_only=True)
class ViewExchange:
    """One exchange of a view during a compaction: messages that stay or leave together, and the decision for them."""

    entries: list[ViewMessage]
    original: Exchange
    """The exchange as it was before the compaction."""
    kept_as: str | None = None
    """Why it must stay ("system text", "newest user message", ...); None if it may leave."""
    entries_before: tuple[ViewMessage, ...]
    decision: Decision = "keep"
    reasons: list[str] = field(default_factory=list)
    references: list[str] = field(default_factory=list)
    first: int | None = field(init=False)
    """Position of its first message in the history; None if none of it is from the history."""
    last: int | None = field(init=False)
    """Position of its last message in the history."""

    def __post_init__(self) -> None:
        if len(self.entries) == 1:
            self.first = self.last = self.entries[0].position
            return
        positions = [entry.position for entry in self.entries if entry.position is not None]
        # Not sorted: a result may be older in the history than the message before it here.
        self.first, self.last = min(positions, default=None), max(positions, default=None)

    @property
    def tokens(self) -> int:
        """Current tokens."""
        return self.entries[0].tokens if len(self.entries) == 1 else sum([entry.tokens for entry in self.entries])

    @property
    def size_chars(self) -> int:
        """Characters of its texts, arguments and results."""
        parts = [part for entry in self.entries for part in entry.message.parts]
        if len(parts) == 1 and type(part := parts[0]) is Text:  # as most are
            return len(part.text)
        return sum([len(text) for text in map(long_text, parts) if text is not None])

    @property
    def tokens_before(self) -> int:
        """Tokens before the compaction."""
        return sum(entry.tokens for entry in self.entries_before)

    @property
    def is_summary(self) -> bool:
        """True for an earlier summary, which the next one replaces. One that must stay is treated like any other message."""
        return self.kept_as is None and self.entries[0].origin == "summary"

    @property
    def is_summary_or_notice(self) -> bool:
        """True for a summary or an omission notice, false for messages of the history."""
        return self.entries[0].origin == "summary"

    @property
    def is_request(self) -> bool:
        """True if it holds a message of the user (not text of plimsoll in the user's role)."""
        return self.entries[0].origin == "history" and self.original.is_request

    def decide(self, decision: Decision, reason: str, *, reference: str | None = None) -> None:
        """Record a decision and its reason. A weaker decision does not replace a stronger one."""
        if _STRENGTH[decision] >= _STRENGTH[self.decision]:
            self.decision = decision
        if reason not in self.reasons:
            self.reasons.append(reason)
        if reference and reference not in self.references:
            self.references.append(reference)

    def checkpoint(self) -> Callable[[], None]:
        """A function that puts the exchange and what was decided for it back as they are now."""
        entries, decision = list(self.entries), self.decision
        reasons, references = list(self.reasons), list(self.references)

        def restore() -> None:
            self.entries, self.decision = list(entries), decision
            self.reasons, self.references = list(reasons), list(references)

        return restore

    @property
    def reasons_of_cuts(self) -> list[str]:
        """The reasons recorded since it was read, without those of its repairs."""
        return [reason for reason in self.reasons if reason not in self._repairs]

    def restore(self) -> None:
        """Undo every cut, and what was recorded of it."""
        self.entries = list(self.entries_before)
        self.decision, self.reasons, self.references = "keep", [], []
        for repair in self._repairs:
            self.decide("repair", repair)

    @property
    def _repairs(self) -> list[str]:
        return [repair for entry in self.entries_before for repair in entry.repairs]


_STRENGTH: dict[Decision, int] = {"keep": 0, "repair": 1, "shrink": 2, "offload": 3, "summarise": 4, "drop": 5}


def exchanges_of(entries: list[ViewMessage]) -> list[ViewExchange]:
    """Group messages into exchanges, in order. A summary is always an exchange of its own."""
    exchanges: list[ViewExchange] = []
    for original in group([entry.message for entry in entries]):
        chosen = entries[original.start : original.end]
        exchange = ViewExchange(entries=chosen, original=original, entries_before=tuple(chosen))
        if len(chosen) > 1 or chosen[0].repairs:
            exchange.restore()
        exchanges.append(exchange)
    return exchanges
