"""Memories of one user and, if there is one, of a project: adding, searching, listing and forgetting them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, TypeAlias, get_args

from plimsoll.errors import Closes, ErrorCatcher, SettingError
from plimsoll.light.brief import Fact, ShortRepr
from plimsoll.light.dataclass import replace
from plimsoll.limits import MEMORIES_MAX, MEMORY_TEXT_CHARS_MAX
from plimsoll.memory.meaning import meaning_of
from plimsoll.memory.merging import Merging, with_earlier, without_origins
from plimsoll.memory.notes import NOTES_TOKENS_MAX, notes_of
from plimsoll.memory.ranking import most_important, surplus
from plimsoll.memory.scopes import Scopes
from plimsoll.memory.secrets import holds_secret
from plimsoll.memory.statements import read
from plimsoll.policy.validation import boolean, integer, one_of, short_repr, text_or_none, unix_ms
from plimsoll.protocols import Memory, MemoryKind, MemoryOrigin, MemoryStore, Speaker, TokenCounter
from plimsoll.summary.ledger.sentences import line
from plimsoll.tokens.counter import counter_for

MemoryList: TypeAlias = list[Memory]
ScopeName: TypeAlias = Literal["user", "project"]
"""The user's own memories, or those of the project."""

_KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)
_ADDED_CONFIDENCE: Mapping[Speaker, float] = {"user": 0.95, "assistant": 0.5, "tool": 0.4}
_ADDED_IMPORTANCE: Mapping[Speaker, int] = {"user": 8, "assistant": 3, "tool": 2}


