"""What plimsoll puts into the settings of a coding agent, and how it is put in and taken out as text."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from plimsoll.errors import FormatError
from plimsoll.hooks import json_edits
from plimsoll.light.dataclass import dataclass
from plimsoll.light.regex import regex

Spans: TypeAlias = "list[tuple[int, int]]"
Kind: TypeAlias = Literal["json", "toml"]

_BEGIN = "# plimsoll: `plimsoll install codex --undo` takes this out"
_END = "# plimsoll: end"
_BLOCK = regex(rf"(?:(?<=\n)\r?\n)?{_BEGIN}\r?\n.*?{_END}(?:\r?\n|\Z)", re.DOTALL)
_OWN_COMMAND = regex(r"plimsoll['\"]?(?:\.exe['\"]?)? hook(?: |$)", re.IGNORECASE)
_SERVER = "plimsoll"
_MATCHER = "compact|resume|clear"
_TIMEOUT_S = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsEntries:
    """What goes into one file."""

    kind: Kind
    events: tuple[str, ...] = ()
    """The events to be called at."""
    command: str = ""
    """The command line to be called with."""
    server: tuple[str, ...] = ()
    """The words that start the MCP server; none: it is not put in here."""


def put_in(text: str, entries: SettingsEntries) -> tuple[str, Spans]:
    """A settings file's text with the entries, and where they stand in it. Raises FormatError where it cannot be read."""
    return _put_into_json(text, entries) if entries.kind == "json" else _put_into_toml(text, entries)


def taken_out(text: str, kind: Kind) -> str:
    """A settings file's text without entries of plimsoll's, found by what they say. Raises FormatError."""
    return _BLOCK.sub("", text) if kind == "toml" else _taken_out_of_json(text)


def hooks_switch(text: str, kind: Kind) -> tuple[str, bool] | None:
    """The setting by which a file says whether its tool runs hooks, and whether it does. None where it is silent.

    Raises: FormatError.
    """
    if kind == "json":
        found = _flag(text, "disableAllHooks")
        return None if found is None else ("disableAllHooks", not found)
    features = _toml(text).get("features")
    held = features if isinstance(features, dict) else {}
    said = [(f"features.{name}", held[name]) for name in ("hooks", "codex_hooks") if isinstance(held.get(name), bool)]
    return min(said, key=lambda one: one[1], default=None)


def managed_switch(text: str, kind: Kind) -> tuple[str, bool] | None:
    """As `hooks_switch`, in an administrator's settings of Claude Code, which may allow no hooks but their own."""
    return ("allowManagedHooksOnly", False) if _flag(text, "allowManagedHooksOnly") else hooks_switch(text, kind)


def _flag(text: str, name: str) -> bool | None:
    """A member of a JSON object that is True or False; None for any other. Raises FormatError."""
    found = (json_edits.parse(text).members or {}).get(name)
    return found.value if found is not None and isinstance(found.value, bool) else None


def _put_into_json(text: str, entries: SettingsEntries) -> tuple[str, Spans]:
    if not text.strip():
        whole = json.dumps(_document(entries), indent=2, ensure_ascii=False) + "\n"
        return text + whole, [(len(text), len(text) + len(whole))]
    root = json_edits.parse(text)
    inside = json_edits.Insertions(text)
    missing: dict[str, Any] = {}
    for name, wanted in _document(entries).items():
        held = _object(root).get(name)
        if held is None:
            missing[name] = wanted
        elif name == "hooks":
            _add_events(inside, held, wanted)
        else:
            inside.add_members(held, _new_members(held, wanted, name))
    if missing:
        inside.add_members(root, missing)
    return inside.result()


def _document(entries: SettingsEntries) -> dict[str, Any]:
    """The entries as a settings file has them."""
    found: dict[str, Any] = {}
    if entries.events:
        found["hooks"] = {event: [_group(event, entries.command)] for event in entries.events}
    if entries.server:
        server = {"type": "stdio", "command": entries.server[0], "args": list(entries.server[1:])}
        found["mcpServers"] = {_SERVER: server}
    return found


def _group(event: str, command: str) -> dict[str, Any]:
    handler = {"type": "command", "command": command, "timeout": _TIMEOUT_S}
    return {**({"matcher": _MATCHER} if event == "SessionStart" else {}), "hooks": [handler]}


def _add_events(inside: json_edits.Insertions, held: json_edits.Node, wanted: Mapping[str, Any]) -> None:
    events = _object(held, "hooks")
    for event, groups in wanted.items():
        if event in events:
            if events[event].items is None:
                raise FormatError(f"hooks.{event} is not a list")
            inside.add_items(events[event], groups)
    if missing := {event: groups for event, groups in wanted.items() if event not in events}:
        inside.add_members(held, missing)


