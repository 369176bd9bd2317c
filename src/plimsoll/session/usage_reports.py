"""Usage reports of a session: matching them to requests, and reading earlier ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from plimsoll.compaction.entries import Entries, Row, same_rows
from plimsoll.compaction.settle import is_placeholder
from plimsoll.compaction.tally import Tally
from plimsoll.compaction.view_message import ViewMessage
from plimsoll.errors import UnseenTokensWarning, warn
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.policy.validation import integer
from plimsoll.records.usage import Usage, usage_from, whole_prompt

if TYPE_CHECKING:
    from plimsoll.compaction.meter import ContextMeter
    from plimsoll.protocols import SessionLog
    from plimsoll.records.replay import ViewState
    from plimsoll.session.message_cache import MessageCache


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A view that was handed out: the number of entries of a tally that only grows, and the number of messages."""

    tally: Tally
    entries: int
    settled: Sequence[ViewMessage]
    """The view with placeholders for missing results; empty if no result is missing."""
    messages: int
    event: int | None
    """The compaction, rollback or edit that the view is based on."""

    def request(self) -> Entries:
        """The messages of the request, without a trailing answer that was appended before the report."""
        request = self.tally.entries.first(self.entries)
        request += _placeholders(self.settled)
        return without_answer(request)


def without_answer(entries: Entries) -> Entries:
    """The messages up to the newest not from the assistant; all of them if there is none."""
    stop = len(entries)
    while stop > 0 and entries[stop - 1].message.role == "assistant":
        stop -= 1
    return entries.first(stop) if stop else entries


class Estimates:
    """Uncorrected counts of a session's requests. Each request extends the one before, so only new messages are counted."""

    def __init__(self) -> None:
        self._rows: Sequence[Row] = ()
        """Those of the last request."""
        self._sizes: Sequence[int] = ()
        """Tokens of the first 0, 1, 2... messages of the requests."""

    def of(self, request: Entries, meter: ContextMeter) -> int:
        """Tokens of a request, as in `meter.estimated`."""
        same = same_rows(self._rows, request.rows)
        added = meter.estimates([entry.message for entry in request[same:]])
        known = self._sizes[same] if self._sizes else added[0]
        self._sizes = [*self._sizes[:same], *(known + size - added[0] for size in added)]
        self._rows = request.rows
        return self._sizes[-1]


def sent_now(state: ViewState, messages: int) -> Sent:
    """The current view as handed out, with `messages` messages in the session."""
    return Sent(
        tally=state.tally,
        entries=len(state.entries.rows),
        settled=() if state.normalizer.is_settled else state.sendable(),
        messages=messages,
        event=state.event,
    )


def _placeholders(entries: Iterable[ViewMessage]) -> Iterator[ViewMessage]:
    return (entry for entry in entries if entry.origin == "made" and is_placeholder(entry.message))


def usage_from_caller(prompt_tokens: int, completion_tokens: int, cached_tokens: int) -> Usage:
    """A report from a caller's arguments. Raises SettingError."""
    usage = Usage(
        prompt_tokens=integer("prompt_tokens", prompt_tokens),
        completion_tokens=integer("completion_tokens", completion_tokens),
        cached_tokens=integer("cached_tokens", cached_tokens),
    )
    return whole_prompt(usage)


def usage_for(sent: Sent, report: Usage, meter: ContextMeter, estimates: Estimates, originals: MessageCache) -> Usage:
    """A report combined with the count of the view `sent` that it belongs to."""
    return replace(
        report,
        counted_tokens=estimates.of(sent.request(), meter),
        model=meter.model,
        position=_answer(sent, originals),
    )


def _answer(sent: Sent, originals: MessageCache) -> int:
    """Position of the answer to a view: the first of the trailing assistant messages, or the next position."""
    position = sent.messages
    while position > 0 and (found := originals.find(position - 1)) is not None and found.role == "assistant":
        position -= 1
    return position


def warn_of_excess(session: str, before: ContextMeter, meter: ContextMeter) -> None:
    """Warn if a report shows that the request has so many other tokens that the budget leaves no room for the view."""
    if meter.unseen_excess and not before.unseen_excess:
        warn(UnseenTokensWarning(session, meter.unseen_excess))


def usages(log: SessionLog, last: int | None = None) -> list[Usage]:
    """The newest `last` reports, oldest first; None: all. Reads back no further than these."""
    reports = (usage_from(record.data, record.at_ms) for record in log.read_back() if record.kind == "usage")
    return list(islice(reports, last))[::-1]


def newest_report(log: SessionLog, base: int | None) -> tuple[Usage | None, bool]:
    """The newest report, and whether it is for a view based on compaction `base`. Reads back no further than that."""
    record = next((record for record in log.read_back() if record.kind == "usage"), None)
    if record is None:
        return None, True
    is_of_view = base is None or (record.seq > base and record.data.get("event") is not None)
    return usage_from(record.data, record.at_ms), is_of_view


def usage_since(log: SessionLog, position: int) -> Mapping[int, Usage]:
    """Reports by position of their answer, from `position` on; the newest if there are several.

    Reads back no further than that message, since a report is recorded after its request.
    """
    found: dict[int, Usage] = {}
    for record in log.read_back():
        if record.kind == "message" and record.position < position - 1:
            break
        if record.kind == "usage" and "position" in record.data:
            found.setdefault(record.data["position"], usage_from(record.data, record.at_ms))
    return found
