"""The interface of a format, and the types of its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from plimsoll.formats.rules import Rules
from plimsoll.light.brief import Fact, JsonReady, ShortRepr, pluralize
from plimsoll.light.dataclass import dataclass
from plimsoll.message import FormatName, Message, ToolResult, Wire

Code: TypeAlias = Literal[
    "unknown_role",
    "wrong_type",
    "unknown_block",
    "wrong_place",
    "empty_content",
    "empty_text",
    "empty_tool_calls",
    "missing_id",
    "bad_id",
    "bad_name",
    "duplicate_id",
    "call_without_result",
    "result_without_call",
    "duplicate_result",
    "results_not_first",
    "first_not_user",
    "system_inside",
    "trailing_whitespace",
    "thinking_last",
    "reasoning_alone",
    "unknown_field",
    "failed_result_not_text",
    "too_many_cache_marks",
    "cache_mark_order",
    "duplicate_tool",
]
"""Why a provider would reject a message. These values are stable; programs may branch on them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation(JsonReady):
    """Something that the provider would reject. `position` is the index of the message; None means the system text."""

    position: int | None
    code: Code
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss(JsonReady):
    """Something that a conversion changed or dropped. `position` is the index of its message (None: the system text).

    `what` names the thing in a word or two, `reason` says what happened to it.
    """

    position: int | None
    what: str
    reason: str


SystemText: TypeAlias = str | list[dict[str, Any]] | None
"""Anthropic's `system` parameter: text, or text blocks (with their cache markers). None where the messages hold it."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Converted(ShortRepr, JsonReady):
    """A conversation written in one format: messages, separate system text if the format has it, and the losses."""

    messages: list[dict[str, Any]]
    system: SystemText = None
    losses: list[Loss]

    def _facts(self) -> Iterable[Fact]:
        yield "messages", pluralize(len(self.messages), "message")
        yield "system", "no system text" if self.system is None else "system text"
        yield "losses", f"{len(self.losses):,} {'loss' if len(self.losses) == 1 else 'losses'}"


class Validate(Protocol):
    """What the provider would reject, in order of position. Never raises for invalid values inside a message."""

    def __call__(
        self, wires: Sequence[Wire], *, system: SystemText = None, tools: Sequence[Wire] = ()
    ) -> list[Violation]:
        """The violations."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Format:
    """One provider's wire format: its rules, and functions that do not change their arguments."""

    rules: Rules
    decode: Callable[[Wire, int], Message]
    """Read one wire object as one message. Raises FormatError naming the position, or LimitExceeded."""
    encode: Callable[[Message], dict[str, Any]]
    """Write one message as one fresh wire object. An unedited message is equal to what was read, keys in the same order.

    An edited message has only the edited fields changed. A message made by plimsoll becomes the smallest valid object.
    """
    validate: Validate
    is_sound: Callable[[Message], bool]
    """Quick check whether the provider accepts the message itself. May return False for a valid message."""
    repair: Callable[[Wire, list[str]], dict[str, Any]]
    """Repair what the provider rejects in a message regardless of its context. The list receives descriptions of the changes.

    All text is kept. Blank texts, and everything that depends on neighbouring messages, are not examined.
    """
    render: Callable[[Sequence[Message]], Converted]
    """Write messages of any format, split or merged as this format needs, with the losses."""
    labelled: Callable[[Message], Message | None] = lambda _: None
    """A system message as a labelled user message, for APIs without system messages; None for any other message."""
    without_blanks: Callable[[ToolResult], ToolResult] = lambda result: result
    """A tool result without its blank blocks, which the provider refuses. Unchanged if it has none."""
    follows_reasoning: Callable[[Wire], bool] = lambda _: True
    """True if an item can be the output that the reasoning before it belongs to."""
    needs_result: Callable[[Wire, bool], bool] = lambda _call, _is_last: True
    """True if a call without a result is rejected, given its wire object and whether it is in the last message."""

    @property
    def name(self) -> FormatName:
        """The name used in options and reports."""
        return self.rules.name
