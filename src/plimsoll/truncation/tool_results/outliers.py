"""Values of a JSON value that differ from their peers: errors, rare keys, rare values, numbers far outside.

Rows are the objects of one list, or of one object whose values are objects.
"""

from __future__ import annotations

from collections import Counter
from math import log2
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from plimsoll.limits import TOOL_ARGUMENT_DEPTH_MAX
from plimsoll.truncation.json_text import Path
from plimsoll.truncation.tool_results.errors import severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

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
_LIKE_SHOWN = 2
_RARE_KEYS_MANY = 8
_STATE, _LONG, _ONE_WORD = 1.5, 0.5, 0.25
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
    """A container, and the one above it with the key that leads here."""

    container: Container
    above: _Found | None
    key: Any
    depth: int

    def path(self, key: Any) -> Path:
        """The path of a child."""
        steps: list[tuple[Container, Any]] = []
        found = self
        while found.above is not None:
            steps.append((found.container, key))
            found, key = found.above, found.key
        steps.append((found.container, key))
        return tuple(reversed(steps))


def find_outliers(value: Container, stems: Sequence[str]) -> list[Outlier]:
    """The values that differ most from their peers, at most OUTLIERS_MAX, the most different first. Takes linear time.

    Args:
        value: A JSON list or object.
        stems: The stems of error words in its text.

    """
    scores: dict[tuple[int, Any], float] = {}
    found_by_id: dict[int, _Found] = {}
    severities: dict[str, int] = {}
    for found in _containers(value):
        found_by_id[id(found.container)] = found
        container = found.container
        parts = _errors(container, stems, severities)
        if len(container) >= _ROWS_MIN:
            parts += _odd_cells(container)
        for owner, key, score in parts:
            place = id(owner), key
            scores[place] = scores.get(place, 0.0) + score
    likes = {place: _like(found_by_id[place[0]].container, place[1]) for place in scores if place[0] in found_by_id}
    counts = Counter(likes.values())
    ranked = sorted(likes, key=lambda place: log2(counts[likes[place]]) / 2 - scores[place])
    outliers: list[Outlier] = []
    shown = Counter[Any]()
    for place in ranked:
        shown[likes[place]] += 1
        if shown[likes[place]] <= _LIKE_SHOWN and len(outliers) < OUTLIERS_MAX:
            outliers.append(Outlier(scores[place], found_by_id[place[0]].path(place[1])))
    return outliers


def _containers(value: Container) -> Iterator[_Found]:
    """All containers down to TOOL_ARGUMENT_DEPTH_MAX, outer ones before inner ones, in their order."""
    layer = [_Found(value, None, None, 0)]
    while layer:
        yield from layer
        layer = [
            _Found(child, found, key, found.depth + 1)
            for found in layer
            if found.depth < TOOL_ARGUMENT_DEPTH_MAX
            for key, child in _items(found.container)
            if isinstance(child, (dict, list)) and child
        ]


def _items(container: Container) -> Iterable[tuple[Any, Any]]:
    return container.items() if isinstance(container, dict) else enumerate(container)


def _like(container: Container, key: Any) -> Any:
    """What outliers of one kind have in common: the key, and the value without its digits."""
    value = container[key]
    name = key if isinstance(key, str) else ""
    return name, value[:_CATEGORY_CHARS].translate(_DIGITS) if isinstance(value, str) else type(value).__name__


def _errors(
    container: Container, stems: Sequence[str], severities: dict[str, int]
) -> list[tuple[Container, Any, float]]:
    """The values that report an error, by their words or by the name of their key."""
    found: list[tuple[Container, Any, float]] = []
    for key, value in _items(container):
        if value.__class__ is str:
            start = value[:_SHORT_CHARS]
            level = severities.get(start)
            if level is None:
                level = severities[start] = severity(start, stems) if stems else 0
            if level:
                found.append((container, key, level * _weight(key, value)))
        if key in _ERROR_KEYS and value and not isinstance(value, (dict, list)):
            found.append((container, key, _ERROR_KEY))
    return found


def _weight(key: Any, text: str) -> float:
    """How much an error in a text counts: less in a long one or in a word such as the name of a class, more in a state."""
    if key in _STATES:
        return _STATE
    return _LONG if len(text) > _SHORT_CHARS else _ONE_WORD if text.isidentifier() else 1.0


def _odd_cells(container: Container) -> Iterator[tuple[Container, Any, float]]:
    """The cells of rows that differ from the other cells of their column, or have a column for themselves."""
    if not is_rows(container):
        return
    rows = [child for _, child in _items(container) if isinstance(child, dict)]
    columns: dict[tuple[Any, Any], list[tuple[Container, Any]]] = {}
    for row in rows:
        for key, value in row.items():
            columns.setdefault((key, None), []).append((row, value))
            if isinstance(value, dict):
                for inner, cell in value.items():
                    columns.setdefault((key, inner), []).append((value, cell))
    rare_max = max(1, len(rows) // _RARE_SHARE)
    rare = sum(len(cells) <= rare_max for cells in columns.values())
    for (key, inner), cells in columns.items():
        name = key if inner is None else inner
        if len(cells) <= rare_max:
            score = _RARE_KEY / (1 + rare / _RARE_KEYS_MANY) if inner is None else 0.0
            yield from ((owner, name, score) for owner, _ in cells if score)
        elif len(cells) >= _ROWS_MIN:
            yield from ((cells[at][0], name, score) for at, score in odd_values([value for _, value in cells]))


def is_rows(container: Container) -> bool:
    """Whether a list or object is one of rows: most of its values are objects, and there are a few."""
    objects = sum(value.__class__ is dict for _, value in _items(container))
    return objects >= max(_ROWS_MIN, len(container) * _ROWS_SHARE)


def odd_values(values: Sequence[Any]) -> Iterator[tuple[int, float]]:
    """Indexes of the values of a column that are rare among few, of another kind, or far outside."""
    kinds = Counter(map(type, values))
    if len(kinds) > 1 and len(values) - kinds.most_common(1)[0][1] <= max(1, len(values) // _RARE_SHARE):
        usual = kinds.most_common(1)[0][0]
        yield from ((at, _OTHER_KIND) for at, value in enumerate(values) if type(value) is not usual)
    counts = (
        Counter(values) if kinds.keys() <= {str, bool} else Counter(value for value in values if _is_category(value))
    )
    if 1 < len(counts) <= max(2, len(values) // _DISTINCT_SHARE):
        few = {
            word for word, count in counts.items() if _is_category(word) and count <= max(1, len(values) // _RARE_SHARE)
        }
        yield from ((at, _RARE_VALUE) for at, value in enumerate(values) if _is_category(value) and value in few)
    numbers = sorted(value for value in values if type(value) in {int, float}) if {int, float} & kinds.keys() else []
    if len(numbers) >= _NUMBERS_MIN:
        low, high = numbers[len(numbers) // 4], numbers[len(numbers) * 3 // 4]
        margin = _FAR * (high - low)
        if margin:
            far = ((at, value) for at, value in enumerate(values) if type(value) in {int, float})
            yield from ((at, _FAR_NUMBER) for at, value in far if not low - margin <= value <= high + margin)


def _is_category(value: Any) -> bool:
    return isinstance(value, bool) or (isinstance(value, str) and len(value) <= _CATEGORY_CHARS)
