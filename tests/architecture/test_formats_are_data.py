"""Outside the package of formats, code goes by a format's rules and never by a provider's name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from plimsoll.formats.registry import FORMATS
from plimsoll.formats.rules import RULES
from plimsoll.message import FormatName

SOURCE = Path(__file__).parents[2] / "src" / "plimsoll"

AT_HOME = ("formats", "transcripts", "api/model_summarizer", "adapters", "conversations/wrapper")
"""Packages that are about providers' formats, about the files of tools that each speak one of them, and about SDKs and frameworks that
do."""

ALLOWED = {
    "message.py": "the type of a format's name",
    "cli/options.py": "the choices of --format, printed without loading the library",
    "compaction/readers.py": "a tool's own way of reading its file, which is in one format",
    "recall/tools.py": "the formats that tool definitions can be asked for in, and the default",
    "session/searching.py": "the default of the same",
    "tokens/framing.py": "the published costs of a message, which are named after the API that publishes them",
    "tokens/counter.py": "the provider of a model",
}
"""Files that name a format, and why."""


def _files() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        relative = path.relative_to(SOURCE)
        if not relative.as_posix().startswith(AT_HOME):
            yield relative.as_posix(), ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_no_code_goes_by_the_name_of_a_format() -> None:
    """The name of a format is in no file outside the packages of formats and transcripts but those with a reason."""
    found = {
        name
        for name, tree in _files()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in FORMATS
    }
    assert found == set(ALLOWED)


@pytest.mark.slow
def test_no_code_reaches_into_the_folder_of_a_format() -> None:
    """Code outside the package of formats imports what all formats share, and nothing of a single one."""
    folders = {path.name for path in (SOURCE / "formats").iterdir() if (path / "__init__.py").exists()}
    imported = {
        (name, node.module)
        for name, tree in _files()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("plimsoll.formats.")
        if node.module.split(".")[2] in folders
    }
    assert len(folders) == len(FORMATS)
    assert imported == set()


def test_every_format_has_rules() -> None:
    """The names, the rules and the formats are the same, and each format goes by the rules of its name."""
    assert set(get_args(FormatName)) == set(RULES) == set(FORMATS)
    assert all(format.rules is RULES[name] for name, format in FORMATS.items())
