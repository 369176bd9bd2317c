"""Tools called in plain text: an agent writes an action into its answer, and the host sends the output as the user's next message.

Agents that use no tool calls of the provider work so: a command in the last code block, `Action:` lines as of ReAct, or tags such
as `<execute_bash>`. Recognised are outputs with a mark that people do not write, and what follows an answer written for a program.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise, takewhile

from plimsoll.formats.text_actions import TextCall, action_in, data_in, demands_output
from plimsoll.light.dataclass import replace
from plimsoll.light.regex import regex
from plimsoll.message import Message, Text, ToolCall, ToolResult

OUTPUT_NAMES = (
    r"(?:obs(?:ervation)?s?|(?:command|tool|function|terminal|code|execution|action|shell|query|sql|python|interpreter|environment"
    r"|cell|api)[ _-](?:output|result|response|log|feedback)s?"
    r"|(?:观察|(?:执行|工具|命令)(?:结果|输出|返回))(?:结果)?)"
)
"""The pattern of what hosts call an output in its label."""

_LABEL = regex(
    rf"\s{{0,8}}(?:(?:(?:new|current|latest) )?(?:{OUTPUT_NAMES}|(?:terminal|screen|shell) (?:state|screen|contents?))"
    r"\s?(?:[0-9]{1,3}\s?)?(?:\([^()\n]{0,40}\)\s?)?[:：]\s{0,8}"
    r"|output:\s{0,4}(?=\n```)"
    r"|execution result of \[[^\]\n]{0,80}\]:?\s{0,8}"
    r"|\[[a-z][\w.-]{0,40}(?: for [^\n]{1,300}?)?\] (?:result|output|error):?\s{0,8}"
    r"|(?=<(?:observation|returncode|tool_?(?:response|result|output)s?|function_?(?:response|result|output)s?|command_?output"
    r"|execution_?(?:result|output)s?|output)>)"
    r"|(?=exit ?code: ?-?[0-9])|(?=your (?:command|code) ran successfully))",
    re.IGNORECASE,
)
"""How an output begins; what is only a label is matched whole."""

_STARTS_OF_LABELS = tuple(
    "new cur lat ob com too fun ter cod ex act sh que sq py in env ce ap scr out you [ < 观 执 工 命 i\u0307 \u0131".split()
)
"""How each label begins, case folded. Few of a user's own words do, and the pattern of labels takes a millisecond to compile."""

_OPENING_TAG = regex(r"\s{0,8}<([a-z_]{2,30})>", re.IGNORECASE)

_FOOTER = regex(
    r"(?:\n|\A)(?:\(Open file: [^\n]{0,300}\)\n)?(?:\(Current directory: [^\n]{0,300}\)\n)?bash-[0-9.]{0,8}\$\s{0,8}\Z"
    r"|\n\[The command (?:completed|finished) with exit code -?[0-9]{1,5}\.?\]?[^\n]{0,80}\s{0,8}\Z"
)
"""How an output ends that has no label: the prompt of the shell, or how the command ended."""

_START_CHARS, _FOOTER_CHARS = 16, 800
_FOOTER_WORDS = ("bash-", "[The command ")
"""Each footer has one of these; most texts have neither, and are not searched."""

_ADDED = regex(r"<(environment_details|system-reminder|system_reminder)>")
"""What a host adds to an output about itself."""

_COMMENT = regex(
    r"\s{0,8}(?:The user (?:provided|gave)[^\n]{0,80}\n)?"
    r"<(feedback|user_(?:message|feedback|query|input|request))>(.*)</\1>\s{0,8}",
    re.DOTALL,
)
"""A text block behind an output in which the user says something to it."""

_DIRECTING = (
    r"\b(?:please|pls|let's|don['’]?t|do not|never|i (?:want|need|meant|prefer|said)|i['’]d|instead|actually|also)\b"
    r"|\A\s{0,8}(?:(?:new|next|your|my|the|user) )?(?:task|question|instruction|request|goal|objective|feedback|user|human)s?:"
    r"|(?:\A|[.!\n])\s{0,8}(?:use|add|skip|stop|make|change|remove|keep|exclude|include|continue|note|write|check|fix|answer|only)\b"
    r"|<(?:task|goal|question|request|instructions?)>|[?？]\s{0,8}\Z|[请不别我你您]"
)
_DIRECTS = regex(_DIRECTING, re.IGNORECASE)
"""What a person asks for."""

_OF_USER = regex(
    "ask|repl|respon|answer|message|say|speak|chat|talk|tell|user|human|final|finish|done|complete|submit",
    re.IGNORECASE,
)
"""An action by which an agent talks to the user, or ends."""

_PERSONAL = regex(
    rf"\b(?:i|i'[dm]|i've|i'll|my|me|we|our|(?:can|could|would) you)\b|{_DIRECTING}",
    re.IGNORECASE,
)
"""What a person says of himself or asks for, which the output of a program seldom has at its start."""

