"""The proxy on sockets: what goes out, what comes back, and what is left when something breaks."""

from __future__ import annotations

import gzip
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import zstandard

from plimsoll.conversations.conversations import Conversations
from plimsoll.proxy.options import checked_options
from plimsoll.proxy.run import running
from plimsoll.proxy.server import Proxy
from scripted_upstream import ScriptedUpstream, read_all, read_message, response

KEY = "sk-canary-7f3e9a1b2c4d5e6f7a8b"
ANSWER = {
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 20, "completion_tokens": 2},
}
GOOD = response("200 OK", json.dumps(ANSWER).encode())
STREAM = (
    b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Yes"}}]}\n\n',
    b'data: {"choices":[{"index":0,"delta":{"content":"."},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
)
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def asked(text: str = "Why?", **fields: Any) -> bytes:
    """The body of a request, spaced as no encoder of ours does it."""
    return json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": text}], **fields}, indent=1).encode()


@contextmanager
def proxied(
    script: Callable[[socket.socket], None], *, store: Any = "memory:", max_tokens: int | None = None, **options: Any
) -> Iterator[tuple[ScriptedUpstream, Proxy]]:
    """A proxy before a scripted upstream."""
    with (
        ScriptedUpstream(script) as upstream,
        Conversations(store, max_tokens=max_tokens) as conversations,
        running(checked_options(upstream.url, port=0, **options), conversations) as proxy,
    ):
        yield upstream, proxy


def connected(proxy: Proxy) -> socket.socket:
    """A connection to the proxy."""
    connection = socket.create_connection(("127.0.0.1", proxy.port))
    connection.settimeout(20)
    return connection


def request(
    proxy: Proxy, body: bytes, *headers: str, path: str = "/v1/chat/completions", method: str = "POST"
) -> bytes:
    """The bytes of a request."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{proxy.port}", "Content-Type: application/json"]
    lines += [f"Content-Length: {len(body)}", f"Authorization: Bearer {KEY}", "Connection: close", *headers]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def sent(proxy: Proxy, body: bytes, *headers: str, **how: str) -> bytes:
    """The whole response to a request."""
    with connected(proxy) as connection:
        connection.sendall(request(proxy, body, *headers, **how))
        return read_all(connection)


def idle(proxy: Proxy) -> None:
    """Wait until everything is recorded."""
    while proxy.metrics.waiting or proxy.metrics.active:
        time.sleep(0.01)


def test_a_request_that_fits_goes_out_byte_for_byte():
    """With its key, without what is the proxy's own; its answer comes back as it is, and is recorded."""
    with proxied(lambda connection: connection.sendall(GOOD)) as (upstream, proxy):
        body = asked("Hä?")
        found = sent(
            proxy, body, "X-Plimsoll-Session: talk", "X-Forwarded-For: 1.2.3.4", "Cookie: a=b", "anthropic-beta: x"
        )
        idle(proxy)
        head, _, came = upstream.requests[0].partition(b"\r\n\r\n")
        assert came == body
        lines = {line.split(b":")[0].lower() for line in head.split(b"\r\n")[1:]}
        assert lines == {
            b"host",
            b"content-type",
            b"content-length",
            b"authorization",
            b"anthropic-beta",
            b"accept-encoding",
        }
        assert f"Bearer {KEY}".encode() in head
        assert found.startswith(b"HTTP/1.1 200 OK\r\n")
        assert found.endswith(json.dumps(ANSWER).encode())
        [conversation] = proxy._flow.conversations
        assert conversation.name == "talk"
        assert [message["content"] for message in conversation.session.history()] == ["Hä?", "Yes."]
        assert len(conversation.session.usage()) == 1


@pytest.mark.parametrize("pause", [0, 0.01])
def test_a_stream_passes_as_it_comes(pause):
    """And its answer is put together into the log."""

    def script(connection: socket.socket) -> None:
        connection.sendall(STREAM_HEAD)
        for data in STREAM:
            time.sleep(pause)
            connection.sendall(data)

    with proxied(script) as (_, proxy):
        found = sent(proxy, asked(stream=True))
        idle(proxy)
        assert all(piece.strip() in found for piece in STREAM)
        [conversation] = proxy._flow.conversations
        assert conversation.session.history()[-1] == {"role": "assistant", "content": "Yes."}


