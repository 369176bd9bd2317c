"""The newest part of a conversation, without summary, session or disk: `window`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from plimsoll.compaction.bound import unbound
from plimsoll.compaction.join import entry_of, kept_apart, runs
from plimsoll.compaction.meter import ContextMeter, meter_for
from plimsoll.compaction.normalize import normalize
from plimsoll.compaction.notes import OPENER
from plimsoll.compaction.view_message import Origins, ViewMessage, placed_at
from plimsoll.compaction.windows import keep_window
from plimsoll.compaction.writing import written
from plimsoll.formats.detect import RequestContext
from plimsoll.formats.exchange import group
from plimsoll.formats.format import SystemText
from plimsoll.formats.intake import decode_received, received
from plimsoll.formats.registry import format_of
from plimsoll.light.brief import Fact, ShortRepr, pluralize
from plimsoll.light.dataclass import asdict, dataclass, replace
from plimsoll.message import FormatName, Message, MessageLike, text_message
from plimsoll.policy.policy import PolicyChoice, policy_of
from plimsoll.policy.validation import boolean, integer
from plimsoll.tokens.counter import CounterChoice


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Windowed(ShortRepr):
    """The newest messages in their own format, and an account of those left out. Sizes in tokens.

    `positions` and `sizes` hold the input position of each message (None: inserted so that the provider accepts the rest; all
    messages of a whole response have its position) and its size; `tokens` is the size of the request. The caller's summary
    covers the `covered_count` messages before `start_seq`. `excluded_count` messages are neither covered nor included; `holes`
    lists them as half-open ranges of positions. `last_included_seq` is the `sequence` of the message at `last_included`, or its
    position if messages have none.
    """

    messages: list[dict[str, Any]]
    positions: tuple[int | None, ...]
    sizes: tuple[int, ...]
    tokens: int
    budget: int
    truncated_count: int
    excluded_count: int
    covered_count: int
    first_included: int | None
    last_included: int | None
    holes: tuple[tuple[int, int], ...]
    last_included_seq: int | None = None

    def _facts(self) -> Iterable[Fact]:
        yield "messages", pluralize(len(self.messages), "message")
        yield "tokens", f"{self.tokens:,} of {self.budget:,}"
        yield "excluded", f"{self.excluded_count:,} excluded"
        yield "truncated", f"{self.truncated_count:,} truncated"
        yield "covered", f"{self.covered_count:,} covered"

    @property
    def origins(self) -> Origins:
        """`positions` in the form of `Fitted.origins`."""
        return tuple(() if position is None else (position,) for position in self.positions)

    @property
    def trimmed(self) -> bool:
        """Whether anything after `start_seq` was left out or cut."""
        return bool(self.excluded_count or self.truncated_count)

    def to_dict(self) -> dict[str, Any]:
        """The window as JSON-ready data."""
        return {**asdict(self), "trimmed": self.trimmed}


def window(  # noqa: PLR0913 - one call with its options
    messages: Sequence[MessageLike],
    *,
    start_seq: int = 0,
    max_tokens: int | None = None,
    model: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    policy: PolicyChoice = "five-turns",
    keep_system: bool = True,
    format: FormatName | None = None,
    system: SystemText = None,
    counter: CounterChoice = None,
) -> Windowed:
    """Return the newest messages that the policy's caps and the budget allow: no summary, a gapless tail, valid for the provider.

    The newest request is kept even if the tail does not reach back to it. It and the newest exchange are only cut if they alone
    exceed the budget.

    Args:
        messages: as in `fit`.
        start_seq: messages before this one are covered by a summary of the caller's: by their `sequence`, else by position.
        max_tokens: the budget, tools included; None: the policy's window.
        model: as in `fit`.
        tools: as in `fit`.
        policy: sets the caps; messages over its `message_tokens_max` lose their middle, except the newest request.
        keep_system: keep leading system text, before anything else; False: no system message is kept.
        format: as in `fit`.
        system: as in `fit`.
        counter: as in `fit`.

    Returns: the messages with their positions and sizes, and the number and positions of those left out.

    Raises: CannotFit, CounterError, FormatError, SettingError.

    """
    integer("start_seq", start_seq)
    boolean("keep_system", keep_system)
    taken = received(messages)
    found = format_of(taken, format, RequestContext(model=model, system=system, tools=tools))
    decoded = decode_received(taken, found)
    chosen = policy_of(policy, "five-turns")
    meter = meter_for(found, model=model, max_tokens=max_tokens, tools=tools, policy=chosen, counter=counter)
    entries = normalize(decoded, found, meter.count_message)
    kept = [entry for entry in entries if keep_system or entry.message.role != "system"]
    places = taken.places or range(len(decoded))
    sequences = _sequences(decoded, places)
    begins_at = next((position for position, number in enumerate(sequences) if number >= start_seq), len(sequences))
    measured = replace(meter, system=system)
    return _Window(meter=measured, normalized=kept, sequences=sequences, places=places, begins_at=begins_at).made()


def _sequences(messages: Sequence[Message], places: Sequence[int]) -> list[int]:
    """The `sequence` of each message, else that of the message before; the positions it was given at if no message has one."""
    own = [None if message.wire is None else message.wire.get("sequence") for message in messages]
    known = [number if isinstance(number, int) and not isinstance(number, bool) else None for number in own]
    first = next((number for number in known if number is not None), None)
    if first is None:
        return list(places)
    numbers: list[int] = []
    for number in known:
        before = numbers[-1] if numbers else first
        numbers.append(before if number is None else number)
    return numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class _Window:
    """One window over repaired messages. `sequences` are the numbers of the input messages, `places` the positions given at."""

    meter: ContextMeter
    normalized: list[ViewMessage]
    sequences: Sequence[int]
    places: Sequence[int]
    begins_at: int
    """Position of the first message that may be in the window."""

    def made(self) -> Windowed:
        """Build the window; it begins with the user if the provider requires that."""
        opener = [entry_of(text_message("user", OPENER), None, self.meter.count_message)]
        opener_tokens = self.meter.total(opener) - self.meter.reserve_tokens
        entries = self._labelled(self._entries(opener_tokens if self._must_open() else 0))
        if not self.meter.format.rules.user_first:
            return self._windowed(entries)
        spoken = [exchange for exchange in group([entry.message for entry in entries]) if not exchange.is_system]
        if not spoken or spoken[0].messages[0].role != "assistant":
            return self._windowed(entries)
        first = spoken[0].start
        if self.meter.total(entries) + opener_tokens <= self.meter.budget.tokens:
            return self._windowed([*entries[:first], *opener, *entries[first:]])
        begun = next(exchange.start for exchange in spoken if exchange.messages[0].role != "assistant")
        return self._windowed([*entries[:first], *entries[begun:]])

    def _labelled(self, entries: list[ViewMessage]) -> list[ViewMessage]:
        """The entries with leading system text turned into labelled user messages, if the provider requires a user opening.

        Text whose label does not fit is left out.
        """
        if not self.meter.format.rules.user_first:
            return entries
        end = next((at for at, entry in enumerate(entries) if entry.message.role != "system"), len(entries))
        left = self.meter.budget.tokens - self.meter.total(entries)
        kept: list[ViewMessage] = []
        for entry in entries[:end]:
            message = self.meter.format.labelled(entry.message)
            shown = entry if message is None else replace(entry, shown=message, whole=False)
            if shown.tokens - entry.tokens <= left:
                kept.append(shown)
                left -= shown.tokens - entry.tokens
            else:
                left += entry.tokens
        return [*kept, *entries[end:]]

    def _must_open(self) -> bool:
        """True if the part that is always kept begins with the assistant and the provider requires a user opening."""
        start = self._start()
        messages = [entry.message for entry in self.normalized]
        after = [each for each in group(messages) if each.end > start and not each.is_system]
        held = next((each for each in reversed(after) if each.is_request), after[-1] if after else None)
        return self.meter.format.rules.user_first and held is not None and held.messages[0].role == "assistant"

    def _start(self) -> int:
        """The index of `begins_at` in the normalized messages."""
        after = (at for at, entry in enumerate(self.normalized) if self._is_after(entry.position))
        return next(after, len(self.normalized))

    def _entries(self, held_back: int) -> list[ViewMessage]:
        """The entries of the window, with `held_back` tokens of the budget set aside. Raises CannotFit."""
        view = self.meter.working_view(self.normalized)
        view.reserve_tokens += held_back
        keep_window(view, self.meter.policy, self.meter.budget.tokens, self._start())
        return list(view.entries())

    def _is_after(self, position: int | None) -> bool:
        return position is not None and position >= self.begins_at

    def _windowed(self, entries: Sequence[ViewMessage]) -> Windowed:
        if [id(entry.message) for entry in entries] != [id(entry.message) for entry in self.normalized]:
            entries = list(unbound(entries, self.meter.binds))
        found = [entry.position for entry in entries if entry.position is not None]
        positions, after = placed_at(found, self.places), placed_at(filter(self._is_after, found), self.places)
        given = self.places[-1] + 1 if self.places else 0
        covered = self.places[self.begins_at] if self.begins_at < len(self.places) else given
        holes = _holes_between(after, covered, given)
        last = max(found, default=None)
        uncut = {id(entry.message) for entry in self.normalized}
        shown = kept_apart(entries, self.meter.format)
        sent = list(runs(shown, self.meter.format))
        return Windowed(
            messages=written(shown, self.meter.format, self.meter.leading_marks),
            positions=tuple(None if run[0].position is None else self.places[run[0].position] for run in sent),
            sizes=tuple(sum(entry.tokens for entry in run) for run in sent),
            tokens=self.meter.total(entries),
            budget=self.meter.budget.tokens,
            truncated_count=sum(entry.position is not None and id(entry.message) not in uncut for entry in entries),
            excluded_count=sum(end - start for start, end in holes),
            covered_count=covered - (len(positions) - len(after)),
            first_included=min(positions, default=None),
            last_included=max(positions, default=None),
            holes=holes,
            last_included_seq=None if last is None else self.sequences[last],
        )


def _holes_between(positions: Sequence[int], start: int, end: int) -> tuple[tuple[int, int], ...]:
    """The ranges of `[start, end)` between ascending positions."""
    holes = []
    for position in (*positions, end):
        if position > start:
            holes.append((start, position))
        start = position + 1
    return tuple(holes)
