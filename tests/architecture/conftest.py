"""The source tree as syntax trees: what the tests of its shape look at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "src" / "plimsoll"

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, kw_only=True)
class Import:
    """One imported module, by its whole name, and whether importing the importer runs it."""

    target: str
    line: int
    at_import: bool


@dataclass(frozen=True, kw_only=True)
class Source:
    """One module: its dotted name below plimsoll, its text and its tree."""

    path: Path
    name: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.text)

    @property
    def place(self) -> str:
        """Where it is, from the root of the checkout."""
        return self.path.relative_to(ROOT).as_posix()

    @cached_property
    def imports(self) -> list[Import]:
        """Every import in it, wherever it stands."""
        return list(_imports(self.tree, at_import=True))

    @cached_property
    def functions(self) -> list[tuple[FunctionNode, bool]]:
        """Every function, and whether it is public: neither it nor what holds it is private or a function."""
        return list(_functions(self.tree, hidden=False))


def _imports(node: ast.AST, *, at_import: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names):
                yield from (Import(target=alias.name, line=child.lineno, at_import=at_import) for alias in names)
            case ast.ImportFrom(module=module, level=0) if module:
                yield from (
                    Import(target=f"{module}.{alias.name}", line=child.lineno, at_import=at_import)
                    for alias in child.names
                )
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from _imports(child, at_import=False)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from _imports(child, at_import=False)
            case _:
                yield from _imports(child, at_import=at_import)


def _functions(node: ast.AST, *, hidden: bool) -> Iterator[tuple[FunctionNode, bool]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                private = hidden or name.startswith("_")
                yield child, not private
                yield from _functions(child, hidden=True)
            case ast.ClassDef(name=name):
                yield from _functions(child, hidden=hidden or name.startswith("_"))
            case _:
                yield from _functions(child, hidden=hidden)


def _read(path: Path, below: Path) -> Source:
    parts = path.relative_to(below).with_suffix("").parts
    name = ".".join(part for part in parts if part != "__init__")
    return Source(path=path, name=name, text=path.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def sources() -> list[Source]:
    """Every module under src/plimsoll."""
    return [_read(path, SOURCES) for path in sorted(SOURCES.rglob("*.py"))]


@pytest.fixture(scope="session")
def test_sources() -> list[Source]:
    """Every module under tests."""
    return [_read(path, ROOT) for path in sorted((ROOT / "tests").rglob("*.py"))]
