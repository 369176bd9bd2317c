"""Models that search their history through the proxy: the SDKs see one answer, none of the searches, and the sum of the usage."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest

from loopback import agent
from loopback.hosts import ask, ask_async, begun, following
from loopback.server import Provider
from loopback.test_proxy import ASYNC, check, through, unmarked
from plimsoll.conversations.inner_searches import ROUNDS_MAX
from plimsoll.proxy.run import serving

WINDOW, TURNS = 9_000, 26
NAMES = ("plimsoll_recall", "plimsoll_read")
RECALL = agent.Call("plimsoll_recall", {"query": "lease queue parser"})
READ = agent.Call("plimsoll_read", {"reference": "m0"})


class Searcher(Provider):
    """A provider whose model searches wherever it is offered the tools: alone, twice at once, and beside other calls."""

    searched = 0

    def says(self, number: int, body: Any) -> agent.Answer:
        """Searches by the number."""
        said = super().says(number, body)
        if not offered(body):
            return said
        self.searched += 1
        match number % 6:
            case 0:
                return replace(said, text="I look it up.", calls=[RECALL])
            case 1:
                return replace(said, text="", calls=[RECALL, READ])
            case 2:
                return replace(said, calls=[*said.calls, RECALL])
            case 3:
                return replace(said, calls=[READ, *said.calls])
        self.searched -= 1
        return said


def offered(body: Any) -> bool:
    """True if the tools are among the request's."""
    return NAMES[0] in json.dumps(body.get("tools"))


def usage_of(response: Any) -> tuple[int, int]:
    """Tokens of the prompts and of the answers."""
    usage = response.usage
    if hasattr(usage, "prompt_tokens"):
        return usage.prompt_tokens, usage.completion_tokens
    return usage.input_tokens, usage.output_tokens


def results_in(body: Any) -> list[str]:
    """What searches found, as a request has it."""
    return json.dumps(body).split("[Found in the history")[1:]


WHICH = [
    "chat",
    "chat-stream",
    "responses",
    "responses-stream",
    "anthropic-content",
    "anthropic-stream",
    "anthropic-bound",
]


def check_loop(which: str, turns: int) -> None:
    """Assert that the host sees none of the searches, and that nothing is refused."""
    with (
        Searcher(WINDOW, seed=7) as provider,
        serving(provider.url, store="memory:", max_tokens=WINDOW, recall_tools=True) as url,
        through(which, url) as host,
    ):
        messages = begun(host)
        for turn in range(1, turns + 1):
            before = len(provider.bodies)
            response = ask(host, messages)
            if which != "chat-stream":  # the SDK asks for no usage
                prompts = sum(provider.tokens[before:])
                assert usage_of(response) == (prompts, 20 * (len(provider.bodies) - before))
            added = following(host, response, turn)
            assert not any(name in repr(added) for name in NAMES)
            messages += added
        check(provider, WINDOW)
        assert provider.searched >= 8
        assert len(provider.bodies) > turns
        assert any(results_in(body) for body in provider.bodies)
        key = "input" if "responses" in which else "messages"
        sent = [unmarked(body[key]) for body in provider.bodies]
        same = sum(later[: len(before)] == before for before, later in pairwise(sent))
        assert same >= 0.6 * (len(sent) - 1)


@pytest.mark.slow
@pytest.mark.parametrize("which", WHICH)
def test_searches_are_answered_inside(which: str) -> None:
    """Alone, several at once, and beside calls of the host's own tools, whole and streamed."""
    check_loop(which, TURNS)


@pytest.mark.soak
@pytest.mark.parametrize("which", WHICH)
def test_long_loops_with_searches(which: str) -> None:
    """300 turns."""
    check_loop(which, 300)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["chat-stream", "responses", "anthropic-stream"])
def test_searches_of_awaited_clients(which: str) -> None:
    """The same in an event loop."""

    async def loop(host: Any) -> None:
        messages = begun(host)
        async with host.client:
            for turn in range(1, 15):
                messages += following(host, await ask_async(host, messages), turn)

    with (
        Searcher(WINDOW, seed=7) as provider,
        serving(provider.url, store="memory:", max_tokens=WINDOW, recall_tools=True) as url,
        through(which, url, ASYNC) as host,
    ):
        asyncio.run(loop(host))
        check(provider, WINDOW)
        assert provider.searched >= 2


class Scripted(Provider):
    """A provider whose model says what it is told; a number is the status of a failure."""

    def __init__(self, *script: agent.Answer | int) -> None:
        super().__init__(100_000)
        self.script = list(script)

    def answer(self, path: str, body: Any) -> tuple[int, Any, Any]:
        """The next of the script."""
        if isinstance(self.script[0], int):
            return self.script.pop(0), {"error": {"type": "rate_limit_error", "message": "Slow down."}}, None
        return super().answer(path, body)

    def says(self, number: int, body: Any) -> agent.Answer:
        """The next of the script."""
        del number, body
        found = self.script.pop(0)
        assert isinstance(found, agent.Answer)
        return found


