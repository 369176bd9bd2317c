"""What is done with sessions by their names, without opening them: list, delete, archive, restore, verify, repair."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from plimsoll.errors import SessionExists, SessionNotFound
from plimsoll.protocols import Durability, SessionInfo, SessionLog, Store
from plimsoll.records.checks import full_record_problem
from plimsoll.store.memory import MemoryStore
from plimsoll.store.open import StoreSpec, open_store
from plimsoll.store.verify import Repaired, Verified
from plimsoll.store.verify import repair as repair_log
from plimsoll.store.verify import verify as verify_log
from plimsoll.validation import boolean, text_or_none


def sessions(store: StoreSpec = None, *, archived: bool = False, agent_id: str | None = None) -> list[SessionInfo]:
    """The sessions of a store, the last changed first.

    Args:
        store: as in `plimsoll.open`.
        archived: list those that were archived instead.
        agent_id: list only those that were made for that agent.

    Raises: StoreUnusable, SettingError.

    """
    wanted = text_or_none("agent_id", agent_id)
    with _using(store) as place:
        listed = place.sessions(archived=boolean("archived", archived))
    return [info for info in listed if wanted is None or info.agent_id == wanted]


def delete(name: str, store: StoreSpec = None) -> None:
    """Remove a session and everything in it, for good; an archived one where none of that name is listed.

    Raises: SessionNotFound, SessionBusy, UnsafeName, StoreUnusable.
    """
    with _using(store) as place:
        with suppress(SessionNotFound):
            place.delete(name)
            return
        _bring_back(place, name)
        place.delete(name)


def archive(name: str, store: StoreSpec = None) -> None:
    """Take a session off the list without changing anything in it. Opening it, or `restore`, lists it again.

    Raises: SessionNotFound, SessionBusy, UnsafeName, StoreUnusable.
    """
    with _using(store) as place:
        place.archive(name)


def restore(name: str, store: StoreSpec = None) -> None:
    """List a session again that was archived.

    Raises: SessionNotFound where no archived session has that name, SessionExists where a listed one has it, UnsafeName,
    StoreUnusable.
    """
    with _using(store) as place:
        place.restore(name)


def verify(name: str, store: StoreSpec = None) -> Verified:
    """Read and check all of a session: every record and everything stored with it. Changes nothing.

    Returns: what the session holds and what of it is damaged; `ok` where nothing is.

    Raises: SessionNotFound, UnsafeName, NewerFormat, StoreUnusable.
    """
    with _using(store) as place:
        found(place, name).close()
        return verify_log(place, name, check=full_record_problem)


def repair(name: str, store: StoreSpec = None, *, into: StoreSpec = None, copy_name: str | None = None) -> Repaired:
    """Write what can be read of a session into a new one. The damaged session stays as it is.

    Args:
        name: the session that is damaged.
        store: where it is, as in `plimsoll.open`.
        into: the store of the copy; None: the same one.
        copy_name: what the copy is called; None: the name with ".repaired" and, where that is taken, a number.

    Returns: the name of the copy, how much was carried over, and what is lost.

    Raises: as `verify`, SessionExists where `copy_name` is taken, StoreFull.

    """
    with _using(store) as place, _using(place if into is None else into) as target:
        found(place, name).close()
        return repair_log(place, name, into=target, copy_name=copy_name, check=full_record_problem)


def is_taken(name: str, store: StoreSpec = None) -> bool:
    """Whether a session of that name is listed. Raises UnsafeName, NewerFormat, StoreUnusable."""
    with _using(store) as place, suppress(SessionNotFound):
        place.open(name, writable=False).close()
        return True
    return False


def found(place: Store, name: str, *, writable: bool = False) -> SessionLog:
    """The log of a session that exists; an archived one is listed again.

    Raises: UnsafeName, SessionNotFound, SessionBusy, NewerFormat, StoreUnusable.
    """
    with suppress(SessionNotFound):
        return place.open(name, writable=writable)
    _bring_back(place, name)
    return place.open(name, writable=writable)


def store_for(store: StoreSpec, durability: Durability = "fsync") -> Store:
    """The store that is meant. Each "memory:" is a new one, as with SQLite: its sessions have nothing to do with another's."""
    place = open_store(store, durability=durability)
    return MemoryStore() if store == "memory:" else place


def _bring_back(place: Store, name: str) -> None:
    """Put an archived session on the list again. Raises SessionNotFound."""
    if all(info.name != name for info in place.sessions(archived=True)):
        raise SessionNotFound(name)
    with suppress(SessionExists):
        place.restore(name)


@contextmanager
def _using(store: StoreSpec) -> Iterator[Store]:
    """A store for one call. One that the caller made stays open."""
    place = store_for(store)
    try:
        yield place
    finally:
        if place is not store:
            place.close()
