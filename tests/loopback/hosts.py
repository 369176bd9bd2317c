"""Hosts: programs around the official SDKs, each appending what its SDK's documentation appends, and ways to keep the conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import plimsoll
from loopback import agent
from loopback.agent import Outcome
from loopback.messages import BINDING

Wire = dict[str, Any]
MODEL = "gpt-4o"
INTERRUPTED = 11
"""Every so many turns the user says something while the agent is at work."""

_MARK = {"cache_control": {"type": "ephemeral"}}
_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}, "step": {"type": "integer"}}}
_FUNCTIONS = [
    {"name": name, "description": f"The tool {name} of this repository.", "parameters": _SCHEMA} for name in agent.TOOLS
]
CHAT_TOOLS = [{"type": "function", "function": function} for function in _FUNCTIONS]
RESPONSES_TOOLS = [{"type": "function", "strict": False, **function} for function in _FUNCTIONS]
ANTHROPIC_TOOLS = [
    {"name": function["name"], "description": function["description"], "input_schema": _SCHEMA}
    for function in _FUNCTIONS
]


class Keeper(Protocol):
    """Takes in messages and gives what to send."""

    def add(self, message: Any) -> None:
        """The next message, as the SDK gave it or as the host made it."""
        ...

    def view(self) -> list[Any]:
        """What to send now."""
        ...


@dataclass
class InSession:
    """A session that is given every message."""

    session: plimsoll.Session

    def add(self, message: Any) -> None:
        """Append it."""
        self.session.append(message)

    def view(self) -> list[Any]:
        """The session's view."""
        return self.session.view()


@dataclass
class InList:
    """A list of the host's own, and what makes a view of it at each call."""

    show: Callable[[list[Any]], list[Any]]
    messages: list[Any] = field(default_factory=list)

    def add(self, message: Any) -> None:
        """Append it."""
        self.messages.append(message)

    def view(self) -> list[Any]:
        """A view of the whole list."""
        return self.show(self.messages)


@dataclass(frozen=True)
class Asked:
    """A call that the model made."""

    id: str
    name: str
    arguments: str


class Host(Protocol):
    """One way to speak to one API."""

    client: Any
    stream: bool

    def begin(self) -> list[Any]:
        """What the conversation begins with, before the user."""
        ...

    def said(self, text: str, picture: str | None = None) -> Wire:
        """A message of the user, perhaps with a picture."""
        ...

    def given(self, view: list[Any]) -> Wire:
        """The arguments of a request."""
        ...

    def whole(self) -> Callable[..., Any]:
        """What asks for the whole answer."""
        ...

    def streamed(self) -> tuple[Callable[..., Any], str]:
        """What asks for a stream, and the name of its method that gives the answer in the end."""
        ...

    def read(self, response: Any) -> tuple[list[Any], list[Asked]]:
        """What to append of an answer, and the calls in it."""
        ...

    def results(self, outcomes: Sequence[tuple[Asked, Outcome]]) -> list[Wire]:
        """The messages that give the results."""
        ...


def play(host: Host, keeper: Keeper, turns: int) -> list[list[Any]]:
    """So many requests, one after the other, with what has to be said between them. Returns the views that were sent."""
    views = []
    for message in begun(host):
        keeper.add(message)
    for turn in range(1, turns + 1):
        views.append(keeper.view())
        for message in following(host, ask(host, views[-1]), turn):
            keeper.add(message)
    return views


def begun(host: Host) -> list[Any]:
    """What a conversation begins with."""
    return [*host.begin(), host.said(agent.request(0))]


def following(host: Host, response: Any, turn: int) -> list[Any]:
    """What to append after a request: the answer, and the results of its calls or what the user says next."""
    answers, calls = host.read(response)
    outcomes = [(call, agent.outcome(call.name, call.arguments)) for call in calls]
    results = host.results(outcomes[::-1] if turn % 3 == 0 else outcomes)  # as the tools finish
    interrupts = not results or turn % INTERRUPTED == 0
    picture = agent.png(64, 64 + turn) if turn % 5 == 2 else None
    return [*answers, *results, *([host.said(agent.request(turn), picture)] if interrupts else [])]


def ask(host: Host, view: list[Any]) -> Any:
    """The answer to a view."""
    given = host.given(view)
    if not host.stream:
        return host.whole()(**given)
    create, final = host.streamed()
    with create(**given) as stream:
        return getattr(stream, final)()


