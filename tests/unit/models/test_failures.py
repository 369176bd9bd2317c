"""Every failure that the official SDKs document, at a server on this machine: rules write, and the note names the failure."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import plimsoll

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")

pytestmark = pytest.mark.slow

HISTORY = [
    {"role": ("user", "assistant")[n % 2], "content": f"Turn {n}: crane {n} moved pallet {n * 37} to bay {n % 9}. " * 4}
    for n in range(24)
]
TEXT = "Crane 5 moved pallet 185 to bay 5."


def chat(*, choices: Any = None, finish: str | None = "stop", **message: Any) -> dict[str, Any]:
    """A chat completion."""
    said = {"role": "assistant", "content": TEXT, **message}
    given = [{"index": 0, "message": said, "finish_reason": finish}] if choices is None else choices
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "small", "choices": given}


def message(content: Any = None, stop: str | None = "end_turn") -> dict[str, Any]:
    """A message of Anthropic's."""
    given = [{"type": "text", "text": TEXT}] if content is None else content
    used = {"input_tokens": 1, "output_tokens": 1}
    return {
        "id": "m", "type": "message", "role": "assistant", "model": "small", "content": given, "stop_reason": stop,
        "stop_sequence": None, "usage": used,
    }  # fmt: skip


def error(words: str) -> dict[str, Any]:
    """An error's body, as both providers word it."""
    return {"type": "error", "error": {"message": words, "type": "x", "code": None, "param": None}}


def events(*found: Any, ends: bool = True) -> bytes:
    """Server-sent events."""
    lines = [
        f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" if "type" in e else f"data: {json.dumps(e)}\n\n" for e in found
    ]
    return "".join([*lines, "data: [DONE]\n\n" if ends else ""]).encode()


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """A piece of a streamed chat completion."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "small", "choices": [choice]}


TOOL = {"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}
STARTED = {"type": "message_start", "message": message([], None)}
STATUSES = [
    (400, "BadRequest"), (401, "Authentication"), (403, "PermissionDenied"), (404, "NotFound"), (408, ""), (409, "Conflict"),
    (413, ""), (422, "Unprocessable"), (429, "RateLimit"), (500, "InternalServer"), (502, "InternalServer"),
    (503, ""), (504, ""), (529, ""),
]  # fmt: skip
ANSWERS: list[tuple[str, str, Any, str]] = [
    ("openai", "length", chat(finish="length"), "length"),
    ("openai", "content filter", chat(finish="content_filter"), "content_filter"),
    ("openai", "filtered away", chat(finish="content_filter", content=None), "content_filter"),
    ("openai", "tool calls", chat(finish="tool_calls", content=None, tool_calls=[TOOL]), "tool_calls"),
    ("openai", "refusal", chat(content=None, refusal="I cannot help with that."), "I cannot help with that."),
    ("openai", "no choices", chat(choices=[]), "no choices"),
    ("openai", "null choices", {**chat(), "choices": None}, "no choices"),
    ("openai", "null message", chat(choices=[{"index": 0, "finish_reason": "stop", "message": None}]), "empty"),
    ("openai", "null content", chat(content=None), "empty"),
    ("openai", "blank content", chat(content=" \n"), "empty"),
    ("openai", "no parts", chat(content=[]), "empty"),
    ("openai", "parts without a text", chat(content=[{"type": "text", "text": None}, {"type": "text"}, None]), "empty"),
    ("openai", "reasoning alone", chat(content="<think>Crate by crate, I"), "empty"),
    ("openai", "a refusal in Chinese", chat(content="很抱歉，我无法协助完成这个请求。"), "refusal"),
    ("openai", "an error with status 200", error("overloaded"), "overloaded"),
    ("openai", "a page", b"<html>502 Bad Gateway</html>", ""),
    ("openai", "not JSON", b"{", ""),
    ("openai", "cut off", b'{"id"', ""),
    ("openai", "stream without an end", events(chunk(content=TEXT), ends=False), "an early end"),
    ("openai", "stream cut for length", events(chunk(content=TEXT), chunk("length")), "length"),
    ("openai", "stream with an error", events(chunk(content=TEXT), error("overloaded")), "overloaded"),
    ("openai", "stream of nothing", events({**chunk(), "choices": []}), "an early end"),
    ("anthropic", "length", message(stop="max_tokens"), "max_tokens"),
    ("anthropic", "refusal", message([], stop="refusal"), "refusal"),
    ("anthropic", "window", message(stop="model_context_window_exceeded"), "model_context_window_exceeded"),
    ("anthropic", "pause", message(stop="pause_turn"), "pause_turn"),
    ("anthropic", "tool use", message([{"type": "tool_use", "id": "t", "name": "f", "input": {}}], "tool_use"), "tool_use"),
    ("anthropic", "no content", message([]), "empty"),
    ("anthropic", "null content", {**message(), "content": None}, "empty"),
    ("anthropic", "thinking alone", message([{"type": "thinking", "thinking": "hm", "signature": "s"}]), "empty"),
    ("anthropic", "a page", b"<html>502 Bad Gateway</html>", ""),
    ("anthropic", "stream without an end", events(STARTED, ends=False), ""),
    ("anthropic", "stream with an error", events(STARTED, error("Overloaded"), ends=False), "verloaded"),
]  # fmt: skip


class Server:
    """Answers each request with the next of its answers, the last one again and again. Bytes are sent as they are."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.requests = 0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                outer.requests += 1
                given = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                status, body = given if isinstance(given, tuple) else (200, given)
                if body == "reset":
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
                    self.connection.close()
                    return
                if body == "slow":
                    time.sleep(0.5)
                raw = body if isinstance(body, bytes) else json.dumps(body).encode()
                self.send_response(status)
                self.send_header(
                    "Content-Type", "text/event-stream" if raw[:5] in (b"data:", b"event") else "application/json"
                )
                self.send_header("Content-Length", str(len(raw) + (20 if raw == b'{"id"' else 0)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, format: str, *args: object) -> None:
                """Keep the tests' output clean."""

            def handle(self) -> None:
                try:
                    super().handle()
                except (OSError, ValueError):
                    self.close_connection = True

            def finish(self) -> None:
                try:
                    super().finish()
                except (OSError, ValueError):
                    self.close_connection = True

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One server for all tests."""
    made = Server()
    yield made
    made.close()


def fitted(server: Server, api: str, *answers: Any, stream: bool = False, url: str | None = None) -> Any:
    """What `fit` makes of a history where the model's server answers so."""
    server.answers, server.requests = list(answers), 0
    make = openai.OpenAI if api == "openai" else anthropic.Anthropic
    with make(api_key="k", base_url=(url or server.url) + ("/v1" if api == "openai" else ""), max_retries=0) as client:
        summarizer = plimsoll.model_summarizer(f"{api}:small", client=client, timeout_s=0.3, stream=stream)
        return plimsoll.fit(HISTORY, max_tokens=700, summarizer=summarizer)


def check(made: Any, words: str) -> None:
    """Rules wrote within the budget, and the note has these words."""
    assert made.report.stage == "rules"
    assert made.report.tokens_after <= 700
    assert plimsoll.validate(made.messages) == []
    assert words in made.report.note


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("status", "name"), STATUSES)
@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_status(server: Server, api: str, status: int, name: str, stream: bool) -> None:
    """Each is asked once more; the note has the SDK's name of it and the provider's words."""
    made = fitted(server, api, (status, error("the pier is closed")), stream=stream)
    check(made, "the pier is closed")
    assert name in made.report.note
    assert server.requests == 2


