"""Allocation of tokens to sections, token estimates, and the boost of texts that match a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plimsoll.summary.kept import kept
from plimsoll.summary.ledger.sentences import cjk_chars, pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


TITLE_TOKENS, _LABEL_TOKENS, _HEADING_TOKENS = 9, 4, 2  # estimates

_GOAL_FIRST_TOKENS_MAX = 200
"""Below this budget, requests and constraints get a larger share."""

_GOAL_WEIGHT, _GOAL_WEIGHT_BESIDE_VALUES = 3.0, 1.6
"""By how much; less in a run whose tools returned values, which the next step needs as well."""


def allot(needed: dict[str, int], shares: dict[str, float], tokens: int) -> dict[str, int]:
    """Allocate tokens by share, at most each section's need; distribute the surplus by share."""
    given = dict.fromkeys(needed, 0)
    open_names = [name for name, need in needed.items() if need > 0]
    left = tokens
    while open_names and left > 0:
        total = sum(shares.get(name, 1.0) for name in open_names)
        full = {name for name in open_names if needed[name] - given[name] <= left * shares.get(name, 1.0) / total}
        for name in full or open_names:
            part = needed[name] - given[name] if full else int(left * shares.get(name, 1.0) / total)
            given[name] += part
        if not full:
            return given
        left = tokens - sum(given.values())
        open_names = [name for name in open_names if name not in full]
    return given


def estimate(*lines: str) -> int:
    """Estimate the tokens of a text in lines without a tokenizer."""
    if len(lines) == 1 and lines[0].isascii():  # as most are
        return len(lines[0]) // 4 + 1
    text = "\n".join(lines)
    return int(len(text) * 0.25 + cjk_chars(text) * 0.85) + 1


def title_tokens(name: str) -> int:
    """Estimate the tokens of a section's title."""
    return _LABEL_TOKENS if name == "topic" else TITLE_TOKENS


def heading_tokens(group: str) -> int:
    """Estimate the tokens of the heading of a group of items."""
    return estimate(group) + _HEADING_TOKENS if group else 0


def goal_weight(tokens_max: int, *, beside_values: bool) -> float:
    """Return the factor for the shares of requests and constraints in a small summary, less beside values from tools.

    It falls linearly to 1 between one and two times _GOAL_FIRST_TOKENS_MAX, so that a larger budget never gives them less.
    """
    most = _GOAL_WEIGHT_BESIDE_VALUES if beside_values else _GOAL_WEIGHT
    return min(most, max(1.0, 2 * most - 1 - (most - 1) * tokens_max / _GOAL_FIRST_TOKENS_MAX))


@kept(4)
def bias_of(query: str | None) -> Callable[[str], float]:
    """Return a function from a text to its value multiplier: 1 without shared words with the query, up to 4.

    It is the same function for the same query, for readings that are kept.
    """
    wanted = _terms(query[:400]) if query else frozenset[str]()
    if not wanted:
        return lambda _text: 1.0
    return lambda text: 1.0 + 3.0 * len(wanted & _terms(text)) / len(wanted)


def _terms(text: str) -> frozenset[str]:
    words: Iterable[str] = pairs(text) if not text.isascii() else ()
    plain: Sequence[str] = text.casefold().replace("/", " ").replace(".", " ").replace("_", " ").split()
    return frozenset(word.strip(",.!?:;()[]'\"`") for word in [*plain, *words] if len(word) > 1)
