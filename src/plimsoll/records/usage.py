"""What a provider counted for a request and its answer: read from each provider's own words for it, kept, and learnt from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from plimsoll.dataclass import dataclass
from plimsoll.limits import SETTING_TOKENS_MAX
from plimsoll.tokens.calibrate import Calibrator


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a provider counted for one request and its answer. All sizes in tokens.

    `prompt_tokens` is the whole request: `cached_tokens` (read from the provider's cache) and `cache_write_tokens` (written to it)
    are parts of it.
    """

    prompt_tokens: int
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    model: str | None = None
    position: int | None = None
    """Position of the answer in the history; the answer itself may not be there yet. None when it is not known."""
    at_ms: int | None = None
    """When it was recorded: Unix time in milliseconds."""
    counted_tokens: int | None = None
    """What the request was counted as here, without any correction."""

    @property
    def id(self) -> str | None:
        """The answer's message id, such as `m12`."""
        return None if self.position is None else f"m{self.position}"

    @property
    def total_tokens(self) -> int:
        """Of the request and its answer."""
        return self.prompt_tokens + self.completion_tokens

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, with the message id and the total."""
        return {"id": self.id, **asdict(self), "total_tokens": self.total_tokens}


def usage_of(told: object, *, model: str | None = None) -> Usage | None:
    """The usage in an object as providers and tools write it; None where there is none, or only zeros.

    Known are the objects of OpenAI (chat completions and Responses), Anthropic, Codex and pi. Anthropic and pi count the cached
    tokens apart from the input; here they are part of the prompt.
    """
    if not isinstance(told, Mapping):
        return None
    details = _mapping(told, "prompt_tokens_details") or _mapping(told, "input_tokens_details")
    cached = _count(told, "cache_read_input_tokens", "cached_input_tokens", "cacheRead") or _count(
        details, "cached_tokens"
    )
    written = _count(told, "cache_creation_input_tokens", "cacheWrite") or _count(details, "cache_write_tokens")
    prompt = _count(told, "prompt_tokens", "input_tokens", "input")
    if _counts_cache_apart(told):
        prompt += cached + written
    completion = _count(told, "completion_tokens", "output_tokens", "output")
    if prompt == 0:
        return None
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=min(cached, prompt),
        cache_write_tokens=min(written, prompt - min(cached, prompt)),
        model=model,
    )


def _counts_cache_apart(told: Mapping[str, Any]) -> bool:
    return not told.keys().isdisjoint(
        {"cache_read_input_tokens", "cache_creation_input_tokens", "cacheRead", "cacheWrite"}
    )


def _mapping(told: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = told.get(name)
    return value if isinstance(value, Mapping) else {}


def _count(told: Mapping[str, Any], *names: str) -> int:
    """The first of these fields that is a number of tokens; 0 without one."""
    for name in names:
        value = told.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= SETTING_TOKENS_MAX:
            return value
    return 0


# --- as the log keeps it


def usage_data(usage: Usage, event: int | None) -> dict[str, Any]:
    """The payload of a usage record. `event` is the compaction or rollback that the view of the request went on from."""
    data = {
        "prompt": usage.prompt_tokens,
        "completion": usage.completion_tokens,
        "cached": usage.cached_tokens,
        "written": usage.cache_write_tokens or None,
        "counted": usage.counted_tokens,
        "model": usage.model,
        "position": usage.position,
    }
    told = {name: value for name, value in data.items() if value is not None}
    return told if usage.counted_tokens is None else {**told, "event": event}


def usage_from(data: Mapping[str, Any], at_ms: int) -> Usage:
    """The usage that `usage_data` wrote."""
    return Usage(
        prompt_tokens=data["prompt"],
        completion_tokens=data["completion"],
        cached_tokens=data["cached"],
        cache_write_tokens=data.get("written", 0),
        counted_tokens=data.get("counted"),
        model=data.get("model"),
        position=data.get("position"),
        at_ms=at_ms,
    )


def whole_prompt(usage: Usage) -> Usage:
    """The usage with the cached tokens in the prompt: where they are more than it, they were counted apart."""
    if usage.cached_tokens <= usage.prompt_tokens:
        return usage
    return replace(usage, prompt_tokens=usage.prompt_tokens + usage.cached_tokens)


def learnt(calibration: Calibrator, data: Mapping[str, Any]) -> Calibrator:
    """What a calibration becomes by a usage record. One that was not counted here teaches nothing."""
    if "counted" not in data:
        return calibration
    return calibration.record(counted=data["counted"], reported=data["prompt"])
