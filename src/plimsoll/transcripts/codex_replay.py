"""Codex's replay of its log: rollbacks, compactions without a replacement, and pairing of calls with outputs.

Constants and order of steps follow the tool's public source (rollout reconstruction, compaction, history normalisation).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from plimsoll.light.dataclass import dataclass, field
from plimsoll.message import Wire
from plimsoll.transcripts.lines import list_of, mapping_of, maybe_count, text_in, text_of
from plimsoll.transcripts.values import Finding

SUMMARY_PREFIX = (
    "Another language model started to solve this problem and produced a summary of its thinking process. "
    "You also have access to the state of the tools that were used by that language model. "
    "Use this to build on the work that has already been done and avoid duplicating work. "
    "Here is the summary produced by the other language model, use the information in this summary "
    "to  assist with your own analysis:"
)
"""The start of the tool's own summaries. It keeps the next compaction from treating one as a user message."""

USER_TOKENS_MAX = 20_000
"""Tokens of user messages kept by a compaction without a replacement."""

_PREFIX_WORDS = " ".join(SUMMARY_PREFIX.split())
_PREFIX_END = "own analysis:"
_BYTES_PER_TOKEN = 4
_NO_SUMMARY = "(no summary available)"
_CONTEXT_MARKS = (
    "# agents.md instructions",
    "<environment_context>",
    "<user_instructions>",
    "<user_shell_command>",
    "<turn_aborted>",
    "<skill>",
    "<subagent_notification>",
    "<instructions>",
    "<permissions instructions>",
    "<model_switch>",
    "<collaboration_mode>",
    "<personality_spec>",
    "<skills_instructions>",
    "<token_budget>",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedItem:
    """One item of the replayed history and the indexes of its messages."""

    wire: Wire = field(repr=False)
    messages: tuple[int, ...] = ()
    user_tokens: int | None = None
    """Its share of USER_TOKENS_MAX; None if a compaction without a replacement drops it."""


def item_of(wire: Wire, messages: tuple[int, ...] = ()) -> ReplayedItem:
    """A wire item as an item of the history."""
    tokens = None
    if wire.get("type") == "message" and begins_turn(wire):
        text = text_in(wire.get("content"))
        tokens = _tokens(text) if strip_prefix(text, only=True) is None else None
    return ReplayedItem(wire=wire, messages=messages, user_tokens=tokens)


def strip_prefix(text: str, *, only: bool = False) -> str | None:
    """The summary without the tool's prefix. With `only`, None if the prefix is missing."""
    head = " ".join(text[: len(SUMMARY_PREFIX) + 16].split())
    if head.startswith(_PREFIX_WORDS):
        return text[text.index(_PREFIX_END) + len(_PREFIX_END) :].lstrip("\n") or None
    return None if only else (text or None)


def is_context(wire: Wire) -> bool:
    """Whether the tool itself inserted a message: environment, instructions, notices."""
    content = wire.get("content")
    parts = [content] if isinstance(content, str) else [text_of(mapping_of(p).get("text")) for p in list_of(content)]
    return any(part.lstrip()[:40].lower().startswith(_CONTEXT_MARKS) for part in parts)


def begins_turn(wire: Wire) -> bool:
    """Whether a rollback counts the item as the start of a user's turn."""
    if wire.get("type") == "agent_message":
        return True
    return wire.get("type") == "message" and wire.get("role") == "user" and not is_context(wire)


AGENT_LINE = "inter_agent_communication"
"""The type of lines that hold what one agent said to another."""


def agent_message(payload: Mapping[str, Any]) -> Wire:
    """The item that the tool sends for such a line. What is encrypted comes behind a head that the tool writes."""
    author, recipient = text_of(payload.get("author")), text_of(payload.get("recipient"))
    encrypted, said = payload.get("encrypted_content"), text_of(payload.get("content"))
    parts: list[Wire] = [{"type": "input_text", "text": said}]
    if isinstance(encrypted, str):
        kind = "NEW_TASK" if payload.get("trigger_turn") is True else "MESSAGE"
        head = f"Message Type: {kind}\nTask name: {recipient}\nSender: {author}\nPayload:\n"
        parts = [{"type": "input_text", "text": head}, {"type": "encrypted_content", "encrypted_content": encrypted}]
    return {"type": "agent_message", "author": author, "recipient": recipient, "content": parts}


class ReplayedHistory:
    """The replayed items. A rollback costs only what it removes, so any number of them is linear."""

    def __init__(self) -> None:
        self.items: list[ReplayedItem] = []
        self._searched = 0
        """No user turn begins before this item."""

    def replace(self, items: list[ReplayedItem]) -> None:
        """Start again with these items."""
        self.items = items
        self._searched = 0

    def drop_newest_turns(self, turns: int) -> list[ReplayedItem]:
        """Remove the newest user turns and return them. Items before the first turn are never removed."""
        while self._searched < len(self.items) and not begins_turn(self.items[self._searched].wire):
            self._searched += 1
        first, cut = self._searched, len(self.items)
        while turns > 0 and cut > first:
            cut -= 1
            turns -= begins_turn(self.items[cut].wire)
        if cut == len(self.items):
            return []
        while cut > first and _is_context_update(self.items[cut - 1].wire):
            cut -= 1
        dropped = self.items[cut:]
        del self.items[cut:]
        return dropped


def _is_context_update(wire: Wire) -> bool:
    return wire.get("type") == "message" and wire.get("role") in ("developer", "user") and is_context(wire)


def rebuilt(history: Sequence[ReplayedItem], message: str) -> list[ReplayedItem]:
    """The history after a compaction without a replacement: the newest user messages up to USER_TOKENS_MAX, and the summary."""
    kept: list[ReplayedItem] = []
    remaining = USER_TOKENS_MAX
    for item in reversed(history):
        if item.user_tokens is None:
            continue
        if item.user_tokens > remaining:
            kept.append(item_of(_user(_cut(text_in(item.wire.get("content")), remaining)), item.messages))
            break
        kept.append(item)
        remaining -= item.user_tokens
        if remaining <= 0:
            break
    kept.reverse()
    return [*(_text_only(item) for item in kept), item_of(_user(message or _NO_SUMMARY))]


def _text_only(item: ReplayedItem) -> ReplayedItem:
    """The item without images, which the tool drops here."""
    content = item.wire.get("content")
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict) and "text" in content[0]:
        return item
    return item_of(_user(text_in(content)), item.messages)


