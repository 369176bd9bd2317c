"""Format the chosen items of a section as text."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from plimsoll.summary.ledger.dates import without_year

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plimsoll.summary.item import Item


def bullets(items: Sequence[Item]) -> str:
    """One bullet per item, in order. Continuation lines are indented, so that they cannot be taken for a section title."""
    return "\n".join("- " + item.text.replace("\n", "\n  ") for item in sorted(items, key=lambda item: item.order))


def grouped(items: Sequence[Item]) -> str:
    """Items under group headings, groups in the order of their first item.

    Cells of one result share a line after their label. Columns that all lines of a group have are named once, in its heading.
    """
    groups: dict[str, dict[tuple[int, ...], tuple[str, list[str]]]] = {}
    for item in sorted(items, key=lambda item: item.order):
        rows = groups.setdefault(item.group, {})
        rows.setdefault(item.order[:2], (item.label, []))[1].append(item.text)
    lines: list[str] = []
    for group, rows in groups.items():
        heading, members = _in_columns(group, [*rows.values()])
        if not group or len(members) == 1:
            lines.extend(f"- {heading}: {text}" if group else f"- {text}" for text in members)
        else:
            lines.append(f"- {heading}:")
            lines.extend(f"  {text}" for text in members)
    return "\n".join(lines)


_COLUMN_ROWS_MIN = 3
"""Lines with the same columns from which on the columns are named once."""


def _in_columns(group: str, rows: Sequence[tuple[str, list[str]]]) -> tuple[str, list[str]]:
    """Return the heading and the lines of a group's rows, each a label and cells that start with the name of their column."""
    columns = {tuple(cell.partition(" ")[0] for cell in cells) for label, cells in rows if label}
    if len(rows) >= _COLUMN_ROWS_MIN and len(columns) == 1 and all(label for label, _ in rows):
        lines = [f"{label}: {' | '.join(cell.partition(' ')[2] for cell in cells)}" for label, cells in rows]
        named = " ".join(columns.pop())
        return group.replace(" [", f" [{named}; ", 1) if group.endswith("]") else f"{group} [{named}]", lines
    return group, [f"{label}: {', '.join(cells)}" if label else ", ".join(cells) for label, cells in rows]


def listed(items: Sequence[Item]) -> str:
    """One line per folder with its names; names without a folder share one line."""
    folders: dict[str, list[str]] = {}
    for item in sorted(items, key=lambda item: item.order):
        folders.setdefault(item.group, []).append(item.text)
    return "\n".join(f"- {folder}{': ' if folder else ''}{', '.join(names)}" for folder, names in folders.items())


def spoken(items: Sequence[Item]) -> str:
    """Dialogue in order, statements joined by semicolons: a line per run of a speaker, or per speaker under a heading."""
    lines: list[str] = []
    ordered = sorted(items, key=lambda item: item.order)
    before = ""
    for heading, members in groupby(ordered, key=lambda item: item.group):
        by_speaker: dict[tuple[str, int], list[str]] = {}
        lines.extend([f"[{without_year(heading, before)}]"] if heading else [])
        before = heading
        for run, (speaker, texts) in enumerate(groupby(members, key=lambda item: item.label)):
            by_speaker.setdefault((speaker, 0 if heading else run), []).extend(item.text for item in texts)
        for (speaker, _), statements in by_speaker.items():
            lines.append(f"{speaker}: {'; '.join(statements)}" if speaker else "; ".join(statements))
    return "\n".join(lines)


def topical(items: Sequence[Item], user: str = "") -> str:
    """Facts by topic, topics in order of first appearance. A message without a topic has its own line.

    The user's statements follow the others on a line, after the prefix `user`.
    """
    topics: dict[tuple[str, int], tuple[list[str], list[str]]] = {}
    for item in sorted(items, key=lambda item: item.order):
        place = (item.group, 0 if item.group else item.order[0])
        topics.setdefault(place, ([], []))[bool(item.label)].append(item.text)
    lines = []
    for (topic, _), (texts, by_user) in topics.items():
        statements = "".join(f"{text}。" for text in texts) + (f"{user}{'。'.join(by_user)}。" if by_user else "")
        lines.append(f"- {topic}{'：' if topic else ''}{statements}")
    return "\n".join(lines)


def noted(items: Sequence[Item]) -> str:
    """One line per message under time headings, statements separated by semicolons."""
    lines: list[str] = []
    heading, position = "", None
    for item in sorted(items, key=lambda item: item.order):
        if item.group != heading:
            lines.append(f"[{without_year(item.group, heading)}]")
            heading, position = item.group, None
        if item.order[0] == position:
            lines[-1] += f"; {item.text}"
        else:
            position = item.order[0]
            lines.append(f"- {item.text}")
    return "\n".join(lines)


def inline(items: Sequence[Item]) -> str:
    """All items on one line."""
    return "; ".join(item.text for item in sorted(items, key=lambda item: item.order))
