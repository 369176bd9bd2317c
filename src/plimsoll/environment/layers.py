"""Where a session runs and what it is about, in layers: system, session, conversation, tools, workspace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field, fields
from types import MappingProxyType
from typing import Any

from plimsoll.dataclass import dataclass
from plimsoll.errors import SettingError
from plimsoll.limits import LARGE_MESSAGE_CACHE_ENTRIES_MAX, MESSAGE_CACHE_ENTRIES_MAX, MESSAGE_CACHE_TTL_S
from plimsoll.validation import boolean, integer, short_repr

UNKNOWN = "unknown"
"""What a field says when the computer does not."""

LAYERS = ("system", "session", "conversation", "tool", "workspace")

PRIORITIES: Mapping[str, int] = MappingProxyType(
    {"system": 10, "session": 50, "conversation": 30, "tool": 20, "workspace": 40}
)
"""How much each layer matters where not all of them fit into a prompt. Any whole numbers from 0 on; larger stays longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemContext:
    """The computer and the process, as they were when the session was last opened by `plimsoll.open`."""

    os_type: str = UNKNOWN
    """As the kernel calls itself: Linux, Darwin, Windows."""
    os_version: str = UNKNOWN
    shell: str = UNKNOWN
    """Path of the user's shell."""
    runtime_version: str = UNKNOWN
    """Of Python."""
    cwd: str = UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext:
    """Whose session it is and how they want it: what `plimsoll.open` was given, kept in the log."""

    session_id: str
    user_id: str | None = None
    agent_id: str | None = None
    """Which agent it is the conversation of, where a host has several."""
    preferences: Mapping[str, Any] = field(default_factory=dict)
    configuration: Mapping[str, Any] = field(default_factory=dict)
    start_ms: int | None = None
    """Unix time of its first record; None where that is unreadable."""
    title: str | None = None
    model: str | None = None
    """Title and model that it was made with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationContext:
    """The conversation: computed from the history when asked for."""

    messages: int = 0
    topics: tuple[str, ...] = ()
    """The beginnings of the user's newest requests, oldest first."""
    last_activity_ms: int | None = None
    """Unix time of the newest message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentCall:
    """One call of a tool. `success` is None while nothing has answered it; `at_ms` is when it was answered, or asked."""

    tool_name: str
    at_ms: int
    success: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolState:
    """One tool in the newest messages."""

    calls: int
    failed: int
    last_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """The newest calls, oldest first, and the state of each tool in them: computed from the history when asked for."""

    recent_calls: tuple[RecentCall, ...] = ()
    tool_states: Mapping[str, ToolState] = field(default_factory=dict)
    dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Tool -> the tools whose results named first what it was called with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """What a project's manifest says of it."""

    manifest: str
    """Name of the file: pyproject.toml or package.json."""
    name: str | None = None
    version: str | None = None
    dependencies: Mapping[str, str] = field(default_factory=dict)
    """Name -> the versions asked for, as written; empty text where any will do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceContext:
    """The project around the session."""

    project_path: str
    git_branch: str | None = None
    """None outside a repository, and while no branch is checked out."""
    git_detached_at: str | None = None
    """Beginning of the commit that is checked out without a branch."""
    git_remote: str | None = None
    """Where `origin` is, else the first remote; without a password."""
    package: Package | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextMetadata:
    """How much there is, and how new."""

    total_tokens: int
    """Of the view as it is."""
    budget_tokens: int
    last_updated_ms: int | None
    """Unix time of the newest record of any kind."""
    priority: Mapping[str, int] = field(default_factory=lambda: dict(PRIORITIES))
    """Layer -> how much it matters: the text of the context loses the least first."""
    relevance_score: Mapping[str, float] | None = None
    """Layer -> the share of the query's words that it has, 0 to 1; None without a query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextLayers:
    """All layers. `system` and `workspace` are None where they were never recorded."""

    session: SessionContext
    conversation: ConversationContext
    tool: ToolContext
    metadata: ContextMetadata
    system: SystemContext | None = None
    workspace: WorkspaceContext | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which of the newest messages are looked at by default. None is no bound. Raises SettingError."""

    max_tokens: int | None = 32_000
    max_messages: int | None = 50
    time_window_s: float | None = 86_400.0
    """How old a message may be."""

    def __post_init__(self) -> None:
        for name in ("max_tokens", "max_messages"):
            if getattr(self, name) is not None:
                integer(name, getattr(self, name))
        window = self.time_window_s
        if window is not None and (isinstance(window, bool) or not isinstance(window, (int, float)) or not window >= 0):
            raise SettingError("time_window_s", f"seconds are needed, not {short_repr(window)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """What a session holds in memory of a history that is on disk, and how it writes. Raises SettingError.

    Messages are read back from the log where a compaction, a search or a reference asks for them; those read lately are held.
    """

    messages_held_max: int = MESSAGE_CACHE_ENTRIES_MAX
    large_messages_held_max: int = LARGE_MESSAGE_CACHE_ENTRIES_MAX
    """Of messages of more than MESSAGE_CACHE_CHARS_MAX characters."""
    hold_s: float | None = MESSAGE_CACHE_TTL_S
    """Seconds for which they are held; None for as long as the session is open."""
    compress: bool = True
    """Whether long records of compactions are deflated. Both kinds are read either way."""

    def __post_init__(self) -> None:
        integer("messages_held_max", self.messages_held_max)
        integer("large_messages_held_max", self.large_messages_held_max)
        boolean("compress", self.compress)
        held = self.hold_s
        if held is not None and (isinstance(held, bool) or not isinstance(held, (int, float)) or not held >= 0):
            raise SettingError("hold_s", f"seconds are needed, not {short_repr(held)}")


def storage_of(value: object) -> Storage:
    """Storage as it is given: a Storage, some of its fields, or None for the usual. Raises SettingError."""
    if isinstance(value, Storage):
        return value
    return Storage(**_fields_of(Storage, "storage", {} if value is None else value))


def filter_of(value: object) -> Filter | None:
    """A filter as it is given: a Filter, or some of its bounds, the others as they are by default. Raises SettingError."""
    if value is None or isinstance(value, Filter):
        return value
    return Filter(**_fields_of(Filter, "default_filter", value))


def priorities_of(value: object) -> dict[str, int]:
    """The priorities of the layers, with some of them replaced. Raises SettingError."""
    if value is None:
        return dict(PRIORITIES)
    if not isinstance(value, Mapping) or not value.keys() <= PRIORITIES.keys():
        raise SettingError("priorities", f"a mapping of some of {', '.join(LAYERS)} to whole numbers is needed")
    return {**PRIORITIES, **{name: integer(f"priorities[{name}]", number) for name, number in value.items()}}


def _fields_of(cls: type, option: str, value: object) -> dict[str, Any]:
    known = {known.name for known in fields(cls)}
    if not isinstance(value, Mapping) or not value.keys() <= known:
        raise SettingError(option, f"a {cls.__name__} or some of {', '.join(sorted(known))} are needed")
    return dict(value)


def system_of(data: object) -> SystemContext | None:
    """The system layer that a log holds; None for anything that is none."""
    if not isinstance(data, Mapping):
        return None
    names = ("os_type", "os_version", "shell", "runtime_version", "cwd")
    return SystemContext(**{name: _text(data.get(name)) or UNKNOWN for name in names})


def workspace_of(data: object) -> WorkspaceContext | None:
    """The workspace layer that a log holds; None for anything that is none."""
    path = _text(data.get("project_path")) if isinstance(data, Mapping) else None
    if path is None or not isinstance(data, Mapping):
        return None
    names = ("git_branch", "git_detached_at", "git_remote")
    found = {name: _text(data.get(name)) for name in names}
    return WorkspaceContext(project_path=path, package=_package_of(data.get("package")), **found)


def session_of(
    data: Mapping[str, Any], *, session_id: str, start_ms: int | None, made: Mapping[str, Any]
) -> SessionContext:
    """The session layer that a log holds: what is known now, and what the session was `made` with."""
    preferences, configuration, options = data.get("preferences"), data.get("configuration"), made.get("options")
    return SessionContext(
        session_id=session_id,
        user_id=_text(data.get("user_id")),
        agent_id=_text(data.get("agent_id")),
        preferences=preferences if isinstance(preferences, Mapping) else {},
        configuration=configuration if isinstance(configuration, Mapping) else {},
        start_ms=start_ms,
        title=_text(made.get("title")),
        model=_text(options.get("model")) if isinstance(options, Mapping) else None,
    )


def _package_of(data: object) -> Package | None:
    manifest = _text(data.get("manifest")) if isinstance(data, Mapping) else None
    if manifest is None or not isinstance(data, Mapping):
        return None
    listed = data.get("dependencies")
    wanted = (
        {name: text for name, text in listed.items() if isinstance(text, str)} if isinstance(listed, Mapping) else {}
    )
    return Package(
        manifest=manifest, name=_text(data.get("name")), version=_text(data.get("version")), dependencies=wanted
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
