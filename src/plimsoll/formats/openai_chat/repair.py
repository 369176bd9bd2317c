"""Repair chat messages that the API would refuse on their own."""

from __future__ import annotations

from typing import Any, Final

from plimsoll.formats.checks import has_value, in_words, is_name, tool_name
from plimsoll.formats.openai_chat.codec import THINKING_BLOCKS, exposed_fields
from plimsoll.formats.openai_chat.validate import BLOCKS, SILENT, has_any_blocks, is_speaker
from plimsoll.formats.rules import RULES
from plimsoll.formats.wire import arguments_text, copied
from plimsoll.light.regex import regex
from plimsoll.message import Message, Wire

_UNSAFE: Final = regex(r"[\s<|\\/>]")


def is_sound(message: Message) -> bool:
    """A quick check that is true only if nothing in the message is refused."""
    wire = message.wire or {}
    content = wire.get("content")
    if wire.get("name") is not None and not is_speaker(wire["name"]):
        return False
    if "tool_calls" not in wire:
        return isinstance(content, str) and wire.get("role") != "function"
    calls = wire["tool_calls"]
    if message.role != "assistant" or not calls or not (content is None or isinstance(content, str)):
        return False
    for call in calls:
        function = call.get("function")
        if call.get("type") != "function" or not isinstance(function, dict):
            return False
        if not isinstance(function.get("arguments"), str) or not is_name(function.get("name"), "openai-chat"):
            return False
    return "function_call" not in wire


def repair(wire: Wire, repairs: list[str]) -> dict[str, Any]:
    """The message without what is refused: turned into text or left out. Each repair is added to `repairs`."""
    own = copied(wire)
    role, calls = own["role"], own.get("tool_calls")
    if isinstance(calls, list) and calls and role == "assistant":
        own["tool_calls"] = [_call(call, repairs) for call in calls]
    elif "tool_calls" in own and (calls is not None or role != "assistant"):
        repairs.append("removed tool_calls that are empty or not in an assistant message")
        del own["tool_calls"]
    if own.get("name") is not None and not is_speaker(own["name"]):
        repairs.append("a name was too long or had invalid characters")
        own["name"] = _UNSAFE.sub("_", own["name"])[: RULES["openai-chat"].tool_name_chars_max] or "_"
    if role == "function" and not own.get("name"):
        repairs.append("a function message needs a name")
        own["name"] = tool_name(own.get("name"), "openai-chat")
    content = own.get("content")
    if isinstance(content, list) and not has_any_blocks(own):
        own["content"] = [kept for block in content for kept in [_repaired(block, role, repairs)] if kept is not None]
    if role == "function" and isinstance(content, list):
        own["content"] = "\n".join(block["text"] for block in own["content"])
    elif not own.get("content") and not isinstance(content, str):
        unsaid = role in ("user", "system", "developer") and not exposed_fields(own)
        silent = unsaid or any(own.get(field) for field in SILENT)
        own["content"] = None if silent else ""
    return own


def _repaired(block: dict[str, Any], role: str, repairs: list[str]) -> dict[str, Any] | None:
    """A block as it is accepted in a message of that role, or None if it has no content."""
    kind = block.get("type")
    field = BLOCKS[role].get(kind) if isinstance(kind, str) else None
    if field is not None and has_value(block, field):
        return block
    if role == "assistant" and kind in THINKING_BLOCKS:
        repairs.append("removed thinking of another API")
        return None
    if kind == "text":
        repairs.append("removed a text block without text")
        return None
    if kind == "image_url" and role == "user" and isinstance(block.get("image_url"), str):
        repairs.append("image_url must be an object")
        return {**block, "image_url": {"url": block["image_url"]}}
    repairs.append(f"{ascii(kind)[:40]} not allowed in a message of role {role}: converted to text")
    return {"type": "text", "text": in_words(block)}


def _call(call: dict[str, Any], repairs: list[str]) -> dict[str, Any]:
    kind, field = ("custom", "input") if isinstance(call.get("custom"), dict) else ("function", "arguments")
    function = call[kind]
    fixed = {
        **function,
        "name": tool_name(function.get("name"), "openai-chat"),
        field: arguments_text(function.get(field)),
    }
    if fixed != function or call.get("type") != kind:
        repairs.append("a call needs its type, a valid name, and its arguments as text")
    return {**call, "type": kind, kind: fixed}
