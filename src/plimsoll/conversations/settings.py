"""How conversations are kept and made to fit, and their budgets."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from plimsoll.api.fit import fit
from plimsoll.compaction.drive import AsyncSummarizer
from plimsoll.compaction.result import Fitted
from plimsoll.conversations.content import ContentReader
from plimsoll.conversations.inner_searches import INNER_TOOLS
from plimsoll.errors import PlimsollError, SessionNotFound
from plimsoll.formats.requests import RequestParts
from plimsoll.light.dataclass import dataclass, field
from plimsoll.message import FormatName
from plimsoll.policy.policy import Policy, PolicyChoice, policy_of
from plimsoll.protocols import Store
from plimsoll.session.open import open as open_session
from plimsoll.session.session import Session
from plimsoll.tokens.counter import CounterChoice
from plimsoll.tokens.registry import DEFAULT_MODEL, model_info

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
    recall_tools: bool = False
    """The model is offered tools to search what left the view, whose calls the host never sees."""
    reader: ContentReader
    default_model: str = DEFAULT_MODEL
    windows: dict[str, int] = field(default_factory=dict)
    """Windows by model, as providers said them."""

    ceilings: dict[str, int] = field(default_factory=dict)
    """By model, the size of the smallest request that a provider found too long without saying why."""

    @property
    def is_lazy(self) -> bool:
        """True if nothing is changed below the first load line, not even on arrival."""
        return self.policy.tool_result_tokens_max is None

    def acts_at(self, budget_tokens: int) -> int:
        """The tokens from which on something may be changed."""
        return self.policy.lines.resolve(budget_tokens).soft if self.is_lazy else 0

    def budget_of(self, parts: RequestParts, model: str | None, window_tokens: int | None) -> int:
        """The tokens that the messages and tools of a request may use."""
        if self.max_tokens is not None:
            return self.max_tokens
        name = self.model or model or self.default_model
        return budget_tokens(parts, model=name, policy=self.policy, window_tokens=self.windows.get(name, window_tokens))

    def learn(self, model: str, window_tokens: int | None, sent_tokens: int) -> None:
        """Note that a provider found so many tokens too long for a model, and the window that it named."""
        if window_tokens is not None and (model in self.windows or len(self.windows) < WINDOWS_MAX):
            self.windows[model] = window_tokens
        if model in self.ceilings or len(self.ceilings) < WINDOWS_MAX:
            self.ceilings[model] = min(sent_tokens, self.ceilings.get(model, sent_tokens))

    def fitted(self, parts: RequestParts, budget_tokens: int) -> Fitted | None:
        """The messages of a request fitted by themselves; None where they cannot be."""
        try:
            return fit(
                parts.messages,
                max_tokens=budget_tokens,
                model=self.model or parts.model,
                tools=parts.tools,
                format=parts.format,
                system=parts.system,
                counter=self.counter,
            )
        except (PlimsollError, RecursionError):
            return None

    def open(self, name: str, format: FormatName, model: str | None, title: str | None, wait_s: float) -> Session:
        """Open the session of a conversation. A new one gets the title. Raises StoreError."""
        opening = partial(
            open_session,
            name,
            store=self.store,
            model=model,
            max_tokens=self.max_tokens,
            policy=self.policy,
            format=format,
            counter=self.counter,
            summarizer=self.summarizer,
            wait_s=wait_s,
            recall_tools=INNER_TOOLS._asdict() if self.recall_tools else False,
        )
        if title is not None:
            with suppress(SessionNotFound):
                return opening(create=False)
        return opening(title=title)


def chosen_policy(policy: PolicyChoice | None) -> Policy:
    """The policy of conversations: a mapping replaces fields of the default. Raises SettingError."""
    default = policy_of(WHEN_FULL, "ladder")
    return default if policy is None else policy_of(policy, default)


RESERVE_SHARE_MAX = 2
"""A reply is never reserved more than the window divided by this: a request that asks for more is the provider's to refuse."""


def budget_tokens(parts: RequestParts, *, model: str, policy: Policy, window_tokens: int | None = None) -> int:
    """The budget of a request: the model's window, or `window_tokens`, less the reply that the request asks for.

    A request that does not say how long its reply may be gets the policy's reserve, else the model's longest reply, as in
    `plimsoll.open`.
    """
    info = model_info(model)
    window = window_tokens or min(info.window_tokens, policy.window_tokens or info.window_tokens)
    reserve = parts.reserve_tokens or policy.output_reserve_tokens or info.max_output_tokens
    reserve = min(reserve, window // RESERVE_SHARE_MAX)
    longest = window if window_tokens else info.max_input_tokens or window
    return max(1, min(window - reserve, longest))
