"""What a conversation weighs, held against what its provider counted and what may be sent."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from plimsoll.dataclass import dataclass
from plimsoll.records.usage import Usage
from plimsoll.report.figures import number, share, when
from plimsoll.report.weights import WeightTables

Base: TypeAlias = Literal["window", "budget"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One conversation by one counter. All shares are of `base_tokens`: the window, or the budget that the user has set."""

    label: str
    format: str
    model: str
    counter: str
    exact: bool
    window_tokens: int
    base: Base
    base_tokens: int
    weights: WeightTables
    likely_tokens: int
    """What `weights` are likely to be; they are that themselves where the counter is exact, or corrected by usage."""
    usage: Usage | None = None
    """The newest request as its provider counted it."""
    is_of_view: bool = True
    """Whether that request was made of what is measured, and not before its newest compaction."""

    @property
    def heading(self) -> str:
        """In one line: how large it is, and what share of what."""
        total = self.weights.total_tokens
        return f"{self.label}: {number(total)} tokens, {share(total, self.base_tokens)} of {self.whole}"

    @property
    def whole(self) -> str:
        """What shares are shares of."""
        return f"the {self.base} of {number(self.base_tokens)}"

    @property
    def counted(self) -> str:
        """How it was counted."""
        likely = f"an upper bound; about {number(self.likely_tokens)} are likely"
        how = "exact" if self.exact else likely if self.likely_tokens < self.weights.tokens else "as was reported"
        return f"{self.format}, {self.model}, counted with {self.counter}: {how}"

    @property
    def reported(self) -> str | None:
        """The newest request as the provider counted it, and how much of it is not in the file."""
        usage, unseen = self.usage, self.weights.unseen_tokens
        if usage is None:
            return None
        size = f"{number(usage.prompt_tokens)} tokens ({share(usage.prompt_tokens, self.base_tokens)})"
        cached = f", {number(usage.cached_tokens)} of them from its cache" if usage.cached_tokens else ""
        answer = f"; answer {usage.id}: {number(usage.completion_tokens)}" if usage.id else ""
        about = "" if self.exact else "about "
        beyond = f"; {about}{number(unseen)} of it are not in this file (system text, tools)" if unseen else ""
        before = "" if self.is_of_view else "; before the newest compaction"
        at = "" if usage.at_ms is None else f", {when(usage.at_ms, full=True)}"
        return f"newest request as the provider counted it{at}: {size}{cached}{answer}{beyond}{before}"

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "label": self.label,
            "format": self.format,
            "model": self.model,
            "window_tokens": self.window_tokens,
            "base": self.base,
            "base_tokens": self.base_tokens,
            "counter": self.counter,
            "exact": self.exact,
            "estimate": self.likely_tokens,
            "usage": None if self.usage is None else self.usage.to_dict(),
            **self.weights.to_dict(),
        }
