"""Upstreams and clients that break off, stall, lie, or attack: the proxy goes on, leaks nothing, and says what happened."""

from __future__ import annotations

import gzip
import json
import os
import random
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from plimsoll.conversations.conversations import Conversations
from plimsoll.proxy.options import checked_options
from plimsoll.proxy.run import running
from plimsoll.proxy.server import Proxy
from scripted_upstream import ScriptedUpstream, read_all, response
from unit.proxy.test_server import GOOD, KEY, STREAM, STREAM_HEAD, asked, connected, idle, proxied, request, sent

PATHS = ("/v1/chat/completions", "/v1/responses", "/v1/messages")
PIECE = b'data: {"choices":[{"index":0,"delta":{"content":"word "}}]}\n\n'


def body(path: str, **fields: Any) -> bytes:
    """A request to one of the APIs."""
    key = "input" if path.endswith("responses") else "messages"
    said = {"model": "gpt-4o", key: [{"role": "user", "content": f"Why {fields.pop('number', 0)}?"}], "max_tokens": 9}
    return json.dumps({**said, **fields}).encode()


def reset(connection: socket.socket) -> None:
    """Close a connection with a reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def open_files() -> int:
    """Files and sockets that this process has open."""
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def resident_mb() -> float:
    """Memory of this process."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def settled(proxy: Proxy, files: int) -> None:
    """Assert that nothing is left of what was under way."""
    for _ in range(500):
        if not proxy.metrics.active and not proxy.metrics.waiting and open_files() <= files:
            break
        time.sleep(0.01)
    assert (proxy.metrics.active, proxy.metrics.waiting) == (0, 0)
    assert open_files() <= files
    assert {one.awaited for one in proxy._flow.conversations} <= {0}


