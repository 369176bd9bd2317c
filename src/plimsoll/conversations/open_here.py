"""The conversations of this process with open sessions. An idle one gives its session up to another that asks for it.

A program may make an adapter for each of its requests, and does not close the one before it. Both have the same conversation, of
which a store lets one at a time write the session.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakSet

from plimsoll.errors import SessionBusy
from plimsoll.session.session import Session

if TYPE_CHECKING:
    from threading import RLock

WAIT_S: Final = 5.0
"""How long a conversation that uses its session is waited for."""

_STEP_S: Final = 0.02
_STRANGERS_MAX: Final = 5
"""Times that it may seem to be another process: a store cannot say whose a lock is that changes hands just then."""


class Holder(Protocol):
    """A conversation that may have a session open."""

    name: str
    lock: RLock

    @property
    def is_open(self) -> bool:
        """True if it has."""

    def close(self) -> None:
        """Close it."""


_lock = Lock()
_open: WeakSet[Holder] = WeakSet()


def taken(by: Holder, open: Callable[[float], Session], wait_s: float = 0) -> Session:
    """The session of a conversation whose lock is held. Raises StoreError.

    `open` opens it. Its argument is how long another process is waited for: `wait_s` after no conversation of this one has it.
    """
    with _lock:
        _open.add(by)
    ends_at, strangers = time.monotonic() + WAIT_S, 0
    while strangers < _STRANGERS_MAX and time.monotonic() < ends_at:
        try:
            return open(0)
        except SessionBusy as busy:
            if not _asked_for(by):
                break
            if not busy.here:
                strangers += 1
                time.sleep(_STEP_S)
    return open(wait_s)


def _asked_for(by: Holder) -> bool:
    """Close the session where other conversations of its name have it open; they open it again when they need it.

    Returns False if none of them has it, or is using its own now.
    """
    with _lock:
        others = [one for one in _open if one.name == by.name and one is not by]
    found = False
    for one in others:
        if not one.lock.acquire(timeout=_STEP_S):
            found = True
            continue
        try:
            if one.is_open:
                found = True
                one.close()
        finally:
            one.lock.release()
    return found
