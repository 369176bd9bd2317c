"""Read conversations, cut them, compact each one each way at the same size, and ask what is still there."""

from __future__ import annotations

import os
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast

from plimsoll.api.evaluation.extract import identifiers, probes_of
from plimsoll.api.evaluation.matching import Haystack
from plimsoll.api.evaluation.values import (
    AskedConversation,
    Evaluation,
    Interval,
    Outcome,
    Probe,
    ProbeCounts,
    WayScore,
    added,
)
from plimsoll.api.evaluation.ways import Compacted, Setting, Way, checked_ways, compacted_by, way_name
from plimsoll.api.inspect import Inspectable, load
from plimsoll.errors import ErrorCatcher, FormatError, PlimsollError
from plimsoll.formats.registry import decode_all
from plimsoll.formats.words import words_of
from plimsoll.light.dataclass import dataclass, field
from plimsoll.message import Message
from plimsoll.policy.policy import PolicyChoice, policy_of
from plimsoll.policy.validation import ratio, text_or_none
from plimsoll.tokens.counter import message_counter_for
from plimsoll.tokens.registry import DEFAULT_MODEL
from plimsoll.transcripts.detect import load_file
from plimsoll.transcripts.values import Conversation, Transcript

State = Literal["kept", "recalled", "lost"]

SHARE: Final = 0.1
CUT: Final = 0.5

_RESAMPLES: Final = 1_000
_CONVERSATIONS_MIN: Final = 5
"""With fewer conversations, probes are resampled instead: the interval is then narrower than it should be."""


def evaluate(  # noqa: PLR0913 - one call with its options
    sources: Source | Sequence[Source],
    *,
    against: Sequence[str | Way] = ("recency",),
    share: float = SHARE,
    cut: float = CUT,
    model: str | None = None,
    policy: PolicyChoice = "fill",
) -> Evaluation:
    """Measure what a session's view, and other ways of compacting, keep of conversations at the same size in tokens.

    Each conversation is cut, and the part before the cut is compacted to `share` of its tokens; its system text comes on top.
    Probes are made from the conversation by patterns, without a model: the user's requests and constraints, decisions, values that
    a tool returned and a later call uses, changed files, outcomes of checks, errors; statements, where no tool is called. A
    probe is kept if the compacted messages hold its answer, and found if they do or one query of at most 2,000 tokens returns it.

    Args:
        sources: a file, a folder (its files named `.json` or `.jsonl`, also packed), messages, a result of `load_file`, or
            several of them.
        against: the ways to compare with `ours`, which is always measured: "recency" (the newest messages), "clear-tool-results",
            "summary:FILE", "command:PROGRAM" (called with the budget, with the messages on standard input as a JSON array), or a
            function of the messages and the budget that returns messages or text.
        share: the budget, from 0 to 1 of the tokens before the cut.
        cut: where each conversation is cut, from 0 to 1 of its messages. 1 leaves nothing that is needed next.
        model: whose tokens are counted; None: the one the file names, else gpt-4o.
        policy: the policy of `ours`.

    Returns: scores by way with intervals of 95 %, the probes, and every result. A way that fails on a conversation loses its
        probes and is counted in `failed`.

    Raises: SettingError; FormatError, StoreError or LimitExceeded if a file given by name cannot be read. Such files in a folder
        are listed in `skipped`.

    """
    sizes = Sizes(share=ratio("share", share), cut=ratio("cut", cut), model=text_or_none("model", model))
    ways = checked_ways(against)
    policy_of(policy, "fill")
    skipped: dict[str, str] = {}
    cases = list(cases_of(sources, sizes, skipped))
    outcomes = {way_name(way): [_outcome(case, way, policy) for case in cases] for way in ways}
    return Evaluation(
        scores=tuple(_score(name, found) for name, found in outcomes.items()),
        conversations=tuple(case.asked for case in cases),
        outcomes=tuple(outcome for found in outcomes.values() for outcome in found),
        share=share,
        skipped=skipped,
    )


def _outcome(case: Case, way: str | Way, policy: PolicyChoice) -> Outcome:
    started = time.perf_counter()
    made = Compacted(messages=(), tokens=0)
    with ErrorCatcher() as compacting:  # another's way may raise anything: its probes are lost
        made = compacted_by(way, case.wires, case.budget_tokens, case.setting, policy)
    if compacting.error is not None:
        made = Compacted(messages=(), tokens=0, error=f"{type(compacting.error).__name__}: {compacting.error}")
    spent_s = time.perf_counter() - started
    with closing(made):
        return _measured(case, way_name(way), made, spent_s)


