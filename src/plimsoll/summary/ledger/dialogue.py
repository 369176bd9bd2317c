"""Dialogue facts: one per sentence, with its speaker."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plimsoll.light.regex import regex
from plimsoll.summary.ledger.dates import is_day
from plimsoll.summary.ledger.fact import CAPS, LIST, Fact, Origin, by, fact_of
from plimsoll.summary.ledger.lists import named_in_lists
from plimsoll.summary.ledger.prose import spoken
from plimsoll.summary.ledger.sentences import clean, has_digit, line
from plimsoll.summary.ledger.turns import SpeakerTurn, stamp, turns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from plimsoll.message import Role

_HEADING = regex(
    r"\s{0,4}(?:\[(?P<square>[^\]\n]{0,80}[0-9][^\]\n]{0,40})\]|[(【](?P<round>[^\]\n)】]{0,80}[0-9][^\]\n)】]{0,40})[)】])\s{0,4}\n?"
)
_NAMES_TIME = regex(r"[^\W\d_]{3}|[\u3400-\u9fff]|[0-9][:/.-][0-9]")
"""What a heading has besides its number: a word, a time, a date."""

_FIRST_LINE = regex(r"[ \t#*=-]{0,8}([^\n]{6,80}?)[ \t*=-]{0,8}\n\s{0,8}(?=\S)")
_FIRST_LINE_CHARS_MAX = 100
_PRONOUN = regex(r"(?:He|She|It|They|His|Her|Its|Their)(?=['’]|\s)")
_CORRECTS = regex(
    r"(?:oh |ah )?(?:no,? (?:wait|sorry|actually)|wait\b|sorry\b|scratch that|make that|i mean(?! it))", re.IGNORECASE
)
"""How a sentence begins that takes back what the one before it broke off with: "Two... no wait, three."."""

_BROKEN_OFF = ("...", "…")
_SUBJECT_CHARS_MAX = 30
"""A longer sentence says enough by itself to stand apart from one that begins with a pronoun."""

_CHOSEN = 2.0
"""What a user's statement weighs besides where nobody has a name, and the names in an assistant's list: of a talk too long for a
ledger they stay, when the assistant's other sentences go."""

_ASKS = regex(
    r"(?:what(?! an? )|what['’]s|how|why|explain|give me|(?:re)?write|suggest|recommend|summari[sz]e|translate|create|generate"
    r"|tell me|can you|could you|would you)\b",
    re.IGNORECASE,
)
"""What users begin a question or a task with, also where no question mark ends it."""

_SENTENCES_MAX, _CHARS_MAX = 40, 12_000
"""Of a message so much is read."""

_QUESTION_ENDS = ("?", "？", "吗", "呢", "么")


def from_message(text: str, position: int, role: Role, author: str = "") -> Iterator[Fact]:
    """Yield sentences as chat facts, and a leading date or session line as a heading fact. `author` is the message's name."""
    text = clean_start(text)
    heading = None if stamp(text) else _heading(text)
    if heading is not None:
        shown = line(heading[heading.lastindex or 1], CAPS["heading"].text_chars_max)
        yield Fact("heading", f"{position}", shown, position, "user")
        text = text[heading.end() :]
    found = turns(text[:_CHARS_MAX])
    day = found[0].day
    if day and heading is None:
        yield Fact("heading", f"{position}", day, position, "user")
    if role == "assistant":
        yield from _named(text, position, by(author) or found[0].name or role)
    yield from _chat(found, position, role, by(author), has_digits=has_digit(text))


def _named(text: str, position: int, note: str) -> Iterator[Fact]:
    """What an assistant's lists name."""
    for told in named_in_lists(text[:_CHARS_MAX]):
        shown = line(told, CAPS["chat"].text_chars_max)
        yield fact_of(("chat", shown.casefold(), shown, position, "assistant", 1.0 + _CHOSEN, 1, position, note, LIST))