@pytest.mark.slow
def test_clients_that_go_at_any_moment() -> None:
    """200 times: before, during and after a reply, streamed or not, with and without a reset. The upstream is closed within a second."""
    closed: list[float] = []

    def script(connection: socket.socket) -> None:
        began = time.monotonic()
        with suppress(OSError):
            if rng.random() < 0.3:
                time.sleep(rng.random() * 0.05)
            connection.sendall(STREAM_HEAD)
            for _ in range(3_000):
                began = time.monotonic()
                connection.sendall(PIECE)
                time.sleep(0.001)
        closed.append(time.monotonic() - began)

    rng = random.Random(5)
    with proxied(script) as (upstream, proxy):
        sent(proxy, asked(), path="/v1/models", method="HEAD")
        idle(proxy)
        files = open_files() + 80  # sessions that stay open

        def go(number: int) -> None:
            draw = random.Random(number)
            path = draw.choice(PATHS)
            with connected(proxy) as connection:
                raw = request(proxy, body(path, number=number % 20, stream=draw.random() < 0.7), path=path)
                until = draw.random()
                connection.sendall(raw[: int(len(raw) * until * 3)])
                for _ in range(draw.randrange(4) if until > 0.34 else 0):
                    connection.recv(4096)
                if draw.random() < 0.5:
                    reset(connection)

        for start in range(0, 200, 10):
            threads = [threading.Thread(target=go, args=(number,)) for number in range(start, start + 10)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        settled(proxy, files)
        assert len(closed) >= 100
        assert max(closed) < 1
        assert proxy.metrics.problem is None
        assert len(upstream.requests) >= 100


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("status", ["429 Too Many Requests", "500 Internal Server Error", "529 Overloaded"])
def test_errors_are_those_of_the_provider(path: str, status: str) -> None:
    """Status, body and headers, streamed or not, small and compacted requests: sent once, and nothing recorded as an answer."""
    error = b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'
    reply = response(status, error, "Retry-After: 3", "x-should-retry: true")
    with proxied(lambda connection: connection.sendall(reply), max_tokens=400) as (upstream, proxy):
        for number, fields in enumerate(({}, {"stream": True}, {"stream": True, "number": "why " * 900})):
            found = sent(proxy, body(path, **fields), path=path)
            assert found.startswith(f"HTTP/1.1 {status}\r\n".encode())
            assert b"Retry-After: 3\r\n" in found
            assert found.endswith(error)
            assert len(upstream.requests) == number + 1
        idle(proxy)
        assert all(len(one.session.history()) == 1 for one in proxy._flow.conversations)


@contextmanager
def impatient(script: Callable[[socket.socket], None]) -> Iterator[Proxy]:
    """A proxy that waits for its upstream for a third of a second."""
    with ScriptedUpstream(script) as upstream, Conversations("memory:") as kept:
        options = replace(checked_options(upstream.url, port=0), idle_timeout_s=0.3)
        with running(options, kept) as proxy:
            yield proxy


@pytest.mark.slow
@pytest.mark.parametrize("first", [b"", STREAM_HEAD, STREAM_HEAD + STREAM[0], b"HTTP/1.1 200 OK\r\n"])
def test_an_upstream_that_stalls(first: bytes) -> None:
    """It is told as an error, or the reply breaks off where it was; what came is passed on."""

    def script(connection: socket.socket) -> None:
        connection.sendall(first)
        time.sleep(2)

    with impatient(script) as proxy:
        found = sent(proxy, asked(stream=True))
        if STREAM[0] in first:
            assert STREAM[0] in found
            assert not found.endswith(b"0\r\n\r\n")
        else:
            assert found.startswith(b"HTTP/1.1 504 ")
            assert json.loads(found.partition(b"\r\n\r\n")[2])["error"]["type"] == "api_error"
        idle(proxy)
        assert [len(one.session.history()) for one in proxy._flow.conversations] == [1]


@pytest.mark.slow
@pytest.mark.parametrize("first", [b"", STREAM_HEAD + STREAM[0], b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{"])
def test_an_upstream_that_resets(first: bytes) -> None:
    """The same at once."""

    def script(connection: socket.socket) -> None:
        connection.sendall(first)
        time.sleep(0.05)
        reset(connection)

    with proxied(script) as (upstream, proxy):
        found = sent(proxy, asked(stream=True))
        assert found.startswith(b"HTTP/1.1 502 ") or (b"200 OK" in found and not found.endswith(b"0\r\n\r\n"))
        assert len(upstream.requests) == 1
        idle(proxy)
        assert [len(one.session.history()) for one in proxy._flow.conversations] == [1]


GARBAGE = [
    b"data: {not json}\n\n",
    b"data: [1,2]\n\ndata: 7\n\ndata: null\n\n",
    b"\xff\xfe\x00\r\r\n\n\rdata:\xc3\n\n",
    b'data: {"choices": 7}\n\ndata: {"choices": [7, null]}\n\ndata: {"choices": [{"delta": 7}]}\n\n',
    b'data: {"choices":[{"index":0,"delta":{"tool_calls":[7,{"index":"x","function":[]}]}}]}\n\n',
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":{},"delta":[]}\n\n',
    b'data: {"type":"response.output_item.done","output_index":[],"item":7}\n\n',
    b"data: " + b"[" * 20_000 + b"\n\n",
    b"event: message_start\n" * 500,
]


@pytest.mark.parametrize("garbage", GARBAGE)
def test_streams_of_nonsense(garbage: bytes) -> None:
    """They are the client's to make sense of: every byte is passed on, and what follows is read."""
    reply = STREAM_HEAD + garbage + b"".join(STREAM)
    with proxied(lambda connection: connection.sendall(reply)) as (_, proxy):
        for path in PATHS:
            found = sent(proxy, body(path, stream=True), path=path)
            pieces = found.partition(b"\r\n\r\n")[2]
            assert unchunked(pieces) == garbage + b"".join(STREAM)
        idle(proxy)
        assert proxy.metrics.to_dict()["failures"] == {}


def unchunked(data: bytes) -> bytes:
    """The bytes of a body in chunks."""
    found = []
    while data:
        size, _, rest = data.partition(b"\r\n")
        found.append(rest[: int(size, 16)])
        data = rest[int(size, 16) + 2 :]
    return b"".join(found)


@pytest.mark.slow
def test_a_slow_reader_holds_no_memory() -> None:
    """What the client does not take is not taken from the upstream."""
    gone = threading.Event()

    def script(connection: socket.socket) -> None:
        with suppress(OSError):
            connection.sendall(STREAM_HEAD)
            for _ in range(100):
                connection.sendall(PIECE * (2**20 // len(PIECE)))
        gone.set()

    with proxied(script) as (_, proxy):
        sent(proxy, asked("warm"), path="/v1/models", method="GET")
        before = resident_mb()
        with connected(proxy) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(request(proxy, asked(stream=True)))
            for _ in range(20):
                connection.recv(1024)
                time.sleep(0.05)
            assert resident_mb() - before < 16
        assert gone.wait(5)
        settled(proxy, open_files())


@pytest.mark.slow
def test_a_body_that_does_not_go_on() -> None:
    """Silent in the middle, or with chunks that are none: dropped after the time in which a head has to come."""
    with ScriptedUpstream(lambda connection: connection.sendall(GOOD)) as upstream, Conversations("memory:") as kept:
        options = replace(checked_options(upstream.url, port=0), header_timeout_s=0.4)
        with running(options, kept) as proxy:
            whole = request(proxy, asked())
            chunked = whole.partition(b"Content-Length")[0] + b"Transfer-Encoding: chunked\r\n\r\n"
            for raw in (whole[:-9], chunked + b"1\r\n \r\n" * 30_000 + b"zz\r\n\r\n"):
                with connected(proxy) as connection, suppress(ConnectionResetError):
                    connection.sendall(raw)
                    assert read_all(connection)[:12] in (b"HTTP/1.1 408", b"HTTP/1.0 400")
            assert upstream.requests == []
            settled(proxy, open_files())


@pytest.mark.slow
def test_very_large_requests_of_many_kinds() -> None:
    """Heads, bodies and bombs: refused, in little memory; and the next request is served."""
    with proxied(lambda connection: connection.sendall(GOOD), body_bytes_max=1 << 20) as (upstream, proxy):
        sent(proxy, asked())
        before = resident_mb()
        bomb = gzip.compress(b" " * (64 << 20))
        many = b"".join(b"X-%d: 1\r\n" % number for number in range(100_000))
        head = request(proxy, b"").partition(b"\r\n\r\n")[0] + b"\r\n"
        in_chunks = head.replace(b"Content-Length: 0\r\n", b"Transfer-Encoding: chunked\r\n") + b"\r\n"
        refused = [
            request(proxy, bomb, "Content-Encoding: gzip"),
            head + many + b"\r\n",
            head + b"X: " + b"a" * (1 << 20) + b"\r\n\r\n",
            b"POST /" + b"a" * (1 << 20) + b" HTTP/1.1\r\n\r\n",
            in_chunks + b"10000\r\n" + b" " * 65_536 + b"\r\n" + b"1\r\n \r\n" * 10**6 + b"0\r\n\r\n",
            request(proxy, b" " * (5 << 20)),
        ]
        for raw in refused:
            with connected(proxy) as connection:
                found = b""
                with suppress(BrokenPipeError, ConnectionResetError):
                    connection.sendall(raw)
                    found = read_all(connection)
                assert not found or found.split(b" ", 2)[1].startswith(b"4")
        assert len(upstream.requests) == 1
        assert resident_mb() - before < 64
        assert b"Yes." in sent(proxy, asked())


def hosts(port: int) -> Iterator[tuple[str, str | None]]:
    """100 hosts and 100 origins that are none of the proxy's, of which many look alike."""
    rng = random.Random(3)
    names = [f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"]
    ends = (".", ".evil.example", "@evil.example", "/", "#", "?", ":80", ",evil.example", "%00", ";", "0")
    begins = ("evil.example ", "evil.", "x@", "http://", "//", "127.0.0.1:1@", "a,", "0", "[", "xn--")
    made = {f"{name}{end}" for name in names for end in ends} | {f"{begin}{name}" for name in names for begin in begins}
    made |= {
        "evil.example",
        "127.1",
        f"127.0.0.1:{port + 1}",
        f"2130706433:{port}",
        f"0.0.0.0:{port}",
        f"127.0.0.01:{port}",
    }
    while len(made) < 100:
        name = list(rng.choice(names))
        name[rng.randrange(len(name))] = rng.choice("abcdefxyz._-~!$&'()*+=")
        made.add("".join(name))
    for host in sorted(made)[:100]:
        yield host, None
        yield names[0], f"http://{host}"


@pytest.mark.slow
def test_hosts_and_origins_of_others() -> None:
    """200 variants on every kind of route: none reaches a handler, the upstream, or the pages of the proxy."""
    with proxied(lambda connection: connection.sendall(GOOD)) as (upstream, proxy):
        for number, (host, origin) in enumerate(hosts(proxy.port)):
            path, method = [("/v1/chat/completions", "POST"), ("/plimsoll/status", "GET"), ("/v1/models", "GET")][
                number % 3
            ]
            extra = [f"Origin: {origin}"] if origin else []
            raw = request(proxy, asked() if method == "POST" else b"", *extra, path=path, method=method)
            raw = raw.replace(b"Host: 127.0.0.1:%d" % proxy.port, f"Host: {host}".encode(), 1)
            with connected(proxy) as connection:
                connection.sendall(raw)
                found = read_all(connection)
            assert found.split(b" ", 2)[1] in (b"400", b"403"), (host, origin)
            assert KEY.encode() not in found
            assert b"access-control" not in found.lower()
        assert upstream.requests == []


@pytest.mark.slow
def test_nothing_goes_anywhere_else() -> None:
    """Targets, headers and bodies that name another server: it hears nothing, and the key goes to the upstream alone."""
    with (
        ScriptedUpstream(lambda connection: connection.sendall(GOOD)) as canary,
        proxied(lambda connection: connection.sendall(GOOD)) as (upstream, proxy),
    ):
        place = canary.url.removeprefix("http://")
        targets = [f"//{place}/v1/chat/completions", f"{canary.url}/v1/chat/completions", f"/@{place}/v1/messages"]
        targets += [
            f"/v1/..%2f..%2f{place}",
            f"\\\\{place}\\v1",
            f"/v1/chat/completions?api_base={canary.url}",
            f"@{place}/",
        ]
        targets += [
            f"/http://{place}/v1/responses",
            f"/v1/{place}/messages",
            f":80@{place}/v1",
            f"/%5c%5c{place}/v1/messages",
        ]
        headers = ["X-Forwarded-Host", "X-Original-URL", "X-Rewrite-URL", "Forwarded", "X-Plimsoll-Upstream", "Referer"]
        headers += ["X-Api-Base", "Proxy-Authorization", "Via", "X-HTTP-Host-Override", "Destination", "Location"]
        fields = ["api_base", "base_url", "upstream", "url", "endpoint", "callback", "webhook_url", "proxy"]
        tricks = [request(proxy, asked(), path=target) for target in targets]
        tricks += [request(proxy, asked(), f"{name}: {value}") for name in headers for value in (place, canary.url)]
        tricks += [request(proxy, asked("x", **{name: canary.url})) for name in fields]
        for raw in tricks:
            with connected(proxy) as connection, suppress(ConnectionResetError):
                connection.sendall(raw)
                found = read_all(connection)
                assert KEY.encode() not in found
        assert canary.requests == []
        for raw in upstream.requests:
            lines = raw.partition(b"\r\n\r\n")[0].split(b"\r\n")
            assert f"Host: {upstream.url.removeprefix('http://')}".encode() in lines
            assert [line for line in lines[1:] if place.encode() in line and not line.startswith(KEPT_HEADERS)] == []


KEPT_HEADERS = (b"Referer", b"X-Api-Base", b"X-HTTP-Host-Override", b"Destination", b"Location")
"""Headers of the client's own, which mean nothing to the proxy."""


@pytest.mark.slow
def test_heads_with_random_faults() -> None:
    """What is neither refused nor served is closed; each request that goes on is whole, and the proxy is as well as before."""
    rng = random.Random(11)
    pieces = [
        b"\r",
        b"\n",
        b"\x00",
        b" ",
        b":",
        b"chunked",
        b"\r\nContent-Length: 3",
        b"\r\nTransfer-Encoding: chunked",
        b"\t",
        b"0",
    ]
    with proxied(lambda connection: connection.sendall(GOOD)) as (upstream, proxy):
        whole = request(proxy, asked())
        for _ in range(300):
            raw = bytearray(whole)
            for _ in range(rng.randrange(1, 4)):
                at = rng.randrange(len(raw))
                raw[at : at + rng.randrange(3)] = rng.choice(pieces) if rng.random() < 0.7 else rng.randbytes(2)
            with connected(proxy) as connection, suppress(ConnectionResetError, BrokenPipeError):
                connection.sendall(raw)
                connection.shutdown(socket.SHUT_WR)
                found = read_all(connection)
                assert not found or found.startswith((b"HTTP/1.1 ", b"HTTP/1.0 "))
                assert b"Traceback" not in found
        for one in upstream.requests:
            head, _, came = one.partition(b"\r\n\r\n")
            lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            assert len(lengths) <= 1
            assert not lengths or int(lengths[0].split(b":")[1]) == len(came)
        assert b"Yes." in sent(proxy, asked())
        idle(proxy)
