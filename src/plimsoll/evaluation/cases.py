"""The conversations to measure: read, cut, and asked about."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from plimsoll.api.inspect import Inspectable, load
from plimsoll.dataclass import dataclass
from plimsoll.errors import PlimsollError
from plimsoll.evaluation.extract import probes_of
from plimsoll.evaluation.values import AskedConversation, Probe
from plimsoll.evaluation.ways import Setting
from plimsoll.formats.registry import decode_all
from plimsoll.message import Message
from plimsoll.tokens.counter import message_counter_for
from plimsoll.tokens.registry import DEFAULT_MODEL
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.values import Conversation, Transcript

Source: TypeAlias = Inspectable
"""As in `inspect`, or a folder."""

_MESSAGES_MIN: Final = 4
"""Fewer before the cut are not worth compacting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How a conversation is cut and how large its view may be; see `evaluate`."""

    share: float
    cut: float
    model: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A conversation, its probes, and what follows the cut."""

    asked: AskedConversation
    wires: Sequence[Mapping[str, Any]] = field(repr=False)
    """Before the cut."""
    later: Sequence[Message] = field(repr=False)
    setting: Setting
    budget_tokens: int


def cases_of(sources: Source | Sequence[Source], sizes: Sizes, skipped: dict[str, str]) -> Iterator[Case]:
    """The cases of files, folders and loaded conversations; what cannot be measured goes into `skipped`, with the reason."""
    for name, loaded in _conversations(sources, skipped):
        case = _case(name, loaded, sizes)
        if isinstance(case, str):
            skipped[name] = case
        else:
            yield case


def _conversations(
    sources: Source | Sequence[Source], skipped: dict[str, str]
) -> Iterator[tuple[str, Transcript | Conversation]]:
    for number, source in enumerate(_each(sources)):
        if isinstance(source, str | PathLike) and os.path.isdir(source):  # noqa: PTH112 - of odd paths it says no
            yield from _in_folder(Path(source), skipped)
        elif isinstance(source, str | PathLike):
            yield Path(source).name, load(source)
        else:
            yield f"conversation {number + 1}", load(source)


def _each(sources: Source | Sequence[Source]) -> Sequence[Source]:
    """Several sources, or a list with the one: a path, bytes, or messages, which are mappings or objects of an SDK."""
    if isinstance(sources, str | bytes | PathLike | Transcript | Conversation) or not isinstance(sources, Sequence):
        return [cast("Source", sources)]
    is_messages = sources and not isinstance(
        sources[0], str | bytes | PathLike | Transcript | Conversation | list | tuple
    )
    return cast("Sequence[Source]", [sources] if is_messages else sources)


def _in_folder(folder: Path, skipped: dict[str, str]) -> Iterator[tuple[str, Transcript | Conversation]]:
    """The conversations below a folder, by path. Links are not followed."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or not {".json", ".jsonl"} & set(path.suffixes):
            continue
        name = str(path.relative_to(folder))
        try:
            yield name, load_file(path)
        except PlimsollError as error:
            skipped[name] = str(error)


def _case(name: str, loaded: Transcript | Conversation, sizes: Sizes) -> Case | str:
    """The conversation to measure, or why it is not."""
    wires = _wires(loaded)
    messages = decode_all(wires, loaded.format)[1]
    at = _cut_at(messages, sizes.cut)
    if at < _MESSAGES_MIN:
        return f"only {at} messages before the cut"
    setting = Setting(format=loaded.format, model=sizes.model or loaded.model or DEFAULT_MODEL, system=loaded.system)
    probes = tuple(probe for probe in probes_of(messages) if _is_asked(probe, at))
    if not probes:
        return "nothing to ask"
    talk, system = _tokens(messages[:at], setting)
    return Case(
        asked=AskedConversation(name=name, cut=at, messages=len(messages), tokens=talk + system, probes=probes),
        wires=wires[:at],
        later=messages[at:],
        setting=setting,
        budget_tokens=system + max(1, int(talk * sizes.share)),
    )


def _wires(loaded: Transcript | Conversation) -> list[Mapping[str, Any]]:
    """What was said, without the summaries that the tool wrote."""
    if isinstance(loaded, Conversation):
        return loaded.view()
    return [said.wire for said in loaded.messages if said.on_path and said.kind == "message"]


def _cut_at(messages: Sequence[Message], cut: float) -> int:
    """The position of the cut, moved on to where no tool call waits for its result."""
    waiting: set[str] = set()
    least = round(len(messages) * cut)
    for position, message in enumerate(messages):
        if position >= least and not waiting:
            return position
        waiting -= {result.call_id for result in message.results}
        waiting |= {call.id for call in message.calls}
    return len(messages)


def _is_asked(probe: Probe, cut: int) -> bool:
    return probe.position < cut and (probe.kind != "value" or probe.is_needed_next(cut))


def _tokens(messages: Sequence[Message], setting: Setting) -> tuple[int, int]:
    """Tokens beside and in the system text."""
    counting = message_counter_for(setting.model).upper
    heads = [message for message in messages if message.role == "system"]
    system = setting.system_tokens + (counting.messages(heads) if heads else 0)
    return max(0, counting.messages(messages) + setting.system_tokens - system), system
