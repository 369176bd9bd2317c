"""Cut what somebody wrote around a paste: the words stay before fenced code, and the lines that the words point to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, pairwise

from plimsoll.light.regex import regex
from plimsoll.limits import COUNTED_TEXT_CHARS_MAX
from plimsoll.protocols import TokenCounter
from plimsoll.truncation.marker import SHORTEST, MarkerLanguage
from plimsoll.truncation.measure import fair_cap
from plimsoll.truncation.text import Cut, cut_text

_POINTER = regex(
    r"(?i:\b(?:lines?|rows?|entry|entries|records?|items?|zeilen?|lignes?)|\bL(?=[0-9])|(?<!\w)#(?=[0-9])|第)\s{0,2}[#:]?\s{0,2}"
    r"(?P<numbers>[0-9]{1,7}(?:(?:\s{0,2}(?:[-–,~至到和及、]|and|or|to)\s{0,2})[0-9]{1,7}){0,4})"
)
_NUMBER = regex("[0-9]{1,7}")
_NUMBERED = regex(
    r"[^\w\n]{0,8}(?:(?i:line|row|entry|record|item|L|no\.?)\s{0,2})?[#第]?0{0,6}(?P<number>[0-9]{1,7})(?![\w.%]|[-/:][0-9])"
)
"""A line that begins with its number, and hardly one that begins with a time, a date or a decimal."""
_FENCED = regex(r"^(```|~~~)[^\n`]*\n((?:(?!\1)[^\n]*\n){3,})\1", re.MULTILINE)
"""Three lines of code or more between two fences."""
_BLOCK_TOKENS_MIN = 24
"""Less of a block of code says nothing, so it leaves whole."""
_OWN_LINES, _OWN_CHARS = 3, 2_000
"""Lines at each end that are read as the author's own words."""
_POINTED_MAX = 4
_LINES_MIN = 12
_SHARE = 3
"""The lines pointed to get one part in so many of the room."""
_GAP_TOKENS = 16
_ROUNDS_MAX = 4


def cut_said(
    text: str,
    *,
    tokens_max: int,
    counter: TokenCounter,
    reference: str | None = None,
    language: MarkerLanguage = "auto",
) -> str:
    """Cut a message to its two ends, and the lines in between whose numbers the ends name: "why does line 4242 fail?".

    Such a line begins with its number; where none does, it is counted from the start of the paste. Where no line is named, fenced
    code is cut before the words around it.
    """
    plain = cut_text(
        text, tokens_max=tokens_max, counter=counter, keep="both", reference=reference, language=language
    ).text
    if plain == text or text.count("\n") < _LINES_MIN:
        return plain
    cut = partial(cut_text, counter=counter, language=language)
    if not (pointed := _spans(text)):
        return _cut_code(text, tokens_max, counter, partial(cut, reference=reference)) or plain
    spans = [span for span in pointed if text[slice(*span)].strip() not in plain]
    while spans and counter.upper("\n".join(text[slice(*span)] for span in spans)) > tokens_max // _SHARE:
        spans.pop()
    room = tokens_max - sum(counter.upper(text[slice(*span)]) + 1 for span in spans) - _GAP_TOKENS * (len(spans) - 1)
    for _ in range(_ROUNDS_MAX if spans else 0):
        made = _joined(text, sorted(spans), max(2, room), cut, reference)
        over = counter.upper(made) - tokens_max
        if over <= 0:
            return made
        room -= over + 1
    return plain


def _cut_code(text: str, tokens_max: int, counter: TokenCounter, cut: Callable[..., Cut]) -> str | None:
    """Cut the fenced code in a text before the words around it; None if there is none, or what results does not fit or has no mark.

    The first blocks are cut to equal sizes, the others leave. Where even that is not enough, the words are cut at both ends.
    """
    blocks = [match.span(2) for match in _FENCED.finditer(text)] if len(text) <= COUNTED_TEXT_CHARS_MAX else []
    if not blocks:
        return None
    sizes = [counter.upper(text[start:end]) for start, end in blocks]
    room = tokens_max - counter.upper(text) + sum(sizes) - len(blocks)
    shown = sizes[: max(0, room) // _BLOCK_TOKENS_MIN]
    cap = fair_cap(shown, room)
    codes = [cut(text[start:end], tokens_max=cap, keep="both").text for start, end in blocks[: len(shown)]]
    made = _replaced(text, blocks, [*codes, *[SHORTEST] * (len(blocks) - len(codes))])
    if codes:
        return made if counter.upper(made) <= tokens_max else None
    words = cut(made, tokens_max=tokens_max, keep="both").text
    return words if words != made else None


def _replaced(text: str, spans: Sequence[tuple[int, int]], parts: Sequence[str]) -> str:
    """Put a part in the place of each span."""
    made, at = [], 0
    for (start, end), part in zip(spans, parts, strict=True):
        made += [text[at:start], part if part.endswith("\n") else f"{part}\n"]
        at = end
    return "".join([*made, text[at:]])


def _joined(
    text: str, spans: Sequence[tuple[int, int]], room: int, cut: Callable[..., Cut], reference: str | None
) -> str:
    """The start of the text, the spans with a marker between each two, and the end of the text."""
    first, last = spans[0][0], spans[-1][1]
    made = [cut(text[:first].rstrip("\n"), tokens_max=room // 2, keep="head", reference=reference).text]
    for (start, end), (following, _) in pairwise([*spans, (last, last)]):
        made.append(text[start:end])
        between = text[end:following].strip("\n")
        made += [cut(between, tokens_max=_GAP_TOKENS).text] if between else []
    return "\n".join([*made, cut(text[last:].lstrip("\n"), tokens_max=room - room // 2, keep="tail").text])


def _spans(text: str) -> list[tuple[int, int]]:
    """The lines that the ends point to, in the order in which they are named."""
    numbers = list(islice(dict.fromkeys(_named(text)), _POINTED_MAX))
    if not numbers:
        return []
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    within = range(_OWN_LINES, len(lines) - _OWN_LINES)
    found: dict[int, int] = {}
    for index in within:
        bears = _NUMBERED.match(lines[index])
        if bears is not None:
            found.setdefault(int(bears["number"]), index)
    start = 0 if any(number in found for number in numbers) else _paste_start(lines)
    places = [found.get(number, start + number - 1 if start else -1) for number in numbers]
    return [(starts[place], starts[place] + len(lines[place])) for place in dict.fromkeys(places) if place in within]


def _named(text: str) -> Iterator[int]:
    """The numbers of lines that the first and last lines name."""
    head = [line for line in text[:_OWN_CHARS].split("\n") if line.strip()][:_OWN_LINES]
    tail = [line for line in text[-_OWN_CHARS:].split("\n") if line.strip()][-_OWN_LINES:]
    for line in (*head, *tail):
        for pointer in _POINTER.finditer(line):
            yield from map(int, _NUMBER.findall(pointer["numbers"]))


def _paste_start(lines: Sequence[str]) -> int:
    """The index of the first line of a paste: what follows a fence, or the first empty line; 0 if there is neither."""
    for index, line in enumerate(lines[: 4 * _OWN_LINES]):
        if line.startswith(("```", "~~~")) or not line.strip():
            following = lines[index + 1 : index + 2]
            return index + 2 if following and following[0].startswith(("```", "~~~")) else index + 1
    return 0
