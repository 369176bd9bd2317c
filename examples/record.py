"""Records examples/conversation.json: a long coding session whose tool results are real.

The words of the user and the agent are scripted in `scripted_session.py`. Every tool call in them is carried out on a
throw-away copy of this repository, and what it printed becomes the tool result, without the places and times of this
machine. Given the same tree the recording is the same, byte for byte.

Run it with `make example`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import splintr

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "examples" / "conversation.json"
UNRECORDED = ("examples/conversation.json", "bench/results")
"""Left out of the copy: a recording that contains itself would never be the same twice."""

RESULT_CHARS_MAX = 48_000
"""What the pretended tool returns at most, as real ones do."""

FAILED = re.compile(r"\[exit code \d+\]\Z|\Aerror: ")
"""How a tool of the session says that it did not work."""

COMMIT_DATE = "2026-11-20T09:00:00+0000"
IDENTITY = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "plimsoll contributors"), ("EMAIL", "nobody@example.invalid"), ("DATE", COMMIT_DATE))
}


def git(*arguments: str, cwd: Path) -> str:
    """Run git as nobody in particular, so that the copy's commits are the same everywhere."""
    environment = {**os.environ, **IDENTITY, "GIT_CONFIG_GLOBAL": os.devnull}
    done = subprocess.run(["git", *arguments], cwd=cwd, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def copy_tree(target: Path) -> None:
    """Clone the history and lay the working tree over it, without what must not record itself."""
    git("clone", "--quiet", "--no-hardlinks", str(ROOT), str(target), cwd=ROOT)
    for name in git("ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines():
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    for name in UNRECORDED:
        shutil.rmtree(target / name, ignore_errors=True)
        (target / name).unlink(missing_ok=True)
    if git("status", "--porcelain", cwd=target):
        git("add", "--all", cwd=target)
        git("commit", "--quiet", "--message", "Take in the working tree", cwd=target)


@dataclass(kw_only=True)
class Recording:
    """The conversation so far, and the copy its tools work on."""

    tree: Path
    messages: list[dict[str, Any]] = field(default_factory=list)
    calls: int = 0

    def say(self, role: str, text: str) -> None:
        """Record words without a tool call."""
        self.messages.append({"role": role, "content": text})

    def act(self, text: str, *calls: tuple[str, dict[str, Any]], fails: bool = False) -> list[str]:
        """Record an assistant's words with tool calls, run them, record what they returned, and return it.

        Raises RuntimeError when a call fails (or, with `fails`, when none does): then the tree has moved on and the
        script must follow.
        """
        named = [(self._next_id(name), name, arguments) for name, arguments in calls]
        requests = [
            {
                "id": call,
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)},
            }
            for call, name, arguments in named
        ]
        self.messages.append({"role": "assistant", "content": text, "tool_calls": requests})
        results = [scrub(run(self.tree, name, arguments), self.tree) for _, name, arguments in named]
        if fails != any(FAILED.search(result) for result in results):
            raise RuntimeError(f"not as scripted: {calls}\n{results}")
        for (call, _, _), result in zip(named, results, strict=True):
            self.messages.append({"role": "tool", "tool_call_id": call, "content": result})
        return results

    def tokens(self) -> int:
        """The o200k tokens of everything said so far, message frames left out."""
        return sum(len(_vocabulary().encode(_spoken(message))) for message in self.messages)

    def _next_id(self, name: str) -> str:
        self.calls += 1
        return "call_" + hashlib.sha256(f"{self.calls} {name}".encode()).hexdigest()[:20]


def _spoken(message: dict[str, Any]) -> str:
    calls = "".join(call["function"]["name"] + call["function"]["arguments"] for call in message.get("tool_calls", ()))
    return str(message["content"]) + calls


@functools.cache
def _vocabulary() -> Any:
    return splintr.Tokenizer.from_pretrained("o200k_base")


def run(tree: Path, name: str, arguments: dict[str, Any]) -> str:
    """Carry out one tool call on the copy and return what the tool says, cut as a real tool cuts it."""
    match name:
        case "bash":
            text = _bash(tree, arguments["command"])
        case "read_file":
            text = _read(tree / arguments["path"], arguments.get("offset", 1), arguments.get("limit"))
        case "write_file":
            text = _write(tree / arguments["path"], arguments["content"], arguments["path"])
        case "edit_file":
            text = _edit(tree / arguments["path"], arguments["old"], arguments["new"])
        case _:
            raise AssertionError(name)
    if len(text) <= RESULT_CHARS_MAX:
        return text
    return text[:RESULT_CHARS_MAX] + f"\n... output cut at {RESULT_CHARS_MAX} of {len(text)} characters"


def _bash(tree: Path, command: str) -> str:
    environment = {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "PYTHONPATH": "src",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTEST_ADDOPTS": "-p no:cacheprovider --color=no",
        "HOME": str(tree),
        "LC_ALL": "C.UTF-8",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "GIT_PAGER": "cat",
        **IDENTITY,
    }
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        timeout=300,
    )
    output = done.stdout.decode("utf-8", "replace").rstrip("\n") or "(no output)"
    return output if done.returncode == 0 else f"{output}\n[exit code {done.returncode}]"


def _read(path: Path, offset: int, limit: int | None) -> str:
    lines = path.read_text(encoding="utf-8").splitlines()
    end = len(lines) if limit is None else offset - 1 + limit
    return "\n".join(f"{number:5d}\t{line}" for number, line in enumerate(lines[offset - 1 : end], offset))


def _write(path: Path, content: str, name: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return f"wrote {name}: {len(content.splitlines())} lines"


def _edit(path: Path, old: str, new: str) -> str:
    text = path.read_text(encoding="utf-8")
    found = text.count(old)
    if found != 1:
        return f"error: the text to replace was found {found} times, expected once; nothing was changed"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return "edited: 1 replacement"


def scrub(text: str, tree: Path) -> str:
    """Take the places and times of this machine out of a tool's output."""
    for place, name in (
        (f"{tree}/", ""),
        (str(tree), "."),
        (sys.prefix, "/venv"),
        (sys.base_prefix, "/usr"),
        (tempfile.gettempdir(), "/temporary"),
        (str(Path.home()), "~"),
    ):
        text = text.replace(place, name)
    text = re.sub(r"\bin \d+\.\d+s( \(\d+:\d+:\d+\))?", "in 0.50s", text)
    return re.sub(r"\b0x[0-9a-f]{6,}\b", "0x7f0000000000", text)


def main() -> None:
    """Record the scripted session and write it down."""
    from scripted_session import play  # noqa: PLC0415 - it imports Recording from here

    with tempfile.TemporaryDirectory() as place:
        recording = Recording(tree=Path(place).resolve() / "plimsoll")
        copy_tree(recording.tree)
        play(recording)
    text = json.dumps(recording.messages, ensure_ascii=False, indent=1) + "\n"
    OUTPUT.write_text(text, encoding="utf-8")
    size = len(text.encode())
    print(f"{OUTPUT.name}: {len(recording.messages)} messages, {recording.tokens():,} o200k tokens, {size:,} bytes")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
