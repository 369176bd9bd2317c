"""Convert what callers pass as messages to plain wire objects: dicts, SDK objects, whole responses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeGuard

from plimsoll.errors import FormatError
from plimsoll.formats.detect import refuse_calls_of_another
from plimsoll.formats.format import Format
from plimsoll.formats.rules import RULES
from plimsoll.formats.wire import ANY_BLOCKS, AnyBlocks, alike, exact, is_exact, objects_of
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.message import FormatName, Message, Wire

_CONVERTERS: Final = {
    "langchain_core": ("LangChain", "langchain_core.messages.convert_to_openai_messages(messages)"),
    "langchain": ("LangChain", "langchain_core.messages.convert_to_openai_messages(messages)"),
    "langgraph": ("LangGraph", "langchain_core.messages.convert_to_openai_messages(messages)"),
    "pydantic_ai": ("Pydantic AI", "pydantic_ai.ui.vercel_ai.VercelAIAdapter.dump_messages(messages)"),
    "llama_index": ("LlamaIndex", "llama_index.llms.openai.utils.to_openai_message_dicts(messages)"),
    "agents": ("OpenAI Agents SDK", "result.to_input_list()"),
}
"""Packages with their own message classes, and the function that converts those to provider messages."""

_LANGCHAIN_TYPES: Final = frozenset({"human", "ai", "system", "tool", "function", "chat", "remove"})
"""The `type` of a LangChain message that was dumped to a dict."""


_OTHER_APIS: Final = (
    ("content", frozenset({"toolUse", "toolResult", "reasoningContent", "text"}), "Amazon Bedrock's Converse API"),
    ("parts", frozenset({"functionCall", "functionResponse", "inlineData", "text"}), "Google's Gemini API"),
)
"""The field that holds a message's parts, and the fields that name the kind of a part, in formats whose parts have no `type`."""

_MODEL_PARTS: Final = frozenset({"tool-call", "tool-result"})
"""Types of parts that only the AI SDK's model messages have."""


_SDK_FORMATS: Final[tuple[tuple[str, FormatName], ...]] = (
    ("anthropic.types", "anthropic"),
    ("openai.types.responses", "openai-responses"),
    ("openai.types.chat", "openai-chat"),
)
"""Modules of the official SDKs that define the classes of messages, items and blocks."""


_PLAIN: Final = {"role", "content"}
_SPEAKERS: Final = ("user", "assistant")


class Received(NamedTuple):
    """The input messages as plain wire objects."""

    wires: list[Wire]
    declared: FormatName | None
    """The format by the class of the first SDK object, also if its fields fit another format."""
    may_tell: bool
    """Whether any message is more than plain user or assistant text, and so may identify the format."""
    places: tuple[int, ...] | None = None
    """For each wire object the position it was given at; None if each item was one message."""

    def place(self, number: int) -> int:
        """The position at which the wire object of this number was given."""
        return number if self.places is None else self.places[number]


def received(messages: object) -> Received:
    """The objects of an iterable, with SDK objects converted to plain data. Text and mappings are not accepted as iterables.

    A whole response is replaced by its messages. Raises FormatError, naming the position.
    """
    if type(messages) is not list and not _is_iterable(messages):
        raise FormatError(f"messages must be a list, not {type(messages).__name__}{_instead(messages)}")
    wires: list[Wire] = []
    declared: FormatName | None = None
    may_tell = False
    places: list[int] | None = None
    for position, item in enumerate(messages):
        if (
            type(item) is dict
            and item.keys() == _PLAIN
            and type(item["role"]) is type(item["content"]) is str
            and item["role"] in _SPEAKERS
        ):
            wires.append(item)
            if places is not None:
                places.append(position)
            continue
        may_tell = True
        wire = item if type(item) is not AnyBlocks else {**item}
        if type(wire) is not dict or not is_exact(wire):
            wire = _exact(wire, position)
            declared = declared or _format_by_class(item)
        is_text = type(wire.get("content")) is str and "role" in wire and "parts" not in wire
        given = [wire] if is_text else _of_plain(wire, position)
        if places is None and len(given) != 1:
            places = list(range(position))
        if places is not None:
            places += [position] * len(given)
        for one in given:  # no comprehension: each takes a frame of its own
            known = one if ANY_BLOCKS not in one else alike(_without_mark(one), item)
            wires.append(known)
    return Received(wires, declared, may_tell, None if places is None else tuple(places))


