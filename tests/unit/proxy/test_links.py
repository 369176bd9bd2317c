"""Requests that go on from a response by its id."""

from __future__ import annotations

import json
from typing import Any

import pytest

from plimsoll.proxy import links
from plimsoll.proxy.links import ResponseLinks

FOUND = [{"type": "function_call_output", "call_id": "c", "output": "lease \U0001f600"}]


def sent(known: ResponseLinks, **request: Any) -> Any:
    """What is sent for a request; None: as it came."""
    found = known.followed(json.dumps(request).encode())
    return None if found is None else json.loads(found)


def test_the_provider_goes_on_from_its_last_response() -> None:
    """The id is replaced, what was found comes first, and all else stays."""
    known = ResponseLinks()
    known.note("r1", "r3", FOUND)
    known.note("r4", "r4")
    assert sent(known, model="m", input="And?", previous_response_id="r1", store=True) == {
        "model": "m",
        "input": [*FOUND, {"role": "user", "content": "And?"}],
        "previous_response_id": "r3",
        "store": True,
    }
    assert sent(known, previous_response_id="r1")["input"] == FOUND
    for other in ("r3", "r4", None, ["r1"], 7):
        assert sent(known, input="And?", previous_response_id=other) is None
    with pytest.raises(ValueError, match="Expecting value"):
        known.followed(b'{"previous_response_id": r1}')


@pytest.mark.parametrize(("name", "most"), [("LINKS_MAX", 2), ("LINKS_SIZE_BYTES_MAX", 2 * len(json.dumps(FOUND)))])
def test_the_oldest_are_forgotten(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their number and size are bounded."""
    monkeypatch.setattr(links, name, most)
    known = ResponseLinks()
    for number in range(4):
        known.note(f"r{number}", "last", FOUND)
        known.note(f"r{number}", "last", FOUND)
    assert [sent(known, previous_response_id=f"r{number}") is None for number in range(4)] == [True, True, False, False]
