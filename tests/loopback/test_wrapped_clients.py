"""Wrapped clients of the official SDKs: hosts that pass their whole list, for long loops of tool calls, and are never refused."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anthropic
import openai
import pytest

import plimsoll
from loopback import agent
from loopback.hosts import HOSTS, InList, ask_async, begun, following, play
from loopback.server import Provider
from loopback.test_loops import ASYNC, hosted

WINDOW = 8_000
TURNS, TURNS_LONG = 30, 300


LOOPS = [which for which in HOSTS if not which.endswith("entire")]
"""Whole responses in a list are plimsoll's own convenience, which the SDKs do not take."""


def sendable(messages: list[Any]) -> list[Any]:
    """The messages as a client takes them: the API refuses fields that the SDK adds to the message of a finished stream."""
    return [_said(message) if hasattr(message, "parsed") else message for message in messages]


def _said(message: Any) -> Any:
    keep = {
        "role": True,
        "content": True,
        "tool_calls": {"__all__": {"id": True, "type": True, "function": {"name", "arguments"}}},
    }
    return message.model_dump(include=keep, exclude_none=True)


def check(served: Provider, window: int) -> None:
    """Nothing was too long, and nothing refused but once what an SDK's own objects add, which was then left out."""
    assert max(served.tokens) <= window
    newest = json.dumps(served.bodies[-1])
    assert [constraint for constraint in agent.CONSTRAINTS if constraint not in newest] == []
    assert served.refused in ([], ["messages.1.id: Extra inputs are not permitted"]) or (
        len(served.refused) == 1 and "non-whitespace text" in served.refused[0]
    )


def wrapped(served: Provider, host: Any, **options: Any) -> Any:
    """The host, with its client wrapped."""
    host.client = plimsoll.wrap(host.client, store="memory:", **{"max_tokens": served.window, **options})
    return host


def check_loop(which: str, turns: int) -> None:
    """Assert that no request is refused, and that its conversation is one session that was compacted."""
    with hosted(which, WINDOW) as (served, host, _):
        play(wrapped(served, host), InList(sendable), turns)
        check(served, WINDOW)
        session = plimsoll.session_of(host.client)
        assert len(list(host.client._plimsoll_state.conversations)) == 1
        assert session.stats().compactions >= 3
        assert len(session.usage()) == turns


@pytest.mark.slow
@pytest.mark.parametrize("which", LOOPS)
def test_loops_are_never_refused(which: str) -> None:
    """Each API, whole and streamed, with parallel calls, pictures and thinking, as each host appends what it is given."""
    check_loop(which, TURNS)


@pytest.mark.soak
@pytest.mark.parametrize("which", LOOPS)
def test_long_loops_are_never_refused(which: str) -> None:
    """Ten times as long."""
    check_loop(which, TURNS_LONG)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["chat", "responses-stream", "anthropic-content"])
def test_the_same_loop_without_it_is_refused(which: str) -> None:
    """The control: the provider's window is too small for the whole list."""
    with hosted(which, WINDOW) as (served, host, _):
        with pytest.raises((openai.BadRequestError, anthropic.BadRequestError)):
            play(host, InList(sendable), TURNS)
        assert len(served.refused) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "which", ["chat", "chat-stream", "responses", "responses-stream", "anthropic-content", "anthropic-stream"]
)
def test_awaited_loops_are_never_refused(which: str) -> None:
    """The same in an event loop."""

    async def loop(host: Any) -> None:
        messages = begun(host)
        async with client:
            for turn in range(1, 20):
                messages += following(host, await ask_async(host, sendable(messages)), turn)

    with hosted(which, WINDOW, clients=ASYNC) as (served, host, _):
        client = host.client
        asyncio.run(loop(wrapped(served, host)))
        check(served, WINDOW)
        assert plimsoll.session_of(host.client).stats().compactions >= 1


@pytest.mark.slow
@pytest.mark.parametrize("which", ["chat", "responses", "anthropic-content", "anthropic-stream"])
def test_a_smaller_window_than_expected(which: str) -> None:
    """Where the provider takes less than the budget, what it refuses is sent once more with less, and the host sees no error."""
    with hosted(which, WINDOW) as (served, host, _):
        play(wrapped(served, host, max_tokens=12_000), InList(sendable), TURNS)
        assert served.refused
        assert len(served.bodies) == TURNS
