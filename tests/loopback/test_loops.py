"""Tool loops of 200 turns with the official SDKs: no request is refused, no view is too long, what the user demanded stays."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import anthropic
import openai
import pytest

import plimsoll
from loopback import agent
from loopback.hosts import (
    HOSTS,
    AnthropicHost,
    Host,
    InList,
    InSession,
    ask_async,
    begun,
    following,
    play,
)
from loopback.server import Provider

TURNS, TURNS_LONG = 30, 200


SYNC = (openai.OpenAI, anthropic.Anthropic)
ASYNC = (openai.AsyncOpenAI, anthropic.AsyncAnthropic)


@contextmanager
def hosted(
    which: str, window: int, *, seed: int = 7, clients: Any = SYNC
) -> Iterator[tuple[Provider, Host, dict[str, Any]]]:
    """A provider, a host that speaks to it, and what a session of it is opened with."""
    options, make, ways = HOSTS[which]
    kind, path = (clients[1], "") if make is AnthropicHost else (clients[0], "/v1")
    with Provider(window, seed=seed) as served:
        client = kind(base_url=served.url + path, api_key="none", max_retries=0)
        yield served, make(client, **ways), options
        if clients is SYNC:
            client.close()


def check(served: Provider, window: int) -> None:
    """Nothing was refused or too long, and the newest request still says what the user demanded."""
    assert served.refused == []
    assert max(served.tokens) <= window
    newest = json.dumps(served.bodies[-1])
    assert [constraint for constraint in agent.CONSTRAINTS if constraint not in newest] == []


LOOPS = [(which, 6_000 + 2_000 * (at % 2)) for at, which in enumerate(HOSTS)]
"""The soak run takes all of them, the default run those that differ in what is sent."""


@pytest.mark.soak
@pytest.mark.parametrize(("which", "window"), LOOPS)
def test_long_sessions_are_never_refused(which: str, window: int) -> None:
    """Four times as long."""
    check_session(which, window, TURNS_LONG)


@pytest.mark.slow
@pytest.mark.parametrize(("which", "window"), [loop for loop in LOOPS if not loop[0].endswith("entire")])
def test_sessions_are_never_refused(which: str, window: int) -> None:
    """A session that is given each message as the SDK gave it."""
    check_session(which, window, TURNS)


def check_session(which: str, window: int, turns: int) -> None:
    """Assert that a session's views are accepted, one after the other."""
    with hosted(which, window) as (served, host, options):
        with plimsoll.open(store="memory:", max_tokens=window, **options) as session:
            play(host, InSession(session), turns)
            assert session.stats().compactions >= 3
        check(served, window)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["chat", "responses-stream", "anthropic-content", "anthropic-stream"])
def test_fit_at_each_call_is_never_refused(which: str) -> None:
    """A host that keeps the whole list, and fits it at each call."""
    window = 8_000
    with hosted(which, window) as (served, host, options):
        keeper = InList(lambda messages: plimsoll.fit(messages, max_tokens=window, **options).messages)
        play(host, keeper, TURNS)
        check(served, window)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["chat", "responses", "anthropic-content"])
def test_the_newest_messages_alone_are_refused(which: str) -> None:
    """The control: the server refuses what a host sends that keeps the last messages and no more."""
    with hosted(which, 8_000) as (served, host, _):
        with pytest.raises((openai.BadRequestError, anthropic.BadRequestError)):
            play(host, InList(lambda messages: messages[-12:]), TURNS)
        assert len(served.refused) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "synced"),
    [("chat", True), ("responses", False), ("anthropic-content", True), ("anthropic-stream", False)],
)
def test_awaited_sessions_are_never_refused(which: str, *, synced: bool) -> None:
    """The same in an event loop, message by message or with the whole list."""
    window = 8_000
    with hosted(which, window, clients=ASYNC) as (served, host, options):
        asyncio.run(_awaited(host, window, options, synced=synced))
        check(served, window)


async def _awaited(host: Host, window: int, options: dict[str, Any], *, synced: bool, turns: int = 20) -> None:
    messages = begun(host)
    async with host.client, plimsoll.aopen(store="memory:", max_tokens=window, **options) as session:
        await session.aextend([] if synced else messages)
        for turn in range(1, turns + 1):
            response = await ask_async(host, await (session.sync_async(messages) if synced else session.aview()))
            for message in following(host, response, turn):
                messages.append(message)
                if not synced:
                    await session.aappend(message)
        assert session.stats().compactions >= 1


@pytest.mark.slow
@pytest.mark.parametrize("which", ["chat", "responses", "anthropic-stream"])
def test_synced_lists_keep_their_prefix_and_are_never_refused(which: str) -> None:
    """A host that hands over its whole list at each call."""
    check_synced(which, TURNS)


@pytest.mark.soak
@pytest.mark.parametrize("which", HOSTS)
def test_long_synced_lists_keep_their_prefix_and_are_never_refused(which: str) -> None:
    """Four times as long."""
    check_synced(which, TURNS_LONG)


def check_synced(which: str, turns: int, *, window: int = 20_000) -> None:
    """Assert that views begin with the whole view before them, but for compactions and four of five times, and are accepted."""
    with hosted(which, window) as (served, host, options):
        with plimsoll.open(store="memory:", max_tokens=window, **options) as session:
            views = play(host, InList(session.sync), turns)
            compactions = session.stats().compactions
        check(served, window)
    sent = [unmarked(view) for view in views]
    same = sum(later[: len(view)] == view for view, later in pairwise(sent))
    assert same >= 0.8 * (len(sent) - 1)
    assert turns // 20 <= compactions
    assert len(sent) - 1 - same <= compactions


def unmarked(view: list[Any]) -> Any:
    """A view without its cache marks: the API takes four, and a host that marks its newest message moves them at each turn."""
    return json.loads(
        json.dumps(view),
        object_hook=lambda found: {field: value for field, value in found.items() if field != "cache_control"},
    )