_RUN_OUTPUTS_MIN = 2
"""After so many outputs with a mark, an answer with an action in any form is meant for the program that sent them."""

_RUN_SHARE = 0.75
"""In a run so much of what follows answers has a mark; people who paste what they saw say other things in between."""

_DATA_MIN = 3
"""So many outputs tell that answers in JSON without arguments are actions, and no data that somebody asked for."""

_FAILED = regex(r"\s{0,8}(?:error|exception|traceback|failed|warning|invalid action)\b", re.IGNORECASE)
_PERSONAL_CHARS, _TYPED_CHARS_MAX = 300, 1_500
"""So much of the start tells who speaks; people seldom type more than the second in answer to an action."""

_EDITED = regex(r"edit [0-9]{1,6}:[0-9]{1,6}\b")
_OPEN_FILE = regex(r"\n\(Open file: ([^\n]{1,300})\)\n")


def is_output(text: str) -> bool:
    """Whether the text of a user's message is the output of a tool, by how it begins or ends."""
    if text[:_START_CHARS].lstrip().casefold().startswith(_STARTS_OF_LABELS) and _LABEL.match(text) is not None:
        return True
    end = text[-_FOOTER_CHARS:]
    return any(map(end.__contains__, _FOOTER_WORDS)) and _FOOTER.search(end) is not None


def as_calls(messages: Sequence[Message], start: int) -> Sequence[Message]:
    """The messages, with actions in text as calls and their outputs as results; unchanged if there are none. Linear.

    An action is a call only if its output follows or must; an output follows an answer with an action, or is one of many. What the
    user says beside an output stays the user's, in the same message. `start` is the position of the first message in its history.
    For reading: such messages are not sent.
    """
    made = list(messages)
    marked = marked_outputs(messages)
    unmarked = _unmarked_outputs(messages, marked, is_whole=start == 0)
    is_answered, outputs = start > 0, 0
    for index, message in enumerate(messages):
        is_answered = is_answered or message.role == "assistant"
        before = messages[index - 1] if index else None
        if not is_answered or not message.text:
            continue
        holds = marked.get(index)
        if holds is None:
            is_run = outputs >= _RUN_OUTPUTS_MIN
            holds = index in unmarked or (is_run and before is not None and _follows_action(message, before))
        if not holds:
            continue
        id, outputs = f"text-{index}", outputs + 1
        if before is not None and before.role == "assistant" and not before.calls:
            made[index - 1] = _calling(before, id, message.text)
        made[index] = _answering(message, id)
    if outputs and (newest := messages[-1]).role == "assistant" and not newest.calls and demands_output(newest.text):
        made[-1] = _calling(newest, f"text-{len(messages)}", "")
    return made if outputs else messages


def marked_outputs(messages: Sequence[Message]) -> Mapping[int, bool]:
    """For each message with the mark of an output whether it is one: people write labels too. Linear.

    It is one in a run of them, as what the action of the answer before it gave, and in front of all answers.
    """
    marked = [message.role == "user" and not message.results and is_output(message.text) for message in messages]
    if not any(marked):
        return {}
    first = next((index for index, message in enumerate(messages) if message.role == "assistant"), len(messages))
    is_run = _is_run(messages, marked)
    return {
        index: is_run or index <= first or _answers_action(messages[index].text, messages[index - 1])
        for index, is_marked in enumerate(marked)
        if is_marked
    }


def _is_run(messages: Sequence[Message], marked: Sequence[bool]) -> bool:
    """Whether most of what follows answers, or follows answers with an action, has the mark of an output."""
    replies = [
        (before, is_marked)
        for before, message, is_marked in zip(messages, messages[1:], marked[1:], strict=False)
        if before.role == "assistant" and message.role == "user" and not message.results
    ]
    return _are_most([is_marked for _, is_marked in replies]) or _are_most(
        [is_marked for before, is_marked in replies if action_in(before.text) is not None]
    )


def _are_most(replies: Sequence[bool]) -> bool:
    return sum(replies) >= max(_RUN_OUTPUTS_MIN, _RUN_SHARE * len(replies))


def _unmarked_outputs(messages: Sequence[Message], marked: Mapping[int, bool], *, is_whole: bool) -> Collection[int]:
    """What follows answers written for a program, where most of what follows them is printed: people speak of themselves.

    An answer in JSON without arguments is data at first, unless what is in front of all answers names its field. `is_whole`: it
    is known what that is.
    """
    replies = [
        index
        for index, (before, message) in enumerate(pairwise(messages), 1)
        if marked.get(index) or (index not in marked and _replies(message, before) and demands_output(before.text))
    ]
    printed = [index for index in replies if marked.get(index) or _is_printed(messages[index].text)]
    if 2 * len(printed) <= len(replies):
        return ()
    if is_whole and len(printed) < _DATA_MIN:
        prompt = "\n".join(message.text for message in takewhile(lambda message: message.role != "assistant", messages))
        printed = [index for index in printed if (name := data_in(messages[index - 1].text)) is None or name in prompt]
    return frozenset(printed)


