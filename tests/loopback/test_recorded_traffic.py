"""Recorded sessions of coding agents, sent through the proxy in the requests that their tools make, to a provider with a small window."""

from __future__ import annotations

import http.client
import json
import warnings
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any

import pytest

import plimsoll
from loopback.messages import Messages
from loopback.responses import Responses
from loopback.server import Provider
from plimsoll.formats.inner_calls import calls_in
from plimsoll.proxy.run import serving

SESSIONS = Path(__file__).resolve().parents[3] / "shared" / "evals" / "sessions"
FILES = [path for tool in ("claude-code", "codex") for path in sorted((SESSIONS / tool).glob("*.jsonl"))]
WINDOW = 30_000
REQUESTS = 14
"""Requests of one session, at growing lengths."""
MARK = {"cache_control": {"type": "ephemeral"}}
SYSTEM = (
    "You are a coding agent. "
    + "Follow the conventions of the repository, and say what you do before you do it. " * 120
)
KNOWN = ("message", "function_call", "function_call_output", "reasoning")
ANSWERS = ("function_call", "reasoning", "custom_tool_call", "local_shell_call", "web_search_call")


class KnownMessages(Messages):
    """The API as the account sees it that the sessions were recorded with: their signatures are its own."""

    def _check_signatures(self, body: Any) -> None:
        del body


class KnownResponses(Responses):
    """The same for items of reasoning."""

    def _check_reasoning(self, items: Any) -> None:
        del items


def loaded(path: Path) -> tuple[str, list[Any], set[str]]:
    """The format and the messages of a session, and the tools that it calls."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = plimsoll.load_file(str(path))
    wires = [dict(message.wire) for message in found.messages if message.wire]
    for number, wire in enumerate(wires):
        if wire.get("type") == "reasoning":  # the recording has its text alone
            wire.setdefault("id", f"rs_{number}")
    known = takewhile(
        lambda wire: wire.get("type", "message") in KNOWN, wires
    )  # what the provider of these tests knows
    wires = list(dropwhile(lambda wire: wire.get("role") in (None, "assistant"), known))
    return found.format, wires, {call.name for call in calls_in(wires)}


def request(format: str, messages: list[Any], names: set[str]) -> tuple[str, Any]:
    """The path and the body, as the tool sends them: a long system text, many tools, and marks for the cache."""
    schema = {"type": "object", "properties": {"command": {"type": "string", "description": "What to run. " * 20}}}
    tools = sorted(names | {f"tool_{number}" for number in range(12)})
    about = "Runs something in the repository and says what came of it. " * 12
    if format == "openai-responses":
        functions = [
            {"type": "function", "name": name, "description": about, "parameters": schema, "strict": False}
            for name in tools
        ]
        body = {"model": "gpt-5-codex", "instructions": SYSTEM, "input": messages, "tools": functions, "store": False}
        return "/v1/responses", {**body, "include": ["reasoning.encrypted_content"], "reasoning": {"effort": "medium"}}
    offered = [{"name": name, "description": about, "input_schema": schema} for name in tools]
    system = [{"type": "text", "text": "You are Claude Code.", **MARK}, {"type": "text", "text": SYSTEM, **MARK}]
    body = {"model": "claude-sonnet-4-6", "max_tokens": 4_000, "system": system, "tools": offered}
    return "/v1/messages?beta=true", {**body, "messages": marked(messages), "metadata": {"user_id": "u"}}


def marked(messages: list[Any]) -> list[Any]:
    """The list with marks on the newest blocks of its last two messages of the user."""
    found, left = list(messages), 2
    for at in range(len(found) - 1, -1, -1):
        content = found[at]["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if left and found[at]["role"] == "user" and blocks:
            found[at] = {**found[at], "content": [*blocks[:-1], {**blocks[-1], **MARK}]}
            left -= 1
    return found


def is_answer(message: Any) -> bool:
    """True for what the model said."""
    return message.get("role") == "assistant" or message.get("type") in ANSWERS


def waits(held: list[Any]) -> bool:
    """True while some of the tools that the model called together are running."""
    results = json.dumps([message for message in held if not is_answer(message)])
    return any(call.id not in results for call in calls_in(held[-8:]))


@pytest.mark.slow
@pytest.mark.skipif(not FILES, reason="needs the recorded sessions of ../shared/evals")
@pytest.mark.parametrize(
    "path", FILES[:5] + [path for path in FILES if path.parent.name == "codex"][:3], ids=lambda path: path.stem[:36]
)
def test_recorded_traffic(path: Path) -> None:
    """Every request is answered. What is refused has faults of the recording, and is answered when it is repaired."""
    format, messages, names = loaded(path)
    messages = messages[:400]
    key = "input" if format == "openai-responses" else "messages"
    statuses = []
    with Provider(WINDOW, seed=7) as provider:
        provider._dialects |= {"/v1/messages": KnownMessages(), "/v1/responses": KnownResponses()}
        with serving(provider.url, store="memory:", max_tokens=WINDOW, redact=False) as url:
            connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
            for length in range(1, len(messages) + 1, max(1, len(messages) // REQUESTS)):
                held = messages[:length]
                while held and (is_answer(held[-1]) or waits(held)):
                    held.pop()
                if not held:
                    continue
                target, body = request(format, held, names)
                before = len(provider.bodies)
                connection.request("POST", target, json.dumps(body), {"Content-Type": "application/json"})
                reply = connection.getresponse()
                told = reply.read()
                statuses.append((reply.status, told[:200] if reply.status != 200 else b""))
                sent = provider.bodies[before:]
                if sent and sent[-1][key] == body[key]:
                    assert sent[-1] == body
            connection.close()
        assert {status for status, _ in statuses} == {200}, statuses
        assert [reason for reason in provider.refused if "too long" in reason or "exceeds" in reason] == []
        assert max(provider.tokens) <= WINDOW
