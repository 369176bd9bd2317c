"""Wrapped clients of the SDKs have the clients' own types."""

from __future__ import annotations

from typing import assert_type

from anthropic import Anthropic, AsyncAnthropic
from anthropic.types import Message
from openai import AsyncOpenAI, AzureOpenAI, OpenAI, Stream
from openai.types.chat import ChatCompletion, ChatCompletionChunk

import plimsoll


def chat() -> str | None:
    """Methods, their arguments and what they return."""
    client = plimsoll.wrap(OpenAI(), name="chat", max_tokens=100_000)
    assert_type(client, OpenAI)
    answer = client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "hello"}])
    assert_type(answer, ChatCompletion)
    stream = client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": "hi"}], stream=True)
    assert_type(stream, Stream[ChatCompletionChunk])
    assert_type(plimsoll.session_of(client), plimsoll.Session)
    assert_type(plimsoll.wrap(AzureOpenAI()), AzureOpenAI)
    return answer.choices[0].message.content


async def awaited() -> None:
    """The same for clients that are awaited."""
    assert_type(plimsoll.wrap(AsyncOpenAI()), AsyncOpenAI)
    client = plimsoll.wrap(AsyncAnthropic())
    answer = await client.messages.create(model="claude", max_tokens=9, messages=[{"role": "user", "content": "hello"}])
    assert_type(answer, Message)
    assert_type(plimsoll.wrap(Anthropic()), Anthropic)
