"""Hypothesis strategies over histories in every wire format."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import strategies as st

from generated import FORMATS, random_broken_history, random_history

formats = st.sampled_from(FORMATS)


def _seeds() -> st.SearchStrategy[random.Random]:
    return st.integers(min_value=0, max_value=2**32).map(random.Random)


def histories(format: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Histories that the provider accepts."""
    return _seeds().map(lambda rng: random_history(rng, format))


def broken_histories(format: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Histories with orphans both ways, interrupted parallel calls, repeated ids, empty contents, odd and huge text."""
    return _seeds().map(lambda rng: random_broken_history(rng, format))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
"""Any JSON value, small."""


def field_soups() -> st.SearchStrategy[list[dict[str, Any]]]:
    """Lists of objects made of the formats' own field names and any values: nearly messages."""
    names = st.sampled_from(
        ("role", "content", "type", "tool_calls", "tool_call_id", "id", "call_id", "parts", "output", "name", "summary",
         "function_call", "arguments", "input", "text", "state", "toolCallId", "source", "image_url", "refusal", "action")
    )  # fmt: skip
    words = st.sampled_from(
        ("user", "assistant", "system", "tool", "text", "tool_use", "tool_result", "function_call", "function_call_output",
         "reasoning", "image", "image_url", "message", "tool-x", "dynamic-tool", "output-available", "file", "thinking", "")
    )  # fmt: skip
    leaves = words | st.none() | st.integers(-2, 2) | st.booleans() | st.text(max_size=5)
    values = st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=5), max_leaves=16
    )
    return st.lists(st.dictionaries(names, values, max_size=6), max_size=5)
