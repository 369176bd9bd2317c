"""The anthropic SDK's messages."""

from __future__ import annotations

from typing import assert_type

from anthropic import Anthropic, AsyncAnthropic
from anthropic.types import MessageParam

import plimsoll


def one_call(client: Anthropic, messages: list[MessageParam]) -> None:
    """A fitted list is a list of the messages that came in; the system text is what the SDK takes."""
    fitted = plimsoll.fit(messages, max_tokens=8_000, model="claude-sonnet-4-5", system="Be brief.")
    assert_type(fitted.messages, list[MessageParam])
    client.messages.create(model="claude-sonnet-4-5", max_tokens=1_000, messages=fitted.messages, system=fitted.system)


def a_loop(client: Anthropic) -> None:
    """Both idioms of the SDK's documentation."""
    with plimsoll.open("talk", model="claude-sonnet-4-5", system="Be brief.", recall_tools=True) as session:
        session.append({"role": "user", "content": "hello"})
        response = client.messages.create(
            model="claude-sonnet-4-5",
            max_tokens=1_000,
            messages=session.view(),
            system=session.system,
            tools=session.tools("anthropic"),
        )
        session.append(response)
        session.append({"role": "assistant", "content": response.content})
        for block in response.content:
            if block.type == "tool_use" and session.is_tool(block.name):
                answer = session.call_tool(block.name, block.input)
                result = {"type": "tool_result", "tool_use_id": block.id, "content": answer}
                session.append({"role": "user", "content": [result]})


async def awaited(client: AsyncAnthropic) -> None:
    """Streamed, for callers that await."""
    async with plimsoll.aopen("talk", model="claude-sonnet-4-5") as session:
        await session.aappend({"role": "user", "content": "hello"})
        view = await session.aview()
        async with client.messages.stream(model="claude-sonnet-4-5", max_tokens=1_000, messages=view) as stream:
            await session.aappend(await stream.get_final_message())
