"""The usage in another tool's file compared with plimsoll's counts, and the tool's context window."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from plimsoll.compaction.meter import ContextMeter
from plimsoll.compaction.readers import Reader
from plimsoll.compaction.view_message import Origin
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.message import Wire
from plimsoll.records.usage import Usage
from plimsoll.session.adopt import Adopted, Adoption
from plimsoll.tokens.calibrate import Calibrator
from plimsoll.tokens.registry import look_up
from plimsoll.transcripts.values import MADE, SUMMARY, ToolCompaction, ToolName, Transcript, Viewed
from plimsoll.transcripts.writing import time_ms

ANSWER_TOKENS: Mapping[ToolName, int] = {"claude-code": 20_000, "codex": 0, "pi": 16_384}
"""Tokens of its window that a tool reserves for the reply. Codex records its window without them."""

CODEX_WINDOW_TOKENS = 258_400
"""Codex's window if the file has none."""

TOOL_NAMES: Mapping[ToolName, str] = {"claude-code": "Claude Code", "codex": "Codex", "pi": "pi"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The usage in a file. `usages` of requests made from the current view also have plimsoll's counts."""

    usages: tuple[Usage, ...]
    calibration: Calibrator
    window_tokens: int | None
    """The tool's window: recorded in or inferred from the file, else that of its model; None if unknown."""
    budget_tokens: int | None
    """The window less the reply."""
    needed_tokens: int
    """Size of the current view, including what the file does not contain."""
    is_of_view: bool
    """Whether the counted requests were made from the current view, rather than the one before the newest compaction."""


def recorded(transcript: Transcript, meter: ContextMeter) -> Recorded:
    """The usage in a file, with counts by this meter: of requests from the current view, else from the view before."""
    compactions = replayed(transcript)
    since = compactions[-1].stop if compactions else 0
    counting = _Counting(transcript, meter, transcript.viewed)
    usages, is_of_view = counting.usages(range(since, len(transcript.messages))), True
    if compactions and all(usage.counted_tokens is None for usage in usages):
        start = compactions[-2].stop if len(compactions) > 1 else 0
        usages, is_of_view = (
            _Counting(transcript, meter, compactions[-1].view_before()).usages(range(start, compactions[-1].position)),
            False,
        )
    calibration = Calibrator()
    for usage in usages:
        if usage.counted_tokens is not None:
            calibration = calibration.record(counted=usage.counted_tokens, reported=usage.prompt_tokens)
    window = _window(transcript)
    return Recorded(
        usages=usages,
        calibration=calibration,
        window_tokens=window,
        budget_tokens=None
        if window is None or window <= ANSWER_TOKENS[transcript.tool]
        else window - ANSWER_TOKENS[transcript.tool],
        needed_tokens=counting.needed(meter.calibrated(calibration), usages if is_of_view else ()),
        is_of_view=is_of_view,
    )


class _Counting:
    """Counts the requests that a view led to: each has the messages before its answer."""

    def __init__(self, transcript: Transcript, meter: ContextMeter, viewed: Sequence[Viewed]) -> None:
        parts = [part for one in viewed for part in parts_of(transcript, one)]
        self._messages = [part.message or meter.format.decode(part.wire, place) for place, part in enumerate(parts)]
        self._transcript = transcript
        self._sizes = meter.estimates(self._messages)
        self._begins = {part.position: place for place, part in reversed(list(enumerate(parts)))}

    def usages(self, answers: range) -> tuple[Usage, ...]:
        """The usages, with our count for those of these answers that were made from the view."""

        def counted(usage: Usage) -> int | None:
            position = usage.position or 0
            is_of_view = (
                position in answers and self._transcript.messages[position].on_path and position in self._begins
            )
            return self._sizes[self._begins[position]] if is_of_view else None

        return tuple(replace(usage, counted_tokens=counted(usage)) for usage in self._transcript.usages)

    def needed(self, meter: ContextMeter, usages: Sequence[Usage]) -> int:
        """The newest reported request plus the messages since; our own count of everything if it is exact."""
        last = next((usage for usage in reversed(usages) if usage.counted_tokens is not None), None)
        if last is None or meter.counter.exact:
            fixed_tokens = meter.reserve_tokens + meter.budget.tools_tokens + meter.budget.unseen_tokens
            return fixed_tokens + sum(map(meter.messages.message, self._messages))
        return last.prompt_tokens + sum(map(meter.messages.message, self._messages[self._begins[last.position] :]))


def _window(transcript: Transcript) -> int | None:
    if transcript.tool == "codex":
        return transcript.window_tokens or CODEX_WINDOW_TOKENS
    known = look_up(transcript.meta.model) if transcript.tool == "pi" and transcript.meta.model else None
    return known.window_tokens if known is not None and known.match != "unknown" else transcript.window_tokens


def adoption_of(transcript: Transcript, compaction: ToolCompaction, following: int) -> Adoption:
    """A tool's compaction as the session records it. `following` is the position of the next one."""
    after = compaction.tokens_after or _next_request(transcript, compaction, following)
    return Adoption(
        view=[part for viewed in compaction.view_after() for part in parts_of(transcript, viewed)],
        summary=compaction.summary,
        trigger=compaction.trigger[:40],
        at_ms=time_ms(compaction.at),
        tokens_before=compaction.tokens_before,
        tokens_after=after,
        by=TOOL_NAMES[transcript.tool],
        reader=reader_of(transcript),
    )


def reader_of(transcript: Transcript) -> Reader | None:
    """The way a tool reads a view back, if it differs from what is written."""
    return None if transcript.tool == "claude-code" else transcript.tool


def _next_request(transcript: Transcript, compaction: ToolCompaction, following: int) -> int | None:
    """Reported tokens of the first request after a compaction, if the file also has those before it."""
    if compaction.tokens_before is None:
        return None
    first = compaction.stop
    usages = (usage for usage in transcript.usages if first <= (usage.position or 0) < following)
    return next((usage.prompt_tokens for usage in usages), None)


Places: TypeAlias = Callable[[int], int | None]
"""Maps the index of a file's message to its position in the session, or None."""


def _identity(index: int) -> int:
    """The mapping for a session that has the whole file: the identity."""
    return index


def view_of(transcript: Transcript, places: Places = _identity, *, since: int = 0) -> list[Adopted]:
    """What the tool would send next, as parts. With `since`, only parts of messages from that index on."""
    parts = (part for viewed in transcript.viewed for part in parts_of(transcript, viewed))
    return [
        replace(part, position=None if part.position is None else places(part.position))
        for part in parts
        if since == 0 or (part.position is not None and part.position >= since)
    ]


def removed_positions(transcript: Transcript, places: Places = _identity) -> list[int]:
    """Positions of the conversation's messages up to the last one that the tool's compactions removed.

    Includes messages kept among them, because a ledger extends from a position.
    """
    shown = {index for viewed in transcript.viewed for index in viewed.messages}
    indexes = [index for index, one in enumerate(transcript.messages) if one.on_path and one.kind == "message"]
    last = max((index for index in indexes if index not in shown), default=-1)
    return [position for index in indexes if index <= last and (position := places(index)) is not None]


def parts_of(transcript: Transcript, viewed: Viewed) -> list[Adopted]:
    """A message of the tool's view as parts, one for each message of the session it consists of.

    This keeps a user's request apart from results or a summary that the tool merged it with.
    """
    content, origins = viewed.wire.get("content"), list(dict.fromkeys(viewed.origins))
    if len(origins) < 2 or not isinstance(content, list):
        return [_part(transcript, viewed.wire, (*origins, *viewed.messages[-1:], MADE)[0])]
    blocks = {origin: [b for b, o in zip(content, viewed.origins, strict=True) if o == origin] for origin in origins}
    if _results_first([block for origin in origins for block in blocks[origin]]) != content:
        return [_part(transcript, viewed.wire, max(origins))]
    parts = [_part(transcript, {**viewed.wire, "content": blocks[origin]}, origin) for origin in origins]
    return [part if number == 0 else replace(part, joined=True) for number, part in enumerate(parts)]


def _results_first(blocks: list[Wire]) -> list[Wire]:
    """The block order of merged parts."""
    return sorted(blocks, key=lambda block: block.get("type") != "tool_result")


def _part(transcript: Transcript, wire: Wire, origin: int) -> Adopted:
    if origin < 0:
        return Adopted(wire=wire, origin="summary" if origin == SUMMARY else "made")
    one = transcript.messages[origin]
    kind: Origin = "summary" if one.kind == "summary" else "history"
    return Adopted(wire=wire, message=one.message if one.wire == wire else None, position=origin, origin=kind)


def times_ms(transcript: Transcript) -> list[int | None]:
    """The time of each message's first line; one without a time gets that of the message before."""
    times: list[int | None] = []
    for one in transcript.messages:
        value = transcript.entries[one.lines[0]].value if one.lines else None
        at_ms = time_ms((value or {}).get("timestamp"))
        times.append(at_ms if at_ms is not None else times[-1] if times else None)
    return times


def replayed(transcript: Transcript) -> Sequence[ToolCompaction]:
    """The compactions on the conversation's path, oldest first."""
    return sorted((made for made in transcript.compactions if made.on_path), key=lambda made: made.stop)
