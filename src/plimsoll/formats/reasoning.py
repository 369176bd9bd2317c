"""The model's own thinking, carried to formats that hand it back to the provider that made it, never as plain text."""

from __future__ import annotations

from typing import Any

from plimsoll.message import Reasoning, Wire


def signed_by_anthropic(part: Reasoning) -> dict[str, Any] | None:
    """The thinking block Anthropic would take back: only what it signed or encrypted itself."""
    wire = part.wire or {}
    if wire.get("type") in ("thinking", "redacted_thinking"):
        return dict(wire)
    told = _provider_metadata(wire, "anthropic")
    if isinstance(told.get("redactedData"), str):
        return {"type": "redacted_thinking", "data": told["redactedData"]}
    if isinstance(told.get("signature"), str):
        return {"type": "thinking", "thinking": part.text, "signature": told["signature"]}
    return None


def known_to_openai(part: Reasoning) -> dict[str, Any] | None:
    """The Responses reasoning item OpenAI would take back: one with the id it gave."""
    wire = part.wire or {}
    if wire.get("type") == "reasoning" and "summary" in wire:
        return dict(wire)
    told = _provider_metadata(wire, "openai")
    if not isinstance(told.get("itemId"), str):
        return None
    summary = [{"type": "summary_text", "text": part.text}] if part.text else []
    encrypted = told.get("reasoningEncryptedContent")
    sealed = {"encrypted_content": encrypted} if isinstance(encrypted, str) else {}
    return {"type": "reasoning", "id": told["itemId"], "summary": summary, **sealed}


def ui_reasoning(part: Reasoning) -> dict[str, Any]:
    """A UI reasoning part, with what the provider needs to recognise it in the metadata (AI SDK, provider options)."""
    wire = part.wire or {}
    if wire.get("type") == "reasoning" and "text" in wire:
        return dict(wire)
    told: dict[str, Any] = {}
    if wire.get("type") == "redacted_thinking":
        told = {"anthropic": {"redactedData": wire.get("data")}}
    elif wire.get("type") == "thinking":
        told = {"anthropic": {"signature": wire.get("signature")}}
    elif wire.get("type") == "reasoning" and isinstance(wire.get("id"), str):
        sealed = wire.get("encrypted_content")
        told = {"openai": {"itemId": wire["id"], **({"reasoningEncryptedContent": sealed} if sealed else {})}}
    return {"type": "reasoning", "text": part.text, **({"providerMetadata": told} if told else {})}


def ui_signature(wire: Wire) -> str | None:
    """The signature or sealed content in a UI reasoning part's metadata."""
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
    told = metadata.get(provider) if isinstance(metadata, dict) else None
    return told if isinstance(told, dict) else {}
