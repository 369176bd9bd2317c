"""Numbers and times as people read them."""

from __future__ import annotations

from plimsoll.compaction.references import named
from plimsoll.light.brief import pluralize

__all__ = ["named", "number", "pluralize", "share", "size", "when"]

_UNITS = ("bytes", "KB", "MB", "GB", "TB")


def number(value: int) -> str:
    """With thousands separators."""
    return f"{value:,}"


def share(part: int, whole: int) -> str:
    """A share in percent, with one digit where rounding would say too little; a dash where there is no whole."""
    if whole <= 0:
        return "–"
    percent = 100 * part / whole
    fine = 0 < percent < 10 or 99 < percent < 100
    return f"{min(percent, 99.9):.1f} %" if fine else f"{percent:.0f} %"


def size(size_bytes: int) -> str:
    """A size on disk."""
    value, unit = float(size_bytes), 0
    while value >= 1_000 and unit < len(_UNITS) - 1:
        value, unit = value / 1_000, unit + 1
    return f"{size_bytes} {_UNITS[0]}" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def when(at_ms: int | None) -> str:
    """Unix milliseconds as the local date and time, to the minute."""
    if at_ms is None:
        return "unknown"
    from datetime import datetime  # noqa: PLC0415 - only where a time is shown

    try:
        return f"{datetime.fromtimestamp(at_ms / 1000).astimezone():%Y-%m-%d %H:%M}"
    except (OverflowError, OSError, ValueError):
        return "unknown"


def beside(unseen_tokens: int) -> str:
    """The part of every size that only the provider counts, to follow a number; empty without it."""
    return (
        f", and {number(unseen_tokens)} more that only the provider counts (system text, tools)"
        if unseen_tokens
        else ""
    )
