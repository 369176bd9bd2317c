"""Pair the calls that the provider runs itself with their results, as messages arrive (Anthropic: server tools).

The provider rejects such a result without its call, and such a call without its result unless the result may still come.
"""

from __future__ import annotations

from collections.abc import Container, Iterable

from plimsoll.formats.checks import in_words
from plimsoll.formats.server_tools import served_answer, served_call
from plimsoll.message import Message, Opaque, Part, Text

CLOSED = 0
"""In place of an answer's number: the result can no longer come."""


def close(served: dict[str, int], newest: int, *, beside: bool) -> None:
    """Close the calls that a message of the user leaves without a result: it ends a turn of the agent.

    Only a call of the newest answer can still be answered then, if that answer made calls `beside` it, for which the agent had to
    wait. `served` are the calls without a result by id, each with the number of its answer.
    """
    for id, number in served.items():
        if number != newest or not beside:
            served[id] = CLOSED


def taken(part: Opaque, served: dict[str, int], newest: int, repairs: list[str]) -> Part:
    """The next opaque part of the agent, as text if it is a result without its call. `served` is changed."""
    asked, answered = served_call(part), served_answer(part)
    if asked is not None:
        served[asked] = newest
    if answered is None:
        return part
    if served.get(answered, CLOSED) == CLOSED:
        repairs.append(f"server tool result {answered[:80]!r} answers no call before it")
        return in_text(part)
    del served[answered]
    return part


def in_text(part: Opaque) -> Text:
    """An opaque part as the agent's text."""
    return Text(text=in_words(part.wire))


def calls_without_result(messages: Iterable[Message], ids: Container[str]) -> dict[int, set[int]]:
    """Where the calls of these ids are that no result follows: the indexes of their parts, by the number of their message.

    Broken histories use an id again: a call that has its result is not the one that waits.
    """
    found: dict[str, list[tuple[int, int]]] = {}
    for number, message in enumerate(messages):
        for index, part in enumerate(message.parts):
            asked, answered = served_call(part), served_answer(part)
            if asked is not None and asked in ids:
                found.setdefault(asked, []).append((number, index))
            elif answered is not None:
                found.pop(answered, None)
    places: dict[int, set[int]] = {}
    for number, index in (place for calls in found.values() for place in calls):
        places.setdefault(number, set()).add(index)
    return places


def without_calls(message: Message, indexes: Container[int]) -> Message:
    """The message with the calls at these indexes as text."""
    parts = (
        in_text(part) if isinstance(part, Opaque) and index in indexes else part
        for index, part in enumerate(message.parts)
    )
    return message.with_parts(tuple(parts))
