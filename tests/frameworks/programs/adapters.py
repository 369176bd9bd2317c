"""Adapters as a program uses them: each is what its framework takes."""

from __future__ import annotations

from agents import RunConfig
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from pydantic_ai import Agent

from plimsoll.adapters.langchain import PlimsollMiddleware
from plimsoll.adapters.openai_agents import PlimsollFilter, PlimsollSession
from plimsoll.adapters.pydantic_ai import PlimsollCapability


def made(model: BaseChatModel) -> None:
    """Options are checked."""
    create_agent(model, [], middleware=[PlimsollMiddleware(store="memory:", max_tokens=1_000)])
    memory = PlimsollSession("one", policy="ladder")
    RunConfig(call_model_input_filter=memory.filter)
    RunConfig(call_model_input_filter=PlimsollFilter())
    Agent("test", capabilities=[PlimsollCapability(name="one")])
    PlimsollFilter(max_token=1)  # error
