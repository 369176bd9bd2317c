"""The Google Agent Development Kit as its documentation has it, with the plugin."""

from __future__ import annotations

from google.adk.agents import Agent
from google.adk.apps import App
from google.adk.runners import InMemoryRunner

from plimsoll.adapters.google_adk import PlimsollPlugin


def look(number: int) -> str:
    """Look at a lamp."""
    return f"lamp {number}"


async def made() -> int:
    """A runner with the plugin, which has sessions."""
    plugin = PlimsollPlugin(name="harbour", max_tokens=8_000, policy={"preset": "ladder"})
    agent = Agent(name="keeper", model="gemini-2.5-flash", instruction="You keep the lamps.", tools=[look])
    runner = InMemoryRunner(app=App(name="lamps", root_agent=agent, plugins=[plugin]))
    events = await runner.run_debug("Look after the lamps.")
    for conversation in plugin.conversations:
        print(conversation.session.stats().compactions)  # noqa: T201 - as a program does
    return len(events)
