"""Histories with what is large and cannot be cut: encrypted and opaque parts, many parallel calls, huge arguments; and with
stray results, unnamed tools and empty texts between them.

`bulky_history(random.Random(seed), "anthropic")` is fast enough for 100,000 of them in a soak run.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from generated import _MAKERS, Wire, _text

Maker = Any

TOOLS = ("read_file", "bash", "search", "")


def bulky_history(rng: random.Random, format: str) -> list[Wire]:
    """Rounds of plain talk and work, and one to three things in them that are too large for most budgets; often the newest."""
    maker = _MAKERS[format](rng)
    if rng.random() < 0.5:
        maker.system(_words(rng, rng.choice((10, 60, 400))))
    rounds = rng.randint(1, 10)
    bulk = {rng.randrange(rounds) for _ in range(rng.randint(1, 3))} | ({rounds - 1} if rng.random() < 0.5 else set())
    for number in range(rounds):
        maker.user(_words(rng, rng.choice((3, 12, 60))), image=rng.random() < 0.05)
        if number in bulk:
            rng.choice(_BULK[format])(rng, maker)
        elif rng.random() < 0.5:
            _calls(rng, maker, rng.randint(1, 3), rng.choice((10, 80)))
        if rng.random() < (0.8 if number < rounds - 1 else 0.4):
            maker.answer(_words(rng, rng.choice((5, 40, 120))), thinks=rng.random() < 0.1)
    if rng.random() < 0.3:
        rng.choice(_STRAYS)(rng, maker.wires, format)
    return maker.wires


def _words(rng: random.Random, count: int) -> str:
    return " ".join(_text(rng) for _ in range(max(1, count // 15)))[: 6 * count]


def _blob(rng: random.Random, chars: int) -> str:
    return "".join(rng.choices("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", k=chars))


def _calls(rng: random.Random, maker: Maker, count: int, words: int, *, arguments: int = 0) -> None:
    results = []
    for _ in range(count):
        maker.calls += 1
        given: Wire = {
            "path": f"/srv/module_{maker.calls}.py",
            **({"text": _words(rng, arguments)} if arguments else {}),
        }
        results.append(((f"call_{maker.calls}", rng.choice(TOOLS[:3]), given), _words(rng, words), rng.random() < 0.05))
    maker.step(_words(rng, 5) if rng.random() < 0.5 else "", results, thinks=rng.random() < 0.3)


def _many_calls(rng: random.Random, maker: Maker) -> None:
    """Many calls in one answer, or one after another."""
    count = rng.choice((12, 30, 60))
    if rng.random() < 0.7:
        _calls(rng, maker, count, rng.choice((10, 60)))
        return
    for _ in range(count):
        _calls(rng, maker, 1, rng.choice((10, 60)))


def _huge_arguments(rng: random.Random, maker: Maker) -> None:
    _calls(rng, maker, 1, 20, arguments=rng.choice((400, 3_000)))


def _huge_result(rng: random.Random, maker: Maker) -> None:
    _calls(rng, maker, 1, rng.choice((500, 5_000)))


def _searched(rng: random.Random, maker: Maker) -> None:
    """A web search of the provider's, its results encrypted."""
    id = f"srvtoolu_{len(maker.wires)}"
    found = [
        {
            "type": "web_search_result",
            "title": "t",
            "url": "https://example.org/a",
            "encrypted_content": _blob(rng, size),
        }
        for size in rng.choices((200, 2_000, 6_000), k=rng.randint(1, 4))
    ]
    blocks: list[Wire] = [
        {"type": "server_tool_use", "id": id, "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": id, "content": found},
        {"type": "text", "text": _words(rng, 20)},
    ]
    maker.wires.append({"role": "assistant", "content": blocks})


def _sealed_thinking(rng: random.Random, maker: Maker) -> None:
    """Thinking that nobody may edit before a call."""
    size = rng.choice((300, 3_000, 9_000))
    _calls(rng, maker, 2, 30)
    at = next(at for at in range(len(maker.wires) - 1, -1, -1) if maker.wires[at].get("role") == "assistant")
    thinking = {"type": "thinking", "thinking": _blob(rng, size), "signature": "c2ln" * 10}
    maker.wires[at]["content"].insert(0, thinking)


