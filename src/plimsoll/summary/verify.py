"""Checks of a model's summary before it is used, and completion of missing facts. Deterministic, without a model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from plimsoll.light.brief import pluralize
from plimsoll.light.dataclass import dataclass
from plimsoll.light.regex import regex
from plimsoll.summary.condense import condensed
from plimsoll.summary.coverage import SHARE_MIN, Statements, terms
from plimsoll.summary.ledger.identifiers import codes_in
from plimsoll.summary.ledger.requests import insists
from plimsoll.summary.ledger.sentences import clean, sentences
from plimsoll.summary.rules import TITLED_TOKENS_MIN, render
from plimsoll.summary.speakers import has_speakers

if TYPE_CHECKING:
    from plimsoll.protocols import TokenCounter
    from plimsoll.summary.frame import Language
    from plimsoll.summary.ledger import Fact, Kind, Ledger

Reason: TypeAlias = Literal["empty", "refusal", "error_text", "too_long", "no_gain"]

_CHECKED: tuple[Kind, ...] = ("request", "constraint", "file", "identifier")
_ASKED: tuple[Kind, ...] = ("request", "constraint")
_FACTS_SHARE = 0.12
"""Share of the budget reserved for requests and constraints that the prose omits."""

_TIGHT_SHARE_MIN = 0.4
"""A request of which the prose holds so much is not put back at the cost of other statements: terse prose only names it."""

_REPEATED_SHARE_MIN = 0.8
_REQUEST_WEIGHT_MIN = 2.5
"""A request of less weight consents or greets."""

_DIRECTIVE_TERMS_MIN = 3
_UNABLE = regex(
    r"\s{0,4}i (?:can(?:['’]?t|not)|couldn['’]?t|didn['’]?t|don['’]?t (?:know|remember|have|see|understand))\b"
)
_GUESS = regex(r"\bmust(?:'ve| have| be)\b|必须[有是]|一定[有是]")
_TEXT_CHARS_MAX = 2_000_000  # bounds the time to clean and count
_OPENING_CHARS = 240  # longer than every phrase below

_APOLOGY = r"(?:i(?:'m| am)(?: \w+)? sorry|sorry|i apologi[sz]e|my apologies|unfortunately|(?:很|非常)?抱歉|对不起)"
_REFUSED = regex(
    rf"(?={_APOLOGY}|i (?:can't|cannot|won't|do not have|don't have)\b|i(?:'m| am) (?:unable|not able)\b|我无法|我不能|我没有)"
    rf"(?:{_APOLOGY}[.!。！]\s?)?(?:[^;；。！？.!?\n]|[.!?](?=\S)){{0,240}}?"
    r"(?:(?:n't|not|unable|decline)(?: (?:have (?:the|any) ability|be|able|to|of|any|in a position|programmed|allowed|currently))*"
    r" (?:assist|help|provid|summar|comply|fulfil|do (?:that|this|so|it)\b|process\w* (?:this|that|your|the request))"
    r"|(?:n't|not|no|unable)\b[^;.\n]{0,60}\b(?:conversation|transcript|an? summary|(?:this|your) request)"
    r"|\bbut no\b|can(?:'t|not)[.!]?\Z|\bthis is not possible\b|\bas an ai\b|对话(?!框)"
    r"|(?:无法|不能|不便|没法)\w{0,6}(?:提供|协助|总结|处理|帮助|这样做))"
    r"|please provide the (?:\w+ ){0,2}(?:conversation|transcript|messages|text)|请提供\w{0,12}(?:对话|内容|消息)"
    r"|i must decline|as an ai\b|as a language model|there is no conversation|no conversation was provided|作为一?个?ai"
    r"|申し訳|죄송|lo siento|(?:je suis )?désolé|es tut mir leid|desculpe|mi dispiace"
)
"""An answer whose first sentence, behind an apology of its own, refuses the task. What somebody could not do is a fact."""

_ERRORS = (
    "error:", "error code", "traceback (most recent", "internal server error", "rate limit", "bad gateway",
    "service unavailable", "context length", "context_length_exceeded", "invalid api key", "unauthorized",
    "<!doctype html", "<html", '{"error"', "timed out", "summary so far:\n<data>", "new messages:\n<data>", "目前的摘要：\n<data>",
    "新消息：\n<data>",
)  # fmt: skip

_REASONING = regex(
    r"\s*<(think|thinking|reasoning|analysis|scratchpad)>(?:.*?(?<!`)</\1>|.*)", re.DOTALL | re.IGNORECASE
)
_REASONED = regex(r"</think>(?<!`</think>)(?:\n\n|(?<=[\n.!?。！？]</think>)(?:\n|\Z))")
"""The end of reasoning whose start stands in the prompt, as some templates put it."""

_FENCED = regex(r"(`{3,}|~{3,})[^\n`]{0,20}\n((?:(?!\1).*\n)*)\1")
_LEAD_IN = regex(
    r"(?:(?:sure|certainly|of course|okay|absolutely)[,.!] {0,2}i(?:'ve| have) \w+"
    r"|(?:(?:sure|certainly|of course|okay|absolutely)[,.!] {0,2})?(?:here(?:'s| is)|(?:this|below|the following) is))"
    r" (?:an?|the|my|your) (?:[\w-]+,? ){0,3}(?:summary|record)"
    r"(?: (?:of|for|so far|below|as requested)\b[^\n\d`:.]{0,60})?[:.!]\n"
    r"|(?:(?:好的|当然)[，。！])?(?:以下|下面|这)[是为][^\n\d`，。；：:]{0,20}(?:摘要|总结|记录)[：:。！]\n",
    re.IGNORECASE,
)
_ESCAPED = regex(r"\\u([0-9a-fA-F]{4})")
_LEAD_OUT = regex(
    r"(?:(?<=\n)|(?<=```)|(?<=~~~))\n[*_]{0,2}(?:let me know (?:if|whether|how|what)|feel free|i hope this|would you like me"
    r"|is there anything|(?:如需|如果|若)[^\n\d`]{0,60}(?:请告诉我|告知)|请告诉我|希望对)[^\n\d`]{0,200}\Z",
    re.IGNORECASE,
)
"""What a model says around its summary, in a fence as well."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rejection:
    """The reason a model's answer is not used as a summary."""

    reason: Reason
    detail: str


