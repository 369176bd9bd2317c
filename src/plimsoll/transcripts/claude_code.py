"""Claude Code: `~/.claude/projects/<folder>/<session>.jsonl`, a tree of lines linked by `parentUuid`.

This reader rebuilds the context as the tool does on resume. The conversation is the path from the newest leaf up to the newest
`compact_boundary`; messages the boundary preserved are linked in after the summary. Lines with the same `message.id` are one
answer, with all its results. API errors are not sent. Results named by a `microcompact_boundary` are cleared; for those named by a
`content-replacement` line the text in it is sent. Based on files of versions 2.0 to 2.1 and public notes about them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from plimsoll.light.dataclass import replace
from plimsoll.light.regex import regex
from plimsoll.message import Message, Part, Text, ToolCall
from plimsoll.records.usage import Usage
from plimsoll.transcripts import blocks, claude_links, tree
from plimsoll.transcripts.blocks import read_message
from plimsoll.transcripts.claude_links import Link, Tree
from plimsoll.transcripts.lines import first_text, mapping_of, maybe_text, text_of
from plimsoll.transcripts.usages import claude_window, usage_in
from plimsoll.transcripts.values import (
    Finding,
    MessageKind,
    Meta,
    Sidechain,
    SourceLine,
    SourceMessage,
    ToolCompaction,
    Transcript,
    Viewed,
)

CLEARED = "[Old tool result content cleared]"
"""The tool's text for a cleared result."""
MISSING = "[No result: the call was interrupted]"
_ISO = regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z")


def read(entries: Sequence[SourceLine], findings: Sequence[Finding] = ()) -> Transcript:
    """Read a transcript. Never fails: damage becomes findings."""
    reader = _Reader(entries)
    reader.collect()
    messages = reader.messages()
    viewed, repairs = reader.view()
    compactions = reader.compactions()
    return Transcript(
        tool="claude-code",
        format="anthropic",
        entries=tuple(entries),
        messages=messages,
        viewed=tuple(viewed),
        compactions=compactions,
        meta=_meta(reader.lines),
        findings=(*findings, *reader.findings, *repairs),
        sidechains=reader.sidechains(),
        leaf=reader.leaf,
        usages=reader.usages(),
        window_tokens=claude_window(reader.usages(), compactions),
    )


class _Answer:
    """A message of the history under construction: an answer may span several lines."""

    __slots__ = ("_calls", "_message", "_parts", "id", "kind", "lines", "usage")

    def __init__(self, entry: SourceLine, value: Mapping[str, Any]) -> None:
        self.id = maybe_text(value.get("uuid")) or f"line-{entry.number}"
        self.kind = _kind(value)
        self.lines: list[int] = []
        self.usage: Usage | None = None
        self._message = Message(role="assistant", parts=())
        self._parts: list[Part] = []
        """Parts of the lines after the first; added to the message on demand, so that many lines stay linear."""
        self._calls: set[str] = set()

    @property
    def message(self) -> Message:
        """The message of all lines so far. Parts without a block of their own are not sent."""
        if self._parts:
            parts = (*_in_blocks(self._message), *self._parts)
            blocks = [part.wire for part in parts if part.wire is not None and "type" in part.wire]
            self._message = replace(self._message, parts=parts, wire={"role": self.role, "content": blocks})
            self._parts = []
        return self._message

    @property
    def role(self) -> str:
        return self._message.role

    @property
    def content(self) -> str | list[Any]:
        content: str | list[Any] = (self.message.wire or {})["content"]
        return content

    def as_read(self, *, on_path: bool = True) -> SourceMessage:
        lines = tuple(self.lines)
        return SourceMessage(id=self.id, lines=lines, message=self.message, kind=self.kind, on_path=on_path)

    def add(self, number: int, message: Message) -> None:
        """Add another line of the same answer, without calls that it already has."""
        self.lines.append(number)
        if len(self.lines) == 1:
            self._message = message
            return
        if len(self.lines) == 2:
            self._calls = {part.id for part in self._message.parts if isinstance(part, ToolCall)}
        for part in _in_blocks(message):
            if isinstance(part, ToolCall):
                if part.id in self._calls:
                    continue
                self._calls.add(part.id)
            self._parts.append(part)


