"""LiteLLM's own completions with the handler: long loops of tool calls with a provider that is a script."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

import plimsoll

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
pytest.importorskip("litellm", reason="litellm is not installed: make test-frameworks")

import litellm
from litellm.exceptions import ContextWindowExceededError

from plimsoll.adapters.litellm import LiteLLMDialect, PlimsollHandler

WINDOW = 4_000
TURNS = 300
AWAITED = 100


def look(number: int) -> str:
    """Look at a lamp."""
    return "\n".join(f"{number}: lamp {line} at {line * number % 97} volts" for line in range(20))


TOOL = {
    "type": "function",
    "function": {"name": "look", "description": look.__doc__, "parameters": {"type": "object", "properties": {}}},
}


class Scripted(litellm.CustomLLM):
    """Calls a tool, two at a time now and then; refuses more tokens than its window."""

    def __init__(self, window: int = WINDOW) -> None:
        super().__init__()
        self.seen: list[Any] = []
        self.counts: list[int] = []
        self.window = window

    def completion(self, *_: Any, **given: Any) -> Any:
        """The next answer."""
        messages = given["messages"]
        wires = [wire for message in messages for wire in LiteLLMDialect().wires(message)]
        self.counts.append(plimsoll.count_tokens(wires))
        if self.counts[-1] > self.window:
            raise ContextWindowExceededError(
                f"maximum context length is {self.window} tokens", model="m", llm_provider="scripted"
            )
        assert plimsoll.validate(wires) == []
        self.seen.append(messages)
        number = len(self.seen)
        calls = [
            {"id": f"c{number}-{at}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
            for at in range(1 + number % 2)
        ]
        answer = {"role": "assistant", "content": f"step {number}", "tool_calls": calls}
        counted = {"prompt_tokens": self.counts[-1], "completion_tokens": 20, "total_tokens": self.counts[-1] + 20}
        return litellm.ModelResponse(choices=[{"message": answer, "finish_reason": "tool_calls"}], usage=counted)

    async def acompletion(self, *_: Any, **given: Any) -> Any:
        """The same."""
        return self.completion(**given)

    def streaming(self, *_: Any, **given: Any) -> Any:
        """The same in pieces."""
        self.seen.append(given["messages"])
        self.counts.append(plimsoll.count_tokens(given["messages"]))
        counted = {"prompt_tokens": self.counts[-1], "completion_tokens": 3, "total_tokens": self.counts[-1] + 3}
        for text in ("all ", "is ", "well"):
            yield {"text": text, "is_finished": text == "well", "finish_reason": "stop", "index": 0, "tool_use": None,
                   "usage": counted if text == "well" else None}  # fmt: skip

    async def astreaming(self, *_: Any, **given: Any) -> Any:
        """The same."""
        for piece in self.streaming(**given):
            yield piece


@pytest.fixture
def provider(monkeypatch: Any) -> Scripted:
    """A provider, registered with LiteLLM."""
    made = Scripted()
    monkeypatch.setattr(litellm, "custom_provider_map", [{"provider": "scripted", "custom_handler": made}])
    monkeypatch.setattr(litellm, "callbacks", [])
    monkeypatch.setattr(litellm, "suppress_debug_info", True)
    litellm.utils.custom_llm_setup()
    return made


def asked(text: str = "first: never touch lamp 13") -> list[Any]:
    """A new conversation."""
    return [{"role": "system", "content": "You keep the lamps."}, {"role": "user", "content": text}]


def go_on(messages: list[Any], response: Any) -> None:
    """Add an answer and the results of its calls, as LiteLLM's documentation does it."""
    said = response.choices[0].message
    messages.append(said)
    for number, call in enumerate(said.tool_calls or ()):
        messages.append({"role": "tool", "tool_call_id": call.id, "content": look(len(messages) + number)})


def request(messages: list[Any], **fields: Any) -> Any:
    """A request to the provider."""
    return {"model": "scripted/harbour", "messages": messages, "tools": [TOOL], **fields}


def checked(handler: PlimsollHandler, provider: Scripted, messages: list[Any]) -> None:
    """What holds at the end of a long loop."""
    [conversation] = handler.conversations
    wires = [wire for message in messages for wire in LiteLLMDialect().wires(message)]
    history = conversation.session.history()
    assert [wire["content"] for wire in history] == [wire["content"] for wire in wires][: len(history)]
    assert len(conversation.session.compactions()) > 2
    assert conversation.session.usage(last=1)[0].prompt_tokens == provider.counts[-1]


