"""The answer of a model, put together from the events of its stream or read from a whole response."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Final

from plimsoll.formats.wire import object_in, objects_of
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.message import FormatName

EVENT_SIZE_BYTES_MAX: Final = 8 * 1024 * 1024
"""Bytes of one event. What is longer is given up: its stream is passed on, and not read any further."""


class Event(NamedTuple):
    """One event: its name, and the text of its data lines."""

    name: str
    data: str


class EventReader:
    """Takes the bytes of a stream in any portions and gives its events."""

    def __init__(self) -> None:
        self.is_given_up = False
        """True after an event that was too long."""
        self._rest = bytearray()
        self._name = ""
        self._data: list[str] = []
        self._size = 0
        self._after_return = False

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete."""
        if self.is_given_up:
            return []
        if self._after_return and data:
            data, self._after_return = data.removeprefix(b"\n"), False
        self._rest += data
        if b"\n" not in data and b"\r" not in data:
            self._bound()
            return []
        self._after_return = self._rest.endswith(b"\r")
        *lines, rest = bytes(self._rest).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        self._rest = bytearray(rest)
        self._bound()
        return [event for event in map(self._line, lines) if event is not None]

    def _bound(self) -> None:
        if len(self._rest) + self._size > EVENT_SIZE_BYTES_MAX:
            self.is_given_up = True
            self._rest.clear()
            self._data.clear()

    def _line(self, line: bytes) -> Event | None:
        """Take one line. Returns the event that an empty line ends."""
        if not line:
            found = Event(self._name, "\n".join(self._data)) if self._data else None
            self._name, self._data, self._size = "", [], 0
            return found
        field, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        if field == b"data":
            self._data.append(text)
            self._size += len(text)
        elif field == b"event":
            self._name = text
        return None


ANSWER_CHARS_MAX: Final = 4_000_000
"""Characters of one answer. A longer one is not recorded."""

BLOCKS_MAX: Final = 4_096
"""Blocks, items or calls of one answer."""

Wire = dict[str, Any]


class Answer(ABC):
    """An answer that is being read."""

    def __init__(self) -> None:
        self.error: Wire | None = None
        """The error that the stream told."""
        self.usage: Wire | None = None
        """The usage as the provider wrote it."""
        self.is_complete = False
        """True once the stream said that it was over."""
        self.has_begun = False
        """True once something came that is no mere announcement."""
        self._chars = 0

    @staticmethod
    @abstractmethod
    def of_whole(response: Wire) -> list[Wire]:
        """The messages of a whole response."""

    @abstractmethod
    def take(self, data: Wire) -> None:
        """Take the data of one event."""

    @abstractmethod
    def messages(self) -> list[Wire]:
        """What was said so far, as messages to append; empty if there is nothing that can be."""


def answer_reader(format: FormatName) -> Answer:
    """A reader of streams of that API."""
    return _READERS[format]()


def take_event(answer: Answer, event: Event) -> None:
    """Take an event. What is no JSON object is ignored."""
    if event.data == "[DONE]":
        answer.is_complete = True
        return
    data = object_in(event.data)
    if data is None:
        return
    if isinstance(data.get("error"), dict | str) or event.name == "error" or data.get("type") == "error":
        found = data.get("error", data)
        answer.error = found if isinstance(found, dict) else {"message": str(found)}
        answer.has_begun = True
        return
    answer.take(data)


def whole_answer(format: FormatName, response: object) -> tuple[list[Wire], Wire | None]:
    """The messages and the usage of a whole response."""
    if not isinstance(response, dict):
        return [], None
    usage = response.get("usage")
    found = usage if isinstance(usage, dict) else None
    return _READERS[format].of_whole(response), found