def accept(text: str, *, tokens_max: int, input_tokens: int, counter: TokenCounter) -> str | Rejection:
    """Return the cleaned summary, or a Rejection if it is empty, a refusal, an error message, or too long.

    Too long means more than `tokens_max` tokens, or at least `input_tokens`, the size of the text it replaces.
    """
    if len(text) > _TEXT_CHARS_MAX:
        return Rejection(reason="too_long", detail=pluralize(len(text), "character"))
    cleaned = _bare("\n".join(clean(raw).rstrip() for raw in text.split("\n")).strip())
    if sum(map(str.isalnum, cleaned)) < 2:
        return Rejection(reason="empty", detail="no words")
    opening = cleaned[:_OPENING_CHARS].casefold().replace("\u2019", "'").lstrip('*_#>"“ ')
    refused = _REFUSED.match(opening)
    failed = refused[0] if refused else next((phrase for phrase in _ERRORS if opening.startswith(phrase)), None)
    if failed is not None:
        return Rejection(reason="refusal" if refused else "error_text", detail=failed)
    tokens = counter.upper(cleaned)
    if tokens >= input_tokens:
        return Rejection(reason="no_gain", detail=f"{pluralize(tokens, 'token')} for {input_tokens:,}")
    if tokens > tokens_max:
        return Rejection(reason="too_long", detail=f"{pluralize(tokens, 'token')}, {tokens_max:,} allowed")
    return cleaned


def _bare(text: str) -> str:
    """The summary in an answer: without reasoning before it, a fence around it, and words to the reader at both ends."""
    found = _REASONING.match(text) or _REASONED.search(text)
    text = text[found.end() :].strip() if found and "<think" not in text[: found.start()] else text
    lead = _LEAD_IN.match(text)
    text = text[lead.end() :].strip() if lead else text
    out = _LEAD_OUT.search(text, max(0, len(text) - _OPENING_CHARS))
    text = text[: out.start()].strip() if out else text
    fenced = _FENCED.fullmatch(text)
    text = fenced[2].strip() if fenced else text
    return _ESCAPED.sub(_unescaped, text) if text.startswith(("{", "[")) else text


def _unescaped(found: re.Match[str]) -> str:
    char = chr(int(found[1], 16))
    return char if char.isprintable() else found[0]


