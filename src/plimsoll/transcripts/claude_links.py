"""The tree of a Claude Code file: its path, the messages a compaction preserved, and the siblings of answers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Container, Mapping, Sequence
from typing import Any

from plimsoll.compaction.references import runs_of
from plimsoll.errors import LimitExceeded
from plimsoll.light.dataclass import dataclass, field
from plimsoll.limits import TRANSCRIPT_COMPACTIONS_MAX
from plimsoll.transcripts import tree
from plimsoll.transcripts.lines import list_of, mapping_of, maybe_count, maybe_text, text_in, text_of
from plimsoll.transcripts.values import SourceLine, ToolCompaction

_FIELDS = (
    *("type", "subtype", "uuid", "parentUuid", "logicalParentUuid", "timestamp", "message", "attachment"),
    *(
        "isSidechain",
        "agentId",
        "isApiErrorMessage",
        "isMeta",
        "isCompactSummary",
        "compactMetadata",
        "microcompactMetadata",
    ),
    *("replacements", "sessionId", "cwd", "gitBranch", "version", "customTitle", "aiTitle", "summary", "leafUuid"),
)
_COMMON = ("type", "sessionId", "cwd", "gitBranch", "version")


class FieldFilter:
    """Reduces a line to the fields that its reader uses: the tool also stores each result a second time, for display.

    Strings equal to those of the previous line are shared.
    """

    def __init__(self) -> None:
        self._last: dict[str, Any] = {}

    def __call__(self, value: dict[str, Any]) -> dict[str, Any]:
        """The line with fewer fields."""
        last, needed = self._last, {name: value[name] for name in _FIELDS if name in value}
        for name in _COMMON:
            if name in needed and name in last and needed[name] == last[name]:
                needed[name] = last[name]
        if "uuid" in last and needed.get("parentUuid") == last["uuid"]:
            needed["parentUuid"] = last["uuid"]
        self._last = needed
        return needed


@dataclass(slots=True)
class Link:
    """A line with a uuid: its parent, and the index of the message it belongs to."""

    uuid: str
    parent: str | None
    entry: SourceLine = field(repr=False)
    value: Mapping[str, Any] = field(repr=False)
    index: int | None = None
    answer: str | None = None
    """The id of the answer that an assistant's line belongs to."""


def is_boundary(value: Mapping[str, Any] | None) -> bool:
    """Whether the line is a compaction boundary."""
    return value is not None and value.get("subtype") == "compact_boundary" and value.get("type") == "system"


