"""The model's thinking, converted only for return to the provider that made it, never as plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from plimsoll.message import Reasoning, Wire

_BESIDE: Final = ("extra_content", "provider_specific_fields", "providerMetadata", "callProviderMetadata")
"""Fields of texts and calls in which Gemini's thought signatures are sent back (its own server, LiteLLM, the AI SDK)."""

_SEALED: Final = {"thinking": ("type", "thinking", "signature"), "redacted_thinking": ("type", "data")}
"""Anthropic's blocks of thinking with the fields that each must have, all of them texts. It accepts no others."""


def signatures_beside(wire: Wire) -> Iterator[str]:
    """The thought signatures beside a text or a call: by provider and name, or by name alone."""
    for field in _BESIDE:
        value = wire.get(field)
        for key, inner in value.items() if isinstance(value, Mapping) else ():
            for name, text in inner.items() if isinstance(inner, Mapping) else ((key, inner),):
                if isinstance(text, str) and text and str(name).lower().endswith("signature"):
                    yield text


def signed_by_anthropic(part: Reasoning) -> dict[str, Any] | None:
    """The thinking block if Anthropic signed or encrypted it, since it accepts no other."""
    wire = part.wire or {}
    taken = _SEALED.get(str(wire.get("type")))
    if taken is not None:
        is_whole = all(isinstance(wire.get(field), str) for field in taken)
        return {field: wire[field] for field in wire if field in taken} if is_whole else None
    metadata = _provider_metadata(wire, "anthropic")
    if isinstance(metadata.get("redactedData"), str):
        return {"type": "redacted_thinking", "data": metadata["redactedData"]}
    if isinstance(metadata.get("signature"), str):
        return {"type": "thinking", "thinking": part.text, "signature": metadata["signature"]}
    return None


def known_to_openai(part: Reasoning) -> dict[str, Any] | None:
    """The Responses reasoning item if it has an id from OpenAI, which accepts no other."""
    wire = part.wire or {}
    if wire.get("type") == "reasoning" and "summary" in wire:
        return dict(wire) if isinstance(wire["summary"], list) and isinstance(wire.get("id"), str | None) else None
    metadata = _provider_metadata(wire, "openai")
    if not isinstance(metadata.get("itemId"), str):
        return None
    summary = [{"type": "summary_text", "text": part.text}] if part.text else []
    encrypted = metadata.get("reasoningEncryptedContent")
    sealed = {"encrypted_content": encrypted} if isinstance(encrypted, str) else {}
    return {"type": "reasoning", "id": metadata["itemId"], "summary": summary, **sealed}


def ui_reasoning(part: Reasoning) -> dict[str, Any]:
    """A UI reasoning part, with the provider's signature in its metadata (AI SDK, provider options)."""
    wire = part.wire or {}
    if wire.get("type") == "reasoning" and isinstance(wire.get("text"), str):
        return dict(wire)
    metadata: dict[str, Any] = {}
    if wire.get("type") in _SEALED:
        signed = signed_by_anthropic(part) or {}
        known = _named("redactedData", signed.get("data")) | _named("signature", signed.get("signature"))
        metadata = {"anthropic": known} if known else {}
    elif wire.get("type") == "reasoning" and isinstance(wire.get("id"), str):
        sealed = wire.get("encrypted_content")
        metadata = {"openai": {"itemId": wire["id"], **_named("reasoningEncryptedContent", sealed)}}
    return {"type": "reasoning", "text": part.text, **({"providerMetadata": metadata} if metadata else {})}


def _named(field: str, value: object) -> dict[str, str]:
    """The field, if its value is a text that is not empty."""
    return {field: value} if isinstance(value, str) and value else {}


def ui_signature(wire: Wire) -> str | None:
    """The signature or encrypted content in a UI reasoning part's metadata."""
    for provider, key in (
        ("anthropic", "signature"),
        ("anthropic", "redactedData"),
        ("openai", "reasoningEncryptedContent"),
    ):
        value = _provider_metadata(wire, provider).get(key)
        if isinstance(value, str):
            return value
    return None


def _provider_metadata(wire: Wire, provider: str) -> dict[str, Any]:
    metadata = wire.get("providerMetadata")
    own = metadata.get(provider) if isinstance(metadata, dict) else None
    return own if isinstance(own, dict) else {}
