"""Classify a tool call by its name and arguments: read, edit, search, shell or other."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.summary.ledger.sentences import line

if TYPE_CHECKING:
    from collections.abc import Mapping

Action: TypeAlias = Literal["read", "edit", "search", "shell", "plan", "delegate", "other"]

_WORD_START = r"(?:\A|[\W_]|(?<=[a-z0-9])(?=[A-Z]))"
_NAMED: tuple[tuple[Action, str], ...] = (
    ("delegate", "(?:sub_?)?agent(?!s?_?id)|explore|delegate"),
    ("plan", "todo|update_plan|plan_update|set_plan"),
    (
        "edit",
        "(?:multi_?|notebook_?)?edit(?!ion)|write|apply_patch|str_?replace|replace|insert|create_?file|patch|delete_?file",
    ),
    ("shell", "bash|shell|exec|terminal|run_?command|run_?tests?|command|powershell"),
    ("search", "grep|glob|(?:web|code|file)?search|find|list_?dir|list_?files|ls(?![a-z])|tree(?![a-z])"),
    ("read", "read|view|cat(?![a-z])|open_?file|get_?file"),
)
"""Starts of words in a tool's name, in order of precedence; without one, the arguments decide."""

_ACTIONS = tuple((action, regex(f"{_WORD_START}(?i:{words})")) for action, words in _NAMED)
_VERBS = (
    "accept|activate|add|apply|approve|assign|bind|block|book|buy|cancel|charge|clean|close|confirm|cool|create|deactivate|delete|deploy"
    "|disable|dispatch|drop|edit|enable|escalate|exchange|freeze|grant|heat|hold|insert|invite|issue|join|merge|modify|move|notify"
    "|open_(?:account|case|claim|position|ticket)|order|pay|place|post|promote|publish|purchase|put|reboot|refuel|refund|register|reject|release"
    "|remove|rename|renew|replace|reply|request|reserve|reset|resolve|restart|resume|return|revoke|roll_?back|save|schedule|sell|send|set"
    "|share|start|stop|submit|subscribe|suspend|take|terminate|toggle|transfer(?!_?to)|trigger|unlock|update|upgrade|upload|withdraw|write"
)
_ACTING = regex(rf"{_WORD_START}(?i:{_VERBS})(?![a-z])")
"""A word in a tool's name which says that it changes something."""

_LOOKING = regex(
    rf"{_WORD_START}(?i:calc(?:ulate)?|check|count|describe|fetch|find|get|inspect|list|look_?up|query|read|retrieve|review"
    r"|search|show|view)(?![a-z])"
)
"""A word that says it only looks, also where what it looks at is called like something done: `get_order`."""

_ACTING_CODE = regex(rf"\b(?:{_VERBS})_\w{{1,60}}\(")
"""The call of such a function in code."""

_CODE_CHARS = 400

_WRITTEN = regex(
    r"(?i:(?:\A|_)(?:answer|body|comment|content|description|fact|finding|lesson|memo|message|note|observation|reply|summary|text)s?\Z)"
)
"""The names of arguments that hold what an agent writes for others or for later."""

_WRITTEN_CHARS_MIN = 40

_PATH_KEYS = tuple("file_path path filename notebook_path target_file file target destination filePath".split())
_COMMAND_KEYS = ("command", "cmd", "script", "code")
_EDIT_KEYS = frozenset(
    {"old_str", "new_str", "old_string", "new_string", "content", "oldText", "newText", "edits", "patch"}
)
_ARGUMENTS_CHARS_MAX = 65_536  # bounds the time to parse JSON
_NAME_CHARS_MAX = 80
_BRIEF_CHARS_MAX = 60
_CD_PREFIX = regex(r"\A\s{0,8}cd [^&;\n]{1,200}(?:&&|;)\s{0,8}")
"""A leading `cd`, which many consecutive commands repeat."""

_NAMES_MAX = 512  # cached names
_PATCH_FILE = regex(r"^\*\*\* (?:Add|Update|Delete) File: (\S[^\n]{0,300})", re.MULTILINE)
_VIEW_COMMANDS = ("view", "read", "undo_edit")


class Call(NamedTuple):
    """A classified tool call."""

    name: str
    action: Action
    paths: tuple[str, ...]
    command: str
    """The shell command; empty for other actions."""
    arguments: dict[str, Any]
    brief: str
    """A short description, for labels."""


UNKNOWN = Call("", "other", (), "", {}, "")
"""Stands in for the call of a result whose call was not seen."""


def understand(name: str, arguments: str) -> Call:
    """Classify a call. Malformed, oversized or wrongly typed arguments give a call without details; never raises."""
    fields, patch = _fields(arguments)
    action = _action(name, fields)
    command = _command(fields) if action in ("shell", "other") else ""
    if action == "other" and command:
        action = "shell"
    paths = tuple(
        text
        for key in _PATH_KEYS
        if isinstance(text := fields.get(key), str) and 0 < len(text) <= 300 and "\n" not in text
    )
    if "*** " in patch or (action == "edit" and not paths):
        paths = (*paths, *_PATCH_FILE.findall(arguments.replace("\\n", "\n")[:_ARGUMENTS_CHARS_MAX])[:40])
    if action == "edit" and fields and not paths and _EDIT_KEYS.isdisjoint(fields):
        action = "other"  # it changes no file: `insert_row`, `edit_booking`
    return Call(name, action, paths, command, fields, _brief(name, action, paths, command, fields))


