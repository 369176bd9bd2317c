"""Streams of several answers to one request as one stream, without the calls that are answered inside.

What a stream ends with (the reason, the usage, the mark of its end) is held until it is known whether another answer follows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

from plimsoll.formats.inner_calls import BETWEEN, NO_ANSWER, is_inner, joined, said_item, total
from plimsoll.formats.wire import objects_of
from plimsoll.message import FormatName

Wire = dict[str, Any]
Events = Iterable[tuple[str, Wire]]
"""Name and data."""


class JoinedStream(ABC):
    """Several streams as one."""

    def __init__(self, names: Collection[str]) -> None:
        self._names = names
        self._shown: dict[int, int] = {}
        """Indices in the running stream, and those that the client is told."""
        self._inner: set[int] = set()
        """Indices in the running stream of what the client is not told."""

    @property
    def ids(self) -> tuple[str, str] | None:
        """The id that the client was shown and the one that the provider goes on from, where an API has such ids."""
        return None

    @abstractmethod
    def take(self, name: str, data: Wire) -> Events:
        """Take an event of the running stream. Returns what to pass on."""

    @abstractmethod
    def turn(self) -> None:
        """The running stream is over, and another follows."""

    @abstractmethod
    def end(self) -> Events:
        """The last stream is over. Returns what was held."""


def joined_stream(format: FormatName, names: Collection[str]) -> JoinedStream:
    """A joiner of streams of that API; `names` are the tools whose calls are answered inside."""
    return _JOINERS[format](names)


class _ChatStream(JoinedStream):
    """Chat Completions."""

    def __init__(self, names: Collection[str]) -> None:
        super().__init__(names)
        self._head: Wire = {}
        """What the first chunk is called, and with it all others."""
        self._held: dict[int, list[Wire]] = {}
        """Pieces of calls whose name is not known yet, by their index in the running stream."""
        self._calls = 0
        self._final: Wire | None = None
        self._report: Wire | None = None
        self._usages: list[Wire] = []
        self._is_first, self._has_text, self._is_apart = True, False, True

    def take(self, name: str, data: Wire) -> Events:
        if not self._head:
            self._head = {key: data[key] for key in ("id", "created", "model") if key in data}
        data = {**data, **self._head} if not self._is_first else data
        usage = data.get("usage")
        if isinstance(usage, dict):
            self._usages.append(usage)
            self._report = data
        choices = data.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
        if choice is None:
            return [] if isinstance(usage, dict) else [(name, data)]
        given = choice["delta"] if isinstance(choice.get("delta"), dict) else {}
        delta = self._delta(given)
        if choice.get("finish_reason") is not None:
            self._final = {**data, "choices": [{**choice, "delta": {}}]}
            data = {key: value for key, value in data.items() if key != "usage"}
            choice = {**choice, "finish_reason": None}
        elif delta == given:
            return [(name, data)]
        return [(name, {**data, "choices": [{**choice, "delta": delta}]})] if delta else []

    def _delta(self, given: Wire) -> Wire:
        delta = {key: value for key, value in given.items() if key != "tool_calls"}
        if not self._is_first:
            delta.pop("role", None)
        if isinstance(delta.get("content"), str) and delta["content"]:
            delta["content"] = delta["content"] if self._is_apart else BETWEEN + delta["content"]
            self._has_text = self._is_apart = True
        shown = [one for piece in objects_of(given.get("tool_calls")) for one in self._piece(piece)]
        return {**delta, "tool_calls": shown} if shown else delta

    def _piece(self, piece: Wire) -> list[Wire]:
        """What to pass on of a piece of a call: nothing while its name may be that of an inner one."""
        index = piece.get("index", 0)
        if index in self._inner:
            return []
        if index in self._shown:
            return [{**piece, "index": self._shown[index]}]
        held = self._held.setdefault(index, [])
        held.append(piece)
        functions = [one["function"] for one in held if isinstance(one.get("function"), dict)]
        name = "".join(str(function.get("name") or "") for function in functions)
        if name in self._names:
            self._inner.add(index)
            del self._held[index]
            return []
        if any(one.startswith(name) for one in self._names):
            return []
        self._shown[index] = self._calls
        self._calls += 1
        return [{**one, "index": self._shown[index]} for one in self._held.pop(index)]

    def turn(self) -> None:
        self._held, self._shown, self._inner = {}, {}, set()
        self._final, self._is_first = None, False
        self._is_apart = not self._has_text

    def end(self) -> Events:
        usage = total(self._usages)
        if self._final is not None:
            choice = dict(self._final["choices"][0])
            if not self._calls and choice["finish_reason"] == "tool_calls":
                choice["finish_reason"] = "stop"
                choice["delta"] = {} if self._has_text else {"content": NO_ANSWER}
            reported = {"usage": usage} if isinstance(self._final.get("usage"), dict) else {}
            yield "", {**self._final, **reported, "choices": [choice]}
        if self._report is not None and not self._report.get("choices"):
            yield "", {**self._report, "usage": usage}


class _ResponsesStream(JoinedStream):
    """Responses."""

    def __init__(self, names: Collection[str]) -> None:
        super().__init__(names)
        self._head: Wire = {}
        """What the first response is called of which anything was passed on, and with it the whole: SDKs insist on it."""
        self._opening: list[tuple[str, Wire]] = []
        """How the running response begins, held until it says something: if it only searches, the client never hears of it."""
        self._has_begun = False
        self._finals: list[tuple[str, Wire]] = []
        self._items = self._sequence = 0

    def take(self, name: str, data: Wire) -> Events:
        kind, index, item = data.get("type"), data.get("output_index"), data.get("item")
        if kind in ("response.created", "response.in_progress", "response.queued"):
            self._opening += [] if self._has_begun else [(name, data)]
            return []
        if kind in ("response.completed", "response.incomplete"):
            self._finals.append((name, data))
            return []
        if not isinstance(index, int):
            return [*self._begun(), (name, self._numbered(self._headed(data)))]
        if kind == "response.output_item.added" and isinstance(item, dict) and is_inner(item, self._names):
            self._inner.add(index)
        if index in self._inner:
            return []
        opening = self._begun()
        if index not in self._shown:
            self._shown[index] = self._items
            self._items += 1
        return [*opening, (name, self._numbered({**data, "output_index": self._shown[index]}))]

    @property
    def ids(self) -> tuple[str, str] | None:
        """What the client was shown, and what the provider calls the last response."""
        last = self._finals[-1][1].get("response") if self._finals else None
        upstream = last.get("id") if isinstance(last, dict) else None
        shown = self._head.get("id", upstream)
        return (shown, upstream) if isinstance(shown, str) and isinstance(upstream, str) else None

    def _begun(self) -> list[tuple[str, Wire]]:
        """How the response begins, where that was not passed on yet."""
        opening, self._opening = self._opening, []
        for _, data in opening:
            response = data.get("response")
            if not self._head and isinstance(response, dict):
                self._head = {key: response[key] for key in ("id", "created_at") if key in response}
        self._has_begun = True
        return [(name, self._numbered(data)) for name, data in opening]

    def _headed(self, data: Wire) -> Wire:
        """An event with what the client knows the response by."""
        response = data.get("response")
        return {**data, "response": {**response, **self._head}} if isinstance(response, dict) else data

    def turn(self) -> None:
        self._shown, self._inner, self._opening = {}, set(), []

    def end(self) -> Events:
        yield from self._begun()
        if not self._finals:
            return
        name, last = self._finals[-1]
        responses = [data["response"] for _, data in self._finals if isinstance(data.get("response"), dict)]
        whole = joined("openai-responses", responses, self._names) if responses else last.get("response")
        if isinstance(whole, dict) and whole.get("output") and whole["output"][-1] == said_item(NO_ANSWER):
            yield from self._added(whole["output"][-1])
        yield name, self._numbered(self._headed({**last, "response": whole}))

    def _added(self, item: Wire) -> Iterator[tuple[str, Wire]]:
        """The events of an item that no stream had."""
        part, where = item["content"][0], {"output_index": self._items, "item_id": item["id"], "content_index": 0}
        empty = {**item, "content": [], "status": "in_progress"}
        for data in (
            {"type": "response.output_item.added", "output_index": self._items, "item": empty},
            {"type": "response.content_part.added", "part": {**part, "text": ""}, **where},
            {"type": "response.output_text.delta", "delta": part["text"], "logprobs": [], **where},
            {"type": "response.output_text.done", "text": part["text"], "logprobs": [], **where},
            {"type": "response.content_part.done", "part": part, **where},
            {"type": "response.output_item.done", "output_index": self._items, "item": item},
        ):
            yield str(data["type"]), self._numbered(data)

    def _numbered(self, data: Wire) -> Wire:
        if "sequence_number" in data or self._sequence:
            data = {**data, "sequence_number": self._sequence}
            self._sequence += 1
        return data


class _MessagesStream(JoinedStream):
    """Messages."""

    def __init__(self, names: Collection[str]) -> None:
        super().__init__(names)
        self._final: list[tuple[str, Wire]] = []
        self._blocks = 0
        self._kinds: set[str] = set()
        self._usages: list[Wire] = []
        self._is_first = True

    def take(self, name: str, data: Wire) -> Events:
        kind, index = data.get("type"), data.get("index")
        if kind == "message_start":
            message = data.get("message")
            usage = message.get("usage") if isinstance(message, dict) else None
            self._usages.append(dict(usage) if isinstance(usage, dict) else {})
            return [(name, data)] if self._is_first else []
        if kind in ("message_delta", "message_stop"):
            self._final.append((name, data))
            if isinstance(data.get("usage"), dict) and self._usages:
                self._usages[-1] |= {key: value for key, value in data["usage"].items() if value is not None}
            return []
        if not isinstance(index, int):
            return [(name, data)]
        block = data.get("content_block")
        if kind == "content_block_start" and isinstance(block, dict):
            if is_inner(block, self._names):
                self._inner.add(index)
            else:
                self._shown[index], self._blocks = self._blocks, self._blocks + 1
                self._kinds.add(str(block.get("type")))
        if index in self._inner:
            return []
        return [(name, {**data, "index": self._shown.get(index, index)})]

    def turn(self) -> None:
        self._final, self._shown, self._inner, self._is_first = [], {}, set(), False

    def end(self) -> Events:
        if self._final and not self._kinds - {"thinking", "redacted_thinking"}:
            text: Wire = {"type": "text_delta", "text": NO_ANSWER}
            start = {
                "type": "content_block_start",
                "index": self._blocks,
                "content_block": {"type": "text", "text": ""},
            }
            yield "content_block_start", start
            yield "content_block_delta", {"type": "content_block_delta", "index": self._blocks, "delta": text}
            yield "content_block_stop", {"type": "content_block_stop", "index": self._blocks}
        for name, data in self._final:
            yield name, self._ended(data) if data.get("type") == "message_delta" else data

    def _ended(self, data: Wire) -> Wire:
        delta = data.get("delta")
        if isinstance(delta, dict) and delta.get("stop_reason") == "tool_use" and "tool_use" not in self._kinds:
            data = {**data, "delta": {**delta, "stop_reason": "end_turn"}}
        if len(self._usages) < 2:
            return data
        counted = {key: value for key, value in (total(self._usages) or {}).items() if "tokens" in key}
        return {**data, "usage": {**(data.get("usage") or {}), **counted}}


_JOINERS: Final[Mapping[str, type[JoinedStream]]] = {
    "openai-chat": _ChatStream,
    "openai-responses": _ResponsesStream,
    "anthropic": _MessagesStream,
}
