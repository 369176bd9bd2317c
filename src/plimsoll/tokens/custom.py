"""A caller's own token counter: a function of a text, or an object with a `count` method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from inspect import iscoroutine
from itertools import count as numbers
from operator import index
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from plimsoll.errors import CounterError, Foreign, SettingError
from plimsoll.limits import SETTING_TOKENS_MAX
from plimsoll.validation import short_repr

if TYPE_CHECKING:
    from plimsoll.protocols import TokenCounter

ESTIMATE = "estimate"
"""The name that asks for the estimating counter, which needs no vocabulary."""


class CountsText(Protocol):
    """The least that a counter has to have."""

    def count(self, text: str, /) -> int:
        """Tokens of a text."""
        ...


CounterChoice: TypeAlias = "str | TokenCounter | CountsText | Callable[[str], int] | None"
"""What the option `counter` takes: None for the model's own, "estimate", or a counter of the caller's."""

_PROBE = "plimsoll"
_SERIALS = numbers(1)


class CustomCounter:
    """A TokenCounter around a caller's counter: checks what it gives, and turns what it raises into CounterError."""

    __slots__ = ("_count", "_upper", "exact", "name", "serial")

    def __init__(self, counter: Any) -> None:
        """`counter` is callable, or has `count` or `count_tokens`; `upper`, `name` and `exact` are used where it has them."""
        methods = (getattr(counter, name, None) for name in ("count", "count_tokens"))
        found = next((method for method in (*methods, counter) if callable(method)), None)
        if found is None or isinstance(counter, (type, Sequence)):  # a sequence has a `count` of another meaning
            raise SettingError(
                "counter", f"a function of a text, or an object with count(text), is needed, not {short_repr(counter)}"
            )
        self.name = counter_name(counter)
        self.exact = getattr(counter, "exact", True) is not False
        """Whether reported usage leaves its counts as they are: yes, unless the counter itself says that it is not exact."""
        self.serial = next(_SERIALS)
        """Tells apart two counters of one name."""
        self._count: Callable[[str], Any] = found
        upper = getattr(counter, "upper", None)
        self._upper: Callable[[str], Any] = upper if callable(upper) and not self.exact else found
        self.upper(_PROBE)

    def count(self, text: str) -> int:
        """What the counter says. Raises CounterError."""
        return self._asked(self._count, text)

    def upper(self, text: str) -> int:
        """What its `upper` says where it has one, else the same as `count`. Raises CounterError."""
        return self._asked(self._upper, text)

    def _asked(self, method: Callable[[str], Any], text: str) -> int:
        with Foreign() as asked:
            answer = method(text)
        if asked.error is not None:
            reason = f"it raised {type(asked.error).__name__}: {asked.error}"[:300]
            raise CounterError(self.name, reason) from asked.error
        if iscoroutine(answer):
            answer.close()
        if isinstance(answer, bool) or not hasattr(answer, "__index__"):
            raise CounterError(self.name, f"it gave {type(answer).__name__}, not a whole number")
        tokens = index(answer)
        if not 0 <= tokens <= SETTING_TOKENS_MAX:
            raise CounterError(self.name, f"it gave {short_repr(tokens)}, which is no number of tokens")
        return tokens


def counter_name(counter: object) -> str:
    """What reports and sessions call a caller's counter: its `name`, else where its function or class is defined."""
    name = getattr(counter, "name", None)
    if isinstance(name, str) and name:
        return name[:80]
    defined = counter if hasattr(counter, "__qualname__") else type(counter)
    return f"{getattr(defined, '__module__', None) or ''}.{getattr(defined, '__qualname__', '')}".strip(".")[:80]


def custom_counter(counter: object) -> CustomCounter:
    """The counter as it is asked. The same object is given for the same counter while it was used lately.

    Raises SettingError for what is no counter, CounterError for one that does not count.
    """
    try:
        hash(counter)
    except TypeError:
        return CustomCounter(counter)
    return _known(counter)


@lru_cache(maxsize=8)
def _known(counter: Any) -> CustomCounter:
    return CustomCounter(counter)