class Memories(ShortRepr, Closes):
    """Facts kept across sessions. Opened by `plimsoll.open_memory`, and for a session by `plimsoll.open(memory=...)`.

    Sees the memories of one user and of one project, no others. Safe to share between threads; processes may share a store.
    """

    def __init__(self, store: MemoryStore, scopes: Scopes | None, *, closes: bool = True) -> None:
        """`scopes` is None for those of everybody. `closes` is False if the store is not closed with this object."""
        self._store = store
        self._scopes = scopes
        self._closes = closes

    @property
    def where(self) -> str:
        """Location of the memories: a path, or the name of the store."""
        return self._store.where

    @property
    def scopes(self) -> Scopes | None:
        """The scopes whose memories are seen: `user`, and `project`, which is None without one. None: those of everybody."""
        return self._scopes

    def add(  # noqa: PLR0913 - what is known of a memory
        self,
        text: str,
        *,
        kind: MemoryKind | None = None,
        by: Speaker = "user",
        scope: ScopeName | None = None,
        session: str | None = None,
        message: str | None = None,
        tool: str | None = None,
        time_ms: int | None = None,
    ) -> Memory:
        """Keep a fact, durably, and return the memory that holds it.

        What is known already is merged with it, and what it contradicts is superseded.

        Args:
            text: one sentence; white space is normalised.
            kind: None: as its wording says, else "fact".
            by: who said it. Only the user's own words are the user's.
            scope: None: preferences and what is said of the user belong to the user, the rest to the project, if there is one.
            session: the name of the session in which it was said, for `forget`.
            message: the id of its message there.
            tool: the tool that said it.
            time_ms: Unix time in milliseconds at which it was said; None: now.

        Raises: SettingError, also for text that looks like it holds a key or a password; StoreError.

        """
        one_of("by", by, get_args(Speaker))
        said = None if not isinstance(text, str) else line(text, MEMORY_TEXT_CHARS_MAX)
        if not said:
            raise SettingError("text", "text that is not blank is needed")
        if holds_secret(text):
            raise SettingError("text", "looks like it holds a key, a token or a password; secrets are not kept")
        found = read(said)
        chosen = one_of("kind", kind, _KINDS) if kind is not None else found.kind if found else "fact"
        is_local = chosen in ("decision", "fact") or (found is not None and found.is_local)
        now = _now_ms() if time_ms is None else unix_ms("time_ms", time_ms)
        draft = Memory(
            id="",
            text=said,
            kind=chosen,
            by=by,
            scope=self._scope(scope, is_local=is_local),
            origins=(_origin(now, session, message, tool),),
            confidence=_ADDED_CONFIDENCE[by],
            importance=_ADDED_IMPORTANCE[by],
            time_ms=now,
        )
        return self.take([draft])[0]

    def take(self, drafts: Sequence[Memory], read: tuple[str, int] | None = None) -> MemoryList:
        """Keep memories without ids, all or none, and return those that hold them now.

        `read` is a session's key and the position up to which its messages were read: if that much was read before, nothing is
        kept. Raises StoreError.
        """
        with self._store.exclusive():
            if read is not None and self._store.read_to(read[0]) >= read[1]:
                return []
            merging = Merging(self._store.memories(self._chosen(None))) if drafts else Merging(())
            taken = [merging.take(draft).id for draft in drafts]
            self._store.put(merging.changed)
            if read is not None:
                self._store.set_read_to(*read)
            self._store.delete(surplus(merging.memories, MEMORIES_MAX))
            return [merging.memory(id) for id in taken]

    def read_to(self, session: str) -> int:
        """The position up to which the messages of a session were read. Raises StoreError."""
        return self._store.read_to(session)

    def search(  # noqa: PLR0913 - what narrows a search
        self,
        query: str,
        *,
        limit: int = 10,
        kind: MemoryKind | None = None,
        scope: ScopeName | None = None,
        session: str | None = None,
        message: str | None = None,
        tool: str | None = None,
    ) -> MemoryList:
        """The memories that match a query and hold, best first. English and Chinese. Raises SettingError, StoreError.

        Args:
            query: a few words to look for.
            limit: at most this many.
            kind: only memories of this kind.
            scope: only those of the user, or of the project.
            session: only what was said in this session,
            message: in this message of it,
            tool: or by this tool; given together, all at one place.

        """
        if not isinstance(query, str):
            raise SettingError("query", f"text is needed, not {type(query).__name__}")
        wanted = _checked_origin(session, message, tool)
        most, chosen = integer("limit", limit, least=1), self._chosen(scope)
        scopes = self._everybody() if chosen is None else chosen
        is_narrowed = kind is not None or wanted
        found = self._store.search(query, scopes, MEMORIES_MAX * max(1, len(scopes)) if is_narrowed else most)
        held = [memory for memory in _of(found, scopes, kind) if memory.superseded_by is None]
        held = [memory for memory in held if _was_said(memory, wanted)]
        self.count_hits(held[:most])
        return held[:most]

    def list(  # noqa: PLR0913 - what narrows a list
        self,
        *,
        superseded: bool = False,
        kind: MemoryKind | None = None,
        scope: ScopeName | None = None,
        session: str | None = None,
        message: str | None = None,
        tool: str | None = None,
    ) -> MemoryList:
        """The memories, the most important first; with `superseded`, also those that newer ones contradict, after the others.

        The other arguments narrow it as those of `search`. Raises SettingError, StoreError.
        """
        wanted, scopes = _checked_origin(session, message, tool), self._chosen(scope)
        found = [one for one in _of(self._store.memories(scopes), scopes, kind) if _was_said(one, wanted)]
        earlier = (
            [memory for memory in found if memory.superseded_by is not None]
            if boolean("superseded", superseded)
            else []
        )
        return [*most_important(found), *sorted(earlier, key=lambda memory: (-memory.time_ms, memory.id))]

    def get(self, memory_id: str) -> Memory | None:
        """The memory with this id; None if there is none. Raises StoreError."""
        return next((memory for memory in self._store.memories(self._chosen(None)) if memory.id == memory_id), None)

    def forget(
        self,
        memory_id: str | None = None,
        *,
        session: str | None = None,
        message: str | None = None,
        tool: str | None = None,
    ) -> int:
        """Delete a memory and the earlier ones that it superseded, or all that was said at an origin. Returns how many.

        An origin is a session, a message of it ("m12") or a tool; given together, all must match. A memory that was also said
        elsewhere stays, without this origin; one that only a deleted one had superseded holds again. Messages that were read are
        not read again, so what was forgotten does not come back from them. Raises SettingError, StoreError.
        """
        wanted = _checked_origin(session, message, tool)
        if (memory_id is None) == (not wanted):
            raise SettingError("memory_id", "either an id or an origin is needed")
        if memory_id is not None and not isinstance(memory_id, str):
            raise SettingError("memory_id", f"text is needed, not {short_repr(memory_id)}")
        with self._store.exclusive():
            known = self._store.memories(self._chosen(None))
            if memory_id is not None:
                changed: MemoryList = []
                deleted = with_earlier(known, [memory.id for memory in known if memory.id == memory_id])
            else:
                changed, deleted = without_origins(known, {memory.id: _matching(memory, wanted) for memory in known})
            self._store.put(changed)
            self._store.delete(deleted)
        meaning_of.cache_clear()  # the process keeps no text that is forgotten
        return len(deleted)

    def notes(self, max_tokens: int = NOTES_TOKENS_MAX, *, counter: TokenCounter | None = None) -> str | None:
        """The most important memories as notes for a model, within a number of tokens; None if there are none that fit.

        Each is marked with who said it and when, and the whole as data. `counter` is that of "gpt-4o" by default. Raises
        SettingError, StoreError.
        """
        text, shown = self.shown(max_tokens, counter=counter_for("gpt-4o") if counter is None else counter)
        self.count_hits(shown)
        return text

    def shown(self, max_tokens: int, *, counter: TokenCounter) -> tuple[str | None, tuple[Memory, ...]]:
        """As `notes`, with the memories in them. Writes nothing."""
        return notes_of(self.list(), tokens_max=integer("max_tokens", max_tokens), counter=counter)

    def close(self) -> None:
        """Close the store, unless it was given as an object. Idempotent."""
        if self._closes:
            self._store.close()

    def _facts(self) -> Iterable[Fact]:
        yield "where", repr(self.where)
        yield "scopes", "of everybody" if self._scopes is None else ", ".join(self._scopes.all)

    def _scope(self, scope: ScopeName | None, *, is_local: bool) -> str:
        if self._scopes is None:
            raise SettingError("everyone", "memories of everybody can be searched, listed and forgotten, not added to")
        chosen = self._chosen(scope)
        return self._scopes.of(is_local=is_local) if scope is None or chosen is None else chosen[0]

    def _chosen(self, scope: ScopeName | None) -> tuple[str, ...] | None:
        """The scopes to look in; None: all there are."""
        if scope is not None:
            one_of("scope", scope, get_args(ScopeName))
        if self._scopes is None:
            return (
                None
                if scope is None
                else tuple(name for name in self._everybody() if _is_project(name) == (scope == "project"))
            )
        if scope is None:
            return self._scopes.all
        chosen = self._scopes.user if scope == "user" else self._scopes.project
        if chosen is None:
            raise SettingError("scope", "no project was named when the memories were opened")
        return (chosen,)

    def _everybody(self) -> tuple[str, ...]:
        return tuple(sorted({memory.scope for memory in self._store.memories()}))

    def count_hits(self, shown: Sequence[Memory]) -> None:
        """Note that memories were shown. Where nothing can be written they are shown all the same."""
        now, ids = _now_ms(), {memory.id for memory in shown}
        if not ids:
            return
        with ErrorCatcher(), self._store.exclusive():
            known = [memory for memory in self._store.memories(self._chosen(None)) if memory.id in ids]
            self._store.put([replace(memory, hits=memory.hits + 1, hit_ms=now) for memory in known])


