"""Strike what a model's summary claims and the conversation does not contain: files, identifiers, numbers, words of the user."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plimsoll.light.regex import regex
from plimsoll.summary.condense import statements
from plimsoll.summary.coverage import terms
from plimsoll.summary.ledger.sentences import CJK

if TYPE_CHECKING:
    from plimsoll.summary.grounds import Grounds

_RUN = regex(
    r"[a-z][a-z0-9+]{1,9}://[^\s<>\"')\]]+|#\d{3,7}\b|\b(?:PR|MR|[Ii]ssue|[Tt]icket|[Pp]ull [Rr]equest) \d{3,7}\b"
    r"|\d{1,3}(?:,\d{3})+(?![\d,])|[\w.@+/~-]+",
    re.ASCII,
)
"""Characters of a claim beside each other. Whether they are one is asked of the whole run, so that a long one takes no longer."""

_WHOLE = regex(
    r"[a-z0-9+]+://.+|(?:~?/|\.{1,2}/)[\w.@+-]+(?:/[\w.@+-]+)*/?|(?:[\w.@+-]+/)+[\w.@+-]+\.[a-z]{1,5}|[\w.+-]+@[\w-]+\.[\w.]+"
    r"|\d{1,3}(?:,\d{3})+|[\w-]+(?:\.[\w-]+)*\.[a-z]{1,4}|(?:#|[A-Za-z ]+ )\d{3,7}|v?\d{1,3}(?:\.\d{1,3}){2,3}",
    re.ASCII,
)
"""An address, a path, a grouped number, a file, a reference by number, or a version."""

_PART = regex(
    r"[A-Za-z]+(?:[-_][A-Za-z0-9]+)*[-_]?\d[\w-]*|\d[\w-]*[A-Za-z][\w-]*|\d{5,}|(?:\d+-)+\d{5,}|\d{4}-\d\d-\d\d(?:T\d\d)?"
    r"|[A-Za-z]+_\w+|[a-z]+[A-Z]\w+|(?:[A-Z][a-z]+){3,}",
    re.ASCII,
)
"""An identifier, a large number, a date, or a name in code."""

_QUANTITY = regex(
    r"~?(?:\d{1,4}(?:\.\d{1,3})?-)?\d{1,4}(?:\.\d{1,3})?(?:[A-Za-z]{1,4}|[dhms]\d{1,2}[hms]|-?[a-z]{1,8}(?:-[a-z]{1,8}){0,3})"
    r"|(?:[Pp]re|[Pp]ost|[Mm]id|[Ee]arly|[Ll]ate)-\d{4}s?",
    re.ASCII,
)
"""Such as `30min`, `1-yr-old` or `mid-2023`: a short form of what was said in more words, and like other small numbers no claim."""

_SECTION_WORDS = frozenset(
    "user users request requests key fact facts decision decisions made open work task tasks current status state next step steps"
    " file files modified changed read error errors fix fixes constraint constraints summary session goal goals context progress"
    " pending todo done completed note notes issue issues command commands test tests result results finding findings important"
    " identifiers values history background technical details info remaining intent primary overview plan problem problems solution"
    " solutions requirement requirements preference preferences action actions analysis root cause".split()
)
"""Words of which titles such as `key_facts` are made."""

_SECTION_STARTS = frozenset("user current next key open last overall final session conversation".split())
"""With which titles in front of a colon begin, whatever follows."""

_BETWEEN_PARTS = regex(r"([/.@+~])")
_NUMBER = regex(r"\d[\d,]*(?:\.\d+)?")
_PART_CHARS_MIN, _CODE_CHARS_MIN = 4, 5

_MARKUP = regex(r"(?:[\s>|*+\"-]|[0-9]{1,3}[.)]?\s|</?[\w-]{1,40}>)*")
"""What may stand before the words of a line."""

_TAG = regex(r"</?[\w-]{1,40}>")
_TITLE = regex(
    r"#{1,6}\s[^.。\n]{1,60}|【[^\n]{1,60}|[^.。\n]{1,60}(?:[:：][*\",]*|\*\*)|\"?\w{1,40}\":\s?\[|</?[\w-]{1,40}>"
)
_ASK_WORD = regex(r"\b(?:requests?|asked|asks|constraints?|instructions?)(?![^\W_])|请求|要求|约束|指令")
_WHICH = (
    r"[\W\d_]*(?:(?:the|all|any|and|or|what|was|were|has|have|been|users?(?:['’]s)?|your|our|open|primary(?!\skey)|main|key"
    r"|original|initial|first|last|latest|recent|newest|new|current|active|pending|outstanding|remaining|other|further"
    r"|additional|explicit|stated|specified|imposed|given|direct|standing|hard|strict|critical|important|specific|general"
    r"|goals?|intents?|tasks?|decisions?|preferences?|requirements?|rules|context|requests?|constraints?|instructions?)[\W\d_]+)*"
)
_OF_WHICH = (
    r"(?![^\W_]|-\w|\s(?!(?:and|or|so\sfar|to\sdate|until|in\sorder|made|given|still|verbatim|list|history)\b)[^\W\d_])"
)
_WHICH_ZH = (
    r"[\W\d_一二三四五六七八九十]*(?:用户|主要|全部|所有|当前|关键|原始|最初|最新|未完成|待办|明确"
    r"|重要|核心|其他|目标|偏好|需求|决定|的|与|和|及)*"
)
_OF_WHICH_ZH = r"(?:[与和及、]|列表|清单|条件|记录|汇总|事项|[^\w\s]|\s*$)"
_ASKS = regex(
    rf"{_WHICH}(?:(?:requests?|constraints?|instructions?){_OF_WHICH}|ask(?:ed|s)\b)|{_WHICH_ZH}(?:请求|要求|约束|指令){_OF_WHICH_ZH}"
    r"|.{0,40}(?:\busers?\s(?:\w{1,12}\s){0,2}ask(?:ed|s)\b|\b(?:request|constraint|instruction)s?\s(?:\w{1,12}\s)?(?:by|from|of)\s(?:the\s)?user)"
)
"""A title with one of these stands above what the user asked for. A pull request, or a constraint of a database, is none."""

_LISTS_REQUESTS = regex(rf"{_WHICH}requests?{_OF_WHICH}[^:：]{{0,20}}[:：]")
_ASKED_TERMS_MIN = 3

_ATTRIBUTED = regex(
    r"\busers?(?:_|\b(?:(?!\b(?:i|we|assistant|agent)\b)[^.;\n]){0,30}?\b)(?:ask|request|want|requir|said|says|told|tells"
    r"|insist|order|demand|instruct|approv|authori[sz]|permit|permission|allow|agree|confirm|need|prefer|expect)"
    r"|用户[^，。；\n]{0,8}(?:要求|请求|希望|想|说|让|命令|指示|同意|批准|授权|需要)"
)
_DENIED = regex(
    r"\busers?\s(?:did(?: not|n['’]t)|ha[sd](?: not|n['’]t)|(?:said|asked for|wanted) nothing)\b|用户(?:没有|并?未|从未)"
)
_CUE_TERMS = frozenset(
    "user users asked asks reque wants wante requi said told insis order deman instr appro autho permi allow agree confi needs"
    " neede gave given grant prefe expec stay stays keep kept leave remai 用户 要求 请求 希望 户要 户请 户希 户说 户让 户想 户同"
    " 户批 户授 户需 同意 批准 授权 命令 需要".split()
)
_ATTRIBUTED_SHARE_MIN = 0.34
_JUDGED_SHARE_MIN = 0.4
"""A text with fewer of its words in the conversation is in another language, or of something else."""

_LANGUAGE_SHARE_MIN = 0.25
_SHORT_WORD = regex(r"\b[^\W\d_]{1,3}\b")

_STRUCK = "…"


def grounded(prose: str, conversation: Grounds) -> tuple[str, int]:
    """Return the prose without unsupported claims, and how many were struck.

    A statement is dropped with its claim, unless it also holds supported ones or nothing else would remain: then only the claim is.
    A text that shares hardly a word with the conversation cannot be judged by its words, and stays.
    """
    own = [term for term in terms(prose.casefold()) - _CUE_TERMS if len(term) >= _PART_CHARS_MIN or not term.isascii()]
    if sum(map(conversation.mentions, own)) < len(own) * _JUDGED_SHARE_MIN:
        return prose, 0
    judges_requests = _speaks_alike(prose, conversation)
    lines, count, is_request = list[str](), 0, False
    for line in prose.split("\n"):
        words = _TAG.sub("", _MARKUP.sub("", line, count=1))
        is_title = _TITLE.fullmatch(words.strip() or line.strip()) is not None
        if is_title:
            is_request = _ASKS.match(line.casefold()) is not None and not line.lstrip().startswith("</")
        is_listed = not is_title and (is_request or _LISTS_REQUESTS.match(line.casefold()) is not None)
        if is_listed and judges_requests and _is_unheard_of(words, conversation):
            count += 1
            continue
        kept, struck = _grounded_line(
            line, conversation, judges_requests=judges_requests and not (is_title or is_listed)
        )
        count += struck
        if kept.strip() or not line.strip():
            lines.append(kept)
    left = "\n".join(lines)
    if count and sum(map(str.isalnum, left)) < 2:
        return _without_claims(prose, conversation)[0], count
    return left, count


def _grounded_line(line: str, conversation: Grounds, *, judges_requests: bool) -> tuple[str, int]:
    kept, count = list[str](), 0
    for statement in statements(line):
        bare, struck, supported = _without_claims(statement, conversation)
        if struck and not supported:
            count += struck
        elif judges_requests and _is_put_in_mouth(statement, conversation):
            count += 1
        else:
            kept.append(bare)
            count += struck
    left = "".join(kept)
    return (left if line[:1].isspace() else left.lstrip()) if count else line, count


def _without_claims(text: str, conversation: Grounds) -> tuple[str, int, int]:
    """Return a text with unsupported claims replaced, and the numbers of unsupported and supported ones."""
    struck = supported = 0
    numbers = [float(found.replace(",", "")) for found in _NUMBER.findall(text)]

    def checked(claim: str) -> str:
        nonlocal struck, supported
        if len(claim) < _CODE_CHARS_MIN and not claim.startswith("#"):
            return claim
        if conversation.holds(claim, numbers):
            supported += 1
            return claim
        struck += 1
        return _STRUCK

    def checked_run(found: re.Match[str]) -> str:
        run = found[0].rstrip(".-")
        after = found[0][len(run) :]
        if _QUANTITY.fullmatch(run) or _is_label(run, found):
            return found[0]
        if _WHOLE.fullmatch(run):
            return checked(run) + after
        parts = (checked(part) if _PART.fullmatch(part) else part for part in _BETWEEN_PARTS.split(run))
        return "".join(parts) + after

    return _RUN.sub(checked_run, text), struck, supported


def _is_label(run: str, found: re.Match[str]) -> bool:
    """Whether a run is a tag, a key of JSON or the title of a section, which are the model's own words."""
    start, end = found.span()
    if found.string[start - 1 : start] == "<" or found.string[end : end + 2] == '":':
        return "." not in run and not any(map(str.isdigit, run))
    words = run.casefold().split("_")
    is_title = found.string.startswith(":", end) and words[0] in _SECTION_STARTS
    return len(words) > 1 and (is_title or _SECTION_WORDS.issuperset(words))


