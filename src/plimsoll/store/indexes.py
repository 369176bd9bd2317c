"""The interface of a log that stores the search index of its session beside its records."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class KeepsIndex(Protocol):
    """A log that keeps its search index beside it. The history of a log that is none is indexed again after every opening."""

    def get_index(self) -> bytes | None:
        """The bytes that were put last, or None. Not verified: they may be damaged, or older than the log."""
        ...

    def put_index(self, data: bytes) -> None:
        """Hold these bytes instead of the ones before. They need not survive a crash."""
        ...

    @property
    def keeps_index(self) -> bool:
        """Whether bytes that are put now are kept."""
        ...

    @property
    def outlives_process(self) -> bool:
        """Whether the log is there after this process. The history of one that is not is indexed only when somebody asks."""
        ...

    @property
    def appended_bytes(self) -> int:
        """Bytes of records appended since the log was opened."""
        ...
