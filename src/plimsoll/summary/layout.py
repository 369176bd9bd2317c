"""How the chosen items of a section become text."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plimsoll.summary.item import Item


def bullets(items: Sequence[Item]) -> str:
    """One line for each, in order; further lines of an item are indented, so that none can pass for a title."""
    return "\n".join("- " + item.text.replace("\n", "\n  ") for item in sorted(items, key=lambda item: item.order))


def grouped(items: Sequence[Item]) -> str:
    """Items under their group's heading, groups in the order of their first item."""
    groups: dict[str, list[Item]] = {}
    for item in sorted(items, key=lambda item: item.order):
        groups.setdefault(item.group, []).append(item)
    lines: list[str] = []
    for group, members in groups.items():
        if not group or len(members) == 1:
            lines.extend(f"- {group}: {item.text}" if group else f"- {item.text}" for item in members)
        else:
            lines.append(f"- {group}:")
            lines.extend(f"  {item.text}" for item in members)
    return "\n".join(lines)


def listed(items: Sequence[Item]) -> str:
    """Names on one line for each folder that several lie below; those below none on a line of their own."""
    folders: dict[str, list[str]] = {}
    for item in sorted(items, key=lambda item: item.order):
        folders.setdefault(item.group, []).append(item.text)
    return "\n".join(f"- {folder}{': ' if folder else ''}{', '.join(names)}" for folder, names in folders.items())


def spoken(items: Sequence[Item]) -> str:
    """A conversation in order: a line for each run of one speaker, but under a heading one for each speaker, by semicolons."""
    lines: list[str] = []
    ordered = sorted(items, key=lambda item: item.order)
    for heading, members in groupby(ordered, key=lambda item: item.group):
        said: dict[tuple[str, int], list[str]] = {}
        lines.extend([f"[{heading}]"] if heading else [])
        for run, (speaker, texts) in enumerate(groupby(members, key=lambda item: item.label)):
            said.setdefault((speaker, 0 if heading else run), []).extend(item.text for item in texts)
        for (speaker, _), statements in said.items():
            lines.append(f"{speaker}: {'; '.join(statements)}" if speaker else "; ".join(statements))
    return "\n".join(lines)


def topical(items: Sequence[Item], user: str = "") -> str:
    """Facts by what they are about: `topic: fact; fact`, topics in the order they came up. A message without one has its line.

    What the user said follows the rest of its line, after `user`.
    """
    topics: dict[tuple[str, int], tuple[list[str], list[str]]] = {}
    for item in sorted(items, key=lambda item: item.order):
        place = (item.group, 0 if item.group else item.order[0])
        topics.setdefault(place, ([], []))[bool(item.label)].append(item.text)
    lines = []
    for (topic, _), (texts, told) in topics.items():
        said = "".join(f"{text}。" for text in texts) + (f"{user}{'。'.join(told)}。" if told else "")
        lines.append(f"- {topic}{'：' if topic else ''}{said}")
    return "\n".join(lines)


def noted(items: Sequence[Item]) -> str:
    """A line for each message, its statements joined by semicolons, under the headings of their time."""
    lines: list[str] = []
    heading, position = "", None
    for item in sorted(items, key=lambda item: item.order):
        if item.group != heading:
            heading, position = item.group, None
            lines.append(f"[{heading}]")
        if item.order[0] == position:
            lines[-1] += f"; {item.text}"
        else:
            position = item.order[0]
            lines.append(f"- {item.text}")
    return "\n".join(lines)


def inline(items: Sequence[Item]) -> str:
    """All on one line."""
    return "; ".join(item.text for item in sorted(items, key=lambda item: item.order))