class Tree:
    """The links of a file, as written and as changed by the newest compaction."""

    def __init__(self, links: Mapping[str, Link]) -> None:
        self.links = links
        self.written = {uuid: link.parent for uuid, link in links.items()}
        self.parents = self.written
        self.kept: list[str] = []
        self.broken = False
        """Whether the links of the messages that the newest compaction preserved are broken."""
        boundaries = [link for link in links.values() if is_boundary(link.value)]
        self.newest = boundaries[-1] if boundaries else None
        if self.newest is not None:
            self._relink(self.newest.value)
        self._parts: dict[str, list[Link]] = {}
        self._results: dict[str, Link] = {}
        for link in links.values():
            self._index(link)

    def _relink(self, boundary: Mapping[str, Any]) -> None:
        """Move the preserved messages behind their anchor, and what followed the anchor behind them."""
        anchor, kept = preserved(boundary, self.written)
        if anchor is None:
            return
        if not kept or anchor not in self.links:
            self.broken = True
            return
        members = set(kept)
        moved = {uuid: kept[-1] for uuid, parent in self.written.items() if parent == anchor and uuid not in members}
        self.parents = {**self.written, **moved, **dict(zip(kept, (anchor, *kept), strict=False))}
        self.kept = kept

    def _index(self, link: Link) -> None:
        if link.answer is not None:
            self._parts.setdefault(link.answer, []).append(link)
        elif link.index is not None:
            for call in _ids_in(link, "tool_result", "tool_use_id"):
                self._results.setdefault(call, link)

    def leaves(self) -> list[str]:
        """The messages without a successor. After a compaction that preserved messages, older ones it dropped are not leaves."""
        found = tree.leaves(self.links, self.parents, self._is_message)
        if not self.kept or self.newest is None:
            return found
        first, kept = self.newest.entry.number, set(self.kept)
        return [uuid for uuid in found if uuid in kept or self.links[uuid].entry.number > first] or found

    def _is_message(self, uuid: str) -> bool:
        return self.links[uuid].index is not None

    def path(self, leaf: str | None) -> tuple[list[Link], list[Link]]:
        """The lines of the view, and the older ones of the same branch."""
        nodes, _ = tree.walk(leaf, self.parents)
        cut = next((i for i in range(len(nodes) - 1, -1, -1) if is_boundary(self.links[nodes[i]].value)), 0)
        shown = [self.links[node] for node in nodes[cut:]]
        older = [self.links[node] for node in nodes[:cut]]
        if shown and (is_boundary(shown[0].value) or shown[0].parent is not None):
            logical, _ = tree.walk(shown[0].uuid, self._logical_parents())
            older.extend(self.links[node] for node in logical)
        return shown, older

    def _logical_parents(self) -> dict[str, str | None]:
        """Parents across boundaries and missing lines."""
        logical: dict[str, str | None] = {}
        previous: str | None = None
        for uuid, link in self.links.items():
            parent = link.parent
            if parent is None and is_boundary(link.value):
                parent = maybe_text(link.value.get("logicalParentUuid")) or previous
            logical[uuid] = parent if parent is None or parent in self.links else previous
            previous = uuid
        return logical

    def with_siblings(self, chain: Sequence[Link]) -> list[Link]:
        """The chain plus lines of its answers on other branches: parallel calls and their results.

        Each line has one parent, so parallel calls are branches, and the path to the root contains one of them.
        """
        on_chain = {link.uuid for link in chain}
        answered = {call for link in chain for call in _ids_in(link, "tool_result", "tool_use_id")}
        done: set[str] = set()
        complete: list[Link] = []
        for link in chain:
            complete.append(link)
            if link.answer is None or link.answer in done:
                continue
            done.add(link.answer)
            for extra in self._answer_lines(link.answer, answered):
                if extra.uuid not in on_chain:
                    on_chain.add(extra.uuid)
                    complete.append(extra)
        return complete

    def _answer_lines(self, answer: str, answered: Container[str]) -> list[Link]:
        """The lines of an answer, and the results of its calls that the chain lacks; those may exist twice, as copies."""
        parts = self._parts[answer]
        calls = [call for part in parts for call in _ids_in(part, "tool_use", "id") if call not in answered]
        return [*parts, *(self._results[call] for call in calls if call in self._results)]


def _ids_in(link: Link, kind: str, key: str) -> list[str]:
    message = link.value.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if not isinstance(content, list):
        return []
    return [text_of(block.get(key)) for block in content if isinstance(block, dict) and block.get("type") == kind]


def preserved(boundary: Mapping[str, Any], parents: Mapping[str, str | None]) -> tuple[str | None, list[str]]:
    """The anchor of a boundary and the messages preserved behind it, in order; no messages if the links are broken."""
    metadata = mapping_of(boundary.get("compactMetadata"))
    listed = mapping_of(metadata.get("preservedMessages"))
    uuids = [uuid for uuid in list_of(listed.get("uuids")) if isinstance(uuid, str)]
    if uuids and (anchor := maybe_text(listed.get("anchorUuid"))) is not None:
        return anchor, list(dict.fromkeys(uuid for uuid in uuids if uuid in parents))
    segment = mapping_of(metadata.get("preservedSegment"))
    head, anchor = maybe_text(segment.get("headUuid")), maybe_text(segment.get("anchorUuid"))
    if head is None or anchor is None:
        return anchor, []
    return anchor, tree.segment(head, maybe_text(segment.get("tailUuid")), parents)


