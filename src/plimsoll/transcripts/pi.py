"""pi: `~/.pi/agent/sessions/--<folder>--/<time>_<uuid>.jsonl`, a header and a tree of entries linked by `parentId`.

This reader rebuilds the context as the tool does when it opens a file. The newest entry is the leaf, and the path from the root to
it the conversation; the newest compaction on the path replaces everything before `firstKeptEntryId`. Version 1 has a list of
entries without ids; version 2 has hook messages of role `hookMessage`. Before sending, failed and aborted answers are dropped, and
calls without a result get one.

Messages are converted to Anthropic's, the closest wire format: it has thinking with signatures, and errors and images in results.
The texts around summaries and shell commands are those of the tool's public source, so that the view is what it sends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from plimsoll.compaction.readers import PI
from plimsoll.light.dataclass import replace
from plimsoll.light.regex import regex
from plimsoll.message import Wire
from plimsoll.records.usage import Usage
from plimsoll.transcripts import blocks, tree
from plimsoll.transcripts.blocks import read_message
from plimsoll.transcripts.lines import first_text, list_of, mapping_of, maybe_count, maybe_text, text_of
from plimsoll.transcripts.usages import usage_in
from plimsoll.transcripts.values import (
    SUMMARY,
    Finding,
    MessageKind,
    Meta,
    SourceLine,
    SourceMessage,
    ToolCompaction,
    Transcript,
    Viewed,
)

BRANCH_BEFORE = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"
BRANCH_AFTER = "</summary>"

_FOREIGN = regex(r"[^a-zA-Z0-9_-]")
_CALL_ID_CHARS_MAX = 64
ANTHROPIC_APIS = ("anthropic-messages", "bedrock-converse-stream", "google-vertex-anthropic", "")
"""The provider APIs that get their signed thinking back unchanged."""


def call_id(id: str) -> str:
    """A call id with characters and length that Anthropic accepts; ids of other providers may have neither."""
    return _FOREIGN.sub("_", id)[:_CALL_ID_CHARS_MAX] or "_"


def message_wire(message: Mapping[str, Any]) -> Wire | None:
    """A pi message as sent to the model; None if it cannot be read."""
    if message.get("role") == "toolResult":
        return _result(message)
    if message.get("role") == "assistant":
        content = message.get("content")
        blocks = [block for part in list_of(content) if (block := _answer_block(part, message)) is not None]
        return {"role": "assistant", "content": blocks} if isinstance(content, list) else None
    content = _user_side(message)
    return None if content is None else {"role": "user", "content": content}


def _user_side(message: Mapping[str, Any]) -> str | list[Wire] | None:
    """The content of a message sent with the role user, whoever wrote it."""
    match message.get("role"):
        case "user" | "custom" | "hookMessage":
            return user_content(message.get("content"))
        case "bashExecution":
            return [{"type": "text", "text": shell_text(message)}]
        case "branchSummary":
            return [{"type": "text", "text": branch_text(text_of(message.get("summary")))}]
        case "compactionSummary":
            return [{"type": "text", "text": PI.around(text_of(message.get("summary")))}]
        case _:
            return None


def user_content(content: object) -> str | list[Wire] | None:
    """A user's text, or text and images; None if it is neither."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    return [block for part in content if (block := _text_or_image(part)) is not None]


def branch_text(summary: str) -> str:
    """The tool's text for the summary of an abandoned branch."""
    return f"{BRANCH_BEFORE}{summary}{BRANCH_AFTER}"


def shell_text(message: Mapping[str, Any]) -> str:
    """The tool's text for a command that the user ran."""
    output = text_of(message.get("output"))
    text = f"Ran `{text_of(message.get('command'))}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    code = message.get("exitCode")
    if message.get("cancelled") is True:
        text += "\n\n(command cancelled)"
    elif isinstance(code, int) and code != 0:
        text += f"\n\nCommand exited with code {code}"
    if message.get("truncated") is True and (path := maybe_text(message.get("fullOutputPath"))):
        text += f"\n\n[Output truncated. Full output: {path}]"
    return text


def _text_or_image(part: object) -> Wire | None:
    if not isinstance(part, dict):
        return None
    if part.get("type") == "text" and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if part.get("type") == "image" and isinstance(part.get("data"), str):
        source = {"type": "base64", "media_type": text_of(part.get("mimeType")) or "image/png", "data": part["data"]}
        return {"type": "image", "source": source}
    return None


def _answer_block(part: object, message: Mapping[str, Any]) -> Wire | None:
    if not isinstance(part, dict):
        return None
    match part.get("type"):
        case "text" if isinstance(part.get("text"), str):
            return {"type": "text", "text": part["text"]}
        case "thinking":
            return _thinking(part, message)
        case "toolCall" if isinstance(part.get("id"), str) and isinstance(part.get("name"), str):
            arguments = part.get("arguments")
            input = arguments if isinstance(arguments, dict) else {}
            return {"type": "tool_use", "id": call_id(part["id"]), "name": part["name"], "input": input}
        case _:
            return None


