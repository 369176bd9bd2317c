"""Probes from a conversation, by patterns of its text and structure. English and Chinese."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from plimsoll.api.evaluation.matching import TERMS_MIN, words
from plimsoll.api.evaluation.values import Probe, ProbeKind
from plimsoll.formats.wire import object_in
from plimsoll.light.dataclass import dataclass, field, replace
from plimsoll.light.regex import regex
from plimsoll.message import Message, Text, ToolCall

PER_KIND_MAX: Final = 12
"""Probes of one kind for each conversation, spread over it, so that no kind and no long conversation outweighs the rest."""

STATEMENTS_MAX: Final = 40
"""A conversation without tools is all statements."""

RARE_SHARE: Final = 0.03
"""A word is rare if at most this share of the messages has it."""

_ANSWER_CHARS: Final = range(12, 301)
_LINE_CHARS_MAX: Final = 200
_CALL_CHARS: Final = 160

_MARKUP = regex(r"<([a-zA-Z][\w-]*)[^>]*>.*?</\1>", re.DOTALL)
_SENTENCE_END = regex(r"(?<=[.!?])\s+|(?<=[。！？；])|\n+")
_CONSTRAINT = regex(
    r"\b(?:must|never|always|do not|don't|should(?:n't| not)?|only|make sure|avoid|without|required?|instead of|no more than)\b"
    r"|不要|不能|必须|务必|只能|禁止|一定要|别再|避免",
    re.IGNORECASE,
)
_DECISION = regex(
    r"\b(?:root cause|the (?:cause|problem|issue|bug|fix) (?:is|was)|because|decided|conclusion|turns out|instead of|rather than)\b"
    r"|原因是|因为|决定|改用|结论",
    re.IGNORECASE,
)
_ERROR = regex(
    r"(?:error|exception|fatal|panic)(?:\[\w+\])?:|^(?:FAILED|FAIL)\b|错误|失败|异常"
    r"|\b(?:command not found|no such file|permission denied|segmentation fault|undefined:|traceback)",
    re.IGNORECASE,
)
_NUMBERED = regex(r"\s*[0-9]+\s*[→:|\t]")
"""A line of a file that a tool printed: what it says of errors is code."""
_RUNS_CHECKS = regex(
    r"(?:^|&&|;)\s*(?:[\w./=:-]+\s+){0,3}?(?:test|tests|pytest|jest|vitest|build|lint|mypy|ruff|tsc|clippy|check|vet|make)\b"
)
_CHANGES = regex(r"write|edit|patch|create|replace|insert|save|apply|update_file", re.IGNORECASE)
_PATCHED = regex(r"^\*\*\* (?:Update|Add) File: (.+)$", re.MULTILINE)
_PATH_KEYS: Final = ("file_path", "path", "filename", "file", "target_file", "notebook_path")
_VALUE = regex(r"[A-Za-z0-9_@#~./:\\-]{5,}")
_IS_VALUE = regex(r"[0-9]|\w[_/.:\-]\w|[a-z][A-Z]")
_PLACE = regex(r"(.*[A-Za-z_].*?)(?::[0-9]+){1,2}")
"""A path with the number of a line."""
_STATEMENT = regex(r"[0-9]|(?<=[a-z,;] )[A-Z][a-z]+|[\"“《「][^\"”》」]{2,}|[\u4e00-\u9fff]{6}")
_QUESTION_END: Final = ("?", "？")


@dataclass(frozen=True, slots=False, kw_only=True)
class Material:
    """A decoded conversation, read once for all kinds of probes."""

    messages: Sequence[Message] = field(repr=False)

    @cached_property
    def has_tools(self) -> bool:
        """Whether tools were called."""
        return any(message.calls for message in self.messages)

    @cached_property
    def frequency(self) -> Counter[str]:
        """In how many messages each word occurs."""
        found: Counter[str] = Counter()
        for message in self.messages:
            found.update(set(words(message.text)))
        return found

    def sentences(self, role: str) -> Iterator[tuple[int, str]]:
        """What a role says in words of its own: no tool results, no markup that a program inserts."""
        for position, message in enumerate(self.messages):
            if message.role == role:
                said = "\n".join(part.text for part in message.parts if isinstance(part, Text))
                for sentence in _SENTENCE_END.split(_MARKUP.sub("\n", said)):
                    if len(sentence.strip()) in _ANSWER_CHARS:
                        yield position, sentence.strip()

    def clue(self, sentence: str) -> str:
        """The rarest words of a sentence: they say what a question is about, and too little to answer it."""
        rare = sorted(dict.fromkeys(words(sentence)), key=lambda word: (self.frequency[word], -len(word), word))
        return ", ".join(rare[:3])

    def informing(self, sentence: str) -> tuple[str, ...]:
        """Numbers and the words that few messages have: a shorter wording that holds them says the same."""
        rare = max(2, len(self.messages) * RARE_SHARE)
        found = (word for word in words(sentence) if word.isdigit() or self.frequency[word] <= rare)
        return tuple(dict.fromkeys(found))


def probes_of(messages: Sequence[Message], *, spread: bool = True) -> list[Probe]:
    """The probes of a conversation, in the order of their positions; with `spread` only so many of each kind."""
    material = Material(messages=messages)
    found: list[Probe] = []
    for make, most in (
        (_requests, PER_KIND_MAX),
        (_constraints, PER_KIND_MAX),
        (_decisions, PER_KIND_MAX),
        (_values, 3 * PER_KIND_MAX),
        (_files, PER_KIND_MAX),
        (_outcomes, PER_KIND_MAX),
        (_errors, PER_KIND_MAX),
        (_statements, STATEMENTS_MAX),
    ):
        distinct = list({(probe.kind, probe.answer): probe for probe in make(material)}.values())
        found += _spread(distinct, most) if spread else distinct
    return sorted(found, key=lambda probe: (probe.position, probe.kind, probe.answer))


def _spread(probes: list[Probe], most: int) -> list[Probe]:
    """At most so many, evenly over the conversation."""
    if len(probes) <= most:
        return probes
    return [probes[index * len(probes) // most] for index in range(most)]


def _requests(material: Material) -> Iterator[Probe]:
    """The first sentence of what the user asks, each time."""
    seen: set[int] = set()
    for position, sentence in material.sentences("user"):
        if position not in seen and material.has_tools and len(words(sentence)) >= 4:
            which = "first" if not seen else f"about {material.clue(sentence)}"
            seen.add(position)
            yield _said("request", f"What did the user ask {which}?", sentence, position)


def _constraints(material: Material) -> Iterator[Probe]:
    for position, sentence in material.sentences("user"):
        if material.has_tools and _CONSTRAINT.search(sentence):
            yield _said("constraint", f"What did the user require about {material.clue(sentence)}?", sentence, position)


def _decisions(material: Material) -> Iterator[Probe]:
    for position, sentence in material.sentences("assistant"):
        if material.has_tools and _DECISION.search(sentence):
            yield _said("decision", f"What was found or decided about {material.clue(sentence)}?", sentence, position)


def _statements(material: Material) -> Iterator[Probe]:
    """Of talk without tools: what is said with a name, a number or a title."""
    if material.has_tools:
        return
    for role in ("user", "assistant"):
        for position, sentence in material.sentences(role):
            terms = material.informing(sentence)
            if len(terms) >= TERMS_MIN and _STATEMENT.search(sentence) and not sentence.endswith(_QUESTION_END):
                question = f"What was said about {material.clue(sentence)}?"
                yield replace(_said("statement", question, sentence, position), terms=terms)


def _said(kind: ProbeKind, question: str, sentence: str, position: int) -> Probe:
    terms = tuple(dict.fromkeys(words(sentence)))
    return Probe(kind=kind, question=question, answer=sentence, match="words", terms=terms, position=position)


def identifiers(text: str) -> Iterator[str]:
    """Words such as paths, hashes, ids and symbols, in order."""
    for found in _VALUE.findall(text):
        word = found.strip("./:-#@~\\")
        if len(word) >= 5 and _IS_VALUE.search(word):
            yield word
            place = _PLACE.fullmatch(word)
            if place is not None:
                yield place[1]


def _values(material: Material) -> Iterator[Probe]:
    """Values that a tool returned first and a later call's arguments hold."""
    known: set[str] = set()
    made: dict[str, int] = {}
    asked: set[str] = set()
    for position, message in enumerate(material.messages):
        for call in message.calls:
            for value in dict.fromkeys(identifiers(call.arguments)):
                if value in made and value not in asked:
                    asked.add(value)
                    yield _value(value, call, made[value], position)
                known.add(value)
        for result in message.results:
            for value in identifiers(result.content):
                if value not in known:
                    made.setdefault(value, position)
        if not message.results:
            known.update(identifiers(message.text))


