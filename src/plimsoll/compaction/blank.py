"""Messages without content: which of them a provider refuses."""

from __future__ import annotations

from collections.abc import Iterable

from plimsoll.formats.rules import Rules
from plimsoll.message import Message, Part, Reasoning, Text


def is_empty(parts: Iterable[Part], role: str, rules: Rules) -> bool:
    """Whether the provider would refuse a message with these parts as empty."""
    found = list(parts)
    if role == "tool" or any(not isinstance(part, (Text, Reasoning)) for part in found):
        return False
    if rules.splits_answers and any(isinstance(part, Reasoning) for part in found):
        return False
    texts = [part.text for part in found if isinstance(part, Text)]
    return not any(text.strip() for text in texts) if rules.refuses_blank_text else not texts


def is_unsaid(message: Message, rules: Rules) -> bool:
    """Whether it is an assistant's message without content, which is accepted as the last message, and nowhere else."""
    if not rules.continues_last or message.role != "assistant" or message.edited or message.wire is None:
        return False
    return message.wire.get("content") in ("", [])
