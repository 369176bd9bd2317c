"""Anthropic blocks: validation, and the repairs that both Claude Code and pi make before sending.

A view is built from turns in one linear pass. The results of a message's calls, matched by id, follow it at once. What the
provider would refuse (orphans, blank text, thinking with nothing after it) is dropped and reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from plimsoll.compaction.normalize import normalize
from plimsoll.errors import FormatError, LimitExceeded
from plimsoll.formats.registry import FORMATS, decode_all, format_named
from plimsoll.light.dataclass import dataclass, field
from plimsoll.message import FormatName, Message, Wire
from plimsoll.transcripts.values import MADE, Finding, Viewed

_THINKING = ("thinking", "redacted_thinking")
_MODEL_ONLY = (*_THINKING, "tool_use", "server_tool_use")
OPENING = "[The conversation begins before the first message of this file.]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewTurn:
    """One message for the view: role, content, and index in the history."""

    role: str
    content: str | Sequence[Wire]
    index: int


@dataclass(slots=True)
class _Draft:
    """A message of the view under construction."""

    role: str
    content: list[Wire]
    origins: list[int] = field(default_factory=list)
    """Origin of each block."""
    plain: str | None = None

    @property
    def messages(self) -> tuple[int, ...]:
        """The messages that its blocks come from, in order."""
        return tuple(dict.fromkeys(origin for origin in self.origins if origin >= 0))

    def add(self, block: Wire, origin: int) -> None:
        self.content.append(block)
        self.origins.append(origin)

    def wire(self) -> Wire:
        return {"role": self.role, "content": self.content if self.plain is None else self.plain}


def clean_content(content: object) -> str | list[Wire] | None:
    """The content as a string or a list of valid blocks; None if it is neither. Incomplete blocks are dropped."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    return [block for block in content if _usable(block)]


def _usable(block: object) -> bool:
    if not isinstance(block, dict):
        return False
    match block.get("type"):
        case "text":
            return isinstance(block.get("text"), str)
        case "tool_use":
            known = isinstance(block.get("id"), str) and isinstance(block.get("name"), str)
            return known and isinstance(block.get("input"), dict)
        case "tool_result":
            return isinstance(block.get("tool_use_id"), str)
        case kind:
            return isinstance(kind, str)


def has_content(block: Wire) -> bool:
    """Whether the provider accepts the block: blank text is refused."""
    return block.get("type") != "text" or bool(str(block.get("text")).strip())


def build_view(turns: Iterable[ViewTurn], *, missing: str) -> tuple[list[Viewed], list[Finding]]:
    """The view of these turns. `missing` is the text of a placeholder result. Linear."""
    builder = _View(list(turns), missing)
    return builder.shown(), builder.findings


