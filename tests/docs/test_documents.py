"""What the documents say is true: their code runs, their links lead somewhere, their commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from anthropic import Anthropic
from openai import OpenAI

from loopback.server import Provider

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")


def place(path):
    """A document's path from the root, as a test id."""
    return path.relative_to(ROOT).as_posix()


def blocks(path):
    """The Python blocks of a document, each with the line it begins on."""
    text = path.read_text(encoding="utf-8")
    return [(text.count("\n", 0, match.start(1)) + 1, match.group(1)) for match in BLOCK.finditer(text)]


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in DOCUMENTS if blocks(path)], ids=place)
def test_code_runs(path, tmp_path, monkeypatch):
    """The Python blocks of a document run from top to bottom, as one program, in a folder with the examples in it.

    Clients of the SDKs in it speak to a provider on this machine, which refuses nothing of what they send.
    """
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PLIMSOLL_HOME", str(tmp_path / "sessions"))
    namespace = {"__name__": "document"}
    with Provider(128_000) as provider:
        for company, at in (("OPENAI", "/v1"), ("ANTHROPIC", "")):
            monkeypatch.setenv(f"{company}_BASE_URL", provider.url + at)
            monkeypatch.setenv(f"{company}_API_KEY", "none")
        for line, block in blocks(path):
            exec(compile("\n" * (line - 1) + block, place(path), "exec"), namespace)
        for made in namespace.values():
            if isinstance(made, (OpenAI, Anthropic)):
                made.close()  # a process that ends closes them, this one goes on
    assert provider.refused == []
    assert bool(provider.bodies) == ("client." in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", DOCUMENTS, ids=place)
def test_links_lead_somewhere(path):
    """Every relative link of a document names a file that exists."""
    targets = [target for target in LINK.findall(path.read_text(encoding="utf-8")) if "://" not in target]

    assert [target for target in targets if not (path.parent / target).exists()] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=place)
def test_make_targets_exist(path):
    """Every `make` target that a document names is in the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z-]+)", path.read_text(encoding="utf-8"), re.MULTILINE))

    assert named <= targets


def test_architecture_names_files_that_exist():
    """Every file in the tables "to add" and "where do I find" exists."""
    text = (ROOT / "docs" / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.partition("## To add")[2].partition("\n## What is never so")[0]
    named = re.findall(r"`([\w/]+\.(?:py|json|md))`", table)
    missing = [name for name in named if not any((base / name).exists() for base in (ROOT / "src" / "plimsoll", ROOT))]

    assert named
    assert [name for name in missing if name not in ("validate.py", "format.py", "shape.py")] == []


def test_readme_shows_code():
    """The README has code in it, so that the test above tests something."""
    assert blocks(ROOT / "README.md")


def test_every_decision_is_complete():
    """Every decision record has a status, a context, a decision and consequences."""
    wanted = ("Status:", "## Context", "## Decision", "## Consequences")
    records = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))

    assert records
    assert [
        place(path) for path in records if not all(part in path.read_text(encoding="utf-8") for part in wanted)
    ] == []


def test_every_decision_has_a_number_of_its_own():
    """A number in a source or a document names one record, and the record's heading says it again."""
    records = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    numbers = [path.name[:4] for path in records]

    assert [number for number in numbers if numbers.count(number) > 1] == []
    assert [
        place(path) for path in records if not path.read_text(encoding="utf-8").startswith(f"# {path.name[:4]}: ")
    ] == []


def test_the_table_of_bounds_has_every_bound():
    """A run of one topic leaves the rows of the others in the table that is kept."""
    bounds = (ROOT / "bench" / "bounds.py").read_text(encoding="utf-8")
    kept = (ROOT / "bench" / "results" / "bounds.md").read_text(encoding="utf-8")
    figures = re.findall(r'Bound\("([^"]+)"', bounds)

    assert figures
    assert [figure for figure in figures if f"| {figure} " not in kept] == []
