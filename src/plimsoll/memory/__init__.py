"""Facts kept across sessions, each with its origin: read from messages, merged, searched and forgotten."""

from plimsoll.memory.memories import Memories
from plimsoll.memory.opening import open_memory
from plimsoll.protocols import Memory, MemoryOrigin, MemoryStore

__all__ = ["Memories", "Memory", "MemoryOrigin", "MemoryStore", "open_memory"]
