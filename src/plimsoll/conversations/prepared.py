"""What is to be sent for a request of a host, and how it is found without a session."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from plimsoll.api.fit import fit
from plimsoll.compaction.view_message import Origins
from plimsoll.errors import PlimsollError
from plimsoll.formats.requests import RequestParts, with_messages
from plimsoll.light.dataclass import dataclass

if TYPE_CHECKING:
    from plimsoll.conversations.conversation import HostConversation
    from plimsoll.conversations.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A request to send."""

    body: Mapping[str, Any]
    """The body that was given, the same object, or a copy with other messages."""
    changed: bool = False
    """True if it is a copy with other messages."""
    conversation: HostConversation | None = field(default=None, repr=False)
    """None if the provider keeps the conversation, or the body is none that can be read."""
    tokens: int = 0
    """Upper bound of the tokens of the messages and tools that are sent."""
    budget_tokens: int = 0
    """What these may use."""
    room_tokens: int = 0
    """What may be added before anything of the conversation is changed; 0 if the body was."""
    problem: str | None = None
    """What went wrong; the request can be sent all the same."""
    find_origins: Callable[[], Origins] | None = field(default=None, repr=False)
    """Gives for each message of a changed body the positions of the given messages that it came from."""
    number: int = 0
    """Number of the request in its conversation."""
    searches: int = 0
    """Answers to it so far that only searched."""
    offers_tools: bool = False
    """True if the model may search with the tools of recall: before the answer is handed on, ask `searched` of the conversation."""


def stateless(  # noqa: PLR0913 - what a request is, and what went wrong
    request: Mapping[str, Any],
    parts: RequestParts,
    budget: int,
    settings: Settings,
    *,
    problem: str,
    conversation: HostConversation | None = None,
) -> Prepared:
    """The body to send without a session: its messages fitted by themselves."""
    unchanged = Prepared(body=request, conversation=conversation, budget_tokens=budget, problem=problem)
    try:
        fitted = fit(
            parts.messages,
            max_tokens=budget,
            model=settings.model or parts.model,
            tools=parts.tools,
            format=parts.format,
            system=parts.system,
            counter=settings.counter,
        )
    except (PlimsollError, RecursionError):
        return unchanged
    report = fitted.report
    if report.tokens_before <= report.budget:
        return replace(unchanged, tokens=report.tokens_before)
    body = with_messages(request, parts, fitted.messages)
    return replace(unchanged, body=body, changed=True, tokens=report.tokens_after, find_origins=lambda: fitted.origins)
