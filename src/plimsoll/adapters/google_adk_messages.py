"""Contents of the Google Agent Development Kit as Chat Completions messages, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from google.genai.types import Content, FunctionCall, FunctionResponse, Part

from plimsoll.adapters.calls import Wire
from plimsoll.adapters.parts import (
    PartsDialect,
    arguments_of,
    call_piece,
    data_url,
    dumped,
    file_block,
    image_block,
    result_piece,
    text_block,
    text_of,
)

MADE_ID = "plimsoll-call-"
"""Begins the ids of calls that have none: the kit takes its own away before a model is asked."""


class AdkDialect(PartsDialect[Content, Part]):
    """A model's content is what the assistant says. A system instruction is a content with the role `system`."""

    def role(self, message: Content) -> str:
        """Who says it."""
        return {"model": "assistant", "system": "system"}.get(message.role or "user", "user")

    def parts(self, message: Content) -> Sequence[Part]:
        """Its parts."""
        return list(message.parts or ())

    def piece(self, part: Part) -> Wire | None:
        """How a part is written."""
        return _piece(part)

    def part(self, piece: Wire, origin: Part | None) -> Part:
        """A part with the content of a piece."""
        return _part(piece, origin)

    def message(self, role: str, parts: list[Part], origin: Content | None) -> Content:
        """A content; results are a user's."""
        if origin is not None:
            return origin.model_copy(update={"parts": parts})
        return Content(role={"assistant": "model", "system": "system"}.get(role, "user"), parts=parts)

    def side(self, message: Content) -> str | None:
        """Results that follow each other are of one content; nothing else is joined."""
        parts = message.parts or ()
        return "tool" if parts and all(part.function_response for part in parts) else None


class CallIds:
    """Gives calls without an id one, and their results the same, in the order in which they are seen."""

    def __init__(self) -> None:
        self._number = 0
        self._waiting: list[tuple[str | None, str]] = []
        """Name and id of the calls without a result."""

    def filled(self, content: Content) -> Content:
        """The same content if nothing is missing, or a copy."""
        parts = content.parts or []
        made = [self._part(part) for part in parts]
        is_same = all(part is old for part, old in zip(made, parts, strict=True))
        return content if is_same else content.model_copy(update={"parts": made})

    def _part(self, part: Part) -> Part:
        call, result = part.function_call, part.function_response
        if call is not None and not call.id:
            self._number += 1
            self._waiting.append((call.name, f"{MADE_ID}{self._number}"))
            return part.model_copy(update={"function_call": call.model_copy(update={"id": self._waiting[-1][1]})})
        if result is not None and not result.id:
            return part.model_copy(
                update={"function_response": result.model_copy(update={"id": self._of_result(result.name)})}
            )
        return part

    def _of_result(self, name: str | None) -> str:
        for waiting in self._waiting:
            if waiting[0] == name:
                self._waiting.remove(waiting)
                return waiting[1]
        self._number += 1
        return f"{MADE_ID}{self._number}"


def without_made_ids(content: Content) -> Content:
    """A content in which calls and results have the ids that they came with."""
    return content.model_copy(update={"parts": [_without(part) for part in content.parts or ()]})


def _without(part: Part) -> Part:
    for field in ("function_call", "function_response"):
        value = getattr(part, field)
        if value is not None and (value.id or "").startswith(MADE_ID):
            return part.model_copy(update={field: value.model_copy(update={"id": None})})
    return part


def _piece(part: Part) -> Wire | None:
    if part.text is not None:
        return {"type": "thinking", "thinking": part.text} if part.thought else text_block(part.text)
    if part.function_call is not None:
        call = part.function_call
        return call_piece(call.id or "", call.name or "", call.args or {})
    if part.function_response is not None:
        return result_piece(part.function_response.id or "", _result(part.function_response))
    if part.inline_data is not None:
        media_type = part.inline_data.mime_type or ""
        return _media(data_url(part.inline_data.data or b"", media_type), media_type)
    if part.file_data is not None:
        return _media(part.file_data.file_uri or "", part.file_data.mime_type or "")
    written = part.model_dump(mode="json", exclude_none=True, exclude={"thought_signature"})
    return text_block(dumped(written)) if written else None


def _media(url: str, media_type: str) -> Wire:
    return image_block(url) if media_type.startswith("image/") else file_block(None, url)


def _result(response: FunctionResponse) -> Any:
    """What a tool returned: the kit puts what is no dictionary into one, as its `result`."""
    said = response.response or {}
    text = said["result"] if list(said) == ["result"] and isinstance(said["result"], str) else dumped(said)
    media = [part.inline_data for part in response.parts or () if part.inline_data is not None]
    urls = [(data_url(blob.data or b"", blob.mime_type or ""), blob.mime_type or "") for blob in media]
    return [text_block(text), *(_media(*url) for url in urls)] if urls else text


def _part(piece: Wire, origin: Part | None) -> Part:
    if piece.get("role") == "tool":
        before = FunctionResponse() if origin is None else origin.function_response or FunctionResponse()
        content = piece["content"]
        text = content if isinstance(content, str) else "\n".join(text_of(block) for block in content)
        changes = {"id": piece["tool_call_id"], "response": {"result": text}, "parts": None}
        return _like(origin, function_response=before.model_copy(update=changes))
    if piece.get("type") == "function":
        asked = {"id": piece["id"], "name": piece["function"]["name"], "args": arguments_of(piece)}
        before_call = FunctionCall() if origin is None else origin.function_call or FunctionCall()
        return _like(origin, function_call=before_call.model_copy(update=asked))
    return _like(origin, text=text_of(piece))


def _like(origin: Part | None, **changes: Any) -> Part:
    return Part(**changes) if origin is None else origin.model_copy(update=changes)
