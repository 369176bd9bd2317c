"""Names of the two tools that search a session and read from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from plimsoll.errors import SettingError
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.policy.validation import short_repr

_NAME = regex(r"[a-zA-Z0-9_-]{1,64}")
"""The tool names that every provider accepts."""


class ToolNames(NamedTuple):
    """The names of the search tool and the read tool."""

    recall: str = "recall"
    read: str = "read"


TOOL_NAMES = ToolNames()
"""The default names."""


def tool_names(wanted: object, tools: Iterable[Mapping[str, Any]]) -> ToolNames:
    """The names for `recall_tools`: a mapping of `recall` and `read` to names, or the first default that no other tool uses.

    Raises SettingError for a name that is taken or invalid, and for anything that is not such a mapping.
    """
    taken = set(_names(tools))
    if not isinstance(wanted, Mapping):
        return ToolNames(*(next(_free(name, taken)) for name in TOOL_NAMES))
    for kind, name in wanted.items():
        if kind not in ToolNames._fields:
            raise SettingError("recall_tools", f"only recall and read can be named, not {short_repr(kind)}")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise SettingError(
                "recall_tools", f"a tool's name is 1 to 64 of a-z, A-Z, 0-9, _ and -, not {short_repr(name)}"
            )
        if name in taken:
            raise SettingError("recall_tools", f"another tool has the name {name!r}")
    names = TOOL_NAMES._replace(**wanted)
    if names.recall == names.read or names.recall in taken or names.read in taken:
        raise SettingError(
            "recall_tools", f"the two tools need different names, not {names.recall!r} and {names.read!r}"
        )
    return names


def _free(name: str, taken: set[str]) -> Iterator[str]:
    candidates = (name, f"{name}_history", *(f"{name}_history_{number}" for number in range(2, len(taken) + 3)))
    return (candidate for candidate in candidates if candidate not in taken)


def _names(tools: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The names of tools in the providers' definitions."""
    for tool in tools:
        for holder in (tool, tool.get("function"), tool.get("custom"), tool.get("toolSpec")):
            name = holder.get("name") if isinstance(holder, Mapping) else None
            if isinstance(name, str):
                yield name
