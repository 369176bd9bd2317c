"""Validation of record payloads, which another program may have written or which may come from another session.

An invalid record is treated as unreadable. Messages, options and budgets are not checked here: the format, the policy and the
budget validate them on use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from plimsoll.compaction.readers import READERS
from plimsoll.errors import FormatError, PlimsollError
from plimsoll.formats.registry import FORMATS
from plimsoll.policy.budget import Level
from plimsoll.protocols import Record
from plimsoll.records.packing import action_rows, checked, unpacked
from plimsoll.records.values import POSITIONS_MAX, is_action_row
from plimsoll.tokens.calibrate import Calibrator

_LEVELS = tuple(level.name for level in Level)
_ORIGINS = ("history", "summary", "made")


def record_problem(record: Record) -> str | None:
    """The reason why a record cannot be used; None if it can, or if records of its kind are not checked."""
    check = _CHECKS.get(record.kind)
    return None if check is None or check(record, record.data) else f"invalid fields for a {record.kind} record"


def full_record_problem(record: Record) -> str | None:
    """Like `record_problem`, but also checks packed actions, which are otherwise only read on demand."""
    problem = record_problem(record)
    if problem is not None or record.kind != "compaction":
        return problem
    try:
        is_sound = _are(action_rows(unpacked(record.data)), is_action_row)
    except FormatError:
        is_sound = False
    return None if is_sound else "the actions of a compaction cannot be read"


def _session(record: Record, data: Mapping[str, Any]) -> bool:
    return record.seq > 0 or all(isinstance(data.get(name, {}), dict) for name in ("options", "context"))


def _message(record: Record, data: Mapping[str, Any]) -> bool:
    return isinstance(data.get("m"), dict) and ("shown" not in data or _items(data["shown"], record.position))


def _compaction(record: Record, data: Mapping[str, Any]) -> bool:
    try:
        data = checked(data)
    except FormatError:
        return False
    covers = data.get("covers", ())
    return (
        all(isinstance(data.get(name), str) for name in ("trigger", "stage"))
        and data.get("level") in _LEVELS
        and all(_is_count(data.get(name)) for name in ("before", "after"))
        and _is_count(data.get("reported", 0))
        and all(isinstance(data.get(name, 0), str | None) for name in ("summary", "note"))
        and isinstance(data.get("written"), str | None)
        and (covers is None or _is_run(covers, record.position))
        and (isinstance(data.get("y"), str) or _are(data.get("actions"), is_action_row))
        and _items(data.get("view"), record.position - 1)
        and _state(data.get("state"))
        and _ledger(data.get("ledger"))
        and all(_is_earlier(data.get(name, -1), record.seq) for name in ("base", "prev"))
    )


def _rollback(record: Record, data: Mapping[str, Any]) -> bool:
    return (
        _is_count(data.get("about"))
        and _are(data.get("unbound", []), _is_count)
        and all(_is_earlier(data.get(name, -1), record.seq) for name in ("base", "prev"))
        and _state(data.get("state"))
        and (data.get("usage") is None or (isinstance(data["usage"], dict) and _usage(record, data["usage"])))
    )


def _edit(record: Record, data: Mapping[str, Any]) -> bool:
    return (
        _are(data.get("left"), lambda run: _is_span(run, record.position))
        and _are(data.get("changed"), lambda pair: _is_wording(pair, record.position))
        and _are(data.get("unbound", []), _is_count)
        and all(_is_earlier(data.get(name, -1), record.seq) for name in ("base", "prev"))
    )


def _is_span(value: Any, stop: int) -> bool:
    """True for a run `[start, stop)` of positions."""
    return _counts(value, 2) and value[0] < value[1] <= stop


def _is_wording(value: object, stop: int) -> bool:
    """True for a pair of a position and a message."""
    if not isinstance(value, list) or len(value) != 2 or not _is_count(value[0]):
        return False
    return bool(value[0] < stop) and isinstance(value[1], dict)


def _is_branch(value: object) -> bool:
    """True for a serialised `Branch`."""
    if value is None:
        return True
    if not isinstance(value, dict):
        return False
    return (
        _are(value.get("left"), lambda run: _is_span(run, POSITIONS_MAX))
        and _are(value.get("changed"), lambda pair: _counts(pair, 2))
        and _are(value.get("unbound", []), _is_count)
    )


def _pin(_record: Record, data: Mapping[str, Any]) -> bool:
    return _is_count(data.get("position")) and isinstance(data.get("pinned"), bool)


def _usage(record: Record, data: Mapping[str, Any]) -> bool:
    return (
        all(_is_count(data.get(name)) for name in ("prompt", "completion", "cached"))
        and all(_is_count(data.get(name, 0)) for name in ("counted", "written", "position"))
        and isinstance(data.get("model", ""), str)
        and _is_earlier(data.get("event"), record.seq)
    )


def _note(_record: Record, data: Mapping[str, Any]) -> bool:
    match data.get("what"):
        case "format":
            return _is_format(data.get("format"))
        case "context":
            return isinstance(data.get("context"), dict)
        case "title":
            return isinstance(data.get("title"), str)
        case "source":
            return isinstance(data.get("blob"), str) and _source(data)
        case _:
            return True


def _source(data: Mapping[str, Any]) -> bool:
    return (
        _is_count(data.get("messages"))
        and all(data.get(name) is None or _is_count(data[name]) for name in ("taken", "base", "budget", "window"))
        and isinstance(data.get("path"), str | None)
        and _are(data.get("more", []), lambda name: isinstance(name, str))
        and _are(data.get("runs", []), lambda run: _counts(run, 3))
    )


_CHECKS: dict[str, Callable[[Record, Mapping[str, Any]], bool]] = {
    "session": _session,
    "message": _message,
    "compaction": _compaction,
    "rollback": _rollback,
    "edit": _edit,
    "pin": _pin,
    "usage": _usage,
    "note": _note,
}


def _items(value: object, last: int) -> bool:
    """True for a view of messages up to position `last`."""
    return _are(value, lambda item: _is_run(item, last) if isinstance(item, list) else _is_item(item, last))


def _is_item(item: object, last: int) -> bool:
    if not isinstance(item, dict) or item.get("o") not in _ORIGINS:
        return False
    shows = isinstance(item.get("m"), dict) or ("m" not in item and _is_change(item.get("c")))
    return shows and ("p" not in item or (_is_count(item["p"]) and item["p"] <= last))


def _is_change(value: object) -> bool:
    """True for a JSON diff. Whether it fits its base is only seen on applying it."""
    return isinstance(value, dict) and not value.keys().isdisjoint({"=", "~", "[]", "{}"})


def _is_run(value: Any, last: int) -> bool:
    return _counts(value, 2) and value[0] <= value[1] <= last


def _state(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    stats, context = value.get("stats"), value.get("context")
    return (
        (value.get("format", 0) is None or _is_format(value.get("format")))
        and _are(value.get("pins"), _is_count)
        and isinstance(stats, list)
        and len(stats) == 4
        and all(isinstance(number, int | float) and -POSITIONS_MAX <= number <= POSITIONS_MAX for number in stats)
        and _calibration(value.get("calibration"))
        and (context is None or _is_count(context))
        and isinstance(value.get("title", ""), str)
        and value.get("reader") in (None, *READERS)
        and _open(value.get("open"))
        and _is_branch(value.get("branch"))
    )


def _calibration(value: object) -> bool:
    try:
        Calibrator.from_dict(value if isinstance(value, dict) else {"weight": None})
    except PlimsollError:
        return False
    return True


def _open(value: object) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("pending"), dict):
        return False
    calls = (call for many in value["pending"].values() for call in (many if isinstance(many, list) else [None]))
    return (
        all(isinstance(value.get(name), bool) for name in ("begun", "answering"))
        and _are(value.get("held"), _is_count)
        and all(isinstance(call, list) and list(map(type, call)) == [str, str] for call in calls)
    )


def _ledger(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    if "whole" in value:
        return isinstance(value["whole"], dict)
    return _is_change(value.get("changes")) and _is_count(value.get("since")) and _is_count(value.get("chars"))


def _is_format(value: object) -> bool:
    return isinstance(value, str) and value in FORMATS


def _is_earlier(value: object, seq: int) -> bool:
    return value is None or (isinstance(value, int) and _is_count(value) and value < seq)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= POSITIONS_MAX


def _counts(value: object, number: int) -> bool:
    """True for a list of so many counts."""
    return isinstance(value, list) and len(value) == number and all(map(_is_count, value))


def _are(value: object, check: Callable[[Any], bool]) -> bool:
    return isinstance(value, list) and all(map(check, value))
