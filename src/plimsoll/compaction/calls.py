"""Remove the oldest calls of an exchange together with their results, and leave a marker in their place."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

from plimsoll.compaction.settle import is_placeholder
from plimsoll.compaction.view_message import CountMessage, ViewMessage
from plimsoll.formats.exchange import OpenCalls
from plimsoll.formats.reasoning import signatures_beside
from plimsoll.light.dataclass import replace
from plimsoll.light.regex import regex
from plimsoll.message import Message, Part, Reasoning, Text, ToolCall, ToolResult
from plimsoll.summary.frame import Language

Place: TypeAlias = tuple[int, int]
"""(message index, part index) of a part in an exchange."""

CallUnit: TypeAlias = tuple[Place, Place]
"""A call and its result."""

_MARKS: dict[str, str] = {
    "en": "[… {count} earlier tool {calls} left out: {names} …]",
    "zh": "[… 已略去此前 {count} 次工具调用：{names} …]",
}
_MARK = regex(
    r"(?:\A|\n)\[… (?:(?P<en>[0-9,]{1,12}) earlier tool calls? left out: |已略去此前 (?P<zh>[0-9,]{1,12}) 次工具调用：)"
    r"[^\]\n]{0,80} …\]\Z"
)
_NAMES_CHARS_MAX = 60
_NOT_IN_A_NAME = regex(r"[\]\n]")


def call_units(entries: Sequence[ViewMessage]) -> list[CallUnit]:
    """The calls of an exchange with their results, in the order in which they may leave: the oldest first.

    Calls without a result come last, and of one answer a call with a thought signature: Gemini refuses the others without it.
    """
    asked: OpenCalls[Place] = OpenCalls()
    units: list[CallUnit] = []
    for number, entry in enumerate(entries):
        for index, part in enumerate(entry.message.parts):
            if isinstance(part, ToolCall):
                asked.ask(part.id, (number, index))
            elif isinstance(part, ToolResult) and (call := asked.answer(part.call_id)) is not None:
                units.append((call, (number, index)))
    return sorted(
        units,
        key=lambda unit: (is_placeholder(entries[unit[1][0]].message), unit[0][0], _is_signed(entries, unit[0]), unit),
    )


def _is_signed(entries: Sequence[ViewMessage], call: Place) -> bool:
    wire = entries[call[0]].message.parts[call[1]].wire
    return wire is not None and any(signatures_beside(wire))


def without_calls(
    entries: Sequence[ViewMessage], units: Sequence[CallUnit], count_message: CountMessage, language: Language
) -> list[ViewMessage]:
    """The messages without these calls and their results. A marker in their place counts them and those removed earlier."""
    if not units:
        return list(entries)
    gone = {place for unit in units for place in unit}
    first = min(gone)
    words = _mark_words(entries, [call for call, _ in units], language)
    gone |= _steps_before(entries, gone) | _reasoning_for(entries, gone) | _marks_alone(entries)
    kept: list[ViewMessage] = []
    is_marked = False
    for number, entry in enumerate(entries):
        parts = [(index, part) for index, part in enumerate(entry.message.parts) if (number, index) not in gone]
        if parts and len(parts) == len(entry.message.parts):
            kept.append(entry)
        elif parts:
            if number == first[0]:
                parts, is_marked = _with_mark(parts, first[1], words), True
            if entry.message.role == "assistant":
                parts = _without_last_reasoning(parts)
            if not parts:
                continue
            message = entry.message.with_parts(tuple(part for _, part in parts))
            kept.append(replace(entry, shown=message, count_message=count_message, whole=False))
    return kept if is_marked else [_mark_entry(entries[first[0]], words, count_message), *kept]


def _with_mark(parts: Sequence[tuple[int, Part]], at: int, words: str) -> list[tuple[int, Part]]:
    """The marker before part `at`: appended to the text there, or a text part of its own."""
    before = [pair for pair in parts if pair[0] < at]
    after = [pair for pair in parts if pair[0] > at]
    text = before[-1][1] if before else None
    if isinstance(text, Text) and text.wire is None:
        rest = _MARK.sub("", text.text)
        joined = f"{rest}\n{words}" if rest else words
        return [*before[:-1], (before[-1][0], replace(text, text=joined)), *after]
    return [*before, (at, Text(text=words)), *after]


def _without_last_reasoning(parts: Sequence[tuple[int, Part]]) -> list[tuple[int, Part]]:
    """The parts up to the last that is not reasoning: it led to a removed call, and providers reject it at the end of a message."""
    end = len(parts)
    while end and isinstance(parts[end - 1][1], Reasoning):
        end -= 1
    return list(parts[:end])


def _mark_entry(first: ViewMessage, words: str, count_message: CountMessage) -> ViewMessage:
    """The marker as a separate message, for formats in which calls are separate messages."""
    message = Message(role="assistant", parts=(Text(text=words),), format=first.message.format)
    return ViewMessage(shown=message, count_message=count_message, origin="made", whole=False)


def _mark_words(entries: Sequence[ViewMessage], calls: Sequence[Place], language: Language) -> str:
    parts = [entries[number].message.parts[index] for number, index in calls]
    names = ", ".join(dict.fromkeys(part.name for part in parts if isinstance(part, ToolCall)))
    spoken = [entry.message for entry in entries if entry.message.role == "assistant"]
    count = len(calls) + sum(_counted(part) for message in spoken for part in message.parts)
    shown = _NOT_IN_A_NAME.sub(" ", names)[:_NAMES_CHARS_MAX]
    return _MARKS[language].format(count=f"{count:,}", calls="call" if count == 1 else "calls", names=shown)


def _counted(part: Part) -> int:
    """Number of calls that the marker of an earlier cut stands for; 0 for any other part."""
    found = _MARK.search(part.text) if isinstance(part, Text) else None
    return int((found["en"] or found["zh"]).replace(",", "")) if found else 0


def _marks_alone(entries: Sequence[ViewMessage]) -> set[Place]:
    """Places of assistant texts that consist only of the marker of an earlier cut."""
    return {
        (number, index)
        for number, entry in enumerate(entries)
        for index, part in enumerate(entry.message.parts)
        if entry.message.role == "assistant" and isinstance(part, Text) and _MARK.fullmatch(part.text)
    }


def _steps_before(entries: Sequence[ViewMessage], gone: AbstractSet[Place]) -> set[Place]:
    """Everything before the last removed result in messages that hold calls and results: complete steps are removed."""
    found: set[Place] = set()
    for number, entry in enumerate(entries):
        parts = entry.message.parts
        last = max((index for at, index in gone if at == number), default=None)
        if last is not None and entry.message.calls and isinstance(parts[last], ToolResult):
            found |= {(number, index) for index in range(last) if not isinstance(parts[index], ToolCall)}
    return found


def _reasoning_for(entries: Sequence[ViewMessage], gone: AbstractSet[Place]) -> set[Place]:
    """Reasoning-only messages whose following calls are all removed: providers reject reasoning without them."""
    found: set[Place] = set()
    reasoning: set[Place] = set()
    led: set[Place] = set()
    for number, entry in enumerate(entries):
        parts = entry.message.parts
        places = {(number, index) for index in range(len(parts))}
        only_reasons = all(isinstance(part, Reasoning) for part in parts)
        if led and (only_reasons or entry.message.role != "assistant"):
            found |= reasoning if led <= gone else set()
            reasoning, led = set(), set()
        if only_reasons:
            reasoning |= places
        elif entry.message.role == "assistant":
            led |= places
    return found | (reasoning if led and led <= gone else set())
