"""A scripted agent: what the model answers to the n-th request, what its tools give, and what the user wants. From a seed alone."""

from __future__ import annotations

import base64
import json
import random
import struct
import zlib
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import workloads

TOOLS = ("read_file", "run_tests", "search", "screenshot")
CONSTRAINTS = (
    "Never touch the files below vendor/legacy.",
    "Always keep port 7411 open.",
    "Do not use more than 3 workers.",
)
SYSTEM = "You are a coding agent in the repository harbour. Work in small steps and test each of them."
ROUND = 7
"""Every so many answers the agent is done, and the user asks for something else."""


@dataclass(frozen=True)
class Call:
    """A tool that the model wants to be run."""

    name: str
    arguments: dict[str, Any]
    is_cut: bool = False
    """Whether the text of the arguments ends too early, where they are text."""

    @property
    def text(self) -> str:
        """The arguments as JSON."""
        text = json.dumps(self.arguments)
        return text[:-9] if self.is_cut else text


@dataclass(frozen=True)
class Answer:
    """What the model says to one request."""

    text: str
    thinking: str
    calls: list[Call] = field(default_factory=list)
    thinks_hidden: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a tool gave."""

    text: str
    failed: bool = False
    picture: str | None = None


def answer(seed: int, number: int) -> Answer:
    """The n-th answer: mostly calls, several at once, with thinking before them; every so often a last word.

    Now and then it says nothing, or white space, or only thinks.
    """
    rng = random.Random(f"{seed}-{number}")
    thinking = workloads.words(rng, rng.randrange(8, 90)) if rng.random() < 0.8 else ""
    if number % ROUND == ROUND - 1:
        done = f"Step {number} is done: {workloads.words(rng, 40)}"
        return Answer(done if rng.random() < 0.7 else "", thinking)
    calls = [_call(rng, number, which) for which in range(rng.choice((1, 1, 1, 2, 2, 4)))]
    said = workloads.words(rng, rng.randrange(6, 40)) if rng.random() < 0.5 else rng.choice(("", "", "\n\n"))
    return Answer(said, thinking, calls, thinks_hidden=rng.random() < 0.1)


def _call(rng: random.Random, number: int, which: int) -> Call:
    name = rng.choice(TOOLS)
    given = {
        "path": f"src/{rng.choice(('lease', 'queue', 'parser'))}_{rng.randrange(40)}.py",
        "step": number * 10 + which,
    }
    draw = rng.random()
    return Call(name, given if draw < 0.9 else {}, is_cut=draw < 0.05)


@cache
def outcome(name: str, arguments: str) -> Outcome:
    """What a tool gives for these arguments: text of a few lines or very many, nothing, a failure, a picture."""
    rng = random.Random(f"{name}-{arguments}")
    if name == "screenshot":
        return Outcome("the page as it looks now", picture=png(320, 200 + rng.randrange(40)))
    draw = rng.random()
    if draw < 0.05:
        return Outcome("")
    if draw < 0.15:
        return Outcome(f"FileNotFoundError: no such file: {arguments}", failed=True)
    return Outcome(workloads.result(rng, 120 if draw < 0.85 else 500))


def request(number: int) -> str:
    """What the user asks for, the n-th time. The first time with the constraints."""
    rng = random.Random(number)
    asked = f"Request {number}: {workloads.words(rng, 25)}"
    return f"{asked} {' '.join(CONSTRAINTS)}" if number == 0 else asked


@cache
def png(width: int, height: int) -> str:
    """A grey picture of that size, in base64."""
    rows = (b"\x00" + b"\x7f" * width) * height
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows)),
        (b"IEND", b""),
    ]
    body = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()
