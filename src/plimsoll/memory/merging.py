"""How a new memory changes those that are known: duplicates are merged, contradictions superseded. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

from plimsoll.light.dataclass import replace
from plimsoll.memory.meaning import contradicts, meaning_of, says_same
from plimsoll.protocols import Memory, Speaker

CONFIDENCE_MAX = 0.99
IMPORTANCE_MAX = 10

_AUTHORITY: Mapping[Speaker, int] = {"tool": 0, "assistant": 1, "user": 2}


def id_for(memory: Memory) -> str:
    """The id of a memory that is not stored yet: equal for what was said at one place, so that taking it twice adds nothing."""
    origin = memory.origins[0]
    said = (memory.scope, memory.by, memory.text, origin.session, origin.created_ms, origin.message, origin.tool)
    place = said if origin.message else (*said, origin.time_ms)
    return f"mem-{hashlib.sha256(repr(place).encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


class Merging:
    """The memories of some scopes while new ones are taken in. Memories that share no word are not compared."""

    def __init__(self, known: Iterable[Memory]) -> None:
        self._memories: dict[str, Memory] = {}
        self._by_word: dict[str, set[str]] = {}
        self._changed: dict[str, Memory] = {}
        for memory in known:
            self._hold(memory)

    @property
    def changed(self) -> list[Memory]:
        """The memories that are new or other than before."""
        return list(self._changed.values())

    @property
    def memories(self) -> list[Memory]:
        """All memories as they are now."""
        return list(self._memories.values())

    def memory(self, id: str) -> Memory:
        """The memory with an id, as it is now."""
        return self._memories[id]

    def take(self, draft: Memory) -> Memory:
        """Take in what was said, and return the memory that holds it now. Taking it again changes nothing."""
        twin = self._twin(draft)
        if twin is None:
            memory = replace(draft, id=id_for(draft))
            if memory.id in self._memories:
                return self._memories[memory.id]
        elif twin.by != draft.by or not set(draft.origins) - set(twin.origins):
            return twin
        else:
            memory = _said_again(twin, draft)
        self._put(memory)
        self._settle(memory, draft.time_ms)
        return self._memories[memory.id]

    def _twin(self, draft: Memory) -> Memory | None:
        """A memory that says the same: of the same speaker, or one that holds of a speaker with more authority."""
        meaning = meaning_of(draft.text)
        alike = [
            known
            for known in self._near(draft)
            if (known.by == draft.by or (_outranks(known, draft) and known.superseded_by is None))
            and (known.text == draft.text or says_same(meaning, meaning_of(known.text)))
        ]
        return min(
            alike,
            key=lambda known: (not _outranks(known, draft), known.superseded_by is not None, known.id),
            default=None,
        )

    def _settle(self, memory: Memory, said_ms: int) -> None:
        """Let what was said last hold; but what the user said holds against anyone else."""
        meaning = meaning_of(memory.text)
        if memory.superseded_by is not None and said_ms >= memory.time_ms:
            memory = self._put(replace(memory, superseded_by=None))
        for other in self._near(memory):
            if other.id == memory.id or other.superseded_by is not None:
                continue
            met = meaning_of(other.text)
            if contradicts(meaning, met) or (other.by != memory.by and says_same(meaning, met)):
                self._decide(memory, other)

    def _decide(self, memory: Memory, other: Memory) -> None:
        """Supersede one of two memories that cannot both hold."""
        loses = _outranks(other, memory) or (not _outranks(memory, other) and other.time_ms > memory.time_ms)
        if loses:
            self._put(replace(self._memories[memory.id], superseded_by=other.id))
        else:
            self._put(replace(other, superseded_by=memory.id))

    def _near(self, memory: Memory) -> list[Memory]:
        """The memories of the same scope that share a word with one, by id."""
        ids = set().union(*(self._by_word.get(word, ()) for word in _words_of(memory)))
        return [self._memories[id] for id in sorted(ids)]

    def _put(self, memory: Memory) -> Memory:
        self._hold(memory)
        self._changed[memory.id] = memory
        return memory

    def _hold(self, memory: Memory) -> None:
        if memory.id not in self._memories:
            for word in _words_of(memory):
                self._by_word.setdefault(word, set()).add(memory.id)
        self._memories[memory.id] = memory


def _words_of(memory: Memory) -> list[str]:
    """The words that two memories of a scope share if they say the same or contradict each other."""
    meaning = meaning_of(memory.text)
    words = meaning.words or frozenset((memory.text,))
    return [f"{memory.scope} {word}" for word in words]


def _said_again(known: Memory, draft: Memory) -> Memory:
    """A memory after it was said once more."""
    origins = {*known.origins, *draft.origins}
    doubt = (1 - known.confidence) * (1 - draft.confidence / 2)
    return replace(
        known,
        origins=tuple(sorted(origins, key=lambda origin: (origin.time_ms, repr(origin)))),
        confidence=round(max(known.confidence, min(CONFIDENCE_MAX, 1 - doubt)), 3),
        importance=min(IMPORTANCE_MAX, max(known.importance, draft.importance) + 1),
        time_ms=max(known.time_ms, draft.time_ms),
    )


def _outranks(one: Memory, other: Memory) -> bool:
    return _AUTHORITY[one.by] > _AUTHORITY[other.by]


def without_origins(memories: Iterable[Memory], gone: Mapping[str, frozenset[int]]) -> tuple[list[Memory], list[str]]:
    """Memories without some of their origins, by id and number: those that are left and changed, and the ids of those that are not.

    A memory that only a deleted one had superseded holds again.
    """
    known = list(memories)
    deleted = [memory.id for memory in known if len(gone.get(memory.id, ())) == len(memory.origins)]
    changed: list[Memory] = []
    for memory in known:
        if memory.id in deleted:
            continue
        origins = tuple(origin for at, origin in enumerate(memory.origins) if at not in gone.get(memory.id, ()))
        by = None if memory.superseded_by in deleted else memory.superseded_by
        after = replace(memory, origins=origins, superseded_by=by, time_ms=max(origin.time_ms for origin in origins))
        if after != memory:
            changed.append(after)
    return changed, deleted


def with_earlier(memories: Iterable[Memory], ids: Iterable[str]) -> list[str]:
    """These ids and those of all memories that they superseded, directly or not."""
    known = list(memories)
    found = dict.fromkeys(ids)
    while True:
        more = [memory.id for memory in known if memory.superseded_by in found and memory.id not in found]
        if not more:
            return list(found)
        found |= dict.fromkeys(more)
