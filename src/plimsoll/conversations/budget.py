"""The tokens that the messages and tools of a request may use."""

from __future__ import annotations

from plimsoll.formats.requests import RequestParts
from plimsoll.policy.policy import Policy
from plimsoll.tokens.registry import model_info

RESERVE_SHARE_MAX = 2
"""A reply is never reserved more than the window divided by this: a request that asks for more is the provider's to refuse."""


def budget_tokens(parts: RequestParts, *, model: str, policy: Policy, window_tokens: int | None = None) -> int:
    """The budget of a request: the model's window, or `window_tokens`, less the reply that the request asks for.

    A request that does not say how long its reply may be gets the policy's reserve, else the model's longest reply, as in
    `plimsoll.open`.
    """
    info = model_info(model)
    window = window_tokens or min(info.window_tokens, policy.window_tokens or info.window_tokens)
    reserve = parts.reserve_tokens or policy.output_reserve_tokens or info.max_output_tokens
    reserve = min(reserve, window // RESERVE_SHARE_MAX)
    longest = window if window_tokens else info.max_input_tokens or window
    return max(1, min(window - reserve, longest))
