"""What the proxy needs of aiohttp: a server and a client with its limits, which say nothing of what they were sent."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from plimsoll.errors import MissingExtra
from plimsoll.proxy.options import ProxyOptions
from plimsoll.proxy.status import Metrics, error_body

try:
    import aiohttp
    from aiohttp import web
    from multidict import CIMultiDict
    from yarl import URL
except ImportError as error:  # pragma: no cover - the extra is installed where this is tested
    raise MissingExtra("proxy", needed_for="plimsoll serve") from error

__all__ = ["URL", "CIMultiDict", "ResponseWriter", "aiohttp", "client", "error_response", "server", "web"]

Handle: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

FIELD_BYTES_MAX: Final = 32 * 1024
"""Bytes of one header."""

HEADERS_MAX: Final = 128

_SILENT = logging.getLogger("plimsoll.proxy.http")
_SILENT.disabled = True


def client(options: ProxyOptions) -> aiohttp.ClientSession:
    """The client that speaks to the upstream. It keeps no cookies, follows no proxy settings, and unpacks nothing."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=30, sock_read=options.idle_timeout_s),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        max_line_size=FIELD_BYTES_MAX,
        max_field_size=FIELD_BYTES_MAX,
    )


def server(handle: Handle, options: ProxyOptions) -> web.Server:
    """The server for clients. A handler is cancelled when its client goes."""
    return _QuietServer(
        handle,
        handler_cancellation=True,
        logger=_SILENT,
        access_log=None,
        keepalive_timeout=options.header_timeout_s,
        lingering_time=1.0,
        max_line_size=FIELD_BYTES_MAX,
        max_field_size=FIELD_BYTES_MAX,
        max_headers=HEADERS_MAX,
        auto_decompress=False,
    )


class _QuietRequests(web.RequestHandler):
    """aiohttp repeats what it cannot parse in its answer and in the log; it may hold a key."""

    __slots__ = ()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to a request that cannot be read, or that a fault of the proxy broke."""
        del exc, message
        if request.writer.output_size > 0:
            raise ConnectionError
        response = error_response(status, "the request cannot be read" if status < 500 else "a fault of the proxy")
        response.force_close()
        return response


class _QuietServer(web.Server):
    """A server with these handlers."""

    def __call__(self) -> web.RequestHandler:
        return _QuietRequests(self, loop=self._loop, **self._kwargs)


class ResponseWriter:
    """A response on its way to the client. Its head goes out with its first bytes."""

    def __init__(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        self._request, self._response = request, response
        self.has_begun = False
        """True once something was sent."""

    async def write(self, data: bytes) -> None:
        """Send some bytes, and wait while the client is slow."""
        if not data:
            return
        await self._begin()
        await self._response.write(data)

    async def end(self) -> web.StreamResponse:
        """All was sent."""
        await self._begin()
        await self._response.write_eof()
        return self._response

    async def broken(self, error: Exception, held: bytes, metrics: Metrics) -> web.StreamResponse:
        """The upstream broke off. What came is sent; then the connection ends without the end of the reply, as its own did."""
        metrics.add("failures", type(error).__name__)
        if not self.has_begun and not held:
            raise error
        await self.write(held)
        if self._request.transport is not None:
            self._request.transport.close()
        raise ConnectionResetError("the upstream broke off")

    async def _begin(self) -> None:
        if not self.has_begun:
            self.has_begun = True
            await self._response.prepare(self._request)


def error_response(status: int, reason: str) -> web.Response:
    """An error of the proxy itself."""
    return web.Response(status=status, text=json.dumps(error_body(status, reason)), content_type="application/json")
