"""Requests and constraints of the user, almost verbatim."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plimsoll.light.regex import led, regex
from plimsoll.summary.ledger.fact import CAPS, Fact, by, request_key
from plimsoll.summary.ledger.prose import spoken
from plimsoll.summary.ledger.sentences import NOT_ASCII, clean, head_and_tail, line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_CONSTRAINT_EN = regex(
    r"\b(?:a(?:lways|void|t (?:most|least))|ca(?:n't|nnot)|do(?:n't|nt| not)|e(?:nsure|xactly|xcept)|forbidden"
    r"|i(?:nstead of|'d like|mportant)|keep|l(?:eave|imit)|m(?:ust(?:n't)?|ake sure)|n(?:ever|o more than|eeds? to|ot allowed)"
    r"|only|prefer|require[sd]?|should(?:n't)?|un(?:less|changed|til)|w(?:ithout|ant|ould like))\b"
)
"""Grouped by their first letters, so that few are tried at each word."""

_CONSTRAINT_ZH = regex(
    r"必须|务必|不要|不得|不能|不许|禁止|请勿|只能|只要|一定要|应该|应当|保持|尽量|至少|最多|不超过|别(?![的人处说墅名称是])|仅|要求|希望|不可|确保"
)
_ASKS_EN = regex(
    r"\s*(?:ok(?:ay)?,? )?(?:please|pls|(?:can|could) (?:you|we)|would you|will you|let's|lets|i want|i need|i'd like|help|next"
    r"|now(?!,? (?:he|she|it|they|my|the|i(?! (?:want|need)))\b)"
    r"|implement|fix|add|write|create|make|build|run|check|test|refactor|update|change|remove|delete|find|explain|show"
    r"|review|read|look|use|move|rename|commit|push|merge|install|try|do|give|tell|list|generate|translate|summari[sz]e"
    r"|cancel|book(?!-)|continue|investigate|debug|deploy|set|put|open|search|compare|convert|draft|plan)\b",
    re.IGNORECASE,
)
_ASKS_ZH = regex(
    led(
        {
            "请": "(?<![我他她们申邀聘]请)"
            "(?!假(?![设定装如])|客(?![户服])|了(?![解结])|过(?![滤目来去一审])|个(?!别)|人(?![工事力员]))",
            "帮": "我",
            "麻": "烦",
            "给": r"(?:(?<=\A给)|(?<=[，。！？,!?\s你再先就]给))我",
            "写": "一",
            "改": "(?![了过])",
            "修实检翻总生删添": ".(?<=修复|实现|检查|翻译|总结|生成|删除|添加)(?![了过])",
            "我": "[想要]",
            "需": "要",
        }
    )
)
_ENDS_IN_ED = r" \w+[^e\W]ed\b(?<!embed)(?<!shred)"
_OF_LIFE = (
    r"(?<=used)|(?<=hated|liked|lived|loved|owned|tried)|(?<=cooked|needed|played|wanted|worked)"
    r"|(?<=enjoyed|visited|watched)"
)
_THINGS = r" (?!(?:always|sometimes|afterwards|towards)\b)\w{2,}[^isu\W]s\b"
_NOT_TOLD = (
    rf"(?=,? \w)(?!{_ENDS_IN_ED}(?:{_OF_LIFE}|(?!{_THINGS})))(?!(?<=you never){_ENDS_IN_ED})"
    r"(?! (?:got|had|been|was|were|did|told|went|came|said|saw|knew|heard|met|felt|took|made|gave|found|lost|thought)\b)"
)
"""What stands behind an order's `never`: a word, and none of the past, which tells: "never got an answer".

