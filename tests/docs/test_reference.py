"""docs/reference.md is what its script makes of the public names, and leaves none out."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import plimsoll
from plimsoll.policy.policy import Policy

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def reference():
    """The script, as a module."""
    spec = importlib.util.spec_from_file_location("make_reference", DOCS / "make_reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_page_is_current(reference):
    """The page is what `make reference` writes now."""
    assert (DOCS / "reference.md").read_text(encoding="utf-8") == reference.page()


def test_every_public_name_has_an_entry(reference):
    """The groups name each public name once."""
    named = [name for names in reference.GROUPS.values() for name in names.split()]

    assert sorted(named) == sorted({*plimsoll.__all__, "open"} - {"errors"})


def test_every_policy_field_is_explained(reference):
    """The table of policy fields has each with its type, its default and what it does."""
    rows = {row.split("`")[1]: row for row in reference._fields(Policy)}

    assert list(rows) == list(Policy.__dataclass_fields__)
    assert [name for name, row in rows.items() if row.endswith("|  |")] == []
