"""The fields that the Responses API accepts as input (openai.types.responses: ResponseInputItemParam)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from plimsoll.formats.checks import ByType, Fields, fields, typed

CALLS: Final = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "computer_call": "action",
    "tool_search_call": "arguments",
    "program": "code",
}
"""Items that a later item answers, and their field with the arguments."""

RESULTS: Final = {
    "function_call_output": "output",
    "custom_tool_call_output": "output",
    "local_shell_call_output": "output",
    "shell_call_output": "output",
    "apply_patch_call_output": "output",
    "computer_call_output": "output",
    "tool_search_output": "tools",
    "program_output": "result",
}
"""Items that answer another, and their field with the output."""

MESSAGE: Final = fields("type id! role content status! phase")

ITEMS: Final[ByType] = {
    "message": MESSAGE,
    "function_call": fields("type id! call_id name arguments status! namespace! caller async!"),
    "function_call_output": fields("type id call_id output status namespace caller name"),
    "custom_tool_call": fields("type id! call_id name input namespace! caller async! status"),
    "custom_tool_call_output": fields("type id! call_id output caller status"),
    "reasoning": fields("type id summary content! encrypted_content status!"),
    "file_search_call": fields("type id queries results status"),
    "web_search_call": fields("type id action status"),
    "computer_call": fields("type id call_id action! actions! pending_safety_checks status"),
    "computer_call_output": fields("type id call_id output acknowledged_safety_checks status"),
    "code_interpreter_call": fields("type id code container_id outputs status"),
    "local_shell_call": fields("type id call_id action status"),
    "local_shell_call_output": fields("type id call_id output status"),
    "shell_call": fields("type id call_id action environment caller status"),
    "shell_call_output": fields("type id call_id output max_output_length caller status"),
    "apply_patch_call": fields("type id call_id operation caller status"),
    "apply_patch_call_output": fields("type id call_id output caller status"),
    "tool_search_call": fields("type id call_id arguments execution! status"),
    "tool_search_output": fields("type id call_id tools execution! status"),
    "mcp_call": fields("type id name server_label arguments output error approval_request_id status!"),
    "mcp_list_tools": fields("type id server_label tools error"),
    "mcp_approval_request": fields("type id name server_label arguments"),
    "mcp_approval_response": fields("type id approval_request_id approve reason"),
    "item_reference": fields("type id"),
    "compaction": fields("type id encrypted_content"),
    "program": fields("type id call_id code fingerprint"),
    "program_output": fields("type id call_id result status"),
}

BLOCKS: Final[ByType] = {
    "input_text": fields("type text prompt_cache_breakpoint!"),
    "input_image": fields("type image_url file_id detail! prompt_cache_breakpoint!"),
    "input_file": fields("type file_data! file_id file_url! filename! detail! prompt_cache_breakpoint!"),
    "output_text": fields("type text annotations logprobs!"),
    "refusal": fields("type refusal"),
}


def objects_in(wire: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], Fields]]:
    """The item and its content parts, each with the fields it may have."""
    if isinstance(wire, dict):
        kind = wire.get("type", "message" if "role" in wire else None)
        if isinstance(kind, str) and kind in ITEMS:
            yield wire, ITEMS[kind]
    for field in ("content", "output"):
        yield from typed(wire.get(field), BLOCKS)