def _now_ms() -> int:
    return int(time.time() * 1000)


def _origin(time_ms: int, session: str | None, message: str | None, tool: str | None) -> MemoryOrigin:
    return MemoryOrigin(
        time_ms=time_ms,
        session=text_or_none("session", session),
        message=text_or_none("message", message),
        tool=text_or_none("tool", tool),
    )


def _checked_origin(session: str | None, message: str | None, tool: str | None) -> dict[str, str]:
    """The fields that an origin must have."""
    where = {"session": session, "message": message, "tool": tool}
    wanted = {field: value for field, value in where.items() if text_or_none(field, value) is not None}
    if "message" in wanted and "session" not in wanted:
        raise SettingError("message", "the session of the message is needed too")
    return {field: str(value) for field, value in wanted.items()}


def _was_said(memory: Memory, wanted: Mapping[str, str]) -> bool:
    """Whether a memory was said where it is wanted from."""
    return not wanted or bool(_matching(memory, wanted))


def _of(memories: Iterable[Memory], scopes: Sequence[str] | None, kind: MemoryKind | None) -> MemoryList:
    """The memories of these scopes and of this kind; None: of any. A store may have found others."""
    chosen = None if kind is None else one_of("kind", kind, _KINDS)
    return [
        memory
        for memory in memories
        if (scopes is None or memory.scope in scopes) and (chosen is None or memory.kind == chosen)
    ]


def _is_project(scope: str) -> bool:
    return scope.startswith("project:") or "/project:" in scope


def _matching(memory: Memory, wanted: Mapping[str, str]) -> frozenset[int]:
    """The numbers of the origins of a memory that have these fields."""
    origins = enumerate(memory.origins)
    return frozenset(at for at, origin in origins if all(getattr(origin, key) == wanted[key] for key in wanted))
