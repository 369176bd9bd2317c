"""LiteLLM as its documentation has it, with the handler."""

from __future__ import annotations

import litellm

from plimsoll.adapters.litellm import PlimsollHandler


async def made() -> str | None:
    """Completions, whose callback has a session."""
    handler = PlimsollHandler(name="harbour", max_tokens=8_000, policy={"preset": "ladder"})
    litellm.callbacks = [handler]
    messages = [{"role": "user", "content": "Look after the lamps."}]
    response = handler.completion(model="openai/gpt-5", messages=messages, temperature=0)
    await handler.acompletion("openai/gpt-5", messages)
    for conversation in handler.conversations:
        print(conversation.session.stats().compactions)  # noqa: T201 - as a program does
    return response.choices[0].message.content if isinstance(response, litellm.ModelResponse) else None