A word in -ed in front of several things says how they are: "never unsigned commits"; unless it says what one did with them in life.
"""

_INSISTS = regex(
    r"(?:(?:please|and|but|also|so|just|you|请|你|您|也|但|但是|并且|而且|另外|同时)[,，]?\s?)*"
    rf"(?:(?:(?:never|always)\b{_NOT_TOLD}|don't|dont|do not"
    r"|only(?! (?:(?:when |if )?(?:i|we|he|she|it|they)|from|since|because|[0-9]+|lost|got|had|was)\b)"
    r"|must|keep|avoid|make sure|ensure|under no|no more than|at most|at least|exactly|leave|use only|without)\b"
    r"|一定要|不要|不能|不许|只能|不可|确保|保持|尽量|(?:最多|至少)(?![能到也就还才有是])|不超过|别(?![的人处说墅名称是])|[^，。我觉值是越]{0,8}(?:必须|务必|禁止|请勿|不得))",
    re.IGNORECASE,
)
_CHATTING = ("啊", "呀", "哦", "哈", "呢", "吧", "啦", "嘛")
_CLAUSE_ZH = regex(r"(?<=[，,；;：])(?=\s{0,2}[\u4e00-\u9fff])")
_ORDERS = regex(
    rf"(?:(?:please|and|but|also|so|just)[,]?\s)*(?:never\b{_NOT_TOLD}|don['’]?t|do not|keep|avoid|make sure|ensure|leave)\s+[a-z]",
    re.IGNORECASE,
)
"""The start of a clause in a sentence that is a directive whatever is in front of it, unlike "without" or "only"."""

_WONDERS = regex(
    r"\A\W{0,3}(?:(?:and|but|so|ok(?:ay)?|well|then|also),? ){0,3}(?:(?:why|what|when|where|who|whose|which|whether|how|if)\b"
    r"|(?:is|are|was|were|do|does|did|has|had|have|can|could|would|will|should|must|may)(?:n?['’]t)?"
    r" (?:i|we|you|he|she|it|they|there|this|that|these|those|the|an?|my|our|your)\b)"
    r"|什么|为何|怎么|哪|谁|吗|是否|是不是|多少|如果|要是",
    re.IGNORECASE,
)
"""What asks or supposes in front of the last comma of a question; else it says what is so: "It must be blue, okay?"."""

_CLAUSE_EN = regex(r"[,;:!.][\s]{1,3}(?=[A-Za-z])|\s[–—-]\s")
_INJECTED = regex(
    r"<(system-reminder|environment_context|user_instructions|command-[a-z]{1,20}|local-command-[a-z]{1,20}|INSTRUCTIONS"
    r"|ide_[a-z_]{1,20}|task-notification|environment_details)>"
)
_NOTICE = regex(r"\[Request interrupted by user[^\[\]]{0,40}\]")
"""What a coding agent writes in the user's place when the user stops it."""

_ACK_CHARS_MAX = 40
"""Up to this length, a reply usually needs the preceding question."""

_PICK = regex(r"\W{0,3}(?:option )?([A-Za-z]|[0-9]{1,2})(?:\b|\Z)", re.IGNORECASE)
_SENTENCES_SEARCHED = 80
_WEIGHED_CHARS = 600
"""So much of a request tells how important it is."""

_PASTED_CHARS_MIN, _PASTED_ENDS_CHARS = 800, 400
"""A text of this length may be pasted; what is wanted with it stands at its start or its end."""


def from_user(text: str, position: int, asked: Callable[[], str] = str, author: str = "") -> Iterator[Fact]:
    """Yield the request of a user message and the constraints in it.

    `asked` returns the question it may answer, `author` is the name of the message.
    """
    text = without_injected(text)
    bare = " ".join(text.split())
    if not bare or _NOTICE.fullmatch(bare):
        return
    cap = CAPS["request"].text_chars_max
    question = asked() if len(bare) <= _ACK_CHARS_MAX else ""
    note = by(author, _answered(question, bare) if question else "")
    body = "\n".join(kept for raw in clean_lines(head_and_tail(text, cap)) if (kept := raw.rstrip()))
    limits = constrains(bare[:_WEIGHED_CHARS])
    yield Fact("request", request_key(note, bare), body, position, "user", _weigh(bare, limits=limits), note=note)
    # Emphasis may stand within what constrains: "do **not**".
    if limits or len(bare) > _WEIGHED_CHARS or "*" in text or "_" in text:
        yield from _constraints(text, position, by(author))


def injected(text: str, position: int) -> Iterator[Fact]:
    """Yield a stub for a long user text directly after a tool result, which an agent program inserted."""
    opening = line(text, 200)
    yield Fact("request", opening, opening, position, "user", 0.6)


def _answered(asked: str, bare: str) -> str:
    """Return the question with the option a short reply selects, because "A." alone is meaningless."""
    question, _, options = asked.partition("\n")
    picked = _PICK.match(bare)
    if picked is not None:
        for option in options.split("\n"):
            if option.startswith(f"{picked[1].upper()}: "):
                return line(f"{question} {option}", 200)
    return line(question, 160)


