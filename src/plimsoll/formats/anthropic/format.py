"""Anthropic Messages. One wire object is one message of the `messages` list."""

from typing import Final

from plimsoll.formats.anthropic.codec import decode, encode
from plimsoll.formats.anthropic.render import render
from plimsoll.formats.anthropic.repair import is_sound, labelled, repair, without_blanks
from plimsoll.formats.anthropic.validate import validate
from plimsoll.formats.format import Format
from plimsoll.formats.rules import RULES

FORMAT: Final = Format(
    rules=RULES["anthropic"],
    decode=decode,
    encode=encode,
    validate=validate,
    is_sound=is_sound,
    repair=repair,
    render=render,
    labelled=labelled,
    without_blanks=without_blanks,
)