class _View:
    """Builds a view; for one use."""

    def __init__(self, turns: list[ViewTurn], missing: str) -> None:
        self.findings: list[Finding] = []
        self._missing = missing
        self._out: list[_Draft] = []
        self._called: set[str] = set()
        self._results = _results_by_call(turns)
        for turn in turns:
            if turn.role == "assistant":
                self._add_answer(turn)
            else:
                self._add_user(turn)

    def shown(self) -> list[Viewed]:
        self._trim_end()
        if self._out and self._out[0].role == "assistant":
            self._report("no-opening", "the first message is the assistant's; a user message was inserted before it")
            self._out.insert(0, _Draft("user", [], [MADE], plain=OPENING))
        return [
            Viewed(wire=message.wire(), messages=message.messages, origins=tuple(message.origins))
            for message in self._out
        ]

    def _report(self, kind: str, detail: str) -> None:
        self.findings.append(Finding(kind=kind, detail=detail))

    def _add_answer(self, turn: ViewTurn) -> None:
        blocks = [block for block in _as_blocks(turn.content) if has_content(block) and self._is_new_call(block)]
        while blocks and blocks[-1].get("type") in _THINKING and any(b.get("type") not in _THINKING for b in blocks):
            blocks.pop()
        if all(block.get("type") in _THINKING for block in blocks):
            if blocks:
                self._report("thinking-only", f"message {turn.index} contains only thinking; not sent")
            return
        self._out.append(_Draft("assistant", blocks, [turn.index] * len(blocks)))
        calls = [str(block["id"]) for block in blocks if block.get("type") == "tool_use"]
        if calls:
            self._out.append(self._results_message(calls))

    def _is_new_call(self, block: Wire) -> bool:
        if block.get("type") == "tool_result":
            return False
        if block.get("type") != "tool_use":
            return True
        if block["id"] in self._called:
            self._report("duplicate-call", f"call {str(block['id'])[:80]} occurs twice; sent once")
            return False
        self._called.add(str(block["id"]))
        return True

    def _results_message(self, calls: Sequence[str]) -> _Draft:
        """The user message with all results of one answer, in the order of the calls."""
        answer = _Draft("user", [])
        for call in calls:
            block, index = self._results.get(call, (None, MADE))
            if block is None:
                self._report("no-result", f"call {call[:80]} has no result; a placeholder was inserted")
                block = {"type": "tool_result", "tool_use_id": call, "content": self._missing, "is_error": True}
            answer.add(_with_content(block, self._missing), index)
        return answer

    def _add_user(self, turn: ViewTurn) -> None:
        self._report_orphans(turn)
        blocks = [
            b for b in _as_blocks(turn.content) if b.get("type") not in ("tool_result", *_MODEL_ONLY) and has_content(b)
        ]
        if not blocks:
            return
        if self._out and self._out[-1].role == "user":
            self._join(self._out[-1], blocks, turn.index)
            return
        plain = turn.content if isinstance(turn.content, str) else None
        self._out.append(_Draft("user", blocks, [turn.index] * len(blocks), plain))

    def _join(self, last: _Draft, blocks: list[Wire], index: int) -> None:
        last.plain = None
        for block in blocks:
            last.add(block, index)

    def _report_orphans(self, turn: ViewTurn) -> None:
        for block in _as_blocks(turn.content):
            if block.get("type") in _MODEL_ONLY:
                self._report(
                    "wrong-place", f"message {turn.index} has the role user and contains {block.get('type')}; not sent"
                )
            if block.get("type") != "tool_result":
                continue
            call = str(block["tool_use_id"])
            if call not in self._called:
                self._report("orphan-result", f"the result of call {call[:80]} has no call before it")
            elif self._results[call][0] is not block:
                self._report("duplicate-result", f"call {call[:80]} has two results; the first is sent")

    def _trim_end(self) -> None:
        """Remove white space at the end of a final answer, which the provider refuses."""
        if not self._out or self._out[-1].role != "assistant":
            return
        last = self._out[-1].content[-1]
        text = last.get("text")
        if last.get("type") == "text" and isinstance(text, str) and text != text.rstrip():
            self._out[-1].content[-1] = {**last, "text": text.rstrip()}


def _with_content(block: Wire, missing: str) -> Wire:
    """The result without blank texts; a failed one without text gets a placeholder."""
    content = block.get("content")
    if isinstance(content, list):
        content = [b for b in content if isinstance(b, dict) and isinstance(b.get("type"), str) and has_content(b)]
    elif not isinstance(content, str):
        content = ""
    if block.get("is_error") is True and not (content.strip() if isinstance(content, str) else content):
        content = missing
    return block if content == block.get("content") else {**block, "content": content}


def _as_blocks(content: str | Sequence[Wire]) -> Sequence[Wire]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _results_by_call(turns: Iterable[ViewTurn]) -> dict[str, tuple[Wire, int]]:
    found: dict[str, tuple[Wire, int]] = {}
    for turn in turns:
        if turn.role == "user" and not isinstance(turn.content, str):
            for block in turn.content:
                if block.get("type") == "tool_result":
                    found.setdefault(str(block["tool_use_id"]), (block, turn.index))
    return found


def with_result_text(content: str | Sequence[Wire], cleared: Mapping[str, str]) -> str | Sequence[Wire]:
    """The content with the results of the given calls replaced by texts."""
    if isinstance(content, str) or not cleared:
        return content
    return [_cleared(block, cleared) for block in content]


def _cleared(block: Wire, cleared: Mapping[str, str]) -> Wire:
    text = cleared.get(block["tool_use_id"]) if block.get("type") == "tool_result" else None
    return block if text is None else {**block, "content": text}


def read_message(wire: Wire, format: FormatName) -> Message | None:
    """A message decoded in its format, or None if it cannot be read."""
    try:
        return FORMATS[format].decode(wire, 0)
    except (FormatError, LimitExceeded):
        return None


def accepted(viewed: Sequence[Viewed], format: FormatName) -> tuple[tuple[Viewed, ...], tuple[Finding, ...]]:
    """A view that its provider accepts, and the changes made for that; none for an undamaged file."""
    shape = format_named(format)
    problems = shape.validate([shown.wire for shown in viewed]) if viewed else []
    if not problems:
        return tuple(viewed), ()
    _, messages = decode_all([shown.wire for shown in viewed], format)
    normalized = [
        Viewed(
            wire=shape.encode(found.message), messages=() if found.position is None else viewed[found.position].messages
        )
        for found in normalize(messages, shape, lambda _: 0)
    ]
    findings = (Finding(kind="refused", detail=f"sent otherwise: {problem.reason}"[:120]) for problem in problems)
    return tuple(normalized), tuple(findings)