def _measured(case: Case, name: str, made: Compacted, spent_s: float) -> Outcome:
    """What of a case the compacted messages hold."""
    texts = [text_of(message) for message in made.messages]
    view = Haystack(texts)
    states = [(probe, _state(probe, view, made.recall)) for probe in case.asked.probes]
    needed = [(probe, state) for probe, state in states if probe.is_needed_next(case.asked.cut)]
    said = zip(made.messages, texts, strict=True)
    listed = {word.lower() for message, text in said if message.role != "system" for word in identifiers(text)}
    later = "\n".join(map(text_of, case.later)).lower()
    return Outcome(
        way=name,
        conversation=case.asked.name,
        text="\n\n".join(f"{message.role}: {text}" for message, text in zip(made.messages, texts, strict=True)),
        tokens=made.tokens,
        budget_tokens=case.budget_tokens,
        by_kind=tallied(states),
        needed_next=added(tallied(needed).values()),
        identifiers=len(listed),
        identifiers_used=sum(word in later for word in listed),
        time_s=spent_s,
        error=made.error,
        can_recall=made.recall is not None,
    )


def text_of(message: Message) -> str:
    """All that a message says, with names and arguments of its calls."""
    calls = {id(call): f"{call.name}(" for call in message.calls}
    return "\n".join(
        f"{calls[id(part)]}{words_of(part)})" if id(part) in calls else words_of(part) for part in message.parts
    )


def _state(probe: Probe, view: Haystack, recall: Callable[[str], Sequence[str]] | None) -> State:
    if view.holds(probe):
        return "kept"
    if recall is not None and Haystack(recall(probe.question)).holds(probe):
        return "recalled"
    return "lost"


def tallied(states: Iterable[tuple[Probe, State]]) -> dict[str, ProbeCounts]:
    """The states of probes by their kind."""
    found: dict[str, ProbeCounts] = defaultdict(ProbeCounts)
    for probe, state in states:
        found[probe.kind] = found[probe.kind].plus(ProbeCounts(**{state: 1}))
    return dict(sorted(found.items()))


def _score(name: str, outcomes: Sequence[Outcome]) -> WayScore:
    total = added(outcome.total for outcome in outcomes)
    can_recall = any(outcome.can_recall for outcome in outcomes)
    listed = sum(outcome.identifiers for outcome in outcomes)
    used = sum(outcome.identifiers_used for outcome in outcomes)
    kinds = sorted({kind for outcome in outcomes for kind in outcome.by_kind})
    return WayScore(
        way=name,
        kept=total.kept_share,
        kept_interval=_interval(outcomes, lambda tally: tally.kept),
        found=total.found_share if can_recall else None,
        found_interval=_interval(outcomes, lambda tally: tally.kept + tally.recalled) if can_recall else None,
        lost=total.lost,
        needed_next=added(outcome.needed_next for outcome in outcomes),
        identifier_precision=used / listed if listed else None,
        tokens_mean=sum(outcome.tokens for outcome in outcomes) / len(outcomes) if outcomes else 0.0,
        over_budget=sum(outcome.tokens > outcome.budget_tokens for outcome in outcomes),
        time_s=sum(outcome.time_s for outcome in outcomes),
        failed=sum(outcome.error is not None for outcome in outcomes),
        by_kind={kind: added(outcome.by_kind.get(kind, ProbeCounts()) for outcome in outcomes) for kind in kinds},
    )