def _weigh(bare: str, *, limits: bool) -> float:
    """Return a request's weight: high for instructions and constraints, low for an acknowledgement."""
    weight = 1.0 + min(2.0, len(bare) / 200)
    if (bare < NOT_ASCII and _ASKS_EN.match(bare)) or (not bare.isascii() and _ASKS_ZH.search(bare[:200])):
        weight += 2.0
    if limits:
        weight += 1.5
    if len(bare) <= _ACK_CHARS_MAX // 2:
        weight *= 0.5
    return weight


def constrains(sentence: str) -> bool:
    """Return whether a sentence restricts how to do the work, in English or Chinese."""
    if _CONSTRAINT_EN.search(sentence.lower()) is not None:
        return True
    return not sentence.isascii() and _CONSTRAINT_ZH.search(sentence) is not None


def insists(clause: str) -> bool:
    """Return whether a clause is a directive, not a statement about the speaker or the world."""
    return _INSISTS.match(clause) is not None and not clause.rstrip(" 。！!").endswith(_CHATTING)


def instruction_in(sentence: str) -> str:
    """Return the sentence if it starts as an instruction, else from the clause on that does: "Fine, but keep the title." Or "".

    A clause in a sentence counts only if it orders: the verb of a statement may look like a request.
    """
    if asks(sentence) or insists(sentence):
        return sentence
    starts = (found.end() for found in _CLAUSE_EN.finditer(sentence))
    return next((sentence[at:] for at in starts if _ORDERS.match(sentence, at)), "")


def is_pasted(text: str) -> bool:
    """Return whether a long text neither begins nor ends with what the user wants: notes or a mail to be taken in."""
    if len(text) < _PASTED_CHARS_MIN:
        return False
    ends = [*spoken(text[:_PASTED_ENDS_CHARS])[:2], *spoken(text[-_PASTED_ENDS_CHARS:])[-2:]]
    return not any(instruction_in(sentence) or sentence.endswith(("?", "？", "吗", "呢")) for sentence in ends)


def asks(sentence: str) -> bool:
    """Return whether a sentence starts like an instruction or a request."""
    if _ASKS_EN.match(sentence) is not None:
        return True
    return not sentence.isascii() and _ASKS_ZH.search(sentence[:60]) is not None


def without_injected(text: str) -> str:
    """Remove blocks that agent programs insert into user messages, such as `<system-reminder>`. Linear time."""
    if "<" not in text:
        return text
    kept, at = [], 0
    while (found := _INJECTED.search(text, at)) is not None:
        kept.append(text[at : found.start()])
        end = text.find(f"</{found[1]}>", found.end())
        if end < 0:
            # An unclosed block: text after its tag may be the user's own.
            at = found.end()
            break
        at = end + len(found[1]) + 3
    return "".join([*kept, text[at:]])


def clean_lines(text: str) -> list[str]:
    """Return the lines without control characters; indentation is kept."""
    return [clean(raw) for raw in text.split("\n")]


def _constraints(text: str, position: int, note: str) -> Iterator[Fact]:
    for sentence in spoken(text[:40_000])[:_SENTENCES_SEARCHED]:
        if not (4 <= len(sentence) <= 600 and constrains(sentence)) or _only_asks(sentence):
            continue
        for clause in _constraining(sentence.strip("… ")):
            shown = line(clause, CAPS["constraint"].text_chars_max)
            if len(shown) >= (6 if shown.isascii() else 4):
                yield Fact("constraint", shown.casefold(), shown, position, "user", 3.0, note=note)


def _only_asks(sentence: str) -> bool:
    """Return whether a question neither asks for something to be done nor says what must be: "Why must it be blue?"."""
    if not sentence.rstrip("\"'”’*_) ").endswith(("?", "？")) or instruction_in(sentence):
        return False
    said = sentence[: max(0, *map(sentence.rfind, ",，;；"))]
    return _WONDERS.search(said) is not None or not constrains(said)


def _constraining(sentence: str) -> Iterator[str]:
    """Yield the constraining clauses. Only Chinese is split at commas, where requests and prohibitions are chained."""
    clauses = [] if sentence.isascii() else _CLAUSE_ZH.split(sentence)
    limiting = [clause.strip(" ，,；;。！!") for clause in clauses if constrains(clause)] if len(clauses) > 1 else []
    yield from limiting or [sentence]
