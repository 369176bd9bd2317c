"""Google Agent Development Kit: a plugin that keeps the model calls of all agents of a runner inside the context window.

    runner = InMemoryRunner(app=App(name="lamps", root_agent=agent, plugins=[PlimsollPlugin()]))

The kit's session keeps every event; each model call is sent a view of them.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Unpack

from plimsoll.errors import MissingExtra
from plimsoll.light.dataclass import dataclass

try:
    from google.adk.agents import BaseAgent, LlmAgent
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
        if part.text is not None:
            return {"type": "thinking", "thinking": part.text} if part.thought else text_block(part.text)
        if part.function_call is not None:
            call = part.function_call
            return call_piece(call.id or "", call.name or "", call.args or {}, part.thought_signature)
        if part.function_response is not None:
            return result_piece(part.function_response.id or "", _result(part.function_response))
        if part.inline_data is not None:
            media_type = part.inline_data.mime_type or ""
            return _media(data_url(part.inline_data.data or b"", media_type), media_type)
        if part.file_data is not None:
            return _media(part.file_data.file_uri or "", part.file_data.mime_type or "")
        written = part.model_dump(mode="json", exclude_none=True, exclude={"thought_signature"})
        return text_block(dumped(written)) if written else None

    def part(self, piece: Wire, origin: Part | None) -> Part:
        """A part with the content of a piece."""
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


def _media(url: str, media_type: str) -> Wire:
    return image_block(url) if media_type.startswith("image/") else file_block(None, url)


def _result(response: FunctionResponse) -> Any:
    """What a tool returned: the kit puts what is no dictionary into one, as its `result`."""
    said = response.response or {}
    text = said["result"] if list(said) == ["result"] and isinstance(said["result"], str) else dumped(said)
    media = [part.inline_data for part in response.parts or () if part.inline_data is not None]
    urls = [(data_url(blob.data or b"", blob.mime_type or ""), blob.mime_type or "") for blob in media]
    return [text_block(text), *(_media(*url) for url in urls)] if urls else text


def _like(origin: Part | None, **changes: Any) -> Part:
    return Part(**changes) if origin is None else origin.model_copy(update=changes)


_UNDER_WAY_MAX = 1_024
"""Agents that run, and calls whose answer is awaited. The kit need not say of each that it has ended."""


@dataclass(slots=True, kw_only=True)
class _UnderWay:
    """A call of a model: what the kit gave, and what is made of it."""

    call: ModelCall[Content]
    ids: CallIds
    """Of the calls of tools in it."""
    contents: list[Content]
    instruction: Any
    copies: list[Content]
    """The contents with ids, in the same order."""
    first: list[Content]
    """The instruction as a content, if there is one."""
    has_begun: bool = False
    """True once a piece of the answer came."""


class PlimsollPlugin(Managed[Content], BasePlugin):
    """Sends each model call a view that fits, and keeps everything in a session.

    Conversations are recognised by their messages, unless a name is given. A call that the model refuses as too long is made once
    more with less; the answer to that one comes whole, also where others are streamed.
    """

    _dialect = AdkDialect()
    _framework = MappingProxyType({"name": "plimsoll"})

    def __init__(self, *, name: str | None = None, **options: Unpack[ConversationOptions]) -> None:
        """Keep the conversations of a runner; see Managed."""
        super().__init__(name=name, **options)
        self._under_way: OrderedDict[tuple[str, str], _UnderWay] = OrderedDict()
        self._agents: OrderedDict[tuple[str, str], LlmAgent] = OrderedDict()
        """The agents that are running, with their models."""

    async def before_agent_callback(self, *, agent: BaseAgent, callback_context: CallbackContext) -> Content | None:
        """Note whose model is called."""
        if isinstance(agent, LlmAgent):
            self._agents[_key(callback_context)] = agent
            while len(self._agents) > _UNDER_WAY_MAX:
                self._agents.popitem(last=False)
        return None

    async def after_agent_callback(self, *, agent: BaseAgent, callback_context: CallbackContext) -> Content | None:  # noqa: ARG002
        """Let go of an agent that has ended."""
        self._let_go(_key(callback_context))
        return None

    async def on_agent_error_callback(
        self,
        *,
        agent: BaseAgent,  # noqa: ARG002
        callback_context: CallbackContext,
        error: Exception,  # noqa: ARG002
    ) -> None:
        """Let go of an agent that failed."""
        self._let_go(_key(callback_context))

    def _let_go(self, key: tuple[str, str]) -> None:
        """An agent runs no longer. A call of its model that was given up has no answer."""
        self._agents.pop(key, None)
        if (found := self._under_way.pop(key, None)) is not None:
            found.call.released()

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
        key = _key(callback_context)
        if llm_response.partial and key in self._under_way:
            self._under_way[key].has_begun = True
        elif not llm_response.partial and (found := self._under_way.pop(key, None)) is not None:
            await asyncio.to_thread(self._record, found, llm_response)
        return None

    async def on_model_error_callback(
        self, *, callback_context: CallbackContext, llm_request: LlmRequest, error: Exception
    ) -> LlmResponse | None:
        """Make a call that was refused as too long once more with less, and let go of any other that failed."""
        key = _key(callback_context)
        found = self._under_way.get(key)
        if found is None:
            return None
        overflow = None if found.has_begun else overflow_of(error)
        answer = None
        if overflow is not None:
            await asyncio.to_thread(found.call.harder, overflow)
            self._put(llm_request, found)
            answer = await self._asked(self._agents.get(key), llm_request, error)
        if answer is None:  # else it is recorded when it comes by
            self._under_way.pop(key, None)
            found.call.released()
        return answer

    @staticmethod
    async def _asked(agent: LlmAgent | None, request: LlmRequest, refusal: Exception) -> LlmResponse | None:
        """The whole answer of the agent's model; None if it has none, of which the refusal then says why."""
        answer: LlmResponse | None = None
        try:
            if agent is not None:
                async for response in agent.canonical_model.generate_content_async(request, stream=False):
                    answer = response
        except Exception as error:  # noqa: BLE001 - the kit raises the refusal
            refusal.add_note(
                f"plimsoll made the call once more with less, which failed too: {type(error).__name__}: {error}"
            )
            return None
        return answer

    def _sent(self, request: LlmRequest) -> _UnderWay:
        ids = CallIds()
        copies, first = [ids.filled(content) for content in request.contents], _instruction(request)
        call = self._calls.prepare([*first, *copies], name=self._name, beside=_beside(request))
        found = _UnderWay(
            call=call,
            ids=ids,
            contents=request.contents,
            instruction=request.config.system_instruction,
            copies=copies,
            first=first,
        )
        self._put(request, found)
        return found

    def _put(self, request: LlmRequest, found: _UnderWay) -> None:
        if not found.call.is_changed:
            return
        originals = {id(copy): content for copy, content in zip(found.copies, found.contents, strict=True)}
        messages = found.call.messages
        if found.first and messages and self._dialect.role(messages[0]) == "system":
            is_same = messages[0] is found.first[0]
            request.config.system_instruction = found.instruction if is_same else _text(messages[0])
            messages = messages[1:]
        request.contents = [
            originals.get(id(content)) or without_made_ids(_of_a_side(content))
            for content in self._dialect.joined(messages)
        ]

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