def decode_received(taken: Received, format: Format, position: int | None = None) -> list[Message]:
    """The messages that a caller gave, in this format; `position` is that of all of them, where they are one item of a list.

    Raises FormatError, also for calls and results of another format.
    """
    decoded = []
    for number, wire in enumerate(taken.wires):
        at = taken.place(number) if position is None else position
        if taken.may_tell:
            refuse_calls_of_another(wire, format.rules.name, at)
        decoded.append(format.decode(wire, at))
    return decoded


def _without_mark(wire: Wire) -> Wire:
    """A message without the field that only adapters may set."""
    return {key: value for key, value in wire.items() if key != ANY_BLOCKS}


def _is_iterable(messages: object) -> TypeGuard[Iterable[object]]:
    """True for what yields messages one after another: not text, a mapping or an object of an SDK."""
    return (
        isinstance(messages, Iterable) and not isinstance(messages, (str, bytes, Mapping)) and not _is_model(messages)
    )


def _instead(given: object) -> str:
    """What to give instead, for what people give by mistake."""
    if not isinstance(given, Mapping):
        return ""
    field = next((name for name in ("messages", "input") if name in given), None)
    return f": give the {field!r} of the request" if field else "; put a single message into a list" * ("role" in given)


def _format_by_class(item: object) -> FormatName | None:
    """The format of an object of an SDK, or of the first such block in its content."""
    content = item.get("content") if isinstance(item, Mapping) else None
    for found in (item, *(content if isinstance(content, (list, tuple)) else ())):
        module = type(found).__module__
        for prefix, format in _SDK_FORMATS:
            if module.startswith(prefix):
                return format
    return None


def _exact(item: object, position: int) -> Wire:
    """A message in JSON's own types. Raises FormatError."""
    if not isinstance(item, Mapping):
        _refuse_framework(item, position)
    try:
        wire = exact(item)
    except FormatError as error:
        raise FormatError(error.reason, position=position) from error.__cause__
    if not isinstance(wire, dict):
        several = "; a list of messages is for `extend`" if isinstance(wire, list) else ""
        raise FormatError(f"a message must be an object, not {type(wire).__name__}{several}", position=position)
    return wire


def _of_plain(wire: Mapping[str, Any], position: int) -> list[Wire]:
    """The messages in plain data: itself, or those of a whole response."""
    if "role" in wire:
        _refuse_other_api(wire, position)
        return [wire]
    if wire.get("object") == "response" and isinstance(wire.get("output"), list):
        return [item for item in wire["output"] if isinstance(item, Mapping)]
    if isinstance(wire.get("choices"), list):
        return [_chosen(wire["choices"], position)]
    if str(wire.get("type")) in _LANGCHAIN_TYPES and "content" in wire:
        raise _of_framework("langchain_core", position)
    return [wire]


def _chosen(choices: list[Any], position: int) -> Wire:
    """The message of a chat completion. Raises FormatError if there are several choices."""
    if len(choices) == 1 and isinstance(choices[0], Mapping) and isinstance(choices[0].get("message"), Mapping):
        message: Wire = choices[0]["message"]
        return message
    if any(isinstance(choice, Mapping) and "delta" in choice for choice in choices):
        raise FormatError("a piece of a stream: put the pieces together and give the whole message", position=position)
    raise FormatError(f"a completion with {len(choices)} choices: give the message of one of them", position=position)


def _refuse_framework(item: object, position: int) -> None:
    """Raise FormatError for a message object of an agent framework, naming its converter."""
    package = type(item).__module__.split(".", 1)[0]
    if package in _CONVERTERS:
        raise _of_framework(package, position)


def _refuse_other_api(wire: Mapping[str, Any], position: int) -> None:
    """Raise FormatError for a message of an API whose calls and results would only be read as text here."""
    for field, kinds, api in _OTHER_APIS:
        value = wire.get(field)
        parts = objects_of(value) if isinstance(value, list) else ()
        if (
            parts
            and "type" not in parts[0]
            and all("type" not in part and not kinds.isdisjoint(part) for part in parts)
        ):
            raise FormatError(
                f"a message of {api}: convert the messages to one of {', '.join(RULES)} first", position=position
            )
        if field == "content" and not _MODEL_PARTS.isdisjoint([str(part.get("type")) for part in parts]):
            raise FormatError(
                "a model message of the AI SDK: give its UI messages, which have parts", position=position
            )


def _of_framework(package: str, position: int) -> FormatError:
    name, converter = _CONVERTERS[package]
    return FormatError(f"a message object of {name}: convert the messages with {converter} first", position=position)


def _is_model(value: object) -> bool:
    """True for an object that can dump itself (a pydantic model)."""
    return callable(getattr(value, "model_dump", None)) and not isinstance(value, type)