def _interval(outcomes: Sequence[Outcome], hits: Callable[[ProbeCounts], int]) -> Interval:
    """The middle 95 % of a bootstrap (Efron 1979), with a fixed seed: conversations are drawn again, with all their probes."""
    drawn = [(hits(outcome.total), outcome.total.total) for outcome in outcomes]
    if len(drawn) < _CONVERSATIONS_MIN:
        drawn = [(int(number < hit), 1) for hit, size in drawn for number in range(size)]
    if not drawn:
        return (0.0, 0.0)
    chance = random.Random(0)  # noqa: S311 - a sample, not a secret
    samples = (chance.choices(drawn, k=len(drawn)) for _ in range(_RESAMPLES))
    shares = sorted(sum(hit for hit, _ in sample) / max(1, sum(size for _, size in sample)) for sample in samples)
    return shares[_RESAMPLES // 40], shares[-_RESAMPLES // 40]


Source: TypeAlias = Inspectable
"""As in `inspect`, or a folder."""

_MESSAGES_MIN: Final = 4
"""Fewer before the cut are not worth compacting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How a conversation is cut and how large its view may be; see `evaluate`."""

    share: float
    cut: float
    model: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A conversation, its probes, and what follows the cut."""

    asked: AskedConversation
    wires: Sequence[Mapping[str, Any]] = field(repr=False)
    """Before the cut."""
    later: Sequence[Message] = field(repr=False)
    setting: Setting
    budget_tokens: int


def cases_of(sources: Source | Sequence[Source], sizes: Sizes, skipped: dict[str, str]) -> Iterator[Case]:
    """The cases of files, folders and loaded conversations; what cannot be measured goes into `skipped`, with the reason."""
    for name, loaded in _conversations(sources, skipped):
        case = _case(name, loaded, sizes)
        if isinstance(case, str):
            skipped[name] = case
        else:
            yield case


def _conversations(
    sources: Source | Sequence[Source], skipped: dict[str, str]
) -> Iterator[tuple[str, Transcript | Conversation]]:
    for number, source in enumerate(_each(sources)):
        if isinstance(source, str | PathLike) and os.path.isdir(source):  # noqa: PTH112 - of odd paths it says no
            yield from _in_folder(Path(source), skipped)
        elif isinstance(source, str | PathLike):
            name = Path(source).name
            try:
                yield name, load(source)
            except FormatError as error:
                raise FormatError(f"{name}: {error.reason}", position=error.position, format=error.format) from None
        else:
            yield f"conversation {number + 1}", load(source)


def _each(sources: Source | Sequence[Source]) -> Sequence[Source]:
    """Several sources, or a list with the one: a path, bytes, or messages, which are mappings or objects of an SDK."""
    if isinstance(sources, str | bytes | PathLike | Transcript | Conversation) or not isinstance(sources, Sequence):
        return [cast("Source", sources)]
    is_messages = sources and not isinstance(
        sources[0], str | bytes | PathLike | Transcript | Conversation | list | tuple
    )
    return cast("Sequence[Source]", [sources] if is_messages else sources)


def _in_folder(folder: Path, skipped: dict[str, str]) -> Iterator[tuple[str, Transcript | Conversation]]:
    """The conversations below a folder, by path. Links are not followed."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() or not path.is_file() or not {".json", ".jsonl"} & set(path.suffixes):
            continue
        name = str(path.relative_to(folder))
        try:
            yield name, load_file(path)
        except PlimsollError as error:
            skipped[name] = str(error)


def _case(name: str, loaded: Transcript | Conversation, sizes: Sizes) -> Case | str:
    """The conversation to measure, or why it is not."""
    wires = _wires(loaded)
    messages = decode_all(wires, loaded.format)[1]
    at = _cut_at(messages, sizes.cut)
    if at < _MESSAGES_MIN:
        return f"only {at} messages before the cut"
    setting = Setting(format=loaded.format, model=sizes.model or loaded.model or DEFAULT_MODEL, system=loaded.system)
    probes = tuple(probe for probe in probes_of(messages) if _is_asked(probe, at))
    if not probes:
        return "nothing to ask"
    talk, system = _tokens(messages[:at], setting)
    return Case(
        asked=AskedConversation(name=name, cut=at, messages=len(messages), tokens=talk + system, probes=probes),
        wires=wires[:at],
        later=messages[at:],
        setting=setting,
        budget_tokens=system + max(1, int(talk * sizes.share)),
    )


def _wires(loaded: Transcript | Conversation) -> list[Mapping[str, Any]]:
    """What was said, without the summaries that the tool wrote."""
    if isinstance(loaded, Conversation):
        return loaded.view()
    return [said.wire for said in loaded.messages if said.on_path and said.kind == "message"]


def _cut_at(messages: Sequence[Message], cut: float) -> int:
    """The position of the cut, moved on to where no tool call waits for its result."""
    waiting: set[str] = set()
    least = round(len(messages) * cut)
    for position, message in enumerate(messages):
        if position >= least and not waiting:
            return position
        waiting -= {result.call_id for result in message.results}
        waiting |= {call.id for call in message.calls}
    return len(messages)


def _is_asked(probe: Probe, cut: int) -> bool:
    return probe.position < cut and (probe.kind != "value" or probe.is_needed_next(cut))


def _tokens(messages: Sequence[Message], setting: Setting) -> tuple[int, int]:
    """Tokens beside and in the system text."""
    counting = message_counter_for(setting.model).upper
    heads = [message for message in messages if message.role == "system"]
    system = setting.system_tokens + (counting.messages(heads) if heads else 0)
    return max(0, counting.messages(messages) + setting.system_tokens - system), system
