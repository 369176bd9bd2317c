"""Reads messages of a session for memories: by a model where one is configured, else by rules.

A generator, like the engine of compactions: it yields requests to a model and is sent the answers.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from typing import NamedTuple

from plimsoll.compaction.task import SummaryFailed, SummaryReply, SummaryRequest
from plimsoll.dataclass import dataclass
from plimsoll.memory.model import answered, request_for
from plimsoll.memory.scopes import Scopes
from plimsoll.memory.statements import UserStatement, from_message, spoken_text
from plimsoll.message import Message
from plimsoll.policy.policy import Policy
from plimsoll.protocols import Memory, MemoryOrigin, Speaker

_PROMPT_CHARS_PER_TOKEN = 2
"""Few, so that a prompt is never longer than the model may read."""


class Said(NamedTuple):
    """A message of a session, for reading."""

    position: int
    time_ms: int
    message: Message
    after_result: bool
    """True if the message before it holds a tool result."""

    @property
    def text(self) -> str:
        """What its author says in it."""
        return spoken_text(self.message, after_result=self.after_result)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The session whose messages are read."""

    session: str
    created_ms: int
    scopes: Scopes

    @property
    def key(self) -> str:
        """The key under which it is noted how far the session was read."""
        return f"{self.session} {self.created_ms}"


def read_messages(
    messages: Sequence[Said], place: Place, policy: Policy, *, asks_model: bool
) -> Generator[SummaryRequest, SummaryReply, list[Memory]]:
    """The memories in messages, without ids. What no model was asked about, or failed to answer, is read by rules."""
    found: list[Memory] = []
    asks = asks_model and policy.use_summarizer
    for number, portion in enumerate(_portions(messages, policy) if asks else [messages]):
        statements = (
            (yield from _by_model(portion, policy)) if asks and number < policy.summarizer_requests_max else None
        )
        if statements is None:
            statements = list(_by_rules(portion))
        found += [_memory(said, statement, place) for said, statement in statements]
    return found


def _by_rules(messages: Sequence[Said]) -> Iterator[tuple[Said, UserStatement]]:
    for said in messages:
        for statement in from_message(said.message, after_result=said.after_result):
            yield said, statement


def _by_model(
    messages: Sequence[Said], policy: Policy
) -> Generator[SummaryRequest, SummaryReply, list[tuple[Said, UserStatement]] | None]:
    """What a model finds; None if it fails, or there is nothing to read."""
    texts = {said.position: text for said in messages if (text := said.text)}
    if not texts:
        return None
    spoken = {said.position: said for said in messages}
    request = request_for({at: spoken[at].message for at in texts}, texts, policy)
    for _ in range(policy.summarizer_attempts):
        reply = yield request
        roles = {at: spoken[at].message.role for at in texts}
        statements = None if isinstance(reply, SummaryFailed) else answered(reply, texts, roles)
        if statements is not None:
            return [(spoken[at], statement) for at, statement in statements]
    return None


def _portions(messages: Sequence[Said], policy: Policy) -> Iterator[Sequence[Said]]:
    """Messages in portions that a model reads at once."""
    room = policy.summarizer_input_tokens_max * _PROMPT_CHARS_PER_TOKEN // 2
    start = chars = 0
    for index, said in enumerate(messages):
        size = min(room, len(said.text))
        if chars + size > room:
            yield messages[start:index]
            start, chars = index, 0
        chars += size
    yield messages[start:]


def _memory(said: Said, statement: UserStatement, place: Place) -> Memory:
    by: Speaker = "user" if said.message.role == "user" else "assistant"
    origin = MemoryOrigin(
        time_ms=said.time_ms, session=place.session, message=f"m{said.position}", created_ms=place.created_ms
    )
    return Memory(
        id="",
        text=statement.text,
        kind=statement.kind,
        by=by,
        scope=place.scopes.of(is_local=statement.is_local or statement.kind in ("decision", "fact")),
        origins=(origin,),
        confidence=statement.confidence,
        importance=statement.importance,
        time_ms=said.time_ms,
    )
