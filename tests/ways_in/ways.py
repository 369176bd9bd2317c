"""The ways in, each as the same small thing: a history in Chat Completions' form comes in, and what would be sent comes out.

A way that belongs to a framework imports it when it is made, so that the others run without it.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, Protocol, cast

import httpx2
import openai

import plimsoll
from plimsoll.conversations.conversations import Conversations
from plimsoll.conversations.settings import WHEN_FULL
from plimsoll.proxy.flow import Asked, Flow

Wire = dict[str, Any]
NAME = "ways"


def is_installed(module: str) -> bool:
    """True if a module can be imported, also one of a package that is absent."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


class Way(Protocol):
    """One way in, over a store. Its host holds the whole list and passes it each time."""

    def sent(self, history: list[Wire]) -> list[Wire]:
        """What the model is sent for this history."""
        ...

    def session(self) -> plimsoll.Session:
        """The session that keeps the conversation."""
        ...

    def close(self) -> None:
        """As when the host's process ends."""
        ...


class Sync:
    """`Session.sync`, with the policy that the other ways have by default."""

    def __init__(self, store: str, max_tokens: int, **options: Any) -> None:
        self._session = plimsoll.open(NAME, store=store, max_tokens=max_tokens, policy=WHEN_FULL, **options)

    def sent(self, history: list[Wire]) -> list[Wire]:
        """The session's view of the list."""
        return list(self._session.sync(history))

    def session(self) -> plimsoll.Session:
        """The session itself."""
        return self._session

    def close(self) -> None:
        """Close it."""
        self._session.close()


class Kept:
    """A way whose conversations are kept by `Conversations`, as `conversations` of what it made."""

    conversations: Any

    def session(self) -> plimsoll.Session:
        """The session of the only conversation."""
        [conversation] = self.conversations
        return conversation.session

    def close(self) -> None:
        """Close all of them."""
        self.conversations.close()


class Wrapped(Kept):
    """A wrapped client of `openai`, whose provider is a function."""

    def __init__(self, store: str, max_tokens: int, **options: Any) -> None:
        empty = {"id": "x", "object": "chat.completion", "created": 0, "model": "gpt-4o", "choices": []}

        def answer(request: httpx2.Request) -> httpx2.Response:
            self._bodies.append(json.loads(request.content))
            return httpx2.Response(200, json=empty)

        self._bodies: list[Wire] = []
        http = httpx2.Client(transport=httpx2.MockTransport(answer))
        client = openai.OpenAI(api_key="none", base_url="http://provider", http_client=http)
        self._client = plimsoll.wrap(client, store=store, max_tokens=max_tokens, name=NAME, **options)
        self.conversations = self._client._plimsoll_state.conversations

    def sent(self, history: list[Wire]) -> list[Wire]:
        """The messages of the request that leaves the client."""
        messages: Any = history
        self._client.chat.completions.create(model="gpt-4o", messages=messages)
        return list(self._bodies[-1]["messages"])


class Proxied(Kept):
    """What the proxy does with a request, without its sockets."""

    def __init__(self, store: str, max_tokens: int, **options: Any) -> None:
        self.conversations = Conversations(store, max_tokens=max_tokens, **options)
        self._flow = Flow(self.conversations)

    def sent(self, history: list[Wire]) -> list[Wire]:
        """The messages of the body that goes to the upstream."""
        raw = json.dumps({"model": "gpt-4o", "messages": history}).encode()
        path = "/v1/chat/completions"
        exchange = self._flow.exchange(Asked(path=path, format="openai-chat", raw=raw, text=raw, name=NAME))
        body = exchange.prepare() if exchange.ready is None else exchange.ready
        exchange.finish(None)
        assert exchange.problem is None
        return list(json.loads(body)["messages"])


