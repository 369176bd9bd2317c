"""A host that marks messages for the cache has a mark in what is sent, though the marked ones have left."""

from __future__ import annotations

import pytest

from plimsoll.formats.cache_marks import marked_as

MARK = {"cache_control": {"type": "ephemeral"}}


def said(text, **more):
    """A message of one block."""
    return {"role": "user", "content": [{"type": "text", "text": text, **more}]}


PLAIN, MARKED = said("a"), said("b", **MARK)
THOUGHT = {"role": "assistant", "content": [{"type": "thinking", "thinking": "x", "signature": "y"}]}


@pytest.mark.parametrize(
    ("view", "given", "leading", "marked"),
    [
        pytest.param([PLAIN, MARKED], [MARKED], 0, [MARKED], id="kept"),
        pytest.param([PLAIN, PLAIN], [MARKED], 0, [said("a", **MARK)], id="lost"),
        pytest.param([{"role": "user", "content": "a"}], [MARKED], 3, [said("a", **MARK)], id="text becomes a block"),
        pytest.param([PLAIN, THOUGHT], [MARKED], 0, [said("a", **MARK)], id="not on thinking"),
        pytest.param([PLAIN], [MARKED], 4, [], id="no room"),
        pytest.param([PLAIN], [PLAIN], 0, [], id="no host that marks"),
    ],
)
def test_marks(view, given, leading, marked):
    """At the end of the view, and the view that was given is not changed."""
    before = repr(view)
    found = marked_as(view, given, leading, 4)
    assert [message for message in found if "cache_control" in str(message)] == marked
    assert len(found) == len(view)
    assert repr(view) == before
