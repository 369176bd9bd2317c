"""LlamaIndex as its documentation has it, with the memory and the managed model."""

from __future__ import annotations

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms.function_calling import FunctionCallingLLM

from plimsoll.adapters.llama_index import PlimsollMemory, conversations_of, managed


def look(number: int) -> str:
    """Look at a lamp."""
    return f"lamp {number}"


async def made(llm: FunctionCallingLLM) -> str:
    """An agent with both, each with sessions."""
    model = managed(llm, max_tokens=8_000)
    agent = FunctionAgent(llm=model, tools=[look])
    memory = PlimsollMemory("harbour", max_tokens=4_000, policy={"preset": "ladder"})
    result = await agent.run(user_msg="Look after the lamps.", memory=memory)
    for conversation in [*conversations_of(model), *memory.conversations]:
        print(conversation.session.stats().compactions)  # noqa: T201 - as a program does
    return str(result)
