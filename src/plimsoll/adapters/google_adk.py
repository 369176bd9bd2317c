"""Google Agent Development Kit: a plugin that keeps the model calls of all agents of a runner inside the context window.

    runner = InMemoryRunner(agent=agent, plugins=[PlimsollPlugin()])

The kit's session keeps every event; each model call is sent a view of them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Unpack

from plimsoll.errors import MissingExtra

try:
    from google.adk.agents.callback_context import CallbackContext
    from google.adk.models.llm_request import LlmRequest
    from google.adk.models.llm_response import LlmResponse
    from google.adk.plugins.base_plugin import BasePlugin
    from google.genai.types import Content, FunctionCall, FunctionResponse, Part
except ImportError as error:
    raise MissingExtra("google-adk", needed_for="plimsoll.adapters.google_adk") from error

from plimsoll.adapters.calls import ConversationOptions, Managed, ModelCall, Wire, overflow_of, usage
from plimsoll.adapters.parts import (
    PartsDialect,
    arguments_of,
    call_piece,
    data_url,
    dumped,
    file_block,
    function_tool,
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


_UNDER_WAY_MAX = 1_024
"""Calls whose answer is awaited. The kit does not say when it gives one up."""


class _UnderWay(NamedTuple):
    """A call of a model, and the ids of the calls of tools in it."""

    call: ModelCall[Content]
    ids: CallIds


class PlimsollPlugin(Managed[Content], BasePlugin):
    """Sends each model call a view that fits, and keeps everything in a session.

    Conversations are recognised by their messages, unless a name is given. A plugin cannot make a call again: what a model says
    when it refuses one as too long makes the next one shorter.
    """

    _dialect = AdkDialect()
    _framework = MappingProxyType({"name": "plimsoll"})

    def __init__(self, *, name: str | None = None, **options: Unpack[ConversationOptions]) -> None:
        """Keep the conversations of a runner; see Managed."""
        super().__init__(name=name, **options)
        self._under_way: OrderedDict[tuple[str, str], _UnderWay] = OrderedDict()

    async def before_model_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest
    ) -> LlmResponse | None:
        """Put a view in the place of the contents. What is slow runs in a thread."""
        if llm_request.previous_interaction_id:
            return None  # the service keeps the conversation
        key = _key(callback_context)
        self._under_way[key] = await asyncio.to_thread(self._sent, llm_request)
        while len(self._under_way) > _UNDER_WAY_MAX:
            self._under_way.popitem(last=False)[1].call.released()
        return None

    async def after_model_callback(
        self, *, callback_context: CallbackContext, llm_response: LlmResponse
    ) -> LlmResponse | None:
        """Record an answer. The pieces of one that is streamed come before the whole."""
        if not llm_response.partial and (found := self._under_way.pop(_key(callback_context), None)) is not None:
            await asyncio.to_thread(self._record, found, llm_response)
        return None

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """Let go of a call that failed."""
        del llm_request
        if (found := self._under_way.pop(_key(callback_context), None)) is not None:
            if (overflow := overflow_of(error)) is not None:
                await asyncio.to_thread(found.call.harder, overflow)
            found.call.released()
        return None

    def _sent(self, request: LlmRequest) -> _UnderWay:
        ids = CallIds()
        given = [ids.filled(content) for content in request.contents]
        first = _instruction(request)
        call = self._calls.prepare([*first, *given], name=self._name, beside=_beside(request))
        if call.is_changed:
            originals = {id(copy): content for copy, content in zip(given, request.contents, strict=True)}
            messages = call.messages
            if first and messages and self._dialect.role(messages[0]) == "system":
                if messages[0] is not first[0]:
                    request.config.system_instruction = _text(messages[0])
                messages = messages[1:]
            request.contents = [
                originals.get(id(content)) or without_made_ids(_of_a_side(content))
                for content in self._dialect.joined(messages)
            ]
        return _UnderWay(call, ids)

    def _record(self, found: _UnderWay, response: LlmResponse) -> None:
        if response.content is None:
            found.call.released()
        else:
            found.call.answered(self._calls.recorded([found.ids.filled(response.content)]), _usage(response))


def _key(context: CallbackContext) -> tuple[str, str]:
    """Agents of one invocation ask at the same time, each for itself."""
    return context.invocation_id, context.agent_name


def _instruction(request: LlmRequest) -> list[Content]:
    """The system instruction as a content, so that it is counted."""
    given = request.config.system_instruction
    text = given if isinstance(given, str) else _text(given) if isinstance(given, Content) else ""
    return [Content(role="system", parts=[Part(text=text)])] if text else []


def _text(content: Content) -> str:
    return "\n".join(part.text for part in content.parts or () if part.text)


def _of_a_side(content: Content) -> Content:
    """Text of the system that is not the instruction is a user's: there are two sides only."""
    return content.model_copy(update={"role": "user"}) if content.role == "system" else content


def _beside(request: LlmRequest) -> Mapping[str, Any]:
    declared = [
        declaration
        for tool in request.config.tools or ()
        for declaration in getattr(tool, "function_declarations", None) or ()
    ]
    return {
        "model": request.model,
        "max_tokens": request.config.max_output_tokens,
        "tools": [function_tool(one.name or "", one.description, _parameters(one)) for one in declared],
    }


def _parameters(declaration: Any) -> Any:
    schema = declaration.parameters
    return declaration.parameters_json_schema or (schema and schema.model_dump(mode="json", exclude_none=True))


def _usage(response: LlmResponse) -> Wire | None:
    counted = response.usage_metadata
    if counted is None or not counted.prompt_token_count:
        return None
    answer = (counted.candidates_token_count or 0) + (counted.thoughts_token_count or 0)
    return usage(counted.prompt_token_count, answer, counted.cached_content_token_count or 0)
