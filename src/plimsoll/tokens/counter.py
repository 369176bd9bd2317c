"""The text counter of a model: a caller's, exact for OpenAI's vocabularies, or o200k's count times a ratio, calibrated by usage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import count as numbers
from math import ceil
from operator import index
from types import CoroutineType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from plimsoll.errors import CounterError, ErrorCatcher, SettingError
from plimsoll.light.dataclass import replace
from plimsoll.limits import SETTING_TOKENS_MAX
from plimsoll.policy.validation import short_repr
from plimsoll.tokens.cache import CachingCounter
from plimsoll.tokens.estimate import EstimatingCounter
from plimsoll.tokens.exact import ExactCounter, exact_counter, forget_vocabularies
from plimsoll.tokens.framing import ANTHROPIC, OPENAI_CHAT, MessageCounter
from plimsoll.tokens.media import MediaRule, media_rule
from plimsoll.tokens.registry import Vocabulary, look_up

if TYPE_CHECKING:
    from plimsoll.protocols import TokenCounter

ESTIMATE = "estimate"
"""Name of the estimating counter, which needs no vocabulary."""


class CountsText(Protocol):
    """The minimal interface of a counter."""

    def count(self, text: str, /) -> int:
        """Tokens of a text."""


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
        if isinstance(answer, CoroutineType):
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


class Calibration(Protocol):
    """The correction of a counter by reported usage."""

    @property
    def ratio(self) -> float:
        """Reported over counted tokens; 1.0 if nothing was reported."""

    def margin(self, before: float) -> float:
        """At least 1.0: the true count should not exceed the estimate times it. `before` is the margin without reports."""


class ScaledCounter:
    """A TokenCounter for a vocabulary that is not public: another counter's count times a ratio."""

    __slots__ = ("_base", "_vocabulary", "name")

    def __init__(self, base: TokenCounter, vocabulary: Vocabulary) -> None:
        self._base = base
        self._vocabulary = vocabulary
        ratios = dict.fromkeys((f"{vocabulary.ascii:g}", f"{vocabulary.other:g}"))
        self.name = f"{base.name} times {' to '.join(ratios)}"

    @property
    def exact(self) -> bool:
        """False: a ratio is an average."""
        return False

    def count(self, text: str) -> int:
        """The estimate, rounded up."""
        return ceil(self._base.count(text) * self._ratio(text))

    def upper(self, text: str) -> int:
        """The estimate times its margin, rounded up."""
        return ceil(self._base.upper(text) * self._ratio(text) * self._vocabulary.margin)

    def _ratio(self, text: str) -> float:
        """Interpolates between the two ratios by the share of non-ASCII bytes, so that longer text never counts less."""
        vocabulary = self._vocabulary
        if text.isascii():
            return vocabulary.ascii
        size_bytes = len(text.encode("utf-8", "surrogatepass"))
        share = min(1.0, 1.5 * (size_bytes - len(text)) / size_bytes)
        return vocabulary.ascii + (vocabulary.other - vocabulary.ascii) * share


class CalibratedCounter:
    """A TokenCounter corrected by the provider's reports."""

    __slots__ = ("_base", "_margin", "_ratio", "name", "serial", "steps")

    def __init__(self, base: TokenCounter, calibration: Calibration, *, margin: float) -> None:
        """`margin` is that of the base counter without reports."""
        self._base = base
        self._ratio, self._margin = self.steps = steps_of(calibration, margin)
        self.name = f"{base.name}, calibrated"
        self.serial = getattr(base, "serial", 0)

    @property
    def exact(self) -> bool:
        """False: a ratio is an average."""
        return False

    def count(self, text: str) -> int:
        """The corrected estimate, rounded up."""
        return ceil(self._base.count(text) * self._ratio)

    def upper(self, text: str) -> int:
        """The corrected estimate times the remaining margin, rounded up."""
        return ceil(self._base.count(text) * self._ratio * self._margin)


def steps_of(calibration: Calibration, margin: float) -> tuple[float, float]:
    """Ratio and margin rounded up to whole percent.

    Every report changes both slightly; rounding keeps cached counts valid until the change is noticeable.
    """
    return ceil(calibration.ratio * 100) / 100, ceil(calibration.margin(margin) * 100) / 100


