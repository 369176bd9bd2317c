"""A coding agent's conversation of any size, made up but shaped like real ones: the same for the same seed, on every machine."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle, pairwise
from typing import Any

Message = dict[str, Any]

NOUNS = (
    "anchor ballast berth bilge bollard buoy cargo chart compass crane crew deck draught ferry freight galley gangway harbour "
    "hatch hold hull jetty keel ledger lock manifest mast mooring pilot port quay rudder sail signal skipper tide tonnage tug wharf winch"
).split()
VERBS = (
    "assign berth cancel charter clear compute dispatch fetch find hoist inspect list load merge open parse release rename "
    "settle sort split stow track unload update validate weigh write"
).split()
PROSE = (
    "the ledger shows a cargo twice when the pilot signs off before the crane has cleared the hold, so keep the first entry and reject the "
    "second; the harbour office reads the totals at midnight and expects them in tonnes; nothing that the ferry clients send may "
    "change its name or its meaning; look for the cause first, write a test that fails without the change, then make the smallest change "
    "that lets it pass and tell me what you could not check"
).split()
FOREIGN = (
    "检查边界条件,然后再合并",
    "größere Lasten zuerst prüfen",
    "проверить журнал перед отправкой",
    "✅ fertig",
    "荷物の重量を確認する",
)

SYSTEM = (
    "You are a software engineer working alone in the repository `harbourmaster`. Read before you write, run the tests before you report, "
    "and keep every public name.\n\n"
    + "\n".join(
        f"Rule {number}: a {noun} never changes while a {other} is open."
        for number, (noun, other) in enumerate(pairwise(NOUNS), 1)
    )
)
TASK = "Ticket HM-3019: totals drift overnight. Find out why and fix it. Keep the column `gross_tonnes_v3` and port 18077; do not touch src/legal/."

RESULT_CHARS_MEDIAN = 2_600
RESULT_CHARS_MAX = 60_000


class Writer:
    """Makes every text of the conversation from one random stream."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def name(self) -> str:
        """A function's name."""
        return f"{self.random.choice(VERBS)}_{self.random.choice(NOUNS)}"

    def path(self) -> str:
        """A source file's path."""
        return f"src/{self.random.choice(NOUNS)}/{self.random.choice(NOUNS)}_{self.random.choice(NOUNS)}.py"

    def digits(self, length: int) -> str:
        """Hexadecimal digits that occur nowhere else."""
        return f"{self.random.getrandbits(4 * length):0{length}x}"

    def prose(self, words: int) -> str:
        """Words of a request or a remark; now and then in another script."""
        start = self.random.randrange(len(PROSE))
        text = " ".join((PROSE[start:] + PROSE * (words // len(PROSE) + 1))[:words]).capitalize() + "."
        return text if self.random.random() < 0.9 else f"{text} {self.random.choice(FOREIGN)}"

    def lines(self, line: Callable[[int], str], chars: int) -> str:
        """As many lines as fill the size."""
        made: list[str] = []
        size = 0
        while size < chars:
            made.append(line(len(made) + 1))
            size += len(made[-1]) + 1
        return "\n".join(made)

    def source(self, chars: int) -> str:
        """A file as a reading tool shows it, with line numbers."""
        return self.lines(lambda number: f"{number:5d}\t{self._statement()}", chars)

    def matches(self, chars: int) -> str:
        """What a search prints."""
        noun = self.random.choice(NOUNS)
        return self.lines(
            lambda _: f"{self.path()}:{self.random.randrange(900)}: {noun}.{self.name()}({noun}_id)", chars
        )

    def tests(self, chars: int) -> str:
        """A test run with one failure near its end."""
        passed = self.lines(lambda _: f"tests/test_{self.random.choice(NOUNS)}.py::test_{self.name()} PASSED", chars)
        expected, found = self.random.randrange(9_999), self.random.randrange(9_999)
        return (
            f"{passed}\n>       assert total.{self.name()}() == {expected}\nE       assert {found} == {expected}\n"
            f"FAILED {self.path()}::test_{self.name()}\n1 failed"
        )

    def log(self, chars: int) -> str:
        """A service's log."""
        return self.lines(
            lambda number: (
                f"2026-03-{1 + number % 28:02d}T{number % 24:02d}:{number % 60:02d}:07Z INFO [{self.random.choice(NOUNS)}] "
                f"id={self.digits(8)} {self.name()} took {self.random.randrange(900)} ms"
            ),
            chars,
        )

    def rows(self, chars: int) -> str:
        """A JSON answer of many alike rows."""
        return json.dumps(
            [
                {
                    "id": self.random.randrange(10**6),
                    "kind": self.random.choice(NOUNS),
                    "state": "open",
                    "weight_t": round(self.random.random() * 90, 2),
                }
                for _ in range(max(1, chars // 68))
            ]
        )

    def diff(self, chars: int) -> str:
        """A unified diff."""
        path = self.path()
        body = self.lines(lambda number: "-+ "[number % 3] + self._statement(), chars)
        return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -{len(body) % 400},9 +{len(body) % 400},9 @@\n{body}"

    def _statement(self) -> str:
        noun, other = self.random.sample(NOUNS, 2)
        return self.random.choice(
            (
                f"def {self.name()}({noun}: str, {other}: int = {self.random.randrange(5_000)}) -> dict[str, int]:",
                f"    {noun} = self.{self.name()}({other}, timeout_s={self.random.randrange(300)})",
                f"    if {noun} is None or {other} > {self.random.randrange(9_999)}:",
                f'        raise ValueError("{self.prose(5)}")',
                f"    # {self.prose(8)}",
                f'    return {{"{noun}": {other}}}',
                "",
            )
        )


TOOLS = {
    "read_file": "source",
    "search": "matches",
    "run_tests": "tests",
    "tail_log": "log",
    "list_cargo": "rows",
    "git_diff": "diff",
}
WEIGHTS = (40, 18, 16, 8, 8, 10)


def turns(seed: int = 0) -> Iterator[list[Message]]:
    """Endless turns: a request, an answer, or an assistant's tool calls with their results."""
    writer = Writer(seed)
    yield [{"role": "system", "content": SYSTEM}, {"role": "user", "content": TASK}]
    while True:
        for _ in range(writer.random.randrange(6, 24)):
            yield _calls(writer)
        yield [{"role": "assistant", "content": "Done. " + writer.prose(writer.random.randrange(30, 120))}]
        yield [{"role": "user", "content": writer.prose(writer.random.randrange(10, 70))}]


def spoken(seed: int, words: Sequence[int]) -> Iterator[list[Message]]:
    """Endless remarks, one at a time, of so many words."""
    writer = Writer(seed)
    for role in cycle(("user", "assistant")):
        yield [{"role": role, "content": writer.prose(writer.random.choice(words))}]


APPENDED: dict[str, Callable[[int], Iterator[list[Message]]]] = {
    "remark": lambda seed: spoken(seed, range(8, 25)),
    "page": lambda seed: spoken(seed, range(360, 500)),
    "message": lambda seed: ([message] for turn in turns(seed) for message in turn),
    "turn": turns,
}
"""What is put into a session at once."""


def tool_loop(seed: int, words: Sequence[int], *, blocks: bool) -> Iterator[list[Message]]:
    """A request, some calls with results, an answer, again and again, each message by itself: OpenAI's, or Anthropic's blocks."""
    writer = Writer(seed)
    for number in range(10**9):
        id, said = f"call_{number}", [writer.prose(writer.random.choice(words)) for _ in range(2)]
        given = {"path": writer.path(), "limit": 40}
        if number % 5 == 0:
            yield [{"role": "user", "content": said[0]}]
        if blocks:
            call = {"type": "tool_use", "id": id, "name": "read_file", "input": given}
            result = {"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": said[1]}]}
            yield [{"role": "assistant", "content": [{"type": "text", "text": "I look."}, call]}]
            yield [{"role": "user", "content": [result]}]
        else:
            call = {"name": "read_file", "arguments": json.dumps(given)}
            yield [
                {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": call}]}
            ]
            yield [{"role": "tool", "tool_call_id": id, "content": said[1]}]
        if number % 5 == 4:
            yield [{"role": "assistant", "content": [{"type": "text", "text": said[0]}] if blocks else said[0]}]


def _calls(writer: Writer) -> list[Message]:
    count = writer.random.choices((1, 2, 3), (80, 15, 5))[0]
    calls, results = [], []
    for tool in writer.random.choices(list(TOOLS), WEIGHTS, k=count):
        call = f"call_{writer.digits(20)}"
        chars = min(RESULT_CHARS_MAX, int(writer.random.lognormvariate(0, 1.0) * RESULT_CHARS_MEDIAN))
        arguments = json.dumps({"path": writer.path(), "limit": writer.random.randrange(2_000)})
        calls.append({"id": call, "type": "function", "function": {"name": tool, "arguments": arguments}})
        results.append({"role": "tool", "tool_call_id": call, "content": getattr(writer, TOOLS[tool])(chars)})
    return [
        {"role": "assistant", "content": writer.prose(writer.random.randrange(6, 30)), "tool_calls": calls},
        *results,
    ]


def conversation(tokens: int, count: Callable[[Message], int], *, seed: int = 0) -> list[Message]:
    """Messages of about that many tokens by `count`, ending on tool results, as an agent in the middle of its work."""
    made: list[Message] = []
    total = 0
    for turn in turns(seed):
        made += turn
        total += sum(map(count, turn))
        if total >= tokens and turn[-1]["role"] == "tool":
            return made
    raise AssertionError
