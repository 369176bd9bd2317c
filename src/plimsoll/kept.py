"""What a session was opened with and goes on with, besides what measures it."""

from __future__ import annotations

from dataclasses import dataclass, field

from plimsoll.context import Filter, Storage
from plimsoll.formats.detect import NOTHING, Beside
from plimsoll.ports import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The same in every fork of a session."""

    store: Store
    format_fixed: bool
    """Whether an option, or a message, has said which format the session is in."""
    beside: Beside = NOTHING
    storage: Storage = field(default_factory=Storage)
    default_filter: Filter | None = None
    stats: bool = True
    """Whether compactions are counted."""
