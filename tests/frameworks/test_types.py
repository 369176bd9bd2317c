"""What a strict type checker says of the adapters, with the types of the real frameworks."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "frameworks" / "programs" / "adapters.py"
NEEDED = ("mypy", "agents", "langchain", "pydantic_ai")


@pytest.mark.slow
def test_mypy() -> None:
    """The adapters and a program that uses them pass in strict mode; its one mistake is found."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        pytest.skip(f"{', '.join(missing)} not installed: make test-frameworks")
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--no-error-summary",
        "--follow-imports=silent",
    ]
    run = subprocess.run(
        [*command, "--cache-dir", str(ROOT / ".mypy_cache" / "frameworks"), str(PROGRAM), "src/plimsoll/adapters"],
        env={"MYPYPATH": "src", "PATH": ""},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    [line] = [line for line in run.stdout.splitlines() if ": error:" in line]

    assert "max_token" in line
    assert line.startswith("tests/frameworks/programs/adapters.py:")
