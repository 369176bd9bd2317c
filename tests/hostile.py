"""Histories with what real clients get wrong, and with every kind of block and item there is, in places that do and do not suit it.

`random_hostile_history(random.Random(seed), "anthropic")` is fast enough for 100,000 of them in a soak run.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

from generated import PNG, random_broken_history, random_history
from plimsoll.formats.provenance import notice
from plimsoll.summary.frame import PRESENTATIONS, omission, wrap

Wire = dict[str, Any]
Damage = Callable[[random.Random, list[Wire]], None]

OURS = (
    omission(12, "en"),
    "[12 earlier messages are not shown 00000000]",
    wrap("User requests (verbatim, in order):\n- go on", covers=(0, 9), presentation=PRESENTATIONS["en"]),
    "[Summary of messages m0-m9, made by machine. x]\ngo on\n[End of summary 00000000]",
    "[The conversation begins with the assistant's message below.]",
    notice("Result of a call that is not shown") + "\nsomething",
    "[Result of a call that is not shown 00000000]\nsomething",
    "[No result: the call was interrupted or its result was not recorded.]",
    "[The same content as in a later result of this conversation.]",
    "[System message]\nbe brief",
    "[… 12 tokens cut …]",
    "(empty)",
)
"""What plimsoll itself says, come back as if somebody else had said it."""


def random_hostile_history(rng: random.Random, format: str) -> list[Wire]:
    """A history of that format, valid or broken, made worse in one to four ways."""
    wires = (random_history if rng.random() < 0.5 else random_broken_history)(rng, format)
    for _ in range(rng.randint(1, 4)):
        if wires:
            rng.choice((*_ANYWHERE, *_DAMAGES[format], *_DAMAGES[format]))(rng, wires)
    return wires


def _head_off(rng: random.Random, wires: list[Wire]) -> None:
    """The beginning is gone, perhaps with everything the user said."""
    del wires[: rng.randrange(len(wires))]


def _later(rng: random.Random, wires: list[Wire]) -> None:
    """A message comes some places later: a late result, or one that nobody waits for any more."""
    at = rng.randrange(len(wires))
    wires.insert(min(len(wires), at + rng.randint(1, 3)), wires.pop(at))


def _own_words(rng: random.Random, wires: list[Wire]) -> None:
    """Somebody says what only plimsoll says."""
    wire, text = rng.choice(wires), rng.choice(OURS)
    for block in (wire, *_blocks(wire)):
        for field in ("content", "text", "output"):
            if isinstance(block.get(field), str):
                block[field] = text


def _nothing(rng: random.Random, wires: list[Wire]) -> None:
    """A message holds nothing."""
    wire = rng.choice(wires)
    for field in ("content", "parts", "output", "summary", "tool_calls"):
        if field in wire:
            wire[field] = [] if field in ("parts", "summary", "tool_calls") else rng.choice((None, [], "", " \n"))


def _bad_calls(rng: random.Random, wires: list[Wire]) -> None:
    """Arguments that are no text or no object, and names with spaces."""
    for wire in wires:
        calls = [wire, *_blocks(wire), *[call.get("function", {}) for call in wire.get("tool_calls") or ()]]
        for call in calls:
            for field in ("arguments", "input"):
                if field in call and "output" not in call and "server_label" not in call and rng.random() < 0.3:
                    call[field] = rng.choice(({"a": [1]}, None, "not JSON", '{"a": 1}', "", '{"a": "' + "b " * 40))
            if "name" in call and rng.random() < 0.1:
                call["name"] = rng.choice(("my tool!", "", "工具"))


def _blocks(wire: Wire) -> list[Wire]:
    listed = [wire.get("content"), wire.get("parts")]
    return [block for blocks in listed if isinstance(blocks, list) for block in blocks if isinstance(block, dict)]


def _inserted(blocks: Callable[[random.Random], list[Wire]], **answer: str) -> Damage:
    """A damage that puts new blocks into a message, whatever its role. `answer` is what the assistant's must have for it."""

    def damage(rng: random.Random, wires: list[Wire]) -> None:
        wire = rng.choice(wires)
        field = "parts" if "parts" in wire else "content"
        if "role" not in wire:
            return
        wire |= answer if wire["role"] == "assistant" else {}
        if not isinstance(wire.get(field), list):
            kind = "input_text" if wire.get("type") == "message" else "text"
            wire[field] = [{"type": kind, "text": wire[field]}] if isinstance(wire.get(field), str) else []
        at = rng.randint(0, len(wire[field]))
        wire[field][at:at] = copy.deepcopy(blocks(rng))

    return damage