def test_a_request_too_long_for_the_provider_is_compacted_harder_once():
    """By what the provider said, and the client sees only the answer."""
    error = {
        "error": {
            "code": "context_length_exceeded",
            "message": "maximum context length is 2000 tokens. However, your messages resulted in 2900 tokens.",
        }
    }
    scripts = [response("400 Bad Request", json.dumps(error).encode()), GOOD]
    with proxied(lambda connection: connection.sendall(scripts.pop(0))) as (upstream, proxy):
        held = [{"role": "user", "content": f"question {number} " + "why " * 400} for number in range(7)]
        found = sent(proxy, json.dumps({"model": "gpt-4o", "messages": held}).encode())
        assert b"Yes." in found
        first, second = (len(one.partition(b"\r\n\r\n")[2]) for one in upstream.requests)
        assert second < 0.7 * first
        assert proxy.metrics.to_dict()["retries"] == 1


def test_a_request_that_cannot_be_smaller_gets_the_providers_words():
    """The error is passed on as it came, once."""
    error = json.dumps({"error": {"code": "context_length_exceeded", "message": "Too long."}}).encode()
    with proxied(lambda connection: connection.sendall(response("400 Bad Request", error))) as (upstream, proxy):
        assert sent(proxy, asked("x")).endswith(error)
        assert len(upstream.requests) <= 2


@pytest.mark.parametrize(
    "status", ["429 Too Many Requests", "500 Internal Server Error", "529 Overloaded", "404 Not Found"]
)
def test_errors_of_the_provider_are_passed_on(status):
    """Status, body and what the client acts by; the request is sent once."""
    error = b'{"error": {"type": "overloaded_error"}}'
    with proxied(
        lambda connection: connection.sendall(response(status, error, "Retry-After: 7", "x-request-id: r"))
    ) as (upstream, proxy):
        found = sent(proxy, asked())
        assert found.startswith(f"HTTP/1.1 {status}\r\n".encode())
        assert b"Retry-After: 7\r\n" in found
        assert found.endswith(error)
        assert len(upstream.requests) == 1


def test_redirects_are_not_followed():
    """Nor passed on: a client may follow them with its key."""
    script = response("307 Temporary Redirect", b"", "Location: https://evil.example/v1")
    with proxied(lambda connection: connection.sendall(script)) as (_, proxy):
        found = sent(proxy, asked())
        assert found.startswith(b"HTTP/1.1 502 ")
        assert b"evil" not in found


@pytest.mark.parametrize("upstream_says", [b"", b"HTTP/1.1 200 OK\r\nContent-Le", b"nonsense\r\n\r\n"])
def test_an_upstream_that_says_nothing_is_told(upstream_says):
    """An error in the form that SDKs read, without the key."""
    with proxied(lambda connection: connection.sendall(upstream_says)) as (_, proxy):
        found = sent(proxy, asked())
        assert found.startswith(b"HTTP/1.1 502 ")
        assert json.loads(found.partition(b"\r\n\r\n")[2])["error"]["type"] == "api_error"
        assert KEY.encode() not in found


@pytest.mark.parametrize("is_stream", [True, False])
def test_a_reply_that_breaks_off_breaks_off(is_stream):
    """The client sees what came and no proper end; the partial answer is not recorded."""
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: " + (
        b"text/event-stream" if is_stream else b"application/json"
    )
    data = STREAM[0] if is_stream else json.dumps(ANSWER).encode()[:40]
    script = head + b"\r\n\r\n" + b"%x\r\n" % len(data) + data + b"\r\n"
    with proxied(lambda connection: connection.sendall(script)) as (_, proxy):
        found = sent(proxy, asked(stream=is_stream))
        idle(proxy)
        assert data in found
        assert not found.endswith(b"0\r\n\r\n")
        [conversation] = proxy._flow.conversations
        assert len(conversation.session.history()) == 1
        assert conversation.awaited == 0


def test_a_client_that_goes_closes_the_upstream():
    """Before the first byte, and in the middle of a stream; not only at the next byte."""
    for first in (b"", STREAM_HEAD + STREAM[0]):
        upstreams: list[ScriptedUpstream] = []

        def script(
            connection: socket.socket, first: bytes = first, upstreams: list[ScriptedUpstream] = upstreams
        ) -> None:
            connection.sendall(first)
            upstreams[0].wait_for_close(connection)

        with proxied(script) as (upstream, proxy):
            upstreams.append(upstream)
            with connected(proxy) as connection:
                connection.sendall(request(proxy, asked(stream=True)))
                while not upstream.requests:
                    time.sleep(0.01)
                if first:
                    assert connection.recv(65536)
            for _ in range(300):
                if upstream.closed_after_s:
                    break
                time.sleep(0.01)
            assert upstream.closed_after_s
            idle(proxy)
            assert [one.awaited for one in proxy._flow.conversations] == [0]


