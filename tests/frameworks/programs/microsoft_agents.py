"""The Microsoft Agent Framework as its documentation has it, with the middleware."""

from __future__ import annotations

from typing import Any

from agent_framework import Agent, BaseChatClient

from plimsoll.adapters.agent_framework import PlimsollChatMiddleware


def look(number: int) -> str:
    """Look at a lamp."""
    return f"lamp {number}"


async def made(client: BaseChatClient[Any]) -> str:
    """An agent with the middleware, which has a session."""
    middleware = PlimsollChatMiddleware(name="harbour", max_tokens=8_000, policy={"preset": "ladder"})
    agent = Agent(client, instructions="You keep the lamps.", tools=[look], middleware=[middleware])
    result = await agent.run("Look after the lamps.", session=agent.create_session())
    for conversation in middleware.conversations:
        print(conversation.session.stats().compactions)  # noqa: T201 - as a program does
    return result.text
