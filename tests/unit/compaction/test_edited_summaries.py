"""Summaries in somebody's own words: they never cost the view more than the room there is."""

from __future__ import annotations

from typing import Any

import pytest

import plimsoll
from generated import FORMATS

SENTENCE = "The old crane moved a pallet to the next berth while the clerk wrote it down. "


def history(format: Any, count: int = 20) -> list[dict[str, Any]]:
    """User and assistant by turns."""
    messages = [{"role": ("user", "assistant")[n % 2], "content": f"{n}: {SENTENCE * 2}"} for n in range(count)]
    return plimsoll.convert(messages, to=format).messages


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["fill", "ladder"])
@pytest.mark.parametrize("format", FORMATS)
def test_an_edited_summary_fits_to_the_token(format: Any, policy: str) -> None:
    """Tokens that join where the words meet their frame are counted too, in every room."""
    messages = history(format)
    for budget in range(120, 400, 7):
        plan = plimsoll.plan(messages, max_tokens=budget, format=format, policy=policy)
        for text in ("The contract number is ZQEDIT15.\n\nPle", f"{SENTENCE * 20}\n码头 Please look at ZQ", "\n"):
            if plan.summary is None:
                continue
            fitted = plan.with_summary(text).apply()
            assert plimsoll.count_tokens(fitted.messages, format=format) <= fitted.report.tokens_after <= budget
            assert plimsoll.validate(fitted.messages, format=format) == []
            assert fitted.messages != plan.apply().messages or "no room for the summary" in (fitted.report.note or "")
