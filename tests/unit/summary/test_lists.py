"""What an assistant's lists name."""

from __future__ import annotations

import pytest

from plimsoll.message import text_message
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.summary.ledger.fact import LIST
from plimsoll.summary.ledger.lists import named_in_lists

BOOKS = """Of course! Here are some books about the sea:

1. **The Perfect Storm** by Sebastian Junger - a fishing boat.
   - Ages 12 and up
2. **Moby-Dick**: the white whale.
3. **Two Years Before the Mast** - a classic.

Enjoy!"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (BOOKS, ["books about the sea: The Perfect Storm, Moby-Dick, Two Years Before the Mast"]),
        (
            "Trips that you might like:\n- Bend - breweries\n- Hood River - orchards\n- Astoria",
            ["Trips: Bend, Hood River, Astoria"],
        ),
        (
            "你可以看看：\n1. 《活着》：余华\n2. 《边城》：沈从文\n3. 《围城》",
            ["你可以看看: 《活着》, 《边城》, 《围城》"],
        ),
        ("Check:\n1. **Roof**: age\n2. **Plumbing**: leaks\n3. **Wiring**: old", []),
        ("Do this:\n1. Open the box and take out the cable that is in it, then close it\n2. Wait\n3. Go", []),
        ("Two:\n- Hood River\n- Silver Falls", []),
        ("No list: Bend, Astoria", []),
    ],
)
def test_a_list_of_names_is_told_on_one_line(text: str, told: list[str]) -> None:
    """Behind what it is of; labels of advice, sentences and short lists are not told."""
    assert named_in_lists(text) == told


def test_the_names_are_a_statement_of_the_assistant_and_its_items_are_too() -> None:
    """A user's list is no recommendation."""
    of_assistant = extend(Ledger.empty(), [text_message("assistant", BOOKS)], 0).of("chat")
    of_user = extend(Ledger.empty(), [text_message("user", BOOKS)], 0).of("chat")

    assert [fact.text[:20] for fact in of_assistant if fact.state == LIST] == ["books about the sea:"]
    assert any("a fishing boat" in fact.text for fact in of_assistant)
    assert not any(fact.state == LIST for fact in of_user)
