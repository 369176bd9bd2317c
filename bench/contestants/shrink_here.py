"""plimsoll's `shrink`, as this checkout has it."""

from __future__ import annotations

MODEL = "gpt-4o"


def prepare() -> None:
    """Import it, load the vocabulary and compile the patterns."""
    shrink("INFO step ok\n" * 400, "What failed?", 300)


def shrink(text: str, query: str, max_tokens: int | None) -> str:
    """The result within a limit; None is its default."""
    import plimsoll

    return plimsoll.shrink(
        "run", text, query=query, max_tokens=1_000 if max_tokens is None else max_tokens, model=MODEL
    ).text
