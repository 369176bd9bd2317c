"""Paths, leaves and cycles in trees of lines. Iterative and linear for any links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

SEGMENT_NODES_MAX = 10_000
"""Most lines that a compaction may preserve. A longer path means broken links."""


def walk(leaf: str | None, parent_of: Mapping[str, str | None]) -> tuple[list[str], str | None]:
    """The path from the root to `leaf`, and the parent where it broke off: a cycle or a missing node."""
    path: list[str] = []
    seen: set[str] = set()
    current = leaf
    while current is not None and current in parent_of and current not in seen:
        seen.add(current)
        path.append(current)
        current = parent_of[current]
    path.reverse()
    return path, current


def segment(head: str, tail: str | None, parent_of: Mapping[str, str | None]) -> list[str]:
    """The path from `head` down to `tail`; empty if `head` is not within SEGMENT_NODES_MAX above `tail`."""
    path: list[str] = []
    current = tail
    while current is not None and current in parent_of and len(path) < SEGMENT_NODES_MAX:
        path.append(current)
        if current == head:
            path.reverse()
            return path
        current = parent_of[current]
    return []


def cycles(parent_of: Mapping[str, str | None]) -> list[str]:
    """One node of each cycle."""
    state: dict[str, int] = {}
    found: list[str] = []
    for start in parent_of:
        trail: list[str] = []
        current: str | None = start
        while current is not None and current in parent_of and current not in state:
            state[current] = 1
            trail.append(current)
            current = parent_of[current]
        if current is not None and state.get(current) == 1:
            found.append(current)
        state.update(dict.fromkeys(trail, 2))
    return found


def leaves(nodes: Iterable[str], parent_of: Mapping[str, str | None], is_message: Callable[[str], bool]) -> list[str]:
    """The messages without a later message below them, in the given order. Lines without a message are skipped."""
    above: dict[str, str | None] = {}
    followed: set[str] = set()
    messages = [node for node in nodes if is_message(node)]
    for node in messages:
        ancestor = _message_above(parent_of.get(node), parent_of, is_message, above)
        if ancestor is not None and ancestor != node:
            followed.add(ancestor)
    return [node for node in messages if node not in followed]


def _message_above(
    node: str | None,
    parent_of: Mapping[str, str | None],
    is_message: Callable[[str], bool],
    above: dict[str, str | None],
) -> str | None:
    """The nearest message from `node` upwards. `above` caches the result for every line passed."""
    trail: list[str] = []
    while node is not None and node in parent_of and node not in above and not is_message(node):
        above[node] = None  # a cycle of lines without messages
        trail.append(node)
        node = parent_of[node]
    answer = above[node] if node is not None and node in above else node
    if answer is not None and answer not in parent_of:
        answer = None
    above.update(dict.fromkeys(trail, answer))
    return answer