def _thinking(part: Mapping[str, Any], message: Mapping[str, Any]) -> Wire | None:
    """Thinking signed by Anthropic stays thinking; that of other providers becomes text, as the tool sends it."""
    text, signature = text_of(part.get("thinking")), maybe_text(part.get("thinkingSignature"))
    signed = signature is not None and text_of(message.get("api")) in ANTHROPIC_APIS
    if part.get("redacted") is True:
        return {"type": "redacted_thinking", "data": signature} if signed else None
    if signed:
        return {"type": "thinking", "thinking": text, "signature": signature}
    return {"type": "text", "text": text} if text.strip() else None


def _result(message: Mapping[str, Any]) -> Wire | None:
    if not isinstance(message.get("toolCallId"), str):
        return None
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id(message["toolCallId"])}
    content = user_content(message.get("content"))
    block["content"] = [] if content is None else content
    if message.get("isError") is True:
        block["is_error"] = True
    return {"role": "user", "content": [block]}


def pi_content(content: object) -> list[dict[str, Any]]:
    """Text and images of an Anthropic content in pi's form, without other blocks."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    found: list[dict[str, Any]] = []
    for block in list_of(content):
        source = block.get("source") if isinstance(block, dict) else None
        if isinstance(block, dict) and block.get("type") == "text":
            found.append({"type": "text", "text": text_of(block.get("text"))})
        elif isinstance(source, dict) and block.get("type") == "image" and source.get("type") == "base64":
            mime = text_of(source.get("media_type")) or "image/png"
            found.append({"type": "image", "data": text_of(source.get("data")), "mimeType": mime})
    return found


MISSING = "No result provided"
"""The tool's result for a call without one."""


def read(entries: Sequence[SourceLine], findings: Sequence[Finding] = ()) -> Transcript:
    """Read a transcript. Never fails: damage becomes findings."""
    reader = _Reader(entries)
    viewed, repairs = reader.view()
    return Transcript(
        tool="pi",
        format="anthropic",
        entries=tuple(entries),
        messages=reader.messages(),
        viewed=tuple(viewed),
        compactions=tuple(reader.compactions()),
        meta=_meta(reader),
        leaf=reader.path[-1] if reader.path else None,
        findings=(*findings, *reader.findings, *repairs),
        usages=tuple(reader.usages),
    )


def header_of(entries: Iterable[SourceLine]) -> Mapping[str, Any]:
    """The first line of a file, which is about the session; an empty one where it is missing."""
    values = (mapping_of(entry.value) for entry in entries)
    return next((value for value in values if value.get("type") == "session"), {})


def is_linear(header: Mapping[str, Any]) -> bool:
    """Whether the file is of version 1, a list of entries without ids."""
    return (maybe_count(header.get("version")) or 1) < 2


