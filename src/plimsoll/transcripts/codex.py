"""Codex: `$CODEX_HOME/sessions/YYYY/MM/DD/rollout-*.jsonl`, a flat log that is replayed from its start.

This reader rebuilds the context as the tool does on resume. Response items form the history. A `compacted` line replaces all of it
by its `replacement_history`, or, if it has none, by the newest user messages up to 20,000 tokens and the summary.
`thread_rolled_back` drops the newest user turns, with any compaction in them. Before sending, calls without an output get the
output `aborted`, and outputs without a call are dropped.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from plimsoll.compaction.references import runs_of
from plimsoll.errors import LimitExceeded
from plimsoll.light.dataclass import replace
from plimsoll.limits import TRANSCRIPT_COMPACTIONS_MAX
from plimsoll.message import Wire
from plimsoll.transcripts.blocks import read_message
from plimsoll.transcripts.codex_replay import (
    AGENT_LINE,
    ReplayedHistory,
    ReplayedItem,
    agent_message,
    dropped_compactions,
    is_context,
    item_of,
    pair_up,
    rebuilt,
    strip_prefix,
)
from plimsoll.transcripts.lines import first_text, list_of, mapping_of, maybe_count, maybe_text, text_in, text_of, title
from plimsoll.transcripts.usages import CodexReports
from plimsoll.transcripts.values import (
    MADE,
    SUMMARY,
    Finding,
    Meta,
    SourceLine,
    SourceMessage,
    ToolCompaction,
    Transcript,
    Viewed,
)

ITEM_TYPES = frozenset(
    (
        "message reasoning function_call function_call_output custom_tool_call custom_tool_call_output local_shell_call "
        "tool_search_call tool_search_output web_search_call image_generation_call compaction compaction_summary "
        "context_compaction agent_message"
    ).split()
)
"""The types of response items that the tool sends. Others stay in the file."""


def read(entries: Sequence[SourceLine], findings: Sequence[Finding] = ()) -> Transcript:
    """Read a transcript. Never fails: damage becomes findings."""
    replay = _Replay()
    lines = [entry for entry in entries if entry.value is not None]
    kinds = [kind_and_payload(mapping_of(entry.value)) for entry in lines]
    dropped = dropped_compactions(kinds)
    for number, (entry, (kind, payload)) in enumerate(zip(lines, kinds, strict=True)):
        replay.step(entry, kind, payload, counts=number not in dropped)
    repairs = pair_up(replay.history.items)[1]
    return Transcript(
        tool="codex",
        format="openai-responses",
        entries=tuple(entries),
        messages=replay.messages(),
        viewed=_sent(replay.history.items),
        compactions=tuple(replay.compactions),
        system=_system(kinds),
        meta=_meta(kinds),
        findings=(*findings, *replay.findings, *repairs),
        usages=tuple(replay.reports.usages),
        window_tokens=replay.reports.window_tokens,
    )


def _sent(items: Sequence[ReplayedItem]) -> tuple[Viewed, ...]:
    return tuple(Viewed(wire=item.wire, messages=item.messages, origins=(_origin(item),)) for item in pair_up(items)[0])


def kind_and_payload(value: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The type and payload of a line. In old files the line itself is the payload."""
    kind, payload = text_of(value.get("type")), value.get("payload")
    if isinstance(payload, dict):
        return ("response_item", agent_message(payload)) if kind == AGENT_LINE else (kind, payload)
    if kind in ITEM_TYPES:
        return "response_item", value
    if "id" in value and "timestamp" in value and not kind:
        return "session_meta", value
    return kind, {}


class _Replay:
    """The state of the replay."""

    def __init__(self) -> None:
        self.history = ReplayedHistory()
        self.compactions: list[ToolCompaction] = []
        self.findings: list[Finding] = []
        self.reports = CodexReports()
        self._made: list[SourceMessage] = []
        self._off: set[int] = set()

    def step(self, entry: SourceLine, kind: str, payload: Mapping[str, Any], *, counts: bool) -> None:
        """Replay one line. `counts` is False for a compaction that a rollback removed."""
        match kind:
            case "response_item":
                self._item(entry, payload)
            case "compacted" if counts:
                self._compacted(entry, payload)
            case "event_msg" if payload.get("type") == "thread_rolled_back":
                dropped = self.history.drop_newest_turns(maybe_count(payload.get("num_turns")) or 0)
                self._off.update(index for item in dropped for index in item.messages)
            case _:
                self.reports.step(entry, kind, payload, self._made)

    def _item(self, entry: SourceLine, payload: Mapping[str, Any]) -> None:
        kind = text_of(payload.get("type"))
        if kind not in ITEM_TYPES or (kind == "message" and payload.get("role") == "system"):
            return
        wire = _sendable(payload)
        message = None if wire is None else read_message(wire, "openai-responses")
        if message is None or message.wire is None:
            self.findings.append(Finding(kind="bad-message", detail=f"{kind} without its fields", line=entry.number))
            return
        self.history.items.append(item_of(message.wire, (len(self._made),)))
        self._made.append(SourceMessage(id=f"line-{entry.number}", lines=(entry.number,), message=message))

    def _compacted(self, entry: SourceLine, payload: Mapping[str, Any]) -> None:
        if len(self.compactions) >= TRANSCRIPT_COMPACTIONS_MAX:
            raise LimitExceeded("TRANSCRIPT_COMPACTIONS_MAX", allowed=TRANSCRIPT_COMPACTIONS_MAX)
        message = text_of(payload.get("message"))
        listed = payload.get("replacement_history")
        replacement = None if listed is None else [w for item in list_of(listed) if (w := _readable(mapping_of(item)))]
        before = self.history.items
        if replacement is None:
            self.history.replace(rebuilt(before, message))
        else:
            self.history.replace(_matched(replacement, before))
        self._record(entry, message, replacement, before)

    def _record(
        self, entry: SourceLine, message: str, replacement: Sequence[Wire] | None, before: Sequence[ReplayedItem]
    ) -> None:
        texts = [text_in(wire.get("content")) for wire in replacement or () if wire.get("role") == "user"]
        summary = strip_prefix(message) or next(
            (s for text in reversed(texts) if (s := strip_prefix(text, only=True))), None
        )
        opaque = next(
            (w for w in replacement or () if text_of(w.get("type")).endswith(("compaction", "_summary"))), None
        )
        kept = runs_of(index for item in self.history.items for index in item.messages)
        self.compactions.append(
            ToolCompaction(
                position=len(self._made),
                line=entry.number,
                summary=summary,
                kept=tuple(kept),
                replacement=tuple(item.wire for item in self.history.items),
                opaque=opaque,
                view_after=partial(_sent, tuple(self.history.items)),
                view_before=partial(_sent, before),
                at=maybe_text(mapping_of(entry.value).get("timestamp")),
            )
        )

    def messages(self) -> tuple[SourceMessage, ...]:
        return tuple(replace(made, on_path=index not in self._off) for index, made in enumerate(self._made))


