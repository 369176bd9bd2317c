"""The exact o200k count that the peers are given: content, call names and arguments, and what frames a message."""

from __future__ import annotations

import functools
from typing import Any

MESSAGE_TOKENS = 4
CALL_TOKENS = 8


@functools.cache
def vocabulary() -> Any:
    """OpenAI's own tokenizer, from ranks already on this machine."""
    import tiktoken

    return tiktoken.get_encoding("o200k_base")


def count_text(text: str) -> int:
    """Tokens of a text, special-token text read as text."""
    return len(vocabulary().encode_ordinary(text))


def count_wire(message: dict[str, Any]) -> int:
    """Tokens of one OpenAI chat message."""
    functions = [call["function"] for call in message.get("tool_calls") or ()]
    texts = [message.get("content") or "", *(function[key] for function in functions for key in ("name", "arguments"))]
    return MESSAGE_TOKENS + CALL_TOKENS * len(functions) + sum(map(count_text, texts))
