"""What strict type checkers say of the adapters, with the types of the real frameworks."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ways_in.ways import is_installed

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "frameworks" / "programs"
NEEDED = ("agents", "langchain", "pydantic_ai", "strands", "agent_framework", "litellm", "llama_index", "google.adk")

MISTAKE = ("adapters.py", "max_token")
"""The only mistake in the programs."""


def need(*modules: str) -> None:
    """Skip without the frameworks and the checker."""
    if missing := [name for name in (*NEEDED, *modules) if not is_installed(name)]:
        pytest.skip(f"{', '.join(missing)} not installed: make test-frameworks")


@pytest.mark.slow
@pytest.mark.timeout(900)  # without its cache it reads the frameworks' own types first
def test_mypy() -> None:
    """The adapters and programs that use them pass in strict mode; the one mistake is found."""
    need("mypy")
    options = ["--strict", "--config-file=", "--no-error-summary", "--follow-imports=silent"]
    cache = ["--cache-dir", str(ROOT / ".mypy_cache" / "frameworks")]
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            *options,
            *cache,
            *map(str, sorted(PROGRAMS.glob("*.py"))),
            "src/plimsoll/adapters",
        ],
        env={"MYPYPATH": "src", "PATH": ""},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"([\w.]+):\d+: error: (.*)$", run.stdout, re.MULTILINE)

    assert [(name, MISTAKE[1] in said) for name, said in found] == [(MISTAKE[0], True)], run.stdout


@pytest.mark.slow
def test_pyright(tmp_path: Path) -> None:
    """The same for the checker that editors use. What is unknown in the frameworks' own types is theirs."""
    need("basedpyright")
    unknown = (f"reportUnknown{what}Type" for what in ("Variable", "Member", "Argument"))
    theirs = dict.fromkeys((*unknown, "reportDeprecated"), "none")
    options = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT / "src")], "include": [str(PROGRAMS)], **theirs}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(options))
    command = [
        sys.executable,
        "-m",
        "basedpyright",
        "-p",
        str(tmp_path),
        "--outputjson",
        "--pythonpath",
        sys.executable,
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    found = [
        (Path(told["file"]).name, told["message"])
        for told in json.loads(run.stdout)["generalDiagnostics"]
        if told["severity"] == "error"
    ]

    assert [(name, MISTAKE[1] in said) for name, said in found] == [(MISTAKE[0], True)], found
