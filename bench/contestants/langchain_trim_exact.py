"""langchain-core's trim_messages with the exact counter, allowed to start on a user's or the assistant's message."""

from __future__ import annotations

import json
from typing import Any

from contestants.tiktoken_exact import CALL_TOKENS, MESSAGE_TOKENS, count_text

STATEFUL = False


def prepare() -> None:
    """Import it and load the vocabulary."""
    import langchain_core.messages  # noqa: F401

    count_text("warm")


def adopt(messages: list[dict[str, Any]]) -> Any:
    """Its own message objects, made outside the clock: an agent built on it has them already."""
    from langchain_core.messages import convert_to_messages

    return convert_to_messages(messages)


def fit(messages: Any, max_tokens: int) -> Any:
    """Keep the newest, whole exchanges, and the system text."""
    from langchain_core.messages import trim_messages

    return trim_messages(
        messages, max_tokens=max_tokens, token_counter=_count_all, include_system=True, start_on=("human", "ai")
    )


def wire(messages: Any) -> list[dict[str, Any]]:
    """OpenAI chat messages again."""
    from langchain_core.messages import convert_to_openai_messages

    return list(convert_to_openai_messages(messages))


def _count_all(messages: Any) -> int:
    return sum(map(_count, messages))


def _count(message: Any) -> int:
    calls = getattr(message, "tool_calls", ())
    framed = MESSAGE_TOKENS + CALL_TOKENS * len(calls) + count_text(message.text)
    return framed + sum(count_text(call["name"]) + count_text(json.dumps(call["args"])) for call in calls)
