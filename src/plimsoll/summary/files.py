"""The files of a run as items: whole paths, then names under their folders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plimsoll.summary.folders import folders_of, one_each, stem_of
from plimsoll.summary.item import Item
from plimsoll.summary.ledger.draft import value
from plimsoll.summary.room import estimate

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from plimsoll.summary.ledger import Fact, Ledger

_WHOLE_SHARE = 0.5
"""Share of a file section's room for whole paths, which a call can take as they are; the other files are grouped by folder."""

_NEAR = 2.0
"""What a file gains in a folder that the agent works in, and by the name of a file that was changed."""


def items(ledger: Ledger, bias: Callable[[str], float], room: Mapping[str, int]) -> list[Item]:
    """Return file items: the most valuable with whole paths, others grouped by common folders if not all fit.

    An item's label is the name of its section.
    """
    facts = one_each(ledger.of("file"))
    folders: dict[str, str] = {}
    made: list[Item] = []
    has_evicted = bool(ledger.evicted.get("file"))
    worked_on = {_folder(fact.text) for fact in facts if fact.state != "seen"}
    changed = {stem_of(fact.text) for fact in facts if fact.state == "modified"}
    for name in ("modified", "read"):
        found = [fact for fact in facts if (fact.state == "modified") == (name == "modified")]
        is_tight = has_evicted or sum(estimate(fact.text) + 1 for fact in found) > 2 * room[name]
        whole = room[name] * _WHOLE_SHARE
        for item in sorted(
            (_file(fact, bias, worked_on, changed, ledger.end) for fact in found), key=lambda item: -item.value
        ):
            whole -= estimate(item.text) + 1
            if is_tight and whole < 0:
                folders = folders or folders_of(fact.text for fact in facts)
            folder = folders[item.text] if is_tight and whole < 0 else ""
            made.append(Item("file", item.text.removeprefix(folder), item.value, item.order, folder, name))
    return made


def _file(
    fact: Fact, bias: Callable[[str], float], worked_on: Collection[str], changed: Collection[str], end: int
) -> Item:
    """Return the item of a file, worth more in a folder of which files were read or changed, and as the test of a changed one."""
    near = _NEAR if _folder(fact.text) in worked_on else 1.0
    near *= _NEAR if fact.state != "modified" and stem_of(fact.text) in changed else 1.0
    return Item("file", fact.text, value(fact, end) * bias(fact.text) * near, (fact.position, 0))


def _folder(path: str) -> str:
    """Return the last two folders of a path, which relative and absolute paths have in common."""
    return "/".join(path.split("/")[-3:-1])