def _new_members(held: json_edits.Node, wanted: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The members to add to an object. Raises FormatError where one of that name is there."""
    known = _object(held, name)
    if taken := [key for key in wanted if key in known]:
        raise FormatError(f"{name}.{taken[0]} is there already, and plimsoll did not put it there")
    return dict(wanted)


def _object(node: json_edits.Node, name: str = "it") -> Mapping[str, json_edits.Node]:
    if node.members is None:
        raise FormatError(f"{name} is not a JSON object")
    return node.members


def _taken_out_of_json(text: str) -> str:
    """One entry after the other, each with the text read anew, until there is none."""
    while text.strip() and (spans := next(_own_spans(text), None)) is not None:
        text = json_edits.without(text, spans)
    return text


def _own_spans(text: str) -> Iterator[Spans]:
    """What to take out for each entry; what is empty without it goes with it."""
    root = json_edits.parse(text)
    hooks = (root.members or {}).get("hooks")
    for event, groups in ((hooks.members or {}) if hooks else {}).items():
        for index, group in enumerate(groups.items or ()):
            handlers = (group.members or {}).get("hooks")
            own = [at for at, one in enumerate((handlers.items or ()) if handlers else ()) if _is_own(one)]
            if not own or handlers is None or hooks is None:
                continue
            if len(own) < len(handlers.items or ()):
                yield json_edits.spans_of_item(text, handlers, own[0])
            elif len(groups.items or ()) > 1:
                yield json_edits.spans_of_item(text, groups, index)
            elif len(hooks.members or ()) > 1:
                yield json_edits.spans_of_member(text, hooks, event)
            else:
                yield json_edits.spans_of_member(text, root, "hooks")
    servers = (root.members or {}).get("mcpServers")
    if servers is not None and _is_own_server((servers.members or {}).get(_SERVER)):
        alone = len(servers.members or ()) == 1
        holder, name = (root, "mcpServers") if alone else (servers, _SERVER)
        yield json_edits.spans_of_member(text, holder, name)


def _is_own(handler: json_edits.Node) -> bool:
    command = handler.data().get("command") if handler.members is not None else None
    return isinstance(command, str) and _OWN_COMMAND.search(command) is not None


def _is_own_server(server: json_edits.Node | None) -> bool:
    data = None if server is None or server.members is None else server.data()
    args = data.get("args") if data else None
    return isinstance(args, list) and "mcp" in args


def _put_into_toml(text: str, entries: SettingsEntries) -> tuple[str, Spans]:
    before = _toml(text)
    line = "\r\n" if "\r\n" in text else "\n"
    lead = "" if not text else ("" if text.endswith("\n") else line) + line
    fragment = lead + line.join([_BEGIN, *_toml_lines(entries), _END, ""])
    after = _toml(text + fragment)
    if not _holds(after, before):
        raise FormatError("what is in it would be read otherwise with more tables after it")
    return text + fragment, [(len(text), len(text) + len(fragment))]


def _toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(str(error)[:200] or "nested too deeply") from None


def _toml_lines(entries: SettingsEntries) -> list[str]:
    lines: list[str] = []
    for event in entries.events:
        group = _group(event, entries.command)
        lines.append(f"[[hooks.{event}]]")
        lines += [f"matcher = {_quoted(group['matcher'])}"] if "matcher" in group else []
        lines.append(f"[[hooks.{event}.hooks]]")
        lines += [
            f"{name} = {value if isinstance(value, int) else _quoted(value)}"
            for name, value in group["hooks"][0].items()
        ]
    if entries.server:
        command, *words = entries.server
        listed = ", ".join(map(_quoted, words))
        lines += [f"[mcp_servers.{_SERVER}]", f"command = {_quoted(command)}", f"args = [{listed}]"]
    return lines


def _quoted(text: str) -> str:
    """A basic string of TOML, which JSON's are, but for the DEL character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _holds(after: Any, before: Any) -> bool:
    """Whether all that was there is there still; lists may have grown at their ends."""
    if isinstance(before, dict):
        return isinstance(after, dict) and all(
            name in after and _holds(after[name], one) for name, one in before.items()
        )
    if isinstance(before, list) and isinstance(after, list):
        return len(after) >= len(before) and all(map(_holds, after, before))
    return bool(after == before) or repr(after) == repr(before)


def has_toml_hooks(text: str) -> bool:
    """Whether a Codex configuration has hooks in it. Raises FormatError."""
    hooks = _toml(text).get("hooks")
    return isinstance(hooks, dict) and any(isinstance(one, list) and one for one in hooks.values())
