"""What a session file of another tool says, as plain data. No store, no clock, no file handle.

`entries` is the file itself, line by line. Everything else is read from it: the messages, what the tool did to its context,
what it would send next, and what is wrong with the file.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from plimsoll.dataclass import dataclass
from plimsoll.message import FormatName, Message, Wire

if TYPE_CHECKING:
    from plimsoll.records.usage import Usage

ToolName: TypeAlias = Literal["claude-code", "codex", "pi"]
"""The coding agents whose session files are read and written."""

SaidKind: TypeAlias = Literal["said", "summary", "error", "excluded"]
"""`summary`: text a compaction or a left branch put there; `error`: never sent on; `excluded`: the user kept it from
the model.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """One line of the file. `value` is None for a line that is blank or unreadable."""

    number: int
    value: Mapping[str, Any] | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMessage:
    """One message of the conversation, in the transcript's format, and the lines it was read from."""

    id: str
    lines: tuple[int, ...]
    message: Message = field(repr=False)
    kind: SaidKind = "said"
    on_path: bool = True
    """False on a branch that the conversation has left: rewound, rolled back, or another leaf of the tree."""

    @property
    def wire(self) -> Wire:
        """The message as its provider takes it."""
        return self.message.wire or {}


MADE = -1
"""The origin of what a tool puts in so that the provider accepts the rest."""