def _chat(found: Sequence[SpeakerTurn], position: int, role: Role, said_by: str, *, has_digits: bool) -> list[Fact]:
    """A fact for each sentence. A list, in few calls: a talk has thousands of sentences."""
    origin: Origin = "user" if role == "user" else "assistant"
    chars_max = CAPS["chat"].text_chars_max
    facts: list[Fact] = []
    for order, (name, sentence) in enumerate(_sentences(found)[:_SENTENCES_MAX]):
        is_line = len(sentence) <= chars_max and sentence.isprintable() and "  " not in sentence  # as most are
        shown = sentence if is_line else line(sentence, chars_max)
        if len(shown) < 2 or not (shown[:2].isalnum() or _has_words(shown)):
            continue
        asks = shown.endswith(_QUESTION_ENDS) or (role == "user" and _ASKS.match(shown) is not None)
        of_user = 0.0 if origin != "user" else 0.2 if name or said_by else _CHOSEN
        weight = 1.0 + (0.5 if has_digits and has_digit(shown) else 0.0) + of_user
        # Short answers ("Yes.", "1898年。") repeat with other meanings: only long sentences are merged.
        key = shown.casefold() if len(shown) > 24 else f"{position}.{order}"
        # Without an author: a label or a name; `has_speakers` decides from all messages.
        note, state = said_by or name or role, "question" if asks else ""
        facts.append(fact_of(("chat", key, shown, position, origin, weight, 1, position, note, state)))
    return facts


def _has_words(shown: str) -> bool:
    """Return whether two characters of a sentence are letters or digits."""
    alphanumeric = map(str.isalnum, shown)
    return any(alphanumeric) and any(alphanumeric)


def _sentences(found: Sequence[SpeakerTurn]) -> list[tuple[str, str]]:
    """The speaker and the text of each sentence; one said on another day than the message began names that day."""
    day = found[0].day
    told: list[tuple[str, str]] = []
    for turn in found:
        said = list(spoken(turn.text))
        if said and turn.day and turn.day != day:
            day = turn.day
            said[0] = f"{said[0]} ({day})"
        told += [(turn.name, sentence) for sentence in _with_subjects(said)]
    return told


def _with_subjects(said: Sequence[str]) -> Sequence[str]:
    """The sentences; a short one that names what the next one begins with as a pronoun is joined to it, and a correction."""
    is_broken_off = any(told.endswith(_BROKEN_OFF) for told in said)
    if not (is_broken_off or any(map(_PRONOUN.match, said[1:]))):  # as in most messages
        return said
    joined: list[str] = []
    before = ""
    for sentence in said:
        breaks_off = bool(joined) and joined[-1].endswith(_BROKEN_OFF) and _CORRECTS.match(sentence) is not None
        if breaks_off or (before and _PRONOUN.match(sentence)):
            joined[-1] = f"{joined[-1].rstrip(' .…!')}, {sentence}"
            before = ""
            continue
        joined.append(sentence)
        is_short = len(sentence) <= _SUBJECT_CHARS_MAX and not sentence.endswith(_QUESTION_ENDS)
        before = sentence if is_short else ""
    return joined


def _heading(text: str) -> re.Match[str] | None:
    """Match what dates or numbers the talk behind it: not the start of a formula such as `(x-5)² - 4`, nor a point `(3, -4)`."""
    found = _HEADING.match(text)
    if found is None:
        return _dated_line(text)
    return found if _NAMES_TIME.search(found[0]) else None


def _dated_line(text: str) -> re.Match[str] | None:
    """Match a first line that is only a date, such as `Session date: 2023/05/20 (Sat) 02:21`."""
    found = _FIRST_LINE.match(text) if "\n" in text[:_FIRST_LINE_CHARS_MAX] else None
    return found if found is not None and is_day(found[1]) else None


def clean_start(text: str) -> str:
    """Remove control characters from the start, so that headings and speakers are recognised."""
    if text[:400].isprintable():  # it holds none of these
        return text
    return clean(text[:400].replace("\n", " \u2424")).replace("\u2424", "\n") + text[400:]
