"""Actions in the text of an answer: the call of a tool, as agents write it that use no tool calls of the provider.

A command in the last code block, `Action:` lines as of ReAct, tags such as `<execute_bash>`, or a JSON object with an action.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex

_FENCED = regex(r"```([\w+-]{0,20})[^\S\n]{0,8}\n(.*)\n?```\s{0,8}\Z", re.DOTALL)
_INLINE = regex(r"```([^`\n]{1,400})```[^\S\n]{0,4}\Z")
_ACTION = regex(
    r"^\s{0,8}\**action(?: [0-9]{1,3})?\**:\**\s{0,8}([^\n]{1,4000})"
    r"(?:\n\s{0,8}\**action input(?: [0-9]{1,3})?\**:\**\s{0,8}(.{0,8000}))?",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_BRACKETS = regex(r"([a-z_]\w{0,40})\s?[\[(](.{0,4000})[\])]\s{0,8}\Z", re.IGNORECASE | re.DOTALL)
_END_TAG = regex(r"</([A-Za-z]\w{0,40})>\s{0,8}\Z")
_TAG = regex(
    r"<(?:(?:function|invoke|tool)(?:=|\s{1,4}name=\")(?P<named>[\w.-]{1,60})\"?|(?P<tag>[A-Za-z]\w{0,40}))>\s{0,8}"
)
_FIELD_TAG = regex(r"<(?:parameter(?:=|\s{1,4}name=\"))?(\w{1,40})\"?>")
_LEAD = regex(
    r"\A\s{0,8}(?:discussion|thought|reasoning)s?(?: [0-9]{1,3}(?=:))?:?\s{1,8}|\s{1,8}(?:command|action):?\s{0,8}\Z"
    r"|\ncode:\s{0,8}\Z"
    r"|(?:\A|(?<=[.!?\n]))[^.!?\n]{0,60}\b(?:next|following) action\b[^.!?\n]{0,40}\Z",
    re.IGNORECASE,
)
_THOUGHT = regex(r"^\s{0,8}\**(?:thought|think|reasoning)s?(?: [0-9]{1,3})?\**:", re.IGNORECASE | re.MULTILINE)
_CALL_TAGS = regex(
    r"</(?:function|invoke|function_calls|tool_calls?|tool_use|code|action|execute_\w{1,40})>\s{0,8}\Z", re.IGNORECASE
)
_NAME_KEYS = ("action", "actions", "tool", "tool_name", "tool_call", "tool_calls", "function", "command", "commands")
_ARGUMENT_KEYS = ("action_input", "tool_input", "arguments", "parameters", "args", "input", "kwargs", "tool_args")
_TYPED = ("keystrokes", "command", "cmd", "code")
_SAID_CHARS_MIN = 12
"""A shorter field of an answer in JSON is a status or a name."""

_SHELLS = frozenset(("", "bash", "sh", "shell", "zsh", "console"))
_END_TAG_CHARS, _INLINE_CHARS, _LEAD_CHARS = 60, 500, 80
_SEARCHED_CHARS = 20_000
"""An action stands in this much of the end of an answer."""


class TextCall(NamedTuple):
    """An action that an answer asks for in its text."""

    said: str
    """The text in front of it."""
    name: str
    arguments: str
    """JSON text."""


def action_in(text: str) -> TextCall | None:
    """The action at the end of an answer, if there is one."""
    if (found_object := _object(text)) is not None:
        return found_object
    skipped = max(0, len(text) - _SEARCHED_CHARS)
    end = text[skipped:]
    for read in (_fenced, _inline, _labelled, _tagged):
        if (found := read(end)) is not None:
            start, name, arguments = found
            said = _LEAD.sub("", text[: skipped + start])
            return TextCall(said, name, json.dumps(arguments, ensure_ascii=False))
    return None


def demands_output(text: str) -> bool:
    """Whether an answer is written for a program, which sends back what its action gave: a person would not be answered so."""
    is_labelled = ":" in text and "action" in text.lower()
    if not is_labelled and not text.rstrip().endswith((">", "}", "```")):  # which spares most talk the patterns
        return False
    end = text[-_SEARCHED_CHARS:]
    if _CALL_TAGS.search(text[-_END_TAG_CHARS:]) is not None:
        return True
    if _THOUGHT.search(end) is not None and _ACTION.search(end) is not None:
        return True
    if (inline := _inline(text)) is not None and "action" in text[max(0, inline[0] - _LEAD_CHARS) : inline[0]]:
        return True
    return _object(text) is not None


def data_in(text: str) -> str | None:
    """The quoted field of the action, in JSON that may be data: the action is one word, beside neither arguments nor a sentence."""
    value = _json_at_end(text)
    key = next((key for key in _NAME_KEYS if value.get(key)), "")
    is_word = isinstance(named := value.get(key), str) and " " not in named
    is_data = is_word and not any(
        other in _ARGUMENT_KEYS or _said(field) for other, field in value.items() if other != key
    )
    return f'"{key}"' if is_data else None


def _object(text: str) -> TextCall | None:
    """The action of an answer that is a JSON object, alone or behind what was thought; what its other fields say is said."""
    value = _json_at_end(text)
    key = next((key for key in _NAME_KEYS if value.get(key)), "")
    if not key:
        return None
    name, arguments = _asked(value[key], value)
    said = "\n".join(_said(field) for other, field in value.items() if other != key and other not in _ARGUMENT_KEYS)
    return TextCall(said.strip(), name[:60], json.dumps(arguments, ensure_ascii=False)) if name else None


def _json_at_end(text: str) -> Mapping[str, Any]:
    """The object that an answer is, also in a code block or behind closed thinking; empty if it is none."""
    if not (bare := text.rstrip().removesuffix("```").rstrip()).endswith("}") or len(bare) > _SEARCHED_CHARS * 4:
        return {}
    start = max(bare.find("```json\n") + len("```json\n"), 0) if "```json\n" in bare else bare.find("{")
    if "```json\n" not in bare and bare[:start].strip() and not bare[:start].rstrip().endswith((">", ":")):
        return {}
    try:
        value = json.loads(bare[start:])
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _asked(action: object, around: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The name and the arguments of an action: its name alone, an object, or a list of either."""
    while isinstance(action, list):
        typed = [str(step[key]) for step in action if isinstance(step, dict) for key in _TYPED if key in step]
        if typed:
            return "bash", {"command": "\n".join(line.rstrip("\n") for line in typed)}
        action, around = next(iter(action), ""), {}
    if isinstance(action, dict):
        return _of_object(action)
    if not isinstance(action, str):
        return "", {}
    given = next((around[key] for key in _ARGUMENT_KEYS if key in around), None)
    if given is None:
        return ("bash", {"command": action}) if " " in action else (action, {})
    return action, given if isinstance(given, dict) else {"input": given}


