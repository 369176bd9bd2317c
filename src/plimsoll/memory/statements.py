"""Reads messages for statements worth keeping across sessions. Text in, statements out; nothing is stored here.

Left out is what its sender does not assert: questions, conditions, quotations, and what others wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from plimsoll.formats.provenance import verified_notice
from plimsoll.formats.text_tools import OUTPUT_NAMES, is_output
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.regex import regex
from plimsoll.limits import MEMORY_TEXT_CHARS_MAX
from plimsoll.memory.patterns import PROJECT, REMEMBER, WORDINGS, cues_in
from plimsoll.memory.secrets import holds_secret
from plimsoll.message import Message, Text
from plimsoll.protocols import MemoryKind
from plimsoll.summary.frame import divided, recognise
from plimsoll.summary.ledger.prose import claims, plain, without_code
from plimsoll.summary.ledger.requests import without_injected
from plimsoll.summary.ledger.sentences import CJK, line, sentences

_TYPED_CHARS_MAX = 4_000
"""People rarely type more than this at once: of a longer message only the beginning and the end are theirs."""

_LOADED_CHARS_MIN = 1_000
"""A longer text right after a tool result is a program's."""

_SENTENCES_MAX = 60
_REMEMBERED_CONFIDENCE, _REMEMBERED_IMPORTANCE = 0.95, 9
_REPORTED_CONFIDENCE, _REPORTED_IMPORTANCE = 0.4, 3
_REPORTED_MAX = 4
"""Statements that are kept of one answer of the assistant."""

_CLAUSE = regex(
    r"[;；]\s*|,? (?:and|but) (?=(?:i|my|we|our)\b)|, (?=(?:my|i'm|i am|i live|i work|i prefer|our)\b)|[，,、](?=\s*[一-鿿])",
    re.IGNORECASE,
)
_LETTER = regex(r"\w")
_HEADING = regex(r"#{1,6} ")
"""A heading begins a document, which nobody types into a conversation."""

_INTRODUCTION_CHARS_MAX = 400
_QUOTE = regex(r"\s{0,8}(?:>|&gt;|\|)")


class UserStatement(NamedTuple):
    """A sentence that states something durable."""

    text: str
    kind: MemoryKind
    confidence: float
    importance: int
    is_local: bool
    """True if it is about the project at hand, whatever its kind."""


def from_message(message: Message, *, after_result: bool = False) -> list[UserStatement]:
    """The durable statements of a user's or an assistant's message; of any other message none.

    Tool results, system text, quotations and text that somebody pasted are not read. `after_result` is True if the message before
    holds a tool result: a long text in the user's role is then a program's.
    """
    if message.role == "assistant":
        return [found for text in _texts(message) for found in _reported(text)][:_REPORTED_MAX]
    found = (from_text(text) for text in _own_texts(message, after_result=after_result))
    return list({statement.text: statement for statements in found for statement in statements}.values())


def from_text(text: str) -> list[UserStatement]:
    """The durable statements of a text that a user typed."""
    clauses = (clause for sentence in _sentences(text) if cues_in(sentence) for clause in _clauses(sentence))
    return [statement for clause in clauses if (statement := read(clause)) is not None]


def spoken_text(message: Message, *, after_result: bool = False) -> str:
    """What the author of a user's or an assistant's message says in it, without what is quoted or pasted; else ""."""
    if message.role == "assistant":
        return "\n".join(without_code(text) for text in _texts(message))
    texts = _own_texts(message, after_result=after_result)
    return "\n".join(raw for text in texts for raw in _own_lines(text))


def _texts(message: Message) -> list[str]:
    return [part.text for part in message.parts if isinstance(part, Text)]


def _own_texts(message: Message, *, after_result: bool) -> Iterator[str]:
    """The texts of a message that a user typed; of a long one the beginning and the end."""
    if message.role != "user" or message.results or is_output(message.text):
        return
    for text in _texts(message):
        if (after_result and len(text) > _LOADED_CHARS_MIN) or MACHINE.match(text) or is_output(text):
            continue
        for own in divided(text):
            if recognise(own) is None and verified_notice(own) is None:
                yield from _ends(own)


def _ends(text: str) -> Iterator[str]:
    if len(text) <= _TYPED_CHARS_MAX:
        yield text
        return
    half = _TYPED_CHARS_MAX // 2
    yield text[:half].rpartition("\n")[0] or text[:half].rpartition(" ")[0]
    yield text[-half:].partition("\n")[2]


