"""Why an exchange matters beyond its age: a request, a decision, an error that is still open, values that later calls use."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from plimsoll.compaction.view_message import ViewExchange
from plimsoll.formats.exchange import OpenCalls
from plimsoll.message import ToolCall, ToolResult
from plimsoll.summary.ledger import commands, decisions
from plimsoll.summary.ledger.calls import Call, understand
from plimsoll.summary.ledger.identifiers import codes_in
from plimsoll.summary.ledger.prose import claims
from plimsoll.summary.ledger.requests import asks, constrains

REQUEST = "a request of the user"
OPEN_ERROR = "an error that is not resolved"
USED_LATER = "later calls use its values"
DECISION = "a decision or finding"

ERRORS_MAX = 3
"""Open errors that stay at most, the newest."""

_SEARCHED_MAX = 200
"""Exchanges searched for open errors, the newest."""

_DECISION_SCORE_MIN = 2.5
_TEXT_CHARS_MAX = 4_000
_CODE_CHARS_MIN = 5


def open_errors(exchanges: Sequence[ViewExchange]) -> list[ViewExchange]:
    """The exchanges with a failed call that has not succeeded since, newest first; a few of the newest exchanges at most."""
    succeeded: set[str] = set()
    found: list[ViewExchange] = []
    for exchange in list(reversed(exchanges))[:_SEARCHED_MAX]:
        outcomes = dict(_outcomes(exchange, succeeded))
        if any(outcomes.values()):
            found.append(exchange)
            if len(found) == ERRORS_MAX:
                break
        succeeded.update(outcomes)  # a later attempt speaks for earlier ones, whatever came of it
    return found


def _outcomes(exchange: ViewExchange, succeeded: Collection[str]) -> Iterator[tuple[str, bool]]:
    """What each weighty call of an exchange does, and whether it failed, unless that `succeeded` later."""
    if not exchange.original.calls_tools:
        return
    asked: OpenCalls[Call] = OpenCalls()
    for message in exchange.original.messages:
        for part in message.parts:
            if isinstance(part, ToolCall):
                asked.ask(part.id, understand(part.name, part.arguments))
            elif isinstance(part, ToolResult) and (call := asked.answer(part.call_id)) is not None:
                key = _key(call, part)
                if key is not None:
                    yield key, key not in succeeded and _failed(call, part)


def _key(call: Call, result: ToolResult) -> str | None:
    """A key shared by calls that do the same; None for a call that may fail without being an error, such as a search."""
    if call.action == "shell":
        return commands.family(call.command) if commands.is_weighty(call.command) else None
    return f"{call.name} {' '.join(call.paths[:1])}" if call.action in ("edit", "other") and result.content else None


def _failed(call: Call, result: ToolResult) -> bool:
    if call.action != "shell":
        return result.is_error
    edges = f"{result.content[:1_000]}\n{result.content[-1_000:]}"
    return commands.failed(edges, is_error=result.is_error)


def reasons(exchanges: Sequence[ViewExchange]) -> dict[int, str]:
    """The main reason why each exchange matters, by its id; exchanges without one are left out."""
    open_ids = {id(exchange) for exchange in open_errors(exchanges)}
    used = _used_later(exchanges)
    found: dict[int, str] = {}
    for exchange in exchanges:
        reason = OPEN_ERROR if id(exchange) in open_ids else _said(exchange)
        if reason is None and id(exchange) in used:
            reason = USED_LATER
        if reason is not None:
            found[id(exchange)] = reason
    return found


def _said(exchange: ViewExchange) -> str | None:
    """Whether a message asks for something or decides something."""
    message = exchange.original.messages[0]
    text = message.text[:_TEXT_CHARS_MAX]
    if exchange.is_request:
        return REQUEST if asks(text) or constrains(text) else None
    if message.role != "assistant":
        return None
    final = not exchange.original.calls_tools
    decides = any(decisions.score(sentence, final=final) >= _DECISION_SCORE_MIN for sentence in claims(text))
    return DECISION if decides else None


def _used_later(exchanges: Sequence[ViewExchange]) -> set[int]:
    """The ids of the exchanges in whose results a value was first seen that a later call names."""
    first: dict[str, ViewExchange] = {}
    used: set[int] = set()
    for exchange in exchanges:
        for message in exchange.original.messages:
            for part in message.parts:
                if isinstance(part, ToolCall):
                    used.update(
                        id(first[code])
                        for code in _codes(part.arguments)
                        if code in first and first[code] is not exchange
                    )
                elif isinstance(part, ToolResult):
                    for code in _codes(part.content):
                        first.setdefault(code, exchange)
    return used


def _codes(text: str) -> set[str]:
    return {code.strip(":,.") for code in codes_in(text[:_TEXT_CHARS_MAX]) if len(code) >= _CODE_CHARS_MIN}
