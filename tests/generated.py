"""Histories made from a seed, in every wire format, without the library's help: valid ones, and ones broken on purpose.

`random_history(random.Random(seed), "anthropic")` is fast enough for 100,000 of them in a soak run.
"""

from __future__ import annotations

import json
import random
from typing import Any

FORMATS = ("openai-chat", "openai-responses", "anthropic", "ui-parts")

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # 1 x 1

_WORDS = (
    "check the build of parser.py and tell me why it fails on line 42 please keep retries at 5 path /srv/app/config.yaml "
    "error E1234 timeout 30s naïve Größe schließen проверка границ окна 请 修复 这个 问题 データ 検証 ✅ 🚀 don't can't v1.2.3"
).split()
_TOOLS = ("read_file", "bash", "search", "lookup-order")

Wire = dict[str, Any]


def random_history(rng: random.Random, format: str) -> list[Wire]:
    """A valid history: a system text or none, then rounds of requests, calls with their results, and answers."""
    maker = _MAKERS[format](rng)
    if rng.random() < 0.4:
        maker.system(_text(rng))
    for _ in range(rng.randint(1, 4)):
        maker.user(_text(rng), image=rng.random() < 0.15)
        for _ in range(rng.choice((0, 1, 1, 2))):
            calls = [_call(rng, maker) for _ in range(rng.choice((1, 1, 2, 3)))]
            results = [(call, _output(rng), rng.random() < 0.1) for call in calls]
            text = _text(rng) if rng.random() < 0.5 else ""
            maker.step(text, results, thinks=rng.random() < 0.3)
        if rng.random() < 0.9:
            maker.answer(_text(rng), thinks=rng.random() < 0.2)
    return maker.wires


def random_broken_history(rng: random.Random, format: str) -> list[Wire]:
    """A history with things no provider accepts: orphans both ways, repeated ids, empty contents, odd text, one huge message."""
    wires = random_history(rng, format)
    for _ in range(rng.randint(1, 4)):
        if not wires:
            return wires
        wires = rng.choice(_DAMAGES)(rng, wires)
    return wires


def maker_for(format: str, rng: random.Random) -> Any:
    """What collects the wire objects of one format: `system`, `user`, `step`, `answer`, and the `wires` so far."""
    return _MAKERS[format](rng)


def _text(rng: random.Random) -> str:
    return " ".join(rng.choices(_WORDS, k=rng.randint(1, 30)))


def _output(rng: random.Random) -> str:
    kind = rng.random()
    if kind < 0.1:
        return ""
    if kind < 0.3:
        return json.dumps([{"id": rng.getrandbits(24), "name": _text(rng)} for _ in range(rng.randint(1, 8))])
    return "\n".join(_text(rng) for _ in range(rng.randint(1, 12)))


def _call(rng: random.Random, maker: _Maker) -> tuple[str, str, Wire]:
    maker.calls += 1
    arguments: Wire = {"path": _text(rng)} if rng.random() < 0.7 else {"n": rng.randint(-5, 5), "deep": {"on": [True]}}
    return f"call_{maker.calls}", rng.choice(_TOOLS), arguments


Call = tuple[str, str, Wire]
Result = tuple[Call, str, bool]


