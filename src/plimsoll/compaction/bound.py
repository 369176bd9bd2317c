"""Remove thinking that the provider accepts only behind the exact messages it was generated from (Anthropic: preserved thinking).

The provider rejects a request in which a message before such thinking was changed. Only that thinking is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TypeAlias

from plimsoll.compaction.view_message import ViewMessage
from plimsoll.compaction.working_view import WorkingView
from plimsoll.light.dataclass import replace
from plimsoll.message import Message, Reasoning

Binds: TypeAlias = Callable[[Message], bool]
"""True if the thinking in a message is valid only with the messages before it unchanged."""


def leave_thinking(view: WorkingView) -> None:
    """Remove bound thinking from the messages of a view that is about to change."""
    for exchange in list(view.exchanges):
        if not any(view.binds(entry.message) for entry in exchange.entries):
            continue
        kept = list(unbound(exchange.entries, view.binds))
        if kept:
            exchange.entries = [replace(entry, count_message=view.count_message) for entry in kept]
            exchange.decide("shrink", "removed thinking that is valid only with the messages before it unchanged")
        else:
            view.leave([exchange], "drop", "removed thinking that is valid only with the messages before it unchanged")


def unbound(entries: Iterable[ViewMessage], binds: Binds) -> Iterator[ViewMessage]:
    """The messages without bound thinking. A message that holds nothing else is left out."""
    for entry in entries:
        yield from _without_thinking(entry) if binds(entry.message) else [entry]


def unbound_at(entries: Iterable[ViewMessage], positions: Collection[int]) -> Iterable[ViewMessage]:
    """Like `unbound`, given the positions of the messages whose thinking is bound."""
    if not positions:
        return entries
    bound = set(positions)
    return (kept for entry in entries for kept in (_without_thinking(entry) if entry.position in bound else [entry]))


def _without_thinking(entry: ViewMessage) -> list[ViewMessage]:
    kept = tuple(part for part in entry.message.parts if not isinstance(part, Reasoning))
    return [replace(entry, shown=entry.message.with_parts(kept), whole=False)] if kept else []
