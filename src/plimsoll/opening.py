"""Open, list and delete sessions."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any

from plimsoll.chronicle import Chronicle
from plimsoll.compaction.drive import AsyncSummarizer
from plimsoll.errors import DamageWarning, SessionDamaged, SessionExists, SessionNotFound
from plimsoll.formats.format import SystemText
from plimsoll.formats.registry import format_named
from plimsoll.gauge import gauge_for
from plimsoll.message import FormatName
from plimsoll.policy import Policy, policy_named
from plimsoll.ports import Durability, SessionInfo, SessionLog, Store
from plimsoll.session import Session
from plimsoll.settings import flag, whole
from plimsoll.store.memory import MemoryStore
from plimsoll.store.open import StoreSpec, archive_oldest, open_or_create, open_store
from plimsoll.surroundings import Project, keep, surroundings


def open(  # noqa: PLR0913 - the options of the contract
    name: str,
    *,
    store: StoreSpec = None,
    model: str | None = None,
    max_tokens: int | None = None,
    policy: str | Policy | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    summarizer: AsyncSummarizer | None = None,
    format: FormatName | None = None,
    recall_tools: bool | None = None,
    system: SystemText = None,
    project: Project = None,
    user_id: str | None = None,
    preferences: Mapping[str, Any] | None = None,
    configuration: Mapping[str, Any] | None = None,
    max_sessions: int | None = None,
    durability: Durability = "fsync",
) -> Session:
    """The session of that name, made if there is none.

    `store` is None (the user's data directory, or $PLIMSOLL_HOME), a directory, "sqlite:///file.db", "memory:" (this session's
    alone, gone with it; "memory:label" is shared in this process), or a Store.
    `recall_tools` says that the model is given `session.tools()` besides `tools`: the budget counts them, and summaries say
    that the rest can be found. `system` is system text that is sent beside every view, as Anthropic wants it: the budget counts
    it, the view does not hold it. The options of a new session are remembered; later openings use them where they give none of
    their own. The default policy is "ladder".

    `user_id`, `preferences` and `configuration` are the host's own and kept in the log with what `session.context()` says of the
    computer and of the `project` (a folder; None: the current one; False: nothing about any), again when something has changed.
    Each new session beyond `max_sessions` archives the one that was changed longest ago; opening an archived session brings it
    back. `durability="os"` trades power loss for speed: what was appended then survives the process only.
    Raises UnsafeName, SessionBusy, NewerFormat, StoreUnusable, StoreFull, SettingError.
    """
    options: dict[str, Any] = {
        "model": model,
        "max_tokens": max_tokens,
        "policy": policy,
        "tools": tools,
        "format": format,
        "recall_tools": recall_tools,
        "system": system,
    }
    given = {key: value for key, value in options.items() if value is not None}
    _gauge({**_DEFAULTS, **given})
    if max_sessions is not None:
        whole("max_sessions", max_sessions, least=1)
    here = surroundings(project=project, user_id=user_id, preferences=preferences, configuration=configuration)
    place = _place(store, durability)
    remembered = {**given, "policy": policy_named(policy or "ladder").to_dict()}
    log, is_new = _opened(place, name, {"options": remembered, "context": here})
    chronicle = _chronicle(log, place, given)
    if not is_new:
        _closing_on_failure(chronicle, lambda: keep(chronicle, here))
    elif max_sessions is not None:
        _closing_on_failure(chronicle, lambda: archive_oldest(place, sessions_max=max_sessions))
    return Session(chronicle, summarizer=summarizer)


def _opened(place: Store, name: str, about: Mapping[str, Any]) -> tuple[SessionLog, bool]:
    """The session's log, and whether it was made for this. One that was archived comes back."""
    with suppress(SessionNotFound):
        return place.open(name), False
    with suppress(SessionNotFound, SessionExists):
        place.restore(name)
    log = open_or_create(place, name, about)
    return log, log.length == 1


def _closing_on_failure(chronicle: Chronicle, work: Callable[[], object]) -> None:
    with ExitStack() as undo:
        undo.callback(chronicle.close)
        work()
        undo.pop_all()


