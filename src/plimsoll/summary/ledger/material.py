"""What a user's message says, apart from the material it hands over: documents, search results, context for one answer.

Programs that look up documents for each question put both into the user's role, under labels or between tags.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from plimsoll.light.regex import regex

_NAMES = (
    r"(?:(?:relevant|retrieved|additional|provided|reference|supporting|related|external) )?(?:(?:web|source|knowledge) )?"
    r"(?:contexts?|documents?|docs|sources?|passages?|excerpts?|snippets?|chunks?|references?|articles?|extracts?"
    r"|(?:search|retrieval|query) results?|knowledge base|evidence|observations?|accessibility tree)"
)
_NAMES_ZH = r"(?:参考|背景|相关|检索|已知|提供的)?(?:资料|文档|检索结果|材料|知识|上下文|段落)"
_MATERIAL = regex(
    rf"^[ \t]{{0,8}}(?:[#*=\[(-]{{0,6}} ?(?:{_NAMES}|{_NAMES_ZH})(?: \(?[0-9]{{1,3}}\)?)?[ \])*=-]{{0,6}}[:：][ \t*]{{0,6}}$"
    rf"|[#=*-]{{2,6}} {_NAMES}[ #*=-]{{0,8}}$"
    rf"|<(?P<tag>{_NAMES.replace(' ', '[ _-]')})(?:[ \t][^<>\n]{{0,300}})?>)",
    re.IGNORECASE | re.MULTILINE,
)
"""A line that says what follows is material, or the tag before it."""

_OWN = regex(
    r"^[ \t]{0,8}[#*=\[(-]{0,6} ?(?:(?:(?:the |my |user(?:'s)? |current |new |human )?"
    r"(?:questions?|query|request|task|objective|goal|instructions?|prompt|input|message))|(?:我的|用户)?(?:问题|提问|指令|任务|要求|请求))"
    r"[ \])*=-]{0,6}(?:[:：][ \t*]{0,6}|$)",
    re.IGNORECASE | re.MULTILINE,
)
"""A label of what the user asks."""

_OWN_TAG = regex(
    r"<(user_query|user_message|user_input|user_request|task|query|question|request|feedback)>", re.IGNORECASE
)
_TAG = regex(r"<([A-Za-z][\w-]{0,40})(?:[ \t][^<>\n]{0,300})?>")

_CHARS_MIN, _LABELLED_CHARS_MIN = 400, 1_200
"""Shorter texts are the user's own, and so is what people write below a label such as `Context:` themselves."""

_PARAGRAPH_CHARS_MAX = 600
_BLANK_CHARS_MAX = 80
"""Up to so much space may stand before a label of material, behind the question or at the start of the message."""


def own_words(text: str) -> str:
    """The text without its material, where something else is left; else all of it. Linear time."""
    if len(text) < _CHARS_MIN:
        return text
    if _OWN_TAG.search(text) is not None:
        return _in_own_tags(text) or text
    material = list(_MATERIAL.finditer(text))
    labels = [label.start() for label in _OWN.finditer(text)] if material else []
    kept: list[str] = []
    at = 0
    for found in material:
        if found.start() < at:
            continue
        end = _end_of(text, found, labels)
        if end < 0:
            break  # what follows a tag that is not closed may be the user's own
        if found["tag"] is not None or end - found.end() >= _LABELLED_CHARS_MIN:
            kept.append(text[at : found.start()])
            at = end
    if not at:
        return text
    own = "\n".join(filter(None, (_OWN.sub("", part).strip() for part in (*kept, text[at:]))))
    return own or text


def _in_own_tags(text: str) -> str:
    """What stands between tags that say it is the user's, and outside all tags: editors put the rest into tags of their own."""
    kept: list[str] = []
    at = 0
    while (tag := _TAG.search(text, at)) is not None:
        kept.append(text[at : tag.start()])
        closing = f"</{tag[1]}>"
        end = text.find(closing, tag.end())
        if end < 0:
            return ""
        if _OWN_TAG.fullmatch(tag[0]) is not None:
            kept.append(text[tag.end() : end])
        at = end + len(closing)
    return "\n".join(filter(None, map(str.strip, (*kept, text[at:]))))


def _end_of(text: str, found: re.Match[str], labels: Sequence[int]) -> int:
    """Where material ends: at its closing tag, or -1; at a label of the user's, else before a last short paragraph.

    Without such a label, material begins the message or follows a question. `labels` are the starts of all of them, in order.
    """
    if found["tag"] is not None:
        closing = f"</{found['tag']}>"
        end = text.find(closing, found.end())
        return end if end < 0 else end + len(closing)
    label = bisect_left(labels, found.end())
    if label < len(labels):
        return labels[label]
    start = found.start()
    before = text[max(0, start - _BLANK_CHARS_MAX) : start].rstrip()
    if (before or start > _BLANK_CHARS_MAX) and not before.endswith(("?", "？")):
        return found.end()  # a heading of the user's own
    last = text.rstrip().rfind("\n\n")
    return last if last > found.end() and len(text) - last <= _PARAGRAPH_CHARS_MAX else len(text)