def test_other_routes_are_passed_through():
    """As they are, both ways."""
    with proxied(lambda connection: connection.sendall(response("200 OK", b"[1]", kind="text/plain"))) as (
        upstream,
        proxy,
    ):
        assert sent(proxy, b"", path="/v1/models?limit=2", method="GET").endswith(b"[1]")
        assert upstream.requests[0].startswith(b"GET /v1/models?limit=2 HTTP/1.1\r\n")
        sent(proxy, b"\x00\x01", "Content-Encoding: br", path="/v1/files")
        assert upstream.requests[1].endswith(b"\r\n\r\n\x00\x01")


@pytest.mark.parametrize(("coding", "pack"), [("gzip", gzip.compress), ("zstd", zstandard.compress)])
def test_packed_bodies(coding, pack):
    """They go on as they came if they fit, unpacked if they are compacted, and bombs are refused."""
    with proxied(lambda connection: connection.sendall(GOOD), max_tokens=300, body_bytes_max=500_000) as (
        upstream,
        proxy,
    ):
        packed = pack(asked())
        sent(proxy, packed, f"Content-Encoding: {coding}")
        assert upstream.requests[0].endswith(packed)
        held = [{"role": "user", "content": f"question {number} " + "why " * 60} for number in range(9)]
        sent(proxy, pack(json.dumps({"model": "gpt-4o", "messages": held}).encode()), f"Content-Encoding: {coding}")
        head, _, body = upstream.requests[1].partition(b"\r\n\r\n")
        assert b"content-encoding" not in head.lower()
        assert len(json.loads(body)["messages"]) < 9
        assert sent(proxy, pack(b" " * 5_000_000), f"Content-Encoding: {coding}").startswith(b"HTTP/1.1 413 ")
        assert sent(proxy, b" " * 500_001).startswith(b"HTTP/1.1 413 ")
        assert len(upstream.requests) == 2


@pytest.mark.parametrize("path", ["/v1/responses", "/v1/realtime?model=m"])
def test_websockets_are_declined_at_once(path):
    """With the status at which Codex goes on with HTTP; nothing of it gets to the upstream, and the next request is answered."""
    with proxied(lambda connection: connection.sendall(GOOD)) as (upstream, proxy):
        key = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="
        found = sent(proxy, b"", f"Upgrade: WebSocket\r\n{key}", path=path, method="GET")
        assert found.startswith(b"HTTP/1.1 426 ")
        assert b"\r\nUpgrade: HTTP/1.1\r\n" in found
        assert upstream.requests == []
        assert sent(proxy, asked()).startswith(b"HTTP/1.1 200 ")


HEADS: dict[str, tuple[bytes, bytes]] = {
    "very many headers": (b"".join(b"X-%d: 1\r\n" % number for number in range(5_000)), b"HTTP/1.0 400 "),
    "a very long header": (b"X-A: " + b"a" * 200_000 + b"\r\n", b"HTTP/1.0 400 "),
    "another host": (b"Host: evil.example\r\n", b"HTTP/1.0 400 "),
    "length and chunks": (b"Transfer-Encoding: chunked\r\n", b"HTTP/1.0 400 "),
    "two lengths": (b"Content-Length: 9\r\n", b"HTTP/1.0 400 "),
    "a folded header": (b"X-A: 1\r\n b\r\n", b"HTTP/1.0 400 "),
    "a space before the colon": (b"X-A : 1\r\n", b"HTTP/1.0 400 "),
}


@pytest.mark.parametrize("kind", HEADS)
def test_heads_that_may_be_read_in_two_ways_are_refused(kind):
    """Nothing of them gets to the upstream."""
    extra, expected = HEADS[kind]
    with proxied(lambda connection: connection.sendall(GOOD)) as (upstream, proxy):
        whole = request(proxy, asked())
        with connected(proxy) as connection:
            try:
                connection.sendall(whole.replace(b"Connection: close\r\n", b"Connection: close\r\n" + extra, 1))
                found = read_all(connection)
            except (BrokenPipeError, ConnectionResetError):
                found = expected
        assert found.startswith(expected)
        assert upstream.requests == []


