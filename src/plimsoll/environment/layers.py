"""The context layers of a session: system, session, conversation, tools and workspace."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from plimsoll.errors import SettingError
from plimsoll.light.brief import JsonReady
from plimsoll.light.dataclass import dataclass, field, fields
from plimsoll.limits import LARGE_MESSAGE_CACHE_ENTRIES_MAX, MESSAGE_CACHE_ENTRIES_MAX, MESSAGE_CACHE_TTL_S
from plimsoll.policy.validation import boolean, integer, seconds

UNKNOWN = "unknown"
"""Value of a field that could not be read from the computer."""

LAYERS = ("system", "session", "conversation", "tool", "workspace")

PRIORITIES: Mapping[str, int] = MappingProxyType(
    {"system": 10, "session": 50, "conversation": 30, "tool": 20, "workspace": 40}
)
"""Weight of each layer when not all of them fit into a prompt: integers from 0; higher ones are kept longer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemContext:
    """The computer and the process when `plimsoll.open` last opened the session."""

    os_type: str = UNKNOWN
    """The kernel's own name: Linux, Darwin, Windows."""
    os_version: str = UNKNOWN
    shell: str = UNKNOWN
    """Path of the user's shell."""
    runtime_version: str = UNKNOWN
    """Version of Python."""
    cwd: str = UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionContext:
    """The user and preferences of a session, as passed to `plimsoll.open` and stored in the log."""

    session_id: str
    user_id: str | None = None
    agent_id: str | None = None
    """The agent that holds the conversation, if a host runs several."""
    preferences: Mapping[str, Any] = field(default_factory=dict)
    configuration: Mapping[str, Any] = field(default_factory=dict)
    start_ms: int | None = None
    """Unix time of the first record; None if it is unreadable."""
    title: str | None = None
    model: str | None = None
    """Title and model the session was created with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationContext:
    """The conversation, computed from the history on request."""

    messages: int = 0
    topics: tuple[str, ...] = ()
    """First lines of the newest user requests, oldest first."""
    last_activity_ms: int | None = None
    """Unix time of the newest message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentCall:
    """One tool call. `success` is None until it is answered; `at_ms` is the time of the answer, else of the call."""

    tool_name: str
    at_ms: int
    success: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolState:
    """Calls of one tool among the newest messages."""

    calls: int
    failed: int
    last_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """The newest tool calls, oldest first, and the state of each tool, computed from the history on request."""

    recent_calls: tuple[RecentCall, ...] = ()
    tool_states: Mapping[str, ToolState] = field(default_factory=dict)
    dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Tool -> the tools whose results first named its arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """Fields of a project's manifest."""

    manifest: str
    """Name of the file: pyproject.toml or package.json."""
    name: str | None = None
    version: str | None = None
    dependencies: Mapping[str, str] = field(default_factory=dict)
    """Name -> version range as written; empty if any version will do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceContext:
    """The project that the session works on."""

    project_path: str
    git_branch: str | None = None
    """None outside a repository and on a detached HEAD."""
    git_detached_at: str | None = None
    """Abbreviated commit of a detached HEAD."""
    git_remote: str | None = None
    """URL of `origin`, else of the first remote, without the password."""
    package: Package | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextMetadata:
    """Size, age and priorities of the context."""

    total_tokens: int
    """Size of the current view."""
    budget_tokens: int
    last_updated_ms: int | None
    """Unix time of the newest record."""
    priority: Mapping[str, int] = field(default_factory=lambda: dict(PRIORITIES))
    """Layer -> weight; the text of the context drops the lowest first."""
    relevance_score: Mapping[str, float] | None = None
    """Layer -> share of the query's words it contains, 0 to 1; None without a query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextLayers(JsonReady):
    """All layers. `system` and `workspace` are None if they were never recorded."""

    session: SessionContext
    conversation: ConversationContext
    tool: ToolContext
    metadata: ContextMetadata
    system: SystemContext | None = None
    workspace: WorkspaceContext | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which of the newest messages to read by default; None means no limit. Raises SettingError."""

    max_tokens: int | None = 32_000
    max_messages: int | None = 50
    time_window_s: float | None = 86_400.0
    """Maximum age of a message."""

    def __post_init__(self) -> None:
        for name in ("max_tokens", "max_messages"):
            if getattr(self, name) is not None:
                integer(name, getattr(self, name))
        if self.time_window_s is not None:
            seconds("time_window_s", self.time_window_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Storage:
    """How many messages of the log a session caches in memory, and how it writes. Raises SettingError.

    Compactions, searches and references read messages back from the log; recently read ones are cached.
    """

    messages_held_max: int = MESSAGE_CACHE_ENTRIES_MAX
    large_messages_held_max: int = LARGE_MESSAGE_CACHE_ENTRIES_MAX
    """Limit for messages of more than MESSAGE_CACHE_CHARS_MAX characters."""
    hold_s: float | None = MESSAGE_CACHE_TTL_S
    """Seconds a message stays in the cache; None: until the session is closed."""
    compress: bool = True
    """Deflate long compaction records. Both kinds can always be read."""

    def __post_init__(self) -> None:
        integer("messages_held_max", self.messages_held_max)
        integer("large_messages_held_max", self.large_messages_held_max)
        boolean("compress", self.compress)
        if self.hold_s is not None:
            seconds("hold_s", self.hold_s)


def storage_of(value: object) -> Storage:
    """The option `storage` as a Storage: one, a mapping of its fields, or None for the defaults. Raises SettingError."""
    if isinstance(value, Storage):
        return value
    return Storage(**_fields_of(Storage, "storage", {} if value is None else value))


def filter_of(value: object) -> Filter | None:
    """The option `default_filter` as a Filter: one, a mapping of its fields, or None. Raises SettingError."""
    if value is None or isinstance(value, Filter):
        return value
    return Filter(**_fields_of(Filter, "default_filter", value))


def priorities_of(value: object) -> dict[str, int]:
    """The default layer priorities, updated with the given ones. Raises SettingError."""
    if value is None:
        return dict(PRIORITIES)
    if not isinstance(value, Mapping) or not value.keys() <= PRIORITIES.keys():
        raise SettingError("priorities", f"must be a mapping of some of {', '.join(LAYERS)} to integers")
    return {**PRIORITIES, **{name: integer(f"priorities[{name}]", number) for name, number in value.items()}}


def _fields_of(cls: type, option: str, value: object) -> dict[str, Any]:
    known = {known.name for known in fields(cls)}
    if not isinstance(value, Mapping) or not value.keys() <= known:
        raise SettingError(option, f"must be a {cls.__name__} or a mapping of some of {', '.join(sorted(known))}")
    return dict(value)


def system_of(data: object) -> SystemContext | None:
    """The system layer read from the log; None if the data is not one."""
    if not isinstance(data, Mapping):
        return None
    names = ("os_type", "os_version", "shell", "runtime_version", "cwd")
    return SystemContext(**{name: _text(data.get(name)) or UNKNOWN for name in names})


def workspace_of(data: object) -> WorkspaceContext | None:
    """The workspace layer read from the log; None if the data is not one."""
    path = _text(data.get("project_path")) if isinstance(data, Mapping) else None
    if path is None or not isinstance(data, Mapping):
        return None
    names = ("git_branch", "git_detached_at", "git_remote")
    found = {name: _text(data.get(name)) for name in names}
    return WorkspaceContext(project_path=path, package=_package_of(data.get("package")), **found)


def session_of(
    data: Mapping[str, Any], *, session_id: str, start_ms: int | None, made: Mapping[str, Any]
) -> SessionContext:
    """The session layer: `data` is what was set last, `made` what the session was created with."""
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
