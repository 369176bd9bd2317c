"""House rules on size, names and prose. There is no list of exceptions."""

from __future__ import annotations

import ast
import re
import statistics

import pytest

FILE_LINES_MAX = 396
FUNCTION_LINES_MAX = 59
FUNCTION_LINES_P90_MAX = 22
FUNCTION_LINES_MEDIAN_MAX = 8
BROAD_EXCEPTS_MAX = 3
"""Each around code of the caller's, whose failure must not cost the result."""

VAGUE_FILES = {"utils", "util", "helpers", "helper", "common", "misc", "base", "core", "manager", "handlers"}
VAGUE_CLASS = re.compile(r"Manager|Handler|Helper|Utils?$")


def lengths(sources):
    """Lines and place of every function, shortest first."""
    return sorted(
        (node.end_lineno - node.lineno + 1, f"{source.place}:{node.lineno} {node.name}")
        for source in sources
        for node, _ in source.functions
    )


def test_files_are_small(sources):
    """No file is longer than 396 lines."""
    sizes = {source.place: len(source.text.splitlines()) for source in sources}

    assert {place: size for place, size in sizes.items() if size > FILE_LINES_MAX} == {}


@pytest.mark.slow
def test_functions_are_short(sources):
    """No function is 60 lines or longer, its docstring included."""
    assert [entry for entry in lengths(sources) if entry[0] > FUNCTION_LINES_MAX] == []


@pytest.mark.slow
def test_most_functions_are_very_short(sources):
    """Half of all functions have at most 8 lines, nine in ten at most 22."""
    spans = [span for span, _ in lengths(sources)]

    assert statistics.median(spans) <= FUNCTION_LINES_MEDIAN_MAX
    assert spans[int(len(spans) * 0.9)] <= FUNCTION_LINES_P90_MAX


def test_no_vague_file_names(sources):
    """No file is named for being a place where things go."""
    assert [source.place for source in sources if source.path.stem in VAGUE_FILES] == []


@pytest.mark.slow
def test_no_vague_class_names(sources):
    """No class is named for managing, handling or helping; adapters take the words of their frameworks."""
    vague = [
        f"{source.place}:{node.lineno} {node.name}"
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ClassDef) and VAGUE_CLASS.search(node.name) and not source.name.startswith("adapters.")
    ]

    assert vague == []


def test_public_functions_have_docstrings(sources):
    """Every module, public class and public function has a docstring; overloads share the one of what they overload."""
    bare = [f"{source.place}" for source in sources if ast.get_docstring(source.tree) is None]
    bare += [
        f"{source.place}:{node.lineno} {node.name}"
        for source in sources
        for node, public in source.functions
        if public and ast.get_docstring(node) is None and "overload" not in map(ast.unparse, node.decorator_list)
    ]
    bare += [
        f"{source.place}:{node.lineno} {node.name}"
        for source in sources
        for node in source.tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_") and ast.get_docstring(node) is None
    ]

    assert bare == []


@pytest.mark.slow
def test_few_broad_excepts(sources):
    """At most three places catch every exception and go on; raising it again, or an error of ours from it, is not going on."""
    broad = [
        f"{source.place}:{node.lineno}"
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.ExceptHandler)
        and not isinstance(node.body[-1], ast.Raise)
        and (node.type is None or {"Exception", "BaseException"} & set(re.findall(r"\w+", ast.unparse(node.type))))
    ]

    assert len(broad) <= BROAD_EXCEPTS_MAX, broad


def test_no_silenced_type_checker(sources):
    """No line of the library tells the type checker to look away."""
    silence = "type: " + "ignore"

    assert [source.place for source in sources if silence in source.text or "pyright: " + "ignore" in source.text] == []


@pytest.mark.slow
def test_nothing_is_printed_from_the_library(sources):
    """Only the command line prints; everything else returns what it found."""
    printed = [
        f"{source.place}:{node.lineno}"
        for source in sources
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "print" and not source.name.startswith("cli")
    ]

    assert printed == []


@pytest.mark.slow
def test_every_test_says_what_it_expects(test_sources):
    """Every test has a docstring."""
    silent = [
        f"{source.place}:{node.lineno} {node.name}"
        for source in test_sources
        for node, _ in source.functions
        if node.name.startswith("test_") and source.path.name.startswith("test_") and ast.get_docstring(node) is None
    ]

    assert silent == []