def _of_object(action: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The name and the arguments of an object with a name, or of one whose key is the name: `{"click": {"index": 3}}`."""
    if isinstance(name := action.get("name", action.get("function")), str):
        return name, next((found for key in _ARGUMENT_KEYS if isinstance(found := action.get(key), dict)), {})
    name, given = next(iter(action.items()), ("", {}))
    return name, given if isinstance(given, dict) else {"input": given}


def _said(field: object) -> str:
    """The sentences in a field, or in the fields of the object in it, at any depth."""
    said, unread = list[str](), [field]
    while unread:
        found = unread.pop()
        if isinstance(found, dict):
            unread += reversed(found.values())
        elif isinstance(found, str) and len(found) >= _SAID_CHARS_MIN:
            said.append(found)
    return "\n".join(said)


def _fenced(text: str) -> tuple[int, str, dict[str, Any]] | None:
    """The last code block, if the answer ends with it. The command of a shell, or a program."""
    text = text.rstrip().removesuffix("<end_code>")
    opening = text.rfind("\n```", 0, text.rstrip().rfind("```"))
    opening = 0 if opening < 0 and text.startswith("```") else opening
    found = _FENCED.search(text, max(0, opening)) if opening >= 0 else None
    if found is None:
        return None
    language, body = found[1].lower(), found[2].strip()
    return (found.start(), *(_command(body) if language in _SHELLS else (language, {"code": body})))


def _inline(text: str) -> tuple[int, str, dict[str, Any]] | None:
    """Code in the last line: the verb of a browser and what it is for, or a command."""
    found = _INLINE.search(text[-_INLINE_CHARS:].rstrip())
    if found is None:
        return None
    verb, _, rest = found[1].strip().partition(" ")
    return text.rstrip().rfind("```", 0, -3), verb[:60], {"input": rest}


def _command(body: str) -> tuple[str, dict[str, Any]]:
    """A command of a shell; what opens or makes a file is named as such."""
    verb, _, rest = body.partition("\n")[0].partition(" ")
    path = rest.split(" ")[0].strip("\"'")
    if verb in ("open", "create", "view") and path:
        return f"{verb}_file", {"path": path}
    return "bash", {"command": body}


def _labelled(text: str) -> tuple[int, str, dict[str, Any]] | None:
    """`Action:` and `Action Input:`, or `Action: name[input]`."""
    found = None
    for found in _ACTION.finditer(text):  # noqa: B007 - the last one is meant
        pass
    if found is None:
        return None
    name, given = found[1].strip(), found[2]
    if given is None and (call := _BRACKETS.match(name)):
        name, given = call[1], call[2]
    elif given is None:
        name, _, given = name.partition(" ")  # go to cabinet 4
    return found.start(), name[:60], _arguments(given or "")


def _tagged(text: str) -> tuple[int, str, dict[str, Any]] | None:
    """The tags that the answer ends with: a name, and between its tags fields, a command or JSON text."""
    end = _END_TAG.search(text[-_END_TAG_CHARS:])
    opening = -1 if end is None else text.rfind(f"<{end[1]}")
    tag = _TAG.match(text, max(0, opening))
    if opening < 0 or end is None or tag is None:
        return None
    body = text[tag.end() : text.rfind("</")].strip()
    inner = _TAG.match(body)
    if inner is not None and inner["named"]:  # <function_calls><invoke name="...">
        tag, body = inner, body[inner.end() :]
    if body.startswith("{"):
        given = _arguments(body)
        asked = given.get("arguments", given.get("parameters", given))
        return opening, str(given.get("name", tag["tag"])), asked if isinstance(asked, dict) else {"input": asked}
    return opening, tag["named"] or tag["tag"], _fields(body) or {"command": body}


def _fields(body: str) -> dict[str, str]:
    """The values between pairs of tags, by name."""
    fields: dict[str, str] = {}
    at = 0
    while (tag := _FIELD_TAG.search(body, at)) is not None:
        ends = [body.find(closing, tag.end()) for closing in ("</parameter>", f"</{tag[1]}>")]
        at = min((end for end in ends if end >= 0), default=tag.end())
        if max(ends) >= 0:
            fields[tag[1]] = body[tag.end() : at].removeprefix("\n").removesuffix("\n")
    return fields


def _arguments(given: str) -> dict[str, Any]:
    """The arguments as an object: of JSON text, else the text as `input`."""
    try:
        value = json.loads(given)
    except (ValueError, RecursionError):
        return {"input": given.strip()}
    return value if isinstance(value, dict) else {"input": value}
