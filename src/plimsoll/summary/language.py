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
    seen = 0
    texts: list[str] = []
    for message in messages:
        if message.role not in ("user", "assistant"):
            continue
        texts.append(message.text[:2_000])
        seen += len(texts[-1])
        if seen >= SAMPLE_CHARS:
            break
    sample = "\n".join(texts)
    if sample.isascii():
        return "en"
    han = han_chars(sample)
    if not han or han > len(sample) * CHINESE_SHARE:  # the letters need not be counted
        return "zh" if han else "en"
    return "zh" if han > sum(map(len, _WORDS.findall(sample))) * CHINESE_SHARE else "en"
