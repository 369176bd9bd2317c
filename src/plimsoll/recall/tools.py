"""Recall as tools for a model: their definitions, and how a call is run. The size of a result is bounded.

Results present the history as data: each excerpt has a heading with its author and position, which the text cannot imitate.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

from plimsoll.compaction.references import place_of, position_named, summary_of
from plimsoll.compaction.tool_names import TOOL_NAMES, ToolNames
from plimsoll.errors import ReferenceNotFound, SessionDamaged
from plimsoll.formats.wire import json_in
from plimsoll.light.brief import pluralize
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.light.regex import regex
from plimsoll.policy.validation import one_of
from plimsoll.protocols import TokenCounter
from plimsoll.recall.index import RECORD
from plimsoll.recall.search import Hit
from plimsoll.store.blobs import is_blob_name
from plimsoll.truncation.boundaries import head_end
from plimsoll.truncation.measure import chars_within

ToolFormat: TypeAlias = Literal["openai-chat", "openai-responses", "anthropic"]
"""The formats of tool definitions. UI messages have none; use those of the provider."""

_DESCRIPTIONS = ToolNames(
    recall=(
        "Search everything said earlier in this conversation that is no longer shown: messages, tool calls and tool results. "
        "Answers with excerpts, those of neighbouring messages together and in order, the best such group first; each with its "
        "reference (m12 for message m12, m12.1-3fa9c1d2 for a part of it), who said it, the offset where it begins, "
        "and the day where it is known and changes."
    ),
    read=(
        "Read a text of this conversation in full by its reference (such as m12.0-3fa9c1d2), as {recall} gives it and as stands "
        "where text was cut, or a whole message by its name (such as m12). A long text comes in pages: read on with offset."
    ),
)

_PROPERTIES: dict[str, dict[str, Any]] = {
    "recall": {
        "query": {"type": "string", "description": "Words that the text has in it: names, identifiers, paths, numbers."}
    },
    "read": {
        "reference": {
            "type": "string",
            "description": "The reference, such as m12.0-3fa9c1d2, or m12 for the whole message.",
        },
        "offset": {"type": "integer", "description": "Character to begin at; 0 if left out."},
        "limit": {"type": "integer", "description": "Characters to read at most; a page if left out."},
    },
}

_REQUIRED = {"recall": ["query"], "read": ["reference"]}

_HEADING = regex(
    r"\[(?=\s{0,8}(?:(?:message\s{1,8}m?|summary\s{1,8}c)[0-9]|[mc][0-9]{1,12}(?:(?:\.[0-9]{1,12})?-[0-9a-f]{8}|\s{0,8},)))",
    re.IGNORECASE,
)


def definitions(format: ToolFormat = "openai-chat", names: ToolNames = TOOL_NAMES) -> list[dict[str, Any]]:
    """The two tools as a provider's `tools` parameter takes them. Raises SettingError for another format."""
    chosen = one_of("format", format, get_args(ToolFormat))
    return [_definition(chosen, kind, name, names) for kind, name in names._asdict().items()]


