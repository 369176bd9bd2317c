"""Which session a tool call means: the one it names, the one the server was started for, or the running one."""

from __future__ import annotations

from plimsoll.errors import SessionNotFound
from plimsoll.light.dataclass import dataclass
from plimsoll.limits import MCP_SESSION_WAIT_S, MCP_SESSIONS_SEARCHED_MAX
from plimsoll.memory.memories import Memories
from plimsoll.memory.opening import open_memory
from plimsoll.protocols import SessionInfo
from plimsoll.session.catalog import sessions
from plimsoll.session.open import open as open_session
from plimsoll.session.session import Session
from plimsoll.store.open import StoreSpec

NO_SESSION = "(none yet)"
"""In the place of a name, where a store has no session."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedSessions:
    """The sessions of a store. With `name`, calls that name no session mean that one, else the one changed last."""

    store: StoreSpec = None
    name: str | None = None

    def memories(self) -> Memories:
        """The memories of the user and of the project in the current folder, which are in the same folder as the sessions."""
        is_folder = self.store is not None and ":" not in str(self.store)
        return open_memory(str(self.store) if is_folder else True, project=True)

    def listed(self) -> list[SessionInfo]:
        """All of them, the running one first. Raises StoreUnusable."""
        found = sessions(self.store)
        return sorted(found, key=lambda info: info.name != self.name)

    def meant(self, name: str | None) -> str:
        """The session that a call means. Raises SessionNotFound if there is none at all, StoreUnusable."""
        return self.searched(name)[0]

    def searched(self, name: str | None) -> list[str]:
        """The sessions in which a call looks, in order. Raises SessionNotFound if there is none at all, StoreUnusable."""
        chosen = name or self.name
        if chosen is not None:
            return [chosen]
        found = [info.name for info in self.listed()[:MCP_SESSIONS_SEARCHED_MAX]]
        if not found:
            raise SessionNotFound(NO_SESSION)
        return found

    def reading(self, name: str) -> Session:
        """A session to read. Raises SessionNotFound, UnsafeName, NewerFormat, StoreUnusable."""
        return open_session(name, store=self.store, read_only=True)

    def writing(self, name: str) -> Session:
        """A session to change. Raises SessionNotFound, SessionBusy, UnsafeName, NewerFormat, StoreUnusable."""
        return open_session(name, store=self.store, create=False, wait_s=MCP_SESSION_WAIT_S)