def _in_blocks(message: Message) -> list[Part]:
    """The parts of a message, with plain text as a block."""
    return [
        replace(part, wire={"type": "text", "text": part.text})
        if isinstance(part, Text) and part.wire is None
        else part
        for part in message.parts
    ]


class _Reader:
    """Reads the lines in one pass and answers questions about them."""

    def __init__(self, entries: Sequence[SourceLine]) -> None:
        self.findings: list[Finding] = []
        self.lines = [entry for entry in entries if entry.value is not None]
        self.links: dict[str, Link] = {}
        self._answers: list[_Answer] = []
        self._by_answer: dict[str, int] = {}
        self._own_file = not any(
            _is_message(e.value) and not mapping_of(e.value).get("isSidechain") for e in self.lines
        )
        self._side: dict[str, list[SourceLine]] = {}
        self._side_of: dict[str, str] = {}
        self._on_path: set[int] = set()
        self._shown: list[Link] = []
        self.leaf: str | None = None

    def collect(self) -> None:
        for entry in self.lines:
            self._read_line(entry, mapping_of(entry.value))
        self.tree = Tree(self.links)
        self._replaced = claude_links.replaced_results(self.lines, of_agent=self._own_file)
        self._report_links()
        self._find_path()

    def _read_line(self, entry: SourceLine, value: Mapping[str, Any]) -> None:
        if value.get("isSidechain") is True and not self._own_file:
            self._read_sidechain_line(entry, value)
            return
        uuid = maybe_text(value.get("uuid"))
        answer = _answer_id(value)
        known = None if uuid is None else self.links.get(uuid)
        if known is not None and known.index is not None and _repeats(known.value, value):
            index: int | None = known.index
        else:
            index = self._add_message(entry, value, answer) if _is_message(value) else None
        if index is not None:
            self._count(entry, value, index)
        if uuid is None:
            return
        if known is not None:
            self._report("duplicate-uuid", f"{uuid[:80]} was used before", entry)
            index = known.index if index is None else index
        self.links[uuid] = Link(uuid, maybe_text(value.get("parentUuid")), entry, value, index, answer)

    def _read_sidechain_line(self, entry: SourceLine, value: Mapping[str, Any]) -> None:
        uuid = text_of(value.get("uuid"))
        agent = maybe_text(value.get("agentId")) or self._side_of.get(text_of(value.get("parentUuid")), uuid)
        self._side_of[uuid] = agent
        self._side.setdefault(agent, []).append(entry)

    def _count(self, entry: SourceLine, value: Mapping[str, Any], index: int) -> None:
        """Store the usage of an answer; its last line has the total."""
        message = mapping_of(value.get("message"))
        model = maybe_text(message.get("model"))
        if value.get("type") != "assistant" or (model or "").startswith("<"):
            return
        found = usage_in(message.get("usage"), entry, position=index, model=model)
        self._answers[index].usage = found or self._answers[index].usage

    def usages(self) -> tuple[Usage, ...]:
        return tuple(answer.usage for answer in self._answers if answer.usage is not None)

    def _add_message(self, entry: SourceLine, value: Mapping[str, Any], answer: str | None) -> int | None:
        """Add the line's message to the history and return its index; None if it has no readable content."""
        message = _message_in(value)
        if message is None:
            self._report("bad-message", "no readable content", entry)
            return None
        if answer is not None and answer in self._by_answer:
            index = self._by_answer[answer]
            self._answers[index].add(entry.number, message)
            return index
        index = len(self._answers)
        if answer is not None:
            self._by_answer[answer] = index
        made = _Answer(entry, value)
        made.add(entry.number, message)
        self._answers.append(made)
        return index

    def _report_links(self) -> None:
        for link in self.links.values():
            if link.parent is not None and link.parent not in self.links:
                self._report("missing-parent", f"{link.parent[:80]} is not in this file", link.entry)
        for node in tree.cycles(self.tree.written):
            self._report("cycle", "the line is its own ancestor", self.links[node].entry)
        if self.tree.broken:
            self._report("preserved-broken", "the links of the preserved messages are broken; left out")

    def _report(self, kind: str, detail: str, entry: SourceLine | None = None) -> None:
        self.findings.append(Finding(kind=kind, detail=detail, line=None if entry is None else entry.number))

    def _find_path(self) -> None:
        self.leaf = self._leaf()
        shown, older = self.tree.path(self.leaf)
        self._shown = self.tree.with_siblings(shown)
        for link in (*self._shown, *self.tree.with_siblings(older)):
            if link.index is not None:
                self._on_path.add(link.index)
        if not self.links:
            self._on_path.update(range(len(self._answers)))

    def _leaf(self) -> str | None:
        messages = [uuid for uuid, link in self.links.items() if link.index is not None]
        candidates = self.tree.leaves() or messages[-1:]
        if not candidates:
            return None
        times = [text_of(self.links[uuid].value.get("timestamp")) for uuid in candidates]
        if not all(_ISO.fullmatch(time) for time in times):
            return candidates[-1]
        return max(zip(times, range(len(times)), candidates, strict=True))[2]

    def messages(self) -> tuple[SourceMessage, ...]:
        return tuple(answer.as_read(on_path=index in self._on_path) for index, answer in enumerate(self._answers))

    def view(self) -> tuple[list[Viewed], list[Finding]]:
        calls = (call for link in self._shown for call in claude_links.cleared_calls(link.value))
        cleared = self._replaced | dict.fromkeys(calls, CLEARED)
        indexes = [link.index for link in self._shown if link.index is not None]
        if not self.links:
            indexes = list(range(len(self._answers)))
        turns = [self._turn(index, cleared) for index in dict.fromkeys(indexes) if self._answers[index].kind != "error"]
        return blocks.build_view(turns, missing=MISSING)

    def _turn(self, index: int, cleared: Mapping[str, str]) -> blocks.ViewTurn:
        answer = self._answers[index]
        return blocks.ViewTurn(role=answer.role, content=blocks.with_result_text(answer.content, cleared), index=index)

    def compactions(self) -> tuple[ToolCompaction, ...]:
        firsts = [answer.lines[0] for answer in self._answers]
        summaries = [entry for entry in self.lines if mapping_of(entry.value).get("isCompactSummary") is True]
        found = claude_links.compactions(self.lines, summaries, firsts, self.tree)
        return tuple(self._with_views(found))

    def _with_views(self, compactions: Sequence[ToolCompaction]) -> Iterator[ToolCompaction]:
        """The compactions, each with the views before and after it."""
        shown: list[int] = []
        cleared = self._replaced
        start = 0
        for compaction in compactions:
            new = range(start, compaction.position)
            shown += [i for i in new if i in self._on_path and self._answers[i].kind != "error"]
            start = max(start, compaction.position)
            before = partial(self._view_of, tuple(shown), cleared)
            if compaction.cleared:
                cleared = cleared | dict.fromkeys(compaction.cleared, CLEARED)
            else:
                summary = self._summary_at(compaction.position)
                shown = [*summary, *(index for run in compaction.kept for index in range(*run))]
                start = max([start, *(index + 1 for index in summary)])
            after = partial(self._view_of, tuple(shown), cleared)
            on_path = not shown or any(index in self._on_path for index in shown)
            yield replace(compaction, view_stop=start, on_path=on_path, view_after=after, view_before=before)

    def _view_of(self, shown: Sequence[int], cleared: Mapping[str, str]) -> Sequence[Viewed]:
        """These messages as the tool would send them."""
        return blocks.build_view([self._turn(index, cleared) for index in shown], missing=MISSING)[0]

    def _summary_at(self, position: int) -> list[int]:
        """Index of the summary right after a boundary, as a list; empty if it is missing."""
        near = range(position, min(position + 2, len(self._answers)))
        return [index for index in near if self._answers[index].kind == "summary"][:1]

    def sidechains(self) -> tuple[Sidechain, ...]:
        return tuple(Sidechain(id=agent, messages=_side_messages(lines)) for agent, lines in self._side.items())