SEARCH = agent.Answer("I look it up.", "", [RECALL])
DONE = agent.Answer("It was the lease.", "")
CLIENT_CALL = agent.Call("search", {"path": "a"})
QUICK = ("chat-stream", "responses", "anthropic-stream")
KINDS = ["chat", "chat-stream", "responses", "responses-stream", "anthropic-content", "anthropic-stream"]


@contextmanager
def scripted(which: str, *script: agent.Answer | int, store: Any = "memory:", **options: Any) -> Iterator[Any]:
    """A host with a conversation that is too long, and the provider that it asks."""
    options = {"recall_tools": True, **options}
    with (
        Scripted(*script) as provider,
        serving(provider.url, store=store, max_tokens=4_000, **options) as url,
        through(which, url) as host,
    ):
        yield host, provider


def long(host: Any) -> list[Any]:
    """A conversation that is too long."""
    return [*host.begin(), *(host.said(f"Question {number}: {'why, lease? ' * 90}") for number in range(24))]


def said(which: str, host: Any, response: Any) -> tuple[str, list[str]]:
    """The text and the names of the calls of an answer."""
    messages, calls = host.read(response)
    return repr(messages), [call.name for call in calls]


@pytest.mark.parametrize(
    "which", [which if which in QUICK else pytest.param(which, marks=pytest.mark.slow) for which in KINDS]
)
def test_one_search_and_an_answer(which: str) -> None:
    """The client gets both texts and the sum; the next request has the search where it was, its result behind it."""
    with scripted(which, SEARCH, DONE, DONE) as (host, provider):
        messages = long(host)
        response = ask(host, messages)
        text, calls = said(which, host, response)
        assert "I look it up." in text
        assert "It was the lease." in text
        assert calls == []
        assert len(provider.bodies) == 2
        assert "[Found in the history" in json.dumps(provider.bodies[1])
        ask(host, [*messages, *host.read(response)[0], host.said("And now?")])
        key = "input" if "responses" in which else "messages"
        second, third = (unmarked(body[key]) for body in provider.bodies[1:])
        assert third[: len(second)] == second
        assert "And now?" in json.dumps(third[-1])
        assert provider.refused == []


@pytest.mark.slow
@pytest.mark.parametrize("which", KINDS)
def test_a_search_beside_calls_of_the_host(which: str) -> None:
    """The host gets its own calls at once; the result of the search goes out with theirs."""
    both = agent.Answer("Both.", "", [RECALL, CLIENT_CALL])
    with scripted(which, both, DONE) as (host, provider):
        messages = long(host)
        response = ask(host, messages)
        answers, calls = host.read(response)
        assert [call.name for call in calls] == ["search"]
        assert len(provider.bodies) == 1
        outcome = agent.Outcome("found it here")
        ask(host, [*messages, *answers, *host.results([(call, outcome) for call in calls])])
        sent = json.dumps(provider.bodies[1])
        assert "found it here" in sent
        assert "[Found in the history" in sent
        assert provider.refused == []


@pytest.mark.slow
@pytest.mark.parametrize("which", KINDS)
def test_a_model_that_only_searches(which: str) -> None:
    """It is told when it is the last time; then the client gets what there is, and no call."""
    silent = replace(SEARCH, text="")
    with scripted(which, *[silent] * (ROUNDS_MAX + 1)) as (host, provider):
        response = ask(host, long(host))
        text, calls = said(which, host, response)
        assert "only searched" in text
        assert calls == []
        assert len(provider.bodies) == ROUNDS_MAX + 1
        assert "the last search" in json.dumps(provider.bodies[-1])
        assert "the last search" not in json.dumps(provider.bodies[-2])


@pytest.mark.slow
@pytest.mark.parametrize("which", KINDS)
def test_a_failure_after_a_search(which: str) -> None:
    """The client gets the provider's error: as it is, or at the end of the stream that has begun."""
    with scripted(which, SEARCH, 429, DONE) as (host, _):
        with pytest.raises((openai.APIError, anthropic.APIError)) as failed:
            ask(host, long(host))
        if not which.endswith("stream"):
            assert failed.value.status_code == 429
        assert "Slow down." in str(failed.value)
        text, _ = said(which, host, ask(host, long(host)))
        assert "It was the lease." in text


@pytest.mark.slow
@pytest.mark.parametrize("which", ["chat", "responses", "anthropic-content"])
def test_searches_are_found_again_after_a_restart(which: str, tmp_path: Path) -> None:
    """What the host does not know of is read from the session."""
    with scripted(which, DONE, SEARCH, DONE, store=tmp_path) as (host, provider):
        messages = long(host)
        messages += [*host.read(ask(host, messages))[0], host.said("Which one?")]
        messages += host.read(ask(host, messages))[0]
        before = provider.bodies[2]
    with scripted(which, DONE, store=tmp_path) as (host, provider):
        ask(host, [*messages, host.said("And now?")])
        key = "input" if "responses" in which else "messages"
        assert unmarked(provider.bodies[0][key])[: len(before[key])] == unmarked(before[key])


