"""The methods of a session for memories, blobs, notes, and the files of other tools: export and update."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from plimsoll.policy.validation import boolean, path_text
from plimsoll.session.awaiting import AwaitedSession
from plimsoll.session.recorder import locked
from plimsoll.session.remembering import flush_all

if TYPE_CHECKING:
    from plimsoll.formats.format import Converted
    from plimsoll.memory.memories import Memories
    from plimsoll.transcripts.values import Exported, ExportLoss


class SharedSession(AwaitedSession):
    """The methods of a session for memories, blobs, notes and other tools' files."""

    @property
    def memory(self) -> Memories | None:
        """The memories of the session's user and project; None if it was opened without `memory`."""
        return self._recorder.kept.memories

    def flush_memories(self) -> int:
        """Keep the memories of all messages now, durably. Returns how many were kept; each message is read once.

        Compactions do so for what leaves the view, and `close` for the rest. Raises StoreError.
        """
        return self._carried(flush_all(self._recorder, asks_model=self._asks_model))

    async def aflush_memories(self) -> int:
        """Async `flush_memories`."""
        return await self._acarried(flush_all(self._recorder, asks_model=self._asks_model))

    @locked
    def put_blob(self, data: bytes) -> str:
        """Store bytes with the session and return their reference for `get_blob`. Raises StoreError."""
        return self._recorder.log.put_blob(data)

    @locked
    def get_blob(self, reference: str) -> bytes:
        """The stored bytes, verified by hash. Raises ReferenceNotFound, SessionDamaged."""
        return self._recorder.log.get_blob(reference)

    @locked
    def notes(self, what: str) -> list[Mapping[str, Any]]:
        """Notes of one kind that are stored with the messages, oldest first."""
        return self._recorder.notes(what)

    @locked
    def export(
        self,
        *,
        to: str | None = None,
        path: str | PathLike[str] | None = None,
        in_place: bool = False,
        at: str | None = None,
        view: bool = False,
    ) -> Exported | Converted:
        """Export the session to a file of Claude Code, Codex or pi, or its history to another format, with the losses.

        A session imported from the same tool begins with the file's own lines, byte for byte. If the tool would build another view
        from the messages, they are followed by a compaction of its own kind and the view, which it continues from verbatim. A loss
        of the kind "view" means that it would still read something else.

        Args:
            to: "claude-code", "codex", "pi" or the name of a message format; None: with `in_place` the file's own tool.
            path: the tool's file to write, atomically; None: write none.
            in_place: write over the file that the session was imported from. It must be unchanged since; a backup is kept.
            at: the ISO time of new lines; None: now.
            view: for a message format, export what `view` would return next instead of the history. Records nothing.

        Returns: the lines or messages, the losses and, for a tool's file, its path and the command that resumes the session.

        Raises: SettingError for an invalid target, or a session that was not imported; SourceChanged; ViewDiffers if the tool would
        read another view from the file; StoreError.

        """
        from plimsoll.session.transfer.export import (  # noqa: PLC0415 - only needed for an export
            export,
            export_in_place,
            export_to,
            export_view,
        )

        if boolean("view", view):
            return export_view(self._recorder, to=to, writes=in_place or path is not None)
        if boolean("in_place", in_place):
            return export_in_place(self._recorder, to=to, path=path, at=at)
        if path is not None:
            return export_to(self._recorder, path_text("path", path), to=to, at=at)
        return export(self._recorder, to=to, at=at)

    @locked
    def not_exportable(self) -> list[ExportLoss]:
        """The losses if the current view were written to the file the session was imported from; `in_place` is refused with any.

        Empty for a session that was not imported from a tool.
        """
        from plimsoll.session.transfer.export import unsupported  # noqa: PLC0415 - only needed for an export

        return unsupported(self._recorder)

    @locked
    def update(self, source: str | PathLike[str] | bytes | None = None) -> int:
        """Append the messages added to the file that the session was imported from. Returns how many were new.

        `source` is the file's path or bytes; None: its last known path. It must begin with what was read before, and the session
        may have no messages that it lacks. After a compaction of this session, the view continues with the new messages, unless
        the tool itself has compacted or rewound.

        Raises: SettingError for a session that was not imported; SourceChanged; LimitExceeded; StoreError.
        """
        from plimsoll.session.transfer.update import update  # noqa: PLC0415 - only needed for an update

        return update(self._recorder, source)
