"""How long a coding agent waits for its hook on a session of a million tokens.

    python bench/hook.py [--tokens 1000000]

Writes a file as Claude Code does, with a compaction, and calls the command as the tool does: before the compaction, when nothing of
the file is known yet; after it, when the file was taken in meanwhile; and after a few more turns. Times are of the whole process.
"""

from __future__ import annotations

import argparse
import compileall
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plimsoll
from workload import conversation

ROOT = Path(__file__).resolve().parents[1]
RUNS = 5
BOUND_MS = 300


def lines_of(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Messages of OpenAI's chat format as lines of a file of Claude Code's."""
    parent = None
    for number, message in enumerate(messages):
        role, content = message["role"], message.get("content")
        if role == "system":
            continue
        blocks: list[dict[str, Any]] = [{"type": "text", "text": content}] if content and role != "tool" else []
        for call in message.get("tool_calls", ()):
            asked = call["function"]
            blocks.append(
                {"type": "tool_use", "id": call["id"], "name": asked["name"], "input": json.loads(asked["arguments"])}
            )
        if role == "tool":
            blocks = [{"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": content}]
        kind = "assistant" if role == "assistant" else "user"
        yield line(kind, parent, number, message={"role": kind, "content": blocks})
        parent = f"u{number}"


def line(kind: str, parent: str | None, number: int, **fields: Any) -> str:
    """One line, with what Claude Code writes on each."""
    about = {"sessionId": "s", "cwd": "/work", "version": "2.1.0", "timestamp": "2026-01-01T00:00:00.000Z"}
    return json.dumps({"parentUuid": parent, "type": kind, "uuid": f"u{number}", **about, **fields}) + "\n"


def call(event: dict[str, str], home: Path) -> tuple[float, float, str]:
    """Milliseconds of the clock and of the processor, and the answer."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-P", "-c", "import sys; from plimsoll.cli.main import main; sys.exit(main())", "hook"],
        input=json.dumps(event).encode(),
        capture_output=True,
        check=True,
        env={**os.environ, "PLIMSOLL_HOME": str(home), "PYTHONPATH": str(ROOT / "src")},
    )
    took = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return 1000 * took, 1000 * used, done.stdout.decode()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tokens", type=int, default=1_000_000)
    options = parser.parse_args()
    compileall.compile_dir(ROOT / "src", quiet=1)  # as an installed program is
    counter = plimsoll.token_counter()
    messages = conversation(options.tokens, lambda message: counter.count(json.dumps(message)))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:  # the last process is still at work
        file, home = Path(place, "session.jsonl"), Path(place, "home")
        file.write_text("".join(lines_of(messages)))
        before = {"hook_event_name": "PreCompact", "transcript_path": str(file), "trigger": "auto"}
        after = {"hook_event_name": "SessionStart", "transcript_path": str(file), "source": "compact"}
        print(
            f"{options.tokens:,} tokens, {file.stat().st_size / 1e6:.1f} MB; the clock and the processor, the least of {RUNS}"
        )
        show("before a compaction, nothing known yet", [call(before, home)])
        settle(home)
        with file.open("a") as more:
            more.write(line("system", None, 10**6, subtype="compact_boundary", compactMetadata={"trigger": "auto"}))
            summary = {"role": "user", "content": "The user wants the totals fixed."}
            more.write(line("user", f"u{10**6}", 10**6 + 1, isCompactSummary=True, message=summary))
        show("after it", [call(after, home) for _ in range(RUNS)])
        with file.open("a") as more:
            more.writelines(list(lines_of(messages))[-40:])
        show("before the next", [call(before, home) for _ in range(RUNS)])


def settle(home: Path) -> None:
    """Wait for what goes on in the background."""
    sessions = home / "sessions" / "session"
    while not sessions.is_dir():
        time.sleep(0.1)
    time.sleep(0.5)


def show(name: str, found: list[tuple[float, float, str]]) -> None:
    took, used, answer = min(found)
    verdict = "" if took <= BOUND_MS else f"  over {BOUND_MS} ms"
    print(f"{name:40}{took:8.0f} ms{used:8.0f} ms   {len(answer):6,} characters handed back{verdict}")


if __name__ == "__main__":
    main()
