"""Which language the fixed strings of a view are in."""

from __future__ import annotations

from collections.abc import Iterable

from plimsoll.message import Message
from plimsoll.policy.presets import Language as Wanted
from plimsoll.regex import regex
from plimsoll.summary.frame import Language

SAMPLE_CHARS = 20_000
"""Characters of what people and the model said that are looked at."""

CHINESE_SHARE = 0.15
"""A Chinese text reaches this share of Han characters even with code and names in it; English with a Chinese word does not."""

_HAN = regex(r"[\u3400-\u9fff]")
_WORDS = regex(r"[^\W\d_]")


def language_of(messages: Iterable[Message], wanted: Wanted = "auto") -> Language:
    """`en` or `zh`: the one asked for, or by the script of what user and assistant said."""
    if wanted != "auto":
        return wanted
    han = letters = seen = 0
    for message in messages:
        if message.role not in ("user", "assistant"):
            continue
        text = message.text[:2_000]
        han += len(_HAN.findall(text))
        letters += len(_WORDS.findall(text))
        seen += len(text)
        if seen >= SAMPLE_CHARS:
            break
    return "zh" if han > letters * CHINESE_SHARE else "en"
