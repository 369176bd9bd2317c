"""Strands as its documentation has it, with the conversation manager."""

from __future__ import annotations

from strands import Agent, tool
from strands.models import Model

from plimsoll.adapters.strands import PlimsollConversationManager


@tool
def look(number: int) -> str:
    """Look at a lamp."""
    return f"lamp {number}"


def made(model: Model) -> str:
    """An agent with a manager, which has a session."""
    manager = PlimsollConversationManager(name="harbour", max_tokens=8_000, policy={"preset": "ladder"})
    agent = Agent(model=model, tools=[look], conversation_manager=manager)
    result = agent("Look after the lamps.")
    for conversation in manager.conversations:
        print(conversation.session.stats().compactions)  # noqa: T201 - as a program does
    return str(result)
