"""A view written down: pieces encoded in the format they came in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plimsoll.compaction.join import outgoing
from plimsoll.compaction.piece import Piece
from plimsoll.compaction.repair import finished
from plimsoll.formats.format import Format


def written(pieces: Sequence[Piece], format: Format) -> list[dict[str, Any]]:
    """The messages to send, fresh objects in order."""
    messages = list(outgoing(pieces, format.name))
    if messages:
        messages[-1] = finished(messages[-1], format.name)
    return [format.encode(message) for message in messages]