def _definition(format: str, kind: str, name: str, names: ToolNames) -> dict[str, Any]:
    properties = {key: dict(value) for key, value in _PROPERTIES[kind].items()}
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(_REQUIRED[kind]),
        "additionalProperties": False,
    }
    about = {"name": name, "description": getattr(_DESCRIPTIONS, kind).format(recall=names.recall)}
    match format:
        case "anthropic":
            return {**about, "input_schema": schema}
        case "openai-responses":
            return {"type": "function", **about, "parameters": schema, "strict": False}
        case _:
            return {"type": "function", "function": {**about, "parameters": schema}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """What the tools work on. `tokens_max` is the size of a result in tokens, by the counter's upper bound."""

    recall: Callable[[str, int], Sequence[Hit]]
    """Called with the query and a number of tokens. Returns hits, best first."""
    read: Callable[[str], str]
    """Called with a reference. Returns the whole text, or raises ReferenceNotFound or SessionDamaged."""
    counter: TokenCounter
    tokens_max: int
    names: ToolNames = TOOL_NAMES
    is_only: bool = True
    """Whether names such as m12 are read from this session alone. Where there are others, each hit has its whole reference."""

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> str:
        """Run a tool and return its result. For invalid arguments, the result tells the model what to do.

        Raises SettingError for an unknown tool, and StoreError.
        """
        tool = one_of("name", name, self.names)
        kind = "recall" if tool == self.names.recall else "read"
        given = _arguments(arguments)
        if given is None:
            answer = f"The arguments of {tool} must be a JSON object with: {', '.join(_PROPERTIES[kind])}."
        elif kind == "recall":
            answer = self._recalled(given.get("query"))
        else:
            answer = self._page(given)
        return answer[: chars_within(answer, self.tokens_max, self.counter)]

    def _recalled(self, query: object) -> str:
        if not isinstance(query, str) or not query.strip():
            return f"{self.names.recall} needs a query: words that the text you look for has in it."
        hits: list[Hit] = []
        days: set[str] = set()
        room = self.tokens_max - self.counter.upper(_FOUND)
        for hit in self.recall(query, self.tokens_max):
            named = _briefly(hit) if self.is_only else hit
            room -= self.counter.upper(_block(named, day="" if hit.day in days else hit.day)) + _SEAM_TOKENS // 2
            if room < 0 and hits:
                break
            hits.append(named)
            days.add(hit.day)
        if not hits:
            return (
                "Nothing found among the messages that are no longer shown. "
                "Try other words, such as a name, a path or a number; or look at what is still shown."
            )
        answer = _joined(hits)
        while len(hits) > 1 and self.counter.upper(answer) > self.tokens_max:
            hits.pop()  # days that come back take more room
            answer = _joined(hits)
        return answer

    def _page(self, given: Mapping[str, Any]) -> str:
        reference, offset, limit = (
            given.get("reference"),
            _number(given.get("offset"), 0),
            _number(given.get("limit"), None),
        )
        if not isinstance(reference, str) or _WRONG in (offset, limit):
            needed = (
                "needs a reference, such as m12.0-3fa9c1d2; offset and limit, if given, are whole numbers from 0 on."
            )
            return f"{self.names.read} {needed}"
        try:
            text = self.read(reference.strip())
        except ReferenceNotFound:
            return (
                f"No text has this reference. Copy it exactly as it stands, or find the text with {self.names.recall}."
            )
        except SessionDamaged:
            lost = "The text of this reference can no longer be read from the session's file."
            return f"{lost} Look for a copy with {self.names.recall}."
        if offset >= len(text):
            return f"The text has {pluralize(len(text), 'character')}; offset {offset} is after its end."
        return self._paged(text, _owner(reference.strip()), offset, limit)

    def _paged(self, text: str, owner: str, start: int, limit: int | None) -> str:
        """A heading and as much of the text as fits, preferably up to the end of a line or a word."""
        rest = text[start:] if limit is None else text[start : start + max(1, limit)]
        heading = _page_heading(owner, len(text), len(text), len(text) + 1)
        room = self.tokens_max - self.counter.upper(heading) - _SEAM_TOKENS
        fitting = chars_within(rest, room, self.counter)
        if fitting < len(rest):
            fitting = head_end(rest, fitting) or fitting
        end = start + max(1, fitting)
        return f"{_page_heading(owner, start, end, len(text))}\n{text[start:end]}"


_UNQUOTED = r"[\[\]\s]+"
_SEAM_TOKENS = 4
"""Joined texts can count a little more than the texts do."""

_WRONG = -1
_FOUND = f"[Found in the history, {RECORD}. To see more of a text, read its reference.]"


def _owner(reference: str) -> str:
    """What a reference names, for the heading of a page."""
    if is_blob_name(reference):
        return f"stored text {reference}"
    seq, position = summary_of(reference), position_named(reference)
    if seq is not None:
        return f"summary c{seq}"
    return f"message m{place_of(reference)[0] if position is None else position}"


def _page_heading(owner: str, start: int, end: int, total: int) -> str:
    onward = f" Read on with offset {end}." if end < total else " This is its end."
    return f"[{owner}, characters {start}-{end} of {total}, {RECORD}.{onward}]"


def _block(hit: Hit, *, day: str) -> str:
    """A hit with its heading. Imitations of a heading in its text lose their bracket."""
    since = f", offset {hit.offset}" if hit.offset else ""
    said = f", {day}" if day else ""
    voice = re.sub(_UNQUOTED, " ", hit.voice)[:80]
    text = _HEADING.sub("(", hit.text.strip("\r\n"))
    columns = f", columns: {re.sub(_UNQUOTED, ' ', hit.header)}" if hit.header else ""
    return f"[{hit.reference}, {voice}{since}{said}{columns}]\n{text}"


def _briefly(hit: Hit) -> Hit:
    """The hit under the shortest name that reads its text with the same offsets: that of the message for its first part.

    The text of a message begins with its first part, but has the name of the tool before the arguments of a call.
    """
    is_first = hit.reference.startswith(f"{hit.id}.0-") and not (hit.offset and hit.voice.startswith("tool call"))
    return replace(hit, reference=hit.id) if is_first else hit


def _in_order(hits: Iterable[Hit]) -> list[Hit]:
    """The hits, grouped: those of neighbouring messages together in order, the group with the best hit first."""
    groups: list[list[Hit]] = []
    for hit in sorted(hits, key=lambda hit: (hit.position, hit.offset)):
        if groups and hit.position - groups[-1][-1].position <= 1:
            groups[-1].append(hit)
        else:
            groups.append([hit])
    groups.sort(key=lambda group: -max(hit.score for hit in group))
    return [hit for group in groups for hit in group]


def _joined(hits: Iterable[Hit]) -> str:
    """The hits, which are given best first, as the text of an answer."""
    return "\n".join((_FOUND, *_dated(_in_order(hits))))


def _dated(hits: Iterable[Hit]) -> Iterator[str]:
    """The hits as text, each with its day where the one before is of another day."""
    last = ""
    for hit in hits:
        yield _block(hit, day="" if hit.day == last else hit.day)
        last = hit.day


def _arguments(given: Mapping[str, Any] | str) -> Mapping[str, Any] | None:
    if isinstance(given, str):
        given = json_in(given or "{}")
    return given if isinstance(given, Mapping) else None


def _number(value: object, default: int | None) -> Any:
    """A non-negative int, `default` for None, else _WRONG. Models also write 100.0."""
    if value is None:
        return default
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else _WRONG