OWN_MARGIN_MIN = 1.1
"""Margin of a caller's inexact counter once usage was reported, for models with a public vocabulary."""


def counter_for(
    model: str | None, calibration: Calibration | None = None, *, choice: CounterChoice = None
) -> TokenCounter:
    """The text counter of a model. Counters of one vocabulary share a cache.

    Args:
        model: may have a provider's prefix; None and unknown names get an estimate with a wide margin.
        calibration: corrects the counts by reported usage.
        choice: "estimate", or a counter that replaces the model's own.

    Raises: SettingError for an invalid choice, or if the user's file of models is invalid.

    """
    vocabulary = look_up(model).vocabulary
    counter = _chosen(vocabulary, choice)
    if calibration is None:
        return counter
    return CalibratedCounter(counter, calibration, margin=margin_of(model, choice))


def preload(model: str | None) -> None:
    """Load the vocabulary of a model and all that its engine builds lazily; does nothing if no engine is installed."""
    counter = _base(look_up(model).vocabulary.base)
    if isinstance(counter, ExactCounter):
        counter.warm()


def margin_of(model: str | None, choice: CounterChoice = None) -> float:
    """The margin of estimated counts before any usage is reported."""
    margin = look_up(model).vocabulary.margin
    return margin if choice is None else max(margin, OWN_MARGIN_MIN)


def message_counter_for(
    model: str | None, calibration: Calibration | None = None, *, choice: CounterChoice = None
) -> MessageCounter:
    """The message counter of a model, with its provider's framing and media prices."""
    info = look_up(model)
    tools_once = 0
    if info.provider == "anthropic" or "claude" in info.name.lower():
        tools_once = max(info.tool_prompt_tokens, 1)
    if calibration is None and choice is None:
        return _shared_messages(info.vocabulary, tools_once, model)
    return _messages(counter_for(model, calibration, choice=choice), tools_once, media_rule(model))


def _messages(counter: TokenCounter, tools_once: int, media: MediaRule) -> MessageCounter:
    """A message counter with Anthropic's framing if the model has a tool prompt, else with that of OpenAI's chat format."""
    return MessageCounter(
        counter, replace(ANTHROPIC, tools_once=tools_once) if tools_once else OPENAI_CHAT, media=media
    )


@lru_cache(maxsize=64)
def _shared_messages(vocabulary: Vocabulary, tools_once: int, model: str | None) -> MessageCounter:
    return _messages(_shared(vocabulary), tools_once, media_rule(model))


def clear_cache() -> None:
    """Clear all cached counts and unload the vocabularies; counters in use keep theirs. Changes no count."""
    _shared_messages.cache_clear()
    _shared.cache_clear()
    _cached.cache_clear()
    forget_vocabularies()


def _chosen(vocabulary: Vocabulary, choice: CounterChoice) -> TokenCounter:
    if choice is None:
        return _shared(vocabulary)
    if not isinstance(choice, str):
        return _cached(custom_counter(choice))
    if choice != ESTIMATE:
        raise SettingError("counter", f"{short_repr(choice)} is not {ESTIMATE!r}; None selects the model's own counter")
    return _shared(vocabulary, is_estimate=True)


@lru_cache(maxsize=8)
def _cached(counter: CustomCounter) -> CachingCounter:
    return CachingCounter(counter)


@cache
def _shared(vocabulary: Vocabulary, *, is_estimate: bool = False) -> CachingCounter:
    if vocabulary.exact:
        return CachingCounter(EstimatingCounter(vocabulary.base) if is_estimate else _base(vocabulary.base))
    base = _shared(Vocabulary(base=vocabulary.base), is_estimate=is_estimate)
    return CachingCounter(ScaledCounter(base, vocabulary))


def _base(name: str) -> TokenCounter:
    """The exact counter of a vocabulary, or the estimator if no engine is installed."""
    try:
        return exact_counter(name)
    except ImportError:
        return EstimatingCounter(name)