def _side_messages(lines: Sequence[SourceLine]) -> tuple[SourceMessage, ...]:
    answers: dict[str, _Answer] = {}
    known: dict[str, Mapping[str, Any]] = {}
    for entry in lines:
        value = mapping_of(entry.value)
        before = known.setdefault(text_of(value.get("uuid")) or f"line {entry.number}", value)
        message = _message_in(value) if _is_message(value) else None
        if message is not None and (before is value or not _repeats(before, value)):
            key = _answer_id(value) or f"line {entry.number}"
            answers.setdefault(key, _Answer(entry, value)).add(entry.number, message)
    return tuple(answer.as_read() for answer in answers.values())


def _is_message(value: Mapping[str, Any] | None) -> bool:
    if value is None:
        return False
    kind = value.get("type")
    return kind in ("user", "assistant") or (kind == "attachment" and _queued_prompt(value) is not None)


def _queued_prompt(value: Mapping[str, Any]) -> object | None:
    """A prompt typed while the model was working. The tool stores it as an attachment and sends it."""
    attachment = mapping_of(value.get("attachment"))
    return attachment.get("prompt") if attachment.get("type") == "queued_command" else None


def _message_in(value: Mapping[str, Any]) -> Message | None:
    """The message of a line; None if it has no readable content."""
    attached = value.get("type") == "attachment"
    raw = _queued_prompt(value) if attached else mapping_of(value.get("message")).get("content")
    content = blocks.clean_content(raw)
    if content is None:
        return None
    role = "assistant" if value.get("type") == "assistant" else "user"
    message = read_message({"role": role, "content": content}, "anthropic")
    line = value.get("message")
    if message is not None and message.wire is not None and isinstance(line, dict) and not attached:
        line["content"] = message.wire["content"]  # share one copy
    return message