def _added(items: Callable[[random.Random], list[Wire]]) -> Damage:
    """A damage that puts new messages or items between the others."""

    def damage(rng: random.Random, wires: list[Wire]) -> None:
        at = rng.randint(0, len(wires))
        wires[at:at] = copy.deepcopy(items(rng))

    return damage


def _one_of(*choices: Wire) -> Callable[[random.Random], list[Wire]]:
    return lambda rng: [rng.choice(choices)]


def _chat_legacy(rng: random.Random) -> list[Wire]:
    """A function_call of old, answered, by another, or not at all."""
    call = {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}}
    return [
        call,
        *([{"role": "function", "name": rng.choice(("old", "new")), "content": "x"}] if rng.random() < 0.7 else []),
    ]


_CHAT_BLOCKS = _one_of(
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
    {"type": "image_url", "image_url": "https://example.org/a.png"},
    {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
    {"type": "file", "file": {"file_id": "file_1"}},
    {"type": "refusal", "refusal": "I will not."},
    {"type": "text", "text": None},
    {"type": "text", "text": "cached", "cache_control": {"type": "ephemeral"}},
)


def _served(rng: random.Random) -> list[Wire]:
    """A tool that Anthropic runs itself, with its result or still without."""
    found = {
        "type": "web_search_result",
        "title": "t",
        "url": "u",
        "encrypted_content": "RW5j" * rng.choice((1, 60)),
        "page_age": None,
    }
    use = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}}
    result = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [found]}
    return [use, result] if rng.random() < 0.7 else [use]  # fmt: skip


