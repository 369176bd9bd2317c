"""The server over streamable HTTP: on this machine only, or behind a token; and only for the hosts it is served under."""

from __future__ import annotations

import hmac
import socket
from collections.abc import Callable

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from plimsoll.errors import SettingError, on_failure
from plimsoll.light.regex import regex
from plimsoll.limits import MCP_TOKEN_CHARS_MIN
from plimsoll.mcp.server import server_for
from plimsoll.mcp.sessions import ServedSessions
from plimsoll.policy.validation import is_loopback, token_or_none

PATH = "/mcp"
_ADDRESS = regex(r"(?:\[([0-9a-fA-F:.]{2,45})\]|([A-Za-z0-9.-]{1,253})):([0-9]{1,5})")
_TOKEN = regex(r"[\x21-\x7e]+")
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def address(text: str) -> tuple[str, int]:
    """The host and port of `HOST:PORT` or `[HOST]:PORT`. Raises SettingError."""
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match[3]) > 65_535:
        raise SettingError("http", f"HOST:PORT is needed, such as 127.0.0.1:8757, not {text[:80]!r}")
    return match[1] or match[2], int(match[3])


def checked_token(token: str | None) -> str | None:
    """A token that is hard to guess and can stand in a header. Raises SettingError, which does not repeat it."""
    token = token_or_none(token)
    if token is not None and (len(token) < MCP_TOKEN_CHARS_MIN or not _TOKEN.fullmatch(token)):
        raise SettingError("token", f"{MCP_TOKEN_CHARS_MIN} or more printable characters without spaces are needed")
    return token


async def serve_http(
    sessions: ServedSessions,
    host: str,
    port: int,
    *,
    token: str | None = None,
    started: Callable[[str], None] = lambda _url: None,
) -> None:
    """Serve any number of clients until the process is interrupted. Port 0 is any free one; `started` is called with the URL.

    Clients send the token as `Authorization: Bearer ...`; None: no token, on loopback addresses only. Raises SettingError for
    another address without a token, OSError if it cannot be listened on.
    """
    wanted = checked_token(token)
    if wanted is None and not is_loopback(host):
        raise SettingError("http", f"{host} can be reached from other machines: a token is needed, or 127.0.0.1")
    with _listening(host, port) as bound:
        at = bound.getsockname()[1]
        names = _LOOPBACK if is_loopback(host) else (f"[{host}]" if ":" in host else host,)
        app = guarded(sessions, [f"{name}:{at}" for name in names], wanted)
        config = uvicorn.Config(
            app, log_level="error", log_config=None, access_log=False, server_header=False, lifespan="on"
        )
        started(f"http://{f'[{host}]' if ':' in host else host}:{at}{PATH}")
        await uvicorn.Server(config).serve(sockets=[bound])


def guarded(sessions: ServedSessions, hosts: list[str], token: str | None) -> ASGIApp:
    """The application: each request is checked for its Host and Origin, and for the token if there is one.

    `hosts` are the exact values of Host that are served. A page of another origin is refused, also one whose name leads here.
    """
    security = TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts])
    app = server_for(sessions).streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, json_response=True, transport_security=security
    )
    if token is None:
        return app
    wanted = f"Bearer {token}".encode()

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        given = Headers(scope=scope).get("authorization", "") if scope["type"] == "http" else None
        if given is not None and not hmac.compare_digest(given.encode("utf-8", "replace"), wanted):
            refused = Response("a token is needed", status_code=401, headers={"WWW-Authenticate": "Bearer"})
            await refused(scope, receive, send)
            return
        await app(scope, receive, send)

    return checked


def _listening(host: str, port: int) -> socket.socket:
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    bound = socket.socket(family, socket.SOCK_STREAM)
    with on_failure(bound.close):
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(128)
    return bound
