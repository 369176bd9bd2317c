"""How much of the package the commonest calls enter. A reader can follow what passes through few modules."""

from __future__ import annotations

from typing import Any

import pytest
from tests.walks import walk

import plimsoll

FIT_MODULES_MAX = 20

SHORT: dict[str, list[dict[str, Any]]] = {
    "user and assistant": [{"role": "user", "content": "Hello there"}, {"role": "assistant", "content": "Good day"}],
    "system and user": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hello there"}],
}


@pytest.mark.parametrize("kind", SHORT)
def test_fit_of_two_messages_that_fit_enters_few_modules(kind: str) -> None:
    """What fits is decoded, counted, compared and given back."""
    messages = SHORT[kind]

    def call() -> None:
        assert plimsoll.fit(messages, model="gpt-4o", max_tokens=5_000).messages == messages

    call()
    entered = walk(call)
    assert len(entered) <= FIT_MODULES_MAX, sorted(entered)
