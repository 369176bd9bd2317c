"""Recognising a conversation by the list of its messages: digests that survive another encoding, and how alike two lists are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from operator import eq
from typing import Any, Final

from plimsoll.formats.wire import ANY_BLOCKS, plain
from plimsoll.light.dataclass import dataclass
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.limits import NESTING_DEPTH_MAX

_SYSTEM: Final = ("system", "developer")
_IGNORED: Final = frozenset({"cache_control", "prompt_cache_breakpoint", ANY_BLOCKS})
_OF_ASSISTANT: Final = ("function_call", "reasoning", "custom_tool_call", "local_shell_call")

EDITED_SHARE_MIN: Final = 2
"""A list is an edit of a known one if it holds at least the known messages divided by this."""


class Digest(NamedTuple):
    """One message: its content in 8 bytes, whether the assistant said it, and hashes of what it said.

    Of what the assistant said only texts and ids of calls count: hosts send back other fields than APIs give.
    """

    content: bytes
    is_answer: bool
    said: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The messages of a conversation as a host sends them, by their digests."""

    system: bytes
    """The system text, also where it is beside the messages."""
    messages: tuple[Digest, ...]
    """All other messages."""

    @property
    def opening(self) -> str:
        """Identifies the first message, by which conversations are looked up."""
        return self.messages[0].content.hex() if self.messages else "0" * 16


class Likeness(NamedTuple):
    """How a list relates to a known one. The larger the better."""

    continues: bool
    """It holds the whole known list at its beginning."""
    same_system: bool
    has_answer: bool
    """The known answer comes next."""
    shared: int
    """Number of messages in both."""


def listing(messages: Sequence[Any], system: object = None) -> Listing:
    """The digests of a list. Messages may be dicts or objects of an SDK."""
    wires = [plain(message) for message in messages]
    leading = list(takewhile(is_system, wires))
    return Listing(
        system=system_digest(system, leading), messages=tuple(digest(wire) for wire in wires[len(leading) :])
    )


def system_digest(system: object, leading: Iterable[Any]) -> bytes:
    """The digest of the system text beside a list, and of the messages with system text at its beginning."""
    hashed = hashlib.blake2b(_canonical(system), digest_size=8)
    for wire in leading:
        hashed.update(_canonical(wire))
    return hashed.digest()


def digest(wire: Any) -> Digest:
    """The digest of one message."""
    words = list(_words([wire])) if is_answer(wire) else []
    return Digest(hashlib.blake2b(_canonical(words or wire), digest_size=8).digest(), is_answer(wire), _hashed(words))


def is_answer(wire: Any) -> bool:
    """True for what the assistant said."""
    return isinstance(wire, Mapping) and (wire.get("role") == "assistant" or wire.get("type") in _OF_ASSISTANT)


def said(wires: Iterable[Any]) -> frozenset[int]:
    """Hashes of the texts and the ids of the calls in an answer, which an API and the host that sends it back write differently."""
    return _hashed(_words(wires))


def _hashed(words: Iterable[str]) -> frozenset[int]:
    return frozenset(map(hash, words))


def _words(wires: Iterable[Any]) -> Iterator[str]:
    for wire in wires:
        if not isinstance(wire, Mapping):
            continue
        content, calls = wire.get("content"), wire.get("tool_calls")
        blocks = [*(content if isinstance(content, list) else ()), *(calls if isinstance(calls, list) else ())]
        yield from (text for text in (content, wire.get("call_id")) if isinstance(text, str) and text)
        for block in blocks:
            found = (block.get("text"), block.get("id")) if isinstance(block, Mapping) else ()
            yield from (text for text in found if isinstance(text, str) and text)


def likeness(
    given: Listing, known: Listing, answer: frozenset[int] = frozenset(), *, awaited: bool = False
) -> Likeness | None:
    """How a host's list relates to a known one; None if it is another conversation.

    Args:
        given: The list that came.
        known: The newest list of a conversation.
        answer: What was said in the answer to that.
        awaited: The answer is not there yet: only a longer list can be of this conversation.

    """
    count = len(known.messages)
    same = sum(1 for _ in takewhile(lambda both: eq(*both), zip(given.messages, known.messages, strict=False)))
    continues = same == count
    if awaited and not (continues and len(given.messages) > count):
        return None
    theirs = frozenset(known.messages)
    shared = same if continues else sum(1 for message in given.messages if message in theirs)
    if not continues and (shared == 0 or shared * EDITED_SHARE_MIN < count):
        return None
    same_system = given.system == known.system
    following = takewhile(lambda one: one.is_answer, given.messages[same:])
    has_answer = continues and any(one.said & answer for one in following)
    known_answer = has_answer or any(one.is_answer and one in theirs for one in given.messages)
    if not same_system and not known_answer:
        return None
    return Likeness(continues, same_system, has_answer, shared)


def is_system(wire: object) -> bool:
    """True for a message with system text."""
    return isinstance(wire, Mapping) and wire.get("role") in _SYSTEM


def _canonical(value: object) -> bytes:
    try:
        return json.dumps(
            _content(value, NESTING_DEPTH_MAX), sort_keys=True, separators=(",", ":"), default=repr
        ).encode()
    except (TypeError, ValueError, RecursionError):
        return repr(type(value)).encode()


def _content(value: Any, depth: int) -> Any:
    """A value without what a host may write in another way: null fields, cache marks, a text as its only block."""
    if depth <= 0:
        return None
    if isinstance(value, Mapping):
        found = {
            str(key): _content(item, depth - 1)
            for key, item in value.items()
            if item is not None and key not in _IGNORED
        }
        if "content" in found:
            found["content"] = _only_text(found["content"])
        return found
    if isinstance(value, list | tuple):
        return [_content(item, depth - 1) for item in value]
    return plain(value) if not isinstance(value, str | int | float) else value


def _only_text(content: Any) -> Any:
    """The text of a list with one block of text."""
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        block = content[0]
        if block.keys() == {"type", "text"} and block["type"] in ("text", "input_text", "output_text"):
            return block["text"]
    return content


def best(candidates: Iterable[tuple[Likeness | None, Any]]) -> Any:
    """What belongs to the best likeness; of equals the first. None if there is none."""
    found = [(alike, one) for alike, one in candidates if alike is not None]
    return max(found, key=lambda pair: pair[0])[1] if found else None
