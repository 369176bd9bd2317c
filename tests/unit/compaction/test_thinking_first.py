"""Where a summary speaks in the agent's role, the thinking of the calls behind it still begins their message."""

from __future__ import annotations

from typing import Any

import pytest

import plimsoll

WORDS = "the load line of a ship " * 20


@pytest.mark.parametrize("preset", ["fill", "ladder"])
def test_a_summary_in_the_agents_role_is_not_put_before_thinking(preset: str) -> None:
    """Anthropic refuses a tool loop whose message begins with anything but its thinking."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"go {WORDS}"}]
    for number in range(10):
        thinks = {"type": "thinking", "thinking": f"{number} {WORDS}", "signature": "c2ln" * 20}
        reads = {"type": "tool_use", "id": f"toolu_{number}", "name": "read", "input": {"path": f"{number}.py"}}
        read = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"{number} {WORDS}"}
        messages += [{"role": "assistant", "content": [thinks, reads]}, {"role": "user", "content": [read]}]
    whole = plimsoll.count_tokens(messages, format="anthropic")

    for share in (0.2, 0.4, 0.6, 0.8, 0.9):
        fitted = plimsoll.fit(
            messages,
            max_tokens=int(whole * share),
            format="anthropic",
            policy={"preset": preset, "summary_role": "assistant"},
        )
        said = [message["content"] for message in fitted.messages if message["role"] == "assistant"]
        calling = [blocks for blocks in said if isinstance(blocks, list)]
        assert calling
        assert all(blocks[0]["type"] == "thinking" for blocks in calling)