def existing(
    name: str, *, store: StoreSpec = None, writable: bool = False, options: Mapping[str, Any] | None = None
) -> Chronicle:
    """A session that is there, and no new one. For reading, beside whoever writes it, unless it shall be `writable`.

    `options` are those of `open`, in the place of the remembered ones. Raises UnsafeName, SessionNotFound, SessionBusy,
    NewerFormat, StoreUnusable, SettingError.
    """
    place = _place(store)
    given = {key: value for key, value in (options or {}).items() if value is not None}
    return _chronicle(place.open(name, writable=writable), place, given)


def _chronicle(log: SessionLog, place: Store, given: Mapping[str, Any]) -> Chronicle:
    with ExitStack() as undo:
        undo.callback(log.close)
        chosen = {**_DEFAULTS, **remembered_options(log), **given}
        chronicle = Chronicle(log, _gauge(chosen), store=place, format_fixed=chosen["format"] is not None)
        _tell_damage(log)
        undo.pop_all()
    return chronicle


def _tell_damage(log: SessionLog) -> None:
    """Damage is in `session.damage` as data; nobody may overlook it. What a crash left unfinished is not worth a warning."""
    found = [damage for damage in log.damage if damage.kind != "torn"]
    if found:
        count = sum(max(1, damage.records) for damage in found)
        text = f"session {log.name!r}: {count} records cannot be read ({found[0].reason or found[0].kind}); see `plimsoll verify`"
        warnings.warn(text, DamageWarning, stacklevel=4)


_DEFAULTS: dict[str, Any] = {
    "model": None,
    "max_tokens": None,
    "policy": "ladder",
    "tools": None,
    "format": None,
    "recall_tools": False,
    "system": None,
}


def _gauge(options: Mapping[str, Any]) -> Any:
    policy, recall = options["policy"], flag("recall_tools", options["recall_tools"])
    tools = options["tools"]
    if recall:
        from plimsoll.recall.tools import definitions  # noqa: PLC0415 - only where a model has them

        tools = [*(tools or ()), *definitions()]
    gauge = gauge_for(
        format_named(options["format"] or "openai-chat"),
        model=options["model"],
        max_tokens=options["max_tokens"],
        tools=tools,
        policy=Policy.from_dict(policy) if isinstance(policy, Mapping) else policy,
    )
    return replace(gauge, recall=recall, system=options["system"])


def remembered_options(log: SessionLog) -> dict[str, Any]:
    """What the session record says, with the format that a message has told since."""
    first = next(iter(log.read()), None)
    if first is None or first.seq != 0:
        raise SessionDamaged(
            log.name, detail="its first record, which holds its options, cannot be read; a repaired copy can"
        )
    options = dict(first.data.get("options", {}))
    if options.get("format") is None:
        options["format"] = _told_format(log)
    return {key: value for key, value in options.items() if value is not None}


def _told_format(log: SessionLog) -> FormatName | None:
    """The format by the newest record that knows it: the note of when it was told, or the state of a compaction since."""
    for record in log.read_back():
        if record.kind == "note" and record.data.get("what") == "format":
            return format_named(record.data["format"]).name
        if record.kind in ("compaction", "rollback"):
            told = record.data["state"]["format"]
            return None if told is None else format_named(told).name
    return None


def sessions(store: StoreSpec = None, *, archived: bool = False) -> list[SessionInfo]:
    """The sessions of a store, or those that were archived; the last changed first. Raises StoreUnusable."""
    return _place(store).sessions(archived=archived)


def delete(name: str, store: StoreSpec = None) -> None:
    """Remove a session and everything in it, for good. Raises SessionNotFound, SessionBusy, UnsafeName, StoreUnusable."""
    _place(store).delete(name)


def _place(store: StoreSpec, durability: Durability = "fsync") -> Store:
    """The store that is meant. Each "memory:" is a new one, as with SQLite: nobody meets another's session by its name."""
    return MemoryStore() if store == "memory:" else open_store(store, durability=durability)
