"""The openai SDK's chat completions: what goes in and out of plimsoll has the SDK's own types."""

from __future__ import annotations

from typing import assert_type

from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionMessageParam

import plimsoll


def one_call(client: OpenAI, messages: list[ChatCompletionMessageParam]) -> str | None:
    """A fitted list is a list of the messages that came in."""
    fitted = plimsoll.fit(messages, max_tokens=8_000, model="gpt-4o", policy="ladder")
    assert_type(fitted, plimsoll.Fitted[ChatCompletionMessageParam])
    assert_type(fitted.messages, list[ChatCompletionMessageParam])
    response = client.chat.completions.create(model="gpt-4o", messages=fitted.messages)
    assert_type(fitted.report.tokens_after, int)
    planned = plimsoll.plan(messages, max_tokens=8_000)
    client.chat.completions.create(model="gpt-4o", messages=planned.apply().messages)
    return response.choices[0].message.content


def a_loop(client: OpenAI) -> None:
    """A session takes the SDK's messages and gives what the SDK takes."""
    with plimsoll.open("chat", model="gpt-4o", recall_tools=True) as session:
        session.append({"role": "user", "content": "hello"})
        response = client.chat.completions.create(model="gpt-4o", messages=session.view(), tools=session.tools())
        session.append(response.choices[0].message)
        session.append(response)
        session.extend([response.choices[0].message])
        for call in response.choices[0].message.tool_calls or []:
            if call.type == "function" and session.is_tool(call.function.name):
                answer = session.call_tool(call.function.name, call.function.arguments)
                session.append({"role": "tool", "tool_call_id": call.id, "content": answer})
        made = session.compact(trigger="manual")
        assert_type(made, plimsoll.Compaction)
        assert_type(session.check(), plimsoll.Check)
        assert_type(session.recall("hello"), list[plimsoll.Hit])


async def awaited(client: AsyncOpenAI, messages: list[ChatCompletionMessageParam]) -> None:
    """The same for callers that await."""
    fitted = await plimsoll.afit(messages, max_tokens=8_000)
    await client.chat.completions.create(model="gpt-4o", messages=fitted.messages)
    async with plimsoll.aopen("chat", model="gpt-4o") as session:
        await session.aappend({"role": "user", "content": "hello"})
        await client.chat.completions.create(model="gpt-4o", messages=await session.aview())


def summarise(request: plimsoll.SummaryRequest) -> str:
    """A summariser of one's own."""
    return f"{len(request.messages)} messages"


def with_summariser(messages: list[ChatCompletionMessageParam]) -> plimsoll.Policy:
    """Options are checked: presets by name, fields by theirs."""
    policy = plimsoll.Policy.named("ladder", keep_last_messages=4)
    plimsoll.fit(messages, max_tokens=8_000, policy=policy, summarizer=summarise)
    plimsoll.fit(messages, max_tokens=8_000, policy={"keep_last_messages": 4})
    return policy
