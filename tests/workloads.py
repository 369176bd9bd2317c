"""Conversations of a kind and a length, made from a seed: plain talk, and an agent at work."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

Wire = dict[str, Any]

_WORDS = (
    "the worker keeps a stale lease after restart so next batch reads old offset please make retry policy configurable per "
    "tenant and add metrics for dropped events we saw this in production twice last week parser cache queue ledger schema"
).split()
_TOOLS = ("read_file", "bash", "grep", "list_orders")


def words(rng: random.Random, count: int) -> str:
    """So many words, in sentences."""
    chosen = rng.choices(_WORDS, k=max(1, count))
    return ". ".join(" ".join(chosen[at : at + 11]).capitalize() for at in range(0, len(chosen), 11)) + "."


def talk(seed: int, rounds: int, *, words_each: int = 60) -> list[Wire]:
    """A system text, then requests and answers without a tool."""
    rng = random.Random(seed)
    messages: list[Wire] = [{"role": "system", "content": "You are brief. " + words(rng, 20)}]
    for number in range(rounds):
        messages.append({"role": "user", "content": f"Request {number}: {words(rng, words_each // 2)}"})
        messages.append({"role": "assistant", "content": f"Answer {number}: {words(rng, words_each)}"})
    return messages


def turns(seed: int, count: int, *, words_each: int = 160) -> Iterator[list[Wire]]:
    """An agent's turns: a request now and then, an answer that calls tools, their results."""
    rng = random.Random(seed)
    yield [{"role": "system", "content": "You are a coding agent. " + words(rng, 40)}]
    for number in range(count):
        turn: list[Wire] = []
        if number % 7 == 0:
            turn.append(
                {"role": "user", "content": f"Request {number}: {words(rng, 25)} Keep LIMIT-{number} at {number}."}
            )
        ids = [f"call_{number}_{which}" for which in range(rng.choice((1, 1, 2, 3)))]
        turn.append({"role": "assistant", "content": words(rng, 12), "tool_calls": [_call(rng, id) for id in ids]})
        turn += [{"role": "tool", "tool_call_id": id, "content": result(rng, words_each)} for id in ids]
        yield turn


def work(seed: int, count: int, *, words_each: int = 160) -> list[Wire]:
    """The turns of an agent as one conversation."""
    return [message for turn in turns(seed, count, words_each=words_each) for message in turn]


def _call(rng: random.Random, id: str) -> Wire:
    arguments = {"path": f"src/{rng.choice(_WORDS)}_{rng.randrange(999)}.py", "limit": rng.randrange(500)}
    return {"id": id, "type": "function", "function": {"name": rng.choice(_TOOLS), "arguments": json.dumps(arguments)}}


def result(rng: random.Random, size: int) -> str:
    """A tool's answer: a log, rows of JSON, or a listing; now and then four times as long."""
    size *= rng.choice((1, 1, 1, 4))
    match rng.randrange(3):
        case 0:
            lines = (
                f"12:0{rng.randrange(9)} INFO {words(rng, 8)} id={rng.getrandbits(32):08x}" for _ in range(size // 9)
            )
            return "\n".join(lines)
        case 1:
            rows = [
                {"id": rng.getrandbits(24), "name": words(rng, 6), "ok": rng.random() < 0.9} for _ in range(size // 9)
            ]
            return json.dumps(rows)
        case _:
            return "\n".join(f"src/{rng.choice(_WORDS)}/{rng.choice(_WORDS)}_{n}.py" for n in range(size // 3))
