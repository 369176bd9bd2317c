"""The tools of the MCP server as data, and the functions that run them. Knows nothing of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from plimsoll.compaction.references import position_named
from plimsoll.errors import PlimsollError, ReferenceNotFound, SettingError, StoreError
from plimsoll.light.dataclass import dataclass
from plimsoll.limits import MCP_PAGE_CHARS_MAX, MCP_TEXT_ARGUMENT_CHARS_MAX
from plimsoll.mcp.answers import compaction_lines, memory_lines, preview_lines, sendable, status_lines
from plimsoll.mcp.sessions import ServedSessions
from plimsoll.policy.validation import short_repr
from plimsoll.report.figures import number
from plimsoll.report.safe_text import one_line
from plimsoll.session.session import Session

Run: TypeAlias = Callable[[ServedSessions, dict[str, Any]], str]

_MEMORIES, _MEMORIES_MAX = 10, 25


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _whole(description: str, least: int = 1) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "description": description}


_SESSION = _text("The session's name, as status lists it; the running one if left out.")
_FOCUS = _text("What matters now, in a few words: messages about it stay longer.")
_TARGET = _whole("Tokens to come down to; the policy's target if left out.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedTool:
    """One tool. `changes` is True if it changes a session; nothing that it does is lost or final."""

    name: str
    title: str
    description: str
    properties: Mapping[str, Any]
    run: Run
    required: tuple[str, ...] = ()
    changes: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        properties = {name: dict(value) for name, value in self.properties.items()}
        return {
            "type": "object",
            "properties": properties,
            "required": list(self.required),
            "additionalProperties": False,
        }

    def call(self, sessions: ServedSessions, arguments: Mapping[str, Any] | None) -> str:
        """Run it and return an answer of bounded size. Raises SettingError for wrong arguments, and what the session raises."""
        return sendable(self.run(sessions, checked_arguments(arguments, self.schema)))


def _recall(sessions: ServedSessions, given: dict[str, Any]) -> str:
    names = sessions.searched(given.get("session"))

    def hits(session: Session) -> str | None:
        if not session.recall(given["query"], limit=1, shown=True):
            return None
        return _answer(session, "recall", {"query": given["query"]})

    found, unread = _first_in(sessions, names, hits)
    if found is None:
        searched = f"session {names[0]}" if len(names) == 1 else f"the sessions {', '.join(names)}"
        found = f"Nothing found in {searched}. Try other words, such as a name, a path or a number."
    return "\n".join((found, *(f"[not searched: {one_line(str(error), 300)}]" for error in unread)))


def _read(sessions: ServedSessions, given: dict[str, Any]) -> str:
    reference = given["reference"]
    names = sessions.searched(given.get("session"))

    def text(session: Session) -> str | None:
        try:
            session.read(reference, limit=1)
        except ReferenceNotFound:
            return None
        page = {
            "offset": given.get("offset", 0),
            "limit": min(given.get("limit", MCP_PAGE_CHARS_MAX), MCP_PAGE_CHARS_MAX),
        }
        return _answer(session, "read", {"reference": reference, **page})

    found, unread = _first_in(sessions, names[:1] if position_named(reference) is not None else names, text)
    if found is None:
        raise next(iter(unread), ReferenceNotFound(reference))  # it may be in one of those
    return found


def _first_in(
    sessions: ServedSessions, names: Sequence[str], look: Callable[[Session], str | None]
) -> tuple[str | None, list[PlimsollError]]:
    """What `look` finds in the first session that has it, and why sessions before it could not be read, where there are several."""
    unread: list[PlimsollError] = []
    for name in names:
        try:
            with sessions.reading(name) as session:
                found = look(session)
            if found is not None:
                return f"[session {name}]\n{found}", unread
        except StoreError as error:
            if len(names) == 1:
                raise
            unread.append(error)
    return None, unread


def _answer(session: Session, kind: str, arguments: Mapping[str, Any]) -> str:
    """What the session's own tool of that kind answers; its name is another one if a host's tool has the usual one."""
    names = [tool["function"]["name"] for tool in session.tools()]
    chosen = dict(zip(("recall", "read"), names, strict=True))[kind]
    return session.call_tool(chosen, arguments, shown=True)  # a client's window is not the session's view


def _memory_search(sessions: ServedSessions, given: dict[str, Any]) -> str:
    with sessions.memories() as memories:
        found = memories.search(given["query"], limit=min(given.get("limit", _MEMORIES), _MEMORIES_MAX))
    return "\n".join(memory_lines(found)) if found else "No memory matches. Try other words, or recall."


def _status(sessions: ServedSessions, given: dict[str, Any]) -> str:
    listed = sessions.listed()
    if not listed and "session" not in given and sessions.name is None:
        return "There is no session yet."
    with sessions.reading(sessions.meant(given.get("session"))) as session:
        return "\n".join(status_lines(session, listed))


def _preview(sessions: ServedSessions, given: dict[str, Any]) -> str:
    with sessions.reading(sessions.meant(given.get("session"))) as session:
        plan = session.preview(focus=given.get("focus"), target_tokens=given.get("target_tokens"))
        return "\n".join(preview_lines(session.name, plan.report))


def _compact(sessions: ServedSessions, given: dict[str, Any]) -> str:
    with sessions.writing(sessions.meant(given.get("session"))) as session:
        compaction = session.compact(focus=given.get("focus"), target_tokens=given.get("target_tokens"))
        return "\n".join(compaction_lines(session.name, compaction))


def _rollback(sessions: ServedSessions, given: dict[str, Any]) -> str:
    with sessions.writing(sessions.meant(given.get("session"))) as session:
        undone = session.rollback(given.get("compaction"))
        tokens = number(session.status().current_tokens)
        return f"session {session.name}: compaction {undone.id} is undone; the view has {tokens} tokens"


TOOLS: Sequence[ServedTool] = (
    ServedTool(
        name="recall",
        title="Search the earlier conversation",
        description=(
            "Search everything said earlier, also what a compaction took out: messages, tool calls and tool results of the running "
            "session, then of those before it. Use it after a compaction, or when something known earlier is missing. Answers "
            "with excerpts, each with its message (such as m12), who said it, and a reference for read."
        ),
        properties={
            "query": _text("Words that the text has in it: names, identifiers, paths, numbers."),
            "session": _SESSION,
        },
        required=("query",),
        run=_recall,
    ),
    ServedTool(
        name="read",
        title="Read an earlier text in full",
        description=(
            "Read an earlier text in full by its reference (such as m12.0-3fa9c1d2), as recall gives it and as stands where text "
            "was cut, or a whole message by its name (such as m12). A long text comes in pages: read on with offset."
        ),
        properties={
            "reference": _text("The reference, such as m12.0-3fa9c1d2, or m12 for the whole message."),
            "offset": _whole("Character to begin at; 0 if left out.", least=0),
            "limit": _whole("Characters to read at most; a page if left out."),
            "session": _SESSION,
        },
        required=("reference",),
        run=_read,
    ),
    ServedTool(
        name="memory_search",
        title="Search what is remembered of earlier sessions",
        description=(
            "Search the facts that are kept across sessions: the user's preferences and conditions, decisions, names, values. Each "
            "comes with who said it, when, and in which session. Use it at the beginning of a task."
        ),
        properties={
            "query": _text("A few words to look for."),
            "limit": _whole("Memories at most; 10 if left out."),
        },
        required=("query",),
        run=_memory_search,
    ),
    ServedTool(
        name="status",
        title="How full the context is",
        description="Show how full a session's view is, its compactions, and which sessions there are. Changes nothing.",
        properties={"session": _SESSION},
        run=_status,
    ),
    ServedTool(
        name="preview",
        title="Preview a compaction",
        description="Show what compact would do to a session's view now, and the summary it would write. Changes nothing.",
        properties={"focus": _FOCUS, "target_tokens": _TARGET, "session": _SESSION},
        run=_preview,
    ),
    ServedTool(
        name="compact",
        title="Compact a session",
        description="Make a session's view smaller now. The history stays whole, and rollback undoes it.",
        properties={"focus": _FOCUS, "target_tokens": _TARGET, "session": _SESSION},
        changes=True,
        run=_compact,
    ),
    ServedTool(
        name="rollback",
        title="Undo a compaction",
        description="Undo a compaction of a session and those after it: its view is again what it was.",
        properties={
            "compaction": _text("The compaction, as status names it; the newest if left out."),
            "session": _SESSION,
        },
        changes=True,
        run=_rollback,
    ),
)
"""In the order in which clients list them."""


Schema = Mapping[str, Any]
"""A JSON Schema object whose properties are strings and integers."""


def checked_arguments(given: Mapping[str, Any] | None, schema: Schema) -> dict[str, Any]:
    """The given arguments without those that are null. Models also write 100.0 for 100.

    Raises SettingError, which names the argument and what it may be.
    """
    properties: Schema = schema["properties"]
    found = {name: value for name, value in (given or {}).items() if value is not None}
    for name in found:
        if name not in properties:
            raise SettingError(short_repr(name), f"there is no such argument; there are {', '.join(properties)}")
    for name in schema.get("required", ()):
        if name not in found:
            raise SettingError(name, f"is needed: {properties[name]['description']}")
    return {name: _checked(name, value, properties[name]) for name, value in found.items()}


def _checked(name: str, value: Any, schema: Schema) -> Any:
    if schema["type"] == "string":
        if not isinstance(value, str) or not value.strip():
            raise SettingError(name, f"text is needed, not {short_repr(value)}")
        if len(value) > MCP_TEXT_ARGUMENT_CHARS_MAX:
            raise SettingError(name, f"at most {MCP_TEXT_ARGUMENT_CHARS_MAX:,} characters, not {len(value):,}")
        return value.strip()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    least = schema.get("minimum", 0)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise SettingError(name, f"a whole number from {least} on is needed, not {short_repr(value)}")
    return value
