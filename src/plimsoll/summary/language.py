"""Detect the language for the fixed strings of a view."""

from __future__ import annotations

from collections.abc import Iterable

from plimsoll.light.regex import regex
from plimsoll.message import Message
from plimsoll.policy.presets import Language as Wanted
from plimsoll.summary.frame import Language
from plimsoll.truncation.marker import han_chars

SAMPLE_CHARS = 20_000
"""Number of characters of user and assistant text to examine."""

CHINESE_SHARE = 0.15
"""Chinese text exceeds this share of Han characters even with code and names; English text with a Chinese word does not."""

_WORDS = regex(r"[^\W\d_]+")


def language_of(messages: Iterable[Message], wanted: Wanted = "auto") -> Language:
    """Return the wanted language, or detect `en` or `zh` from the script of user and assistant text."""
    if wanted != "auto":
        return wanted
    letters = seen = 0
    texts: list[str] = []
    for message in messages:
        if message.role not in ("user", "assistant"):
            continue
        text = message.text[:2_000]
        texts.append("" if text.isascii() else text)
        letters += sum(map(len, _WORDS.findall(text)))
        seen += len(text)
        if seen >= SAMPLE_CHARS:
            break
    return "zh" if han_chars("".join(texts)) > letters * CHINESE_SHARE else "en"
