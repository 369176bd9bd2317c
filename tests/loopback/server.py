"""A provider on 127.0.0.1 that is as strict as the real ones, and plays a scripted agent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol, Self

from loopback import agent
from loopback.chat import Chat
from loopback.messages import Messages
from loopback.responses import Responses
from loopback.rules import Refusal

Wire = dict[str, Any]


class Dialect(Protocol):
    """One provider's API."""

    def check(self, body: Wire) -> None:
        """Raise a Refusal for what the API refuses."""
        ...

    def tokens(self, body: Wire) -> int:
        """How long the prompt is."""
        ...

    def overflow(self, tokens: int, window: int) -> Refusal:
        """What a prompt that is too long is told."""
        ...

    def refusal(self, refusal: Refusal) -> Wire:
        """A refusal as the API words it."""
        ...

    def respond(self, answer: agent.Answer, number: int, body: Wire) -> Wire:
        """An answer as the API gives it; remembered where the API remembers it."""
        ...

    def events(self, response: Wire) -> Iterable[tuple[str | None, Any]]:
        """The same answer as server-sent events: name and data."""
        ...


class Provider:
    """Serves the three APIs, while it is entered also below `url`. `bodies` are the requests that it answered, `refused` what it told those it did not."""

    def __init__(self, window: int, *, seed: int = 0) -> None:
        self.window = window
        self.seed = seed
        self.bodies: list[Wire] = []
        self.refused: list[str] = []
        self.tokens: list[int] = []
        self._dialects: dict[str, Dialect] = {
            "/v1/chat/completions": Chat(),
            "/v1/responses": Responses(),
            "/v1/messages": Messages(),
        }
        self.url = ""

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, path: str, body: Wire) -> tuple[int, Wire, Dialect]:
        """Status and answer to a request."""
        dialect = self._dialects[path.partition("?")[0]]
        try:
            dialect.check(body)
            tokens = dialect.tokens(body)
            if tokens > self.window:
                raise dialect.overflow(tokens, self.window)
        except Refusal as refusal:
            self.refused.append(refusal.message)
            return 400, dialect.refusal(refusal), dialect
        number = len(self.bodies)
        self.bodies.append(body)
        self.tokens.append(tokens)
        return 200, dialect.respond(self.says(number, body), number, body), dialect

    def says(self, number: int, body: Wire) -> agent.Answer:
        """What the model says to a request that it takes."""
        del body
        return agent.answer(self.seed, number)


def _handler(provider: Provider) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, answer, dialect = provider.answer(self.path, body)
            if status == 200 and body.get("stream"):
                self._send(200, "text/event-stream", _stream(dialect.events(answer)))
            else:
                self._send(status, "application/json", json.dumps(answer).encode())

        def _send(self, status: int, kind: str, data: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Keep the tests' output clean."""

    return Handler


def _stream(events: Iterable[tuple[str | None, Any]]) -> bytes:
    lines = []
    for name, data in events:
        text = data if isinstance(data, str) else json.dumps(data)
        lines.append((f"event: {name}\n" if name else "") + f"data: {text}\n\n")
    return "".join(lines).encode()