def _fields(arguments: str) -> tuple[dict[str, Any], str]:
    """Return the arguments as an object and as text. The text is for tools that take a plain patch."""
    if len(arguments) > _ARGUMENTS_CHARS_MAX:
        return _cut_fields(arguments), ""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return {}, arguments
    if isinstance(value, dict):
        return value, ""
    return {}, value if isinstance(value, str) else ""


_PAIR = regex(r'"([A-Za-z_]{1,24})"\s{0,4}:\s{0,4}"([^"\\\n]{1,300})"')


def _cut_fields(arguments: str) -> dict[str, Any]:
    """Return the short string arguments of a call too large to parse, from its head and tail."""
    return dict(_PAIR.findall(arguments[:2_000] + "\n" + arguments[-2_000:]))


def acts(call: Call) -> bool:
    """Return whether a call changes something beside files, judging by the tool's name or the functions in its code."""
    if call.action == "shell":
        code = call.command[:_CODE_CHARS]
        return "(" in code and _ACTING_CODE.search(code) is not None
    return call.action in ("other", "read", "search") and _acts(call.name[:_NAME_CHARS_MAX])


def written(call: Call) -> list[str]:
    """Return what the agent itself says in a call: the text of a note, a comment or a message, not of a file or a query."""
    is_of_file = bool(call.paths) and call.action != "other"
    if is_of_file or call.command or call.action == "plan" or _LOOKING.search(_own_name(call.name[:_NAME_CHARS_MAX])):
        return []
    fields = call.arguments.items()
    return [
        text
        for name, text in fields
        if isinstance(text, str) and len(text) >= _WRITTEN_CHARS_MIN and _WRITTEN.search(name)
    ]


@lru_cache(_NAMES_MAX)
def _acts(name: str) -> bool:
    own = _own_name(name)
    return _ACTING.search(own) is not None and _LOOKING.search(own) is None


def may_edit(name: str) -> bool:
    """Return whether a tool may change files, judging by its name alone."""
    return _may_edit(name[:_NAME_CHARS_MAX])


@lru_cache(_NAMES_MAX)
def _may_edit(name: str) -> bool:
    return dict(_ACTIONS)["edit"].search(_own_name(name)) is not None


def _action(name: str, fields: dict[str, Any]) -> Action:
    if fields.get("command") in _VIEW_COMMANDS and name.rsplit("__", 1)[-1].lower().startswith("str_replace"):
        return "read"
    if action := _named_action(name[:_NAME_CHARS_MAX]):
        return action
    if any(key in fields for key in _PATH_KEYS[:4]):
        return "edit" if not _EDIT_KEYS.isdisjoint(fields) else "read"
    return "other"


@lru_cache(_NAMES_MAX)
def _named_action(name: str) -> Action | None:
    """Return the action a tool's name implies. Cached, because an agent calls few tools often."""
    own = _own_name(name)
    lowered = own.lower()
    if lowered.startswith(("task", "todo")):
        return "delegate" if lowered in ("task", "taskoutput") else "plan"
    return next((action for action, words in _ACTIONS if words.search(own)), None)


def _own_name(name: str) -> str:
    """Return the name without that of the server which offers the tool."""
    return name.rsplit("__", 1)[-1]


def _command(fields: dict[str, Any]) -> str:
    for key in _COMMAND_KEYS:
        value = fields.get(key)
        if isinstance(value, list) and all(isinstance(word, str) for word in value[:64]):
            # ["bash", "-lc", "the command"], as Codex sends it.
            value = value[2] if len(value) == 3 and value[1] in ("-c", "-lc") else " ".join(value[:64])
        if isinstance(value, str) and value.strip():
            return value[:4_000]
    return ""


def is_cell(fields: Mapping[str, object]) -> bool:
    """Return whether these are the arguments of a call that runs a cell of code, not a command of a shell."""
    return "code" in fields


def brief_of(command: str) -> str:
    """Return the short description of a shell command."""
    return line(_CD_PREFIX.sub("", command), _BRIEF_CHARS_MAX)


def _brief_of_code(name: str, code: str) -> str:
    """Return the short description of a cell of code: the comment it begins with, else a short cell, else the tool's name."""
    first = code.lstrip().partition("\n")[0]
    if first[:1] == "#":
        return brief_of(first)
    return brief_of(code) if len(code) <= _BRIEF_CHARS_MAX else line(name, 40)


def _brief(name: str, action: Action, paths: tuple[str, ...], command: str, fields: dict[str, Any]) -> str:
    if command:
        return _brief_of_code(name, command) if is_cell(fields) else brief_of(command)
    if paths and (action != "other" or len(fields) == 1):
        return f"{line(name, 40)} {paths[0].rsplit('/', 1)[-1]}"
    if action == "plan":
        return line(name, 40)
    values = [line(str(value), 40) for value in fields.values() if isinstance(value, (str, int)) and value != ""][:3]
    return f"{line(name, 40)}({line(', '.join(values), _BRIEF_CHARS_MAX - 2 - min(len(name), 40))})"