class LangChain(Kept):
    """A middleware around a model call of LangChain."""

    def __init__(self, store: str, max_tokens: int, **options: Any) -> None:
        from langchain_core.language_models.fake_chat_models import FakeListChatModel

        from plimsoll.adapters.langchain import PlimsollMiddleware

        self._middleware = PlimsollMiddleware(store=store, max_tokens=max_tokens, model="gpt-4o", name=NAME, **options)
        self._model = FakeListChatModel(responses=["-"])
        self.conversations = self._middleware.conversations

    def sent(self, history: list[Wire]) -> list[Wire]:
        """What the handler of a model call is given, as Chat Completions messages."""
        from langchain.agents.middleware import ModelRequest, ModelResponse
        from langchain_core.messages import SystemMessage, convert_to_messages

        from plimsoll.adapters.langchain import LangChainDialect

        seen: list[Any] = []

        def handler(request: Any) -> Any:
            seen.append(request)
            return ModelResponse(result=[])

        messages = convert_to_messages(history)
        system = messages.pop(0) if isinstance(messages[0], SystemMessage) else None
        request: Any = ModelRequest(model=self._model, messages=messages, system_message=system)
        self._middleware.wrap_model_call(request, handler)
        [made] = seen
        given = [*([] if made.system_message is None else [made.system_message]), *made.messages]
        return [wire for message in given for wire in LangChainDialect().wires(message)]


class PydanticAI(Kept):
    """A capability around a model request of Pydantic AI."""

    def __init__(self, store: str, max_tokens: int, **options: Any) -> None:
        from plimsoll.adapters.pydantic_ai import PlimsollCapability

        self._capability = PlimsollCapability(store=store, max_tokens=max_tokens, model="gpt-4o", name=NAME, **options)
        self.conversations = self._capability.conversations

    def sent(self, history: list[Wire]) -> list[Wire]:
        """What the handler of a model request is given, as Chat Completions messages."""
        from pydantic_ai.messages import ModelResponse
        from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
        from pydantic_ai.models.test import TestModel

        from plimsoll.adapters.pydantic_ai import PydanticDialect, joined

        seen: list[Any] = []

        async def handler(request: Any) -> Any:
            seen.append(request)
            return ModelResponse(parts=[])

        dialect = PydanticDialect()
        messages = joined([dialect.built(message, None) for message in history])
        request = ModelRequestContext(
            model=TestModel(),
            messages=messages,
            model_settings=None,
            model_request_parameters=ModelRequestParameters(),
        )
        context: Any = None
        asyncio.run(self._capability.wrap_model_request(context, request_context=request, handler=handler))
        return [wire for message in seen[0].messages for wire in dialect.wires(message)]


class Strands(Kept):
    """A conversation manager around a model call of Strands."""

    def __init__(self, store: str, max_tokens: int, **options: Any) -> None:
        from plimsoll.adapters.strands import PlimsollConversationManager

        self._manager = PlimsollConversationManager(
            store=store, max_tokens=max_tokens, model="gpt-4o", name=NAME, **options
        )
        self.conversations = self._manager.conversations

    def sent(self, history: list[Wire]) -> list[Wire]:
        """What the rest of a model call is given. The parts of a user's message are messages of their own here."""
        from strands.middleware import InvokeModelContext, ModelStopReason

        from plimsoll.adapters.strands import StrandsDialect

        dialect, seen = StrandsDialect(), []
        messages = dialect.joined([dialect.built(message, None) for message in history])
        first: Any = messages.pop(0) if history[0]["role"] == "system" else {"content": None}
        context: Any = InvokeModelContext(
            agent=cast("Any", None),
            messages=messages,
            system_prompt=first["content"],
            tool_specs=[],
            tool_choice=None,
            invocation_state={},
            model=cast("Any", SimpleNamespace(stateful=False, context_window_limit=None, get_config=dict)),
        )

        async def call(given: Any) -> Any:
            seen.append(given)
            answer: Any = {"role": "assistant", "content": []}
            counted: Any = {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0}
            yield ModelStopReason(stop_reason="end_turn", message=answer, usage=counted, metrics={"latencyMs": 0})

        async def use() -> None:
            async for _ in self._manager._around(context, call):
                pass

        asyncio.run(use())
        system = [{"role": "system", "content": block["text"]} for block in seen[0].system_prompt or ()]
        apart: list[Any] = []
        for message in seen[0].messages:
            is_user = message["role"] == "user"
            apart += [{**message, "content": [block]} for block in message["content"]] if is_user else [message]
        return [*system, *(wire for message in apart for wire in dialect.wires(message))]


