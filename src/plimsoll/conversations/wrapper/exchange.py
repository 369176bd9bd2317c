"""One request of a client and its answer: what is sent in its place, and what is recorded when it ends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, Final

from plimsoll.conversations.conversation import Prepared
from plimsoll.conversations.conversations import Conversations
from plimsoll.errors import ErrorCatcher, RequestNotManaged, warn
from plimsoll.formats.overflow import overflow_in
from plimsoll.formats.streams import Answer, answer_reader
from plimsoll.message import FormatName

APIS: Final[Mapping[str, FormatName]] = {
    "/chat/completions": "openai-chat",
    "/responses": "openai-responses",
    "/v1/messages": "anthropic",
}
"""The paths of requests that carry a conversation, as the SDKs name them. Beta ones have a query after them."""

_BAD_REQUEST = 400


def exchange_for(conversations: Conversations, name: str | None, path: str, body: object) -> WrappedRequest | None:
    """The exchange that a request begins; None for requests that carry no conversation, or one that the provider keeps."""
    format = APIS.get(path.partition("?")[0])
    if format is None or not isinstance(body, Mapping):
        return None
    exchange = WrappedRequest(body, conversations.prepare(body, format=format, name=name), format)
    return exchange if exchange.prepared.conversation is not None or exchange.prepared.changed else None


class WrappedRequest:
    """A request that is on its way."""

    def __init__(self, given: Mapping[str, Any], prepared: Prepared, format: FormatName) -> None:
        self._given = given
        self._format = format
        self._is_released = False
        self.prepared = prepared
        _tell(prepared)

    @property
    def body(self) -> Mapping[str, Any]:
        """What to send."""
        return self.prepared.body

    def other(self, refusal: object) -> Mapping[str, Any] | None:
        """What to send after the provider refused the request: less if it was too long, else what is valid by its rules.

        None if that would be the same, or the provider refused it for what no other messages would change.
        """
        overflow, sent = overflow_in(getattr(refusal, "body", None)), self.prepared
        is_bad_request = getattr(refusal, "status_code", None) == _BAD_REQUEST
        if sent.conversation is None or not (overflow is not None or is_bad_request):
            return None
        self.prepared = sent.conversation.prepare(self._given, overflow=overflow, repair=overflow is None)
        _tell(self.prepared)
        return self.body if self.prepared.changed and self.body != sent.body else None

    def answered(self, response: object) -> None:
        """Record a whole response. A raw one is not read here: its message comes with the next request."""
        if self.prepared.conversation is None:
            return
        if hasattr(response, "model_dump"):
            self.prepared.conversation.answered(response, getattr(response, "usage", None), to=self.prepared)
        else:
            self.released()

    def released(self) -> None:
        """There is no answer."""
        if self.prepared.conversation is not None and not self._is_released:
            self._is_released = True
            self.prepared.conversation.released()

    def closing(self, close: Callable[[], Any]) -> Callable[[], Any]:
        """How to close a stream, whose answer then comes no more."""

        def closed() -> Any:
            self.released()
            return close()

        return closed

    def read(self, events: Iterator[Any]) -> Iterator[Any]:
        """The same events; the answer is recorded when they end, and let go of if nobody reads them."""
        reading = self._reading(events)
        next(reading)  # what was never begun would not be told that it is let go of
        return reading

    async def aread(self, events: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """As `read`; the answer is recorded in a thread."""
        reading = self._areading(events)
        await anext(reading)
        return reading

    def _reading(self, events: Iterator[Any]) -> Iterator[Any]:
        answer, is_over = answer_reader(self._format), False
        try:
            yield None
            for event in events:
                _take(answer, event)
                yield event
            is_over = True
        finally:
            self._ended(answer, is_over=is_over)

    async def _areading(self, events: AsyncIterator[Any]) -> AsyncIterator[Any]:
        from asyncio import to_thread  # noqa: PLC0415 - as in the client

        answer, is_over = answer_reader(self._format), False
        try:
            yield None
            async for event in events:
                _take(answer, event)
                yield event
            is_over = True
        finally:
            if not is_over:
                self.released()
        await to_thread(self._ended, answer, is_over=True)

    def _ended(self, answer: Answer, *, is_over: bool) -> None:
        conversation = self.prepared.conversation
        if conversation is None or self._is_released:
            return
        if is_over and answer.is_complete and answer.error is None:
            self._is_released = True
            conversation.answered(answer.messages(), answer.usage, to=self.prepared)
        else:
            self.released()


def _take(answer: Answer, event: Any) -> None:
    dump = getattr(event, "model_dump", None)
    if not callable(dump):
        return
    with ErrorCatcher() as reading:  # whatever a provider sends is passed on
        answer.take(dump(exclude_unset=True, warnings=False))
    if reading.error is not None:
        answer.error = {"message": "an event cannot be read"}


def _tell(prepared: Prepared) -> None:
    if prepared.problem is not None:
        warn(RequestNotManaged(prepared.problem))
