"""Messages that are lists of parts, as many frameworks have them, as Chat Completions messages, and back."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

from plimsoll.adapters.calls import Wire
from plimsoll.formats.wire import object_in

M = TypeVar("M")
P = TypeVar("P")


class PartsDialect(ABC, Generic[M, P]):
    """A message is a role and parts; one of a user may hold results of several calls.

    A part is written as one of these: a block of content, a call as in `tool_calls`, or a tool message. What an assistant says is
    one message; of any other each result is a message, and the rest is one after them.
    """

    @abstractmethod
    def role(self, message: M) -> str:
        """Who says it: system, user or assistant. One with results is of a user."""

    @abstractmethod
    def parts(self, message: M) -> Sequence[P]:
        """Its parts."""

    @abstractmethod
    def piece(self, part: P) -> Wire | None:
        """How a part is written; None for one that says nothing to the model."""

    @abstractmethod
    def part(self, piece: Wire, origin: P | None) -> P:
        """A part with the content of a piece, and what else `origin` holds."""

    @abstractmethod
    def message(self, role: str, parts: list[P], origin: M | None) -> M:
        """A message with these parts, and the id and metadata of `origin`. The role may be `tool`."""

    def author(self, message: M) -> str | None:  # noqa: ARG002 - most frameworks have none
        """The name of who says it, where a framework tells several users or agents apart."""
        return None

    def pieces(self, parts: Iterable[P]) -> list[Wire]:
        """How those parts are written that say something."""
        return [piece for part in parts if (piece := self.piece(part)) is not None]

    def side(self, message: M) -> str | None:
        """Messages of one side are joined when they follow each other; None: never."""
        role = self.role(message)
        return None if role == "system" else role

    def wires(self, message: M) -> Sequence[Wire]:
        """The results in a message, then the rest of it."""
        role = self.role(message)
        pieces = self.pieces(self.parts(message))
        name = "_".join((self.author(message) or "").split())
        named = {"name": name} if name else {}
        if role == "assistant":
            return (_said(pieces) | named,)
        results = [piece for piece in pieces if _is_result(piece)]
        blocks = [piece for piece in pieces if not _is_result(piece)]
        return [*results, *([{"role": role, "content": content_of(blocks)} | named] if blocks or not results else [])]

    def built(self, wire: Wire, origin: M | None) -> M:
        """A message of which the parts that did not change are those of the origin."""
        before = () if origin is None else self.parts(origin)
        return self.message(wire["role"], self.matched(pieces_of(wire), before), origin)

    def joined(self, messages: Sequence[M]) -> list[M]:
        """The messages with those of one side that follow each other as one, for APIs where the sides take turns."""
        found: list[M] = []
        for message in messages:
            side = self.side(message)
            if found and side is not None and self.side(found[-1]) == side:
                found[-1] = self.message(side, [*self.parts(found[-1]), *self.parts(message)], message)
            else:
                found.append(message)
        return found

    def matched(self, pieces: Sequence[Wire], parts: Sequence[P]) -> list[P]:
        """The parts that pieces stand for: the same ones where they are unchanged, in the order they had; else made ones."""
        left = [(at, part, piece) for at, part in enumerate(parts) if (piece := self.piece(part)) is not None]
        found: dict[int, tuple[int, P]] = {}
        for is_same in (True, False):
            for number, piece in enumerate(pieces):
                if number in found:
                    continue
                for one in left:
                    if one[2] == piece if is_same else _kind(one[2]) == _kind(piece):
                        left.remove(one)
                        found[number] = (one[0], one[1] if is_same else self.part(piece, one[1]))
                        break
        last = -1
        placed: list[tuple[int, P]] = []
        for number, piece in enumerate(pieces):
            last, part = found[number] if number in found else (last, self.part(piece, None))
            placed.append((last, part))
        return [part for _, part in sorted(placed, key=lambda one: one[0])]


def pieces_of(wire: Wire) -> list[Wire]:
    """What a wire message is made of."""
    if wire["role"] == "tool":
        return [wire]
    return [*blocks_of(wire.get("content")), *(wire.get("tool_calls") or ())]


def blocks_of(content: Any) -> list[Wire]:
    """The blocks of a content, which may be text alone."""
    if isinstance(content, str):
        return [text_block(content)] if content else []
    return list(content or ())


def content_of(blocks: Sequence[Wire]) -> Any:
    """The content that blocks are: one text is written as such."""
    if len(blocks) == 1 and blocks[0]["type"] == "text":
        return blocks[0]["text"]
    return list(blocks) or ""


def text_block(text: str) -> Wire:
    """A block of text."""
    return {"type": "text", "text": text}


def image_block(url: str) -> Wire:
    """A block with a picture."""
    return {"type": "image_url", "image_url": {"url": url}}


def file_block(name: str | None, url: str) -> Wire:
    """A block with a file."""
    return {"type": "file", "file": {"filename": name or "file", "file_data": url}}


def data_url(data: bytes, media_type: str) -> str:
    """Bytes as an address that holds them."""
    return f"data:{media_type};base64,{b64encode(data).decode()}"


def call_piece(id: str, name: str, arguments: Any, signature: object = None) -> Wire:
    """A call of a tool; arguments are text, or a value that is written as JSON.

    `signature` is Gemini's thought signature, in base64 or as bytes: of several calls it refuses those without the one that has it.
    """
    text = arguments if isinstance(arguments, str) else dumped(arguments)
    written = b64encode(signature).decode() if isinstance(signature, bytes) else signature
    beside = {"provider_specific_fields": {"thought_signature": written}} if written else {}
    return {"id": id, "type": "function", "function": {"name": name, "arguments": text}, **beside}


def result_piece(id: str, content: Any) -> Wire:
    """The result of a call."""
    return {"role": "tool", "tool_call_id": id, "content": content}


def dumped(value: Any) -> str:
    """A value as JSON; what JSON cannot hold is written as Python does."""
    return json.dumps(value, ensure_ascii=False, default=str)


def arguments_of(call: Wire) -> dict[str, Any]:
    """The arguments of a call; text that is no JSON object is one of them."""
    text = call["function"]["arguments"]
    found = object_in(text)
    return {"arguments": text} if found is None else found


def text_of(piece: Wire) -> str:
    """The text of a block, or what a block without one is called."""
    text = piece.get("text")
    return text if isinstance(text, str) else f"[{piece.get('type', 'part')}]"


def function_tool(name: str, description: str | None, parameters: Any) -> Wire:
    """A tool as Chat Completions has it."""
    return {
        "type": "function",
        "function": {"name": name, "description": description or "", "parameters": parameters or {}},
    }


def _said(pieces: Sequence[Wire]) -> Wire:
    calls = [piece for piece in pieces if piece.get("type") == "function"]
    content = content_of([piece for piece in pieces if piece.get("type") != "function" and not _is_result(piece)])
    return {"role": "assistant", "content": content or None} | ({"tool_calls": calls} if calls else {})


def _is_result(piece: Wire) -> bool:
    return piece.get("role") == "tool"


def _kind(piece: Wire) -> tuple[Any, Any]:
    """What two pieces share that stand for the same part before and after it was cut."""
    if _is_result(piece):
        return "tool", piece["tool_call_id"]
    return piece["type"], piece.get("id")