class AgentFramework(Kept):
    """A middleware around a model call of the Microsoft Agent Framework."""

    def __init__(self, store: str, max_tokens: int, **options: Any) -> None:
        from plimsoll.adapters.agent_framework import PlimsollChatMiddleware

        self._middleware = PlimsollChatMiddleware(
            store=store, max_tokens=max_tokens, model="gpt-4o", name=NAME, **options
        )
        self.conversations = self._middleware.conversations

    def sent(self, history: list[Wire]) -> list[Wire]:
        """The messages that the client is called with."""
        from agent_framework import ChatContext, ChatResponse

        from plimsoll.adapters.agent_framework import AgentFrameworkDialect

        dialect, client = AgentFrameworkDialect(), cast("Any", None)
        messages = dialect.joined([dialect.built(message, None) for message in history])
        context = ChatContext(client=client, messages=messages, options={})

        async def call() -> None:
            context.result = ChatResponse(messages=[])

        asyncio.run(self._middleware.process(context, call))
        return [wire for message in context.messages for wire in dialect.wires(message)]


class LiteLLM(Kept):
    """A handler that LiteLLM asks before an awaited completion."""

    def __init__(self, store: str, max_tokens: int, **options: Any) -> None:
        from plimsoll.adapters.litellm import PlimsollHandler

        self._handler = PlimsollHandler(store=store, max_tokens=max_tokens, name=NAME, **options)
        self.conversations = self._handler.conversations

    def sent(self, history: list[Wire]) -> list[Wire]:
        """The messages of the request that goes on."""
        given = {"model": "gpt-4o", "messages": history}
        made = asyncio.run(self._handler.async_pre_call_deployment_hook(given, "acompletion"))
        return list((made or given)["messages"])


class LlamaIndex(Kept):
    """A memory of LlamaIndex."""

    def __init__(self, store: str, max_tokens: int, **options: Any) -> None:
        from plimsoll.adapters.llama_index import PlimsollMemory

        self._memory = PlimsollMemory(NAME, store=store, max_tokens=max_tokens, model="gpt-4o", **options)
        self.conversations = self._memory.conversations

    def sent(self, history: list[Wire]) -> list[Wire]:
        """What the memory gives for these messages."""
        from plimsoll.adapters.llama_index_messages import LlamaIndexDialect

        dialect = LlamaIndexDialect()
        self._memory.set([dialect.built(message, None) for message in history])
        return [wire for message in self._memory.get() for wire in dialect.wires(message)]


class GoogleAdk(Kept):
    """A plugin that the Google Agent Development Kit asks before a model call."""

    def __init__(self, store: str, max_tokens: int, **options: Any) -> None:
        from plimsoll.adapters.google_adk import PlimsollPlugin

        self._plugin = PlimsollPlugin(store=store, max_tokens=max_tokens, model="gpt-4o", name=NAME, **options)
        self.conversations = self._plugin.conversations

    def sent(self, history: list[Wire]) -> list[Wire]:
        """The contents of the request that goes on."""
        from google.adk.models import LlmRequest, LlmResponse

        from plimsoll.adapters.google_adk import AdkDialect

        dialect = AdkDialect()
        contents = dialect.joined([dialect.built(message, None) for message in history])
        request = LlmRequest(contents=contents)
        context: Any = SimpleNamespace(invocation_id="i", agent_name="a")
        if history[0]["role"] == "system":
            request = LlmRequest(contents=contents[1:])
            request.config.system_instruction = history[0]["content"]

        async def use() -> None:
            await self._plugin.before_model_callback(callback_context=context, llm_request=request)
            await self._plugin.after_model_callback(callback_context=context, llm_response=LlmResponse())

        asyncio.run(use())
        system = request.config.system_instruction
        first = [{"role": "system", "content": system}] if system else []
        return [*first, *(wire for content in request.contents for wire in dialect.wires(content))]


