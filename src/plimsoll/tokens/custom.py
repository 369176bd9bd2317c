"""Token counters supplied by the caller: a function of a text, or an object with a `count` method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from inspect import iscoroutine
from itertools import count as numbers
from operator import index
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from plimsoll.errors import CounterError, ErrorCatcher, SettingError
from plimsoll.limits import SETTING_TOKENS_MAX
from plimsoll.validation import short_repr

if TYPE_CHECKING:
    from plimsoll.protocols import TokenCounter

ESTIMATE = "estimate"
"""Name of the estimating counter, which needs no vocabulary."""


class CountsText(Protocol):
    """The minimal interface of a counter."""

    def count(self, text: str, /) -> int:
        """Tokens of a text."""
        ...


CounterChoice: TypeAlias = "str | TokenCounter | CountsText | Callable[[str], int] | None"
"""The type of the option `counter`: None for the model's own, "estimate", or a caller's counter."""

_PROBE = "plimsoll"
_SERIALS = numbers(1)


class CustomCounter:
    """A TokenCounter around a caller's counter: validates its results, and raises CounterError for its exceptions."""

    __slots__ = ("_count", "_upper", "exact", "name", "serial")

    def __init__(self, counter: Any) -> None:
        """`counter` is callable, or has `count` or `count_tokens`, and optionally `upper`, `name` and `exact`."""
        methods = (getattr(counter, name, None) for name in ("count", "count_tokens"))
        found = next((method for method in (*methods, counter) if callable(method)), None)
        if found is None or isinstance(counter, (type, Sequence)):  # `count` of a sequence means something else
            raise SettingError(
                "counter", f"must be a function of a text or an object with count(text), not {short_repr(counter)}"
            )
        self.name = counter_name(counter)
        self.exact = getattr(counter, "exact", True) is not False
        """If true, reported usage does not correct its counts. True unless the counter itself declares False."""
        self.serial = next(_SERIALS)
        """Distinguishes counters of the same name."""
        self._count: Callable[[str], Any] = found
        upper = getattr(counter, "upper", None)
        self._upper: Callable[[str], Any] = upper if callable(upper) and not self.exact else found
        self.upper(_PROBE)

    def count(self, text: str) -> int:
        """The counter's result. Raises CounterError."""
        return self._call(self._count, text)

    def upper(self, text: str) -> int:
        """The result of its `upper` if it has one, else of `count`. Raises CounterError."""
        return self._call(self._upper, text)

    def _call(self, method: Callable[[str], Any], text: str) -> int:
        with ErrorCatcher() as guarded:
            answer = method(text)
        if guarded.error is not None:
            reason = f"it raised {type(guarded.error).__name__}: {guarded.error}"[:300]
            raise CounterError(self.name, reason) from guarded.error
        if iscoroutine(answer):
            answer.close()
        if isinstance(answer, bool) or not hasattr(answer, "__index__"):
            raise CounterError(self.name, f"it returned {type(answer).__name__}, not an integer")
        tokens = index(answer)
        if not 0 <= tokens <= SETTING_TOKENS_MAX:
            raise CounterError(self.name, f"it returned {short_repr(tokens)}, which is out of range")
        return tokens


def counter_name(counter: object) -> str:
    """The name of a caller's counter in reports and sessions: its `name`, else the qualified name of its function or class."""
    name = getattr(counter, "name", None)
    if isinstance(name, str) and name:
        return name[:80]
    defined = counter if hasattr(counter, "__qualname__") else type(counter)
    return f"{getattr(defined, '__module__', None) or ''}.{getattr(defined, '__qualname__', '')}".strip(".")[:80]


def custom_counter(counter: object) -> CustomCounter:
    """Wrap a caller's counter; recently used counters keep their wrapper, and with it their cache.

    Raises SettingError if it is not a counter, CounterError if its first count fails.
    """
    try:
        hash(counter)
    except TypeError:
        return CustomCounter(counter)
    return _wrapped(counter)


@lru_cache(maxsize=8)
def _wrapped(counter: Any) -> CustomCounter:
    return CustomCounter(counter)