def _is_put_in_mouth(statement: str, conversation: Grounds) -> bool:
    """Whether a statement says that the user asked for something that neither the user nor the assistant spoke of."""
    folded = statement.casefold()
    is_attributed = _ATTRIBUTED.search(folded) is not None and _DENIED.search(folded) is None
    return is_attributed and _is_unspoken(statement, conversation, 1)


def _is_unspoken(text: str, conversation: Grounds, terms_min: int) -> bool:
    needed = terms(text.casefold()) - _CUE_TERMS
    spoken = len(needed & conversation.spoken_terms)
    return len(needed) >= terms_min and spoken < len(needed) * _ATTRIBUTED_SHARE_MIN


def _is_unheard_of(request: str, conversation: Grounds) -> bool:
    """Whether a request in a list is in the words of neither user nor assistant, nor wholly in those of tools."""
    needed = terms(request.casefold()) - _CUE_TERMS
    return _is_unspoken(request, conversation, _ASKED_TERMS_MIN) and not all(map(conversation.mentions, needed))


def _speaks_alike(prose: str, conversation: Grounds) -> bool:
    """Whether prose and conversation are in one language, by the short words of both, or by CJK characters."""
    folded = prose.casefold()
    if _ATTRIBUTED.search(folded) is None and _ASK_WORD.search(folded) is None:
        return False
    if CJK.search(folded):
        return any(CJK.search(text) for text in conversation.spoken)
    short = frozenset(_SHORT_WORD.findall(folded))
    said = frozenset(word for text in conversation.spoken for word in _SHORT_WORD.findall(text.casefold()))
    return len(short & said) >= len(short) * _LANGUAGE_SHARE_MIN
