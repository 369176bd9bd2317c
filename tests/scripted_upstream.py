"""An upstream on a socket that answers with scripted bytes, and keeps what it was sent."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Self


class ScriptedUpstream:
    """Serves one request for each connection. `script` gets the connection after the request was read."""

    def __init__(self, script: Callable[[socket.socket], None]) -> None:
        self.requests: list[bytes] = []
        self.closed_after_s: list[float] = []
        """For scripts that wait for the end: how long it took until the other side closed."""
        self._script = script

    def __enter__(self) -> Self:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(20)
            data = read_message(connection)
            if data:
                self.requests.append(data)
                with suppress(OSError):
                    self._script(connection)

    def wait_for_close(self, connection: socket.socket) -> None:
        """Wait until the other side closes."""
        began = time.monotonic()
        with suppress(OSError):
            while connection.recv(1024):
                pass
        self.closed_after_s.append(time.monotonic() - began)


def read_message(connection: socket.socket) -> bytes:
    """A whole message with a Content-Length; what came if the connection ends."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return data
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
    while lengths and len(body) < int(lengths[0]):
        more = connection.recv(65536)
        if not more:
            break
        data, body = data + more, body + more
    return data


def read_all(connection: socket.socket) -> bytes:
    """All until the connection ends."""
    pieces = []
    while True:
        try:
            more = connection.recv(65536)
        except ConnectionResetError:
            more = b""
        if not more:
            return b"".join(pieces)
        pieces.append(more)


def response(status: str, body: bytes, *headers: str, kind: str = "application/json") -> bytes:
    """A response."""
    lines = [
        f"HTTP/1.1 {status}",
        f"Content-Type: {kind}",
        f"Content-Length: {len(body)}",
        "Connection: close",
        *headers,
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body
