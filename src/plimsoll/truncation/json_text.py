"""Cut JSON text so that it stays JSON: long strings first, then long lists and objects, never the top-level keys."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from plimsoll.formats.wire import parse_json
from plimsoll.light.brief import pluralize
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.light.regex import regex
from plimsoll.limits import TOOL_ARGUMENT_DEPTH_MAX
from plimsoll.truncation.marker import MarkerLanguage, language_of
from plimsoll.truncation.measure import fair_cap, tokens_about, tokens_if_fits
from plimsoll.truncation.text import Cut, check_options, cut_text

if TYPE_CHECKING:
    from plimsoll.protocols import TokenCounter

_CUT_KEY = "_cut"
_STRING_CHARS_MIN = 48
"""Lists are shortened before strings are cut to fewer characters than this."""
_FEW_ITEMS = 8
_FEW_STRING_CHARS_MIN = 16
"""Containers of at most _FEW_ITEMS stay whole while strings of this many characters fit: a key tells more than a long string."""
_OUTLIER_CHARS_MIN = 80
_OUTLIERS_FEW = 3
_NODES_MIN = 64
_PRECISION = 16
_ROUNDS_MAX = 6
_SAMPLE_STRINGS = 12
_SAMPLE_CHARS = 200
_SURROGATE = regex(r"[\ud800-\udfff]")


Path: TypeAlias = "tuple[tuple[dict[str, Any] | list[Any], Any], ...]"
"""Containers of a JSON value from the outermost to the innermost, each with the key or index of the next."""


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


def render_json(value: Any) -> str:
    """Compact JSON text. Only lone surrogates are escaped, because they cannot be encoded."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def sample_words(value: Any) -> str:
    """Some of the text in a JSON value, unescaped."""
    layer, samples = [value], list[str]()
    for _ in range(TOOL_ARGUMENT_DEPTH_MAX):
        samples += [inner[:_SAMPLE_CHARS] for inner in layer if isinstance(inner, str)]
        containers = [inner for inner in layer[:_SAMPLE_STRINGS] if isinstance(inner, (dict, list))]
        if len(samples) >= _SAMPLE_STRINGS or not containers:
            break
        children = (inner.values() if isinstance(inner, dict) else inner for inner in containers)
        layer = [item for held in children for item in islice(held, _SAMPLE_STRINGS)]
    return " ".join(samples[:_SAMPLE_STRINGS])


def unused_key(name: str, keys: Container[str]) -> str:
    """`name`, with underscores in front until it is not one of `keys`."""
    while name in keys:
        name = f"_{name}"
    return name


