"""Cut JSON text so that it stays JSON: long strings first, then long lists and objects, never the top-level keys."""

from __future__ import annotations

import json
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from plimsoll.brief import pluralize
from plimsoll.dataclass import dataclass
from plimsoll.limits import TOOL_ARGUMENT_DEPTH_MAX
from plimsoll.regex import regex
from plimsoll.truncation.marker import MarkerLanguage, language_of
from plimsoll.truncation.measure import fair_cap, tokens_about, tokens_if_fits
from plimsoll.truncation.text import Cut, check_options, cut_text

if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from plimsoll.protocols import TokenCounter

_CUT_KEY = "_cut"
_STRING_CHARS_MIN = 48
"""Lists are shortened before strings are cut to fewer characters than this."""
_ROUNDS_MAX = 6
_SAMPLE_STRINGS = 12
_SAMPLE_CHARS = 200
_SURROGATE = regex(r"[\ud800-\udfff]")


def cut_json(text: str, *, tokens_max: int, counter: TokenCounter, language: MarkerLanguage = "auto") -> Cut:
    """Cut JSON text to at most `tokens_max` tokens by `counter.upper`; it stays JSON. A text that fits is unchanged.

    The longest strings lose their middle first; if that is not enough, lists and inner objects keep only their ends.
    Each cut is marked where it was made, and all top-level keys stay. Text that is not JSON, is nested too deep, or
    has too many keys becomes `{"_cut": "…"}` around its two ends. The shortest result is `{}`, also if it exceeds
    `tokens_max`.

    Raises:
        SettingError: If an option is invalid.
        FormatError: If `text` is not a str.

    """
    check_options(text, tokens_max, language)
    tokens = tokens_if_fits(text, tokens_max, counter)
    if tokens is not None:
        return Cut(text=text, tokens=tokens)
    value = parse_json(text)
    if language == "auto":
        language = language_of(text if value is None else sample_words(value))
    shorter = cut_value(value, tokens_max=tokens_max, counter=counter, language=language)
    if shorter is None:
        shorter = _wrapped(text, tokens_max, counter, language)
    return Cut(
        text=shorter,
        tokens=counter.upper(shorter),
        removed_chars=max(1, len(text) - len(shorter)),
        removed_tokens=max(0, tokens_about(text, counter)[0] - counter.count(shorter)),
    )


def parse_json(text: str) -> Any:
    """The value of JSON text, or None if it is null or invalid. NaN and Infinity are invalid."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def render_json(value: Any) -> str:
    """Compact JSON text. Only lone surrogates are escaped, because they cannot be encoded."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _refuse(word: str) -> None:
    raise ValueError(word)


def sample_words(value: Any) -> str:
    """Some of the text in a JSON value, unescaped."""
    strings = _Pruned(value, _SAMPLE_STRINGS, "en").strings[:_SAMPLE_STRINGS]
    return " ".join(container[key][:_SAMPLE_CHARS] for container, key in strings)


def unused_key(name: str, keys: Container[str]) -> str:
    """`name`, with underscores in front until it is not one of `keys`."""
    while name in keys:
        name = f"_{name}"
    return name


