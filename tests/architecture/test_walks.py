"""How much of the package the commonest calls enter. A reader can follow what passes through few modules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.walks import walk

import plimsoll

FIT_MODULES_MAX = 20
APPEND_MODULES_MAX = 14

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


def test_an_append_enters_few_modules(tmp_path: Path) -> None:
    """A plain message is decoded, normalized, written, and then has its effect."""
    with plimsoll.open("one", store=str(tmp_path / "store"), model="gpt-4o") as session:
        for kind in SHORT:
            session.extend(SHORT[kind][-2:])
            session.view()

        entered = walk(lambda: session.append({"role": "user", "content": "And then?"}))

    assert len(entered) <= APPEND_MODULES_MAX, sorted(entered)
