"""Sessions from other tools' files, and back: nothing said is lost, and what that tool would send next is the first view."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from typing import Any

from plimsoll.compaction.piece import Origin
from plimsoll.errors import SessionExists
from plimsoll.formats.format import Converted
from plimsoll.formats.registry import decode_all, format_named
from plimsoll.gauge import gauge_for
from plimsoll.limits import TIME_MS_MAX
from plimsoll.message import Wire
from plimsoll.opening import is_taken, store_for
from plimsoll.opening import open as open_session
from plimsoll.payloads import Adopted
from plimsoll.policy import policy_of
from plimsoll.session import Session
from plimsoll.store.memory import MemoryStore
from plimsoll.store.open import StoreSpec, archive_oldest
from plimsoll.tokens.registry import look_up
from plimsoll.transcripts import Conversation, Exported, Transcript, load_file
from plimsoll.transcripts.values import MADE, SUMMARY, ToolName, Viewed
from plimsoll.transcripts.writing import moment

TOOLS: tuple[ToolName, ...] = ("claude-code", "codex", "pi")
"""Tools whose session files are read and written."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def import_file(
    source: str | PathLike[str] | bytes, *, name: str | None = None, store: StoreSpec = None, **options: Any
) -> Session:
    """A new session with everything a file holds: of Claude Code, Codex or pi, or plain messages as JSON or JSON lines.

    The first view is what that tool would send next, compactions of its own included. Tools, model and system text that the
    file names are remembered; `options` are those of `plimsoll.open` and come before them. Raises FormatError, LimitExceeded,
    SessionExists, StoreError; then there is no new session.
    """
    found = load_file(source)
    chosen = _name_for(found, source) if name is None else name
    place = store_for(store, options.get("durability") or "fsync")
    if is_taken(chosen, place):
        raise SessionExists(chosen)
    given = {key: value for key, value in options.items() if value is not None}
    told = _large_enough(found, {"format": found.format, **_told(found), **given})
    told = {"project": False, **told}  # it was said elsewhere
    draft = MemoryStore()
    with open_session(chosen, store=draft, **told) as session:
        _fill(session, found)
    with draft.open(chosen, writable=False) as log:
        place.create_from(chosen, log.lines(), map(log.get_blob, log.blobs()))
    if given.get("max_sessions") is not None:
        archive_oldest(place, sessions_max=given["max_sessions"])
    return open_session(chosen, store=place, **told)


def _told(found: Transcript | Conversation) -> dict[str, Any]:
    """What a file says of how its conversation is to be opened. A model nobody knows would only shrink the window."""
    model = found.meta.model if isinstance(found, Transcript) else found.model
    told: dict[str, Any] = {"model": model if model and look_up(model).match != "unknown" else None}
    if isinstance(found, Conversation):
        told |= {"tools": list(found.tools) or None, "system": found.system}
    else:
        told |= {"title": found.meta.title}
    return {key: value for key, value in told.items() if value is not None}


def _large_enough(found: Transcript | Conversation, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with a budget that holds the tool's view: it was sent, so it fits a window that only the tool knows."""
    if isinstance(found, Conversation) or options.get("max_tokens") is not None:
        return dict(options)
    policy, model = options.get("policy") or "ladder", options.get("model")
    gauge = gauge_for(
        format_named(found.format),
        model=model,
        tools=options.get("tools"),
        policy=policy_of(policy, "ladder"),
        counter=options.get("counter"),
    )
    parts = [part.wire for viewed in found.viewed for part in _shown(found, viewed)]
    _, messages = decode_all(parts, found.format)
    needed = gauge.messages.messages(messages) + gauge.budget.tools_tokens
    return dict(options) if needed <= gauge.budget.tokens else {**options, "max_tokens": needed}


def _name_for(found: Transcript | Conversation, source: str | PathLike[str] | bytes) -> str:
    """A name from the session's own id, else from the file's."""
    known = found.meta.session_id if isinstance(found, Transcript) else None
    stem = known or ("imported" if isinstance(source, bytes) else re.split(r"[/\\]", str(source))[-1])
    return (_UNSAFE.sub("-", stem.removesuffix(".jsonl").removesuffix(".json")).strip(".-") or "imported")[:64]


def _fill(session: Session, found: Transcript | Conversation) -> None:
    if isinstance(found, Conversation):
        session.extend(found.messages)
        return
    session.extend([said.wire for said in found.messages], times_ms=_times_ms(found))
    raw = b"\n".join(entry.raw for entry in found.entries) + (b"\n" if found.ends_with_newline else b"")
    note = {"what": "source", "tool": found.tool, "blob": session.put_blob(raw), "messages": len(found.messages)}
    newest = next((compaction.summary for compaction in reversed(found.compactions) if compaction.summary), None)
    view = [part for viewed in found.viewed for part in _shown(found, viewed)]
    session.adopt(view, summary=newest, note=note, reader="pi" if found.tool == "pi" else None)


def _times_ms(found: Transcript) -> list[int | None]:
    """When each message was said, by its first line; one without a time has that of the message before it."""
    times: list[int | None] = []
    for said in found.messages:
        value = found.entries[said.lines[0]].value if said.lines else None
        at = moment((value or {}).get("timestamp"))
        at_ms = -1 if at is None else int(at.timestamp() * 1000)
        times.append(at_ms if 0 <= at_ms <= TIME_MS_MAX else times[-1] if times else None)
    return times


def _shown(found: Transcript, viewed: Viewed) -> list[Adopted]:
    """A message of the tool's view as parts, one for each message of the session that speaks in it.

    So the user's words stay a request where the tool sends them in one message with results, or with a summary.
    """
    content, origins = viewed.wire.get("content"), list(dict.fromkeys(viewed.origins))
    if len(origins) < 2 or not isinstance(content, list):
        return [_part(found, viewed.wire, (*origins, *viewed.messages[-1:], MADE)[0])]
    blocks = {origin: [b for b, o in zip(content, viewed.origins, strict=True) if o == origin] for origin in origins}
    if _results_first([block for origin in origins for block in blocks[origin]]) != content:
        return [_part(found, viewed.wire, max(origins))]
    parts = [_part(found, {**viewed.wire, "content": blocks[origin]}, origin) for origin in origins]
    return [part if number == 0 else replace(part, joined=True) for number, part in enumerate(parts)]


def _results_first(blocks: list[Wire]) -> list[Wire]:
    """Blocks as they go out when parts are joined."""
    return sorted(blocks, key=lambda block: block.get("type") != "tool_result")


def _part(found: Transcript, wire: Wire, origin: int) -> Adopted:
    if origin < 0:
        return Adopted(wire=wire, origin="summary" if origin == SUMMARY else "made")
    kind: Origin = "summary" if found.messages[origin].kind == "summary" else "history"
    return Adopted(wire=wire, position=origin, origin=kind)


def export(session: Session, *, to: str, at: str | None = None) -> Exported | Converted:
    """The session as a file of Claude Code, Codex or pi, or as messages in another format: `Session.export` without a path."""
    return session.export(to=to, at=at)