def _own_lines(text: str) -> Iterator[str]:
    """The lines up to the first that introduces somebody else's text, without quotations."""
    for raw in without_code(BLOCK.sub("\n", without_injected(text))).split("\n"):
        if _HEADING.match(raw) or _introduces(raw.rstrip()[:_INTRODUCTION_CHARS_MAX]):
            return
        if not _QUOTE.match(raw):
            yield raw


def _introduces(raw: str) -> bool:
    """Whether somebody else's text follows a line."""
    if raw.endswith((":", "：")) and PASTES.search(raw):
        return True
    return TASK.fullmatch(raw) is not None or MACHINE.fullmatch(f"{raw}\n") is not None


def _sentences(text: str) -> list[str]:
    return [sentence for raw in _own_lines(text) for sentence in sentences(plain(raw))][:_SENTENCES_MAX]


def _clauses(sentence: str) -> Iterator[str]:
    """The clauses of a sentence that state something each; a Chinese clause without a subject gets that of the sentence."""
    if NOT_SAID.search(sentence) or sentence.endswith((":", "：")):
        return
    if REMEMBER.match(sentence):
        yield sentence
        return
    if QUESTION.match(sentence):
        return
    parts = [part.strip() for part in _CLAUSE.split(sentence) if part.strip()]
    if len(parts) == 1 or len(parts) > _SENTENCES_MAX:
        yield sentence
        return
    subject = "我" if parts[0].startswith("我") else ""
    kept: list[str] = []
    for part in parts:
        text = part if _wording(part) or not subject else f"{subject}{part}"
        if _wording(text) or not kept:
            kept.append(text)
        elif len(kept[-1]) < MEMORY_TEXT_CHARS_MAX:
            kept[-1] += f"，{part}" if CJK.match(part) else f", {part}"
    yield from kept


def read(sentence: str) -> UserStatement | None:
    """The statement of one sentence or clause; None if it states nothing durable, or holds a secret."""
    remembered = REMEMBER.match(sentence)
    asked = remembered is not None
    shown = sentence if remembered is None else (remembered["en"] or remembered["zh"])
    shown = line(shown.strip(" ，,；;。"), MEMORY_TEXT_CHARS_MAX + 1)
    found = _wording(shown) if len(shown) <= MEMORY_TEXT_CHARS_MAX else None
    if (found is None and not asked) or len(shown) > MEMORY_TEXT_CHARS_MAX or len(_LETTER.findall(shown)) < 3:
        return None
    if holds_secret(sentence):
        return None
    is_local = PROJECT.search(shown) is not None
    if found is None:
        return UserStatement(shown, "fact", _REMEMBERED_CONFIDENCE, _REMEMBERED_IMPORTANCE, is_local)
    kind, confidence, importance = found
    if asked:
        confidence, importance = _REMEMBERED_CONFIDENCE, _REMEMBERED_IMPORTANCE
    return UserStatement(shown, kind, confidence, importance, is_local)


def _wording(sentence: str) -> tuple[MemoryKind, float, int] | None:
    """Kind, confidence and importance of a sentence. Words in quotation marks are not the speaker's."""
    bare = QUOTED.sub("QUOTE", sentence)
    cues = cues_in(bare)
    for wording in WORDINGS:
        if not wording.cues.isdisjoint(cues) and wording.pattern.search(bare):
            return wording.kind, wording.confidence, wording.importance
    return None


def _reported(text: str) -> Iterator[UserStatement]:
    """What an assistant said of the project and of decisions. What it says of the user is hearsay and not kept."""
    for sentence in claims(text[:_TYPED_CHARS_MAX])[:_SENTENCES_MAX]:
        if not cues_in(sentence) or NOT_SAID.search(sentence) or QUESTION.match(sentence):
            continue
        found = read(sentence)
        if found is not None and found.kind in ("decision", "fact"):
            yield found._replace(confidence=_REPORTED_CONFIDENCE, importance=_REPORTED_IMPORTANCE)


