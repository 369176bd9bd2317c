"""Repair Responses items that the API rejects on their own, regardless of context."""

from __future__ import annotations

from types import NoneType
from typing import Any

from plimsoll.formats.checks import in_words, is_name, tool_name
from plimsoll.formats.openai_responses.codec import text_block
from plimsoll.formats.openai_responses.fields import CALLS, RESULTS
from plimsoll.formats.openai_responses.validate import (
    INPUT,
    NATIVE_RESULTS,
    OUTPUT,
    TEXT_CALLS,
    TEXT_OR_NULL,
    TEXT_RESULTS,
)
from plimsoll.formats.wire import arguments_text, copied, output_text
from plimsoll.message import Message, Wire


def is_sound(message: Message) -> bool:
    """A quick check: True if the item certainly needs no repair."""
    wire = message.wire or {}
    match wire.get("type"):
        case None | "message":
            return isinstance(wire.get("content"), str)
        case "function_call":
            return isinstance(wire.get("arguments"), str) and is_name(wire.get("name"), "openai-responses")
        case "function_call_output":
            return isinstance(wire.get("output"), str)
        case "reasoning":
            return isinstance(wire.get("summary"), list)
        case _:
            return False


def repair(wire: Wire, repairs: list[str]) -> dict[str, Any]:
    """Convert to text or remove what the API rejects in an item. `repairs` receives what was done."""
    own = copied(wire)
    kind = own.get("type")
    if kind == "message" or (kind is None and "role" in own):
        own["content"] = _content(own.get("content"), own["role"], repairs)
        if own["role"] == "assistant" and "id" not in own and isinstance(own["content"], list):
            own["content"] = "\n".join(block.get("text") or in_words(block) for block in own["content"])
    elif kind in TEXT_CALLS:
        fixed = {
            **own,
            "name": tool_name(own.get("name"), "openai-responses"),
            CALLS[kind]: arguments_text(own.get(CALLS[kind])),
        }
        if fixed != own:
            repairs.append("a call needs a valid name, and its arguments as text")
        own = fixed
    elif kind in TEXT_RESULTS:
        own[RESULTS[kind]] = _output(own.get(RESULTS[kind]), repairs)
    elif kind in NATIVE_RESULTS and not isinstance(own.get(RESULTS[kind]), NATIVE_RESULTS[kind]):
        repairs.append("an output lacked required fields")
        own[RESULTS[kind]] = _native_output(kind, output_text(own.get(RESULTS[kind])))
    elif kind in TEXT_OR_NULL and not isinstance(own.get(TEXT_OR_NULL[kind]), (str, NoneType)):
        repairs.append("an output must be text or null")
        own[TEXT_OR_NULL[kind]] = output_text(own[TEXT_OR_NULL[kind]]) if own[TEXT_OR_NULL[kind]] else None
    elif kind == "reasoning" and not isinstance(own.get("summary"), list):
        repairs.append("reasoning needs a summary, which may be empty")
        own["summary"] = []
    return own


def _output(output: object, repairs: list[str]) -> object:
    if isinstance(output, str):
        return output
    if isinstance(output, list) and output and all(isinstance(block, dict) for block in output):
        return [_block(block, "user", repairs) for block in output]
    repairs.append("an output must be text or content parts")
    return output_text(output) if output else ""


def _native_output(kind: str, words: str) -> object:
    """The minimal output of this kind, with the text if it has a field for text."""
    if NATIVE_RESULTS[kind] is str:
        return words
    if kind == "shell_call_output" and words:
        return [{"stdout": words, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]
    return {"type": "computer_screenshot"} if NATIVE_RESULTS[kind] is dict else []


def _content(content: object, role: str, repairs: list[str]) -> object:
    """Text or blocks; an empty list, or None, becomes empty text."""
    if not isinstance(content, list):
        return content or ""
    if not content:
        repairs.append("content may not be an empty list")
        return ""
    return [_block(block, role, repairs) for block in content]


def _block(block: dict[str, Any], role: str, repairs: list[str]) -> dict[str, Any]:
    """One block in a form that is allowed in a message of that role."""
    allowed, kind = OUTPUT if role == "assistant" else INPUT, block.get("type")
    field = allowed.get(kind) if isinstance(kind, str) else None
    if field is not None and (not field or isinstance(block.get(field), str)):
        return block
    repairs.append(f"{ascii(kind)[:40]} not allowed in a message of role {role}: converted to text")
    text = block.get("text")
    return text_block(
        text if isinstance(text, str) else in_words(block), "output_text" if role == "assistant" else "input_text"
    )
