"""What happened to a conversation on the way to where it is: requests as they were counted, and compactions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from plimsoll.formats.registry import decode_all
from plimsoll.report.story import Mark, Point, Story, strips_of
from plimsoll.session.transfer.recorded_usage import time_ms
from plimsoll.session.usage_reports import usages

if TYPE_CHECKING:
    from plimsoll.cli.source import Material
    from plimsoll.records.usage import Usage
    from plimsoll.report.inspection import Inspection
    from plimsoll.tokens.framing import MessageCounter


def story_of(material: Material, inspection: Inspection, counter: MessageCounter) -> Story:
    """The messages of the view with what the plan does to each, and what its file or session says of the time before."""
    messages = decode_all(material.messages, material.format)[1]
    places = material.places if material.session is not None else ()
    strips = strips_of(messages, counter, inspection.plan.actions, names=material.places, places=places)
    return Story(strips=strips, points=_points(_usages(material)), marks=tuple(_marks(material)))


def _usages(material: Material) -> Iterable[Usage]:
    if material.session is not None:
        return usages(material.session.log)
    return material.usages


def _points(found: Iterable[Usage]) -> tuple[Point, ...]:
    """Requests in the order of their time; those without one cannot be drawn."""
    points = [
        Point(name=usage.id or "", at_ms=usage.at_ms, tokens=usage.prompt_tokens)
        for usage in found
        if usage.at_ms is not None
    ]
    return tuple(sorted(points, key=lambda point: point.at_ms))


def _marks(material: Material) -> Iterable[Mark]:
    if material.session is not None:
        for made in material.session.compactions():
            if made.trigger != "import":
                label = f"{made.id} ({made.trigger}{', undone' if made.undone else ''})"
                after = made.tokens_after
                yield Mark(label=label, at_ms=made.at_ms, tokens_before=made.tokens_before, tokens_after=after)
    for told in material.compactions:
        if (at_ms := time_ms(told.at)) is not None:
            label = f"{told.trigger} compaction"
            yield Mark(label=label, at_ms=at_ms, tokens_before=told.tokens_before, tokens_after=told.tokens_after)