@pytest.mark.slow
def test_a_long_loop(provider: Scripted, tmp_path: Any) -> None:
    """No call of 300 is sent too much; the session holds the host's whole list."""
    handler, messages = PlimsollHandler(store=str(tmp_path), max_tokens=WINDOW), asked()
    for _ in range(TURNS):
        go_on(messages, handler.completion(**request(messages)))

    assert len(provider.seen) == TURNS
    checked(handler, provider, messages)


@pytest.mark.slow
def test_as_a_callback(provider: Scripted, tmp_path: Any, monkeypatch: Any) -> None:
    """The same for awaited completions of a program that only names the callback."""
    handler, messages = PlimsollHandler(store=str(tmp_path), max_tokens=WINDOW), asked()
    monkeypatch.setattr(litellm, "callbacks", [handler])

    async def use() -> None:
        for _ in range(AWAITED):
            go_on(messages, await litellm.acompletion(**request(messages)))

    asyncio.run(use())

    assert len(provider.seen) == AWAITED
    checked(handler, provider, messages)


def test_a_callback_records_what_was_sent_unchanged(provider: Scripted, monkeypatch: Any) -> None:
    """The answer and what the provider counted, also where all fits and LiteLLM sends the program's own list."""
    handler = PlimsollHandler(store="memory:", max_tokens=WINDOW)
    monkeypatch.setattr(litellm, "callbacks", [handler])
    asyncio.run(litellm.acompletion(**request(asked())))

    [conversation] = handler.conversations
    assert conversation.session.history()[-1]["content"] == "step 1"
    assert [one.prompt_tokens for one in conversation.session.usage()] == provider.counts


def test_a_callback_records_the_answer_to_a_call_that_a_router_repeats(provider: Scripted, monkeypatch: Any) -> None:
    """LiteLLM's router makes a call that failed again: its messages are taken in once, and its answer is recorded."""
    handler = PlimsollHandler(store="memory:", max_tokens=WINDOW)
    monkeypatch.setattr(litellm, "callbacks", [handler])
    answer, failures = provider.completion, [litellm.InternalServerError("busy", llm_provider="scripted", model="m")]

    def once_busy(*_: Any, **given: Any) -> Any:
        if failures:
            raise failures.pop()
        return answer(**given)

    monkeypatch.setattr(provider, "completion", once_busy)
    places: Any = [{"model_name": "keeper", "litellm_params": {"model": "scripted/harbour"}}]
    router = litellm.Router(model_list=places, num_retries=1)
    asyncio.run(router.acompletion(**request(asked()) | {"model": "keeper"}))

    [conversation] = handler.conversations
    assert not failures
    assert [wire["content"] for wire in conversation.session.history()][1:] == ["first: never touch lamp 13", "step 1"]
    assert [one.prompt_tokens for one in conversation.session.usage()] == provider.counts


@pytest.mark.parametrize("is_async", [False, True])
def test_litellm_goes_on_to_a_larger_model(provider: Scripted, monkeypatch: Any, is_async: bool) -> None:
    """Its own fallback for messages that are too long works in the handler's methods as it does without them."""
    models, answer = [], provider.completion

    def small_at_first(*_: Any, **given: Any) -> Any:
        models.append(given["model"])
        if given["model"] == "harbour":
            raise ContextWindowExceededError("too long", model="harbour", llm_provider="scripted")
        return answer(**given)

    monkeypatch.setattr(provider, "completion", small_at_first)
    handler, fallbacks = PlimsollHandler(store="memory:", max_tokens=1_000), {"scripted/harbour": "scripted/pier"}
    given = request(asked(), context_window_fallback_dict=fallbacks)
    response = asyncio.run(handler.acompletion(**given)) if is_async else handler.completion(**given)

    assert response.choices[0].message.content == "step 1"
    assert models == ["harbour", "pier"]


