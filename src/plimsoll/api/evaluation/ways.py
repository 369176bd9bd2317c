"""The ways of compacting that an evaluation compares, each as a function of a conversation and a budget."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from plimsoll.api.fit import count_tokens
from plimsoll.api.shrink import cut
from plimsoll.api.window import window
from plimsoll.errors import CannotFit, SettingError, on_failure
from plimsoll.formats.format import SystemText
from plimsoll.formats.registry import decode_all, format_named
from plimsoll.formats.wire import json_in
from plimsoll.light.dataclass import dataclass, field, replace
from plimsoll.limits import TRANSCRIPT_SIZE_BYTES_MAX
from plimsoll.message import FormatName, Message, ToolResult, text_message
from plimsoll.policy.policy import PolicyChoice
from plimsoll.policy.validation import short_repr
from plimsoll.session.open import open as open_session
from plimsoll.session.session import Session
from plimsoll.tokens.counter import counter_for, message_counter_for

COMMAND_TIME_MAX_S: Final = 600.0
"""A command that compacts one conversation is stopped after this time."""

_ALONE: Final = ("ours", "recency", "clear-tool-results")
_WITH_TEXT: Final = ("summary", "command")

CLEARED: Final = "[cleared]"
"""What stands for a cleared tool result."""

Made: TypeAlias = "Sequence[Mapping[str, Any]] | str"
Way: TypeAlias = Callable[[Sequence[Mapping[str, Any]], int], Made]
"""Takes the messages and the budget in tokens; returns messages in the same format, or text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The conversation around the messages, and how they are counted."""

    format: FormatName
    model: str
    system: SystemText = None

    @property
    def system_tokens(self) -> int:
        """Tokens of the separate system text."""
        text = self.system if isinstance(self.system, str) else json.dumps(self.system or "")
        return counter_for(self.model).upper(text) if self.system else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """What a way made, and a search of the rest, where it has one."""

    messages: Sequence[Message] = field(repr=False)
    tokens: int
    recall: Callable[[str], Sequence[str]] | None = None
    session: Session | None = None
    error: str | None = None

    def close(self) -> None:
        """Close the session behind it."""
        if self.session is not None:
            self.session.close()


def compacted_by(
    way: str | Way, messages: Sequence[Mapping[str, Any]], budget: int, setting: Setting, policy: PolicyChoice
) -> Compacted:
    """Compact the messages that way. Raises whatever the way raises."""
    if way == "ours":
        return _ours(messages, budget, setting, policy)
    made = _function(way, setting)(messages, budget)
    decoded = [text_message("user", made)] if isinstance(made, str) else decode_all(list(made), setting.format)[1]
    return Compacted(messages=decoded, tokens=_tokens(decoded, setting))


def _tokens(messages: Sequence[Message], setting: Setting) -> int:
    return message_counter_for(setting.model).upper.messages(messages) + setting.system_tokens


def way_name(way: str | Way) -> str:
    """The way's name in tables: of a file or a command, its last part."""
    if not isinstance(way, str):
        return getattr(way, "__name__", type(way).__name__)
    kind, _, rest = way.partition(":")
    return f"{kind}:{Path(rest.split(' ')[0]).name}" if rest else kind


def checked_ways(against: object) -> list[str | Way]:
    """The ways to measure, `ours` first, each once. Raises SettingError for what is neither a function nor a known name."""
    if not isinstance(against, list | tuple):
        raise SettingError("against", f"must be a list of ways, not {short_repr(against)}")
    return list(dict.fromkeys(["ours", *map(_checked, against)]))


def _checked(way: object) -> str | Way:
    if callable(way):
        return cast("Way", way)
    kind, colon, rest = way.partition(":") if isinstance(way, str) else ("", "", "")
    if isinstance(way, str) and (kind in _WITH_TEXT if rest.strip() else kind in _ALONE and not colon):
        return way
    names = ", ".join([*_ALONE, "summary:FILE", "command:PROGRAM"])
    raise SettingError("against", f"must be {names} or a function, not {short_repr(way)}")


def _function(way: str | Way, setting: Setting) -> Way:
    if not isinstance(way, str):
        return way
    kind, _, rest = way.partition(":")
    match kind:
        case "recency":
            return partial(_recency, setting)
        case "clear-tool-results":
            return partial(_cleared, setting)
        case "summary":
            return partial(_with_summary, setting, rest)
        case _:
            return partial(_command, rest)


def _ours(messages: Sequence[Mapping[str, Any]], budget: int, setting: Setting, policy: PolicyChoice) -> Compacted:
    """A session with that budget: its view, and its search of the rest."""
    session = open_session(
        store="memory:",
        max_tokens=budget,
        model=setting.model,
        format=setting.format,
        policy=policy,
        system=setting.system,
    )
    with on_failure(session.close):
        session.extend(messages)
        view = decode_all(list(session.view()), setting.format)[1]
    return Compacted(
        messages=view,
        tokens=_tokens(view, setting),
        recall=lambda query: [hit.text for hit in session.recall(query)],
        session=session,
    )


def _recency(setting: Setting, messages: Sequence[Mapping[str, Any]], budget: int) -> Sequence[Mapping[str, Any]]:
    """System text and the newest messages that fit."""
    return window(
        messages,
        max_tokens=budget,
        model=setting.model,
        format=setting.format,
        system=setting.system,
        policy="fill",
    ).messages


def _cleared(setting: Setting, messages: Sequence[Mapping[str, Any]], budget: int) -> Sequence[Mapping[str, Any]]:
    """Old tool results say only that they were cleared, all but the newest three; then recency."""
    found, decoded = decode_all(list(messages), setting.format)
    old = [index for index, message in enumerate(decoded) if message.results][:-3]
    for index in old:
        parts = tuple(
            replace(part, content=CLEARED, media=()) if isinstance(part, ToolResult) else part
            for part in decoded[index].parts
        )
        decoded[index] = decoded[index].with_parts(parts)
    return _recency(setting, [found.encode(message) for message in decoded], budget)


def _with_summary(
    setting: Setting, file: str, messages: Sequence[Mapping[str, Any]], budget: int
) -> Sequence[Mapping[str, Any]]:
    """A given summary as the user's message after the system text, and the newest messages that fit beside it."""
    text = Path(file).read_bytes()[:TRANSCRIPT_SIZE_BYTES_MAX].decode("utf-8", "replace")
    summary = cut(text, max_tokens=max(1, budget * 9 // 10), model=setting.model).text
    note = format_named(setting.format).encode(text_message("user", summary))
    room = budget - count_tokens([note], model=setting.model, format=setting.format)
    try:
        tail = list(_recency(setting, messages, max(1, room)))
    except CannotFit:  # the summary leaves no room: it stands alone
        return [note]
    heads = sum(message.role == "system" for message in decode_all(tail, setting.format)[1])
    return [*tail[:heads], note, *tail[heads:]]


def _command(command: str, messages: Sequence[Mapping[str, Any]], budget: int) -> Made:
    """What `PROGRAM TOKENS` prints for the messages on its standard input: a JSON array of messages, or text."""
    ran = subprocess.run(  # noqa: S603 - the user's own command
        [*shlex.split(command), str(budget)],
        input=json.dumps(list(messages)).encode(),
        capture_output=True,
        timeout=COMMAND_TIME_MAX_S,
        check=True,
    )
    text = ran.stdout.decode("utf-8", "replace")
    if text.lstrip().startswith("["):
        made = json_in(text)
        if isinstance(made, list) and all(isinstance(item, dict) for item in made):
            return made
    return text
