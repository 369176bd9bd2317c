"""What the user asked for and insisted on, near-verbatim. Only the user's own words ever come here."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plimsoll.regex import regex
from plimsoll.summary.ledger.fact import CAPS, Fact
from plimsoll.summary.ledger.prose import spoken
from plimsoll.summary.ledger.sentences import clean, head_and_tail, line

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONSTRAINT_EN = regex(
    r"\b(?:must|mustn't|never|always|only|don't|dont|do not|cannot|can't|shouldn't|should|without|instead of|make sure"
    r"|ensure|avoid|keep|prefer|require[sd]?|required|no more than|at most|at least|exactly|unless|except|need to|needs to"
    r"|not allowed|forbidden|leave|unchanged|limit|until|want|i'd like|would like|important)\b"
)
_CONSTRAINT_ZH = regex(
    r"必须|务必|不要|不得|不能|不许|禁止|请勿|只能|只要|一定要|应该|应当|保持|尽量|至少|最多|不超过|别(?![的人处说墅名称是])|仅|要求|希望|不可|确保"
)
_ASKS_EN = regex(
    r"\s*(?:please|pls|can you|could you|would you|will you|let's|lets|now|ok,? |i want|i need|i'd like|help|next"
    r"|implement|fix|add|write|create|make|build|run|check|test|refactor|update|change|remove|delete|find|explain|show"
    r"|review|read|look|use|move|rename|commit|push|merge|install|try|do|give|tell|list|generate|translate|summari[sz]e"
    r"|cancel|book|continue|investigate|debug|deploy|set|put|open|search|compare|convert|draft|plan)\b",
    re.IGNORECASE,
)
_ASKS_ZH = regex(r"请|帮我|麻烦|给我|写一|改|修复|实现|检查|翻译|总结|生成|删除|添加|我想|我要|需要")
_INSISTS = regex(
    r"(?:(?:please|and|but|also|so|just|you|请|你|您|也|但|但是|并且|而且|另外|同时)[,，]?\s?)*"
    r"(?:(?:never|don't|dont|do not|always|only|must|keep|avoid|make sure|ensure|under no|no more than|at most|at least"
    r"|exactly|leave|use only|without)\b"
    r"|一定要|不要|不能|不许|只能|不可|确保|保持|尽量|最多|至少|不超过|别(?![的人处说墅名称是])|[^，。我觉值是越]{0,8}(?:必须|务必|禁止|请勿|不得))",
    re.IGNORECASE,
)
_CHATTING = ("啊", "呀", "哦", "哈", "呢", "吧", "啦", "嘛")
_CLAUSE_ZH = regex(r"(?<=[，,；;：])(?=\s{0,2}[\u4e00-\u9fff])")
_INJECTED = regex(
    r"<(system-reminder|environment_context|user_instructions|command-[a-z]{1,20}|local-command-[a-z]{1,20}|INSTRUCTIONS"
    r"|ide_[a-z_]{1,20}|task-notification)>"
)
_ACK_CHARS_MAX = 40
"""A reply this short usually needs the question before it to be understood."""

_PICK = regex(r"\W{0,3}(?:option )?([A-Za-z]|[0-9]{1,2})(?:\b|\Z)", re.IGNORECASE)
_SENTENCES_SEARCHED = 80


def from_user(text: str, position: int, asked: str) -> Iterator[Fact]:
    """The request in one user message, and the constraints among its sentences. `asked` is the question it may answer."""
    text = without_injected(text)
    bare = " ".join(text.split())
    if not bare:
        return
    cap = CAPS["request"].text_chars_max
    note = _answered(asked, bare) if asked and len(bare) <= _ACK_CHARS_MAX else ""
    body = "\n".join(kept for raw in clean_lines(head_and_tail(text, cap)) if (kept := raw.rstrip()))
    yield Fact("request", f"{note[:40]}|{bare[:400]}", body, position, "user", weigh(bare), note=note)
    yield from _constraints(text, position)


def injected(text: str, position: int) -> Iterator[Fact]:
    """A long text in the user's role straight after a tool's answer: material an agent program loaded, kept as a stub."""
    opening = line(text, 200)
    yield Fact("request", opening, opening, position, "user", 0.6)


def _answered(asked: str, bare: str) -> str:
    """The question a short reply answers, with the option it picks: "A." alone would tell nobody anything."""
    question, _, options = asked.partition("\n")
    picked = _PICK.match(bare)
    if picked is not None:
        for option in options.split("\n"):
            if option.startswith(f"{picked[1].upper()}: "):
                return line(f"{question} {option}", 200)
    return line(question, 160)


def weigh(bare: str) -> float:
    """How much a request matters: asking and insisting count, a bare acknowledgement hardly does."""
    weight = 1.0 + min(2.0, len(bare) / 200)
    if _ASKS_EN.match(bare) or _ASKS_ZH.search(bare[:200]):
        weight += 2.0
    if constrains(bare[:600]):
        weight += 1.5
    if len(bare) <= _ACK_CHARS_MAX // 2:
        weight *= 0.5
    return weight


def constrains(sentence: str) -> bool:
    """Whether a sentence limits how the work is to be done, in English or Chinese."""
    return _CONSTRAINT_EN.search(sentence.lower()) is not None or _CONSTRAINT_ZH.search(sentence) is not None


def insists(clause: str) -> bool:
    """Whether it tells somebody else what to do or to leave, rather than speaking of oneself or of the world."""
    return _INSISTS.match(clause) is not None and not clause.rstrip(" 。！!").endswith(_CHATTING)


def asks(sentence: str) -> bool:
    """Whether it opens like an instruction or a request."""
    return _ASKS_EN.match(sentence) is not None or _ASKS_ZH.search(sentence[:60]) is not None


def without_injected(text: str) -> str:
    """The text without blocks that agent programs put into the user's mouth, such as `<system-reminder>`. Linear."""
    if "<" not in text:
        return text
    kept, at = [], 0
    while (found := _INJECTED.search(text, at)) is not None:
        kept.append(text[at : found.start()])
        end = text.find(f"</{found[1]}>", found.end())
        if end < 0:
            # An unclosed block: what follows its tag is the user's own text for all we know.
            at = found.end()
            break
        at = end + len(found[1]) + 3
    return "".join([*kept, text[at:]])


def clean_lines(text: str) -> list[str]:
    """Its lines, cleaned of control characters, indentation kept."""
    return [clean(raw) for raw in text.split("\n")]


def _constraints(text: str, position: int) -> Iterator[Fact]:
    for sentence in spoken(text[:40_000])[:_SENTENCES_SEARCHED]:
        if not (4 <= len(sentence) <= 600 and constrains(sentence)):
            continue
        for clause in _constraining(sentence.strip("… ")):
            shown = line(clause, CAPS["constraint"].text_chars_max)
            if len(shown) >= (6 if shown.isascii() else 4):
                yield Fact("constraint", shown.casefold(), shown, position, "user", 3.0)


def _constraining(sentence: str) -> Iterator[str]:
    """The clauses of a sentence that constrain. Chinese chains what is asked and what is forbidden by commas; others stay whole."""
    clauses = _CLAUSE_ZH.split(sentence)
    told = [clause.strip(" ，,；;。！!") for clause in clauses if constrains(clause)] if len(clauses) > 1 else []
    yield from told or [sentence]
