"""UI messages of the AI SDK, made of parts. One wire object is one `UIMessage`."""

from typing import Final

from plimsoll.formats.format import Format
from plimsoll.formats.rules import RULES
from plimsoll.formats.ui_parts.codec import decode, encode
from plimsoll.formats.ui_parts.render import render
from plimsoll.formats.ui_parts.repair import is_sound, repair
from plimsoll.formats.ui_parts.validate import needs_result, validate

FORMAT: Final = Format(
    rules=RULES["ui-parts"],
    decode=decode,
    encode=encode,
    validate=validate,
    is_sound=is_sound,
    repair=repair,
    render=render,
    needs_result=needs_result,
)
