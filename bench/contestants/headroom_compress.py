"""headroom-ai's `compress`, with its defaults, on a conversation whose last message is the tool's result."""

from __future__ import annotations

import os
from typing import Any

MODEL = "gpt-4o"


def prepare() -> None:
    """Import it, and load what it loads once."""
    os.environ["HEADROOM_OFFLINE"] = "1"
    shrink("INFO step ok\n" * 400, "What failed?", None)


def shrink(text: str, query: str, max_tokens: int | None) -> str:  # noqa: ARG001 - it has no limit to give it
    """The result as the model would be sent it."""
    from headroom import compress

    calls = [{"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}]
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": query},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": text},
    ]
    return str(compress(messages, model=MODEL).messages[-1]["content"])
