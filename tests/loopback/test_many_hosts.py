"""Hosts of every kind, drawn from a seed: format, ways of the SDK, policy, tools, budget, and how they hold the conversation."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from typing import Any

import pytest

import plimsoll
from loopback import agent
from loopback.direct import direct
from loopback.hosts import HOSTS, AnthropicHost, InList, InSession, play
from loopback.server import Provider

POLICIES: Sequence[Any] = (
    *("ladder", "threshold-80", "graded-200k", "five-turns", "small-window"),
    *({"strategy": "sliding"}, {"strategy": "aggressive"}, {"tool_result_tokens_max": 150}),
)


def dumped(message: Any) -> Any:
    """A message as a host keeps it that dumps what the SDK gives, with every field."""
    if hasattr(message, "model_dump"):
        return message.model_dump(by_alias=True)
    if isinstance(message.get("content"), list):
        return {**message, "content": list(map(dumped, message["content"]))}
    return {**message}


class Dumping(InSession):
    """A session that is given dumps."""

    def add(self, message: Any) -> None:
        """Append its dump."""
        super().add(dumped(message))


def check_host(seed: int, turns: int) -> None:
    """Assert that no request is refused and that the user's constraints stay."""
    rng = random.Random(seed)
    options, make, ways = HOSTS[list(HOSTS)[seed % len(HOSTS)]]
    ways = {name: value for name, value in ways.items() if name != "stream"}
    chosen = dict(options)
    if make is AnthropicHost:
        ways |= {"marks": rng.random() < 0.5, "apart": rng.random() < 0.5, "thinking": rng.random() < 0.8}
        ways["appends"] = rng.choice(("content", "response", "param"))
        chosen.setdefault("model", rng.choice(("claude-sonnet-4-6", "gpt-4o")))
    provider = Provider(rng.choice((3_000, 4_000, 6_000, 9_000, 14_000)), seed=seed)
    host = make(direct(provider), **ways)
    if rng.random() < 0.4:
        chosen["policy"] = rng.choice(POLICIES)
    with plimsoll.open(
        store="memory:", max_tokens=provider.window, **chosen, recall_tools=rng.random() < 0.3
    ) as session:
        synced = (session.sync, lambda messages: session.sync(list(map(dumped, messages))))
        keepers = (InSession(session), Dumping(session), *map(InList, synced))
        play(host, rng.choice(keepers), turns)
        assert session.stats().compactions > 0 or max(provider.tokens) < provider.window
    assert provider.refused == []
    assert [rule for rule in agent.CONSTRAINTS if rule not in json.dumps(provider.bodies[-1])] == []


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_hosts_are_never_refused(seed: int) -> None:
    """Some of them, for some turns."""
    check_host(seed, 20)


@pytest.mark.soak
@pytest.mark.parametrize("tens", range(10))
def test_very_many_hosts_are_never_refused(tens: int) -> None:
    """More of them, for more turns."""
    for seed in range(100 + 10 * tens, 110 + 10 * tens):
        check_host(seed, 100)