def cut_value(value: Any, *, tokens_max: int, counter: TokenCounter, language: MarkerLanguage = "en") -> str | None:
    """The JSON text of a value cut to `tokens_max`, or None if its keys alone do not fit. The value is not mutated."""
    if not isinstance(value, (dict, list, str)):
        return None
    try:
        return _ValueCut(value=value, tokens_max=tokens_max, counter=counter, language=language).text()
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class EscapedCounter:
    """Counts a text as it is inside a JSON string: escaped."""

    counter: TokenCounter

    @property
    def name(self) -> str:
        """The name of the underlying counter."""
        return self.counter.name

    @property
    def exact(self) -> bool:
        """Whether the underlying counter is exact."""
        return self.counter.exact

    def count(self, text: str) -> int:
        """Tokens of the escaped text."""
        return self.counter.count(render_json(text)[1:-1])

    def upper(self, text: str) -> int:
        """Upper bound of the tokens of the escaped text."""
        return self.counter.upper(render_json(text)[1:-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class _ValueCut:
    """One JSON value to cut."""

    value: Any
    tokens_max: int
    counter: TokenCounter
    language: MarkerLanguage

    def text(self) -> str | None:
        """The JSON text: first with fewer items, then with shorter strings. None if the keys alone do not fit.

        If no string needs to be cut, as many items stay as fit.
        """
        items, too_many = self._items_that_fit()
        if not self._fits(items, _STRING_CHARS_MIN if items else 0):
            return None
        if self._fits(items, None):
            items += bisect_left(range(items + 1, too_many), 1, key=lambda number: not self._fits(number, None))
        return self._with_cut_strings(_Pruned(self.value, items, self.language))

    def _items_that_fit(self) -> tuple[int, int]:
        """About how many items of each container fit with the shortest strings, and a number that does not fit."""
        items = too_many = min(_longest(self.value), self.tokens_max)  # an item costs at least a token
        while items > 0 and not self._fits(items, _STRING_CHARS_MIN):
            items, too_many = (items * 3 // 4 if items > 3 else items - 1), items
        return items, too_many

    def _fits(self, items: int, string_chars: int | None) -> bool:
        """Whether the value fits with this many items of each container and characters of each string (None: all)."""
        pruned = _Pruned(self.value, items, self.language)
        pruned.set_strings([text[:string_chars] for text in pruned.texts()])
        return tokens_if_fits(pruned.render(), self.tokens_max, self.counter) is not None

    def _with_cut_strings(self, pruned: _Pruned) -> str | None:
        """The JSON text with its longest strings cut, or None if it does not fit."""
        text = pruned.render()
        if tokens_if_fits(text, self.tokens_max, self.counter) is not None:
            return text
        escaped = EscapedCounter(counter=self.counter)
        texts = pruned.texts()
        pruned.set_strings([""] * len(texts))
        room = self.tokens_max - self.counter.upper(pruned.render())
        for _ in range(_ROUNDS_MAX):
            cap = fair_cap([_size(text, room, escaped) for text in texts], room)
            pruned.set_strings([_ends_of_text(text, cap, escaped, self.language) for text in texts])
            text = pruned.render()
            excess = self.counter.upper(text) - self.tokens_max
            if excess <= 0:
                return text
            room = max(0, room - max(excess, room // 8))
        return None


class _Pruned:
    """A copy of a value in which containers longer than `items` keep only their ends. All top-level keys stay."""

    __slots__ = ("_items", "_language", "_root", "strings")

    def __init__(self, value: Any, items: int, language: MarkerLanguage) -> None:
        self._items = items
        self._language = language
        self._root: list[Any] = [None]
        self.strings: list[tuple[Any, Any]] = []
        """(container, key or index) of each string in the copy."""
        self._put(value, self._root, 0, 0)

    def render(self) -> str:
        """The JSON text of the copy."""
        return render_json(self._root[0])

    def texts(self) -> list[str]:
        """The strings of the copy."""
        return [container[key] for container, key in self.strings]

    def set_strings(self, texts: Sequence[str]) -> None:
        """Replace the strings of the copy, in the order of `texts()`."""
        for (container, key), text in zip(self.strings, texts, strict=True):
            container[key] = text

    def _put(self, value: Any, container: Any, key: Any, depth: int) -> None:
        """Set `container[key]` to the pruned copy of a value at `depth`; the top level has depth 0."""
        match value:
            case str():
                container[key] = value
                self.strings.append((container, key))
            case list() | dict() if depth and (depth >= TOOL_ARGUMENT_DEPTH_MAX or (self._items == 0 and value)):
                container[key] = self._gap(len(value))
            case list():
                container[key] = self._ends_of_list(value, depth)
            case dict():
                container[key] = self._ends_of_dict(value, depth)
            case _:
                container[key] = value

    def _ends_of_list(self, value: list[Any], depth: int) -> list[Any]:
        chosen = _ends(len(value), self._items)
        copy: list[Any] = [None] * len(chosen)
        for place, index in enumerate(chosen):
            if index is None:
                copy[place] = self._gap(len(value) - len(chosen) + 1)
            else:
                self._put(value[index], copy, place, depth + 1)
        return copy

    def _ends_of_dict(self, value: dict[str, Any], depth: int) -> dict[str, Any]:
        names = list(value)
        chosen = _ends(len(names), self._items if depth else len(names))
        copy: dict[str, Any] = {}
        for index in chosen:
            if index is None:
                copy[unused_key(_CUT_KEY, value)] = self._gap(len(value) - len(chosen) + 1)
            else:
                self._put(value[names[index]], copy, names[index], depth + 1)
        return copy

    def _gap(self, count: int) -> str:
        return f"[… 已略去 {count:,} 项 …]" if self._language == "zh" else f"[… {pluralize(count, 'item')} cut …]"


def _longest(value: Any) -> int:
    """The length of the longest list or object in a value, down to TOOL_ARGUMENT_DEPTH_MAX levels."""
    longest, layer = 0, [value]
    for _ in range(TOOL_ARGUMENT_DEPTH_MAX):
        containers = [inner for inner in layer if isinstance(inner, (dict, list))]
        longest = max((longest, *map(len, containers)))
        layer = [item for inner in containers for item in (inner.values() if isinstance(inner, dict) else inner)]
    return longest


def _ends(size: int, items: int) -> list[int | None]:
    """Indexes of `items` of `size` items, two thirds of them from the front, with None in place of the others."""
    if size <= items:
        return list(range(size))
    tail = items // 3
    return [*range(items - tail), None, *range(size - tail, size)]


def _size(text: str, room: int, escaped: EscapedCounter) -> int:
    tokens = tokens_if_fits(text, room, escaped)
    return room + 1 if tokens is None else tokens


def _ends_of_text(text: str, tokens_max: int, escaped: EscapedCounter, language: MarkerLanguage) -> str:
    return cut_text(text, tokens_max=tokens_max, counter=escaped, keep="both", language=language).text


def _wrapped(text: str, tokens_max: int, counter: TokenCounter, language: MarkerLanguage) -> str:
    """The two ends of a text as the only string of an object."""
    room = tokens_max - counter.upper(render_json({_CUT_KEY: ""}))
    while room > 0:
        wrapped = render_json({_CUT_KEY: _ends_of_text(text, room, EscapedCounter(counter=counter), language)})
        excess = counter.upper(wrapped) - tokens_max
        if excess <= 0:
            return wrapped
        room -= max(excess, room // 8)
    return "{}"