def _searched_document(rng: random.Random, maker: Maker) -> None:
    """A block in the user's message that is read and cannot be cut."""
    text = {"type": "text", "text": _words(rng, rng.choice((50, 800)))}
    found = {"type": "search_result", "source": "s", "title": "t", "content": [text]}
    maker.wires[-1] = {"role": "user", "content": [{"type": "text", "text": _words(rng, 10)}, found]}


def _native_item(rng: random.Random, maker: Maker) -> None:
    """An item of the provider's own tools."""
    words = _words(rng, rng.choice((50, 1_500)))
    items: list[Wire] = [
        {"type": "mcp_call", "id": "m", "arguments": "{}", "name": "f", "server_label": "s", "output": words},
        {"type": "compaction", "encrypted_content": _blob(rng, rng.choice((200, 4_000)))},
        {"type": "code_interpreter_call", "id": "c", "status": "completed", "code": words, "container_id": "x", "outputs": None},
    ]  # fmt: skip
    if rng.random() < 0.3:
        maker.wires.append({"type": "reasoning", "id": "rs_s", "summary": [], "encrypted_content": _blob(rng, 400)})
    maker.wires.append(rng.choice(items))


def _sealed_reasoning(rng: random.Random, maker: Maker) -> None:
    """Encrypted reasoning before calls."""
    sealed = {"type": "reasoning", "id": f"rs_{len(maker.wires)}b", "summary": []}
    maker.wires.append({**sealed, "encrypted_content": _blob(rng, rng.choice((300, 6_000)))})
    maker.calls += 1
    call = {"type": "function_call", "call_id": f"call_{maker.calls}", "name": "bash", "arguments": "{}"}
    maker.wires += [call, {"type": "function_call_output", "call_id": f"call_{maker.calls}", "output": _words(rng, 30)}]


def _data_parts(rng: random.Random, maker: Maker) -> None:
    """Data of an app's own among what it shows."""
    parts = maker.run()
    for _ in range(rng.choice((1, 20))):
        parts.append({"type": "data-table", "data": {"rows": [_words(rng, 20) for _ in range(rng.choice((1, 40)))]}})
    parts.append({"type": "text", "text": _words(rng, 10)})


_COMMON: tuple[Callable[[random.Random, Maker], None], ...] = (_many_calls, _many_calls, _huge_arguments, _huge_result)
_BULK = {
    "openai-chat": _COMMON,
    "anthropic": (*_COMMON, _searched, _searched, _sealed_thinking, _searched_document),
    "openai-responses": (*_COMMON, _native_item, _native_item, _sealed_reasoning),
    "ui-parts": (*_COMMON, _data_parts, _data_parts),
}


def _stray_result(rng: random.Random, wires: list[Wire], format: str) -> None:
    stray: dict[str, Wire] = {
        "openai-chat": {"role": "tool", "tool_call_id": "gone", "content": _words(rng, 40)},
        "openai-responses": {"type": "function_call_output", "call_id": "gone", "output": _words(rng, 40)},
        "anthropic": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "gone", "content": _words(rng, 40)}]},
        "ui-parts": {"id": "x", "role": "assistant", "parts": [{"type": "dynamic-tool", "toolName": "t", "toolCallId": "gone", "state": "input-available", "input": {}}]},
    }  # fmt: skip
    wires.insert(rng.randint(0, len(wires)), stray[format])


def _unnamed_tools(rng: random.Random, wires: list[Wire], format: str) -> None:
    if format in ("openai-chat", "openai-responses"):
        text = json.dumps(wires)
        wires[:] = json.loads(text.replace(f'"name": "{rng.choice(TOOLS[:3])}"', '"name": ""'))


def _empty_text(rng: random.Random, wires: list[Wire], format: str) -> None:
    said = {"parts": [{"type": "text", "text": ""}], "id": "e"} if format == "ui-parts" else {"content": ""}
    wires.insert(rng.randint(0, len(wires)), {"role": rng.choice(("user", "assistant")), **said})


_STRAYS = (_stray_result, _unnamed_tools, _empty_text)
