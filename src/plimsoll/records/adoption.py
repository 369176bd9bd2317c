"""The context of another tool's session as an import takes it over, see session/transfer/import_file.py."""

from __future__ import annotations

from collections.abc import Sequence

from plimsoll.compaction.readers import Reader
from plimsoll.compaction.view_message import Origin
from plimsoll.dataclass import dataclass
from plimsoll.message import Message, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """A message, or part of one, in a view that another tool left: its wire form and its position in the session.

    `joined` is True if it is sent in one message with the one before it.
    """

    wire: Wire
    message: Message | None = None
    """The decoded message, if it was decoded already."""
    position: int | None = None
    origin: Origin = "history"
    joined: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """A context change made by another tool: the resulting view and what its file records. Sizes in tokens as that tool counted.

    Attributes:
        trigger: "import" for the view that the session continues.
        by: The tool's name.
        reader: How the tool rewrites a view when it loads one; None if it does not.
        left: Positions of messages that the tool's compactions removed. Their facts go into the ledger, so that the next summary
            covers them.

    """

    view: Sequence[Adopted]
    summary: str | None = None
    trigger: str = "import"
    at_ms: int | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    by: str = "another tool"
    reader: Reader | None = None
    left: Sequence[int] = ()