def _value(value: str, call: ToolCall, position: int, used_at: int) -> Probe:
    at = call.arguments.find(value)
    start = max(0, at - _CALL_CHARS // 2)
    shown = call.arguments[start : at + len(value) + _CALL_CHARS // 2].replace(value, "____")
    return Probe(
        kind="value",
        question=f"A later call {call.name}({shown}) needs the value masked as ____. Which is it?",
        answer=value,
        match="exact",
        position=position,
        used_at=used_at,
    )


def _files(material: Material) -> Iterator[Probe]:
    """Files that calls change, by their whole path."""
    for position, message in enumerate(material.messages):
        for call in message.calls:
            for path in _changed(call):
                name = path.rsplit("/", 1)[-1]
                question = f"What is the path of the file {name} that was changed?"
                yield Probe(kind="file", question=question, answer=path, match="path", position=position)


def _changed(call: ToolCall) -> Iterator[str]:
    arguments = object_in(call.arguments) or {}
    if _CHANGES.search(call.name):
        yield from (value for key in _PATH_KEYS if isinstance(value := arguments.get(key), str) and value.strip())
    texts = [value for value in arguments.values() if isinstance(value, str)] or [call.arguments]
    for text in texts:
        if "*** " in text:
            yield from (path.strip() for path in _PATCHED.findall(text))


def _outcomes(material: Material) -> Iterator[Probe]:
    """The last line that a check or a test printed, by its command's last run."""
    last: dict[str, Probe] = {}
    for position, call, content in _answered(material):
        command = _command(call)
        lines = [line.strip() for line in content.splitlines() if len(line.strip()) >= 8]
        if command and _RUNS_CHECKS.search(command) and lines:
            question, answer = f"What did the last run of {command[:_CALL_CHARS]} report?", lines[-1][:_LINE_CHARS_MAX]
            last[command] = Probe(kind="outcome", question=question, answer=answer, match="exact", position=position)
    yield from last.values()


def _errors(material: Material) -> Iterator[Probe]:
    """The first line of each result that tells of an error."""
    for position, call, content in _answered(material):
        found = next((line.strip() for line in content.splitlines() if _is_error(line)), "")
        if len(found) in _ANSWER_CHARS:
            question = f"Which error did {_command(call)[:_CALL_CHARS] or call.name} meet?"
            yield Probe(kind="error", question=question, answer=found, match="exact", position=position)


def _is_error(line: str) -> bool:
    return _ERROR.search(line) is not None and _NUMBERED.match(line) is None


def _answered(material: Material) -> Iterator[tuple[int, ToolCall, str]]:
    """Each result with the call that it answers."""
    calls: dict[str, ToolCall] = {}
    for position, message in enumerate(material.messages):
        calls.update((call.id, call) for call in message.calls)
        for result in message.results:
            if result.call_id in calls:
                yield position, calls[result.call_id], result.content


def _command(call: ToolCall) -> str:
    """The command of a shell call; empty for other tools."""
    found = object_in(call.arguments) or {}
    command = next((found[key] for key in ("command", "cmd", "script") if key in found), "")
    if isinstance(command, list):
        command = " ".join(str(word) for word in command)
    return command.split("\n", 1)[0].strip() if isinstance(command, str) else ""