def missing_facts(ledger: Ledger, text: str, shown: str = "", share_min: float = SHARE_MIN) -> list[Fact]:
    """Return requests, constraints, modified files and values of the ledger that `text` omits, heaviest first.

    A request or constraint needs most of its words in one statement (a request `share_min` of them), a file its name, and a
    value its codes. What `shown` quotes is not missing.
    """
    said = Statements(text)
    quoted = " ".join(shown.casefold().split())
    missing = [
        fact
        for kind in _CHECKED
        for fact in ledger.of(kind)
        if _is_required(fact)
        and not _covers_fact(fact, said, share_min)
        and " ".join(fact.text.casefold().split()) not in (quoted or " ")
    ]
    return sorted(missing, key=lambda fact: (_CHECKED.index(fact.kind), -fact.weight, fact.position))


def completed(  # noqa: PLR0913 - everything the text depends on
    prose: str, ledger: Ledger, *, tokens_max: int, counter: TokenCounter, language: str = "en", shown: str = ""
) -> str:
    """Return the prose followed by facts it omits, in at most `tokens_max` tokens.

    The prose has the first claim on the room. Where it takes all, it gives up a small share for the user's requests and
    constraints that it omits, and is condensed; what `shown`, the rest of the view, says is not put back.
    """
    room = tokens_max - counter.upper(prose) - 2
    is_tight = room < (share := int(tokens_max * _FACTS_SHARE))
    lacking = _lacking(ledger, prose, shown, _TIGHT_SHARE_MIN if is_tight else SHARE_MIN)
    if is_tight:
        asked = () if ledger.is_dialogue and has_speakers(ledger) else _ASKED  # people with names ask each other
        lacking, room = lacking.only({kind: _critical(lacking, kind) for kind in asked}), share
    wanted: Language = "zh" if language == "zh" else "en"
    facts = ""
    if is_tight or room >= TITLED_TOKENS_MIN:
        facts = render(lacking, tokens_max=room, counter=counter, language=wanted, counted=not is_tight).text
    left = tokens_max - (counter.upper(f"{facts}\n") if facts else 0)
    return "\n".join(filter(None, (condensed(prose, tokens_max=left, counter=counter, shown=shown), facts)))


def _critical(lacking: Ledger, kind: Kind) -> tuple[Fact, ...]:
    """What is put back at the cost of prose: what tells the assistant to do something, and not talk or consent."""
    if lacking.is_dialogue:
        return tuple(fact for fact in lacking.of(kind) if _is_directive(fact.text)) if kind == "constraint" else ()
    if kind == "constraint":
        return tuple(fact for fact in lacking.of(kind) if _UNABLE.match(fact.text.casefold()) is None)
    return tuple(fact for fact in lacking.of(kind) if fact.weight >= _REQUEST_WEIGHT_MIN)


def _is_directive(text: str) -> bool:
    """Whether a statement in a dialogue tells the other side what to do, and is no cheer and no guess."""
    if not insists(text) or text.endswith(("!", "！")) or _GUESS.search(text.casefold()):
        return False
    return len(terms(text.casefold())) >= _DIRECTIVE_TERMS_MIN


def omitted_words(words: str, prose: str) -> str:
    """Return the sentences of earlier summaries that `prose` does not contain: most words or a code are missing."""
    said = Statements(prose)
    lines = (
        [sentence for sentence in sentences(line) if not _is_repeated(sentence, said)] for line in words.split("\n")
    )
    return "\n".join(" ".join(left) for left in lines if left)


def _is_repeated(sentence: str, said: Statements) -> bool:
    codes = codes_in(sentence.casefold())
    return all(map(said.folded.__contains__, codes)) and said.say(sentence, denied=False, share_min=_REPEATED_SHARE_MIN)


def _lacking(ledger: Ledger, prose: str, shown: str, share_min: float) -> Ledger:
    """Reduce the ledger to facts missing from the prose and from what is shown beside it."""
    kept: dict[Kind, list[Fact]] = {}
    for fact in sorted(missing_facts(ledger, prose, shown, share_min), key=lambda fact: fact.position):
        kept.setdefault(fact.kind, []).append(fact)
    return ledger.only({kind: tuple(facts) for kind, facts in kept.items()})


def _is_required(fact: Fact) -> bool:
    return fact.state == "modified" if fact.kind == "file" else True


def _covers_fact(fact: Fact, said: Statements, share_min: float) -> bool:
    if fact.kind == "file":
        return fact.text.rsplit("/", 1)[-1].casefold() in said.folded
    if fact.kind == "identifier":
        own = " ".join(fact.text.casefold().split())
        codes = codes_in(own)
        return own in said.folded or (bool(codes) and all(code in said.folded for code in codes))
    is_constraint = fact.kind == "constraint"
    return said.say(fact.text, denied=is_constraint, share_min=SHARE_MIN if is_constraint else share_min)
