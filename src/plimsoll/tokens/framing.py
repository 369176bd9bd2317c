"""From the tokens of texts to the tokens of messages: what providers add around every value, as data."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, assert_never

from plimsoll.dataclass import dataclass
from plimsoll.message import Media, Message, Opaque, Part, Reasoning, Text, ToolCall, ToolResult
from plimsoll.tokens.cache import CacheInfo, CachingCounter
from plimsoll.tokens.media import MOST_EXPENSIVE, MediaRule

if TYPE_CHECKING:
    from plimsoll.protocols import TokenCounter


@dataclass(frozen=True, slots=True, kw_only=True)
class Framing:
    """What surrounds the values. All numbers are tokens; `source` says where they come from."""

    name: str
    source: str
    per_message: int
    per_name: int = 0
    """Beside the tokens of the name."""
    per_block: int = 0
    """For each part that is an object of its own on the wire."""
    per_call: int = 0
    per_tool: int = 0
    tools_once: int = 0
    """Added when there is at least one tool."""
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
"""OpenAI's chat format; the default for every model that is not Anthropic's."""

ANTHROPIC = Framing(
    name="anthropic",
    source="Anthropic publishes no framing. Its own example, a system text and one message of 7 tokens counted as 14, "
    "is within these numbers. The prompt that tools add is the model's (registry).",
    per_message=3,
    per_name=1,
    per_block=2,
    per_call=3,
    per_tool=10,
    tools_once=675,
    reply_priming=3,
)
"""Anthropic's blocks. Two of them cost no more than a message's own frame, so what is sent as one message never costs more
than it did apart. `tools_once` is the largest prompt documented for automatic choice."""

SEALED_CHARS_PER_TOKEN = 4
"""Characters of encrypted reasoning, base64 of about three bytes, for one token of what is inside.

Providers count the thought, not its letters: a signature of Anthropic's holds the whole thought, of which the text beside it may
be a summary, and `encrypted_content` of OpenAI's is all there is of it. Measured on requests of real sessions: 4.0 to 6.7
characters a token for Anthropic, and never fewer than 6.4 for 171 reasoning items of OpenAI. Text and signature are one thought:
the larger counts.
"""

PRIMED_CHARS_MIN = 200_000
"""Less text than this is counted before the other cores have begun."""


class MessageCounter:
    """Counts messages by a TokenCounter and a Framing. Long texts are counted once, however often they are asked for.

    `upper` is the same counter giving numbers that the truth is not expected to pass: decide by it, display the other.
    """

    __slots__ = ("_count", "_counter", "_roles", "framing", "media", "upper")

    def __init__(
        self, counter: TokenCounter, framing: Framing = OPENAI_CHAT, *, media: MediaRule = MOST_EXPENSIVE
    ) -> None:
        """`counter` is wrapped in a cache unless it has one."""
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
        """The name of the text counter."""
        return self._counter.name

    @property
    def exact(self) -> bool:
        """Whether texts are counted as the provider counts them."""
        return self._counter.exact

    def text(self, text: str) -> int:
        """Tokens of a text by itself."""
        return self._count(text)

    def message(self, message: Message) -> int:
        """Tokens one message adds to a request."""
        tokens = self.framing.per_message + self._role(message)
        if message.name is not None:
            tokens += self._count(message.name) + self.framing.per_name
        for part in message.parts:
            tokens += self.part(part)
        return tokens

    def prime(self, messages: Sequence[Message], *, chars_max: int | None = None) -> None:
        """Count the long texts of many messages at once, ahead of asking for each. Changes speed and nothing else.

        With `chars_max` only the newest messages, until that many characters are reached.
        """
        texts, chars = [], 0
        for message in reversed(messages):
            if chars_max is not None and chars >= chars_max:
                break
            found = [text for part in message.parts if (text := _long_text(part)) is not None]
            chars += sum(map(len, found))
            texts += found
        if chars >= PRIMED_CHARS_MIN:
            self._counter.prime(texts)

    def messages(self, messages: Sequence[Message]) -> int:
        """Tokens of a request without its tools: the sum over the messages, and what primes the reply."""
        return sum(map(self.message, messages)) + self.framing.reply_priming

    def part(self, part: Part) -> int:
        """Tokens of one part with its own frame."""
        match part:
            case Text():
                return self._count(part.text) + (self.framing.per_block if part.wire is not None else 0)
            case ToolCall():
                return self._call(part)
            case ToolResult():
                return self._result(part)
            case Reasoning():
                return self._reasoning(part)
            case Media():
                return self.media.tokens(part) + self.framing.per_block
            case Opaque():
                return self._count(compact_json(part.wire)) + self.framing.per_block
            case _:
                assert_never(part)

    def tools(self, tools: Sequence[Mapping[str, Any]] | None) -> int:
        """Tokens of tool definitions in any provider's form; 0 for none.

        Each counts as its compact JSON and `per_tool`: never less than the tokens of its values, and more than the
        shorter notation that providers turn schemas into.
        """
        if not tools:
            return 0
        each = (self.framing.per_tool + self._count(compact_json(tool)) for tool in tools)
        return self.framing.tools_once + sum(each)

    def cache_info(self) -> CacheInfo:
        """How often a long text was found counted already."""
        return self._counter.cache_info()

    def _role(self, message: Message) -> int:
        role = message.role
        found = self._roles.get(role)
        if found is None:
            found = self._roles[role] = self._count(role)
        return found

    def _call(self, call: ToolCall) -> int:
        return self.framing.per_call + sum(map(self._count, (call.name, call.arguments, call.id)))

    def _result(self, result: ToolResult) -> int:
        tokens = self._count(result.content) + self._count(result.call_id)
        if result.wire is not None:
            content = result.wire.get("content")
            tokens += self.framing.per_block * (1 + len(content) if isinstance(content, list) else 1)
        if result.name is not None:
            tokens += self._count(result.name) + self.framing.per_name
        return tokens + sum(map(self._result_medium, result.media))

    def _result_medium(self, part: Media) -> int:
        """A medium inside a result, with the texts that are sent beside its bytes."""
        wire = part.wire or {}
        texts = (wire.get(field) for field in ("title", "context"))
        return self.part(part) + sum(self._count(text) for text in texts if isinstance(text, str) and text)

    def _reasoning(self, part: Reasoning) -> int:
        sealed = -(-len(part.signature) // SEALED_CHARS_PER_TOKEN) if part.signature else 0
        return max(self._count(part.text), sealed) + self.framing.per_block


def _long_text(part: Part) -> str | None:
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
    """JSON without spaces, other scripts unescaped. For what JSON cannot say (cycles, bytes, depth), its texts."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return " ".join(_texts(value))


def _texts(value: Any) -> Iterator[str]:
    """Every key and scalar in a value of any shape, each container once. Linear, without recursion."""
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
    """Python refuses to write integers of more than some thousand digits in decimal, but not in hexadecimal."""
    try:
        return str(item)
    except ValueError:
        return hex(item) if isinstance(item, int) else type(item).__name__


def _inside(container: Mapping[Any, Any] | list[Any] | tuple[Any, ...]) -> list[Any]:
    if isinstance(container, Mapping):
        return [item for key, value in reversed(list(container.items())) for item in (value, key)]
    return list(reversed(container))
