"""The context layers as a few lines of text for a system prompt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from plimsoll.environment.layers import LAYERS, ContextLayers
from plimsoll.light.brief import pluralize
from plimsoll.light.regex import regex
from plimsoll.protocols import TokenCounter
from plimsoll.summary.ledger.sentences import line
from plimsoll.truncation import cut_text

LINE_CHARS_MAX = 2_000
CUT_TOKENS_MIN = 24
"""A layer is not shortened below this size; it is left out instead."""

_WORD = regex(r"[^\W_]+")


def relevance_scores(layers: ContextLayers, query: str) -> dict[str, float]:
    """Layer -> share of the query's words in its text, 0 to 1."""
    query_words = _words(query)
    return {name: len(query_words & _words(text)) / max(1, len(query_words)) for name, text in _texts(layers).items()}


def context_text(layers: ContextLayers, *, tokens_max: int, counter: TokenCounter) -> str:
    """The layers as one or two lines each, in at most `tokens_max` tokens by `counter.upper`.

    If they do not all fit, those of the highest priority are kept; a query raises a layer's priority up to twofold. The last
    kept layer is shortened. Returns an empty string if nothing fits.
    """
    texts = _texts(layers)
    kept: dict[str, str] = {}
    for name in _by_priority(layers, texts):
        kept[name] = texts[name]
        excess = counter.upper(_joined(kept)) - tokens_max
        if excess <= 0:
            continue
        room = counter.upper(texts[name]) - excess
        del kept[name]
        if room >= CUT_TOKENS_MIN:
            cut = {**kept, name: cut_text(texts[name], tokens_max=room, counter=counter).text}
            return _joined(cut if counter.upper(_joined(cut)) <= tokens_max else kept)
    return _joined(kept)


def _by_priority(layers: ContextLayers, texts: Mapping[str, str]) -> list[str]:
    priority, scores = layers.metadata.priority, layers.metadata.relevance_score or {}
    weights = {name: priority.get(name, 0) * (1 + scores.get(name, 0.0)) for name in texts}
    return sorted(texts, key=lambda name: -weights[name])


def _joined(texts: Mapping[str, str]) -> str:
    return "\n".join(texts[name] for name in LAYERS if name in texts)


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _texts(layers: ContextLayers) -> dict[str, str]:
    """Layer -> its text, without empty layers."""
    found = {
        "system": _system(layers),
        "session": _session(layers),
        "conversation": _conversation(layers),
        "tool": _tools(layers),
        "workspace": _workspace(layers),
    }
    texts = {name: "\n".join(line(text, LINE_CHARS_MAX) for text in lines) for name, lines in found.items()}
    return {name: text for name, text in texts.items() if text}


def _system(layers: ContextLayers) -> Iterator[str]:
    system = layers.system
    if system is not None:
        yield f"System: {system.os_type} {system.os_version}, shell {system.shell}, Python {system.runtime_version}"
        yield f"Working directory: {system.cwd}"


def _session(layers: ContextLayers) -> Iterator[str]:
    session = layers.session
    people = _named({"user": session.user_id, "agent": session.agent_id, "title": session.title})
    yield ", ".join([f"Session: {session.session_id}", *people])
    if session.preferences:
        yield f"Preferences: {json.dumps(session.preferences, ensure_ascii=False)}"


def _conversation(layers: ContextLayers) -> Iterator[str]:
    conversation = layers.conversation
    if conversation.messages:
        yield f"Conversation: {pluralize(conversation.messages, 'message')}" + "".join(
            f"; asked: {topic}" for topic in conversation.topics
        )


def _tools(layers: ContextLayers) -> Iterator[str]:
    states = layers.tool.tool_states
    if states:
        counts = (
            f"{name} {state.calls}" + f" ({state.failed} failed)" * (state.failed > 0) for name, state in states.items()
        )
        yield f"Tools called: {', '.join(counts)}"


def _workspace(layers: ContextLayers) -> Iterator[str]:
    found = layers.workspace
    if found is not None:
        head = _named({"branch": found.git_branch, "at": found.git_detached_at, "remote": found.git_remote})
        yield ", ".join([f"Project: {found.project_path}", *head])
        if found.package is not None:
            package = " ".join(_named({"": found.package.name, "version": found.package.version}))
            yield f"Package: {package}, {len(found.package.dependencies)} dependencies"


def _named(values: Mapping[str, str | None]) -> Iterable[str]:
    return [f"{name} {value}".strip() for name, value in values.items() if value]
