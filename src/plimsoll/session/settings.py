"""The settings of an open session, apart from its meter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plimsoll.environment.layers import Filter, Storage
from plimsoll.light.dataclass import dataclass, field
from plimsoll.protocols import Store
from plimsoll.records.arrival import FIXED, Knowledge

if TYPE_CHECKING:
    from plimsoll.memory.memories import Memories


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Settings shared with the forks of a session."""

    store: Store
    knowledge: Knowledge = FIXED
    """What is known about the session's format."""
    storage: Storage = field(default_factory=Storage)
    default_filter: Filter | None = None
    stats: bool = True
    """True if compactions are counted."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """The effective options: those given on opening, else those recorded in the session."""
    memories: Memories | None = None
    """The memories of the session's user and project; None: none are kept."""
    is_other_model: bool = False
    """True if the model given on opening differs from the recorded one, to which earlier usage reports refer."""
