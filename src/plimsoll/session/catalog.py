"""Operations on sessions by name, without opening them: list, delete, archive, restore, verify, repair."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from plimsoll.errors import SessionExists, SessionNotFound
from plimsoll.policy.validation import boolean, text_or_none
from plimsoll.protocols import Durability, SessionInfo, SessionLog, Store
from plimsoll.records.checks import full_record_problem
from plimsoll.store.memory import InMemoryStore
from plimsoll.store.open import StoreSpec, open_store
from plimsoll.store.verify import Repaired, Verified
from plimsoll.store.verify import repair as repair_log
from plimsoll.store.verify import verify as verify_log


def sessions(store: StoreSpec = None, *, archived: bool = False, agent_id: str | None = None) -> list[SessionInfo]:
    """The sessions of a store, most recently changed first.

    Args:
        store: as in `plimsoll.open`.
        archived: list archived sessions instead.
        agent_id: list only sessions created for that agent.

    Raises: StoreUnusable, SettingError.

    """
    wanted = text_or_none("agent_id", agent_id)
    with using(store) as place:
        listed = place.sessions(archived=boolean("archived", archived))
    return [info for info in listed if wanted is None or info.agent_id == wanted]


def delete(name: str, store: StoreSpec = None) -> None:
    """Delete a session permanently; if none of that name is listed, the archived one.

    Raises: SessionNotFound, SessionBusy, UnsafeName, StoreUnusable.
    """
    with using(store) as place:
        with suppress(SessionNotFound):
            place.delete(name)
            return
        _bring_back(place, name)
        place.delete(name)


def archive(name: str, store: StoreSpec = None) -> None:
    """Remove a session from the list without changing it. Opening it, or `restore`, lists it again.

    Raises: SessionNotFound, SessionBusy, UnsafeName, StoreUnusable.
    """
    with using(store) as place:
        place.archive(name)


def restore(name: str, store: StoreSpec = None) -> None:
    """List an archived session again.

    Raises: SessionNotFound if no archived session has that name, SessionExists if a listed one does, UnsafeName, StoreUnusable.
    """
    with using(store) as place:
        place.restore(name)


def verify(name: str, store: StoreSpec = None) -> Verified:
    """Read and check a whole session: every record and every blob. Changes nothing.

    Returns: what the session holds and what of it is damaged; `ok` is True if nothing is.

    Raises: SessionNotFound, UnsafeName, NewerFormat, StoreUnusable.
    """
    with using(store) as place:
        found(place, name).close()
        return verify_log(place, name, check=full_record_problem)


def repair(name: str, store: StoreSpec = None, *, into: StoreSpec = None, copy_name: str | None = None) -> Repaired:
    """Copy what can be read of a session into a new one. The damaged session is not changed.

    Args:
        name: the damaged session.
        store: its store, as in `plimsoll.open`.
        into: the store of the copy; None: the same one.
        copy_name: the name of the copy; None: the name with ".repaired" and, if taken, a number.

    Returns: the name of the copy, the number of records copied, and what is lost.

    Raises: as `verify`, SessionExists if `copy_name` is taken, StoreFull.

    """
    with using(store) as place, using(place if into is None else into) as target:
        found(place, name).close()
        return repair_log(place, name, into=target, copy_name=copy_name, check=full_record_problem)


def is_taken(name: str, store: StoreSpec = None) -> bool:
    """True if a session of that name is listed. Raises UnsafeName, NewerFormat, StoreUnusable."""
    with using(store) as place, suppress(SessionNotFound):
        place.open(name, writable=False).close()
        return True
    return False


def found(place: Store, name: str, *, writable: bool = False) -> SessionLog:
    """The log of an existing session; an archived one is listed again.

    Raises: UnsafeName, SessionNotFound, SessionBusy, NewerFormat, StoreUnusable.
    """
    with suppress(SessionNotFound):
        return place.open(name, writable=writable)
    _bring_back(place, name)
    return place.open(name, writable=writable)


def store_for(store: StoreSpec, durability: Durability = "fsync") -> Store:
    """The store for a spec. Each "memory:" without a label is a new store, as in SQLite."""
    place = open_store(store, durability=durability)
    return InMemoryStore() if store == "memory:" else place


def _bring_back(place: Store, name: str) -> None:
    """List an archived session again. Raises SessionNotFound."""
    if all(info.name != name for info in place.sessions(archived=True)):
        raise SessionNotFound(name)
    with suppress(SessionExists):
        place.restore(name)


@contextmanager
def using(store: StoreSpec) -> Iterator[Store]:
    """A store for one call. A store passed in by the caller is not closed."""
    place = store_for(store)
    try:
        yield place
    finally:
        if place is not store:
            place.close()
