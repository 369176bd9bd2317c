"""Tools called in plain text: an agent writes an action into its answer, and the host sends the output as the user's next message.

Agents that use no tool calls of the provider work so: a command in the last code block, `Action:` lines as of ReAct, or tags such
as `<execute_bash>`. Only outputs with a mark that people do not write are recognised.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from plimsoll.light.dataclass import replace
from plimsoll.light.regex import regex
from plimsoll.message import Message, Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from collections.abc import Sequence

OUTPUT_NAMES = (
    r"(?:obs(?:ervation)?s?|(?:command|tool|function|terminal|code|execution|action|shell)[ _-](?:output|result|response|log)s?"
    r"|(?:观察|(?:执行|工具|命令)(?:结果|输出|返回))(?:结果)?)"
)
"""The pattern of what hosts call an output in its label."""

_LABEL = regex(
    rf"\s{{0,8}}(?:{OUTPUT_NAMES}\s?(?:\([^()\n]{{0,40}}\)\s?)?[:：]\s{{0,8}}"
    r"|execution result of \[[^\]\n]{0,80}\]:?\s{0,8}"
    r"|\[[a-z][\w.-]{0,40}(?: for [^\n]{1,300}?)?\] (?:result|output|error):?\s{0,8}"
    r"|(?=<(?:observation|returncode|tool_?(?:response|result|output)s?|function_?(?:response|result|output)s?|command_?output"
    r"|execution_?(?:result|output)s?|output)>)"
    r"|(?=exit ?code: ?-?[0-9])|(?=your (?:command|code) ran successfully))",
    re.IGNORECASE,
)
"""How an output begins; what is only a label is matched whole."""

_FOOTER = regex(
    r"(?:\n|\A)(?:\(Open file: [^\n]{0,300}\)\n)?(?:\(Current directory: [^\n]{0,300}\)\n)?bash-[0-9.]{0,8}\$\s{0,8}\Z"
    r"|\n\[The command (?:completed|finished) with exit code -?[0-9]{1,5}\.?\]?[^\n]{0,80}\s{0,8}\Z"
)
"""How an output ends that has no label: the prompt of the shell, or how the command ended."""

_FOOTER_CHARS = 800
_FENCED = regex(r"```([\w+-]{0,20})[^\S\n]{0,8}\n(.*)\n?```\s{0,8}\Z", re.DOTALL)
_INLINE = regex(r"```([^`\n]{1,400})```[^\S\n]{0,4}\Z")
_ACTION = regex(
    r"^\s{0,8}\**action\**:\**\s{0,8}([^\n]{1,4000})(?:\n\s{0,8}\**action input\**:\**\s{0,8}(.{0,8000}))?",
    re.IGNORECASE | re.MULTILINE | re.DOTALL,
)
_BRACKETS = regex(r"([a-z_]\w{0,40})\s?[\[(](.{0,4000})[\])]\s{0,8}\Z", re.IGNORECASE | re.DOTALL)
_END_TAG = regex(r"</([A-Za-z]\w{0,40})>\s{0,8}\Z")
_TAG = regex(
    r"<(?:(?:function|invoke|tool)(?:=|\s{1,4}name=\")(?P<named>[\w.-]{1,60})\"?|(?P<tag>[A-Za-z]\w{0,40}))>\s{0,8}"
)
_FIELD_TAG = regex(r"<(?:parameter(?:=|\s{1,4}name=\"))?(\w{1,40})\"?>")
_LEAD = regex(
    r"\A\s{0,8}(?:discussion|thought|reasoning)s?:?\s{1,8}|\s{1,8}(?:command|action):?\s{0,8}\Z", re.IGNORECASE
)
_SHELLS = frozenset(("", "bash", "sh", "shell", "zsh", "console"))
_END_TAG_CHARS, _INLINE_CHARS = 60, 500
_SEARCHED_CHARS = 20_000
"""An action stands in this much of the end of an answer."""


class TextCall(NamedTuple):
    """An action that an answer asks for in its text."""

    said: str
    """The text in front of it."""
    name: str
    arguments: str
    """JSON text."""


def is_output(text: str) -> bool:
    """Whether the text of a user's message is the output of a tool, by how it begins or ends."""
    return _LABEL.match(text) is not None or _FOOTER.search(text[-_FOOTER_CHARS:]) is not None


def action_in(text: str) -> TextCall | None:
    """The action at the end of an answer, if there is one."""
    skipped = max(0, len(text) - _SEARCHED_CHARS)
    end = text[skipped:]
    for read in (_fenced, _inline, _labelled, _tagged):
        if (found := read(end)) is not None:
            start, name, arguments = found
            said = _LEAD.sub("", text[: skipped + start])
            return TextCall(said, name, json.dumps(arguments, ensure_ascii=False))
    return None


def as_calls(messages: Sequence[Message], start: int) -> Sequence[Message]:
    """The messages, with actions in text as calls and their outputs as results; unchanged if there are none. Linear.

    An answer's action is a call only if its output follows, and an output follows an answer. `start` is the position of the first
    message in its history. For reading: such messages are not sent.
    """
    if not any(_holds_output(message) for message in messages):
        return messages
    made = list(messages)
    is_answered = start > 0
    for index, message in enumerate(messages):
        is_answered = is_answered or message.role == "assistant"
        if not is_answered or not _holds_output(message):
            continue
        id, before = f"text-{index}", messages[index - 1] if index else None
        if before is not None and before.role == "assistant" and not before.calls:
            made[index - 1] = _calling(before, id)
        made[index] = replace(message, role="tool", parts=(ToolResult(call_id=id, content=_printed(message.text)),))
    return made


def _holds_output(message: Message) -> bool:
    return message.role == "user" and not message.results and is_output(message.text)


def _printed(text: str) -> str:
    """An output without its label and without what tells its end."""
    printed = _FOOTER.sub("", text)
    label = _LABEL.match(printed)
    return printed[label.end() :] if label is not None else printed


def _calling(message: Message, id: str) -> Message:
    """An answer with the action in its text as a call."""
    action = action_in(message.text)
    if action is None:
        return message
    said = (Text(text=action.said),) if action.said else ()
    return replace(message, parts=(*said, ToolCall(id=id, name=action.name, arguments=action.arguments)))


def _fenced(text: str) -> tuple[int, str, dict[str, Any]] | None:
    """The last code block, if the answer ends with it. The command of a shell, or a program."""
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
