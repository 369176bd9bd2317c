"""Any Python value as the text of a tool's result."""

from __future__ import annotations

import datetime as dt
import decimal
import json
import math
import pathlib
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.truncation.tool_results import render_result


class Loud:
    """A value whose `str` and `repr` raise."""

    def __repr__(self):
        raise RuntimeError

    __str__ = __repr__


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (False, "false"),
        (0, "0"),
        ("", ""),
        ("plain", "plain"),
        ([], "[]"),
        ({}, "{}"),
        (3.5, "3.5"),
        (math.nan, '"nan"'),
        (math.inf, '"inf"'),
        ([math.nan, 1], '["nan",1]'),
        (b"bytes", "bytes"),
        (b"\xff\xfe", "[2 bytes, not text]"),
        (bytearray(b"ab"), "ab"),
        ((1, 2), "[1,2]"),
        ({3, 1, 2}, "[1,2,3]"),
        ({"a": {"b": ["é", None]}}, '{"a":{"b":["é",null]}}'),
        ({1: "x", None: "y", False: "z"}, '{"1":"x","null":"y","false":"z"}'),
        ({(1, 2): "pair"}, '{"[1,2]":"pair"}'),
        (dt.date(2026, 1, 2), '"2026-01-02"'),
        (decimal.Decimal("1.10"), '"1.10"'),
        (uuid.UUID(int=7), '"00000000-0000-0000-0000-000000000007"'),
        (pathlib.PurePosixPath("/a/b"), '"/a/b"'),
        (Loud(), '"[Loud]"'),
        ({"x": Loud()}, '{"x":"[Loud]"}'),
        (1j, '"[complex]"'),
        ("\ud800", "\ud800"),
        (["\ud800"], '["\\ud800"]'),
    ],
)
def test_values_have_a_text(value, text):
    """Text is unchanged, None is null, falsy values are kept, and what JSON cannot express is described."""
    assert render_result(value) == text


def test_circles_are_named():
    """A value that contains itself is rendered once; a value that occurs twice is not a cycle."""
    circle = {"name": "loop"}
    circle["self"] = circle
    shared = [1]

    assert json.loads(render_result(circle)) == {"name": "loop", "self": "[circular]"}
    assert render_result([shared, shared]) == "[[1],[1]]"


def test_depth_is_bounded():
    """A value a thousand levels deep is rendered down to the limit."""
    value = "leaf"
    for _ in range(1_000):
        value = [value]

    assert "[nested too deep]" in render_result(value)


def test_huge_integers_are_rendered():
    """An integer Python refuses to print in decimal is printed in hexadecimal."""
    assert json.loads(render_result([10**5_000]))[0] == hex(10**5_000)
    assert render_result(10**100) == str(10**100)


@pytest.mark.slow
@pytest.mark.spec("W3-15")
@given(
    st.recursive(
        st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.complex_numbers()),
        lambda inner: st.one_of(
            st.lists(inner), st.dictionaries(st.one_of(st.text(), st.integers(), st.floats()), inner)
        ),
        max_leaves=20,
    )
)
def test_every_value_has_a_text(value):
    """Rendering never fails, and gives JSON for all but text and bytes."""
    text = render_result(value)

    assert isinstance(text, str)
    if not isinstance(value, (str, bytes)):
        json.loads(text)
