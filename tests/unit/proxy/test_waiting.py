"""No conversation is left waiting for an answer that will not be noted."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator

import pytest

from plimsoll.conversations.conversations import Conversations
from plimsoll.proxy.options import checked_options
from plimsoll.proxy.run import running
from plimsoll.proxy.server import Proxy
from scripted_upstream import ScriptedUpstream, response

ANSWER = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}]}
GOOD = response("200 OK", json.dumps(ANSWER).encode())
LONG = "why " * 40_000


def answer(connection: socket.socket) -> None:
    """The script of the upstream."""
    connection.sendall(GOOD)


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """A proxy before an upstream that answers."""
    with (
        ScriptedUpstream(answer) as upstream,
        Conversations("memory:") as kept,
        running(checked_options(upstream.url, port=0), kept) as found,
    ):
        yield found


def asked(proxy: Proxy, text: str) -> http.client.HTTPConnection:
    """A connection on which a request was sent."""
    connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=20)
    body = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": text}]})
    connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
    return connection


def answered(proxy: Proxy, text: str) -> None:
    """A request and its reply, until all is recorded."""
    connection = asked(proxy, text)
    assert connection.getresponse().status == 200
    connection.close()
    idle(proxy)


def idle(proxy: Proxy) -> None:
    """Wait until everything is recorded."""
    while proxy.metrics.waiting or proxy.metrics.active:
        time.sleep(0.01)


def test_a_client_that_goes_while_its_request_is_read(proxy):
    """The same request, made again, is of the same conversation then."""
    with proxy._flow.conversations._lock:
        connection = asked(proxy, LONG)
        while not proxy.metrics.waiting:
            time.sleep(0.01)
        connection.close()
        while proxy.metrics.active:
            time.sleep(0.01)
    idle(proxy)
    assert [one.awaited for one in proxy._flow.conversations] == [0]
    assert not proxy.metrics.to_dict()["replies"]


def test_an_answer_that_is_awaited_is_noted_however_many_wait(proxy, monkeypatch):
    """What was not recorded needs no note of its answer; what was read has one."""
    monkeypatch.setattr("plimsoll.proxy.worker.WAITING_MAX", 0)
    answered(proxy, "Why?")
    assert proxy.metrics.to_dict()["unrecorded"] >= 1
    assert len(proxy._flow.conversations) == 0
    answered(proxy, LONG)
    assert [one.awaited for one in proxy._flow.conversations] == [0]
