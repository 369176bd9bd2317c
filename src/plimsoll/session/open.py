"""Open sessions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime
from secrets import token_hex
from typing import Any, Literal, TypeVar

from plimsoll.brief import pluralize
from plimsoll.compaction.drive import AsyncSummarizer, checked
from plimsoll.compaction.meter import checked_tools, meter_for
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
from plimsoll.limits import SESSION_TITLE_CHARS_MAX
from plimsoll.message import FormatName
from plimsoll.policy.policy import Policy, PolicyChoice, policy_named, policy_of
from plimsoll.protocols import Durability, Record, SessionLog, Store
from plimsoll.records.arrival import Knowledge
from plimsoll.records.checks import record_problem
from plimsoll.records.replay import newest_records
from plimsoll.session.catalog import found, store_for
from plimsoll.session.concurrency import pauses_s
from plimsoll.session.environment import Project, keep, surroundings
from plimsoll.session.recorder import SessionRecorder
from plimsoll.session.session import Session
from plimsoll.session.settings import Kept
from plimsoll.store.open import StoreSpec, archive_oldest, open_or_create
from plimsoll.tokens.custom import CounterChoice, counter_name
from plimsoll.validation import boolean, integer, short_repr

Result = TypeVar("Result")


def open(  # noqa: PLR0913 - the options of the contract
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
    create: bool = True,
    read_only: bool = False,
    wait_s: float = 0,
) -> Session:
    """The session of that name, made if there is none; without a name a new one, named by the time and some chance.

    Options of a new session are remembered, and hold where later openings give none. docs/library.md says more of each.

    Args:
        name: 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-'.
        store: None (the user's data directory, or $PLIMSOLL_HOME), "project:" (the current project's own place in it;
            "project:/path" another's), a directory, "sqlite:///file.db", "memory:" (this session's alone; "memory:label" is
            shared in this process), or a Store.
        model: whose tokens and window count.
        max_tokens: the budget for messages and tools; None: the model's window less its reply.
        policy: "ladder" where none is given. A mapping replaces some fields of the policy that holds.
        tools: tool definitions that are sent with every view. They count.
        summarizer: as in `fit`; a coroutine function is awaited by the awaited methods.
        format: the messages' format; None: the first message says it.
        recall_tools: whether the model is given `session.tools()` with `tools`; a mapping gives "recall" and "read" other names.
        system: Anthropic's system text, which is sent apart.
        project: a folder, or True for the current one, to record in the log what it and the computer are. By default nothing is.
        user_id: recorded, for `context()`.
        preferences: recorded, for `context()`.
        configuration: recorded, for `context()`.
        default_filter: bounds of `messages()` where it is called without.
        title: what `sessions()` shows.
        max_sessions: each new session beyond this number archives the one that was changed longest ago.
        durability: what an append survives: "fsync" a loss of power, "os" the death of the process.
        counter: as in `fit`. One of the caller's own is not remembered: CounterWarning says where another is given.
        stats: False: compactions are not counted.
        storage: what is held in memory, and whether records are compressed.
        agent_id: recorded, for `sessions(agent_id=...)`.
        create: False: only a session that exists is opened.
        read_only: that too, and without the write lock, so that another process may be writing it.
        wait_s: how long to wait at most for a session that is busy.

    Raises: UnsafeName, SessionBusy, SessionNotFound, NewerFormat, StoreUnusable, StoreFull, SettingError.

    """
    given = _given(
        model, max_tokens, policy, tools, format, recall_tools, system, counter, default_filter, stats, storage
    )
    asked, pauses, most = checked(summarizer), pauses_s(wait_s), _most(max_sessions)
    context = surroundings(project, user_id, agent_id, preferences, configuration)
    about: dict[str, Any] = {"options": _remembered(given), "context": context, **_titled(title)}
    place, mode = store_for(store, durability), _mode(name, create=create, read_only=read_only)
    log, is_new = _when_free(lambda: _opened(place, _new_name() if name is None else name, about, mode), pauses)
    recorder = recorder_of(log, place, given)
    with on_failure(recorder.close):
        if is_new and most is not None:
            archive_oldest(place, sessions_max=most)
        elif log.writable and not is_new:
            keep(recorder, context, project, about.get("title"))
    return Session(recorder, summarizer=asked)


def _given(*options: Any) -> dict[str, Any]:
    """The options that were given, in the order of their defaults. Raises SettingError for those that cannot be."""
    given = {key: value for key, value in zip(_DEFAULTS, options, strict=True) if value is not None}
    if "default_filter" in given:
        given["default_filter"] = _filter_data(given["default_filter"])
    if "storage" in given:
        given["storage"] = asdict(storage_of(given["storage"]))
    _meter({**_DEFAULTS, **given})
    return given


def _most(max_sessions: int | None) -> int | None:
    return None if max_sessions is None else integer("max_sessions", max_sessions, least=1)


Mode = Literal["create", "write", "read"]
"""Open for writing and make what is not there; open for writing what is there; or open that for reading."""


def _mode(name: str | None, *, create: bool, read_only: bool) -> Mode:
    mode: Mode = "read" if boolean("read_only", read_only) else "create" if boolean("create", create) else "write"
    if name is None and mode != "create":
        raise SettingError("name", "a session that exists has one")
    return mode


def _when_free(attempt: Callable[[], Result], pauses: Iterator[float]) -> Result:
    """What the attempt gives, once nobody else has the session. Raises SessionBusy when there are no more pauses."""
    while True:
        try:
            return attempt()
        except SessionBusy:
            pause_s = next(pauses, None)
            if pause_s is None:
                raise
            time.sleep(pause_s)


def _remembered(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options as the session record keeps them: a policy with all its fields, of a caller's own counter only the name."""
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
    """The session's log, and whether it was made for this. One that was archived comes back."""
    if mode != "create":
        return found(place, name, writable=mode == "write"), False
    with suppress(SessionNotFound):
        return place.open(name), False
    with suppress(SessionNotFound, SessionExists):
        place.restore(name)
    log = open_or_create(place, name, about)
    return log, log.length == 1


