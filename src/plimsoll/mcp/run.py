"""Starting the server: what the extra `mcp` brings is imported here, when it is needed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from plimsoll.errors import MissingExtra
from plimsoll.mcp.sessions import ServedSessions
from plimsoll.store.open import StoreSpec


def serve(
    *,
    store: StoreSpec = None,
    session: str | None = None,
    http: str | None = None,
    token: str | None = None,
    started: Callable[[str], None] = lambda _url: None,
) -> None:
    """Serve the sessions of a store as MCP tools, until the client closes or the process is interrupted.

    Args:
        store: as in `plimsoll.open`.
        session: the session that calls mean which name none; None: the one changed last.
        http: HOST:PORT to serve streamable HTTP on; None: standard input and output.
        token: what HTTP clients must send; needed for hosts other than this machine's own.
        started: called with the URL when HTTP clients can connect.

    Raises: MissingExtra, SettingError, OSError.

    """
    try:
        import anyio  # noqa: PLC0415 - the extra is only needed to serve

        from plimsoll.mcp.server import serve_stdio  # noqa: PLC0415 - as above
    except ImportError as error:
        raise MissingExtra("mcp", needed_for="plimsoll mcp") from error
    served = ServedSessions(store=store, name=session)
    if http is None:
        anyio.run(serve_stdio, served)
        return
    from plimsoll.mcp.http import address, serve_http  # noqa: PLC0415 - only needed to serve HTTP

    host, port = address(http)
    anyio.run(partial(serve_http, served, host, port, token=token, started=started))
