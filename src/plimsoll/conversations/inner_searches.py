"""Searches of a model that its host never sees: kept beside the host's list, and put back where they were."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile, groupby
from typing import Any, Final

from plimsoll.compaction.tool_names import ToolNames
from plimsoll.conversations.prefix import Digest, Listing, digest, is_answer, is_system
from plimsoll.errors import PlimsollError
from plimsoll.formats.inner_calls import Called, calls_in, joined_answer, results_for
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.message import FormatName

INNER_TOOLS: Final = ToolNames("plimsoll_recall", "plimsoll_read")
"""The names of the tools, which no host has for tools of its own."""

ROUNDS_MAX: Final = 4
"""Times that a model may search before it answers one request."""

TOOLS_TOKENS: Final = 512
"""At least what the definitions of both tools take."""

_LAST: Final = "\n[This was the last search for this answer.]"


class _Key(NamedTuple):
    """An answer as its host sends it back: all that the host said before it, its own calls, and its text without white space."""

    before: bytes
    calls: frozenset[str]
    text: str


class InnerCalls:
    """The searches in one conversation."""

    def __init__(self) -> None:
        self.open: list[Any] = []
        """The answers to the running request so far, which only searched, and what they found."""
        self.secrets: list[tuple[str, str]] = []
        """Placeholders in what is kept here, and what they stand for: the host's list may not have them."""
        self._known: dict[_Key, list[Any]] = {}
        """What the provider said and was sent in the place of an answer that the host was given."""

    def expanded(self, messages: Sequence[Any], given: Listing) -> list[Any]:
        """The host's list with the searches in it."""
        if not self._known:
            return [*messages, *self.open]
        first = len(messages) - len(given.messages)
        found, before = list(messages[:first]), b""
        for said, run in groupby(range(len(given.messages)), key=lambda at: given.messages[at].is_answer):
            places = list(run)
            wires = messages[first + places[0] : first + places[-1] + 1]
            before = before_answer(given.messages[places[0] : places[-1] + 1], before)
            found += self._known.get(_key(wires, before), wires) if said else wires
        return [*found, *self.open]

    def is_of(self, given: Listing) -> bool:
        """True if a list with these digests may have searches in it."""
        return bool(self.open or self._known) and bool(given.messages)

    def learn(self, group: Sequence[Any], before: bytes) -> None:
        """Note all that was said in answer to a list, with what the searches found; `before` is of what the host said."""
        self._known[_key([wire for wire in group if is_answer(wire)], before)] = list(group)

    def recover(self, history: Sequence[Any]) -> None:
        """Learn from the history of a session that was opened again."""
        if any(call.name in INNER_TOOLS for call in calls_in(history)):
            history, before, at = list(dropwhile(is_system, history)), b"", 0
            for start, end in _groups(history):
                before, at = before_answer(map(digest, history[at:start]), before), end
                self.learn(history[start:end], before)


def inner_calls(wires: Sequence[Any]) -> tuple[list[Called], list[Called]]:
    """The calls in an answer: those that search, and the host's."""
    calls = calls_in(wires)
    return [call for call in calls if call.name in INNER_TOOLS], [
        call for call in calls if call.name not in INNER_TOOLS
    ]


def found_by(
    calls: Sequence[Called], search: Callable[[str, Any], str], format: FormatName, *, is_last: bool
) -> list[Any]:
    """The messages with what calls found. A search that fails says so to the model."""
    answers = []
    for call in calls:
        try:
            text = search(call.name, call.arguments or {})
        except (PlimsollError, RecursionError):
            text = "The earlier conversation cannot be searched now."
        answers.append((call, text + _LAST if is_last else text))
    return results_for(format, answers)


def before_answer(messages: Iterable[Digest], before: bytes = b"") -> bytes:
    """A digest of all that a host said, `before` and in these messages: equal turns of one conversation differ in it."""
    for message in messages:
        if not message.is_answer:
            before = hashlib.blake2b(before + message.content, digest_size=8).digest()
    return before


def as_given(history: Sequence[Any], format: FormatName) -> list[Any]:
    """The messages of a session as the host has them: answers without the searches."""
    found, at = list[Any](), 0
    for start, end in _groups(history):
        answer = joined_answer(format, [wire for wire in history[start:end] if is_answer(wire)], INNER_TOOLS)
        found += [*history[at:start], *answer]
        at = end
    return [*found, *history[at:]]


def _groups(history: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Where answers with searches in them begin and end, with what was found."""
    at = 0
    while at < len(history):
        start, searched = at, set[str]()
        while at < len(history) and (is_answer(history[at]) or _is_found(history[at], searched)):
            searched.update(call.id for call in inner_calls([history[at]])[0])
            at += 1
        if searched:
            yield start, at
        at = max(at, start + 1)


def _is_found(wire: Mapping[str, Any], searched: set[str]) -> bool:
    """True for a message that has nothing but results of these calls."""
    content = wire.get("content")
    if wire.get("role") == "user" and isinstance(content, list):
        return bool(content) and all(
            isinstance(block, Mapping) and block.get("tool_use_id") in searched for block in content
        )
    return (wire.get("tool_call_id") or wire.get("call_id")) in searched


def _key(said: Sequence[Any], before: bytes) -> _Key:
    calls = frozenset(call.id for call in inner_calls(said)[1])
    return _Key(before, calls, "".join("".join(_texts(said)).split()))


def _texts(said: Sequence[Any]) -> Iterator[str]:
    for wire in said:
        content = wire.get("content") if isinstance(wire, Mapping) and wire.get("type") != "reasoning" else None
        blocks = content if isinstance(content, list) else [{"text": content}]
        texts = [block.get("text") for block in blocks if isinstance(block, Mapping)]
        yield from (text for text in texts if isinstance(text, str))