class _ChatAnswer(Answer):
    """Chat Completions."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: dict[str, list[str]] = {"content": [], "refusal": [], "reasoning_content": []}
        self._calls: dict[int, Wire] = {}

    @staticmethod
    def of_whole(response: Wire) -> list[Wire]:
        choices = objects_of(response.get("choices"))
        message = choices[0].get("message") if len(choices) == 1 else None
        return [message] if isinstance(message, dict) else []

    def take(self, data: Wire) -> None:
        if isinstance(data.get("usage"), dict):
            self.usage = data["usage"]
        for choice in objects_of(data.get("choices")):
            self.has_begun = True
            delta = choice.get("delta")
            if choice.get("index", 0) != 0 or not isinstance(delta, dict):
                continue
            for field, texts in self._texts.items():
                if isinstance(delta.get(field), str) and self._chars <= ANSWER_CHARS_MAX:
                    texts.append(delta[field])
                    self._chars += len(delta[field])
            for call in objects_of(delta.get("tool_calls")):
                self._take_call(call)
            self.is_complete = self.is_complete or choice.get("finish_reason") is not None

    def _take_call(self, delta: Wire) -> None:
        index = delta.get("index", len(self._calls))
        if not isinstance(index, int) or len(self._calls) >= BLOCKS_MAX or self._chars > ANSWER_CHARS_MAX:
            return
        empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}, "_pieces": []}
        call, function = self._calls.setdefault(index, empty), delta.get("function")
        call["id"] = delta.get("id") or call["id"]
        if isinstance(function, dict):
            call["function"]["name"] += function.get("name") or ""
            call["_pieces"].append(str(function.get("arguments") or ""))
            self._chars += len(call["_pieces"][-1])

    def messages(self) -> list[Wire]:
        said = {field: "".join(texts) for field, texts in self._texts.items()}
        calls = [
            {
                "id": call["id"],
                "type": "function",
                "function": {**call["function"], "arguments": "".join(call["_pieces"])},
            }
            for _, call in sorted(self._calls.items())
            if call["id"] and call["function"]["name"]
        ]
        if self._chars > ANSWER_CHARS_MAX or not (said["content"] or said["refusal"] or calls):
            return []
        message: Wire = {"role": "assistant", "content": said["content"] or None}
        message |= {"tool_calls": calls} if calls else {}
        return [message | ({"refusal": said["refusal"]} if said["refusal"] else {})]


class _ResponsesAnswer(Answer):
    """Responses: whole items come with the event that ends them."""

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int, Wire] = {}

    @staticmethod
    def of_whole(response: Wire) -> list[Wire]:
        return objects_of(response.get("output"))

    def take(self, data: Wire) -> None:
        kind, response = data.get("type"), data.get("response")
        if kind not in ("response.created", "response.in_progress", "response.queued"):
            self.has_begun = True
        index = data.get("output_index", len(self._items))
        if kind == "response.output_item.done" and isinstance(data.get("item"), dict) and isinstance(index, int):
            self._chars += len(str(data["item"]))
            if self._chars <= ANSWER_CHARS_MAX and len(self._items) < BLOCKS_MAX:
                self._items[index] = data["item"]
        if not isinstance(response, dict):
            return
        if isinstance(response.get("usage"), dict):
            self.usage = response["usage"]
        if isinstance(response.get("error"), dict):
            self.error = response["error"]
        self.is_complete = self.is_complete or kind in ("response.completed", "response.incomplete")

    def messages(self) -> list[Wire]:
        return [] if self._chars > ANSWER_CHARS_MAX else [item for _, item in sorted(self._items.items())]


class _MessagesAnswer(Answer):
    """Messages."""

    def __init__(self) -> None:
        super().__init__()
        self._model: str | None = None
        self._blocks: dict[int, Wire] = {}
        self._pieces: dict[int, dict[str, list[str]]] = {}

    @staticmethod
    def of_whole(response: Wire) -> list[Wire]:
        content = objects_of(response.get("content"))
        model = {"model": response["model"]} if isinstance(response.get("model"), str) else {}
        return [{"role": "assistant", "content": content, **model}] if content else []

    def take(self, data: Wire) -> None:
        kind, index = data.get("type"), data.get("index")
        if kind == "ping":
            return
        self.has_begun = True
        message = data.get("message")
        if kind == "message_start" and isinstance(message, dict):
            self._model = message.get("model") if isinstance(message.get("model"), str) else None
        for report in (data.get("usage"), message.get("usage") if isinstance(message, dict) else None):
            if isinstance(report, dict):
                self.usage = {
                    **(self.usage or {}),
                    **{key: value for key, value in report.items() if value is not None},
                }
        if kind == "content_block_start" and isinstance(data.get("content_block"), dict) and isinstance(index, int):
            self._chars += len(str(data["content_block"]))
            if len(self._blocks) < BLOCKS_MAX and self._chars <= ANSWER_CHARS_MAX:
                self._blocks[index], self._pieces[index] = dict(data["content_block"]), {}
        elif kind == "content_block_delta" and isinstance(data.get("delta"), dict) and index in self._blocks:
            self._take_delta(index, data["delta"])
        self.is_complete = self.is_complete or kind == "message_stop"

    def _take_delta(self, index: int, delta: Wire) -> None:
        fields = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}
        field = fields.get(str(delta.get("type")))
        if delta.get("type") == "input_json_delta":
            field = "partial_json"
        if delta.get("type") == "citations_delta" and isinstance(delta.get("citation"), dict):
            block = self._blocks[index]
            block["citations"] = [*(block.get("citations") or []), delta["citation"]]
        if field is not None and isinstance(delta.get(field), str) and self._chars <= ANSWER_CHARS_MAX:
            self._pieces[index].setdefault(field, []).append(delta[field])
            self._chars += len(delta[field])

    def messages(self) -> list[Wire]:
        """One message; blocks that are not whole, such as a call cut off in its arguments, are left out."""
        if self._chars > ANSWER_CHARS_MAX:
            return []
        content = [block for block in map(self._block, sorted(self._blocks)) if block is not None]
        model = {"model": self._model} if self._model else {}
        return [{"role": "assistant", "content": content, **model}] if content else []

    def _block(self, index: int) -> Wire | None:
        block, pieces = dict(self._blocks[index]), {name: "".join(found) for name, found in self._pieces[index].items()}
        text = pieces.pop("partial_json", None)
        for field, value in pieces.items():
            block[field] = f"{block.get(field) or ''}{value}"
        if text:
            block["input"] = object_in(text)
            if block["input"] is None:
                return None
        if block.get("type") == "text" and not block.get("text"):
            return None
        return None if block.get("type") == "thinking" and not block.get("signature") else block


_READERS: Final[Mapping[str, type[Answer]]] = {
    "openai-chat": _ChatAnswer,
    "openai-responses": _ResponsesAnswer,
    "anthropic": _MessagesAnswer,
}