def compactions(
    lines: Sequence[SourceLine], summaries: Sequence[SourceLine], firsts: Sequence[int], found_tree: Tree
) -> tuple[ToolCompaction, ...]:
    """Every compaction in the lines. `firsts` are the numbers of the messages' first lines, ascending."""
    after = {text_of(mapping_of(entry.value).get("parentUuid")): entry for entry in reversed(summaries)}
    boundaries = [entry for entry in lines if is_boundary(entry.value)]
    if len(boundaries) > TRANSCRIPT_COMPACTIONS_MAX:
        raise LimitExceeded("TRANSCRIPT_COMPACTIONS_MAX", allowed=TRANSCRIPT_COMPACTIONS_MAX, found=len(boundaries))
    found = [_boundary(entry, after, firsts, found_tree) for entry in boundaries]
    found += [c for entry in lines if (c := _clearing(entry, firsts)) is not None]
    claimed = {text_of(mapping_of(entry.value).get("uuid")) for entry in boundaries}
    for entry in summaries:
        if text_of(mapping_of(entry.value).get("parentUuid")) not in claimed:
            found.append(_bare_summary(entry, firsts))
    return tuple(sorted(found, key=lambda compaction: compaction.line or 0))


def _boundary(
    entry: SourceLine, after: Mapping[str, SourceLine], firsts: Sequence[int], found_tree: Tree
) -> ToolCompaction:
    value = mapping_of(entry.value)
    metadata = mapping_of(value.get("compactMetadata"))
    summary = after.get(text_of(value.get("uuid"))) if value.get("uuid") else None
    kept = (found_tree.links[uuid].index for uuid in preserved(value, found_tree.written)[1])
    return ToolCompaction(
        position=bisect_left(firsts, entry.number),
        line=entry.number,
        trigger=maybe_text(metadata.get("trigger")) or "auto",
        summary=None if summary is None else _text(summary),
        kept=tuple(runs_of(index for index in kept if index is not None)),
        tokens_before=maybe_count(metadata.get("preTokens")),
        tokens_after=maybe_count(metadata.get("postTokens")),
        at=maybe_text(value.get("timestamp")),
    )


def _clearing(entry: SourceLine, firsts: Sequence[int]) -> ToolCompaction | None:
    value = mapping_of(entry.value)
    if value.get("type") != "system" or value.get("subtype") != "microcompact_boundary":
        return None
    metadata = mapping_of(value.get("microcompactMetadata"))
    before, saved = maybe_count(metadata.get("preTokens")), maybe_count(metadata.get("tokensSaved"))
    return ToolCompaction(
        position=bisect_left(firsts, entry.number),
        line=entry.number,
        trigger=maybe_text(metadata.get("trigger")) or "auto",
        tokens_before=before,
        tokens_after=None if before is None or saved is None else max(0, before - saved),
        cleared=tuple(cleared_calls(value)),
        at=maybe_text(value.get("timestamp")),
    )


def cleared_calls(value: Mapping[str, Any]) -> list[str]:
    """The ids of the calls whose results a line clears; none if it is no `microcompact_boundary`."""
    if value.get("subtype") != "microcompact_boundary":
        return []
    ids = list_of(mapping_of(value.get("microcompactMetadata")).get("compactedToolIds"))
    return [call for call in ids if isinstance(call, str)]


def replaced_results(lines: Sequence[SourceLine], *, of_agent: bool) -> dict[str, str]:
    """The text that the tool sends for a result in its place, by the id of its call.

    The tool decides that before it sends a result for the first time, and keeps to it. A sub-agent's lines name the agent.
    """
    values = (mapping_of(entry.value) for entry in lines)
    records = (
        mapping_of(record)
        for value in values
        if value.get("type") == "content-replacement" and (of_agent or value.get("agentId") is None)
        for record in list_of(value.get("replacements"))
        if mapping_of(record).get("kind") == "tool-result"
    )
    found = ((maybe_text(record.get("toolUseId")), maybe_text(record.get("replacement"))) for record in records)
    return {call: text for call, text in found if call is not None and text is not None}


def _bare_summary(entry: SourceLine, firsts: Sequence[int]) -> ToolCompaction:
    """A summary without a boundary: older versions wrote it at the head of a new file."""
    value = mapping_of(entry.value)
    at = maybe_text(value.get("timestamp"))
    return ToolCompaction(position=bisect_left(firsts, entry.number), line=entry.number, summary=_text(entry), at=at)


def _text(summary: SourceLine) -> str:
    return text_in(mapping_of(mapping_of(summary.value).get("message")).get("content"))