@pytest.mark.parametrize(
    ("api", "name", "answer", "words"), ANSWERS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_an_answer(server: Server, api: str, name: str, answer: Any, words: str) -> None:
    """An answer that is no summary is not used, and not one cut off in its middle."""
    check(fitted(server, api, answer, stream="stream" in name), words)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_a_connection_that_fails(server: Server, api: str, stream: bool) -> None:
    """Reset, silent for too long, or refused."""
    for word in ("reset", "slow"):
        check(
            fitted(server, api, (200, word), stream=stream),
            "APITimeoutError" if word == "slow" else "APIConnectionError",
        )
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        check(fitted(server, api, chat(), url=f"http://127.0.0.1:{taken.getsockname()[1]}"), "APIConnectionError")


@pytest.mark.parametrize("api", ["openai", "anthropic"])
@pytest.mark.parametrize("first", [(429, error("slow down")), (503, error("later")), (200, "reset"), (200, b"{")])
def test_the_second_attempt_is_used(server: Server, api: str, first: Any) -> None:
    """What fails once is no reason to give a model up."""
    made = fitted(server, api, first, chat() if api == "openai" else message())
    assert made.report.stage == "model"
    assert TEXT in str(made.messages)


@pytest.mark.parametrize(
    "content", [[{"type": "text", "text": TEXT}], f"<think>Hm.</think>\n\n{TEXT}", f"Here is the summary:\n\n{TEXT}"]
)
def test_an_answer_in_another_shape_is_used(server: Server, content: Any) -> None:
    """In parts, behind its reasoning, or with an introduction, as compatible endpoints send it."""
    made = fitted(server, "openai", chat(content=content))
    assert made.report.stage == "model"
    assert made.report.summary.split("\n")[0] == TEXT


@pytest.mark.parametrize("last", [None, "", [{"type": "text", "text": None}], [{"type": "text", "text": "."}]])
def test_a_streamed_answer_in_parts_is_used(server: Server, last: Any) -> None:
    """A piece may be a text, a list of parts, or without a text, which adds nothing."""
    parts = [{"type": "text", "text": TEXT[:9]}, {"type": "text", "text": TEXT[9:]}]
    made = fitted(server, "openai", events(chunk(content=parts), chunk(content=last), chunk("stop")), stream=True)
    assert made.report.stage == "model"
    assert made.report.summary.split("\n")[0].rstrip(".") == TEXT.rstrip(".")
    assert "None" not in made.report.summary
