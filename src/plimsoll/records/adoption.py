"""What another tool did to its context, as a session takes it over: see session/transfer/import_file.py."""

from __future__ import annotations

from collections.abc import Sequence

from plimsoll.compaction.readers import Reader
from plimsoll.compaction.view_message import Origin
from plimsoll.dataclass import dataclass
from plimsoll.message import Message, Wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """One message of a view that another tool left, or a part of one: as it is sent, and where the session has it.

    `joined` says that it goes out in one message with the one before it.
    """

    wire: Wire
    message: Message | None = None
    """The same, read, where it was read already."""
    position: int | None = None
    origin: Origin = "history"
    joined: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Adoption:
    """What another tool did to its context: the view it led to, and what its file says of it. Sizes in tokens, as it counted.

    `trigger` is "import" for the view that the session goes on from. `by` is the tool's name, `reader` how it reads
    a view back, where that is not as it stands. `left` are the positions of messages up to the last that the tool's
    compactions have taken out: their facts go into the ledger, so that the next summary speaks for them too.
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
