"""Token counts of messages: the counts of their texts plus what providers add, as data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, assert_never

from plimsoll.formats.reasoning import signatures_beside
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.message import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from plimsoll.tokens.cache import CacheStats, CachingCounter
from plimsoll.tokens.media import MOST_EXPENSIVE, MediaRule

if TYPE_CHECKING:
    from plimsoll.protocols import TokenCounter


@dataclass(frozen=True, slots=True, kw_only=True)
class Framing:
    """Tokens that a provider adds around values. `source` names where the numbers come from."""

    name: str
    source: str
    per_message: int
    per_name: int = 0
    """In addition to the tokens of the name."""
    per_block: int = 0
    """For each part that is an object on the wire."""
    per_call: int = 0
    per_tool: int = 0
    tools_once: int = 0
    """Added if there is at least one tool."""
    reply_priming: int = 0
    """Added once per request."""


OPENAI_CHAT = Framing(
    name="openai-chat",
    source="OpenAI cookbook, 'How to count tokens': 3 a message, 1 a name, 3 for the reply, 12 once and at most 10 a "
    "tool. The values of `type` fields are covered by per_block and per_call.",
    per_message=3,
    per_name=1,
    per_block=2,
    per_call=3,
    per_tool=10,
    tools_once=12,
    reply_priming=3,
)
"""OpenAI's chat format; the default for all models but Anthropic's."""

ANTHROPIC = replace(
    OPENAI_CHAT,
    name="anthropic",
    source="Anthropic publishes no framing. Its own example, a system text and one message of 7 tokens counted as 14, "
    "is within these numbers. The prompt that tools add is the model's (registry).",
    tools_once=675,
)
"""Anthropic's blocks. Two blocks cost no more than a message's frame, so merging messages never raises the count. `tools_once` is
the largest documented tool prompt for automatic choice."""

SEALED_CHARS_PER_TOKEN = 4
"""Base64 characters of encrypted reasoning per token of its content.

