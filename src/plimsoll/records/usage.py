"""Token usage reported by providers: parsing, storage and calibration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plimsoll.light.dataclass import asdict, dataclass, replace
from plimsoll.limits import SETTING_TOKENS_MAX
from plimsoll.protocols import SessionLog
from plimsoll.tokens.calibrate import Calibrator


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Token usage of one request and its answer, as the provider counted.

    `prompt_tokens` is the whole request, including `cached_tokens` (read from the provider's cache) and `cache_write_tokens`.
    """

    prompt_tokens: int
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    model: str | None = None
    position: int | None = None
    """Position of the answer in the history, where it may be appended later. None if unknown."""
    at_ms: int | None = None
    """Time of recording: Unix time in milliseconds."""
    counted_tokens: int | None = None
    """This library's uncorrected count of the request."""

    @property
    def id(self) -> str | None:
        """The answer's message id, such as `m12`."""
        return None if self.position is None else f"m{self.position}"

    @property
    def total_tokens(self) -> int:
        """Tokens of the request and the answer."""
        return self.prompt_tokens + self.completion_tokens

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, with the message id and the total."""
        return {"id": self.id, **asdict(self), "total_tokens": self.total_tokens}


def newest_usage(log: SessionLog, event: int | None) -> Mapping[str, Any] | None:
    """The newest report on a request of the view that goes on from record `event`; None without one, or after an edit.

    A rollback holds the report that was found for the view it went back to.
    """
    for record in log.read_back():
        if record.kind == "rollback" and record.seq == event:
            found: Mapping[str, Any] | None = record.data.get("usage")
            return found
        if record.kind == "edit" or (event is not None and record.seq <= event):
            return None
        if record.kind == "usage" and record.data.get("event", -1) == event:
            return record.data
    return None


def usage_of(report: object, *, model: str | None = None) -> Usage | None:
    """Parse a usage object; None if it is not one or counts nothing.

    Supports OpenAI (Chat Completions and Responses), Anthropic, Codex and pi. Anthropic and pi report cached tokens apart from the
    input; they are added to the prompt.
    """
    if not isinstance(report, Mapping):
        return None
    details = _mapping(report, "prompt_tokens_details") or _mapping(report, "input_tokens_details")
    cached = _count(report, "cache_read_input_tokens", "cached_input_tokens", "cacheRead") or _count(
        details, "cached_tokens"
    )
    written = _count(report, "cache_creation_input_tokens", "cacheWrite") or _count(details, "cache_write_tokens")
    prompt = _count(report, "prompt_tokens", "input_tokens", "input")
    if _counts_cache_apart(report):
        prompt += cached + written
    completion = _count(report, "completion_tokens", "output_tokens", "output")
    if prompt == 0:
        return None
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=min(cached, prompt),
        cache_write_tokens=min(written, prompt - min(cached, prompt)),
        model=model,
    )


def _counts_cache_apart(report: Mapping[str, Any]) -> bool:
    return not report.keys().isdisjoint(
        {"cache_read_input_tokens", "cache_creation_input_tokens", "cacheRead", "cacheWrite"}
    )


def _mapping(report: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = report.get(name)
    return value if isinstance(value, Mapping) else {}


def _count(report: Mapping[str, Any], *names: str) -> int:
    """The first of these fields that holds a valid token count; 0 if none does."""
    for name in names:
        value = report.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= SETTING_TOKENS_MAX:
            return value
    return 0


# --- storage


def usage_data(usage: Usage, event: int | None) -> dict[str, Any]:
    """The payload of a usage record. `event` is the compaction, rollback or edit on which the request's view was based."""
    data = {
        "prompt": usage.prompt_tokens,
        "completion": usage.completion_tokens,
        "cached": usage.cached_tokens,
        "written": usage.cache_write_tokens or None,
        "counted": usage.counted_tokens,
        "model": usage.model,
        "position": usage.position,
    }
    known = {name: value for name, value in data.items() if value is not None}
    return known if usage.counted_tokens is None else {**known, "event": event}


def usage_from(data: Mapping[str, Any], at_ms: int) -> Usage:
    """Inverse of `usage_data`."""
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
    """Add the cached tokens to the prompt if they exceed it: then they were reported separately."""
    if usage.cached_tokens <= usage.prompt_tokens:
        return usage
    return replace(usage, prompt_tokens=usage.prompt_tokens + usage.cached_tokens)


def learnt(calibration: Calibrator, data: Mapping[str, Any]) -> Calibrator:
    """The calibration after a usage record. Ignores records without a local count."""
    if "counted" not in data:
        return calibration
    return calibration.record(counted=data["counted"], reported=data["prompt"])
