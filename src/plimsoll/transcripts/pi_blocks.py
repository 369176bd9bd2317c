"""Convert pi's messages to Anthropic's, the closest wire format: it has thinking with signatures, and errors and images in results.

The texts around summaries and shell commands are those of the tool's public source, so that the view is what it sends.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plimsoll.compaction.readers import PI
from plimsoll.message import Wire
from plimsoll.regex import regex
from plimsoll.transcripts.lines import list_of, maybe_text, text_of

BRANCH_BEFORE = "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n"
BRANCH_AFTER = "</summary>"

_FOREIGN = regex(r"[^a-zA-Z0-9_-]")
_CALL_ID_CHARS_MAX = 64
ANTHROPIC_APIS = ("anthropic-messages", "bedrock-converse-stream", "google-vertex-anthropic", "")
"""The provider APIs that get their signed thinking back unchanged."""


def call_id(id: str) -> str:
    """A call id with characters and length that Anthropic accepts; ids of other providers may have neither."""
    return _FOREIGN.sub("_", id)[:_CALL_ID_CHARS_MAX] or "_"


def message_wire(message: Mapping[str, Any]) -> Wire | None:
    """A pi message as sent to the model; None if it cannot be read."""
    if message.get("role") == "toolResult":
        return _result(message)
    if message.get("role") == "assistant":
        content = message.get("content")
        blocks = [block for part in list_of(content) if (block := _answer_block(part, message)) is not None]
        return {"role": "assistant", "content": blocks} if isinstance(content, list) else None
    content = _user_side(message)
    return None if content is None else {"role": "user", "content": content}


def _user_side(message: Mapping[str, Any]) -> str | list[Wire] | None:
    """The content of a message sent with the role user, whoever wrote it."""
    match message.get("role"):
        case "user" | "custom" | "hookMessage":
            return user_content(message.get("content"))
        case "bashExecution":
            return [{"type": "text", "text": shell_text(message)}]
        case "branchSummary":
            return [{"type": "text", "text": branch_text(text_of(message.get("summary")))}]
        case "compactionSummary":
            return [{"type": "text", "text": summary_text(text_of(message.get("summary")))}]
        case _:
            return None


def user_content(content: object) -> str | list[Wire] | None:
    """A user's text, or text and images; None if it is neither."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    return [block for part in content if (block := _text_or_image(part)) is not None]


def summary_text(summary: str) -> str:
    """The tool's text for a compaction's summary."""
    return PI.around(summary)


def branch_text(summary: str) -> str:
    """The tool's text for the summary of an abandoned branch."""
    return f"{BRANCH_BEFORE}{summary}{BRANCH_AFTER}"


def shell_text(message: Mapping[str, Any]) -> str:
    """The tool's text for a command that the user ran."""
    output = text_of(message.get("output"))
    text = f"Ran `{text_of(message.get('command'))}`\n" + (f"```\n{output}\n```" if output else "(no output)")
    code = message.get("exitCode")
    if message.get("cancelled") is True:
        text += "\n\n(command cancelled)"
    elif isinstance(code, int) and code != 0:
        text += f"\n\nCommand exited with code {code}"
    if message.get("truncated") is True and (path := maybe_text(message.get("fullOutputPath"))):
        text += f"\n\n[Output truncated. Full output: {path}]"
    return text


def _text_or_image(part: object) -> Wire | None:
    if not isinstance(part, dict):
        return None
    if part.get("type") == "text" and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if part.get("type") == "image" and isinstance(part.get("data"), str):
        source = {"type": "base64", "media_type": text_of(part.get("mimeType")) or "image/png", "data": part["data"]}
        return {"type": "image", "source": source}
    return None


def _answer_block(part: object, message: Mapping[str, Any]) -> Wire | None:
    if not isinstance(part, dict):
        return None
    match part.get("type"):
        case "text" if isinstance(part.get("text"), str):
            return {"type": "text", "text": part["text"]}
        case "thinking":
            return _thinking(part, message)
        case "toolCall" if isinstance(part.get("id"), str) and isinstance(part.get("name"), str):
            arguments = part.get("arguments")
            input = arguments if isinstance(arguments, dict) else {}
            return {"type": "tool_use", "id": call_id(part["id"]), "name": part["name"], "input": input}
        case _:
            return None


def _thinking(part: Mapping[str, Any], message: Mapping[str, Any]) -> Wire | None:
    """Thinking signed by Anthropic stays thinking; that of other providers becomes text, as the tool sends it."""
    text, signature = text_of(part.get("thinking")), maybe_text(part.get("thinkingSignature"))
    signed = signature is not None and text_of(message.get("api")) in ANTHROPIC_APIS
    if part.get("redacted") is True:
        return {"type": "redacted_thinking", "data": signature} if signed else None
    if signed:
        return {"type": "thinking", "thinking": text, "signature": signature}
    return {"type": "text", "text": text} if text.strip() else None


def _result(message: Mapping[str, Any]) -> Wire | None:
    if not isinstance(message.get("toolCallId"), str):
        return None
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id(message["toolCallId"])}
    content = user_content(message.get("content"))
    block["content"] = [] if content is None else content
    if message.get("isError") is True:
        block["is_error"] = True
    return {"role": "user", "content": [block]}


def pi_content(content: object) -> list[dict[str, Any]]:
    """Text and images of an Anthropic content in pi's form, without other blocks."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    found: list[dict[str, Any]] = []
    for block in list_of(content):
        source = block.get("source") if isinstance(block, dict) else None
        if isinstance(block, dict) and block.get("type") == "text":
            found.append({"type": "text", "text": text_of(block.get("text"))})
        elif isinstance(source, dict) and block.get("type") == "image" and source.get("type") == "base64":
            mime = text_of(source.get("media_type")) or "image/png"
            found.append({"type": "image", "data": text_of(source.get("data")), "mimeType": mime})
    return found