SUMMARY = -2
"""The origin of a summary that is no message of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewed:
    """One message of the view and the messages (by index) that speak in it; none for one that the tool makes up.

    `origins` names the message, MADE or SUMMARY for each block of its content, or for the whole where there is one of them;
    it is empty where that is not known.
    """

    wire: Wire = field(repr=False)
    messages: tuple[int, ...] = ()
    origins: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCompaction:
    """What a tool did to its context after `messages[:position]` had been said.

    `kept` are half-open ranges of messages that stayed in addition to the summary. `replacement` is the whole context as the
    tool wrote it down, where it did (Codex). `opaque` is a summary that only its provider can read. `cleared` are the
    ids of calls whose results were emptied; a compaction with `cleared` and no summary replaced nothing else.
    """

    position: int
    line: int | None = None
    trigger: str = "auto"
    summary: str | None = None
    kept: tuple[tuple[int, int], ...] = ()
    tokens_before: int | None = None
    tokens_after: int | None = None
    replacement: tuple[Wire, ...] | None = field(default=None, repr=False)
    opaque: Wire | None = field(default=None, repr=False)
    cleared: tuple[str, ...] = ()
    at: str | None = None
    said: int = 0
    """How many messages its view is made of, where that is more than `position`: its summary may be one of them."""
    on_path: bool = True
    """False on a branch that the conversation has left."""
    see: Callable[[], Sequence[Viewed]] = field(default=tuple, repr=False, compare=False)
    """Makes what the tool would have sent right after it."""
    saw: Callable[[], Sequence[Viewed]] = field(default=tuple, repr=False, compare=False)
    """Makes what it would have sent right before it."""

    @property
    def ends(self) -> int:
        """How many messages had been said when its view was made."""
        return max(self.said, self.position)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something in the file that is damaged, or that the tool itself would repair. `line` counts from 0."""

    kind: str
    detail: str
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidechain:
    """A sub-agent's conversation inside the file. Never part of the view."""

    id: str
    messages: tuple[SourceMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """Where a session comes from, as far as its file says. Times are ISO 8601 as written there."""

    session_id: str | None = None
    cwd: str | None = None
    branch: str | None = None
    model: str | None = None
    version: str | None = None
    started: str | None = None
    title: str | None = None
    parent: str | None = None
    """Id or path of the session this one was forked from or continues."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """A session file of Claude Code, Codex or pi."""

    tool: ToolName
    format: FormatName
    entries: tuple[SourceLine, ...] = field(repr=False)
    messages: tuple[SourceMessage, ...] = field(repr=False)
    viewed: tuple[Viewed, ...] = field(repr=False)
    compactions: tuple[ToolCompaction, ...] = ()
    system: str | None = field(default=None, repr=False)
    meta: Meta = Meta()
    findings: tuple[Finding, ...] = ()
    sidechains: tuple[Sidechain, ...] = field(default=(), repr=False)
    leaf: str | None = None
    """Id of the line that the next message would follow, where lines have parents."""
    beside: tuple[str, ...] = ()
    """Paths of the sub-agents' own files, when the transcript was read from a path."""
    usages: tuple[Usage, ...] = field(default=(), repr=False)
    """What the provider counted for each request, as the file says it. Positions are indexes of `messages`."""
    window_tokens: int | None = None
    """The window that the tool worked in, where the file says or shows it."""
    raw: Callable[[], bytes] = field(default=bytes, repr=False, compare=False)
    """Reads the file's bytes again, unpacked. Raises SourceChanged where they are others now, StoreUnusable."""

    @property
    def usage(self) -> Usage | None:
        """What the provider counted for the newest request of the conversation, branches that were left apart."""
        on_path = (usage for usage in reversed(self.usages) if self.messages[usage.position or 0].on_path)
        return next(on_path, None)

    @property
    def model(self) -> str | None:
        """The model that the file names."""
        return self.meta.model

    @property
    def tools(self) -> tuple[Wire, ...]:
        """Tool definitions: session files have none."""
        return ()

    def view(self) -> list[dict[str, Any]]:
        """What the tool would send next, in `format`: the caller's own copy."""
        return [dict(copy.deepcopy(shown.wire)) for shown in self.viewed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Messages that came as plain JSON: an array, JSON lines, or a request body."""

    format: FormatName
    messages: tuple[Wire, ...] = field(repr=False)
    system: Any = None
    tools: tuple[Wire, ...] = ()
    model: str | None = None
    findings: tuple[Finding, ...] = ()
    body: Mapping[str, Any] | None = field(default=None, repr=False)
    """The request that they stood in, whole; None where they were a list or lines."""
    is_lines: bool = False
    """Whether they came as JSON lines."""

    def view(self) -> list[Wire]:
        """The messages, which are not copied: as long as they are not changed, this object stays what was read."""
        return list(self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One message of a view to write: its wire object, the message of the source it repeats, and whether it holds the summary."""

    wire: Wire = field(repr=False)
    message: int | None = None
    is_summary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A view that replaces everything before it: what the tool must read after `messages[:position]`.

    `summary` is the text of its summary as the view has it, None for a view without one. Sizes in tokens.
    """

    position: int
    view: tuple[Shown, ...] = field(repr=False)
    summary: str | None = field(default=None, repr=False)
    trigger: str = "auto"
    tokens_before: int = 0
    tokens_after: int = 0
    at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """A conversation to write as a session file.

    `messages` is the whole history in `format`. With a `source`, the messages and compactions it already holds come
    first (unless `messages` are only those that follow) and its lines are written again byte for byte; the rest is appended.
    `compactions` are those of the source. A
    `checkpoint` is written after the messages before its position; what follows it is read after its view. `times` are ISO
    times, one for each message, where they are known; lines whose time is not known follow the line before them, the first one
    `at`. `usages` are what the provider counted, one for each message, None for those that are no answers or where it is not known.
    """

    messages: tuple[Wire, ...] = field(repr=False)
    format: FormatName
    compactions: tuple[ToolCompaction, ...] = ()
    meta: Meta = Meta()
    system: str | None = field(default=None, repr=False)
    source: Transcript | None = field(default=None, repr=False)
    follows: bool = False
    """Whether the messages are only those that follow the source's."""
    path: str | None = None
    """Where the source is, if that is known."""
    checkpoint: Checkpoint | None = None
    at: str | None = None
    times: tuple[str | None, ...] = field(default=(), repr=False)
    usages: tuple[Usage | None, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportLoss:
    """What the target could not carry. `position` is the index of the message or compaction meant, None for the
    whole.
    """

    kind: str
    detail: str
    position: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A session file: the bytes of the file that it continues, and the lines that were added to them."""

    added: tuple[str, ...] = field(repr=False)
    head: bytes = field(default=b"", repr=False)
    losses: tuple[ExportLoss, ...] = ()
    name: str = ""
    """What the tool would call the file."""
    place: str = ""
    """Where the tool looks for it."""
    resume: str = ""
    """The command line that goes on with the session, once the file is in its place."""
    path: str | None = None
    """Where it was written."""
    backup: str | None = None
    """Where the file is kept that was there before."""

    @property
    def parts(self) -> tuple[bytes, ...]:
        """The file's bytes in pieces; the first is the file that it continues."""
        feed = "\n" if self.head and self.added and not self.head.endswith(b"\n") else ""
        return self.head, (feed + "".join(f"{line}\n" for line in self.added)).encode()

    @property
    def data(self) -> bytes:
        """The file's bytes."""
        return b"".join(self.parts)

    @property
    def lines(self) -> tuple[str, ...]:
        """The file's lines, without line feeds. Bytes that are not UTF-8 are surrogate escapes."""
        return tuple(self.data.decode("utf-8", "surrogateescape").removesuffix("\n").split("\n")) if self.data else ()
