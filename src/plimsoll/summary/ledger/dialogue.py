"""Dialogue facts: one per sentence, with its speaker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plimsoll.light.regex import regex
from plimsoll.summary.ledger.dates import is_day
from plimsoll.summary.ledger.fact import CAPS, Fact, Origin, by
from plimsoll.summary.ledger.prose import spoken
from plimsoll.summary.ledger.sentences import clean, has_digit, line

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from plimsoll.message import Role

_SPEAKER = regex(r"([A-Z][\w.'-]{0,20}(?: [A-Z][\w.'-]{0,20})?): ?(?=\S)")
_SPEAKER_ZH = regex(r"([\u4e00-\u9fff]{1,5}): ?(?=\S)")
_HEADING = regex(
    r"\s{0,4}(?:\[(?P<square>[^\]\n]{0,80}[0-9][^\]\n]{0,40})\]|[(【](?P<round>[^\]\n)】]{0,80}[0-9][^\]\n)】]{0,40})[)】])\s{0,4}\n?"
)
_FIRST_LINE = regex(r"[ \t#*=-]{0,8}([^\n]{6,80}?)[ \t*=-]{0,8}\n\s{0,8}(?=\S)")
_FIRST_LINE_CHARS_MAX = 100
_SENTENCES_MAX = 40


def from_message(text: str, position: int, role: Role, author: str = "") -> Iterator[Fact]:
    """Yield sentences as chat facts, and a leading date or session line as a heading fact. `author` is the message's name."""
    text = clean_start(text)
    heading = _HEADING.match(text) or _dated_line(text)
    if heading is not None:
        shown = line(heading[heading.lastindex or 1], CAPS["heading"].text_chars_max)
        yield Fact("heading", f"{position}", shown, position, "user")
        text = text[heading.end() :]
    speaker = (_SPEAKER if text[:1].isascii() else _SPEAKER_ZH).match(text)
    # Without an author: a label or a name; `has_speakers` decides from all messages.
    name = by(author) or (speaker[1] if speaker is not None else role)
    origin: Origin = "user" if role == "user" else "assistant"
    for order, sentence in enumerate(spoken(text[:12_000])[:_SENTENCES_MAX]):
        shown = line(sentence, CAPS["chat"].text_chars_max)
        alphanumeric = map(str.isalnum, shown)
        if not (any(alphanumeric) and any(alphanumeric)):  # less than two characters of it are
            continue
        state = "question" if shown.endswith(("?", "？", "吗", "呢", "么")) else ""
        weight = 1.0 + (0.5 if has_digit(shown) else 0.0) + (0.2 if origin == "user" else 0.0)
        # Short answers ("Yes.", "1898年。") repeat with other meanings: only long sentences are merged.
        key = shown.casefold() if len(shown) > 24 else f"{position}.{order}"
        yield Fact("chat", key, shown, position, origin, weight, last=position, note=name, state=state)


def _dated_line(text: str) -> re.Match[str] | None:
    """Match a first line that is only a date, such as `Session date: 2023/05/20 (Sat) 02:21`."""
    found = _FIRST_LINE.match(text) if "\n" in text[:_FIRST_LINE_CHARS_MAX] else None
    return found if found is not None and is_day(found[1]) else None


def clean_start(text: str) -> str:
    """Remove control characters from the start, so that headings and speakers are recognised."""
    return clean(text[:400].replace("\n", " \u2424")).replace("\u2424", "\n") + text[400:]
