"""Sentences of the assistant that report findings, decisions and results."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plimsoll.light.regex import regex
from plimsoll.summary.ledger.calls import written
from plimsoll.summary.ledger.fact import CAPS, Fact, author_of, by, is_recalled
from plimsoll.summary.ledger.prose import claims, is_claim, is_filler, plain, spoken, without_code
from plimsoll.summary.ledger.sentences import line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from plimsoll.summary.ledger.calls import Call

_FOUND = (
    "root cause", " fix is", " fix was", " issue is", " issue was", " problem is", " problem was", " bug is", " bug was",
    "reason is", "cause is", "cause was", "solution is", "approach is", "turns out", "decided", "conclusion",
    "confirmed", "i found", "found that", "means that", "which means", "recommend", "根本原因", "原因是",
    "问题在于", "结论", "决定", "发现", "建议", "确认",
)  # fmt: skip
_WHY = ("because", "so that", "因此", "所以")
_DID = (
    "i'll use", "i will use", "i've", "i have", "we'll", "fixed", "implemented", "added", "updated", "changed", "removed",
    "created", "renamed", "refactored", "committed", "pushed", "merged", "passes", "passing", "now works", "successful",
    "complete", "has been", "have been", "instead of", "chose", "i choose", "i pick", "going with", "go with", "stay with",
    "could not", "couldn't", "does not work", "doesn't work", "did not work", "didn't work",
    "not installed", "not available", "not supported", "not possible",
    "已经", "完成", "修复", "添加", "更新", "删除", "创建", "成功",
)  # fmt: skip
_WEIGHT_MIN, _STEP_WEIGHT_MIN = 1.5, 1.35
"""The least of a report, and of what is said beside a call: there, two values are enough."""

_VAGUE = regex(
    r"(?:now |so |ok,? )?(?:i|we)(?:['’]ve| have| can)? (?:found|find|see|know|understand|identified)"
    r"(?: (?:the|a|it|what|where|why))?(?: \w{1,20}){0,3}\W{0,3}"
)
"""Says that something was found, and not what it is."""

_CLEAR = regex(
    r"\W*(?:\w+ ){1,3}(?:is|was)(?: (?:now|very|quite|so))*"
    r" (?:clear|obvious|unclear|apparent|evident|known|understood|identified)(?: now)?\W*"
)
"""Says of something in few words what it is like, and not what it is."""

_VAGUE_CHARS_MAX = 120  # both are of a few words

_NUMBERED = regex(r"(?<!\S)\S*[0-9]\S*")
_VALUE, _VALUES_MAX = 0.15, 4
"""What each word with a digit adds: a sentence with several values is seldom said again by others."""

_SPECIFIC = regex(r"[0-9`/_\"“「《]|[a-z][A-Z]")


def from_assistant(text: str, position: int, *, final: bool, author: str = "") -> Iterator[Fact]:
    """Yield the sentences of an answer to keep: more of a `final` answer, which ends a turn with a report to the user."""
    scored = []
    for order, sentence in enumerate(claims(text[:24_000])):
        weight = score(sentence, final=final)
        if weight >= (_WEIGHT_MIN if final else _STEP_WEIGHT_MIN):
            scored.append((weight, order, sentence))
    scored.sort(key=lambda item: (-item[0], item[1]))
    for weight, _, sentence in sorted(scored[: 10 if final else 3], key=lambda item: item[1]):
        shown = line(sentence.rstrip(":："), CAPS["decision"].text_chars_max)
        yield Fact("decision", shown.casefold()[:160], shown, position, "assistant", weight, note=by(author))


def from_call(call: Call, position: int, author: str) -> Iterator[Fact]:
    """Yield the sentences to keep of what the agent writes in a call: in a note, a comment or a message."""
    for text in written(call):
        yield from from_assistant(text, position, final=True, author=author)


def from_talk(facts: Sequence[Fact]) -> Iterator[Fact]:
    """Yield the chat facts of an assistant that are to be kept once the dialogue has become an agent's run."""
    for fact in facts:
        if fact.origin == "assistant" and not is_recalled(fact) and is_claim(fact.text):
            weight = score(fact.text, final=True)
            if weight >= _WEIGHT_MIN:
                key, note = fact.text.casefold()[:160], by(author_of(fact))
                yield fact._replace(kind="decision", key=key, weight=weight, note=note, state="")


def score(sentence: str, *, final: bool) -> float:
    """Return 0 for filler, about 1 to 5 for a sentence that reports a finding, a choice or a result, with details."""
    if len(sentence) < 12:
        return 0.0
    weight = 0.5 + (0.8 if final else 0.0)
    lowered = sentence[:600].lower()
    if any(map(lowered.__contains__, _FOUND)):
        weight += 2.0
    elif any(map(lowered.__contains__, _WHY)):
        weight += 1.0
    if any(map(lowered.__contains__, _DID)):
        weight += 0.8
    if _SPECIFIC.search(sentence):
        weight += 0.6 + _VALUE * min(_VALUES_MAX, len(_NUMBERED.findall(sentence)))
    elif len(lowered) < _VAGUE_CHARS_MAX and (_VAGUE.fullmatch(lowered) or _CLEAR.fullmatch(lowered)):
        weight -= 2.5
    if is_filler(sentence):
        weight -= 1.2
    if len(sentence) > 400:
        weight -= 0.5
    return weight


_OPTION = regex(r"^[\s|>*#-]{0,8}(?:Option )?([A-Z]|[0-9]{1,2})[.):：、]\**\s{0,3}([^\n]{2,200})", re.MULTILINE)
_OPTIONS_MAX = 6


def question(text: str) -> str:
    """Return the last question to the user and its options, one per line, or "" without a question."""
    if "?" not in text and "？" not in text:
        return ""
    tail = without_code(text)[-3_000:]
    asked = next((item for item in reversed(spoken(tail)[-12:]) if "?" in item or "？" in item), "")
    if not asked:
        return ""
    options = [f"{key}: {line(plain(item.strip('*| ')), 80)}" for key, item in _OPTION.findall(tail)[-_OPTIONS_MAX:]]
    return "\n".join([line(asked, 160), *options])