Providers bill the reasoning, not its encoding: an Anthropic signature holds the full reasoning, which its text may only
summarise, and `encrypted_content` is all of OpenAI's. Measured on real sessions: 4.0 to 6.7 characters a token for Anthropic, at
least 6.4 in 171 reasoning items of OpenAI. Text and signature are the same reasoning: the larger one counts."""

PRIMED_CHARS_MIN = 200_000
"""Shorter text is counted before the other cores have started."""


class MessageCounter:
    """Counts messages with a TokenCounter and a Framing. Counts of long texts are cached.

    `upper` is the same counter with upper counts: use it for decisions, and this one for display.
    """

    __slots__ = ("_count", "_counter", "_roles", "framing", "media", "upper")

    def __init__(
        self, counter: TokenCounter, framing: Framing = OPENAI_CHAT, *, media: MediaRule = MOST_EXPENSIVE
    ) -> None:
        """`counter` is wrapped in a cache if it has none."""
        self._counter = counter if isinstance(counter, CachingCounter) else CachingCounter(counter)
        self.framing = framing
        self.media = media
        self._count = self._counter.count
        self._roles: dict[str, int] = {}
        self.upper = self if counter.exact else self._upper()

    def _upper(self) -> MessageCounter:
        upper = object.__new__(MessageCounter)
        upper._counter, upper.framing, upper.media = self._counter, self.framing, self.media
        upper._count, upper._roles, upper.upper = self._counter.upper, {}, upper
        return upper

    @property
    def name(self) -> str:
        """Name of the text counter."""
        return self._counter.name

    @property
    def exact(self) -> bool:
        """Whether texts are counted as the provider counts them."""
        return self._counter.exact

    def message(self, message: Message) -> int:
        """Tokens that a message adds to a request."""
        tokens = self.framing.per_message + self._role(message)
        if message.name is not None:
            tokens += self._count(message.name) + self.framing.per_name
        for part in message.parts:
            tokens += self.part(part)
        return tokens

    def prime(self, messages: Sequence[Message], *, chars_max: int | None = None) -> None:
        """Count the long texts of many messages in advance. Affects speed only.

        With `chars_max`, only the newest messages up to that many characters.
        """
        texts, chars = [], 0
        for message in reversed(messages):
            if chars_max is not None and chars >= chars_max:
                break
            found = [text for part in message.parts if (text := long_text(part)) is not None]
            chars += sum(map(len, found))
            texts += found
        if chars >= PRIMED_CHARS_MIN:
            self._counter.prime(texts)

    def messages(self, messages: Sequence[Message]) -> int:
        """Tokens of a request without tools: all messages, and the reply's priming."""
        return sum(map(self.message, messages)) + self.framing.reply_priming

    def part(self, part: Part) -> int:
        """Tokens of one part with its own frame."""
        match part:
            case Text():
                return self._count(part.text) + (0 if part.wire is None else self._beside(part.wire))
            case ToolCall():
                return self._call(part)
            case ToolResult():
                return self._result(part)
            case Reasoning():
                return self._reasoning(part)
            case Media():
                return self.media.tokens(part) + self.framing.per_block
            case Opaque():
                return self._opaque(part.wire) + self.framing.per_block
            case _:
                assert_never(part)

    def tools(self, tools: Sequence[Mapping[str, Any]] | None) -> int:
        """Tokens of tool definitions in any provider's format; 0 for none.

        Each counts as its compact JSON plus `per_tool`: at least the tokens of its values, and more than the shorter notation that
        providers convert schemas to.
        """
        if not tools:
            return 0
        each = (self.framing.per_tool + self._count(compact_json(tool)) for tool in tools)
        return self.framing.tools_once + sum(each)

    def cache_info(self) -> CacheStats:
        """Statistics of the cache of text counts."""
        return self._counter.cache_info()

    def _role(self, message: Message) -> int:
        role = message.role
        found = self._roles.get(role)
        if found is None:
            found = self._roles[role] = self._count(role)
        return found

    def _call(self, call: ToolCall) -> int:
        tokens = self.framing.per_call + sum(map(self._count, (call.name, call.arguments, call.id)))
        return tokens if call.wire is None else tokens + _signature_tokens(call.wire)

    def _opaque(self, wire: Mapping[str, Any]) -> int:
        """Tokens of its JSON; of a compaction by the provider, those of the text that is encrypted in it."""
        sealed = wire.get("encrypted_content") if isinstance(wire, dict) and wire.get("type") == "compaction" else None
        if not isinstance(sealed, str):
            return self._count(compact_json(wire))
        return -(-len(sealed) // SEALED_CHARS_PER_TOKEN) + self._count(compact_json({**wire, "encrypted_content": ""}))

    def _beside(self, wire: Mapping[str, Any]) -> int:
        return self.framing.per_block + _signature_tokens(wire)

    def _result(self, result: ToolResult) -> int:
        tokens = self._count(result.content) + self._count(result.call_id)
        if result.wire is not None:
            content = result.wire.get("content")
            tokens += self.framing.per_block * (1 + len(content) if isinstance(content, list) else 1)
        if result.name is not None:
            tokens += self._count(result.name) + self.framing.per_name
        return tokens + sum(map(self._result_medium, result.media))

    def _result_medium(self, part: Media) -> int:
        """A medium inside a result, with its accompanying texts."""
        wire = part.wire or {}
        texts = (wire.get(field) for field in ("title", "context"))
        return self.part(part) + sum(self._count(text) for text in texts if isinstance(text, str) and text)

    def _reasoning(self, part: Reasoning) -> int:
        sealed = -(-len(part.signature) // SEALED_CHARS_PER_TOKEN) if part.signature else 0
        return max(self._count(part.text), sealed) + self.framing.per_block


def _signature_tokens(wire: Mapping[str, Any]) -> int:
    """Tokens of the thought signatures beside a text or a call."""
    return sum(-(-len(text) // SEALED_CHARS_PER_TOKEN) for text in signatures_beside(wire))


def long_text(part: Part) -> str | None:
    """The text of a part, the arguments of a call or the content of a result, which hold most of a message; else None."""
    match part:
        case Text():
            return part.text
        case ToolCall():
            return part.arguments
        case ToolResult():
            return part.content
        case _:
            return None


def compact_json(value: Any) -> str:
    """JSON without spaces or ASCII escapes; for values that JSON cannot express (cycles, bytes, depth), their texts."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return " ".join(_texts(value))


def _texts(value: Any) -> Iterator[str]:
    """All keys and scalars of a value of any shape; each container once. Linear, not recursive."""
    seen: set[int] = set()
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, (Mapping, list, tuple)):
            if id(item) not in seen:
                seen.add(id(item))
                waiting.extend(_inside(item))
        else:
            yield _scalar(item)


def _scalar(item: object) -> str:
    """The text of a scalar. Huge integers are hexadecimal, because Python limits the length of decimal conversion."""
    try:
        return str(item)
    except ValueError:
        return hex(item) if isinstance(item, int) else type(item).__name__


def _inside(container: Mapping[Any, Any] | list[Any] | tuple[Any, ...]) -> list[Any]:
    if isinstance(container, Mapping):
        return [item for key, value in reversed(list(container.items())) for item in (value, key)]
    return list(reversed(container))
