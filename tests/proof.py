"""What must be true of every view, said without the library's help: its size, its order and wording, the SDKs' consent."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import pytest

import plimsoll

Wire = dict[str, Any]

_MEDIA = ("image_url", "input_image", "image", "file", "input_file")
_SIGNS = re.compile(
    r"^\[(?:Summary of messages |Emergency Summary - |Previous conversation summary\]|以下是之前对话的摘要\]|消息m\d+-m\d+的摘要|\d+ earlier messages? (?:is|are) not shown |前面 \d+ 条消息未显示 |… earlier\]$|… 前文\]$|No result: "
    r"|The conversation begins|Result(?: of [^\]\n]{1,200})? of a call that is not shown )|^\(empty\)$"
)
_CUT = re.compile(
    r"…|_shrunk|\[shrunk from |\[缩自 |left out\]|^The tool failed without output\.$|^\[(?:The same content as in a later result|与本对话中较后的结果内容相同|The same call was made again later; |后来再次进行了同一调用；)"
    r'|^""$|^\[\]$|^\{(?:"[^"]*":(?:""|null|true|false|[-+.0-9eE]+),?)*\}$'
)
"""What shows that something was cut. Arguments cut as far as they go hold nothing."""


@cache
def _encode() -> Any:
    splintr = pytest.importorskip("splintr")
    return splintr.Tokenizer.from_pretrained("o200k_base").encode_ordinary


@lru_cache(maxsize=10_000)
def tokens(text: str) -> int:
    """Tokens of a text in gpt-4o's vocabulary; lone surrogates as the replacement character they are sent as."""
    return len(_encode()(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))) if text else 0


def least_tokens(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()) -> int:
    """The contract's minimum: 3 a message and 3 for the reply, every value said, and the tools' JSON. Media count nothing."""
    said = sum(3 + sum(map(tokens, _values(message))) for message in messages)
    return 3 + said + sum(tokens(json.dumps(tool, separators=(",", ":"), ensure_ascii=False)) for tool in tools)


def _values(message: Mapping[str, Any]) -> Iterator[str]:
    """The texts a provider reads in one message, whatever its format."""
    yield str(message.get("role", ""))
    if "role" in message and message.get("name"):
        yield message["name"] + "."
    for call in (*(message.get("tool_calls") or ()), message):
        for kind, given in (("function", "arguments"), ("custom", "input"), ("function_call", "arguments")):
            if isinstance(call.get(kind), dict):
                yield call[kind]["name"]
                yield call[kind][given]
    for field in ("content", "parts", "summary", "output"):
        yield from _inner(message.get(field))
    for field in ("name", "arguments", "input"):
        if "role" not in message and isinstance(message.get(field), str):
            yield message[field]


def _inner(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for block in value:
            if isinstance(block, str):
                yield block
            elif isinstance(block, dict):
                yield from _block(block)


def _block(block: Mapping[str, Any]) -> Iterator[str]:
    if block.get("type") in _MEDIA:
        return
    for field in ("text", "thinking", "name", "errorText", "rawInput"):
        if isinstance(block.get(field), str):
            yield block[field]
    if "input" in block:
        given = block["input"]
        yield given if isinstance(given, str) else json.dumps(given, separators=(",", ":"), ensure_ascii=False)
    for field in ("content", "output"):
        yield from _inner(block.get(field))


@cache
def _adapter(format: str) -> Any:
    pydantic = pytest.importorskip("pydantic")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if format == "anthropic":
            return pydantic.TypeAdapter(pytest.importorskip("anthropic.types").MessageParam)
        types = pytest.importorskip("openai.types")
        one = (
            types.chat.ChatCompletionMessageParam if format == "openai-chat" else types.responses.ResponseInputItemParam
        )
        return pydantic.TypeAdapter(one)


def sdk_accepts(messages: Sequence[Wire], format: str) -> None:
    """Raise where the provider's own request type does not accept the messages. UI messages have no SDK in Python."""
    if format != "ui-parts":
        for message in messages:
            _sdk_accepts(json.dumps(message, ensure_ascii=False), format)


@lru_cache(maxsize=10_000)
def _sdk_accepts(message: str, format: str) -> None:
    """Raise where one message is refused; views of a session repeat most of theirs. pydantic's core holds no lone surrogates."""
    _adapter(format).validate_python(json.loads(message.encode("utf-8", "replace")))


def is_ours(message: Mapping[str, Any]) -> bool:
    """Whether a message says by its first words that plimsoll made it: a summary, a mark, a placeholder."""
    first = next((text for text in list(_values(message))[1:] if text), "")
    return bool(_SIGNS.match(first))


def strange_words(kept: Sequence[Wire], messages: Sequence[Wire]) -> list[str]:
    """Texts of kept messages that nobody said and no mark explains, or that come in another order than they were said.

    JSON counts as the same when it means the same. Messages made by plimsoll are left out.
    """
    said = [_meaning(text) for message in messages for text in _words(message)]
    at, strange = len(said), []
    for message in reversed(kept):
        if is_ours(message):
            continue
        for text in reversed(_words(message)):
            if _CUT.search(text) or _SIGNS.match(text):
                continue
            found = next((place for place in range(at - 1, -1, -1) if said[place] == _meaning(text)), None)
            if found is None:
                strange.append(text)
            else:
                at = found
    return strange


def _words(message: Wire) -> list[str]:
    return [text for text in list(_values(message))["role" in message :] if text]


def _meaning(text: str) -> str:
    if not text.startswith(("{", "[")):
        return text
    try:
        return json.dumps(json.loads(text))
    except (ValueError, RecursionError):
        return text


def requests(messages: Sequence[Wire]) -> list[int]:
    """Positions of what the user said (and not just tool results carried in the user's role)."""
    return [at for at, message in enumerate(messages) if message.get("role") == "user" and _says(message)]


def _says(message: Wire) -> bool:
    content = message.get("content")
    return not isinstance(content, list) or any(block.get("type") != "tool_result" for block in content)


def leading_system(messages: Sequence[Wire]) -> list[int]:
    """Positions of the system text that the conversation begins with."""
    found = []
    for at, message in enumerate(messages):
        if message.get("role") not in ("system", "developer"):
            break
        found.append(at)
    return found


def same_order(kept: Sequence[Wire], messages: Sequence[Wire]) -> list[int | None]:
    """For each kept message the position it stands at in the history, None where it is no message of it word for word.

    Positions rise; the newest possible is taken, so a message said twice is the later one.
    """
    found: list[int | None] = []
    limit = len(messages)
    for message in reversed(kept):
        at = next((at for at in range(limit - 1, -1, -1) if messages[at] == message), None)
        limit = limit if at is None else at
        found.append(at)
    return found[::-1]


def fits(messages: Sequence[Wire], budget: int, format: str, model: str = "gpt-4o") -> int:
    """Assert what is true of every view: within the budget by both counts, valid, and accepted by the SDK; its tokens.

    The proof's own count is in gpt-4o's vocabulary, so it says nothing of other models.
    """
    assert model != "gpt-4o" or least_tokens(messages) <= budget
    counted = plimsoll.count_tokens(messages, format=format, model=model)
    assert counted <= budget
    assert plimsoll.validate(messages, format=format) == []
    sdk_accepts(messages, format)
    return counted