async def ask_async(host: Host, view: list[Any]) -> Any:
    """The same with an asynchronous client."""
    given = host.given(view)
    if not host.stream:
        return await host.whole()(**given)
    create, final = host.streamed()
    async with create(**given) as stream:
        return await getattr(stream, final)()


@dataclass
class ChatHost:
    """Chat Completions, whole or streamed."""

    client: Any
    stream: bool = False
    entire: bool = False
    """The whole completion is appended, not its message."""

    def begin(self) -> list[Any]:
        """The system text."""
        return [{"role": "system", "content": agent.SYSTEM}]

    def said(self, text: str, picture: str | None = None) -> Wire:
        """A message of the user, perhaps with a picture."""
        if picture is None:
            return {"role": "user", "content": text}
        return {"role": "user", "content": [{"type": "text", "text": text}, _chat_image(picture)]}

    def given(self, view: list[Any]) -> Wire:
        """The arguments of a request."""
        return {"model": MODEL, "messages": view, "tools": CHAT_TOOLS}

    def whole(self) -> Callable[..., Any]:
        """What asks for the whole answer."""
        create: Callable[..., Any] = self.client.chat.completions.create
        return create

    def streamed(self) -> tuple[Callable[..., Any], str]:
        """The helper for streams."""
        return self.client.chat.completions.stream, "get_final_completion"

    def read(self, response: Any) -> tuple[list[Any], list[Asked]]:
        """The message of a completion, as it is."""
        message = response.choices[0].message
        calls = [Asked(call.id, call.function.name, call.function.arguments) for call in message.tool_calls or ()]
        return [response if self.entire else message], calls

    def results(self, outcomes: Sequence[tuple[Asked, Outcome]]) -> list[Wire]:
        """One message each; pictures come behind them, since a tool message holds text only."""
        messages = [{"role": "tool", "tool_call_id": call.id, "content": outcome.text} for call, outcome in outcomes]
        pictures = [_chat_image(outcome.picture) for _, outcome in outcomes if outcome.picture]
        shown = [{"type": "text", "text": "What the screenshots show:"}, *pictures]
        return messages + ([{"role": "user", "content": shown}] if pictures else [])


@dataclass
class ResponsesHost:
    """Responses without a store, whole or streamed."""

    client: Any
    stream: bool = False
    entire: bool = False
    """The whole response is appended, not the items of its output."""

    def begin(self) -> list[Any]:
        """The instructions as a message of the developer."""
        return [{"role": "developer", "content": agent.SYSTEM}]

    def said(self, text: str, picture: str | None = None) -> Wire:
        """A message of the user, perhaps with a picture."""
        return {"role": "user", "content": text if picture is None else _blocks(text, picture)}

    def given(self, view: list[Any]) -> Wire:
        """The arguments of a request."""
        include = ["reasoning.encrypted_content"]
        return {"model": MODEL, "input": view, "tools": RESPONSES_TOOLS, "store": False, "include": include}

    def whole(self) -> Callable[..., Any]:
        """What asks for the whole answer."""
        create: Callable[..., Any] = self.client.responses.create
        return create

    def streamed(self) -> tuple[Callable[..., Any], str]:
        """The helper for streams."""
        return self.client.responses.stream, "get_final_response"

    def read(self, response: Any) -> tuple[list[Any], list[Asked]]:
        """The items of a response, each by itself."""
        made = [item for item in response.output if item.type == "function_call"]
        return [response] if self.entire else list(response.output), [
            Asked(item.call_id, item.name, item.arguments) for item in made
        ]

    def results(self, outcomes: Sequence[tuple[Asked, Outcome]]) -> list[Wire]:
        """One item each, pictures in them."""
        return [
            {"type": "function_call_output", "call_id": call.id, "output": _output(outcome)}
            for call, outcome in outcomes
        ]


def _chat_image(picture: str) -> Wire:
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}


def _output(outcome: Outcome) -> Any:
    return outcome.text if outcome.picture is None else _blocks(outcome.text, outcome.picture)