def test_tools_are_offered_where_something_left() -> None:
    """Not without the option, not before a compaction, not beside tools of the same name; then in every request."""
    with scripted("chat", DONE, recall_tools=False) as (host, provider):
        ask(host, long(host))
        assert not offered(provider.bodies[0])
    with scripted("chat", DONE, DONE, DONE, DONE) as (host, provider):
        messages = [host.said("Why?")]
        ask(host, messages)
        assert not offered(provider.bodies[0])
        for _ in range(2):
            ask(host, long(host))
        assert offered(provider.bodies[1])
        assert provider.bodies[1] == provider.bodies[2]
        own = [{"type": "function", "function": {"name": NAMES[1], "parameters": {"type": "object"}}}]
        host.client.chat.completions.create(model="gpt-4o", messages=long(host), tools=own)
        assert not offered(provider.bodies[3])


THOUGHT = agent.Answer("", "Where was it?", [RECALL])
SILENT = agent.Answer("", "", [RECALL])


def streamed(host: Any, **given: Any) -> tuple[list[Any], Any]:
    """The events of a stream of responses, and what the SDK's helper makes of them."""
    with host.client.responses.stream(model="gpt-4o", **given) as stream:
        events = list(stream)
        return events, stream.get_final_response()


@pytest.mark.parametrize(
    ("first", "shown"),
    [
        (SILENT, "resp_1"),
        pytest.param(SEARCH, "resp_0", marks=pytest.mark.slow),
        pytest.param(THOUGHT, "resp_0", marks=pytest.mark.slow),
    ],
    ids=["only a search", "text before it", "reasoning before it"],
)
def test_a_streamed_response_is_one_response(first: agent.Answer, shown: str) -> None:
    """One id and time, numbers without a gap, items in order; and the client can go on from it by its id."""
    with scripted("responses-stream", first, DONE, DONE) as (host, provider):
        events, final = streamed(host, input=long(host))
        named = {(event.response.id, event.response.created_at) for event in events if hasattr(event, "response")}
        assert named == {(shown, final.created_at)}
        assert final.id == shown
        assert [event.type for event in events].count("response.created") == 1
        assert [event.sequence_number for event in events] == list(range(len(events)))
        added = [event for event in events if event.type == "response.output_item.added"]
        assert [event.output_index for event in added] == list(range(len(final.output)))
        assert [event.item.id for event in added] == [item.id for item in final.output]
        assert "It was the lease." in final.output_text
        _, after = streamed(host, input="And now?", previous_response_id=final.id)
        assert "It was the lease." in after.output_text
        assert provider.bodies[-1]["previous_response_id"] == "resp_1"
        assert provider.refused == []


def test_going_on_from_a_search_that_the_proxy_forgot(monkeypatch: pytest.MonkeyPatch) -> None:
    """As after a restart: the provider refuses it and says why, and the whole conversation goes on."""
    monkeypatch.setattr("plimsoll.proxy.response_ids.ResponseLinks.note", lambda *_: None)
    both = agent.Answer("Both.", "", [RECALL, CLIENT_CALL])
    with scripted("responses", both, DONE) as (host, provider):
        said = long(host)
        response = ask(host, said)
        (call,) = host.read(response)[1]
        results = host.results([(call, agent.Outcome("found it here"))])
        with pytest.raises(openai.BadRequestError, match="No tool output found for function call"):
            host.client.responses.create(model="gpt-4o", input=results, previous_response_id=response.id)
        assert "It was the lease." in ask(host, [*said, *response.output, *results]).output_text
        assert len(provider.refused) == 1


@pytest.mark.parametrize("which", ["responses", pytest.param("responses-stream", marks=pytest.mark.slow)])
def test_going_on_from_a_search_beside_calls_of_the_host(which: str) -> None:
    """The provider wants a result for each call of the response: that of the search is sent with the host's."""
    both = agent.Answer("Both.", "", [RECALL, CLIENT_CALL])
    with scripted(which, both, DONE) as (host, provider):
        response = ask(host, long(host))
        (call,) = host.read(response)[1]
        results = host.results([(call, agent.Outcome("found it here"))])
        after = host.client.responses.create(model="gpt-4o", input=results, previous_response_id=response.id)
        assert "It was the lease." in after.output_text
        found, own = provider.bodies[-1]["input"]
        assert "[Found in the history" in found["output"]
        assert own["output"] == "found it here"
        assert provider.refused == []


def test_a_response_that_failed_after_it_began_is_the_same_response() -> None:
    """An error in a later reply has the id that the client knows."""
    from plimsoll.formats.inner_streams import joined_stream

    stream = joined_stream("openai-responses", NAMES)
    said = {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "m"}}
    for response, event in (("r1", said), ("r2", {"type": "response.failed", "response": {"id": "r2"}})):
        assert not stream.take("", {"type": "response.created", "response": {"id": response}})
        *_, (_, last) = stream.take("", event)
        stream.turn()
    assert last["response"]["id"] == "r1"
