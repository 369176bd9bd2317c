"""The tables of fields hold what the official SDKs' own request types hold."""

from __future__ import annotations

import typing
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

from plimsoll.formats.anthropic import codec as anthropic_fields
from plimsoll.formats.openai_chat import codec as chat_fields
from plimsoll.formats.openai_responses import fields as responses_fields

BEYOND_CHAT = {
    *(
        "cache_control",
        "prompt_cache_breakpoint",
        "extra_content",
        "provider_specific_fields",
        "name",
        "images",
        "prefix",
        "partial",
    ),
    *("reasoning", "reasoning_content", "reasoning_details", "thinking", "thinking_blocks", "custom", "function"),
}
"""Fields of other servers that speak the format, and the union of the two kinds of calls."""


def typed_dicts(union: Any) -> Iterator[Any]:
    """The TypedDicts of a union, however deep."""
    for one in typing.get_args(union):
        if hasattr(one, "__total__"):
            yield one
        else:
            yield from typed_dicts(one)


def field_names(one: Any) -> frozenset[str]:
    """The keys of a TypedDict."""
    return frozenset(typing.get_type_hints(one))


def named(allowed: frozenset[str]) -> frozenset[str]:
    """The fields of a table's entry, without what says that they may not be null."""
    return frozenset(name for name in allowed if not name.endswith("!"))


def type_of(one: Any) -> str | None:
    """The value of its `type` field."""
    found = typing.get_type_hints(one).get("type")
    return next(iter(typing.get_args(found)), None) if found is not None else None


@pytest.mark.parametrize("namespace", ["anthropic.types", "anthropic.types.beta"])
def test_anthropic(namespace: str) -> None:
    """Every block of Anthropic's request types, the beta's among them, has just the fields of the table."""
    types = pytest.importorskip(namespace)
    union = types.ContentBlockParam if namespace == "anthropic.types" else types.BetaContentBlockParam
    found = {type_of(one): field_names(one) for one in typed_dicts(union)}

    assert {kind: found[kind] for kind in anthropic_fields.BLOCKS if kind in found} == {
        kind: named(names) for kind, names in anthropic_fields.BLOCKS.items() if kind in found
    }
    assert len(found.keys() & anthropic_fields.BLOCKS.keys()) >= 15


def test_responses() -> None:
    """Every item of the Responses request types has the fields of the table."""
    types = pytest.importorskip("openai.types.responses")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        items = list(typed_dicts(types.ResponseInputItemParam))
    for one in items:
        names, kind = field_names(one), type_of(one)
        if kind in responses_fields.ITEMS:
            assert names <= responses_fields.ITEMS[kind], kind
            beyond = {"call_id"} if kind == "local_shell_call_output" else {"status"}
            known = named(responses_fields.ITEMS[kind])
            assert known - names <= beyond | ({"id", "phase"} if kind == "message" else set()), kind
    for one in (types.ResponseInputTextParam, types.ResponseInputImageParam, types.ResponseInputFileParam):
        assert field_names(one) == named(responses_fields.BLOCKS[type_of(one) or ""])


def test_chat() -> None:
    """Every message of the chat request types has the fields of the table, which has those of other servers besides."""
    types = pytest.importorskip("openai.types.chat")
    for one in typed_dicts(types.ChatCompletionMessageParam):
        role = typing.get_args(typing.get_type_hints(one)["role"])[0]
        assert field_names(one) <= chat_fields.MESSAGES[role]
        assert named(chat_fields.MESSAGES[role]) - field_names(one) <= BEYOND_CHAT
    for one in (types.ChatCompletionMessageFunctionToolCallParam, types.ChatCompletionMessageCustomToolCallParam):
        assert field_names(one) <= chat_fields.CALL
        assert named(chat_fields.CALL) - field_names(one) <= BEYOND_CHAT


def optional(one: Any) -> Iterator[tuple[str, bool]]:
    """The fields of a TypedDict that may be left out, and whether they may be null."""
    for name, hint in typing.get_type_hints(one, include_extras=True).items():
        if typing.get_origin(hint) is not typing.Required:
            yield name, type(None) in typing.get_args(hint)


@pytest.mark.parametrize(
    ("types", "kind", "table", "discriminator"),
    [
        ("anthropic.types", "ContentBlockParam", anthropic_fields.BLOCKS, "type"),
        ("openai.types.responses", "ResponseInputItemParam", responses_fields.ITEMS, "type"),
        ("openai.types.responses", "ResponseInputContentParam", responses_fields.BLOCKS, "type"),
        ("openai.types.responses", "ResponseOutputTextParam", responses_fields.BLOCKS, "type"),
        ("openai.types.chat", "ChatCompletionMessageParam", chat_fields.MESSAGES, "role"),
    ],
)
def test_which_fields_may_be_null(types: str, kind: str, table: Any, discriminator: str) -> None:
    """What may be left out and may not be null is marked, and nothing that may be null in any type of that name is."""
    module, found = pytest.importorskip(types), dict[tuple[str, str], bool]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in typed_dicts(typing.Union[getattr(module, kind), int]):  # noqa: UP007
            for tag in typing.get_args(typing.get_type_hints(one).get(discriminator)):
                for name, may_be_null in optional(one):
                    found[tag, name] = found.get((tag, name), False) or may_be_null
    marked = {
        key: f"{key[1]}!" in table[key[0]]
        for key in found
        if key[1] in table.get(key[0], ()) and key[1] not in ("type", "role")
    }
    assert marked == {key: not found[key] for key in marked}
    assert marked
