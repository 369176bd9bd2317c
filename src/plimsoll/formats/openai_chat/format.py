"""OpenAI Chat Completions, as spoken by most servers. One wire object is one message of the `messages` list."""

from typing import Final

from plimsoll.formats.format import Format
from plimsoll.formats.openai_chat.codec import decode, encode
from plimsoll.formats.openai_chat.render import render
from plimsoll.formats.openai_chat.repair import is_sound, repair
from plimsoll.formats.openai_chat.validate import validate
from plimsoll.formats.rules import RULES

FORMAT: Final = Format(
    rules=RULES["openai-chat"],
    decode=decode,
    encode=encode,
    validate=validate,
    is_sound=is_sound,
    repair=repair,
    render=render,
)
