"""Messages that are kept but not looked at, each as one tuple of atoms.

A full garbage collection stops every thread of the process while it visits each object that can refer to others. A decoded message
is seven such objects or more; strings, numbers and None are not, and a tuple of them leaves the collector's lists when it is first
visited. The strings are those of the message, so a tuple takes less memory than what it stands for.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any, Final, TypeAlias

from plimsoll.formats.registry import format_named
from plimsoll.message import FormatName, Message, Reasoning

Atoms: TypeAlias = tuple[Any, ...]
"""The name of the format; whether the message has reasoning; then its wire object: `dict`, keys and values, `...`.

A list is `list`, its items, `...`.
"""

_END: Final = ...


def atoms_of(message: Message, *beside: Any) -> Atoms | None:
    """The atoms of a message as it was decoded; None for one that was edited, or made without a wire object.

    Atoms to keep `beside` it come last.
    """
    if message.wire is None or message.format is None or message.edited:
        return None
    atoms: list[Any] = [message.format, has_reasoning(message)]
    _flatten(message.wire, atoms)
    return (*atoms, *beside)


def message_of(atoms: Atoms, position: int | None) -> Message:
    """The message of these atoms, decoded again. `position` is where it is in the history."""
    rest = iter(atoms)
    name: FormatName = next(rest)
    next(rest)  # whether it has reasoning
    return format_named(name).decode(_value(next(rest), rest), position or 0)


def has_reasoning(message: Message | Atoms) -> bool:
    """True if the message has a part of reasoning. Atoms are not decoded for it."""
    if isinstance(message, Message):
        return any(isinstance(part, Reasoning) for part in message.parts)
    return message[1] is True


def _flatten(value: Any, atoms: list[Any]) -> None:
    atoms.append(type(value))
    for item in chain.from_iterable(value.items()) if type(value) is dict else value:
        if type(item) is dict or type(item) is list:
            _flatten(item, atoms)
        else:
            atoms.append(item)
    atoms.append(_END)


def _value(atom: Any, rest: Iterator[Any]) -> Any:
    if atom is dict:
        return {key: _value(next(rest), rest) for key in iter(rest.__next__, _END)}
    if atom is list:
        return [_value(item, rest) for item in iter(rest.__next__, _END)]
    return atom
