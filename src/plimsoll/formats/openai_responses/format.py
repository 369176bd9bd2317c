"""OpenAI Responses. One wire object is one item of the `input` list."""

from typing import Final

from plimsoll.formats.format import Format
from plimsoll.formats.openai_responses.codec import decode, encode
from plimsoll.formats.openai_responses.render import render
from plimsoll.formats.openai_responses.repair import is_sound, repair
from plimsoll.formats.openai_responses.validate import follows_reasoning, validate
from plimsoll.formats.rules import RULES

FORMAT: Final = Format(
    rules=RULES["openai-responses"],
    decode=decode,
    encode=encode,
    validate=validate,
    is_sound=is_sound,
    repair=repair,
    render=render,
    follows_reasoning=follows_reasoning,
)
