"""The loopback server bites: whatever a provider refuses it refuses too, and takes what a provider takes."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import anthropic
import openai
import pytest

from loopback import agent
from loopback.chat import Chat
from loopback.hosts import ANTHROPIC_TOOLS, CHAT_TOOLS, RESPONSES_TOOLS
from loopback.messages import Messages
from loopback.responses import Responses
from loopback.rules import Refusal
from loopback.server import Provider

Wire = dict[str, Any]
Spoil = Callable[[Wire], object]

PNG = agent.png(4, 4)
ANSWER = agent.Answer(
    "I look at both.", "Two files matter.", [agent.Call("search", {"path": "a"}), agent.Call("search", {})]
)
MARK = {"cache_control": {"type": "ephemeral"}}
LONG_MARK = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def spoilt(body: Wire, spoil: Spoil) -> Wire:
    """A copy of a request with something wrong."""
    own = copy.deepcopy(body)
    spoil(own)
    return own


def chat() -> tuple[Chat, Wire]:
    """A request that Chat Completions takes: system text, a question, two calls and their results, a picture."""
    api = Chat()
    body: Wire = {"model": "gpt-4o", "tools": copy.deepcopy(CHAT_TOOLS)}
    body["messages"] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Look."}]
    message = api.respond(ANSWER, 0, body)["choices"][0]["message"]
    image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    body["messages"] += [
        message,
        {"role": "tool", "tool_call_id": "call_0_1", "content": "b"},
        {"role": "tool", "tool_call_id": "call_0_0", "content": ""},
        {"role": "user", "content": [{"type": "text", "text": "And this?"}, image]},
    ]
    return api, body


CHAT_FAULTS: dict[str, Spoil] = {
    "no messages": lambda b: b.update(messages=[]),
    "field of the body": lambda b: b.update(system="Be brief."),
    "unknown role": lambda b: b["messages"][1].update(role="human"),
    "field of a message": lambda b: b["messages"][1].update(id="m1"),
    "parsed": lambda b: b["messages"][2].update(parsed=None),
    "no content": lambda b: b["messages"][1].update(content=None),
    "calls that are null": lambda b: b["messages"][5].update(role="assistant", content="x", tool_calls=None),
    "empty parts": lambda b: b["messages"][1].update(content=[]),
    "picture in a result": lambda b: b["messages"][3].update(content=b["messages"][5]["content"]),
    "unknown part": lambda b: b["messages"][1].update(content=[{"type": "input_text", "text": "x"}]),
    "field of a part": lambda b: b["messages"][5]["content"][0].update(MARK),
    "no base64": lambda b: b["messages"][5]["content"][1]["image_url"].update(url="data:image/png;base64,%%"),
    "no picture": lambda b: b["messages"][5]["content"][1]["image_url"].update(url="data:image/png;base64,AAAA"),
    "empty calls": lambda b: b["messages"][0].update(role="assistant", tool_calls=[]),
    "two calls of one id": lambda b: b["messages"][2]["tool_calls"][1].update(id="call_0_0"),
    "long id": lambda b: b["messages"][2]["tool_calls"][1].update(id="x" * 41),
    "field of a call": lambda b: b["messages"][2]["tool_calls"][1].update(index=1),
    "parsed arguments": lambda b: b["messages"][2]["tool_calls"][1]["function"].update(parsed_arguments=None),
    "arguments as an object": lambda b: b["messages"][2]["tool_calls"][1]["function"].update(arguments={}),
    "bad name": lambda b: b["messages"][2]["tool_calls"][1]["function"].update(name="a b"),
    "unanswered call": lambda b: b["messages"].pop(3),
    "orphan": lambda b: b["messages"].pop(2),
    "answered twice": lambda b: b["messages"].insert(4, b["messages"][3]),
    "result not directly behind": lambda b: b["messages"].insert(3, b["messages"].pop(5)),
    "result before its call": lambda b: b["messages"].insert(2, b["messages"].pop(3)),
    "two tools of one name": lambda b: b["tools"].append(b["tools"][0]),
    "no tools": lambda b: b.update(tools=[]),
}


@pytest.mark.parametrize("fault", CHAT_FAULTS)
def test_chat_refuses(fault: str) -> None:
    """Each of these is refused, and without it the request is taken."""
    api, body = chat()
    api.check(body)
    with pytest.raises(Refusal):
        api.check(spoilt(body, CHAT_FAULTS[fault]))


def responses() -> tuple[Responses, Wire]:
    """A request that Responses takes: reasoning with what it led to, two calls and their outputs, one with a picture."""
    api = Responses()
    body: Wire = {"model": "gpt-4o", "tools": copy.deepcopy(RESPONSES_TOOLS), "store": False}
    body["input"] = [{"role": "developer", "content": "Be brief."}, {"role": "user", "content": "Look."}]
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"}
    body["input"] += api.respond(ANSWER, 0, body)["output"]
    body["input"] += [
        {"type": "function_call_output", "call_id": "call_0_1", "output": "b"},
        {"type": "function_call_output", "call_id": "call_0_0", "output": [{"type": "input_text", "text": ""}, image]},
        {"role": "user", "content": "And now?"},
    ]
    return api, body


RESPONSES_FAULTS: dict[str, Spoil] = {
    "no input": lambda b: b.update(input=[]),
    "field of the body": lambda b: b.update(messages=[]),
    "unknown item": lambda b: b["input"].append({"type": "tool_result"}),
    "role of a tool": lambda b: b["input"].append({"role": "tool", "content": "x"}),
    "field of an item": lambda b: b["input"][4].update(parsed_arguments=None),
    "no content": lambda b: b["input"][1].update(content=None),
    "words of the other side": lambda b: b["input"][1].update(content=[{"type": "output_text", "text": "x"}]),
    "field of a part": lambda b: b["input"][3]["content"][0].update(parsed=None),
    "id of another kind": lambda b: b["input"][4].update(id="call_0_0"),
    "one item twice": lambda b: b["input"].append(b["input"][3]),
    "unanswered call": lambda b: b["input"].pop(6),
    "orphan": lambda b: b["input"].pop(5),
    "unknown call_id": lambda b: b["input"][6].update(call_id="call_9"),
    "answered twice": lambda b: b["input"].append(b["input"][6]),
    "output before its call": lambda b: b["input"].insert(3, b["input"].pop(6)),
    "reasoning alone": lambda b: b.update(input=b["input"][:3]),
    "reasoning before something else": lambda b: b["input"].insert(2, b["input"].pop(1)),
    "reasoning without the item it led to": lambda b: (
        b["input"].pop(3) and b["input"].insert(3, {"role": "user", "content": "x"})
    ),
    "without its reasoning": lambda b: b["input"].pop(2),
    "sealed and changed": lambda b: b["input"][2].update(encrypted_content="x"),
    "reasoning and changed": lambda b: b["input"][2].update(summary=[]),
    "reasoning of somebody else": lambda b: b["input"][2].update(id="rs_9"),
    "no picture": lambda b: b["input"][7]["output"][1].update(image_url="data:image/png;base64,AAAA"),
    "empty output": lambda b: b["input"][7].update(output=[]),
    "no output": lambda b: b["input"][7].pop("output"),
    "arguments as an object": lambda b: b["input"][4].update(arguments={}),
    "status that is null": lambda b: b["input"][2].update(status=None),
    "bad status": lambda b: b["input"][4].update(status="done"),
    "two tools of one name": lambda b: b["tools"].append(b["tools"][0]),
}


@pytest.mark.parametrize("fault", RESPONSES_FAULTS)
def test_responses_refuses(fault: str) -> None:
    """Each of these is refused, and without it the request is taken."""
    api, body = responses()
    api.check(body)
    with pytest.raises(Refusal):
        api.check(spoilt(body, RESPONSES_FAULTS[fault]))


def messages() -> tuple[Messages, Wire]:
    """A request that Messages takes: thinking, two calls and their results, a picture, two cache marks."""
    api = Messages()
    body: Wire = {"model": "claude-sonnet-4-6", "max_tokens": 4096, "tools": copy.deepcopy(ANTHROPIC_TOOLS)}
    body["system"] = [{"type": "text", "text": "Be brief.", **LONG_MARK}]
    body["thinking"] = {"type": "enabled", "budget_tokens": 1024}
    body["messages"] = [{"role": "user", "content": "Look."}]
    content = api.respond(ANSWER, 0, body)["content"]
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}
    results = [
        {"type": "tool_result", "tool_use_id": "toolu_0_1", "content": [{"type": "text", "text": "b"}, image]},
        {"type": "tool_result", "tool_use_id": "toolu_0_0", "content": "", **MARK},
    ]
    body["messages"] += [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
    return api, body


def blocks(body: Wire, position: int) -> Any:
    """The content of a message."""
    return body["messages"][position]["content"]


MESSAGES_FAULTS: dict[str, Spoil] = {
    "no messages": lambda b: b.update(messages=[]),
    "no max_tokens": lambda b: b.pop("max_tokens"),
    "field of the body": lambda b: b.update(store=False),
    "field of a response": lambda b: b["messages"][1].update(stop_reason="tool_use"),
    "unknown role": lambda b: b["messages"][0].update(role="tool"),
    "first not the user": lambda b: b["messages"].insert(0, {"role": "assistant", "content": "Hello."}),
    "no content": lambda b: b["messages"][0].update(content=None),
    "empty content": lambda b: b["messages"][0].update(content=""),
    "blank content": lambda b: b["messages"][0].update(content=" \n"),
    "no blocks": lambda b: b["messages"][0].update(content=[]),
    "blank text": lambda b: b["messages"][0].update(content=[{"type": "text", "text": " "}]),
    "empty text": lambda b: blocks(b, 2)[0]["content"][0].update(text=""),
    "blank system text": lambda b: b["system"][0].update(text=""),
    "field of a block": lambda b: blocks(b, 1)[1].update(parsed=None),
    "field in a result": lambda b: blocks(b, 2)[0]["content"][0].update(annotations=[]),
    "failure that is null": lambda b: blocks(b, 2)[0].update(is_error=None),
    "thinking of the user": lambda b: blocks(b, 2).append(blocks(b, 1)[0]),
    "call of the user": lambda b: blocks(b, 2).append(blocks(b, 1)[2]),
    "result of the assistant": lambda b: blocks(b, 1).append(blocks(b, 2)[0]),
    "arguments as text": lambda b: blocks(b, 1)[2].update(input="{}"),
    "bad id": lambda b: blocks(b, 1)[2].update(id="a.b"),
    "two calls of one id": lambda b: blocks(b, 1).append(blocks(b, 1)[2]),
    "unanswered call": lambda b: blocks(b, 2).pop(0),
    "orphan": lambda b: blocks(b, 1).pop(2),
    "answered twice": lambda b: blocks(b, 2).append(blocks(b, 2)[0]),
    "answered one message too late": lambda b: b["messages"].insert(2, {"role": "user", "content": "Wait."}),
    "answered in two messages": lambda b: b["messages"].append({"role": "user", "content": [blocks(b, 2).pop()]}),
    "words before results": lambda b: blocks(b, 2).insert(0, {"type": "text", "text": "Here:"}),
    "a failure that says nothing": lambda b: blocks(b, 2)[1].update(is_error=True),
    "a failure with a picture": lambda b: blocks(b, 2)[0].update(is_error=True),
    "five marks": lambda b: blocks(b, 2).extend([{"type": "text", "text": "x", **MARK}] * 3),
    "mark on thinking": lambda b: blocks(b, 1)[0].update(MARK),
    "unknown mark": lambda b: blocks(b, 2)[1].update(cache_control={"type": "forever"}),
    "long mark behind a short one": lambda b: blocks(b, 2).append({"type": "text", "text": "x", **LONG_MARK}),
    "no base64": lambda b: blocks(b, 2)[0]["content"][1]["source"].update(data="%%"),
    "another picture": lambda b: blocks(b, 2)[0]["content"][1]["source"].update(media_type="image/jpeg"),
    "no source": lambda b: blocks(b, 2)[0]["content"][1].pop("source"),
    "wrong signature": lambda b: blocks(b, 1)[0].update(signature="forged"),
    "modified thinking": lambda b: blocks(b, 1)[0].update(thinking="Three files matter."),
    "no signature": lambda b: blocks(b, 1)[0].pop("signature"),
    "thinking left out": lambda b: blocks(b, 1).pop(0),
    "thinking not first": lambda b: blocks(b, 1).insert(1, blocks(b, 1).pop(0)),
    "thinking twice": lambda b: blocks(b, 1).insert(1, blocks(b, 1)[0]),
    "thinking last": lambda b: b["messages"].append({"role": "assistant", "content": [blocks(b, 1)[0]]}),
    "white space at the end": lambda b: b["messages"].append({"role": "assistant", "content": "So: "}),
    "two tools of one name": lambda b: b["tools"].append(b["tools"][0]),
    "tool without a schema": lambda b: b["tools"][0].pop("input_schema"),
    "thinking without room": lambda b: b.update(max_tokens=1000),
    "thinking with a forced tool": lambda b: b.update(tool_choice={"type": "any"}),
}


@pytest.mark.parametrize("fault", MESSAGES_FAULTS)
def test_messages_refuses(fault: str) -> None:
    """Each of these is refused, and without it the request is taken."""
    api, body = messages()
    api.check(body)
    with pytest.raises(Refusal):
        api.check(spoilt(body, MESSAGES_FAULTS[fault]))


BINDING_FAULTS: dict[str, Spoil] = {
    "another beginning": lambda b: b["messages"][0].update(content="Look again."),
    "another system text": lambda b: b["system"][0].update(text="Be very brief."),
    "other tools": lambda b: b["tools"].pop(),
    "something in between": lambda b: b["messages"].insert(0, {"role": "user", "content": "Summary: nothing yet."}),
}


@pytest.mark.parametrize("fault", BINDING_FAULTS)
def test_messages_binds_thinking_to_what_was_before_it(fault: str) -> None:
    """Newer models: what was before thinking stays as it was, or the thinking leaves. Cache marks may move."""
    api, body = messages()
    body.update(model="claude-opus-5-5", thinking={"type": "adaptive"})
    api.check(spoilt(body, lambda b: b["system"][0].pop("cache_control")))
    other = spoilt(body, BINDING_FAULTS[fault])
    with pytest.raises(Refusal, match="signature"):
        api.check(other)
    answer = next(message for message in other["messages"] if message["role"] == "assistant")
    answer["content"].pop(0)
    api.check(other)
    with pytest.raises(Refusal, match="not supported"):
        api.check({**body, "thinking": {"type": "enabled", "budget_tokens": 1024}})


@pytest.mark.slow
def test_refusals_have_the_shapes_of_the_real_ones() -> None:
    """The SDKs raise what they raise for the real API, too long prompts among it."""
    with Provider(200) as served:
        long = [{"role": "user", "content": "word " * 300}]
        with openai.OpenAI(base_url=f"{served.url}/v1", api_key="none", max_retries=0) as client:
            with pytest.raises(openai.BadRequestError) as of_chat:
                client.chat.completions.create(model="gpt-4o", messages=long)
            with pytest.raises(openai.BadRequestError) as of_responses:
                client.responses.create(model="gpt-4o", input=long)
        with (
            anthropic.Anthropic(base_url=served.url, api_key="none", max_retries=0) as client,
            pytest.raises(anthropic.BadRequestError, match="prompt is too long: 3"),
        ):
            client.messages.create(model="claude-sonnet-4-6", max_tokens=9, messages=long)
        assert of_chat.value.code == of_responses.value.code == "context_length_exceeded"
        assert len(served.refused) == 3
        assert served.bodies == []


def test_prompts_are_counted_by_their_values() -> None:
    """Counts by hand: 3 a message and 3 for the reply, the role, the words, and the pictures by the providers' formulas."""
    _, body = chat()
    plain = {"messages": [{"role": "user", "content": "hello world"}]}
    assert (
        Chat().tokens(plain)
        == Messages().tokens(plain)
        == Responses().tokens({"input": "hello world"})
        == 3 + 3 + 1 + 2
    )
    picture = {"messages": body["messages"][5:]}
    assert Chat().tokens(picture) == 3 + 3 + 1 + 3 + 85 + 170
    assert Chat().tokens(body) > Chat().tokens({**body, "tools": None}) > Chat().tokens(picture)


def test_the_same_seed_is_the_same_agent() -> None:
    """What the agent answers is a matter of the seed and the number alone, and of every kind."""
    answers = [agent.answer(7, number) for number in range(50)]
    assert answers == [agent.answer(7, number) for number in range(50)]
    assert answers != [agent.answer(8, number) for number in range(50)]
    assert max(len(answer.calls) for answer in answers) == 4
    assert {bool(answer.calls) for answer in answers} == {bool(answer.thinking) for answer in answers} == {True, False}
    outcomes = [agent.outcome(call.name, call.text) for answer in answers for call in answer.calls]
    assert any(outcome.failed for outcome in outcomes)
    assert any(outcome.picture for outcome in outcomes)
    assert any(not outcome.text for outcome in outcomes)
    assert max(len(json.dumps(outcome.text)) for outcome in outcomes) > 8_000
