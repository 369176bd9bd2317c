"""llama-index's Memory with the exact tokenizer: a session that keeps its own history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contestants.tiktoken_exact import count_text, vocabulary

STATEFUL = True


def prepare() -> None:
    """Import it and load the vocabulary."""
    import llama_index.core.memory  # noqa: F401

    count_text("warm")


def adopt(messages: list[dict[str, Any]]) -> Any:
    """Its own message objects, made outside the clock."""
    from llama_index.core.llms import ChatMessage

    return [
        ChatMessage(
            role=message["role"],
            content=message["content"],
            additional_kwargs={key: message[key] for key in ("tool_calls", "tool_call_id") if key in message},
        )
        for message in messages
    ]


def loop(max_tokens: int) -> Callable[[Any], Any]:
    """Each step puts a turn and gets the memory."""
    from llama_index.core.memory import Memory

    memory = Memory.from_defaults(session_id="bench", token_limit=max_tokens, tokenizer_fn=vocabulary().encode_ordinary)

    def step(turn: Any) -> Any:
        memory.put_messages(turn)
        return memory.get()

    return step


def wire(messages: Any) -> list[dict[str, Any]]:
    """OpenAI chat messages again."""
    return [
        {"role": message.role.value, "content": message.content, **message.additional_kwargs} for message in messages
    ]
