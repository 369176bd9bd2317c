"""What a session was opened with and goes on with, besides what measures it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from plimsoll.dataclass import dataclass
from plimsoll.environment.layers import Filter, Storage
from plimsoll.protocols import Store
from plimsoll.records.arrival import FIXED, Knowledge


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The same in every fork of a session."""

    store: Store
    knowledge: Knowledge = FIXED
    """What is known of the format that the session is in."""
    storage: Storage = field(default_factory=Storage)
    default_filter: Filter | None = None
    stats: bool = True
    """Whether compactions are counted."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The options that hold: those given at opening, else those that the session remembers."""
    is_other_model: bool = False
    """Whether the model given at opening is another than the remembered one, for which usage was reported."""
