"""What type checkers see of the built wheel: the official SDKs' own types go in and come out, and mistakes are found."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import get_args

import pytest

from plimsoll.policy.budget import Level
from plimsoll.policy.policy import STRATEGIES, Policy
from plimsoll.policy.presets import PRESETS, LevelName, PolicyFields, PresetName, Strategy

PROGRAMS = Path(__file__).parent / "programs"
ROOT = Path(__file__).parents[2]
MISTAKES = "mistakes.py"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built and unpacked."""
    place = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(place)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    with zipfile.ZipFile(next(place.glob("*.whl"))) as built:
        built.extractall(place / "site")
    return place / "site"


def marked() -> set[int]:
    """The lines that hold a mistake."""
    lines = (PROGRAMS / MISTAKES).read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if line.endswith("# error")}


@pytest.mark.slow
def test_the_wheel_says_that_it_is_typed(wheel: Path) -> None:
    """Without the file checkers take every name of an installed package for Any."""
    assert (wheel / "plimsoll" / "py.typed").exists()


@pytest.mark.slow
def test_mypy(wheel: Path) -> None:
    """Programs with the SDKs pass, strictly; of the mistakes each is found, and nothing else."""
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "--no-error-summary", "--hide-error-context"]
    cache = ["--cache-dir", str(ROOT / ".mypy_cache" / "typing")]
    run = subprocess.run(
        [*command, *cache, *map(str, sorted(PROGRAMS.glob("*.py")))],
        env={"MYPYPATH": str(wheel), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.findall(r"^.*?([\w.]+):(\d+): error: (.*)$", run.stdout, re.MULTILINE)
    assert [line for line in found if line[0] != MISTAKES] == [], run.stdout
    assert {int(number) for _, number, _ in found} == marked(), run.stdout


@pytest.mark.slow
def test_pyright(wheel: Path, tmp_path: Path) -> None:
    """The same for the other checker that editors use."""
    options = {"typeCheckingMode": "strict", "extraPaths": [str(wheel)], "include": [str(PROGRAMS)]}
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
        (Path(told["file"]).name, told["range"]["start"]["line"] + 1, told["message"])
        for told in json.loads(run.stdout)["generalDiagnostics"]
        if told["severity"] == "error"
    ]
    assert [line for line in found if line[0] != MISTAKES] == []
    assert {number for _, number, _ in found} == marked(), found


def test_the_names_that_checkers_know_are_those_there_are() -> None:
    """A preset, a level or a field that is added has to be added for type checkers, too."""
    assert set(get_args(PresetName)) == set(PRESETS)
    assert set(get_args(LevelName)) == {level.name for level in Level}
    known = set(PolicyFields.__annotations__)
    assert known == {name for name in Policy.__dataclass_fields__ if name != "name"} | {"strategy"}
    assert set(get_args(Strategy)) == set(STRATEGIES)
