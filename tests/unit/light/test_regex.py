"""Regular expressions are compiled when they are first used."""

from __future__ import annotations

import copy
import importlib
import pkgutil
import re
import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

import plimsoll
from plimsoll.errors import MissingExtra
from plimsoll.light.regex import led, regex


def test_a_regex_does_what_the_compiled_pattern_does() -> None:
    """Its methods and attributes are those of `re.compile` with the same arguments."""
    lazy, compiled = regex(r"(?P<word>[a-z]+)-\d", re.IGNORECASE), re.compile(r"(?P<word>[a-z]+)-\d", re.IGNORECASE)
    assert lazy.sub("x", "Ab-1, cd-2") == compiled.sub("x", "Ab-1, cd-2") == "x, x"
    assert lazy.groupindex == compiled.groupindex
    assert lazy.pattern == compiled.pattern
    assert lazy.flags == compiled.flags
    assert copy.deepcopy(lazy).findall("q-1") == ["q"]
    assert "word" in repr(lazy)


def test_a_wrong_pattern_is_an_error_at_its_first_use() -> None:
    """A pattern is not compiled before it is used."""
    wrong = regex("(")
    with pytest.raises(re.error):
        wrong.search("text")


def test_every_pattern_of_the_package_compiles() -> None:
    """Every pattern of the package is valid."""
    found = 0
    for module in pkgutil.walk_packages(plimsoll.__path__, "plimsoll."):
        if module.name == "plimsoll.__main__":
            continue
        with suppress(MissingExtra, ModuleNotFoundError):  # an adapter of a framework that is not installed
            for value in vars(importlib.import_module(module.name)).values():
                if type(value) is type(regex("")):
                    assert isinstance(value.groups, int)
                    found += 1
    assert found > 100


@pytest.mark.slow
def test_importing_the_package_compiles_no_pattern_of_its_own() -> None:
    """Patterns that the standard library compiles for itself are not counted."""
    code = (
        "import re, sys\n"
        "made = []\n"
        "compiled = re.compile\n"
        "def note(*given, **named):\n"
        "    made.append(sys._getframe(1).f_globals['__name__'])\n"
        "    return compiled(*given, **named)\n"
        "re.compile = note\n"
        "from plimsoll import fit, open\n"
        "print([name for name in made if name.startswith('plimsoll')])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@given(st.text(alphabet="abwxy?!", max_size=12))
def test_a_led_pattern_finds_what_its_alternatives_find(text: str) -> None:
    """Each way is one of its characters and what follows it."""
    ways = regex(led({"?!": "[?!]*", "w": "(?:x|y(?!a))", "a": r"\Z"}))
    plain = re.compile(r"[?!]+|w(?:x|y(?!a))|a\Z")
    assert [found.span() for found in ways.finditer(text)] == [found.span() for found in plain.finditer(text)]
