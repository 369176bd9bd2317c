"""Cut JSON text so that it stays JSON: long strings first, then long lists, the top-level keys last of all."""

from __future__ import annotations

import json
from bisect import bisect_left
from dataclasses import field
from typing import TYPE_CHECKING, Any

from plimsoll.brief import pluralize
from plimsoll.dataclass import dataclass
from plimsoll.errors import FormatError
from plimsoll.limits import TOOL_ARGUMENT_DEPTH_MAX
from plimsoll.regex import regex
from plimsoll.truncation.marker import MarkerLanguage, language_of
from plimsoll.truncation.measure import fair_cap, tokens_about, tokens_if_fits
from plimsoll.truncation.text import Cut, cut_text
from plimsoll.validation import integer, one_of

if TYPE_CHECKING:
    from plimsoll.protocols import TokenCounter

_CUT_KEY = "_cut"
_STRING_CHARS_MIN = 48
"""Lists get shorter before strings are cut below about this."""
_ROUNDS_MAX = 6
_WORDS_ITEMS = 12
_WORDS_CHARS = 200
_SURROGATE = regex(r"[\ud800-\udfff]")


def cut_json(text: str, *, tokens_max: int, counter: TokenCounter, language: MarkerLanguage = "auto") -> Cut:
    """JSON text in at most `tokens_max` tokens by `counter.upper`, still JSON; unchanged when it fits.

    The longest strings lose their middle first; where that is not enough, lists and inner objects keep their ends.
    Every cut is marked where it was made, and all top-level keys stay. Text that is no JSON, nests too deep for the
    parser, or whose keys alone are too many becomes `{"_cut": "…"}` around its two ends. The least is `{}`: a budget
    below that gets it all the same, for no shorter text is JSON.

    Raises SettingError for impossible options and FormatError when `text` is not a str.
    """
    if not isinstance(text, str):
        raise FormatError(f"a text is needed, not {type(text).__name__}")
    integer("tokens_max", tokens_max)
    one_of("language", language, ("auto", "en", "zh"))
    fitting = tokens_if_fits(text, tokens_max, counter)
    if fitting is not None:
        return Cut(text=text, tokens=fitting)
    value = parse_json(text)
    spoken = language_of(text if value is None else sample_words(value)) if language == "auto" else language
    shorter = cut_value(value, tokens_max=tokens_max, counter=counter, language=spoken)
    if shorter is None:
        shorter = _wrapped(text, tokens_max, counter, spoken)
    removed = max(0, tokens_about(text, counter)[0] - counter.count(shorter))
    return Cut(
        text=shorter,
        tokens=counter.upper(shorter),
        removed_chars=max(1, len(text) - len(shorter)),
        removed_tokens=removed,
    )


def parse_json(text: str) -> Any:
    """The value of strict JSON text; None when it is none, or null. NaN and Infinity are no JSON."""
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def render_json(value: Any) -> str:
    """JSON text without spare spaces. Characters stay as they are, save lone surrogates, which cannot be encoded."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _refuse(word: str) -> None:
    raise ValueError(word)


def sample_words(value: Any) -> str:
    """Some of the words in a JSON value, as they read and not as they are escaped."""
    strings = _prune(value, _WORDS_ITEMS, "en").strings[:_WORDS_ITEMS]
    return " ".join(container[key][:_WORDS_CHARS] for container, key in strings)


def cut_value(value: Any, *, tokens_max: int, counter: TokenCounter, language: MarkerLanguage = "en") -> str | None:
    """The JSON text of a value cut to `tokens_max`, or None when its frame alone does not fit. Changes nothing."""
    if not isinstance(value, (dict, list, str)):
        return None
    try:
        return _Cutting(value=value, tokens_max=tokens_max, counter=counter, language=language).text()
    except (ValueError, RecursionError):
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class EscapedCounter:
    """Counts a text as it stands inside a JSON string."""

    counter: TokenCounter

    @property
    def name(self) -> str:
        """The counter's own."""
        return self.counter.name

    @property
    def exact(self) -> bool:
        """The counter's own."""
        return self.counter.exact

    def count(self, text: str) -> int:
        """Tokens of the escaped text."""
        return self.counter.count(render_json(text)[1:-1])

    def upper(self, text: str) -> int:
        """Upper bound for the escaped text."""
        return self.counter.upper(render_json(text)[1:-1])


