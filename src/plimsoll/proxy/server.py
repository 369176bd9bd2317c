"""The sockets of the proxy: a server for clients, a client for the upstream, on aiohttp."""

from __future__ import annotations

import asyncio
import io
import zlib
from collections.abc import Sequence
from typing import Final

from plimsoll.conversations.conversations import Conversations
from plimsoll.errors import MissingExtra, on_failure
from plimsoll.proxy.access import Head, refusal
from plimsoll.proxy.flow import Asked, Flow, format_of_route
from plimsoll.proxy.headers import credentials, outbound
from plimsoll.proxy.options import ProxyOptions
from plimsoll.proxy.relay import Relay, response_like
from plimsoll.proxy.sockets import URL, CIMultiDict, ResponseWriter, aiohttp, client, error_response, server, web
from plimsoll.proxy.status import OWN_ROUTES, Metrics, own_page
from plimsoll.proxy.worker import Worker
from plimsoll.transcripts.source import zstd

NAME_HEADER: Final = "x-plimsoll-session"
LONG_CONTEXT: Final = "context-1m"
"""In the header anthropic-beta: the window is a million tokens."""

_AT_ONCE_BYTES_MAX: Final = 1 << 20
"""A larger body is written in pieces, so that other connections are served meanwhile."""

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})


class Proxy:
    """A proxy that listens. Runs in the event loop in which it is started."""

    def __init__(self, options: ProxyOptions, conversations: Conversations) -> None:
        self.options = options
        self.metrics = Metrics()
        self.port = options.port
        """The port that it listens on, once it is started."""
        self._flow = Flow(conversations)
        self._worker = Worker(self.metrics)
        self._upstream = URL(options.upstream)

    async def start(self) -> None:
        """Listen. Raises OSError if the address is taken."""
        options = self.options
        self._session = client(options)
        self._runner = web.ServerRunner(server(self._handle, options), shutdown_timeout=5.0)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, options.host, options.port).start()
        except BaseException:
            await self.stop()
            raise
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        """Stop listening, and write what is still to be recorded."""
        await self._runner.cleanup()
        await self._session.close()
        await self._worker.finish()
        await self._worker.run(self._flow.conversations.close)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        head = _head(request)
        refused = refusal(head, self.options, self.port)
        if refused is not None:
            return self._refused(refused.status, refused.reason)
        own = self._answered_here(head)
        if own is not None:
            return own
        self.metrics.active += 1
        try:
            return await self._serve(request, head)
        except BodyTooLarge:
            return self._refused(413, f"the body is larger than {self.options.body_bytes_max} bytes")
        except TimeoutError:
            return self._refused(408, "the request took too long to arrive")
        finally:
            self.metrics.active -= 1

    def _answered_here(self, head: Head) -> web.Response | None:
        """The answer to a request that is not passed on; None for one that is."""
        if "websocket" in ",".join(head.headers.get("upgrade", ())).lower():
            return self._without_websockets()
        path = head.target.partition("?")[0]
        if path in OWN_ROUTES and head.method in ("GET", "HEAD"):
            kind, text = own_page(path, self.options, self.metrics, self._flow.conversations)
            return web.Response(text=text, content_type=kind)
        if self.metrics.active >= self.options.requests_max:
            return self._refused(503, "too many requests at a time")
        return None

    async def _serve(self, request: web.BaseRequest, head: Head) -> web.StreamResponse:
        api = format_of_route(head.method, head.target)
        kind = (head.headers.get("content-type") or [""])[0].partition(";")[0].strip().lower()
        if api is not None and kind != "application/json":
            return self._refused(415, "a body of the type application/json is needed")
        raw = await self._body(request)
        text = unpacked(raw, ",".join(head.headers.get("content-encoding", ())), self.options.body_bytes_max)
        if api is None or text is None:
            self.metrics.add("requests", "passed")
            return await self._forward(request, head, raw, None)
        exchange = self._flow.exchange(
            Asked(
                path=head.target,
                format=api,
                raw=raw,
                text=text,
                name=next(iter(head.headers.get(NAME_HEADER, ())), None),
                credentials=credentials(head.headers),
                window_tokens=1_000_000 if LONG_CONTEXT in ",".join(head.headers.get("anthropic-beta", ())) else None,
            )
        )
        relay = Relay(request, exchange, self._worker, self.metrics)
        try:
            body = exchange.ready
            if body is None:
                body = await self._worker.run(exchange.prepare)
            if exchange.needs_note:
                exchange.is_recorded = self._worker.later(exchange.note)
            self.metrics.add("requests", exchange.lane)
            return await self._forward(request, head, body, relay)
        finally:
            relay.note(None)

    async def _forward(
        self, request: web.BaseRequest, head: Head, body: bytes, relay: Relay | None
    ) -> web.StreamResponse:
        """Send a body to the upstream and its reply to the client, and as often as another body is to be sent."""
        try:
            while True:
                fields = outbound(_fields(request), is_read=relay is not None)
                if relay is not None and not relay.begin(body):
                    fields = [(name, value) for name, value in fields if name.lower() != "content-encoding"]
                async with self._session.request(
                    head.method,
                    self._target(head.target),
                    data=io.BytesIO(body) if len(body) > _AT_ONCE_BYTES_MAX else body or None,
                    headers=CIMultiDict(fields),
                    skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
                    allow_redirects=False,
                ) as reply:
                    with on_failure(reply.close):
                        found = await self._replied(request, reply, relay)
                    if isinstance(found, web.StreamResponse):
                        return found
                    reply.close()
                body = found
        except TimeoutError:
            return await self._failed("timeout", 504, "the upstream did not answer in time", relay)
        except aiohttp.ClientError as error:
            name = type(error).__name__
            return await self._failed(name, 502, f"the upstream cannot be reached: {name}", relay)

    async def _replied(
        self, request: web.BaseRequest, upstream: aiohttp.ClientResponse, relay: Relay | None
    ) -> web.StreamResponse | bytes:
        """Pass a reply on as it comes. Returns the body to send next if it is not the last one."""
        self.metrics.add("replies", upstream.status)
        if upstream.status in _REDIRECTS:
            return await self._failed("redirect", 502, "the upstream redirects, which is not followed", relay)
        if relay is None:
            return await self._pass_on(request, upstream, response_like(upstream, request))
        return await relay.take(upstream)

    async def _failed(self, what: str, status: int, reason: str, relay: Relay | None) -> web.StreamResponse:
        """The answer when the upstream gives none."""
        self.metrics.add("failures", what)
        begun = None if relay is None else await relay.broken_off(reason)
        return begun or error_response(status, reason)

    async def _pass_on(
        self, request: web.BaseRequest, upstream: aiohttp.ClientResponse, response: web.StreamResponse
    ) -> web.StreamResponse:
        sending = ResponseWriter(request, response)
        try:
            async for data in upstream.content.iter_any():
                await sending.write(data)
            return await sending.end()
        except (aiohttp.ClientError, TimeoutError) as error:
            return await sending.broken(error, b"", self.metrics)

    async def _body(self, request: web.BaseRequest) -> bytes:
        """The whole body. Raises BodyTooLarge, TimeoutError."""
        limit = self.options.body_bytes_max
        if (request.content_length or 0) > limit:
            raise BodyTooLarge
        if request.headers.get("Expect", "").lower() == "100-continue":
            await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            request.writer.output_size = 0
        pieces, size = list[bytes](), 0
        now, silence_s = asyncio.get_running_loop().time, self.options.header_timeout_s
        ends_at = now() + self.options.read_timeout_s
        async with asyncio.timeout_at(min(ends_at, now() + silence_s)) as patience:
            async for piece in request.content.iter_any():
                patience.reschedule(min(ends_at, now() + silence_s))
                size += len(piece)
                if size > limit:
                    raise BodyTooLarge
                pieces.append(piece)
        return b"".join(pieces)

    def _target(self, target: str) -> URL:
        """Where a request goes: always the configured upstream."""
        base = self.options.upstream
        if base.endswith("/v1") and target.startswith("/v1/"):
            target = target.removeprefix("/v1")
        found = URL(base + target, encoded=True)
        assert found.origin() == self._upstream.origin()
        return found

    def _without_websockets(self) -> web.Response:
        """Codex asks for one first. After this status it goes on with HTTP at once, after any other it tries again for seconds."""
        response = self._refused(426, "WebSockets are not passed on; use HTTP")
        response.headers["Upgrade"] = "HTTP/1.1"
        response.force_close()
        return response

    def _refused(self, status: int, reason: str) -> web.Response:
        self.metrics.add("refused", status)
        return error_response(status, reason)


