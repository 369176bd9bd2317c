"""The vocabulary loads from the first word of the command line on, and only for commands that count."""

from __future__ import annotations

from queue import Empty, Queue

import pytest

import plimsoll
from plimsoll.cli import vocabulary


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> Queue[str | None]:
    """The models that are asked for."""
    models: Queue[str | None] = Queue()
    monkeypatch.setattr(plimsoll, "preload", lambda model=None: models.put(model))
    return models


@pytest.mark.parametrize(
    ("words", "model"),
    [
        (["fit", "chat.json", "--max-tokens", "9", "--model", "gpt-4"], "gpt-4"),
        (["count", "--model=claude-sonnet-4-6", "chat.json"], "claude-sonnet-4-6"),
        (["inspect", "chat.json"], None),
        (["fit", "chat.json", "--model"], None),
    ],
)
def test_a_command_that_counts_loads_the_vocabulary_of_its_model(
    loaded: Queue[str | None], words: list[str], model: str | None
) -> None:
    """Whatever comes first: the file, or --model in either form; without a name the default one."""
    vocabulary.load_early(words)
    assert loaded.get(timeout=30) == model


@pytest.mark.parametrize("words", [[], ["sessions"], ["fit", "--help"], ["--version"], ["recall", "fit", "count"]])
def test_other_commands_load_none(loaded: Queue[str | None], words: list[str]) -> None:
    """Help, the version and commands on sessions need none."""
    vocabulary.load_early(words)
    with pytest.raises(Empty):
        loaded.get(timeout=0.05)


def test_a_model_that_cannot_be_loaded_is_left_to_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The thread ends quietly; the command says what is wrong with the model."""
    asked: Queue[str] = Queue()

    def fail(model: str) -> None:
        asked.put(model)
        raise ValueError(model)

    # An exception in the thread would be a warning, which is an error here.
    monkeypatch.setattr(plimsoll, "preload", fail)
    vocabulary.load_early(["count", "chat.json", "--model", "odd"])
    assert asked.get(timeout=30) == "odd"
