"""File names said short: one fact a file, however it was named, and the folders that many lie below said once."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from plimsoll.summary.ledger import Fact

_FOLDERS_MAX = 4
_SAVED_CHARS_MIN = 24
"""A folder that saves less than this is not worth a line."""

_STATES = ("modified", "read", "seen")


def one_each(facts: Sequence[Fact]) -> list[Fact]:
    """One fact a file: a relative name that ends exactly one absolute name is another mention of that file."""
    whole: dict[str, list[str]] = {}
    for fact in facts:
        parts = fact.text.split("/")
        if fact.text.startswith("/"):
            for at in range(2, len(parts)):
                whole.setdefault("/".join(parts[at:]), []).append(fact.text)
    found: dict[str, Fact] = {}
    for fact in facts:
        name = fact.text.removeprefix("./")
        names = whole.get(name, ())
        key = names[0] if len(names) == 1 else name
        known = found.get(key)
        found[key] = fact._replace(text=key) if known is None else _joined(known, fact)
    return list(found.values())


def _joined(one: Fact, other: Fact) -> Fact:
    return one._replace(
        state=min(one.state, other.state, key=_STATES.index),
        weight=max(one.weight, other.weight),
        mentions=one.mentions + other.mentions,
        last=max(one.last, other.last),
    )


def folders_of(paths: Iterable[str]) -> dict[str, str]:
    """For each path the folder to say once for all below it, with its slash; empty for those that no folder saves words for."""
    left = list(paths)
    found: dict[str, str] = dict.fromkeys(left, "")
    for _ in range(_FOLDERS_MAX):
        counts = Counter(path[: at + 1] for path in left for at in range(1, len(path)) if path[at] == "/")
        best = max(counts, key=lambda folder: ((counts[folder] - 1) * len(folder), folder), default="")
        if (counts[best] - 1) * len(best) < _SAVED_CHARS_MIN:
            break
        found.update((path, best) for path in left if path.startswith(best))
        left = [path for path in left if not path.startswith(best)]
    return found