def _repeats(known: Mapping[str, Any], value: Mapping[str, Any]) -> bool:
    """Whether a line says what one before it said: the tool writes some lines twice, and an answer is not to say it twice."""
    message, before = _message_in(value), _message_in(known)
    return message is not None and before is not None and message.wire == before.wire


def _answer_id(value: Mapping[str, Any]) -> str | None:
    """The id of the answer that a line belongs to."""
    return maybe_text(mapping_of(value.get("message")).get("id")) if value.get("type") == "assistant" else None


def _kind(value: Mapping[str, Any]) -> MessageKind:
    if value.get("isApiErrorMessage") is True:
        return "error"
    return "summary" if value.get("isCompactSummary") is True else "message"


def _meta(lines: Sequence[SourceLine]) -> Meta:
    values = [mapping_of(entry.value) for entry in lines]
    last = partial(first_text, values[::-1])
    models = (maybe_text(mapping_of(v.get("message")).get("model")) for v in reversed(values))
    return Meta(
        session_id=last("sessionId"),
        cwd=last("cwd"),
        branch=last("gitBranch"),
        version=last("version"),
        model=next((model for model in models if model is not None and not model.startswith("<")), None),
        started=first_text(values, "timestamp"),
        title=last("customTitle") or last("aiTitle") or _summary_title(values),
    )


def _summary_title(values: Sequence[Mapping[str, Any]]) -> str | None:
    titles = [maybe_text(value.get("summary")) for value in values if value.get("type") == "summary"]
    return titles[-1] if titles else None
