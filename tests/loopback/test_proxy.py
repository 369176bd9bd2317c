"""Tool loops with the official SDKs through the proxy: no request is too long or breaks a pair, whatever API, streamed or not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import anthropic
import openai
import pydantic
import pytest

from loopback import agent
from loopback.hosts import HOSTS, AnthropicHost, Host, InList, ask, ask_async, begun, following, play
from loopback.server import Provider
from plimsoll.proxy.run import serving

SYNC = (openai.OpenAI, anthropic.Anthropic)
ASYNC = (openai.AsyncOpenAI, anthropic.AsyncAnthropic)
TURNS, TURNS_LONG = 24, 300
KEY = "sk-canary-0123456789"


@contextmanager
def through(which: str, url: str, clients: Any = SYNC, **options: Any) -> Iterator[Host]:
    """A host that speaks to a URL."""
    _, make, ways = HOSTS[which]
    kind, path = (clients[1], "") if make is AnthropicHost else (clients[0], "/v1")
    client = kind(base_url=url + path, api_key=KEY, max_retries=0, **options)
    yield make(client, **ways)
    if clients is SYNC:
        client.close()


def check(provider: Provider, window: int) -> None:
    """Nothing was refused for its length or its pairs, and the newest request still says what the user demanded.

    What a model says may break the rules of its own API, such as an empty text. Without the proxy that would be refused for ever; with
    it once, and is then repaired.
    """
    assert len(provider.refused) <= 1
    assert [
        reason for reason in provider.refused if "too long" in reason or "tool" in reason or "maximum" in reason
    ] == []
    assert max(provider.tokens) <= window
    newest = json.dumps(provider.bodies[-1])
    assert [constraint for constraint in agent.CONSTRAINTS if constraint not in newest] == []


def check_loop(which: str, window: int, turns: int) -> None:
    """Assert that a loop runs through the proxy, and that its prefix is stable between compactions."""
    with Provider(window, seed=7) as provider, serving(provider.url, store="memory:", max_tokens=window) as url:
        with through(which, url) as host:
            play(host, InList(lambda messages: messages), turns)
        check(provider, window)
        assert len(provider.bodies) == turns
        key = "input" if "responses" in which else "messages"
        sent = [unmarked(body[key]) for body in provider.bodies]
        same = sum(later[: len(before)] == before for before, later in pairwise(sent))
        assert same >= 0.6 * (turns - 1)


def unmarked(view: Any) -> Any:
    """A view without its cache marks, which a host moves at each turn."""
    return json.loads(
        json.dumps(view),
        object_hook=lambda found: {key: value for key, value in found.items() if key != "cache_control"},
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "which", ["chat", "chat-stream", "responses", "anthropic-content", "anthropic-stream", "anthropic-bound"]
)
def test_loops_run(which: str) -> None:
    """Tools, parallel calls, pictures, thinking, interruptions."""
    check_loop(which, 9_000, TURNS)


@pytest.mark.soak
@pytest.mark.parametrize("which", HOSTS)
def test_long_loops_run(which: str) -> None:
    """All of them, for 300 turns."""
    check_loop(which, 12_000, TURNS_LONG)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["chat", "responses", "anthropic-param"])
def test_without_the_proxy_they_are_refused(which: str) -> None:
    """The control: the same loop, straight to the provider."""
    with Provider(9_000, seed=7) as provider, through(which, provider.url) as host:
        with pytest.raises((openai.BadRequestError, anthropic.BadRequestError)):
            play(host, InList(lambda messages: messages), TURNS)
        assert len(provider.refused) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "which", ["chat-stream", "responses", "responses-stream", "anthropic-content", "anthropic-stream"]
)
def test_awaited_loops_run_side_by_side(which: str) -> None:
    """Agents at the same time with other system texts have conversations of their own, and none waits for another for ever."""

    async def loop(host: Any, number: int) -> None:
        messages = begun(host)
        for turn in range(1, 11):
            response = await ask_async(host, messages)
            messages += following(host, response, turn + number)

    async def loops(url: str) -> None:
        with through(which, url, ASYNC) as host:
            async with host.client:
                await asyncio.gather(*(loop(host, number) for number in range(3)))

    with Provider(9_000, seed=7) as provider, serving(provider.url, store="memory:", max_tokens=9_000) as url:
        asyncio.run(loops(url))
        assert [reason for reason in provider.refused if "too long" in reason or "tool" in reason] == []
        assert len(provider.bodies) == 30


@pytest.mark.slow
@pytest.mark.parametrize("which", ["chat", "responses", "anthropic-content"])
def test_a_loop_goes_on_after_a_restart(which: str, tmp_path: Path) -> None:
    """The conversation is found again in the store, and its view begins as before."""
    messages: list[Any] = []
    with Provider(9_000, seed=7) as provider:
        for part in range(2):
            with serving(provider.url, store=tmp_path, max_tokens=9_000) as url, through(which, url) as host:
                messages = messages or begun(host)
                for turn in range(part * 14 + 1, part * 14 + 15):
                    messages += following(host, ask(host, messages), turn)
        check(provider, 9_000)
        key = "input" if which == "responses" else "messages"
        before, after = provider.bodies[13][key], provider.bodies[14][key]
        assert after[: len(before)] == before
        assert len(list(tmp_path.glob("c-*"))) == 1


@pytest.mark.slow
def test_what_the_provider_counts_otherwise_is_learnt() -> None:
    """A window that is smaller than the proxy believes costs one more request at a time, and no error."""
    with Provider(7_000, seed=7) as provider, serving(provider.url, store="memory:", max_tokens=9_500) as url:
        with through("chat", url) as host:
            play(host, InList(lambda messages: messages), TURNS)
        assert 1 <= len(provider.refused) <= 3
        assert len(provider.bodies) == TURNS


class Verdict(pydantic.BaseModel):
    """What the model is asked for."""

    fits: bool
    reason: str


class Judge(Provider):
    """A provider whose model answers in the form that it was asked for."""

    def says(self, number: int, body: Any) -> agent.Answer:
        """A verdict."""
        del body
        return agent.Answer(Verdict(fits=number > 0, reason="it was measured").model_dump_json(), "")


@pytest.mark.slow
@pytest.mark.parametrize("which", ["chat", "chat-stream", "responses", "responses-stream"])
def test_structured_output_stays(which: str) -> None:
    """What the answer has to look like is asked for in every request, compacted ones too, and the SDK parses the answer."""
    with Judge(4_000) as provider, serving(provider.url, store="memory:", max_tokens=4_000) as url:
        with through(which, url) as host:
            messages = begun(host)
            for number in range(12):
                parsed = verdict(host, messages)
                assert parsed == Verdict(fits=number > 0, reason="it was measured")
                said = {"role": "assistant", "content": parsed.model_dump_json()}
                messages += [said, host.said(f"And number {number}? {'why ' * 400}")]
        assert provider.refused == []
        assert all("Verdict" in json.dumps(body) for body in provider.bodies)
        assert len(provider.bodies[-1]["input" if "responses" in which else "messages"]) < len(messages) - 2


def verdict(host: Any, messages: list[Any]) -> Verdict:
    """The parsed answer."""
    if "Responses" in type(host).__name__:
        given = {"model": "gpt-4o", "input": messages, "text_format": Verdict}
        if not host.stream:
            return host.client.responses.parse(**given).output_parsed
        with host.client.responses.stream(**given) as stream:
            return stream.get_final_response().output_parsed
    given = {"model": "gpt-4o", "messages": messages, "response_format": Verdict}
    if not host.stream:
        return host.client.chat.completions.parse(**given).choices[0].message.parsed
    with host.client.chat.completions.stream(**given) as stream:
        return stream.get_final_completion().choices[0].message.parsed