def cut_value(
    value: Any,
    *,
    tokens_max: int,
    counter: TokenCounter,
    language: MarkerLanguage = "en",
    outliers: Sequence[Path] = (),
) -> str | None:
    """The JSON text of a value cut to `tokens_max`, or None if its keys alone do not fit. The value is not mutated.

    `outliers` are paths of items that stay before others, the most important first: as many as fit.
    """
    if not isinstance(value, (dict, list, str)):
        return None
    try:
        return _ValueCut(
            value=value, tokens_max=tokens_max, counter=counter, language=language, outliers=outliers
        ).text()
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
    outliers: Sequence[Path]

    def text(self) -> str | None:
        """The JSON text: first with fewer items, then with shorter strings. None if the keys alone do not fit.

        As many items of each container stay as fit with strings of _STRING_CHARS_MIN. Where all strings fit as they
        are, containers keep more items, from the first on, as long as there is room.
        """
        size = _Size(always=self._outliers_that_fit())
        whole = replace(size, items=_FEW_ITEMS)
        if self._fits(whole, _FEW_STRING_CHARS_MIN) and not self._is_cut(whole):
            size = whole
        elif self._fits(size, _STRING_CHARS_MIN):
            size = self._most(size, lambda number: replace(size, items=number), self.tokens_max, _STRING_CHARS_MIN)
        elif not self._fits(size, 0):
            return None
        if self._fits(size, None):
            more = replace(size, more_items=2 * size.items + 1)
            size = self._most(more, lambda number: replace(more, more_containers=number), 2 * self.tokens_max, None)
        pruned = self._pruned(size)
        return None if pruned is None else self._with_cut_strings(pruned)

    def _outliers_that_fit(self) -> Mapping[int, set[Any]]:
        """The keys to keep by the id of their container, for the outliers that fit into two thirds of the room or few into all."""
        count = len(self.outliers)
        while count:
            always = _keys_of(self.outliers[:count])
            share = self.tokens_max * 2 // 3 if count > _OUTLIERS_FEW else self.tokens_max
            if self._fits(_Size(always=always), _OUTLIER_CHARS_MIN, share):
                return always
            count = count * 2 // 3
        return {}

    def _most(self, size: _Size, sized: Callable[[int], _Size], number_max: int, string_chars: int | None) -> _Size:
        """The size of the greatest number that fits, or `size`, which fits. Tries small numbers first: they are cheap."""
        fitting, too_many = 0, 1
        while too_many <= number_max and self._fits(sized(too_many), string_chars):
            if not self._is_cut(sized(too_many)):
                return sized(too_many)
            fitting, too_many = too_many, too_many * 2
        while too_many - fitting > max(1, fitting // _PRECISION):
            middle = (fitting + too_many) // 2
            fitting, too_many = (middle, too_many) if self._fits(sized(middle), string_chars) else (fitting, middle)
        return sized(fitting) if fitting else size

    def _is_cut(self, size: _Size) -> bool:
        pruned = self._pruned(size)
        return pruned is None or pruned.is_cut

    def _pruned(self, size: _Size) -> _Pruned | None:
        """The pruned copy, or None if it has too many items to fit."""
        try:
            return _Pruned(self.value, size, self.language, 2 * self.tokens_max + _NODES_MIN)
        except _TooManyNodes:
            return None

    def _fits(self, size: _Size, string_chars: int | None, tokens_max: int | None = None) -> bool:
        """Whether the value fits at this size, with so many characters of each string (None: all)."""
        pruned = self._pruned(size)
        if pruned is None:
            return False
        pruned.set_strings([text[:string_chars] for text in pruned.texts()])
        tokens_max = self.tokens_max if tokens_max is None else tokens_max
        return tokens_if_fits(pruned.render(), tokens_max, self.counter) is not None

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Size:
    """How much stays of a value: `items` of each container, `more_items` of the first `more_containers` that are longer."""

    items: int = 0
    more_items: int = 0
    more_containers: int = 0
    always: Mapping[int, set[Any]]
    """Keys that stay in any case, by the id of their container."""


class _TooManyNodes(Exception):
    """A pruned copy has more items than fit."""


class _Pruned:
    """A copy of a value in which containers longer than `size.items` keep only their ends. All top-level keys stay."""

    __slots__ = ("_language", "_longer", "_nodes", "_nodes_max", "_root", "_size", "is_cut", "strings")

    def __init__(self, value: Any, size: _Size, language: MarkerLanguage, nodes_max: int) -> None:
        self._size = size
        self._language = language
        self._root: list[Any] = [None]
        self._nodes = self._longer = 0
        self._nodes_max = nodes_max
        self.is_cut = False
        self.strings: list[tuple[Any, Any]] = []
        """(container, key or index) of each string in the copy."""
        self._put(value, self._root, 0, 0)

    def render(self) -> str:
        return render_json(self._root[0])

    def texts(self) -> list[str]:
        return [container[key] for container, key in self.strings]

    def set_strings(self, texts: Sequence[str]) -> None:
        """Replace the strings of the copy, in the order of `texts()`."""
        for (container, key), text in zip(self.strings, texts, strict=True):
            container[key] = text

    def _put(self, value: Any, container: Any, key: Any, depth: int) -> None:
        """Set `container[key]` to the pruned copy of a value at `depth`; the top level has depth 0."""
        self._nodes += 1
        if self._nodes > self._nodes_max:
            raise _TooManyNodes
        match value:
            case str():
                container[key] = value
                self.strings.append((container, key))
            case list() | dict() if depth >= TOOL_ARGUMENT_DEPTH_MAX:
                container[key] = self._gap(len(value))
            case list() | dict():
                keep_all = isinstance(value, dict) and not depth
                chosen = range(len(value)) if keep_all else self._chosen(value)
                if value and not chosen and depth:
                    container[key] = self._gap(len(value))
                elif isinstance(value, list):
                    container[key] = self._some_of_list(value, chosen, depth)
                else:
                    container[key] = self._some_of_dict(value, chosen, depth)
            case _:
                container[key] = value

    def _chosen(self, value: list[Any] | dict[str, Any]) -> Sequence[int]:
        """The indexes of the items that stay, two thirds of them from the front."""
        items, size = self._size.items, len(value)
        if size > items:
            self._longer += 1
            items = self._size.more_items if self._longer <= self._size.more_containers else items
        if size <= items:
            return range(size)
        tail = items // 3
        ends = {*range(items - tail), *range(size - tail, size)}
        always = self._size.always.get(id(value), ())
        if always:
            ends.update(index for index, key in enumerate(value) if key in always) if isinstance(
                value, dict
            ) else ends.update(always)
        return sorted(ends)

    def _some_of_list(self, value: list[Any], chosen: Sequence[int], depth: int) -> list[Any]:
        copy: list[Any] = []
        expected = 0
        for index in (*chosen, len(value)):
            if index > expected:
                copy.append(self._gap(index - expected))
            if index < len(value):
                copy.append(None)
                self._put(value[index], copy, len(copy) - 1, depth + 1)
            expected = index + 1
        return copy

    def _some_of_dict(self, value: dict[str, Any], chosen: Sequence[int], depth: int) -> dict[str, Any]:
        names = list(value)
        copy: dict[str, Any] = {}
        for place, index in enumerate(chosen):
            if index > place and (place == 0 or chosen[place - 1] == place - 1):
                copy[unused_key(_CUT_KEY, value)] = self._gap(len(value) - len(chosen))
            self._put(value[names[index]], copy, names[index], depth + 1)
        if len(chosen) == (chosen[-1] + 1 if chosen else 0) < len(value):
            copy[unused_key(_CUT_KEY, value)] = self._gap(len(value) - len(chosen))
        return copy

    def _gap(self, count: int) -> str:
        self.is_cut = True
        return f"[… 已略去 {count:,} 项 …]" if self._language == "zh" else f"[… {pluralize(count, 'item')} cut …]"


def _keys_of(paths: Sequence[Path]) -> Mapping[int, set[Any]]:
    """The keys on the paths by the id of their container, and the first key of each object that holds the last one."""
    keys: dict[int, set[Any]] = {}
    for path in paths:
        for container, key in path:
            keys.setdefault(id(container), set()).add(key)
        container = path[-1][0]
        if isinstance(container, dict):
            keys[id(container)].add(next(iter(container)))
    return keys


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