class SyncOfItems(Sync):
    """The same with the items of Responses: what they cost, and so what fits, is another thing."""

    def sent(self, history: list[Wire]) -> list[Wire]:
        """The view of the items, in Chat Completions' form."""
        return as_chat(super().sent(as_items(history)))


class OpenAIAgents(Kept):
    """A filter that the OpenAI Agents SDK asks before a model call. Its items are those of Responses."""

    def __init__(self, store: str, max_tokens: int, **options: Any) -> None:
        from plimsoll.adapters.openai_agents import PlimsollFilter

        self._filter = PlimsollFilter(store=store, max_tokens=max_tokens, model="gpt-4o", name=NAME, **options)
        self.conversations = self._filter.conversations

    def sent(self, history: list[Wire]) -> list[Wire]:
        """The items of the call, in Chat Completions' form."""
        from agents import Agent
        from agents.run_config import CallModelData, ModelInputData

        given: Any = as_items(history)
        data = CallModelData(ModelInputData(input=given, instructions=None), Agent(name="keeper"), None)
        items: Any = asyncio.run(self._filter(data)).input
        return as_chat(items)


def as_items(history: list[Wire]) -> list[Wire]:
    """The items of Responses that say the same."""
    return list(plimsoll.convert(history, to="openai-responses").messages)


def as_chat(items: list[Wire]) -> list[Wire]:
    """The messages of Chat Completions that say the same; what is in that form already stays as it is."""
    return list(plimsoll.convert(items, to="openai-chat").messages)


WAYS: dict[str, tuple[Callable[..., Way], str | None]] = {
    "sync": (Sync, None),
    "wrapped": (Wrapped, None),
    "proxy": (Proxied, None),
    "langchain": (LangChain, "langchain"),
    "pydantic-ai": (PydanticAI, "pydantic_ai"),
    "strands": (Strands, "strands"),
    "agent-framework": (AgentFramework, "agent_framework"),
    "litellm": (LiteLLM, "litellm"),
    "llama-index": (LlamaIndex, "llama_index"),
    "google-adk": (GoogleAdk, "google.adk"),
    "openai-agents": (OpenAIAgents, "agents"),
}
"""By name: how it is made, and the framework without which it is left out."""


def history(exchanges: int, *, size: int = 14, system: str | None = "You keep the harbour's log.") -> list[Wire]:
    """A request, then so many calls of tools in pairs with results of `size` lines, with words of the user between them."""
    found: list[Wire] = [] if system is None else [{"role": "system", "content": system}]
    found.append({"role": "user", "content": "Find out why the light of pier 9 fails at 03:40. Never touch port 7411."})
    for number in range(exchanges):
        calls = [
            {
                "id": f"call_{number}_{which}",
                "type": "function",
                "function": {"name": f"read_log_{number}", "arguments": "{}"},
            }
            for which in range(2)
        ]
        found.append({"role": "assistant", "content": f"I read the log of pier {number}.", "tool_calls": calls})
        found += [
            {
                "role": "tool",
                "tool_call_id": call["id"],
                "content": "\n".join(
                    f"{number:02}:{line:02} lamp {number * 7 + line} at {line * 3} volts {which}"
                    for line in range(size)
                ),
            }
            for which, call in enumerate(calls)
        ]
        if number % 5 == 4:
            found += [
                {"role": "assistant", "content": f"Pier {number} is in order."},
                {"role": "user", "content": f"Go on with pier {number + 1}, please."},
            ]
    return found


def openings(whole: list[Wire]) -> list[list[Wire]]:
    """The lists that a host passes on its way to the whole: each ends where a model is asked."""
    ends = [end for end in range(1, len(whole) + 1) if end == len(whole) or whole[end]["role"] == "assistant"]
    return [whole[:end] for end in ends if whole[end - 1]["role"] in ("user", "tool")]