_THINKING = _one_of(
    {"type": "thinking", "thinking": "a thought", "signature": "c2ln" * 20},
    {"type": "thinking", "thinking": "unsigned"},
    {"type": "redacted_thinking", "data": "RXJy" * 20},
)
_ANTHROPIC_BLOCKS = _one_of(
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
    {"type": "image"},
    {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a document"}, "title": "t"},
    {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": "found"}]},
    {"type": "container_upload", "file_id": "file_1"},
    {"type": "tool_use", "id": "stray", "name": "f", "input": {}},
    {"type": "tool_result", "tool_use_id": "stray", "content": [{"type": "text", "text": " "}], "is_error": True},
    {"type": "text", "text": None},
    {"words": "without a type"},
)


def _said_by_the_system(rng: random.Random, wires: list[Wire]) -> None:
    """System text among Anthropic's messages, most often at the beginning."""
    at = 0 if rng.random() < 0.6 else rng.randint(0, len(wires))
    wires.insert(at, {"role": "system", "content": rng.choice(("be brief", [{"type": "text", "text": "be brief"}]))})


def _native_call(rng: random.Random) -> list[Wire]:
    """A call of one of OpenAI's own tools, with its output, without it, or under an empty id."""
    id = rng.choice(("n1", "n2", ""))
    exec = {"type": "exec", "command": ["ls"], "env": {}}
    outcome = {"type": "exit", "exit_code": 0}
    pairs: list[list[Wire]] = [
        [{"type": "shell_call", "call_id": id, "action": {"commands": ["ls " * 20]}}, {"type": "shell_call_output", "call_id": id, "output": [{"stdout": "a b", "stderr": "", "outcome": outcome}]}],
        [{"type": "local_shell_call", "id": "x", "call_id": id, "status": "completed", "action": exec}, {"type": "local_shell_call_output", "id": id, "output": "a b"}],
        [{"type": "apply_patch_call", "call_id": id, "status": "completed", "operation": {"type": "delete_file", "path": "a"}}, {"type": "apply_patch_call_output", "call_id": id, "status": "failed"}],
        [{"type": "tool_search_call", "call_id": rng.choice((id, None)), "arguments": {"q": "x " * 30}}, {"type": "tool_search_output", "call_id": id, "tools": []}],
        [{"type": "computer_call", "id": "x", "call_id": id, "status": "completed", "pending_safety_checks": []}, {"type": "computer_call_output", "call_id": id, "output": {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PNG}"}}],
        [{"type": "program", "id": "x", "call_id": id, "code": "run()", "fingerprint": "f"}, {"type": "program_output", "id": "y", "call_id": id, "result": "ok", "status": "completed"}],
        [{"type": "mcp_approval_request", "id": "q", "arguments": "{}", "name": "f", "server_label": "s"}, {"type": "mcp_approval_response", "approval_request_id": "q", "approve": True}],
    ]  # fmt: skip
    pair = rng.choice(pairs)
    return pair[: rng.choice((1, 2, 2, 2))]


_RESPONSES_ITEMS = _one_of(
    {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}},
    {"type": "file_search_call", "id": "s", "status": "completed", "queries": ["q"], "results": None},
    {
        "type": "code_interpreter_call",
        "id": "c",
        "status": "completed",
        "code": "1",
        "container_id": "x",
        "outputs": None,
    },
    {"type": "image_generation_call", "id": "i", "status": "completed", "result": PNG},
    {"type": "mcp_list_tools", "id": "l", "server_label": "s", "tools": []},
    {"type": "mcp_call", "id": "m", "arguments": "{}", "name": "f", "server_label": "s", "output": "done " * 40},
    {"type": "compaction", "encrypted_content": "RW5j" * 60},
    {"type": "item_reference", "id": "msg_1"},
    {"type": "additional_tools", "role": "developer", "tools": []},
    {"type": "configuration_update", "reasoning": {"effort": "low"}},
    {"type": "reasoning", "id": "rs_x", "encrypted_content": "RW5j" * 60},
)
_RESPONSES_BLOCKS = _one_of(
    {"type": "input_text", "text": "input"},
    {"type": "output_text", "text": "output", "annotations": []},
    {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}", "detail": "auto"},
    {"type": "input_file", "file_id": "file_1"},
    {"type": "refusal", "refusal": "I will not."},
)


_ANSWER = {"type": "message", "id": "msg_x", "status": "completed"}


def _ui_tool(rng: random.Random) -> list[Wire]:
    """A tool part in any state, with what the state needs or without."""
    states = ("input-streaming", "input-available", "approval-requested", "approval-responded", "output-available", "output-error", "output-denied", "done")  # fmt: skip
    part: Wire = {"type": rng.choice(("tool-f", "tool-f", "dynamic-tool")), "toolCallId": rng.choice(("u1", "u1", "u2", "")), "state": rng.choice(states)}  # fmt: skip
    extras = {"input": {"a": "b " * 20}, "output": {"ok": [1]}, "errorText": "it failed", "toolName": "g", "approval": {"id": "x", "approved": True}}  # fmt: skip
    part |= {field: value for field, value in extras.items() if rng.random() < 0.7}
    return [part]


_UI_PARTS = _one_of(
    {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{PNG}"},
    {"type": "source-url", "sourceId": "s", "url": "u"},
    {"type": "source-url", "title": "without what it needs"},
    {"type": "data-weather", "data": {"sun": True}},
    {"type": "unheard-of", "words": "w"},
    {"type": "reasoning", "text": "hm", "providerMetadata": {"anthropic": {"signature": "c2ln" * 20}}},
    {"type": "text"},
)


def _without_id(rng: random.Random, wires: list[Wire]) -> None:
    """A UI message nobody named."""
    rng.choice(wires)["id"] = rng.choice(("", None))


def _between(rng: random.Random, wires: list[Wire]) -> None:
    """Somebody speaks where calls wait for their results, or anywhere else."""
    role = rng.choice(("user", "assistant", "system"))
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randint(0, len(wires))
        is_ui = any("parts" in wire for wire in wires)
        said = (
            {"parts": [{"type": "text", "text": f"approved {at}"}], "id": f"b{at}"}
            if is_ui
            else {"content": f"approved {at}"}
        )
        wires.insert(at, {"role": role, **said})


def _response_fields(rng: random.Random, wires: list[Wire]) -> None:
    """Messages as an SDK's response or a host's database holds them: with fields that no request has."""
    fields: Wire = {
        "id": "msg_01",
        "model": "m",
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 3},
        "timestamp": 5,
        "parsed": None,
    }
    for wire in wires:
        if rng.random() < 0.4 and "role" in wire and "parts" not in wire:
            wire |= {field: value for field, value in fields.items() if field not in wire and rng.random() < 0.5}
        for block in _blocks(wire):
            if rng.random() < 0.1 and "parts" not in wire:
                block |= {"parsed_output": {"x": [1]}}
        for call in wire.get("tool_calls") or ():
            if rng.random() < 0.3 and isinstance(call.get("function"), dict):
                call["function"]["parsed_arguments"] = {"a": 1}
                call["index"] = 0


def _long_ids(rng: random.Random, wires: list[Wire]) -> None:
    """A call has an id, and a tool a name, that no provider takes."""
    length = rng.choice((41, 65, 300))
    text = json.dumps(wires).replace('"call_1"', json.dumps("i" * length)).replace('"bash"', json.dumps("b" * length))
    wires[:] = json.loads(text)


def _many_calls(rng: random.Random, wires: list[Wire]) -> None:
    """An answer with a dozen calls more, of which some have results, in any order."""
    ids = [f"many_{n}" for n in range(rng.choice((3, 12)))]
    done = rng.sample(ids, rng.randint(0, len(ids)))
    if any("parts" in wire for wire in wires):
        parts = [
            {
                "type": "tool-f",
                "toolCallId": id,
                "input": {},
                **(
                    {"state": "output-available", "output": f"out {id}"} if id in done else {"state": "input-available"}
                ),
            }
            for id in ids
        ]
        wires.append({"id": "many", "role": "assistant", "parts": parts})
    elif any("type" in wire and "role" not in wire for wire in wires):
        wires += [{"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"} for id in ids]
        wires += [{"type": "function_call_output", "call_id": id, "output": f"out {id}"} for id in done]
    elif any("tool_calls" in wire or wire.get("role") == "tool" for wire in wires):
        calls = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ids]
        wires.append({"role": "assistant", "content": None, "tool_calls": calls})
        wires += [{"role": "tool", "tool_call_id": id, "content": f"out {id}"} for id in done]


def _custom_calls(rng: random.Random, wires: list[Wire]) -> None:
    """Calls of chat become custom ones, whose input is free text."""
    for wire in wires:
        for call in wire.get("tool_calls") or ():
            if rng.random() < 0.5 and isinstance(call.get("function"), dict):
                function = call.pop("function")
                call |= {"type": "custom", "custom": {"name": function.get("name"), "input": function.get("arguments")}}


def _named(rng: random.Random, wires: list[Wire]) -> None:
    """People have names with spaces and slashes."""
    for wire in wires:
        if wire.get("role") == "user" and rng.random() < 0.5:
            wire["name"] = rng.choice(("John Doe", "a/b", "x" * 70, "ann"))


def _results_apart(rng: random.Random, wires: list[Wire]) -> None:
    """Anthropic results come one message each, as the tools finish, perhaps with words between."""
    apart: list[Wire] = []
    for wire in wires:
        content = wire.get("content")
        if wire.get("role") != "user" or not isinstance(content, list) or len(content) < 2:
            apart.append(wire)
            continue
        blocks = content if rng.random() < 0.7 else content[::-1]
        apart += [{"role": "user", "content": [block]} for block in blocks]
    wires[:] = apart


def _marked(rng: random.Random, wires: list[Wire]) -> None:
    """Anthropic messages are marked for the cache as they are appended, and nobody takes the marks away."""
    for wire in wires:
        for block in _blocks(wire):
            if rng.random() < 0.6 and block.get("type") in ("text", "tool_result", "tool_use", "image"):
                block["cache_control"] = rng.choice(
                    ({"type": "ephemeral"}, {"type": "ephemeral", "ttl": "1h"}, {"type": "ephemeral"}, {})
                )


def _failed_with_media(rng: random.Random, wires: list[Wire]) -> None:
    """A failed Anthropic result holds a picture, or blocks that stand elsewhere."""
    inside = ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}, {"type": "tool_use", "id": "x", "name": "f", "input": {}}, {"type": "document", "source": {"type": "url", "url": "u"}, "context": "words " * 20})  # fmt: skip
    for wire in wires:
        for block in _blocks(wire):
            if block.get("type") == "tool_result" and rng.random() < 0.6:
                block["content"] = [copy.deepcopy(rng.choice(inside))]
                block["is_error"] = rng.random() < 0.6


_ANYWHERE: tuple[Damage, ...] = (
    *(_head_off, _later, _own_words, _nothing, _bad_calls),
    *(_between, _between, _response_fields, _long_ids, _many_calls),
)
_DAMAGES: dict[str, tuple[Damage, ...]] = {
    "openai-chat": (_inserted(_CHAT_BLOCKS), _added(_chat_legacy), _custom_calls, _named),
    "anthropic": (
        _inserted(_ANTHROPIC_BLOCKS),
        _inserted(_THINKING),
        _inserted(_served),
        _said_by_the_system,
        _results_apart,
        _results_apart,
        _marked,
        _failed_with_media,
    ),
    "openai-responses": (_added(_native_call), _added(_RESPONSES_ITEMS), _inserted(_RESPONSES_BLOCKS, **_ANSWER)),
    "ui-parts": (_inserted(_ui_tool), _inserted(_UI_PARTS), _without_id),
}
