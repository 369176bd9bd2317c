"""What a session does with other tools' files: it comes from one, takes in what that has grown by, and becomes one again."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from plimsoll.session.awaiting import AwaitedSession
from plimsoll.session.recorder import locked
from plimsoll.validation import boolean, path_text

if TYPE_CHECKING:
    from plimsoll.formats.format import Converted
    from plimsoll.transcripts.values import Exported, ExportLoss


class SharedSession(AwaitedSession):
    """The part of a session that other tools have a share in."""

    @locked
    def put_blob(self, data: bytes) -> str:
        """Keep bytes beside the session and return the name that `get_blob` reads them by. Raises StoreError."""
        return self._recorder.log.put_blob(data)

    @locked
    def get_blob(self, reference: str) -> bytes:
        """The same bytes, checked by hash. Raises ReferenceNotFound, SessionDamaged."""
        return self._recorder.log.get_blob(reference)

    @locked
    def notes(self, what: str) -> list[Mapping[str, Any]]:
        """Notes of one kind that were put beside the messages, oldest first."""
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
        """The session as a file of Claude Code, Codex or pi, or its history in another format, with what could not be carried.

        A session imported from the same tool gives its lines back byte for byte, and then what is new. Where the view is not what
        the tool would make of the messages, a compaction of the tool's own kind and the view follow them: the tool goes on from
        the view, word for word. A loss of the kind "view" says that it would read something else.

        Args:
            to: "claude-code", "codex", "pi" or the name of a message format; None: with `in_place` the file's own tool.
            path: where a tool's file is written, whole or not at all; None: nowhere.
            in_place: write it over the file that the session came from. That has to be as it was read last, and a backup of it
                is kept.
            at: the ISO time of what is new; None: now.
            view: for a message format, the messages that `view` would give next, and not the history. Records nothing.

        Returns: the lines or messages, the losses and, of a tool's file, where it belongs and the command that goes on with it.

        Raises: SettingError for a target that is none, or a session that came from no file; SourceChanged; ViewDiffers, where a
        file would be written that its tool reads otherwise; StoreError.

        """
        from plimsoll.session.transfer.export import (  # noqa: PLC0415 - only where something is exported
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
        """What a file of the tool that the session came from cannot hold of the view as it is now, so that `in_place` is refused.

        Empty for a session that came from no tool.
        """
        from plimsoll.session.transfer.export import unsupported  # noqa: PLC0415 - only where something is exported

        return unsupported(self._recorder)

    @locked
    def update(self, source: str | PathLike[str] | bytes | None = None) -> int:
        """Take in what the file that the session came from has grown by; how many messages were new.

        `source` is the file, or its bytes; None: where it was. It must begin with what was read before, and the session have no
        messages that the file has not. After a compaction of this session the view goes on with what is new, unless the tool has
        compacted, or gone back, itself.

        Raises: SettingError for a session that came from no file; SourceChanged; LimitExceeded; StoreError.
        """
        from plimsoll.session.transfer.update import update  # noqa: PLC0415 - only where a file is read again

        return update(self._recorder, source)