@dataclass(slots=True, kw_only=True)
class _Pruned:
    """A copy of a value with short lists, and where its strings are."""

    root: list[Any]
    strings: list[tuple[Any, Any]] = field(default_factory=list)
    """(container, key or index) of each string in the copy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cutting:
    """One value that is being cut."""

    value: Any
    tokens_max: int
    counter: TokenCounter
    language: MarkerLanguage

    def text(self) -> str | None:
        """The value in its room: fewer items first, then shorter strings. None where the frame alone does not fit.

        Where strings need not be cut, as many items stay as fit.
        """
        items, too_many = self._items_that_fit()
        if not self._fits(items, _STRING_CHARS_MIN if items else 0):
            return None
        if self._fits(items, None):
            items += bisect_left(range(items + 1, too_many), 1, key=lambda number: not self._fits(number, None))
        return _cut_strings(self.value, items, self.tokens_max, self.counter, self.language)

    def _items_that_fit(self) -> tuple[int, int]:
        """How many items of each list and inner object fit with the shortest strings, about; and a number that does not."""
        items = too_many = min(_longest(self.value), self.tokens_max)  # an item costs a token at the least
        while items > 0 and not self._fits(items, _STRING_CHARS_MIN):
            items, too_many = (items * 3 // 4 if items > 3 else items - 1), items
        return items, too_many

    def _fits(self, items: int, string_chars: int | None) -> bool:
        """Whether the value fits with so many items of each, and so much of each string, by default all of it."""
        pruned = _prune(self.value, items, self.language)
        for container, key in pruned.strings:
            container[key] = container[key][:string_chars]
        return tokens_if_fits(render_json(pruned.root[0]), self.tokens_max, self.counter) is not None


def _longest(value: Any) -> int:
    """The length of the longest list or inner object, as deep as they are looked at."""
    longest, layer = 0, [value]
    for _ in range(TOOL_ARGUMENT_DEPTH_MAX):
        containers = [inner for inner in layer if isinstance(inner, (dict, list))]
        longest = max((longest, *map(len, containers)))
        layer = [item for inner in containers for item in (inner.values() if isinstance(inner, dict) else inner)]
    return longest


def _prune(value: Any, items: int, language: MarkerLanguage) -> _Pruned:
    pruned = _Pruned(root=[None])
    _copy(value, items, language, pruned, (pruned.root, 0), 0)
    return pruned


def _copy(  # noqa: PLR0913, PLR0917 - one walk with its state
    value: Any, items: int, language: MarkerLanguage, pruned: _Pruned, place: tuple[Any, Any], depth: int
) -> None:
    """Put a copy of the value in its place, ends of long containers only. At `depth` 0 all keys stay."""
    container, key = place
    match value:
        case str():
            container[key] = value
            pruned.strings.append(place)
        case list() | dict() if depth and (depth >= TOOL_ARGUMENT_DEPTH_MAX or (items == 0 and value)):
            container[key] = _gap(len(value), language)
        case list():
            container[key] = _ends_of_list(value, items, language, pruned, depth)
        case dict():
            container[key] = _ends_of_dict(value, items, language, pruned, depth)
        case _:
            container[key] = value


def _ends_of_list(value: list[Any], items: int, language: MarkerLanguage, pruned: _Pruned, depth: int) -> list[Any]:
    chosen = _ends(len(value), items)
    copy: list[Any] = [None] * len(chosen)
    for place, index in enumerate(chosen):
        if index is None:
            copy[place] = _gap(len(value) - len(chosen) + 1, language)
        else:
            _copy(value[index], items, language, pruned, (copy, place), depth + 1)
    return copy


def _ends_of_dict(
    value: dict[str, Any], items: int, language: MarkerLanguage, pruned: _Pruned, depth: int
) -> dict[str, Any]:
    names = list(value)
    copy: dict[str, Any] = {}
    chosen = _ends(len(names), items if depth else len(names))
    for index in chosen:
        if index is None:
            copy[_unused(value)] = _gap(len(value) - len(chosen) + 1, language)
        else:
            _copy(value[names[index]], items, language, pruned, (copy, names[index]), depth + 1)
    return copy


def _ends(size: int, items: int) -> list[int | None]:
    """Indexes of `items` of `size` things, two thirds from the front, and None where the others were."""
    if size <= items:
        return list(range(size))
    tail = items // 3
    return [*range(items - tail), None, *range(size - tail, size)]


def _gap(count: int, language: MarkerLanguage) -> str:
    return f"[… 已略去 {count:,} 项 …]" if language == "zh" else f"[… {pluralize(count, 'item')} cut …]"


def _unused(value: dict[str, Any]) -> str:
    name = _CUT_KEY
    while name in value:
        name = f"_{name}"
    return name


def _cut_strings(
    value: Any, items: int, tokens_max: int, counter: TokenCounter, language: MarkerLanguage
) -> str | None:
    """The pruned value with its longest strings cut so that the whole takes `tokens_max`."""
    escaped = EscapedCounter(counter=counter)
    pruned = _prune(value, items, language)
    text = render_json(pruned.root[0])
    if tokens_if_fits(text, tokens_max, counter) is not None:
        return text
    whole_strings = [container[key] for container, key in pruned.strings]
    _put(pruned, [""] * len(whole_strings))
    room = tokens_max - counter.upper(render_json(pruned.root[0]))
    for _ in range(_ROUNDS_MAX):
        cap = fair_cap([_size(text, room, escaped) for text in whole_strings], room)
        _put(pruned, [_shorter(text, cap, escaped, language) for text in whole_strings])
        text = render_json(pruned.root[0])
        excess = counter.upper(text) - tokens_max
        if excess <= 0:
            return text
        room = max(0, room - max(excess, room // 8))
    return None


def _put(pruned: _Pruned, texts: list[str]) -> None:
    for (container, key), text in zip(pruned.strings, texts, strict=True):
        container[key] = text


def _size(text: str, room: int, escaped: EscapedCounter) -> int:
    tokens = tokens_if_fits(text, room, escaped)
    return room + 1 if tokens is None else tokens


def _shorter(text: str, cap: int, escaped: EscapedCounter, language: MarkerLanguage) -> str:
    return cut_text(text, tokens_max=cap, counter=escaped, keep="both", language=language).text


def _wrapped(text: str, tokens_max: int, counter: TokenCounter, language: MarkerLanguage) -> str:
    """Text that is no JSON, or cannot be cut as it: its two ends as the one string of an object."""
    room = tokens_max - counter.upper(render_json({_CUT_KEY: ""}))
    while room > 0:
        cut = _shorter(text, room, EscapedCounter(counter=counter), language)
        wrapped = render_json({_CUT_KEY: cut})
        excess = counter.upper(wrapped) - tokens_max
        if excess <= 0:
            return wrapped
        room -= max(excess, room // 8)
    return "{}"