def _blocks(text: str, picture: str) -> list[Wire]:
    image = {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{picture}"}
    return [{"type": "input_text", "text": text}, image]


@dataclass
class AnthropicHost:
    """Messages. `appends` says how an answer is appended: its content, the message itself, or as a parameter."""

    client: Any
    stream: bool = False
    appends: str = "content"
    apart: bool = False
    """One message for each result, as the tools finish."""
    marks: bool = False
    """The newest message of each turn is marked for the cache."""
    thinking: bool = True
    model: str = "claude-sonnet-4-6"

    def begin(self) -> list[Any]:
        """The system text is beside the messages."""
        return []

    def said(self, text: str, picture: str | None = None) -> Wire:
        """A message of the user, perhaps with a picture."""
        block = {"type": "text", "text": text, **(_MARK if self.marks else {})}
        shown = [] if picture is None else [_image_block(picture)]
        return {"role": "user", "content": [*shown, block] if shown or self.marks else text}

    def given(self, view: list[Any]) -> Wire:
        """The arguments of a request."""
        asked = {"type": "adaptive"} if self.model in BINDING else {"type": "enabled", "budget_tokens": 1024}
        thinking = {"thinking": asked} if self.thinking else {}
        shared = {"model": self.model, "max_tokens": 4096, "system": agent.SYSTEM, "tools": ANTHROPIC_TOOLS}
        return {**shared, "messages": view, **thinking}

    def whole(self) -> Callable[..., Any]:
        """What asks for the whole answer."""
        create: Callable[..., Any] = self.client.messages.create
        return create

    def streamed(self) -> tuple[Callable[..., Any], str]:
        """The helper for streams."""
        return self.client.messages.stream, "get_final_message"

    def read(self, response: Any) -> tuple[list[Any], list[Asked]]:
        """The answer as a message."""
        calls = [
            Asked(block.id, block.name, agent.Call(block.name, block.input).text)
            for block in response.content
            if block.type == "tool_use"
        ]
        appended = {
            "content": lambda: {"role": "assistant", "content": response.content},
            "response": lambda: response,
            "param": response.to_param,
        }
        return [appended[self.appends]()], calls

    def results(self, outcomes: Sequence[tuple[Asked, Outcome]]) -> list[Wire]:
        """All in one message, or one message each."""
        blocks = [_result_block(call, outcome) for call, outcome in outcomes]
        if blocks and self.marks:
            blocks[-1] |= _MARK
        if self.apart:
            return [{"role": "user", "content": [block]} for block in blocks]
        return [{"role": "user", "content": blocks}] if blocks else []


def _result_block(call: Asked, outcome: Outcome) -> Wire:
    failed = {"is_error": True} if outcome.failed else {}
    block = {"type": "tool_result", "tool_use_id": call.id, "content": outcome.text, **failed}
    if outcome.picture is None:
        return block
    return {**block, "content": [{"type": "text", "text": outcome.text}, _image_block(outcome.picture)]}


def _image_block(picture: str) -> Wire:
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture}}


CHAT = {"format": "openai-chat", "tools": CHAT_TOOLS}
RESPONSES = {"format": "openai-responses", "tools": RESPONSES_TOOLS}
ANTHROPIC = {"format": "anthropic", "tools": ANTHROPIC_TOOLS, "system": agent.SYSTEM}

HOSTS: dict[str, tuple[dict[str, Any], Callable[..., Host], dict[str, Any]]] = {
    "chat": (CHAT, ChatHost, {}),
    "chat-stream": (CHAT, ChatHost, {"stream": True}),
    "chat-entire": (CHAT, ChatHost, {"entire": True}),
    "responses": (RESPONSES, ResponsesHost, {}),
    "responses-stream": (RESPONSES, ResponsesHost, {"stream": True}),
    "responses-entire": (RESPONSES, ResponsesHost, {"entire": True}),
    "anthropic-content": (ANTHROPIC, AnthropicHost, {}),
    "anthropic-response": (ANTHROPIC, AnthropicHost, {"appends": "response", "apart": True}),
    "anthropic-param": (ANTHROPIC, AnthropicHost, {"appends": "param", "thinking": False}),
    "anthropic-bound": (
        {**ANTHROPIC, "model": "claude-opus-5-5"},
        AnthropicHost,
        {"model": "claude-opus-5-5", "appends": "response"},
    ),
    "anthropic-stream": (ANTHROPIC, AnthropicHost, {"stream": True, "appends": "response", "marks": True}),
}
"""By name: what a session of it is opened with, the host, and how it goes about it."""