NOT_SAID = regex(
    r"^(?:if|suppose|supposing|imagine|assume|assuming|pretend|what if|say i|let'?s say|unless|in case|as if|had i)\b"
    r"|\b(?:he|she|they|someone|somebody|who|people|users?|customers?|the (?:log|tool|output|file|page|email|text"
    r"|author|user|customer|website|readme|doc\w*|assistant|model|error|message)) (?:says?|said|writes?|wrote|claims?"
    r"|claimed|tells?|told|reads?|states?|asked|asks|prints?|printed|replied)\b|\b(?:for example|e\.g\."
    r"|hypothetically|for instance)\b|\b(?:do|does|did|should|could|would|can|shall|may|am|is|are) (?:i|we) \w+.*\?"
    r"|\bi (?:wonder|guess|suppose|assume|doubt|thought)\b|\bas an? (?:ai|language model)\b|^(?:如果|假如|要是|假设"
    r"|假装|比如|例如|倘若)|(?:他|她|他们|别人|有人|客户|用户|日志|文档|文件|网页|邮件)(?:说|写道|表示|声称|提到|问)",
    re.IGNORECASE,
)
"""A condition, a quotation, an example: nothing that the speaker asserts."""

PASTES = regex(
    r"\b(?:translate|rewrite|rephrase|paraphrase|proof ?read|correct|edit|summari[sz]e|shorten|polish|improve"
    r"|analy[sz]e|classify|extract|parse|continue|following|below|here(?:'s| is| are)|this is (?:the|what)|(?:log"
    r"|output|error|email|letter|text|message|article|story|poem|transcript|document|file|page|review|paragraph"
    r"|result|response|comment|readme|it|he|she|they) (?:says?|said|reads?|is|was|wrote|printed)|from the (?:log|file"
    r"|docs?|page|email|tool)|got (?:this|the following)|output|log|traceback|quote)\b[^\n]{0,120}[:：]\s*$|(?:翻译"
    r"|改写|润色|校对|总结|概括|分析|修改|以下|下面|如下|日志|输出|报错|邮件|原文|文章|内容|续写"
    r"|提取)[^\n]{0,40}[:：]\s*$",
    re.IGNORECASE,
)
"""A line after which a message holds somebody else's text."""

TASK = regex(
    r"(?:please |kindly |(?:can|could|would) you )*(?:translate|rewrite|rephrase|paraphrase|proof ?read|correct|edit|summari[sz]e|"
    r"shorten|polish|improve|analy[sz]e|classify) (?:this|these|the following)(?: \w{1,20})? (?:article|e-?mail|text|letter|"
    r"message|review|paragraph|story|post|transcript|passage|document|essay|abstract|comment|log|output)s?"
    r"(?: (?:for me|(?:in)?to [A-Za-z]{1,20}|in [A-Za-z]{1,20}))*\s*[.!?]?\s*|"
    r"(?:请|帮我|麻烦)*(?:把|将)?(?:翻译|改写|润色|校对|总结|概括)(?:一下)?(?:下面|以下|这)[^\n，,]{0,20}[。？]?\s*",
    re.IGNORECASE,
)
"""A line that asks for work on a text, which follows."""

MACHINE = regex(
    rf"\s*(?:[\[(<*#]{{0,2}})(?:{OUTPUT_NAMES}|(?:tool|function)[ _-](?:call|use)s?|tool(?=:)|stdout|stderr|output|result"
    r"|search results?|retrieved|context|document|(?:file )?contents?|web ?page|api response"
    r"|system (?:note|message|reminder)|检索结果)(?:[\])>*]{0,2})\s?(?:\d{1,3}|(?:of|from|for) [^\n:：]{1,60})?\s*[:：\n>]",
    re.IGNORECASE,
)
"""How the text of a tool or a page begins in a user's message. Wider than `is_output`: a wrong match costs a memory only."""

QUOTED = regex(
    r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|「[^」\n]{1,400}」|『[^』\n]{1,400}』|«[^»\n]{1,400}»|"
    r"`[^`\n]{1,400}`|(?<!\w)'[^'\n]{1,400}'(?!\w)"
)
BLOCK = regex(r"<([A-Za-z][\w:-]{0,40})(?:\s[^<>\n]{0,300})?>.*?</\1\s*>|(\"\"\"|''')(?=\n).*?\n\s{0,8}\2", re.DOTALL)
"""A pair of tags or of triple quotation marks, between which stands somebody else's text."""

QUESTION = regex(
    r".*[?？]\W*$|^(?:so |and |but |ok,? )?(?:do|does|did|is|are|am|was|were|can|could|should|would|will|"
    r"shall|may|what|which|who|whose|when|where|why|how)\b"
    r"(?! (?:possible,))(?!ever)|.*(?:吗|呢|么)\W*$|.*(?:什么|怎么|为什么|哪[个里些]|是否|多少)",
    re.IGNORECASE | re.DOTALL,
)
