"""Opening sessions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from plimsoll.compaction.drive import AsyncSummarizer, checked
from plimsoll.compaction.meter import ContextMeter, checked_tools, meter_for
from plimsoll.compaction.tool_names import tool_names
from plimsoll.environment.layers import Filter, Storage, filter_of, storage_of
from plimsoll.errors import (
    CounterWarning,
    DamageWarning,
    SessionBusy,
    SessionDamaged,
    SessionExists,
    SessionNotFound,
    SettingError,
    on_failure,
    warn,
)
from plimsoll.formats.detect import RequestContext, detect
from plimsoll.formats.format import SystemText
from plimsoll.formats.registry import format_named
from plimsoll.formats.system_text import checked_system
from plimsoll.light.brief import pluralize
from plimsoll.light.dataclass import asdict, replace
from plimsoll.limits import SESSION_TITLE_CHARS_MAX
from plimsoll.message import FormatName
from plimsoll.policy.policy import Policy, PolicyChoice, policy_named, policy_of
from plimsoll.policy.validation import boolean, integer, short_repr
from plimsoll.protocols import Durability, MemoryStore, Record, SessionLog, Store
from plimsoll.records.arrival import Knowledge
from plimsoll.records.checks import record_problem
from plimsoll.records.compactions import newest_records, session_record
from plimsoll.records.searchable_log import SearchableLog
from plimsoll.session.catalog import found, store_for
from plimsoll.session.concurrency import pauses_s
from plimsoll.session.environment import Project, keep, surroundings
from plimsoll.session.recorder import SessionRecorder
from plimsoll.session.remembering import remember
from plimsoll.session.session import Session
from plimsoll.session.settings import Kept
from plimsoll.store.open import StoreSpec, archive_oldest, open_or_create
from plimsoll.tokens.counter import CounterChoice, counter_name

if TYPE_CHECKING:
    from plimsoll.memory.opening import MemorySpec

Result = TypeVar("Result")


def open(  # noqa: PLR0913 - the options of a session
    name: str | None = None,
    *,
    store: StoreSpec = None,
    model: str | None = None,
    max_tokens: int | None = None,
    policy: PolicyChoice | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    summarizer: AsyncSummarizer | None = None,
    format: FormatName | None = None,
    recall_tools: bool | Mapping[str, str] | None = None,
    system: SystemText = None,
    project: Project = None,
    user_id: str | None = None,
    preferences: Mapping[str, Any] | None = None,
    configuration: Mapping[str, Any] | None = None,
    default_filter: Filter | Mapping[str, Any] | None = None,
    title: str | None = None,
    max_sessions: int | None = None,
    durability: Durability = "fsync",
    counter: CounterChoice = None,
    stats: bool | None = None,
    storage: Storage | Mapping[str, Any] | None = None,
    agent_id: str | None = None,
    memory: MemorySpec = None,
    create: bool = True,
    read_only: bool = False,
    wait_s: float = 0,
    background: bool = False,
) -> Session:
    """Open a session, creating it if missing; without a name one is made up. Options of a new session are recorded for later calls.

    Options:
        name: 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-'.
        store: None (the user's data directory), "project:", a directory, "sqlite:///file.db", "memory:": see `open_store`.
        model, max_tokens, tools, format, system, counter, summarizer: as in `fit`. The async methods await a summarizer.
        policy: a name, a Policy, or a mapping of fields to replace in the current one; "ladder" by default.
        recall_tools: True if the model is given `session.tools()` with `tools`; a mapping renames "recall" and "read".
        project: a folder, or True for the current one, whose description is recorded with that of the computer; None: nothing.
        user_id, preferences, configuration, agent_id, title: recorded, for `context()` and `sessions()`.
        memory: where facts are kept that outlive sessions: True (user's data directory), else as in `open_memory`; None: nowhere.
        max_sessions, durability: more archive the one changed longest ago; appends survive a power cut ("fsync") or crash ("os").
        default_filter, stats, storage: bounds of `messages()`; False: compactions are not counted; memory limits and compression.
        background: True: the summarizer writes the next summary before it is due; no view waits for it, rules write if it is late.
        create, read_only, wait_s: False: the session must exist; True: without the write lock; how long a busy one is waited for.

    Raises: UnsafeName, SessionBusy, SessionNotFound, NewerFormat, StoreUnusable, StoreFull, SettingError.
    """
    known = (model, max_tokens, policy, tools, format, recall_tools, system, counter, default_filter, stats, storage)
    given, background = _given(*known), boolean("background", background)
    asked, pauses, most, facts = checked(summarizer), pauses_s(wait_s), _most(max_sessions), _memory(memory)
    context = surroundings(project, user_id, agent_id, preferences, configuration)
    about: dict[str, Any] = {"options": _remembered(given), "context": context, **_titled(title)}
    place, mode = store_for(store, durability), _mode(name, create=create, read_only=read_only)
    log, is_new = _when_free(lambda: _opened(place, _new_name() if name is None else name, about, mode), pauses)
    recorder = recorder_of(log, place, given)
    with on_failure(recorder.close):
        archive_oldest(place, sessions_max=most) if is_new else keep(recorder, context, project, about.get("title"))
    return Session(remember(recorder, *facts), summarizer=asked, background=background)


def _given(*options: Any) -> dict[str, Any]:
    """The given options, in the order of their defaults. Raises SettingError for invalid ones."""
    given = {key: value for key, value in zip(_DEFAULTS, options, strict=True) if value is not None}
    if "default_filter" in given:
        given["default_filter"] = _filter_data(given["default_filter"])
    if "storage" in given:
        given["storage"] = asdict(storage_of(given["storage"]))
    _meter({**_DEFAULTS, **given})
    return given


def _memory(spec: MemorySpec) -> tuple[MemoryStore | None, bool]:
    """The store of memories, and whether it is closed with the session."""
    if spec is None or spec is False:
        return None, False
    from plimsoll.memory.opening import memory_store  # noqa: PLC0415 - only needed with memories

    store = memory_store(spec)
    return store, store is not spec


def _most(max_sessions: int | None) -> int | None:
    return None if max_sessions is None else integer("max_sessions", max_sessions, least=1)


Mode = Literal["create", "write", "read"]
"""Open for writing and create if missing; open for writing; or open for reading."""


def _mode(name: str | None, *, create: bool, read_only: bool) -> Mode:
    mode: Mode = "read" if boolean("read_only", read_only) else "create" if boolean("create", create) else "write"
    if name is None and mode != "create":
        raise SettingError("name", "a session that exists has one")
    return mode


def _when_free(attempt: Callable[[], Result], pauses: Iterator[float]) -> Result:
    """Retry until the session is free. Raises SessionBusy when there are no more pauses."""
    while True:
        try:
            return attempt()
        except SessionBusy:
            pause_s = next(pauses, None)
            if pause_s is None:
                raise
            time.sleep(pause_s)


def _remembered(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options in the form of the session record: a policy with all its fields, a custom counter by name only."""
    kept = {**given, "policy": policy_of(given.get("policy", "ladder"), "ladder").to_dict()}
    if "counter" in kept:
        kept["counter"] = _counter_data(kept["counter"])
    return kept


def _counter_data(counter: Any) -> str | dict[str, str]:
    return counter if isinstance(counter, str) else {"own": counter_name(counter)}


def _new_name() -> str:
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{token_hex(4)}"


def _titled(title: object) -> dict[str, str]:
    if title is None:
        return {}
    if not isinstance(title, str):
        raise SettingError("title", f"text is needed, not {short_repr(title)}")
    return {"title": title[:SESSION_TITLE_CHARS_MAX]}


def _filter_data(value: object) -> dict[str, Any] | None:
    found = filter_of(value)
    return None if found is None else asdict(found)


def _opened(place: Store, name: str, about: Mapping[str, Any], mode: Mode) -> tuple[SessionLog, bool]:
    """The session's log, and whether it was created. An archived session is listed again."""
    if mode != "create":
        return found(place, name, writable=mode == "write"), False
    with suppress(SessionNotFound):
        return place.open(name), False
    with suppress(SessionNotFound, SessionExists):
        place.restore(name)
    log = open_or_create(place, name, about)
    return log, log.length == 1


def recorder_of(log: SessionLog, place: Store, given: Mapping[str, Any]) -> SessionRecorder:
    """The recorder of a log; `given` options override the recorded ones. Closes the log on failure."""
    with ExitStack() as undo:
        undo.callback(log.close)
        log.set_check(record_problem)
        newest = newest_records(log)
        remembered = {**_DEFAULTS, **_remembered_options(log, newest)}
        chosen = _chosen(log, remembered, given)
        knowledge = Knowledge(
            is_fixed=chosen["format"] is not None,
            is_recorded=remembered["format"] is not None,
            beside=_beside(chosen),
        )
        kept = Kept(
            store=place,
            knowledge=knowledge,
            storage=storage_of(chosen["storage"]),
            default_filter=filter_of(chosen["default_filter"]),
            stats=chosen["stats"],
            options=chosen,
            is_other_model=chosen["model"] != remembered["model"],
        )
        recorder = SessionRecorder(log, _meter(chosen), kept, newest)
        tell_damage(log)
        undo.pop_all()
    return recorder


def history_of(log: SessionLog) -> tuple[SearchableLog, ContextMeter]:
    """What a log says, to be searched, and the meter of its session. Much faster than `recorder_of`, which restores the view."""
    log.set_check(record_problem)
    newest = newest_records(log)
    meter = _meter(_chosen(log, {**_DEFAULTS, **_remembered_options(log, newest)}, {}))
    said = SearchableLog.of(log, meter.format, newest)
    return said, meter.calibrated(said.facts.calibration)


def _chosen(log: SessionLog, remembered: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The effective options: defaults, overridden by recorded and then by given ones."""
    known, now = remembered["counter"], given.get("counter")
    if isinstance(known, Mapping) and (now is None or _counter_data(now) != known):
        opened_with = "the model's own counter" if now is None else str(_counter_data(now))
        warning = CounterWarning(log.name, counted_by=str(known.get("own")), opened_with=opened_with)
        warn(warning)
        known = None
    chosen = {**remembered, "counter": known, **given}
    if isinstance(chosen["policy"], Mapping):
        default = remembered["policy"] if "policy" in given else Policy()
        chosen["policy"] = policy_of(chosen["policy"], _policy_in(default))
    return chosen


def _policy_in(remembered: Any) -> Policy:
    """The policy in a session record, which contains every field; defaults are those of `Policy`."""
    return Policy.from_dict(remembered) if isinstance(remembered, Mapping) else policy_named(remembered)


def tell_damage(log: SessionLog) -> None:
    """Warn of damage, which `session.damage` holds as data. The rest of an interrupted append needs no warning."""
    found = [damage for damage in log.damage if damage.kind != "torn"]
    if found:
        count = sum(max(1, damage.records) for damage in found)
        why = found[0].reason or found[0].kind
        text = f"session {log.name!r}: {pluralize(count, 'record')} cannot be read ({why}); see `plimsoll verify`"
        warn(DamageWarning(text))


_DEFAULTS: dict[str, Any] = {
    "model": None,
    "max_tokens": None,
    "policy": "ladder",
    "tools": None,
    "format": None,
    "recall_tools": False,
    "system": None,
    "counter": None,
    "default_filter": None,
    "stats": True,
    "storage": None,
}


def _beside(options: Mapping[str, Any]) -> RequestContext:
    """Request fields sent with the messages; they suggest the format until a message determines it."""
    tools = checked_tools(options["tools"])
    return RequestContext(model=options["model"], system=options["system"], tools=tools)


def _meter(options: Mapping[str, Any]) -> ContextMeter:
    wanted, own = options["recall_tools"], checked_tools(options["tools"]) or ()
    recall = isinstance(wanted, Mapping) or boolean("recall_tools", wanted)
    names = tool_names(wanted, own)
    boolean("stats", options["stats"])
    tools = options["tools"]
    if recall:
        from plimsoll.recall.tools import definitions  # noqa: PLC0415 - only needed with recall tools

        tools = [*own, *definitions(names=names)]
    meter = meter_for(
        format_named(detect((), _beside(options)) if options["format"] is None else options["format"]),
        model=options["model"],
        max_tokens=options["max_tokens"],
        tools=tools,
        policy=policy_of(options["policy"], "ladder"),
        counter=options["counter"],
    )
    return replace(meter, recall=recall, tool_names=names, system=checked_system(options["system"]))


def _remembered_options(log: SessionLog, newest: Iterable[Record]) -> dict[str, Any]:
    """The options in the session record, with the format if it became known later."""
    first = session_record(log)
    if first is None:
        raise SessionDamaged(
            log.name, detail="its first record, which holds its options, cannot be read; a repaired copy can"
        )
    options = dict(first.data.get("options", {}))
    if options.get("format") is None:
        options["format"] = _told_format(newest)
    return {key: value for key, value in options.items() if value is not None}


def _told_format(newest: Iterable[Record]) -> FormatName | None:
    """The format in the newest record that contains it: a format note, or the state of a compaction."""
    for record in newest:
        if record.kind == "note" and record.data.get("what") == "format":
            return format_named(record.data["format"]).name
        if record.kind in ("compaction", "rollback"):
            format_name = record.data["state"]["format"]
            return None if format_name is None else format_named(format_name).name
    return None
