"""How the chosen items of a section become text."""

from __future__ import annotations

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


def paths(items: Sequence[Item]) -> str:
    """File names, the part all share said once; where several lie in one directory, that is said once too."""
    chosen = sorted(items, key=lambda item: item.order)
    root = common_root([item.text for item in chosen])
    folders: dict[str, list[str]] = {}
    for item in chosen:
        folder, _, name = item.text.removeprefix(root).rpartition("/")
        folders.setdefault(folder, []).append(name)
    lines = [f"- (in {root})"] if root else []
    singles = [f"{folder}/{names[0]}" if folder else names[0] for folder, names in folders.items() if len(names) == 1]
    lines.extend(f"- {folder or '.'}/: {', '.join(names)}" for folder, names in folders.items() if len(names) > 1)
    if singles:
        lines.append("- " + ", ".join(singles))
    return "\n".join(lines)


def rooted(items: Sequence[Item]) -> str:
    """File names whole but for the part all share, which is said once."""
    chosen = sorted(items, key=lambda item: item.order)
    root = common_root([item.text for item in chosen])
    names = "- " + ", ".join(item.text.removeprefix(root) for item in chosen)
    return f"- (in {root})\n{names}" if root else names


def whole(items: Sequence[Item]) -> str:
    """File names whole: for where there is room."""
    return "- " + ", ".join(item.text for item in sorted(items, key=lambda item: item.order))


def common_root(names: Sequence[str]) -> str:
    """The directory most absolute paths share, with its slash; empty when it would save nothing."""
    absolute = [name for name in names if name.startswith("/")]
    if len(absolute) < 2 or len(absolute) * 10 < len(names) * 7:
        return ""
    shared: list[str] = []
    for parts in zip(*(name.split("/")[:-1] for name in absolute), strict=False):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return "/".join(shared) + "/" if len(shared) > 2 else ""


def spoken(items: Sequence[Item]) -> str:
    """A conversation in order: a line for each heading and run of one speaker, statements joined by semicolons."""
    lines: list[str] = []
    heading, speaker = "", ""
    for item in sorted(items, key=lambda item: item.order):
        if item.group != heading:
            heading, speaker = item.group, ""
            lines.append(f"[{heading}]")
        if item.label == speaker and lines and not lines[-1].startswith("["):
            lines[-1] += f"; {item.text}"
        else:
            speaker = item.label
            lines.append(f"{speaker}: {item.text}" if speaker else item.text)
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