def recorder_of(log: SessionLog, place: Store, given: Mapping[str, Any]) -> SessionRecorder:
    """The session of a log, with the options it remembers but for those that are given. Closes the log where that fails."""
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
        _tell_damage(log)
        undo.pop_all()
    return recorder


def _chosen(log: SessionLog, remembered: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that hold: the defaults, what the session remembers, and what is given now."""
    known, now = remembered["counter"], given.get("counter")
    if isinstance(known, Mapping) and (now is None or _counter_data(now) != known):
        opened_with = "the model's own counter" if now is None else str(_counter_data(now))
        told = CounterWarning(log.name, counted_by=str(known.get("own")), opened_with=opened_with)
        warn(told)
        known = None
    chosen = {**remembered, "counter": known, **given}
    if isinstance(chosen["policy"], Mapping):
        default = remembered["policy"] if "policy" in given else Policy()
        chosen["policy"] = policy_of(chosen["policy"], _policy_in(default))
    return chosen


def _policy_in(remembered: Any) -> Policy:
    """The policy of a session record, which says every field; those it does not say are those of a policy without a name."""
    return Policy.from_dict(remembered) if isinstance(remembered, Mapping) else policy_named(remembered)


def _tell_damage(log: SessionLog) -> None:
    """Damage is in `session.damage` as data; nobody may overlook it. What a crash left unfinished is not worth a warning."""
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
    """What is sent beside the messages: it says which format they are in until one of them does."""
    tools = checked_tools(options["tools"])
    return RequestContext(model=options["model"], system=options["system"], tools=tools)


def _meter(options: Mapping[str, Any]) -> Any:
    wanted, own = options["recall_tools"], checked_tools(options["tools"]) or ()
    recall = isinstance(wanted, Mapping) or boolean("recall_tools", wanted)
    names = tool_names(wanted, own)
    boolean("stats", options["stats"])
    tools = options["tools"]
    if recall:
        from plimsoll.recall.tools import definitions  # noqa: PLC0415 - only where a model has them

        tools = [*own, *definitions(names=names)]
    meter = meter_for(
        format_named(detect((), _beside(options)) if options["format"] is None else options["format"]),
        model=options["model"],
        max_tokens=options["max_tokens"],
        tools=tools,
        policy=policy_of(options["policy"], "ladder"),
        counter=options["counter"],
    )
    return replace(meter, recall=recall, tool_names=names, system=options["system"])


def _remembered_options(log: SessionLog, newest: Iterable[Record]) -> dict[str, Any]:
    """What the session record says, with the format that a message has told since."""
    first = next(iter(log.read()), None)
    if first is None or first.seq != 0:
        raise SessionDamaged(
            log.name, detail="its first record, which holds its options, cannot be read; a repaired copy can"
        )
    options = dict(first.data.get("options", {}))
    if options.get("format") is None:
        options["format"] = _told_format(newest)
    return {key: value for key, value in options.items() if value is not None}


def _told_format(newest: Iterable[Record]) -> FormatName | None:
    """The format by the newest record that knows it: the note of when it was told, or the state of a compaction since."""
    for record in newest:
        if record.kind == "note" and record.data.get("what") == "format":
            return format_named(record.data["format"]).name
        if record.kind in ("compaction", "rollback"):
            told = record.data["state"]["format"]
            return None if told is None else format_named(told).name
    return None