class _Reader:
    """The entries, their tree and the path to the leaf."""

    def __init__(self, entries: Sequence[SourceLine]) -> None:
        self.findings: list[Finding] = []
        self.usages: list[Usage] = []
        """The usage of each answer, in file order."""
        self.lines = [entry for entry in entries if entry.value is not None]
        self.header = header_of(self.lines)
        self.nodes: dict[str, SourceLine] = {}
        self.parents: dict[str, str | None] = {}
        self._messages: list[SourceMessage] = []
        self._index: dict[str, int] = {}
        self._starts: dict[str, int] = {}
        self._linear = is_linear(self.header)
        self._link()
        self.path, missing = tree.walk(next(reversed(self.nodes), None), self.parents)
        self._report(missing)

    def _link(self) -> None:
        previous: str | None = None
        for entry in self.lines:
            value = mapping_of(entry.value)
            if value.get("type") == "session":
                continue
            id = f"line-{entry.number}" if self._linear else maybe_text(value.get("id"))
            if id is None:
                self._found("no-id", "an entry without an id; ignored", entry)
                continue
            if id in self.nodes:
                self._found("duplicate-uuid", f"{id[:80]} was used before", entry)
                del self.nodes[id]
            self.nodes[id] = entry
            self.parents[id] = previous if self._linear else maybe_text(value.get("parentId"))
            self._starts[id] = len(self._messages)
            self._add_message(id, entry, value)
            previous = id

    def _add_message(self, id: str, entry: SourceLine, value: Mapping[str, Any]) -> None:
        kind = value.get("type")
        if kind not in ("message", "custom_message", "branch_summary"):
            return
        wire, message_kind = _wire_and_kind(value)
        if wire is not None and message_kind is None:
            return
        message = None if wire is None else read_message(wire, "anthropic")
        if message is None or message_kind is None:
            self._found("bad-message", "no readable content", entry)
            return
        self._index[id] = position = len(self._messages)
        self._messages.append(SourceMessage(id=id, lines=(entry.number,), message=message, kind=message_kind))
        own = mapping_of(value.get("message"))
        found = usage_in(own.get("usage"), entry, position=position, model=maybe_text(own.get("model")))
        self.usages += [] if found is None else [found]

    def _report(self, missing: str | None) -> None:
        if missing is not None and missing in self.parents:
            self._found("cycle", "the path to the leaf contains a cycle")
        for id, parent in self.parents.items():
            if parent is not None and parent not in self.parents:
                self._found("missing-parent", f"{parent[:80]} is not in this file", self.nodes[id])

    def _found(self, kind: str, detail: str, entry: SourceLine | None = None) -> None:
        self.findings.append(Finding(kind=kind, detail=detail, line=None if entry is None else entry.number))

    def messages(self) -> tuple[SourceMessage, ...]:
        on_path = {self._index[id] for id in self.path if id in self._index}
        return tuple(replace(message, on_path=index in on_path) for index, message in enumerate(self._messages))

    def view(self) -> tuple[list[Viewed], list[Finding]]:
        return self._view_at(self.path)

    def _view_at_index(self, place: int | None) -> Sequence[Viewed]:
        """What the tool would have sent at an index of the path; empty for None."""
        return () if place is None else self._view_at(self.path[: place + 1])[0]

    def _view_at(self, path: Sequence[str]) -> tuple[list[Viewed], list[Finding]]:
        """What the tool would send at the end of this path."""
        marks = [i for i, id in enumerate(path) if mapping_of(self.nodes[id].value).get("type") == "compaction"]
        turns: list[blocks.ViewTurn] = []
        shown = path
        if marks:
            compaction = mapping_of(self.nodes[path[marks[-1]]].value)
            turns.append(
                blocks.ViewTurn(role="user", content=PI.around(text_of(compaction.get("summary"))), index=SUMMARY)
            )
            shown = [*self._kept(path[: marks[-1]], compaction), *path[marks[-1] + 1 :]]
        for id in shown:
            index = self._index.get(id)
            if index is not None and self._messages[index].kind in ("message", "summary"):
                wire = self._messages[index].wire
                turns.append(blocks.ViewTurn(role=str(wire["role"]), content=wire["content"], index=index))
        return blocks.build_view(turns, missing=MISSING)

    def _kept(self, before: Sequence[str], compaction: Mapping[str, Any]) -> Sequence[str]:
        first = self._first_kept(compaction)
        return before[before.index(first) :] if first in before else []

    def _first_kept(self, compaction: Mapping[str, Any]) -> str:
        """The id of the first entry kept. Version 1 has an index, counted from the header."""
        index = maybe_count(compaction.get("firstKeptEntryIndex"))
        if index is not None and self._linear:
            return f"line-{self.lines[index].number}" if index < len(self.lines) else ""
        return text_of(compaction.get("firstKeptEntryId"))

    def compactions(self) -> list[ToolCompaction]:
        found: list[ToolCompaction] = []
        places = {id: place for place, id in enumerate(self.path)}
        for id, entry in self.nodes.items():
            value = mapping_of(entry.value)
            if value.get("type") != "compaction":
                continue
            position, first = self._starts[id], self._first_kept(value)
            start = self._starts.get(first, position) if self.nodes.get(first) is not None else position
            found.append(
                ToolCompaction(
                    position=position,
                    line=entry.number,
                    summary=maybe_text(value.get("summary")),
                    kept=((start, position),) if start < position else (),
                    tokens_before=maybe_count(value.get("tokensBefore")),
                    at=maybe_text(value.get("timestamp")),
                    on_path=id in places,
                    view_after=partial(self._view_at_index, places.get(id)),
                    view_before=partial(self._view_at_index, places[id] - 1 if id in places else None),
                )
            )
        return found


def _wire_and_kind(value: Mapping[str, Any]) -> tuple[Wire | None, MessageKind | None]:
    match value.get("type"):
        case "branch_summary":
            summary = maybe_text(value.get("summary"))
            if summary is None:
                return {}, None
            return {"role": "user", "content": [{"type": "text", "text": branch_text(summary)}]}, "summary"
        case "custom_message":
            content = user_content(value.get("content"))
            return (None if content is None else {"role": "user", "content": content}), "message"
        case _:
            message = mapping_of(value.get("message"))
            return message_wire(message), _message_kind(message)


def _message_kind(message: Mapping[str, Any]) -> MessageKind:
    if message.get("role") == "assistant" and message.get("stopReason") in ("error", "aborted"):
        return "error"
    if message.get("role") in ("branchSummary", "compactionSummary"):
        return "summary"
    return "excluded" if message.get("excludeFromContext") is True else "message"


def _meta(reader: _Reader) -> Meta:
    values = [mapping_of(entry.value) for entry in reader.lines]
    models = (_model(value) for value in reversed(values))
    infos = [value for value in reversed(values) if value.get("type") == "session_info"]
    return Meta(
        session_id=maybe_text(reader.header.get("id")),
        cwd=maybe_text(reader.header.get("cwd")),
        model=next((model for model in models if model is not None), maybe_text(reader.header.get("modelId"))),
        version=str(maybe_count(reader.header.get("version")) or 1) if reader.header else None,
        started=maybe_text(reader.header.get("timestamp")),
        title=first_text(infos, "name"),
        parent=maybe_text(reader.header.get("parentSession")),
    )


def _model(value: Mapping[str, Any]) -> str | None:
    if value.get("type") == "model_change":
        return maybe_text(value.get("modelId"))
    message = mapping_of(value.get("message"))
    return maybe_text(message.get("model")) if message.get("role") == "assistant" else None