def _origin(item: ReplayedItem) -> int:
    """The index of an item's message, else SUMMARY for a user message not written by the tool, else MADE."""
    if item.messages:
        return item.messages[0]
    is_user = item.wire.get("type") == "message" and item.wire.get("role") == "user"
    return SUMMARY if is_user and not is_context(item.wire) else MADE


def _matched(replacement: Sequence[Wire], history: Iterable[ReplayedItem]) -> list[ReplayedItem]:
    """The replacement as items with the messages they repeat: the newest equal ones, each used once.

    A call or an output with changed content, such as a shortened one, is matched by its id.
    """
    known: dict[str, list[tuple[int, ...]]] = {}
    for item in history:
        if item.messages:
            known.setdefault(_key(item.wire), []).append(item.messages)
            if name := _name(item.wire):
                known.setdefault(name, []).append(item.messages)
    items: list[ReplayedItem] = []
    taken: set[tuple[int, ...]] = set()
    for wire in reversed(replacement):
        places = next((p for key in (_key(wire), _name(wire)) if (p := _free(known.get(key, []), taken))), ())
        taken.add(places)
        items.append(item_of(wire, places))
    items.reverse()
    return items


def _free(places: list[tuple[int, ...]], taken: Container[tuple[int, ...]]) -> tuple[int, ...]:
    while places and places[-1] in taken:
        places.pop()
    return places.pop() if places else ()


def _name(wire: Wire) -> str:
    """The type and call id of an item; empty without a call id."""
    call = maybe_text(wire.get("call_id"))
    return f"{text_of(wire.get('type'))} {call}" if call is not None else ""


def _key(wire: Wire) -> str:
    return repr(sorted((key, repr(value)) for key, value in wire.items() if key not in ("id", "phase")))


def _sendable(payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """The item as the tool sends it, without null fields; None if required fields are missing."""
    wire = {key: value for key, value in payload.items() if value is not None}
    match wire.get("type"):
        case "message":
            content = wire.get("content")
            known = isinstance(wire.get("role"), str) and isinstance(content, str | list)
            if known and isinstance(content, list):
                wire["content"] = [
                    part for part in content if isinstance(part, dict) and isinstance(part.get("type"), str)
                ]
        case "function_call":
            known = all(isinstance(wire.get(key), str) for key in ("name", "arguments", "call_id"))
        case "custom_tool_call":
            known = all(isinstance(wire.get(key), str) for key in ("name", "input", "call_id"))
        case "function_call_output" | "custom_tool_call_output":
            known = isinstance(wire.get("call_id"), str)
            wire["output"] = _output(wire.get("output"))
        case "reasoning":
            known = True
            wire["summary"] = list_of(wire.get("summary"))
        case kind:
            known = isinstance(kind, str)
    return wire if known else None


def _readable(payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """An item of a replacement as the tool sends it; None for what it does not send, such as snapshots of files."""
    wire = _sendable(payload) if text_of(payload.get("type")) in ITEM_TYPES else None
    return wire if wire is not None and read_message(wire, "openai-responses") is not None else None


def _output(output: object) -> object:
    """The text of an output. Early files wrote it inside an object."""
    if isinstance(output, dict):
        return text_of(output.get("content"))
    return output if isinstance(output, str | list) else ""


def _system(kinds: Sequence[tuple[str, Mapping[str, Any]]]) -> str | None:
    for kind, payload in kinds:
        if kind == "session_meta":
            instructions = payload.get("base_instructions", payload.get("instructions"))
            return maybe_text(mapping_of(instructions).get("text")) or maybe_text(instructions)
    return None


def _meta(kinds: Sequence[tuple[str, Mapping[str, Any]]]) -> Meta:
    first = next((payload for kind, payload in kinds if kind == "session_meta"), {})
    contexts = [payload for kind, payload in kinds if kind == "turn_context"]
    prompts = [payload for kind, payload in kinds if kind == "event_msg" and payload.get("type") == "user_message"]
    return Meta(
        session_id=maybe_text(first.get("id")),
        cwd=maybe_text(first.get("cwd")),
        branch=maybe_text(mapping_of(first.get("git")).get("branch")),
        model=first_text(reversed(contexts), "model"),
        version=maybe_text(first.get("cli_version")),
        started=maybe_text(first.get("timestamp")),
        title=title(first_text(prompts, "message")),
        parent=maybe_text(first.get("forked_from_id")),
    )
