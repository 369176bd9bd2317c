"""The wire formats: reading, writing, converting and checking messages of OpenAI, Anthropic and the AI SDK."""

from plimsoll.formats.convert import convert, validate
from plimsoll.formats.detect import detect
from plimsoll.formats.format import Code, Converted, Format, Loss, Rendered, SystemText, Violation
from plimsoll.formats.registry import FORMATS, decode_all, format_named

__all__ = [
    "FORMATS",
    "Code",
    "Converted",
    "Format",
    "Loss",
    "Rendered",
    "SystemText",
    "Violation",
    "convert",
    "decode_all",
    "detect",
    "format_named",
    "validate",
]