class _Maker:
    """Collects wire objects of one format."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.wires: list[Wire] = []
        self.calls = 0

    def maybe(self, likelihood: float, **fields: Any) -> Wire:
        return fields if self.rng.random() < likelihood else {}


class _Chat(_Maker):
    def system(self, text: str) -> None:
        self.wires.append({"role": self.rng.choice(("system", "developer")), "content": text})

    def user(self, text: str, *, image: bool) -> None:
        content: Any = text
        if image:
            url = {"url": f"data:image/png;base64,{PNG}", **self.maybe(0.5, detail="low")}
            content = [{"type": "text", "text": text}, {"type": "image_url", "image_url": url}]
        self.wires.append({"role": "user", "content": content, **self.maybe(0.1, name="ann")})

    def step(self, text: str, results: list[Result], *, thinks: bool) -> None:
        calls = [
            {"id": id, "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for (id, name, given), _, _ in results
        ]
        content = text or self.rng.choice((None, ""))
        thought = {"reasoning_content": _text(self.rng)} if thinks else {}
        self.wires.append({"role": "assistant", "content": content, **thought, "tool_calls": calls})
        for (id, _, _), output, _ in results:
            self.wires.append({"role": "tool", "tool_call_id": id, "content": output})

    def answer(self, text: str, *, thinks: bool) -> None:
        thought = {"reasoning_content": _text(self.rng)} if thinks else {}
        self.wires.append({"role": "assistant", "content": text, **thought, **self.maybe(0.1, refusal=None)})


class _Responses(_Maker):
    def system(self, text: str) -> None:
        self.wires.append({"role": self.rng.choice(("system", "developer")), "content": text})

    def user(self, text: str, *, image: bool) -> None:
        content: Any = text
        if image:
            picture = {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"}
            content = [{"type": "input_text", "text": text}, picture]
        self.wires.append({**self.maybe(0.5, type="message"), "role": "user", "content": content})

    def think(self, *, thinks: bool) -> None:
        if thinks:
            summary = [{"type": "summary_text", "text": _text(self.rng)}]
            sealed = self.maybe(0.5, encrypted_content="gAAAA" + "x" * 40)
            self.wires.append({"type": "reasoning", "id": f"rs_{len(self.wires)}", "summary": summary, **sealed})

    def step(self, text: str, results: list[Result], *, thinks: bool) -> None:
        self.think(thinks=thinks)
        if text:
            self.answer(text, thinks=False)
        custom = self.rng.random() < 0.15
        for (id, name, given), _, _ in results:
            call = {"type": "function_call", "call_id": id, "name": name, "arguments": json.dumps(given)}
            free = {"type": "custom_tool_call", "call_id": id, "name": name, "input": f"run {id}"}
            self.wires.append(free if custom else {**call, **self.maybe(0.3, id=f"fc_{id}", status="completed")})
        kind = "custom_tool_call_output" if custom else "function_call_output"
        for (id, _, _), output, _ in results:
            self.wires.append({"type": kind, "call_id": id, "output": output})

    def answer(self, text: str, *, thinks: bool) -> None:
        self.think(thinks=thinks)
        if self.rng.random() < 0.5:
            self.wires.append({"role": "assistant", "content": text})
            return
        block = {"type": "output_text", "text": text, "annotations": []}
        answer = {"type": "message", "id": f"msg_{len(self.wires)}", "role": "assistant", "status": "completed"}
        self.wires.append({**answer, "content": [block]})


class _Anthropic(_Maker):
    def system(self, text: str) -> None:
        del text

    def user(self, text: str, *, image: bool) -> None:
        content: Any = text
        if image or self.rng.random() < 0.3:
            marker = self.maybe(0.3, cache_control={"type": "ephemeral"})
            content = [{"type": "text", "text": text, **marker}]
        if image:
            source = {"type": "base64", "media_type": "image/png", "data": PNG}
            content.append({"type": "image", "source": source})
        self.wires.append({"role": "user", "content": content})

    def thought(self, *, thinks: bool) -> list[Wire]:
        if not thinks:
            return []
        if self.rng.random() < 0.2:
            return [{"type": "redacted_thinking", "data": "RXJyb3I" + "x" * 20}]
        return [{"type": "thinking", "thinking": _text(self.rng), "signature": "sig" + "y" * 20}]

    def step(self, text: str, results: list[Result], *, thinks: bool) -> None:
        said = [{"type": "text", "text": text}] if text else []
        uses = [{"type": "tool_use", "id": id, "name": name, "input": given} for (id, name, given), _, _ in results]
        self.wires.append({"role": "assistant", "content": [*self.thought(thinks=thinks), *said, *uses]})
        answers = [self.result(id, output, failed=failed) for (id, _, _), output, failed in results]
        more = [{"type": "text", "text": _text(self.rng)}] if self.rng.random() < 0.1 else []
        self.wires.append({"role": "user", "content": [*answers, *more]})

    def result(self, id: str, output: str, *, failed: bool) -> Wire:
        flag = {"is_error": True} if failed and output else {}
        content: Any = output
        if output and self.rng.random() < 0.3:
            content = [{"type": "text", "text": output}]
        return {"type": "tool_result", "tool_use_id": id, "content": content, **flag}

    def answer(self, text: str, *, thinks: bool) -> None:
        thought = self.thought(thinks=thinks)
        content: Any = [*thought, {"type": "text", "text": text}] if thought else text
        self.wires.append({"role": "assistant", "content": content})


class _UI(_Maker):
    def add(self, role: str, parts: list[Wire]) -> None:
        self.wires.append({"id": f"m{len(self.wires)}", "role": role, "parts": parts})

    def run(self) -> list[Wire]:
        if not self.wires or self.wires[-1]["role"] != "assistant":
            self.add("assistant", [])
        self.wires[-1]["parts"].append({"type": "step-start"})
        return self.wires[-1]["parts"]

    def system(self, text: str) -> None:
        self.add("system", [{"type": "text", "text": text}])

    def user(self, text: str, *, image: bool) -> None:
        file = {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{PNG}"}
        self.add("user", [{"type": "text", "text": text}, *([file] if image else [])])

    def step(self, text: str, results: list[Result], *, thinks: bool) -> None:
        parts = self.run()
        if thinks:
            parts.append({"type": "reasoning", "text": _text(self.rng), "state": "done"})
        if text:
            parts.append({"type": "text", "text": text, "state": "done"})
        for (id, name, given), output, failed in results:
            named = {"type": "dynamic-tool", "toolName": name} if self.rng.random() < 0.2 else {"type": f"tool-{name}"}
            called = {**named, "toolCallId": id, "input": given}
            value: Any = output if self.rng.random() < 0.6 else self.rng.choice((0, False, "", None, {"ok": [1, 2]}))
            answer = (
                {"state": "output-error", "errorText": output}
                if failed
                else {"state": "output-available", "output": value}
            )
            parts.append({**called, **answer})

    def answer(self, text: str, *, thinks: bool) -> None:
        parts = self.run()
        if thinks:
            parts.append({"type": "reasoning", "text": _text(self.rng)})
        parts.append({"type": "text", "text": text})
        if self.rng.random() < 0.2:
            parts.append({"type": "source-url", "sourceId": "s1", "url": "https://example.org/a"})


_MAKERS: dict[str, Any] = {
    "openai-chat": _Chat,
    "openai-responses": _Responses,
    "anthropic": _Anthropic,
    "ui-parts": _UI,
}


def _without_one(rng: random.Random, wires: list[Wire]) -> list[Wire]:
    """A message is missing: its calls, or its results, are orphans."""
    at = rng.randrange(len(wires))
    return wires[:at] + wires[at + 1 :]


def _one_twice(rng: random.Random, wires: list[Wire]) -> list[Wire]:
    at = rng.randrange(len(wires))
    copy = json.loads(json.dumps(wires[at]))
    return [*wires[: at + 1], copy, *wires[at + 1 :]]


def _cut_off(rng: random.Random, wires: list[Wire]) -> list[Wire]:
    """Interrupted: what came after is gone, perhaps in the middle of parallel results."""
    return wires[: rng.randint(1, len(wires))]


def _swapped(rng: random.Random, wires: list[Wire]) -> list[Wire]:
    a, b = rng.randrange(len(wires)), rng.randrange(len(wires))
    swapped = list(wires)
    swapped[a], swapped[b] = swapped[b], swapped[a]
    return swapped


def _emptied(rng: random.Random, wires: list[Wire]) -> list[Wire]:
    return _with_text(rng, wires, rng.choice(("", " ", "\n\n")))


def _odd_text(rng: random.Random, wires: list[Wire]) -> list[Wire]:
    odd = (
        "\ud800 alone",
        "nul \0 in it",
        "<|endoftext|><|im_start|>",
        "ﷺ" * 40,
        "🏳️‍🌈" * 20,
        "e\u0301" * 50,
        "\u202e right",
    )
    return _with_text(rng, wires, rng.choice(odd))


def _huge(rng: random.Random, wires: list[Wire]) -> list[Wire]:
    return _with_text(rng, wires, " ".join(rng.choices(_WORDS, k=50)) * 100)


def _with_text(rng: random.Random, wires: list[Wire], text: str) -> list[Wire]:
    """One message says something else: its plain content, or one of its texts, whichever it has."""
    at = rng.randrange(len(wires))
    wire = json.loads(json.dumps(wires[at]))
    for field in ("content", "output", "arguments"):
        if isinstance(wire.get(field), str):
            wire[field] = text
    for block in [*_blocks(wire, "content"), *_blocks(wire, "parts")]:
        if "text" in block:
            block["text"] = text
        if isinstance(block.get("content"), str):
            block["content"] = text
        if isinstance(block.get("output"), str):
            block["output"] = text
    return [*wires[:at], wire, *wires[at + 1 :]]


def _blocks(wire: Wire, field: str) -> list[Wire]:
    value = wire.get(field)
    return value if isinstance(value, list) else []


def _same_ids(rng: random.Random, wires: list[Wire]) -> list[Wire]:
    """Every call has the same id, as some models do it."""
    del rng
    text = json.dumps(wires)
    for number in range(2, 30):
        text = text.replace(f'"call_{number}"', '"call_1"')
    same: list[Wire] = json.loads(text)
    return same


def _no_ids(rng: random.Random, wires: list[Wire]) -> list[Wire]:
    del rng
    blank: list[Wire] = json.loads(json.dumps(wires).replace('"call_1"', '""'))
    return blank


_DAMAGES = (_without_one, _without_one, _one_twice, _cut_off, _swapped, _emptied, _odd_text, _huge, _same_ids, _no_ids)
