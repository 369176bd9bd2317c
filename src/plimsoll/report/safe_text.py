"""Other people's text made safe to show: what could command a terminal or reorder a line is spelt out instead."""

from __future__ import annotations

from plimsoll.light.regex import regex

_COMMANDS = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 and C1 without tab and line feed: escape sequences begin here
    "\u061c\u200e\u200f\u202a-\u202e\u2060-\u206f"  # what changes the direction of the text after it
    "\u00ad\u180e\u200b\u2028\u2029\ufeff\ufff9-\ufffb"  # what breaks lines or hides unseen
    "\ud800-\udfff"  # halves of pairs, which no terminal can be sent
    "\U000e0000-\U000e007f"  # tags: invisible text
)
_UNSAFE = regex(f"[{_COMMANDS}]")
_SPACE = regex(r"\s+")


def neutral(text: str) -> str:
    """The text with every control, bidirectional and invisible character as its escape, such as backslash x1b.

    Line feeds and tabs stay. Nothing is removed, so what was there can be seen. Linear.
    """
    return _UNSAFE.sub(lambda found: _escape(found[0]), text)


def one_line(text: str, chars_max: int = 120) -> str:
    """The text on one line: white space as one blank, the rest as `neutral`, cut to `chars_max` with an ellipsis."""
    flat = neutral(_SPACE.sub(" ", text[: chars_max * 8]).strip())
    return flat if len(flat) <= chars_max and len(text) <= chars_max * 8 else f"{flat[: chars_max - 1].rstrip()}…"


def json_safe(text: str) -> str:
    """JSON text in which the same characters are escaped: it reads back as the same value."""
    return _UNSAFE.sub(lambda found: _json_escape(found[0]), text)


def _escape(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escape(char: str) -> str:
    code = ord(char)
    if code < 0x10000:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
