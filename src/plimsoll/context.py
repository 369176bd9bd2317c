"""Where a session runs and what it is about, in layers: system, session, conversation, tools, workspace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from plimsoll.errors import SettingError
from plimsoll.settings import shown, whole

UNKNOWN = "unknown"
"""What a field says when the computer does not."""


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
    preferences: Mapping[str, Any] = field(default_factory=dict)
    configuration: Mapping[str, Any] = field(default_factory=dict)
    start_ms: int | None = None
    """Unix time of its first record; None where that is unreadable."""
    title: str | None = None
    model: str | None = None
    """Title and model that it was made with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationContext:
    """What was said: computed from the history when asked for."""

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
    """Of the view as it stands."""
    budget_tokens: int
    last_updated_ms: int | None
    """Unix time of the newest record of any kind."""


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
    """Which of the newest messages are looked at where nobody says. None is no bound. Raises SettingError."""

    max_tokens: int | None = 32_000
    max_messages: int | None = 50
    time_window_s: float | None = 86_400.0
    """How old a message may be."""

    def __post_init__(self) -> None:
        for name in ("max_tokens", "max_messages"):
            if getattr(self, name) is not None:
                whole(name, getattr(self, name))
        window = self.time_window_s
        if window is not None and (isinstance(window, bool) or not isinstance(window, (int, float)) or not window >= 0):
            raise SettingError("time_window_s", f"seconds are needed, not {shown(window)}")


def filter_of(value: object) -> Filter | None:
    """A filter as it is given: a Filter, or some of its bounds, the others as they are by default. Raises SettingError."""
    if value is None or isinstance(value, Filter):
        return value
    known = {known.name for known in fields(Filter)}
    if not isinstance(value, Mapping) or not value.keys() <= known:
        raise SettingError("default_filter", f"a Filter or some of {', '.join(sorted(known))} are needed")
    return Filter(**value)


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
