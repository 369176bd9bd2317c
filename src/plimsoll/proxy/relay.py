"""The replies to one request on their way to the client: usually one, more where a request is sent again."""

from __future__ import annotations

import zlib
from functools import partial

from plimsoll.proxy.flow import ProxiedRequest
from plimsoll.proxy.headers import inbound
from plimsoll.proxy.reply import Reply
from plimsoll.proxy.rounds import Rounds
from plimsoll.proxy.sockets import CIMultiDict, ResponseWriter, aiohttp, web
from plimsoll.proxy.status import Metrics
from plimsoll.proxy.worker import Worker


class Relay:
    """What the client of one exchange gets."""

    def __init__(self, request: web.BaseRequest, exchange: ProxiedRequest, worker: Worker, metrics: Metrics) -> None:
        self._request, self._exchange, self._worker, self._metrics = request, exchange, worker, metrics
        self._rounds: Rounds | None = None
        """Set if the answer may be made of several replies."""
        self._sending: ResponseWriter | None = None
        self._is_noted = False

    def begin(self, body: bytes) -> bool:
        """A body is sent. Returns True if it is the one that came in."""
        self._rounds = self._rounds or self._exchange.rounds(body)
        return body is self._exchange.asked.raw

    async def take(self, upstream: aiohttp.ClientResponse) -> web.StreamResponse | bytes:
        """Pass a reply on as it comes. Returns the body to send instead, or next."""
        headers, rounds = upstream.headers, self._rounds
        kind, encoding = headers.get("Content-Type", ""), headers.get("Content-Encoding", "identity")
        if rounds is not None:
            rounds.begin(upstream.status, kind, encoding)
        is_encoded = rounds is None and encoding.lower() != "identity"
        reply = self._exchange.reply(upstream.status, kind, encoded=is_encoded)
        sending = self._sending_of(upstream)
        try:
            async for data in upstream.content.iter_any():
                passed = reply.feed(data if rounds is None else rounds.unpacked(data))
                if reply.may_retry:
                    body = await self._retried(reply)
                    if body is not None:
                        return body
                    passed = reply.given_back()
                if reply.is_complete and rounds is None:
                    self.note(reply)
                await sending.write(passed if rounds is None else rounds.feed(passed))
            has_end = "Content-Length" in headers or "Transfer-Encoding" in headers
            if reply.is_cut_off and not has_end:
                raise aiohttp.ClientPayloadError  # where only the end of the connection ends a reply, a reset looks like it
            return await self._ended(reply, sending)
        except (aiohttp.ClientError, TimeoutError, zlib.error) as error:
            return await sending.broken(error, reply.given_back() if rounds is None else b"", self._metrics)

    async def _ended(self, reply: Reply, sending: ResponseWriter) -> web.StreamResponse | bytes:
        """All of a reply has come."""
        rest = reply.end()
        if reply.may_retry:
            body = await self._retried(reply)
            if body is not None:
                return body
            rest = reply.given_back()
        if self._rounds is not None:
            await sending.write(self._rounds.feed(rest))
            body = await self._worker.run(partial(self._exchange.next_round, reply))
            if body is not None:
                self._metrics.add("searches")
                self._rounds.turn()
                return body
            rest = self._rounds.end(has_begun=sending.has_begun)
            self._exchange.link(self._rounds.ids)
        self.note(reply)
        await sending.write(rest)
        return await sending.end()

    async def broken_off(self, reason: str) -> web.StreamResponse | None:
        """End what has begun of a stream with an error; None if nothing has."""
        if self._sending is None or not self._sending.has_begun or self._rounds is None:
            return None
        await self._sending.write(
            self._rounds.failed({"error": {"type": "api_error", "message": f"plimsoll: {reason}"}})
        )
        return await self._sending.end()

    def note(self, reply: Reply | None) -> None:
        """Record the answer, or that there is none, after what is being recorded now; once."""
        if self._is_noted:
            return
        self._is_noted = True
        exchange, metrics = self._exchange, self._metrics

        def step() -> None:
            exchange.finish(reply)
            metrics.problems(exchange.problem)
            if exchange.is_changed:
                metrics.add("changed")

        self._worker.later(step, is_awaited=exchange.may_be_awaited)

    async def _retried(self, reply: Reply) -> bytes | None:
        """The body to send after a refusal; None if there is none."""
        body = await self._worker.run(partial(self._exchange.retry, reply.overflow))
        if body is not None:
            self._metrics.add("retries")
        return body

    def _sending_of(self, upstream: aiohttp.ClientResponse) -> ResponseWriter:
        """What goes to the client of a reply: the rest of a response, if one has begun."""
        if self._sending is None or not self._sending.has_begun:
            response = response_like(upstream, self._request, is_joined=self._rounds is not None)
            if self._exchange.is_changed:
                response.headers["X-Plimsoll"] = "compacted"
            self._sending = ResponseWriter(self._request, response)
        return self._sending


def response_like(
    upstream: aiohttp.ClientResponse, request: web.BaseRequest, *, is_joined: bool = False
) -> web.StreamResponse:
    """A response with the status and the headers of a reply; of a joined one, the bytes are others."""
    fields: CIMultiDict[str] = CIMultiDict(inbound(list(upstream.headers.items())))
    if is_joined:
        fields.popall("Content-Length", None)
        fields.popall("Content-Encoding", None)
    response = web.StreamResponse(status=upstream.status, reason=upstream.reason, headers=fields)
    has_body = request.method != "HEAD" and upstream.status not in (204, 304)
    if has_body and "Content-Length" not in fields and request.version >= (1, 1):
        response.enable_chunked_encoding()
    return response