def _head(request: web.BaseRequest) -> Head:
    headers: dict[str, list[str]] = {}
    for name, value in _fields(request):
        headers.setdefault(name.lower(), []).append(value)
    return Head(method=request.method, target=request.raw_path, headers=headers)


def _fields(request: web.BaseRequest) -> Sequence[tuple[str, str]]:
    return list(request.headers.items())


_GZIP_BITS: Final = 47
"""For zlib: a gzip or zlib header, found by looking."""


_ZSTD_STEP_BYTES: Final = 1_024
"""Bytes unpacked at once: at the worst ratio they become 32 MiB."""


class BodyTooLarge(Exception):
    """A body is larger than allowed, as it is or unpacked."""


def unpacked(raw: bytes, encoding: str, size_bytes_max: int) -> bytes | None:
    """The text of a body; None if it is compressed in a way that is not read here, or damaged. Raises BodyTooLarge."""
    kind = encoding.strip().lower()
    if kind in ("", "identity"):
        return raw
    if kind == "zstd":
        return _from_zstd(raw, size_bytes_max)
    if kind not in ("gzip", "x-gzip", "deflate"):
        return None
    reader = zlib.decompressobj(_GZIP_BITS)
    try:
        found = reader.decompress(raw, size_bytes_max + 1)
    except zlib.error:
        return None
    if len(found) > size_bytes_max:
        raise BodyTooLarge
    return found if reader.eof and not reader.unused_data else None


def _from_zstd(raw: bytes, size_bytes_max: int) -> bytes | None:
    """As `unpacked`; Codex packs its requests so. None without a decompressor, too."""
    try:
        make, damaged = zstd()
    except MissingExtra:
        return None
    reader, found = make(), bytearray()
    for at in range(0, len(raw), _ZSTD_STEP_BYTES):
        if reader.eof:
            return None  # more follows
        try:
            found += reader.decompress(raw[at : at + _ZSTD_STEP_BYTES])
        except damaged:
            return None
        if len(found) > size_bytes_max:
            raise BodyTooLarge
    return bytes(found) if reader.eof and not reader.unused_data else None
