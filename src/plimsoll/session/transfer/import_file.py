"""Import other tools' session files: all messages are kept, and the first view is what the tool would send next."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from os import PathLike
from typing import Any

from plimsoll.compaction.meter import meter_for
from plimsoll.errors import SessionExists, UnsafeName, on_failure
from plimsoll.formats.registry import format_named
from plimsoll.light.dataclass import replace
from plimsoll.light.regex import regex
from plimsoll.limits import FOREIGN_COMPACTIONS_MAX
from plimsoll.policy.policy import policy_of
from plimsoll.policy.validation import boolean, path_text
from plimsoll.protocols import Store
from plimsoll.session.adopt import Adoption, adopt
from plimsoll.session.catalog import is_taken, store_for
from plimsoll.session.open import open as open_session
from plimsoll.session.open import recorder_of
from plimsoll.session.recorder import SessionRecorder
from plimsoll.session.session import Session
from plimsoll.session.transfer.recorded_usage import (
    Recorded,
    adoption_of,
    reader_of,
    recorded,
    removed_positions,
    replayed,
    times_ms,
    view_of,
)
from plimsoll.session.transfer.source import source_note
from plimsoll.store.copying import drafted
from plimsoll.store.open import StoreSpec, archive_oldest
from plimsoll.store.paths import safe_name
from plimsoll.tokens.registry import look_up
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.discover import title_of
from plimsoll.transcripts.source import stem_of
from plimsoll.transcripts.values import Conversation, Transcript

BATCH_MESSAGES = 500
"""Messages appended in one batch."""

_UNSAFE = regex(r"[^A-Za-z0-9._-]+|\.\.+")


def import_file(
    source: str | PathLike[str] | bytes | Transcript | Conversation,
    *,
    name: str | None = None,
    store: StoreSpec = None,
    update: bool = False,
    path: str | PathLike[str] | None = None,
    **options: Any,
) -> Session:
    """Create a session from a file of Claude Code, Codex or pi, or from plain messages as JSON or JSON lines.

    The first view is what the tool would send next, including its own compactions. Tools, model and system text of the file are
    stored. If the tool's view exceeds its known budget, the budget is raised to it; the session's source note records that
    (`budget`).

    Args:
        source: the file's path or bytes, or the result of `load_file`.
        name: the session's name; None: the file's name if it is valid, else the id in the file.
        store: as in `plimsoll.open`.
        update: the session exists, and takes in the messages added to its file: see `Session.update`.
        path: the path of the file, if `source` is its content.
        options: those of `plimsoll.open`; they take precedence over the file's.

    Raises: FormatError, LimitExceeded, MissingExtra, SessionExists, StoreError; then no session was created. With `update`
    also SessionNotFound and SourceChanged; then the session is unchanged.

    """
    if boolean("update", update):
        return _updated(source, name, path, store, options)
    name, place, chosen = _created(source, name, path, store, options)
    del source  # free its memory before the session is opened
    return open_session(name, store=place, **chosen)


def _created(
    source: Any, name: str | None, path: str | PathLike[str] | None, store: StoreSpec, options: Mapping[str, Any]
) -> tuple[str, Store, dict[str, Any]]:
    """Create the session. Returns its name, its store and the options to open it with."""
    content = _loaded(source)
    name = _name_for(content, _given_path(source, path)) if name is None else name
    place = store_for(store, options.get("durability") or "fsync")
    if is_taken(name, place):
        raise SessionExists(name)
    given = {key: value for key, value in options.items() if value is not None}
    chosen, known, about = _counted(content, {"format": content.format, **_options_in(content), **given}, given)
    chosen = {"project": False, **chosen}  # imported conversations did not happen in the current project
    with drafted(place, name) as draft:
        open_session(name, store=draft, **chosen).close()
        counter = {"counter": chosen["counter"]} if "counter" in chosen else {}
        with closing(recorder_of(draft.open(name), draft, counter)) as recorder:
            _fill(recorder, content, known, {"path": _path_of(source, path), **about})
    if given.get("max_sessions") is not None:
        archive_oldest(place, sessions_max=given["max_sessions"])
    return name, place, chosen


def _loaded(source: Any) -> Transcript | Conversation:
    return source if isinstance(source, Transcript | Conversation) else load_file(source)


def _updated(
    source: Any, name: str | None, path: str | PathLike[str] | None, store: StoreSpec, options: Mapping[str, Any]
) -> Session:
    name = _name_for(_loaded(source), _given_path(source, path)) if name is None else name
    session = open_session(name, store=store, create=False, **{"project": False, **options})
    with on_failure(session.close):
        session.update(source.raw() if isinstance(source, Transcript) else source)
    return session


def _path_of(source: Any, path: str | PathLike[str] | None) -> str | None:
    """The absolute path of the file, with links resolved now because they may change."""
    known = _given_path(source, path)
    return None if known is None else os.path.realpath(known)


def _given_path(source: Any, path: str | PathLike[str] | None) -> str | None:
    """The path of the file as given by the caller."""
    known = path if path is not None or isinstance(source, bytes | Transcript | Conversation) else source
    return None if known is None else path_text("path", known)


def _options_in(content: Transcript | Conversation) -> dict[str, Any]:
    """The options of `open` that a file contains. Unknown models are ignored, as they would only shrink the window."""
    model = content.meta.model if isinstance(content, Transcript) else content.model
    chosen: dict[str, Any] = {
        "model": model if model and look_up(model).match != "unknown" else None,
        "title": title_of(content),
        "system": content.system,
    }
    if isinstance(content, Conversation):
        chosen["tools"] = list(content.tools) or None
    return {key: value for key, value in chosen.items() if value is not None}


def _counted(
    content: Transcript | Conversation, options: Mapping[str, Any], given: Mapping[str, Any]
) -> tuple[dict[str, Any], Recorded | None, dict[str, int | None]]:
    """The options with the tool's budget, the recorded usage with our counts, and the fields of the source note.

    The tool did send its view, so a view larger than any known budget is the budget; then the known one is noted, too.
    """
    if isinstance(content, Conversation):
        return dict(options), None, {}
    meter = meter_for(
        format_named(content.format),
        model=options.get("model"),
        max_tokens=options.get("max_tokens"),
        tools=options.get("tools"),
        policy=policy_of(options.get("policy") or "ladder", "ladder"),
        counter=options.get("counter"),
    )
    usage = recorded(content, replace(meter, system=options.get("system")))
    if options.get("max_tokens") is not None:
        return dict(options), usage, {"window": usage.window_tokens}
    known = None if given.get("model") else usage.budget_tokens
    budget = known or meter.budget.tokens + meter.budget.tools_tokens
    needed = max(usage.needed_tokens, budget)
    sized = {**options, "max_tokens": needed} if known or needed > budget else dict(options)
    return sized, usage, {"window": usage.window_tokens, "budget": budget if needed > budget else None}


def import_name(path: str | PathLike[str]) -> str:
    """The name `import_file` gives a session of this file by default. Raises what `load_file` raises."""
    file = path_text("path", path)
    return _named_for(file) or _name_for(load_file(file), file)


def _name_for(content: Transcript | Conversation, path: str | None) -> str:
    """The file's name if it is a valid session name, else one made from the id in the file or from the file's name."""
    stem = "" if path is None else stem_of(path)
    known = content.meta.session_id if isinstance(content, Transcript) else None
    made = _UNSAFE.sub("-", known or stem)[:64].strip(".-")
    return _named_for(path) or _valid(made) or _valid(f"imported-{made}"[:64].strip(".-")) or "imported"


def _named_for(path: str | PathLike[str] | None) -> str | None:
    return None if path is None else _valid(stem_of(os.fspath(path)))


def _valid(name: str) -> str | None:
    with suppress(UnsafeName):
        return safe_name(name)
    return None


def _fill(
    recorder: SessionRecorder, content: Transcript | Conversation, known: Recorded | None, about: Mapping[str, Any]
) -> None:
    """Append all messages, with the tool's compactions in their places. `about` goes into the source note."""
    if isinstance(content, Conversation):
        recorder.append(content.messages)
        return
    times, done = times_ms(content), 0
    made = replayed(content)[-FOREIGN_COMPACTIONS_MAX:]
    places = [compaction.stop for compaction in made]
    for compaction, place, following in zip(made, places, [*places, len(content.messages)][1:], strict=True):
        adoption = adoption_of(content, compaction, following)
        needed = [part.position + 1 for part in adoption.view if part.position is not None]
        until = max(place, done, *needed)  # the lines of a damaged file may be in another order
        _append(recorder, content, times, range(done, until))
        adopt(recorder, adoption)
        done = until
    _append(recorder, content, times, range(done, len(content.messages)))
    note = source_note(content.tool, recorder.log.put_blob(content.raw()), taken=len(content.messages), **about)
    newest = next((compaction.summary for compaction in reversed(content.compactions) if compaction.summary), None)
    adopt(
        recorder,
        Adoption(view=view_of(content), summary=newest, reader=reader_of(content), left=removed_positions(content)),
    )
    recorder.note(note)
    is_of_view = known is not None and known.is_of_view
    recorder.record_usage(() if known is None else known.usages, recorder.state.event if is_of_view else None)


def _append(recorder: SessionRecorder, transcript: Transcript, times: Sequence[int | None], places: range) -> None:
    """Append messages of the file in batches, to bound memory."""
    for start in range(places.start, places.stop, BATCH_MESSAGES):
        stop = min(start + BATCH_MESSAGES, places.stop)
        recorder.append((), times[start:stop], read=[one.message for one in transcript.messages[start:stop]])
