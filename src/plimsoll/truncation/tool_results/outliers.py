"""Values of a JSON value that differ from their peers: errors, rare keys, rare values, numbers far outside.

Rows are the objects of one list, or of one object whose values are objects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import log2
from typing import Any, TypeAlias, cast

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.limits import TOOL_ARGUMENT_DEPTH_MAX
from plimsoll.truncation.json_text import Path
from plimsoll.truncation.tool_results.errors import containing, severity
from plimsoll.truncation.tool_results.wanted import best_matches

Container: TypeAlias = "dict[str, Any] | list[Any]"

OUTLIERS_MAX = 40
_ROWS_MIN = 6
_ROWS_SHARE = 0.8
_RARE_SHARE = 50
_DISTINCT_SHARE = 5
_NUMBERS_MIN = 8
_CATEGORY_CHARS = 80
_SHORT_CHARS = 200
_FAR = 3
_QUARTILES_OF = 2_000
"""The usual range of a column is taken from about as many of its numbers; all are held against it."""
_LIKE_SHOWN = 2
_RARE_KEYS_MANY = 8
_RARE_MANY = 8
_STATE, _LONG, _ONE_WORD = 3.0, 0.5, 0.25
_STATES = frozenset({"status", "state", "result", "outcome", "level", "severity", "health", "phase", "Status", "State"})
_ERROR_KEYS = frozenset(
    {"error", "errors", "exception", "failure", "failed", "err", "error_message", "errorMessage", "Error"}
)
_RARE_KEY, _RARE_VALUE, _OTHER_KIND, _FAR_NUMBER, _ERROR_KEY = 2.0, 1.5, 1.0, 1.0, 2.0
_DIGITS = str.maketrans("", "", "0123456789")


class Outlier(NamedTuple):
    """One value that differs, and how much."""

    score: float
    path: Path


class _Found(NamedTuple):
    """The containers of a value, outer ones before inner ones, each with the place of its parent and the key that leads to it."""

    containers: list[Container]
    parents: list[int]
    keys: list[Any]

    def path(self, at: int, key: Any) -> Path:
        """The path of a child of the container at `at`."""
        steps: list[tuple[Container, Any]] = []
        while at >= 0:
            steps.append((self.containers[at], key))
            at, key = self.parents[at], self.keys[at]
        return tuple(reversed(steps))


def find_outliers(value: Container, stems: Sequence[str], query: str | None = None) -> list[Outlier]:
    """The values that differ most from their peers, at most OUTLIERS_MAX, the most different first. Takes linear time.

    Args:
        value: A JSON list or object.
        stems: The stems of error words in its text.
        query: What is looked for: values that have its rare words count most.

    """
    found = _containers(value)
    tables = [container for container in found.containers if len(container) >= _ROWS_MIN and is_rows(container)]
    scores: dict[tuple[int, Any], float] = {}
    owners: dict[tuple[int, Any], Container] = {}
    for owner, key, score in chain(
        _errors(found.containers, stems), *map(_odd_cells, tables), _wanted(found.containers, query) if query else ()
    ):
        place = id(owner), key
        scores[place] = scores.get(place, 0.0) + score
        owners[place] = owner
    return _most_different(found, scores, owners)


def _most_different(
    found: _Found, scores: Mapping[tuple[int, Any], float], owners: Mapping[tuple[int, Any], Container]
) -> list[Outlier]:
    likes = {place: _like(owner, place[1]) for place, owner in owners.items()}
    counts = Counter(likes.values())
    places = {id(container): at for at, container in enumerate(found.containers)} if scores else {}
    outliers: list[Outlier] = []
    shown = Counter[Any]()
    for place in sorted(likes, key=lambda place: log2(counts[likes[place]]) / 2 - scores[place]):
        shown[likes[place]] += 1
        if shown[likes[place]] <= _LIKE_SHOWN and len(outliers) < OUTLIERS_MAX and place[0] in places:
            outliers.append(Outlier(scores[place], found.path(places[place[0]], place[1])))
    return outliers


def _containers(value: Container) -> _Found:
    """All containers down to TOOL_ARGUMENT_DEPTH_MAX that are not empty."""
    containers, parents, keys = [value], [-1], list[Any]([None])
    first = 0
    for _ in range(TOOL_ARGUMENT_DEPTH_MAX):
        last = len(containers)
        for at in range(first, last):
            for key, child in _items(containers[at]):
                if isinstance(child, (dict, list)) and child:
                    containers.append(child)
                    parents.append(at)
                    keys.append(key)
        first = last
    return _Found(containers, parents, keys)


def _items(container: Container) -> Iterable[tuple[Any, Any]]:
    return container.items() if isinstance(container, dict) else enumerate(container)


def _like(container: Container, key: Any) -> Any:
    """What outliers of one kind have in common: the key, and the value without its digits."""
    value = container[key]
    name = key if isinstance(key, str) else ""
    return name, value[:_CATEGORY_CHARS].translate(_DIGITS) if isinstance(value, str) else type(value).__name__


def _errors(containers: Sequence[Container], stems: Sequence[str]) -> Iterator[tuple[Container, Any, float]]:
    """The values that report an error, by their words or by the name of their key."""
    if stems:
        yield from _error_texts(containers, stems)
    for container in containers:
        if container.__class__ is dict and not _ERROR_KEYS.isdisjoint(container):
            for key in _ERROR_KEYS & container.keys():
                if container[key] and not isinstance(container[key], (dict, list)):
                    yield container, key, _ERROR_KEY


def _error_texts(containers: Sequence[Container], stems: Sequence[str]) -> Iterator[tuple[Container, Any, float]]:
    owners: list[Container] = []  # two lists and not one of pairs, which the collector would walk again and again
    keys: list[Any] = []
    starts: list[str] = []
    for container in containers:
        for key, text in _items(container):
            if text.__class__ is str and text:
                owners.append(container)
                keys.append(key)
                starts.append(text[:_SHORT_CHARS])
    severities: dict[str, int] = {}
    for at, found in containing(starts, stems).items():
        start = starts[at]
        level = severities.get(start)
        if level is None:
            level = severities[start] = severity(start, found)
        if level:
            yield owners[at], keys[at], _weight(keys[at], owners[at][keys[at]], level)


def _wanted(containers: Sequence[Container], query: str) -> Iterator[tuple[Container, Any, float]]:
    """The values that match a query best, by their text, their number or their key."""
    owners: list[Container] = []
    keys: list[Any] = []
    texts: list[str] = []
    for container in containers:
        for key, value in _items(container):
            owners.append(container)
            keys.append(key)
            text = str(value) if value.__class__ in _LEAVES else ""
            texts.append(f"{key} {text}" if container.__class__ is dict else text)
    for place, match in enumerate(best_matches(texts, query)):
        yield owners[match.at], keys[match.at], (_NAMED if match.is_named else _WANTED) / (1 + place)


_LEAVES = frozenset({str, int, float})
_NAMED, _WANTED = 40.0, 3.0


def _weight(key: Any, text: str, level: int) -> float:
    """How much an error in a text counts: less in a long one or in a word such as the name of a class, most in a state."""
    if key in _STATES:
        return _STATE
    return level * (_LONG if len(text) > _SHORT_CHARS else _ONE_WORD if text.isidentifier() else 1.0)


def _odd_cells(container: Container) -> Iterator[tuple[Container, Any, float]]:
    """The cells of rows that differ from the other cells of their column, or have a column for themselves."""
    rows = [child for _, child in _items(container) if isinstance(child, dict)]
    columns = _columns(rows)
    rare_max = max(1, len(rows) // _RARE_SHARE)
    rare = sum(len(owners) <= rare_max for owners in columns.values())
    for key, owners in columns.items():
        if len(owners) <= rare_max:
            yield from ((owner, key, _RARE_KEY / (1 + rare / _RARE_KEYS_MANY)) for owner in owners)
        elif len(owners) >= _ROWS_MIN:
            cells = [owner[key] for owner in owners]
            yield from ((owners[at], key, score) for at, score in odd_values(cells))
            inner_rows = [cell for cell in cells if cell.__class__ is dict]
            yield from _odd_inner_cells(inner_rows, rare_max) if inner_rows else ()


def _odd_inner_cells(rows: Sequence[dict[str, Any]], rare_max: int) -> Iterator[tuple[Container, Any, float]]:
    """The odd cells of objects that are the cells of one column."""
    for key, owners in _columns(rows).items():
        if len(owners) >= max(_ROWS_MIN, rare_max + 1):
            yield from ((owners[at], key, score) for at, score in odd_values([owner[key] for owner in owners]))


def _columns(rows: Sequence[dict[str, Any]]) -> dict[str, Sequence[dict[str, Any]]]:
    """The rows that have each key."""
    counts = Counter(chain.from_iterable(rows))
    columns: dict[str, Sequence[dict[str, Any]]] = {
        key: rows if count == len(rows) else [] for key, count in counts.items()
    }
    partial = {key for key, count in counts.items() if count < len(rows)}
    for row in rows if partial else ():
        for key in partial.intersection(row) if len(partial) < len(row) else row:
            if key in partial:
                cast("list[dict[str, Any]]", columns[key]).append(row)
    return columns


def is_rows(container: Container) -> bool:
    """Whether a list or object is one of rows: most of its values are objects, and there are a few."""
    objects = list(map(type, container.values() if isinstance(container, dict) else container)).count(dict)
    return objects >= max(_ROWS_MIN, len(container) * _ROWS_SHARE)


def odd_values(values: Sequence[Any]) -> Iterator[tuple[int, float]]:
    """Indexes of the values of a column that are rare among few, of another kind, or far outside."""
    kinds = Counter(map(type, values))
    if len(kinds) > 1 and len(values) - kinds.most_common(1)[0][1] <= max(1, len(values) // _RARE_SHARE):
        usual = kinds.most_common(1)[0][0]
        yield from ((at, _OTHER_KIND) for at, value in enumerate(values) if type(value) is not usual)
    if str in kinds or bool in kinds:
        yield from _rare_values(values, all_categories=kinds.keys() <= {str, bool})
    if int in kinds or float in kinds:
        yield from _far_numbers(values, all_numbers=kinds.keys() <= {int, float})


def _rare_values(values: Sequence[Any], *, all_categories: bool) -> Iterator[tuple[int, float]]:
    counts = Counter(values if all_categories else filter(_is_category, values))
    if not 1 < len(counts) <= max(2, len(values) // _DISTINCT_SHARE):
        return
    few = _rarest({word: count for word, count in counts.items() if _is_category(word)}, len(values))
    if few:
        score = _RARE_VALUE / (1 + (len(few) - 1) / _RARE_MANY)
        yield from ((at, score) for at, value in enumerate(values) if _is_category(value) and value in few)


def _rarest(counts: Mapping[Any, int], size: int) -> set[Any]:
    """The rarest values that together make up at most a small share of all."""
    few, left = set(), max(1, size // _RARE_SHARE)
    for word, count in sorted(counts.items(), key=lambda item: item[1]):
        left -= count
        if left < 0:
            break
        few.add(word)
    return few


def _far_numbers(values: Sequence[Any], *, all_numbers: bool) -> Iterator[tuple[int, float]]:
    numbers = values if all_numbers else [value for value in values if type(value) in {int, float}]
    if len(numbers) < _NUMBERS_MIN:
        return
    ordered = sorted(numbers[:: max(1, len(numbers) // _QUARTILES_OF)])
    low, high = ordered[len(ordered) // 4], ordered[len(ordered) * 3 // 4]
    margin = _FAR * (high - low)
    if margin and (min(numbers) < low - margin or max(numbers) > high + margin):
        for at, value in enumerate(values):
            if type(value) in {int, float} and not low - margin <= value <= high + margin:
                yield at, _FAR_NUMBER


def _is_category(value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and len(value) <= _CATEGORY_CHARS)
