"""Shorten lists of files: merge mentions of one file, factor out common folders, and tell which files belong together."""

from __future__ import annotations

from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING

from plimsoll.light.regex import regex
from plimsoll.summary.kept import kept

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from plimsoll.summary.ledger import Fact

_FOLDERS_MAX = 4  # each takes a pass over all paths
_SAVED_CHARS_MIN = 24
"""Minimum characters saved for a folder to get a line of its own."""

_TEST = regex(r"\A[Tt]ests?[_-]|[_.-](?:[Tt]ests?|[Ss]pec)\Z|(?<=[a-z0-9])Tests?\Z")
"""What tells the name of a file's test from the name of the file."""

_STATES = ("modified", "read", "seen")


def one_each(facts: Iterable[Fact]) -> Sequence[Fact]:
    """Return one fact per file. A relative name is merged into the absolute name it is a suffix of, if that is unique."""
    return _one_each(tuple(facts))


@kept(2)
def _one_each(facts: Sequence[Fact]) -> Sequence[Fact]:
    """Cached, because one rendering asks several times."""
    absolute_by_suffix: dict[str, list[str]] = {}
    for fact in facts:
        parts = fact.text.split("/")
        if fact.text.startswith("/"):
            for at in range(2, len(parts)):
                absolute_by_suffix.setdefault("/".join(parts[at:]), []).append(fact.text)
    found: dict[str, Fact] = {}
    for fact in facts:
        name = fact.text.removeprefix("./")
        names = absolute_by_suffix.get(name, ())
        key = names[0] if len(names) == 1 else name
        known = found.get(key)
        if known is not None:
            found[key] = _merged(known, fact)
        else:
            found[key] = fact if key == fact.text else fact._replace(text=key)
    return tuple(found.values())


def _merged(one: Fact, other: Fact) -> Fact:
    return one._replace(
        state=min(one.state, other.state, key=_STATES.index),
        weight=max(one.weight, other.weight),
        mentions=one.mentions + other.mentions,
        last=max(one.last, other.last),
    )


def folders_of(paths: Iterable[str]) -> dict[str, str]:
    """Map each path to its common folder, with a trailing slash, or "" if factoring it out saves too little."""
    left = list(paths)
    found: dict[str, str] = dict.fromkeys(left, "")
    above = {path: list(_above(path)) for path in left}
    for _ in range(_FOLDERS_MAX):
        counts = Counter(chain.from_iterable([above[path] for path in left]))
        best = max(counts, key=lambda folder: ((counts[folder] - 1) * len(folder), folder), default="")
        if (counts[best] - 1) * len(best) < _SAVED_CHARS_MIN:
            break
        found.update((path, best) for path in left if path.startswith(best))
        left = [path for path in left if not path.startswith(best)]
    return found


def _above(path: str) -> Iterator[str]:
    """Yield the folders that a path is in, from the outermost on, but not the root."""
    at = path.find("/", 1)
    while at > 0:
        yield path[: at + 1]
        at = path.find("/", at + 1)


def stem_of(path: str) -> str:
    """Return the name of a file without its suffix, which it shares with its test and its counterparts in other folders."""
    name = path.rpartition("/")[2]
    return _TEST.sub("", name.rpartition(".")[0] or name)
