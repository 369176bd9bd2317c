"""The vocabulary of a command that counts, loading in a thread while the command itself is imported."""

from __future__ import annotations

from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING

import plimsoll

if TYPE_CHECKING:
    from collections.abc import Sequence

COUNTING = ("fit", "count", "inspect")
"""The commands that count a whole file at once: for them the vocabulary takes longest of all."""


def load_early(words: Sequence[str]) -> None:
    """Begin to load the vocabulary if the command `words` counts. Fails silently: the count itself says what goes wrong."""
    if words[:1] and words[0] in COUNTING and not {"-h", "--help"}.intersection(words):
        with suppress(RuntimeError):  # no thread can be started here
            Thread(target=_load, args=(_model(words),), daemon=True).start()


def _model(words: Sequence[str]) -> str | None:
    """What follows --model; None where it is not given, or not yet a name."""
    for word, following in zip(words, [*words[1:], None], strict=True):
        if word == "--model":
            return following
        if word.startswith("--model="):
            return word.removeprefix("--model=")
    return None


def _load(model: str | None) -> None:
    with suppress(Exception):
        plimsoll.preload(model) if model else plimsoll.preload()
