"""The two files that the agent of the recorded session writes, as it first writes them: the script stops on its first run."""

from __future__ import annotations

PAGE_SCRIPT = '''\
"""Write docs/limits.md from src/plimsoll/limits.py: every limit, its value, its meaning and the modules that use it."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src" / "plimsoll"
LIMITS = SOURCES / "limits.py"
PAGE = ROOT / "docs" / "limits.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One constant of limits.py."""

    name: str
    value: int | float
    meaning: str
    users: tuple[str, ...]


def names_in(tree: ast.AST) -> set[str]:
    """Every name and attribute that occurs in the tree."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
    }


@functools.cache
def names_by_module() -> dict[str, set[str]]:
    """The names that each module mentions in code; comments and docstrings do not count."""
    return {
        path.relative_to(SOURCES).as_posix(): names_in(ast.parse(path.read_text(encoding="utf-8")))
        for path in sorted(SOURCES.rglob("*.py"))
        if path != LIMITS
    }


def users_of(name: str) -> tuple[str, ...]:
    """The modules that mention the name, sorted."""
    return tuple(path for path, names in names_by_module().items() if name in names)


def limits() -> list[Limit]:
    """Every limit, in the order of the file; the meaning is the docstring after the assignment."""
    tree = ast.parse(LIMITS.read_text(encoding="utf-8"))
    found = []
    for statement, after in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(statement, ast.Assign) and isinstance(after, ast.Expr):
            name = ast.unparse(statement.targets[0])
            meaning = " ".join(str(ast.literal_eval(after.value)).split())
            found.append(Limit(name=name, value=ast.literal_eval(statement.value), meaning=meaning, users=users_of(name)))
    return found


def page(rows: list[Limit]) -> str:
    """The whole page as Markdown."""
    head = "# Limits\\n\\n| limit | value | meaning | used by |\\n| --- | --- | --- | --- |\\n"
    return head + "".join(
        f"| `{limit.name}` | {limit.value:,} | {limit.meaning} | {', '.join(limit.users)} |\\n" for limit in rows
    )


def main() -> None:
    """Write the page and say how many limits it has."""
    rows = limits()
    PAGE.write_text(page(rows), encoding="utf-8")
    print(f"{PAGE.name}: {len(rows)} names")


if __name__ == "__main__":
    main()
'''

PAGE_TEST = '''\
"""The page of limits says what limits.py says."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = runpy.run_path(str(ROOT / "scripts" / "limits_page.py"))


def test_page_is_current() -> None:
    """docs/limits.md is what the script would write now."""
    assert (ROOT / "docs" / "limits.md").read_text(encoding="utf-8") == SCRIPT["page"](SCRIPT["limits"]())


def test_every_limit_is_used() -> None:
    """Every limit is named by at least one module other than limits.py."""
    unused = [limit.name for limit in SCRIPT["limits"]() if not limit.users]

    assert not unused, f"used nowhere: {', '.join(unused)}"


def test_unused_limit_is_seen() -> None:
    """A name that occurs nowhere has no users."""
    assert SCRIPT["users_of"]("NO_SUCH_LIMIT_MAX") == ()
'''