def _user(text: str) -> Wire:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def _tokens(text: str) -> int:
    size = len(text.encode("utf-8", "surrogatepass"))
    return (size + _BYTES_PER_TOKEN - 1) // _BYTES_PER_TOKEN


def _cut(text: str, tokens: int) -> str:
    """Head and tail of a text that is too long, with the number of omitted tokens between them."""
    data = text.encode("utf-8", "surrogatepass")
    half = tokens * _BYTES_PER_TOKEN // 2
    head = data[:half].decode("utf-8", "ignore")
    tail = data[len(data) - half :].decode("utf-8", "ignore")
    return f"{head}…{_tokens(text) - tokens} tokens truncated…{tail}"


@dataclass(slots=True)
class _Segment:
    """A turn, when the log is read backwards."""

    turn: str | None = None
    by_user: bool = False
    compactions: list[int] = field(default_factory=list)


def dropped_compactions(kinds: Sequence[tuple[str, Mapping[str, Any]]]) -> set[int]:
    """Positions of `compacted` lines inside turns that a later rollback dropped."""
    dropped: set[int] = set()
    if not any(payload.get("type") == "thread_rolled_back" for _, payload in kinds):
        return dropped
    pending, segment = 0, _Segment()
    for number in range(len(kinds) - 1, -1, -1):
        kind, payload = kinds[number]
        event = text_of(payload.get("type")) if kind == "event_msg" else ""
        if event == "thread_rolled_back":
            pending += maybe_count(payload.get("num_turns")) or 0
        elif event in ("task_started", "turn_started"):
            if pending > 0:
                dropped.update(segment.compactions)
                pending -= segment.by_user
            segment = _Segment()
        else:
            _look_back(segment, number, kind, payload)
    return dropped


def _look_back(segment: _Segment, number: int, kind: str, payload: Mapping[str, Any]) -> None:
    if kind == "compacted":
        segment.compactions.append(number)
    elif kind == "response_item":
        segment.by_user = segment.by_user or begins_turn(payload)
    elif kind == "event_msg" and payload.get("type") == "user_message":
        segment.by_user = True


_OUTPUT_OF = {
    "function_call": "function_call_output",
    "local_shell_call": "function_call_output",
    "custom_tool_call": "custom_tool_call_output",
    "tool_search_call": "tool_search_output",
}


def pair_up(history: Sequence[ReplayedItem]) -> tuple[list[ReplayedItem], list[Finding]]:
    """The history as sent: every call has an output, and every output a call before it."""
    answer_of = _answers(history)
    outputs = set(answer_of.values())
    sent: list[ReplayedItem] = []
    findings: list[Finding] = []
    for index, item in enumerate(history):
        kind, call = text_of(item.wire.get("type")), text_of(item.wire.get("call_id"))
        if _needs_call(item.wire) and index not in outputs:
            findings.append(Finding(kind="orphan-result", detail=f"no call {call[:80]} for this output; not sent"))
            continue
        sent.append(item)
        if kind in _OUTPUT_OF and "call_id" in item.wire and index not in answer_of:
            findings.append(Finding(kind="no-result", detail=f"call {call[:80]} has no output; sent as aborted"))
            sent.append(ReplayedItem(wire=_aborted(_OUTPUT_OF[kind], call)))
    return _without_lone_reasoning(sent, findings), findings


def _answers(history: Sequence[ReplayedItem]) -> dict[int, int]:
    """Index of each call -> index of its output. If an id is reused, an output belongs to the newest call."""
    waiting: dict[str, tuple[int, str]] = {}
    answers: dict[int, int] = {}
    for index, item in enumerate(history):
        kind, call = text_of(item.wire.get("type")), text_of(item.wire.get("call_id"))
        if kind in _OUTPUT_OF:
            waiting[call] = (index, _OUTPUT_OF[kind])
        elif call in waiting and waiting[call][1] == kind:
            answers[waiting.pop(call)[0]] = index
    return answers


def _without_lone_reasoning(items: Sequence[ReplayedItem], findings: list[Finding]) -> list[ReplayedItem]:
    """Drop reasoning that nothing follows, as at the end of a file: the provider refuses it."""
    kept: list[ReplayedItem] = []
    leads_on = False
    for item in reversed(items):
        kind = text_of(item.wire.get("type"))
        if kind == "reasoning" and not leads_on:
            findings.append(Finding(kind="reasoning-alone", detail="reasoning that nothing follows; not sent"))
            continue
        if kind != "reasoning":
            led_to = item.wire.get("role") == "assistant" if kind == "message" else not kind.endswith("_output")
            leads_on = led_to
        kept.append(item)
    kept.reverse()
    return kept


def _needs_call(wire: Wire) -> bool:
    return wire.get("type") in _OUTPUT_OF.values() and wire.get("execution") != "server" and "call_id" in wire


def _aborted(kind: str, call: str) -> Wire:
    if kind == "tool_search_output":
        return {"type": kind, "call_id": call, "status": "completed", "execution": "client", "tools": []}
    return {"type": kind, "call_id": call, "output": "aborted"}