def test_a_call_that_litellm_makes_again_itself(provider: Scripted, monkeypatch: Any) -> None:
    """It is sent the same view. LiteLLM tells nobody that it succeeded, so its answer is recorded with the next list."""
    handler, messages, sizes = PlimsollHandler(store="memory:", max_tokens=1_000), asked(), []
    monkeypatch.setattr(litellm, "callbacks", [handler])
    answer = provider.completion

    def busy_at_first(*_: Any, **given: Any) -> Any:
        sizes.append(plimsoll.count_tokens(given["messages"]))
        if len(sizes) % 2:
            raise litellm.InternalServerError("busy", llm_provider="scripted", model="m")
        return answer(**given)

    monkeypatch.setattr(provider, "completion", busy_at_first)
    for _ in range(6):
        go_on(messages, asyncio.run(litellm.acompletion(**request(messages, num_retries=1))))

    assert max(sizes) <= 1_000
    assert sizes[::2] == sizes[1::2]
    [conversation] = handler.conversations
    held = [wire["content"] for wire in conversation.session.history()]
    wires = [wire for message in messages for wire in LiteLLMDialect().wires(message)]
    assert held == [wire["content"] for wire in wires][: len(held)]
    assert len(held) >= len(wires) - 3


@pytest.mark.slow
def test_the_same_loop_without_it(provider: Scripted) -> None:
    """The provider's window is too small for the loop."""
    messages = asked()

    def loop() -> None:
        for _ in range(TURNS):
            go_on(messages, litellm.completion(**request(messages)))

    with pytest.raises(ContextWindowExceededError):
        loop()


def long_list(provider: Scripted, turns: int) -> list[Any]:
    """A list that is longer than 2,500 tokens."""
    messages = asked()
    for _ in range(turns):
        go_on(messages, litellm.completion(**request(messages)))
    provider.counts.clear()
    return messages


@pytest.mark.slow
@pytest.mark.parametrize("is_awaited", [False, True])
@pytest.mark.parametrize("is_callback", [False, True])
def test_a_refusal_is_answered_with_less(
    provider: Scripted, monkeypatch: Any, *, is_awaited: bool, is_callback: bool
) -> None:
    """When the window is smaller than it was said to be, the call is made once more with less; a second refusal comes through."""
    messages = long_list(provider, 6)
    handler = PlimsollHandler(store="memory:", max_tokens=3_800)
    monkeypatch.setattr(litellm, "callbacks", [handler] if is_callback else [])
    provider.window = 1_500

    def complete() -> Any:
        if is_awaited:
            return asyncio.run(handler.acompletion(**request(messages, num_retries=0)))
        return handler.completion(**request(messages, num_retries=0))

    complete()
    assert len(provider.counts) == 2
    assert provider.counts[1] <= 1_500 < provider.counts[0]

    provider.window = 10
    with pytest.raises(ContextWindowExceededError):
        complete()
    assert len(list(handler.conversations)) == 1


@pytest.mark.parametrize("is_counted", [False, True])
@pytest.mark.parametrize("is_awaited", [False, True])
def test_streaming(provider: Scripted, *, is_awaited: bool, is_counted: bool) -> None:
    """Pieces come as they do without it; what the provider counted is recorded where it was asked to say so."""
    handler = PlimsollHandler(store="memory:", max_tokens=WINDOW)
    options = {"stream_options": {"include_usage": True}} if is_counted else {}
    given = request(asked(), stream=True, **options)

    async def awaited() -> list[Any]:
        return [piece async for piece in await handler.acompletion(**given)]  # type: ignore[union-attr]

    pieces: Any = asyncio.run(awaited()) if is_awaited else list(handler.completion(**given))
    assert "".join(piece.choices[0].delta.content or "" for piece in pieces) == "all is well"
    [conversation] = handler.conversations
    reports = [one.prompt_tokens for one in conversation.session.usage()]
    assert reports == (provider.counts[-1:] if is_counted else [])
    assert conversation.awaited == 0


@pytest.mark.slow
def test_what_fits_is_the_same_objects(provider: Scripted) -> None:
    """Messages that were not changed are those of the host, LiteLLM's own objects included; the list is not modified."""
    messages = long_list(provider, 12)
    before = list(messages)
    call = PlimsollHandler(store="memory:", max_tokens=2_000)._prepared(request(messages))

    assert call.is_changed
    assert messages == before
    assert any(any(message is one for one in messages) for message in call.messages if not isinstance(message, dict))


def test_pictures_and_other_requests(provider: Scripted) -> None:
    """A picture is sent as it is; requests that are no completions are left alone."""
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj"}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "look"}, picture]}]
    handler = PlimsollHandler(store="memory:", max_tokens=10 * WINDOW)
    provider.window = 10 * WINDOW
    handler.completion(**request(messages))
    assert provider.seen[0] == messages

    for call_type in ("aembedding", None):
        assert (
            asyncio.run(handler.async_pre_call_deployment_hook({"input": "a", "messages": messages}, call_type)) is None
        )
