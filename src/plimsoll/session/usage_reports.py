"""Reported usage of a session: for which request it is, and what was reported before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice, takewhile
from typing import TYPE_CHECKING

from plimsoll.compaction.settle import is_placeholder
from plimsoll.compaction.tally import Tally
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.dataclass import dataclass
from plimsoll.errors import UnseenTokensWarning, warn
from plimsoll.message import Message
from plimsoll.records.usage import Usage, usage_from, whole_prompt
from plimsoll.validation import integer

if TYPE_CHECKING:
    from plimsoll.compaction.meter import ContextMeter
    from plimsoll.protocols import SessionLog
    from plimsoll.records.replay import ViewState
    from plimsoll.session.message_cache import MessageCache


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A view that was handed out: so many pieces of a tally that only grows, and how many messages had been said."""

    tally: Tally
    pieces: int
    closing: tuple[Message, ...]
    messages: int
    event: int | None
    """The compaction or rollback that the view goes on from."""

    def request(self) -> list[Message]:
        """Its messages, without an answer at its end: a report may come after the answer was appended and shown again."""
        shown = [piece.message for piece in self.tally.pieces[: self.pieces]]
        return without_answer([*shown, *self.closing])


def without_answer(messages: list[Message]) -> list[Message]:
    """The messages up to the newest that is not the assistant's; all of them where there are no others."""
    stop = len(messages)
    while stop > 0 and messages[stop - 1].role == "assistant":
        stop -= 1
    return messages[:stop] or messages


class Estimates:
    """What requests of one session count without correction. Each begins as the one before did, so only what is new is counted."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._sizes: list[int] = []
        """Of requests with the first none, one, two and so on of them."""

    def of(self, messages: list[Message], meter: ContextMeter) -> int:
        """Tokens of a request, as `meter.estimated` gives them."""
        same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], zip(self._messages, messages, strict=False)))
        added = meter.estimates(messages[same:])
        known = self._sizes[same] if self._sizes else added[0]
        self._sizes = [*self._sizes[:same], *(known + size - added[0] for size in added)]
        self._messages = messages
        return self._sizes[-1]


def sent_now(state: ViewState, messages: int) -> Sent:
    """The view as it stands after so many messages, as it is handed out."""
    return Sent(
        tally=state.tally,
        pieces=len(state.pieces),
        closing=() if state.normalizer.is_settled else _closing(state.sendable()),
        messages=messages,
        event=state.event,
    )


def _closing(pieces: Iterable[ViewMessage]) -> tuple[Message, ...]:
    """What stands in for missing results."""
    return tuple(piece.message for piece in pieces if piece.origin == "made" and is_placeholder(piece.message))


def usage_told(prompt_tokens: int, completion_tokens: int, cached_tokens: int) -> Usage:
    """A report in a caller's words. Raises SettingError."""
    usage = Usage(
        prompt_tokens=integer("prompt_tokens", prompt_tokens),
        completion_tokens=integer("completion_tokens", completion_tokens),
        cached_tokens=integer("cached_tokens", cached_tokens),
    )
    return whole_prompt(usage)


def usage_of(sent: Sent, told: Usage, meter: ContextMeter, estimates: Estimates, originals: MessageCache) -> Usage:
    """A report with the request it is for: `sent` is the view of that."""
    return replace(
        told,
        counted_tokens=estimates.of(sent.request(), meter),
        model=meter.model,
        position=_answer(sent, originals),
    )


def _answer(sent: Sent, originals: MessageCache) -> int:
    """Where the answer to a view is in the history, or will be: the first of the assistant's messages at its end, or after it."""
    position = sent.messages
    while position > 0 and (found := originals.find(position - 1)) is not None and found.role == "assistant":
        position -= 1
    return position


def warn_of_excess(session: str, before: ContextMeter, meter: ContextMeter) -> None:
    """Warn once when what the provider counts beyond the view leaves it no room in the budget."""
    if meter.unseen_excess and not before.unseen_excess:
        warn(UnseenTokensWarning(session, meter.unseen_excess))


def usages(log: SessionLog, last: int | None = None) -> list[Usage]:
    """The newest `last` reports, oldest first; None: all of them. Reads back as far as these are."""
    reports = (usage_from(record.data, record.at_ms) for record in log.read_back() if record.kind == "usage")
    return list(islice(reports, last))[::-1]


def newest_report(log: SessionLog, base: int | None) -> tuple[Usage | None, bool]:
    """The newest report, and whether it is of the view that goes on from the compaction `base`. Reads back as far as that is."""
    record = next((record for record in log.read_back() if record.kind == "usage"), None)
    if record is None:
        return None, True
    is_of_view = base is None or (record.seq > base and record.data.get("event") is not None)
    return usage_from(record.data, record.at_ms), is_of_view


def usage_since(log: SessionLog, position: int) -> Mapping[int, Usage]:
    """The reports by the position of their answer, from the one at `position` on; of several for one the newest.

    Reads back no further than that message: a report is recorded after the request, and so after all that was said before.
    """
    found: dict[int, Usage] = {}
    for record in log.read_back():
        if record.kind == "message" and record.position < position - 1:
            break
        if record.kind == "usage" and "position" in record.data:
            found.setdefault(record.data["position"], usage_from(record.data, record.at_ms))
    return found
