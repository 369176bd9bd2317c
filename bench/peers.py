"""The peers' environment, and how to ask a contestant for a measurement in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
ENVIRONMENT = ROOT / ".env-bench"
PEERS = ("ctx-compact", "langchain-core", "llama-index-core", "openai-agents", "tiktoken")
RANKS = "lib/python*/site-packages/llama_index/core/_static/tiktoken_cache"
"""llama-index-core's wheel carries tiktoken's rank files, so that nothing is fetched at run time."""

NAMES = {
    "plimsoll_here": "plimsoll",
    "ctx_compact_exact": "ctx-compact, exact counter",
    "langchain_trim_exact": "langchain-core trim_messages, exact counter",
    "llama_index_memory": "llama-index-core Memory, exact counter",
    "session_here": "plimsoll session, JSON lines",
    "agents_sqlite_session": "openai-agents SQLiteSession, newest 200 items",
    "count_tiktoken": "tiktoken, one count and no more",
    "count_splintr": "splintr, one count and no more",
}
"""What a table calls each contestant."""

APART = {"headroom_compress": ("headroom-ai==0.42.0",)}
"""Contestants with an environment of their own: what they need does not go with what the others need."""

HERE = {"shrink_here", "plimsoll_here", "session_here", "count_splintr"}
"""Contestants that run in this checkout's own environment."""


def python_of(contestant: str) -> str:
    """The interpreter a contestant runs in."""
    return sys.executable if contestant in HERE else str(environment_of(contestant) / "bin" / "python")


def environment_of(contestant: str) -> Path:
    """The folder of a peer's environment."""
    return ENVIRONMENT / contestant if contestant in APART else ENVIRONMENT


def build() -> None:
    """Install the peers, unless the environment already has exactly these."""
    _build(ENVIRONMENT, PEERS)


def build_apart(contestant: str) -> None:
    """Install a contestant that has an environment of its own."""
    _build(environment_of(contestant), APART[contestant])


def _build(environment: Path, wanted: tuple[str, ...]) -> None:
    stamp = environment / "peers.txt"
    if stamp.exists() and stamp.read_text(encoding="utf-8") == "\n".join(wanted):
        return
    print(f"installing {', '.join(wanted)} into {environment.relative_to(ROOT)}", flush=True)
    venv.create(environment, with_pip=True, clear=True)
    pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    subprocess.run([*pip, *wanted], check=True)
    stamp.write_text("\n".join(wanted), encoding="utf-8")


def versions() -> dict[str, str]:
    """The installed version of each peer, and of what this checkout uses."""
    code = "import importlib.metadata as m, json, sys; print(json.dumps({n: m.version(n) for n in sys.argv[1:]}))"
    asked = {python_of("peer"): PEERS, sys.executable: ("plimsoll-context", "splintr-rs")}
    found: dict[str, str] = {"python": sys.version.split()[0]}
    for python, names in asked.items():
        done = subprocess.run([python, "-c", code, *names], capture_output=True, text=True, check=False)
        found |= json.loads(done.stdout) if done.returncode == 0 else dict.fromkeys(names, "not installed")
    return found


def surroundings() -> dict[str, str]:
    """The environment variables of every measured process: offline ranks, this checkout's sources, no bytecode written."""
    ranks = next(iter(ENVIRONMENT.glob(RANKS)), None)
    offline = {"TIKTOKEN_CACHE_DIR": str(ranks)} if ranks else {}
    path = os.pathsep.join([str(ROOT / "src"), str(BENCH)])
    return {**os.environ, **offline, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}


def ask(contestant: str, job: str, **request: Any) -> dict[str, Any]:
    """One measurement, in a process of its own. Raises RuntimeError with what the process said when it failed."""
    with tempfile.TemporaryDirectory() as place:
        question, answer = Path(place) / "request.json", Path(place) / "answer.json"
        question.write_text(json.dumps({"contestant": contestant, "job": job, **request}), encoding="utf-8")
        command = [python_of(contestant), str(BENCH / "worker.py"), str(question), str(answer)]
        done = subprocess.run(command, capture_output=True, text=True, env=surroundings(), check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{contestant} {job}: {done.stderr.strip()[-2000:]}")
        return dict(json.loads(answer.read_text(encoding="utf-8")))
