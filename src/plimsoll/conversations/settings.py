"""The options that all conversations of one host share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final

from plimsoll.compaction.drive import AsyncSummarizer
from plimsoll.compaction.meter import DEFAULT_MODEL
from plimsoll.dataclass import dataclass
from plimsoll.message import FormatName
from plimsoll.policy.policy import Policy, PolicyChoice, policy_of
from plimsoll.protocols import Store
from plimsoll.session.open import open as open_session
from plimsoll.session.session import Session
from plimsoll.tokens.custom import CounterChoice

WHEN_FULL: Final[Mapping[str, Any]] = {
    "preset": "ladder",
    "lines": {"soft": 1.0, "warn": 1.0, "hard": 1.0},
    "tool_result_tokens_max": None,
}
"""The default policy: what fits is never touched, and what does not comes down to half of the budget, so that the requests after it
keep their prefix."""

WINDOWS_MAX: Final = 256
"""Models whose window is remembered as providers said it."""


@dataclass(slots=True, kw_only=True)
class Settings:
    """How conversations are kept."""

    store: Store
    model: str | None = None
    max_tokens: int | None = None
    policy: Policy
    counter: CounterChoice = None
    summarizer: AsyncSummarizer | None = None
    redact: bool = True
    default_model: str = DEFAULT_MODEL
    windows: dict[str, int] = field(default_factory=dict)
    """Windows by model, as providers said them."""

    def learn(self, model: str, window_tokens: int) -> None:
        """Note the window of a model."""
        if model in self.windows or len(self.windows) < WINDOWS_MAX:
            self.windows[model] = window_tokens

    def open(self, name: str, format: FormatName, model: str | None) -> Session:
        """Open the session of a conversation. Raises StoreError."""
        return open_session(
            name,
            store=self.store,
            model=model,
            max_tokens=self.max_tokens,
            policy=self.policy,
            format=format,
            counter=self.counter,
            summarizer=self.summarizer,
        )


def chosen_policy(policy: PolicyChoice | None) -> Policy:
    """The policy of conversations: a mapping replaces fields of the default. Raises SettingError."""
    default = policy_of(WHEN_FULL, "ladder")
    return default if policy is None else policy_of(policy, default)
