"""Imports go down only, and what is pure stays pure."""

from __future__ import annotations

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

from rooms import LAYER_OF, LAYERS, ROOMS, table

ARCHITECTURE = Path(__file__).resolve().parents[2] / "docs" / "ARCHITECTURE.md"

PLACES_MAX = 26
"""As many places as a reader can hold in mind; the two doors, `import plimsoll` and `python -m plimsoll`, are none."""

PURE = ("values", "ports", "core")
IMPURE_MODULES = {
    *("asyncio", "concurrent", "http", "logging", "multiprocessing", "os", "pathlib", "random", "secrets", "select"),
    *("shutil", "signal", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "time", "urllib", "uuid"),
}
"""What clocks, disks, sockets and chance come from."""

USE_THE_SYSTEM = {"tokens.exact", "tokens.registry"}
"""The modules of the core that may: one is told of a fork of the process, the other reads the user's own table of models, once."""

THIRD_PARTY = {
    "tokens": {"splintr"},
    "store": {"zstandard"},
    "transcripts": {"zstandard", "compression"},
    "cli": {"rich"},
    "report": {"rich"},
    "mcp": {"mcp", "mcp_types", "anyio", "starlette", "uvicorn"},
    "api": {"openai", "anthropic"},
    "proxy": {"aiohttp", "multidict", "yarl"},
}
"""Which room may import what; adapters may import the framework they adapt."""

HEAVY_MODULES = [
    "splintr",
    "rich",
    "tiktoken",
    "zstandard",
    "asyncio",
    "sqlite3",
    "ssl",
    "http.client",
    "urllib.request",
    "dataclasses",
    "inspect",
]
"""Each costs more to load than the whole package should."""


def room(name):
    """The module or package directly under plimsoll that a module is in."""
    return name.split(".")[0]


def rank_of(name):
    """The height of a module's layer, 0 at the bottom; one that is in no layer may import all and be imported by none."""
    return LAYERS.index(LAYER_OF[room(name)]) if room(name) in LAYER_OF else len(LAYERS)


def layer_of(name):
    """The name of a module's layer."""
    return LAYER_OF.get(room(name), "no layer")


def own(target, names):
    """The module of plimsoll that an imported name is or is in, or None for someone else's."""
    top, *parts = target.split(".")
    if top != "plimsoll":
        return None
    inner = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
    return next((name for name in inner if name in names), parts[0] if parts and parts[0] in LAYER_OF else "")


def test_every_module_has_a_layer(sources):
    """Every module and package directly under plimsoll is in the table of layers."""
    assert [source.place for source in sources if room(source.name) not in LAYER_OF] == []


@pytest.mark.slow
def test_imports_go_down(sources):
    """No module imports from a layer above its own, not even inside a function."""
    names = {source.name for source in sources}
    upward = [
        f"{source.place}:{found.line} ({layer_of(source.name)}) imports {inner or 'plimsoll'} ({layer_of(inner)})"
        for source in sources
        for found in source.imports
        if (inner := own(found.target, names)) is not None and rank_of(inner) > rank_of(source.name)
    ]

    assert upward == []


@pytest.mark.slow
def test_no_import_cycles(sources):
    """The modules can be put in an order in which each imports only earlier ones, inside functions too."""
    names = {source.name for source in sources}
    graph = {
        source.name: {
            inner
            for found in source.imports
            if (inner := own(found.target, names)) is not None and inner != source.name
        }
        for source in sources
    }

    graphlib.TopologicalSorter(graph).prepare()


def test_packages_have_an_order(sources):
    """No package needs one that needs it, a package being one place with all that is in it; and there are few places."""
    names = {source.name for source in sources}
    graph = {place.name: set() for place in ROOMS}
    for source in sources:
        targets = {own(found.target, names) for found in source.imports} - {None}
        graph[room(source.name)] |= {room(target) for target in targets} - {room(source.name)}

    graphlib.TopologicalSorter(graph).prepare()
    assert len(set(graph) - {"", "__main__"}) <= PLACES_MAX


def test_the_page_shows_the_layers():
    """The table of the page on architecture is the one that these tests go by."""
    assert table() in ARCHITECTURE.read_text()


@pytest.mark.slow
def test_absolute_imports(sources):
    """Imports name plimsoll in full, so that a search finds every user of a module."""
    relative = [
        f"{source.place}:{node.lineno}"
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]

    assert relative == []


def test_no_third_party_where_not_named(sources):
    """Only the rooms in the table import anything besides the standard library, and only inside functions.

    Type checkers bring typing_extensions with them: it may be imported for them, and nowhere else is it there.
    """
    foreign = [
        f"{source.place}:{found.line} imports {found.target}"
        for source in sources
        for found in source.imports
        if (top := found.target.split(".")[0]) not in sys.stdlib_module_names | {"plimsoll", "typing_extensions"}
        if room(source.name) != "adapters" and top not in THIRD_PARTY.get(room(source.name), set())
    ]

    assert foreign == []


def test_data_classes_are_light(sources):
    """No module but an adapter loads `dataclasses`, which takes 7 ms, or has named tuples of `typing`: those of `plimsoll.light`."""
    heavy = [
        f"{source.place}:{found.line}"
        for source in sources
        for found in source.imports
        if found.at_import and found.target.startswith(("dataclasses", "typing.NamedTuple"))
        if room(source.name) != "adapters"
    ]

    assert heavy == []


def test_core_is_pure(sources):
    """Values, ports and core import nothing that has a clock, a disk, a socket or chance in it."""
    impure = [
        f"{source.place}:{found.line} imports {found.target}"
        for source in sources
        for found in source.imports
        if layer_of(source.name) in PURE
        and source.name not in USE_THE_SYSTEM
        and found.target.split(".")[0] in IMPURE_MODULES
    ]

    assert impure == []


@pytest.mark.slow
@pytest.mark.parametrize("module", HEAVY_MODULES)
def test_import_is_light(module, loaded_by_import):
    """Having all of plimsoll's public names leaves the heavy modules to those who use them."""
    assert module not in loaded_by_import


@pytest.fixture(scope="module")
def loaded_by_import():
    """Every module that a fresh interpreter loads for all of plimsoll's public names."""
    done = subprocess.run(
        [sys.executable, "-c", "from plimsoll import *; import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())
