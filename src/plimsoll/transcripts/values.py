"""The content of a session file of another tool, as plain data without store, clock or file handle.

`entries` are the lines of the file. The rest is derived from them: the messages, the tool's compactions, what it would send next,
and what is wrong with the file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from plimsoll.light.dataclass import dataclass, field
from plimsoll.message import FormatName, Message, Wire

if TYPE_CHECKING:
    from plimsoll.records.usage import Usage

ToolName: TypeAlias = Literal["claude-code", "codex", "pi"]
"""The coding agents whose session files are read and written."""

MessageKind: TypeAlias = Literal["message", "summary", "error", "excluded"]
"""`summary`: text from a compaction or an abandoned branch; `error`: never sent; `excluded`: hidden from the model by the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """One line of the file. `value` is None if the line is blank or unreadable."""

    number: int
    value: Mapping[str, Any] | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceMessage:
    """One message of the conversation, in the transcript's format, and the lines it was read from."""

    id: str
    lines: tuple[int, ...]
    message: Message = field(repr=False)
    kind: MessageKind = "message"
    on_path: bool = True
    """False on an abandoned branch: rewound, rolled back, or another leaf of the tree."""

    @property
    def wire(self) -> Wire:
        """The message as the provider accepts it."""
        return self.message.wire or {}


MADE = -1
"""Origin of content that the tool inserts so that the provider accepts the rest."""

SUMMARY = -2
"""Origin of a summary that is not a message of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewed:
    """One message of the view and the indexes of the messages it consists of; none if the tool inserts it.

    `origins` has the message index, MADE or SUMMARY for each block of the content, or a single one for all; it is empty if unknown.
    """

    wire: Wire = field(repr=False)
    messages: tuple[int, ...] = ()
    origins: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCompaction:
    """A compaction by the tool after `messages[:position]`.

    `kept` are half-open ranges of messages kept in addition to the summary. `replacement` is the whole context, if the tool stored
    it (Codex). `opaque` is a summary that only its provider can read. `cleared` are the ids of calls whose results were cleared;
    with `cleared` and no summary, nothing else was replaced.
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
    view_stop: int = 0
    """Number of messages when its view was made, if more than `position`: the summary may be one of them."""
    on_path: bool = True
    """False on an abandoned branch."""
    view_after: Callable[[], Sequence[Viewed]] = field(default=tuple, repr=False, compare=False)
    """Returns what the tool would have sent right after it."""
    view_before: Callable[[], Sequence[Viewed]] = field(default=tuple, repr=False, compare=False)
    """Returns what it would have sent right before it."""

    @property
    def stop(self) -> int:
        """Number of messages when its view was made."""
        return max(self.view_stop, self.position)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Damage in the file, or something the tool itself would repair. `line` counts from 0."""

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
    """Metadata of a session, as far as the file has it. Times are ISO 8601 as written there."""

    session_id: str | None = None
    cwd: str | None = None
    branch: str | None = None
    model: str | None = None
    version: str | None = None
    started: str | None = None
    title: str | None = None
    parent: str | None = None
    """Id or path of the session that this one was forked from or continues."""


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
    """Id of the line that the next message would follow, if lines have parents."""
    sidechain_paths: tuple[str, ...] = ()
    """Paths of the sub-agents' own files, if the transcript was read from a path."""
    usages: tuple[Usage, ...] = field(default=(), repr=False)
    """The usage in the file. Positions are indexes of `messages`."""
    window_tokens: int | None = None
    """The tool's context window, if recorded in or inferred from the file."""
    raw: Callable[[], bytes] = field(default=bytes, repr=False, compare=False)
    """Reads the file's decompressed bytes again. Raises SourceChanged if they have changed, StoreUnusable."""

    @property
    def usage(self) -> Usage | None:
        """The usage of the newest request on the conversation's path."""
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
        from copy import deepcopy  # noqa: PLC0415 - only where it is asked for

        return [dict(deepcopy(shown.wire)) for shown in self.viewed]


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """Messages read from plain JSON: an array, JSON lines, or a request body."""

    format: FormatName
    messages: tuple[Wire, ...] = field(repr=False)
    system: Any = None
    tools: tuple[Wire, ...] = ()
    model: str | None = None
    findings: tuple[Finding, ...] = ()
    body: Mapping[str, Any] | None = field(default=None, repr=False)
    """The whole request body; None for a list or lines."""
    is_lines: bool = False
    """Whether the file has JSON lines."""

    def view(self) -> list[Wire]:
        """The messages themselves, not copies: they must not be changed."""
        return list(self.messages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One message of a view to write, the index of the source's message it repeats, and whether it contains the summary."""

    wire: Wire = field(repr=False)
    message: int | None = None
    is_summary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A view that replaces everything before it: what the tool must read after `messages[:position]`.

    `summary` is the summary's text in the view, or None. Sizes in tokens.
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

    `messages` is the whole history in `format`. With a `source`, it begins with the source's messages (or, with `follows`,
    continues them), and `compactions` with the source's; its lines are written again byte for byte, and the rest is appended. A
    `checkpoint` is written after the messages before its position; messages after it are read after its view. `times` are ISO
    times, and `usages` the reported usage of answers, one for each message or None if unknown; lines without a time follow the one
    before, the first one `at`.
    """

    messages: tuple[Wire, ...] = field(repr=False)
    format: FormatName
    compactions: tuple[ToolCompaction, ...] = ()
    meta: Meta = Meta()
    system: str | None = field(default=None, repr=False)
    source: Transcript | None = field(default=None, repr=False)
    follows: bool = False
    """Whether `messages` are only those after the source's."""
    path: str | None = None
    """Path of the source, if known."""
    checkpoint: Checkpoint | None = None
    at: str | None = None
    times: tuple[str | None, ...] = field(default=(), repr=False)
    usages: tuple[Usage | None, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportLoss:
    """What the target file does not contain. `position` is the index of the message or compaction, None for all."""

    kind: str
    detail: str
    position: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A session file: the bytes of the file it continues, and the lines appended."""

    added: tuple[str, ...] = field(repr=False)
    head: bytes = field(default=b"", repr=False)
    losses: tuple[ExportLoss, ...] = ()
    name: str = ""
    """The file name the tool would use."""
    place: str = ""
    """The path where the tool looks for it."""
    resume: str = ""
    """The command line that resumes the session, once the file is in place."""
    path: str | None = None
    """The path it was written to."""
    backup: str | None = None
    """The path of the backup of the file it replaced."""

    @property
    def parts(self) -> tuple[bytes, ...]:
        """The file's bytes in parts; the first is the file it continues."""
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