def test_the_own_pages():
    """Status as JSON, counters for Prometheus, and neither names a key."""
    with proxied(lambda connection: connection.sendall(GOOD)) as (upstream, proxy):
        sent(proxy, asked())
        idle(proxy)
        status = sent(proxy, b"", path="/plimsoll/status", method="GET")
        found = json.loads(status.partition(b"\r\n\r\n")[2])
        assert found["requests"] == {"small": 1}
        assert found["replies"] == {"200": 1}
        assert found["newest"][0]["tokens"] > 0
        metrics = sent(proxy, b"", path="/metrics", method="GET")
        assert b'plimsoll_requests_total{lane="small"} 1\n' in metrics
        assert KEY.encode() not in status + metrics
        assert len(upstream.requests) == 1


def test_the_key_is_written_nowhere(tmp_path, caplog):
    """Not in the store, a log, or an error, also where the client repeats it in a message."""
    caplog.set_level(0)
    scripts = [GOOD, response("401 Unauthorized", b'{"error": {"message": "Incorrect API key"}}'), b"", GOOD]
    with proxied(lambda connection: connection.sendall(scripts.pop(0)), store=tmp_path) as (_, proxy):
        for text in (f"My key is {KEY}.", "x", "y", "z"):
            found = sent(proxy, asked(text))
            assert KEY.encode() not in found
        with connected(proxy) as connection:
            connection.sendall(request(proxy, asked()).replace(b"Authorization: Bearer", b"Authorization \x01: Bearer"))
            told = read_all(connection)
        assert told.startswith(b"HTTP/1.0 400 ")
        assert KEY.encode() not in told
        idle(proxy)
        status = sent(proxy, b"", path="/status", method="GET")
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"My key is [secret credential " in stored
    assert KEY.encode() not in stored + status
    assert KEY not in caplog.text


def test_a_store_that_fails_stops_no_request(tmp_path):
    """The request goes on, and the page of status tells."""
    (tmp_path / "store").write_text("in the way")
    with proxied(lambda connection: connection.sendall(GOOD), store=tmp_path / "store") as (upstream, proxy):
        assert b"Yes." in sent(proxy, asked("x " * 40_000))
        idle(proxy)
        assert len(upstream.requests) == 1
        assert proxy.metrics.to_dict()["problems"] >= 1
        assert "store" in proxy.metrics.problem


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'{"messages": "x"}',
        b'{"messages": [{}]}',
        b"[" * 50_000,
        b'{"a": ' + b"9" * 6_000 + b"}",
    ],
)
def test_bodies_that_are_no_requests_are_the_providers_to_refuse(body):
    """They go out as they came."""
    with proxied(lambda connection: connection.sendall(GOOD)) as (upstream, proxy):
        sent(proxy, body)
        assert upstream.requests[0].partition(b"\r\n\r\n")[2] == body


def test_other_types_of_bodies_are_refused():
    """A page can send text without asking first."""
    with proxied(lambda connection: connection.sendall(GOOD)) as (upstream, proxy):
        with connected(proxy) as connection:
            connection.sendall(request(proxy, asked()).replace(b"application/json", b"text/plain"))
            assert read_message(connection).startswith(b"HTTP/1.1 415 ")
        assert upstream.requests == []


@pytest.mark.slow
def test_so_many_requests_at_a_time():
    """More are told to come later."""

    def script(connection: socket.socket) -> None:
        time.sleep(0.3)
        connection.sendall(GOOD)

    with proxied(script, requests_max=1) as (upstream, proxy), connected(proxy) as connection:
        connection.sendall(request(proxy, asked()))
        while not upstream.requests:
            time.sleep(0.01)
        assert sent(proxy, asked()).startswith(b"HTTP/1.1 503 ")
        assert b"Yes." in read_all(connection)


@pytest.mark.slow
def test_connections_that_say_nothing_are_closed():
    """And those that never end their head."""
    import dataclasses

    with ScriptedUpstream(lambda connection: connection.sendall(GOOD)) as upstream, Conversations("memory:") as kept:
        options = dataclasses.replace(checked_options(upstream.url, port=0), header_timeout_s=0.3, read_timeout_s=0.3)
        with running(options, kept) as proxy:
            for begin in (b"", b"POST / HTTP/1.1\r\nHost: x\r\nX-"):
                with connected(proxy) as connection:
                    connection.sendall(begin)
                    assert read_all(connection) == b""
            with connected(proxy) as connection:
                connection.sendall(request(proxy, asked() + b" " * 99)[:-50])
                assert read_all(connection).startswith(b"HTTP/1.1 408 ")