def _replies(message: Message, before: Message) -> bool:
    return message.role == "user" and not message.results and before.role == "assistant" and not before.calls


def _follows_action(message: Message, before: Message) -> bool:
    """Whether a message without a mark is, in a run of outputs, what follows an answer with any action."""
    if not _replies(message, before) or action_in(before.text) is None:
        return False
    # A program may say "I found 3 of them" as well.
    return _is_printed(message.text) or (
        _is_for_program(before.text) and not _DIRECTS.search(message.text[:_PERSONAL_CHARS])
    )


def _is_printed(text: str) -> bool:
    return (
        len(text) > _TYPED_CHARS_MAX
        or _FAILED.match(text) is not None
        or _PERSONAL.search(text[:_PERSONAL_CHARS]) is None
    )


def _is_for_program(answer: str) -> bool:
    """Whether an answer demands an output of something else than the user."""
    action = action_in(answer) if demands_output(answer) else None
    return action is not None and _OF_USER.search(action.name) is None


def _answers_action(text: str, before: Message) -> bool:
    """Whether what bears a mark is what an answer's action gave: people run code that they are shown, and ask about its output."""
    if before.calls:
        return True
    if before.role != "assistant" or action_in(before.text) is None:
        return False
    if _is_spoken_to(text):
        return False
    label = _LABEL.match(text)
    if (
        not before.text.rstrip().endswith("```")
        or label is None
        or label[0].isupper()
        or text.lstrip()[:1] in ("<", "[")
    ):
        return True
    printed = text[label.end() :]
    said = printed.rpartition("```")[2] if printed.lstrip().startswith("```") else printed
    return not any(_PERSONAL.search(end) for end in (said[:_PERSONAL_CHARS], said[-_PERSONAL_CHARS:]))


def _is_spoken_to(text: str) -> bool:
    """Whether a person says something behind the tag that closes an output."""
    tag = _OPENING_TAG.match(text)
    _, closed, said = text.rpartition(f"</{tag[1]}>") if tag is not None else ("", "", "")
    is_told = bool(closed) and not said.lstrip().startswith("<")
    return is_told and _PERSONAL.search(said[:_PERSONAL_CHARS]) is not None


def _answering(message: Message, id: str) -> Message:
    """The message of an output as a result, with what the user says in a text block of its own behind it.

    Only in such a block: what stands in the output itself may be anybody's.
    """
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    begun = next((at for at, text in enumerate(texts) if not _is_label(text)), len(texts)) + 1
    comments = [found for text in texts[begun:] if (found := _COMMENT.fullmatch(text)) is not None]
    said = "\n".join(found[2].strip() for found in comments)
    printed = "\n".join([*texts[:begun], *(text for text in texts[begun:] if _COMMENT.fullmatch(text) is None)])
    result = ToolResult(call_id=id, content=_printed(_without_added(printed)))
    if not said:
        return replace(message, role="tool", parts=(result,))
    return replace(message, role="user", parts=(result, Text(text=said)))


def _is_label(text: str) -> bool:
    label = _LABEL.match(text)
    return label is not None and not text[label.end() :].strip()


def _without_added(text: str) -> str:
    """An output without what its host adds about itself. Linear."""
    kept: list[str] = []
    at = 0
    while (tag := _ADDED.search(text, at)) is not None:
        end = text.find(f"</{tag[1]}>", tag.end())
        if end < 0:
            break
        kept.append(text[at : tag.start()])
        at = end + len(tag[1]) + 3
    return "".join((*kept, text[at:]))


def _printed(text: str) -> str:
    """An output without its label, without what tells its end, and without a code block around all of it."""
    printed = _FOOTER.sub("", text)
    label = _LABEL.match(printed)
    printed = printed[label.end() :] if label is not None else printed
    bare = printed.strip()
    return bare[3:-3].strip("\n") if bare.startswith("```\n") and bare.endswith("\n```") else printed


def _calling(message: Message, id: str, output: str) -> Message:
    """An answer with the action in its text as a call."""
    action = action_in(message.text)
    if action is None:
        return message
    said = (Text(text=action.said),) if action.said else ()
    name, arguments = _of_open_file(action, output)
    return replace(message, parts=(*said, ToolCall(id=id, name=name, arguments=arguments)))


def _of_open_file(action: TextCall, output: str) -> tuple[str, str]:
    """The name and arguments of an action; an editor's edit of lines is one of the file that it says is open."""
    if action.name != "bash" or not _EDITED.match(command := json.loads(action.arguments)["command"]):
        return action.name, action.arguments
    opened = _OPEN_FILE.search(output[-_FOOTER_CHARS:])
    if opened is None:
        return action.name, action.arguments
    return "edit", json.dumps({"path": opened[1], "content": command}, ensure_ascii=False)
