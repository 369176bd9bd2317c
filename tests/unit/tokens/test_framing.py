"""Messages counted with their frames: never below the contract's floor, parts by content, long texts once."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from plimsoll.formats.registry import decode_all
from plimsoll.message import Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult, text_message
from plimsoll.tokens.cache import CachingCounter, CountCache
from plimsoll.tokens.counter import message_counter_for
from plimsoll.tokens.exact import exact_counter
from plimsoll.tokens.framing import (
    ANTHROPIC,
    OPENAI_CHAT,
    Framing,
    MessageCounter,
    compact_json,
)
from plimsoll.tokens.media import CLAUDE, GEMINI_3, GPT_4O, GPT_4O_MINI, MOST_EXPENSIVE, MediaRule, media_rule
from published_counts import bytes_arguments, content_only, ten_a_call, tool_schema

CONVERSATIONS = pathlib.Path(__file__).parents[3].parent / "shared/evals/convs"


class Letters:
    """Counts letters, double for the upper count, and remembers every text it was asked about."""

    name = "letters"

    def __init__(self, *, exact: bool = True) -> None:
        self.exact = exact
        self.asked: list[str] = []

    def count(self, text: str) -> int:
        """Letters."""
        self.asked.append(text)
        return len(text)

    def upper(self, text: str) -> int:
        """Letters, twice when not exact."""
        return len(text) if self.exact else 2 * len(text)


CALL = ToolCall(id="id", name="run", arguments='{"a":1}')
RESULT = ToolResult(call_id="id", content="output")
SAY = Message(role="user", parts=(Text(text="hello"),))
NAMED = Message(role="user", parts=(Text(text="hello"),), name="bob")
DO = Message(role="assistant", parts=(Text(text="ok"), CALL))
GET = Message(role="tool", parts=(RESULT,))


@pytest.mark.parametrize(
    ("framing", "message", "tokens"),
    [
        (OPENAI_CHAT, SAY, 3 + 4 + 5),
        (OPENAI_CHAT, NAMED, 3 + 4 + 5 + 3 + 1),
        (OPENAI_CHAT, DO, 3 + 9 + 2 + (3 + 3 + 7 + 2)),
        (OPENAI_CHAT, GET, 3 + 4 + 6 + 2),
        (ANTHROPIC, SAY, 3 + 4 + 5),
        (ANTHROPIC, DO, 3 + 9 + 2 + (3 + 3 + 7 + 2)),
    ],
)
def test_each_framing_adds_what_it_says(framing: Framing, message: Message, tokens: int) -> None:
    """Frames as documented: OpenAI's and Anthropic's."""
    assert MessageCounter(Letters(), framing).message(message) == tokens


@pytest.mark.spec("S2-08")
@pytest.mark.spec("S0-12", "S1-20", "WE-05")
@pytest.mark.parametrize("framing", [OPENAI_CHAT, ANTHROPIC])
def test_a_request_is_the_sum_and_the_reply(framing: Framing) -> None:
    """Messages add up; the reply is primed once, also for no messages at all (S0-12, S1-20)."""
    counter = MessageCounter(Letters(), framing)
    assert counter.messages([SAY, DO]) == counter.message(SAY) + counter.message(DO) + framing.reply_priming
    assert counter.messages([]) == framing.reply_priming == 3


@pytest.mark.spec("S0-11", "S1-20", "S1-21", "S3-23")
@pytest.mark.parametrize(
    ("published", "message", "tokens"),
    [
        (bytes_arguments, SAY, 4 + 5),
        (bytes_arguments, NAMED, 4 + 5 + 3),
        (bytes_arguments, DO, 4 + 2 + 3 + 7 // 4),
        (bytes_arguments, GET, 4 + 6),
        (ten_a_call, SAY, 4 + 4 + 5),
        (ten_a_call, DO, 4 + 9 + 2 + 10 + 3 + 7),
        (content_only, NAMED, 4 + 5),
    ],
)
def test_published_framings(published: Callable[..., int], message: Message, tokens: int) -> None:
    """What other systems add around values, and leave out, worked out by hand from their documents."""
    assert published(message, len) == tokens


@pytest.mark.spec("S0-11", "S3-23", "WE-06")
@pytest.mark.parametrize("published", [bytes_arguments, content_only])
def test_no_request_counts_less_than_published(published: Callable[..., int]) -> None:
    """What those leave out is counted here: roles, ids, arguments as the text they are, and the reply."""
    for request in ([SAY], [NAMED], [DO, GET], [SAY, DO, GET]):
        assert MessageCounter(Letters()).messages(request) > sum(published(message, len) for message in request)


@pytest.mark.spec("S0-09")
@pytest.mark.spec("WE-06")
@pytest.mark.parametrize(
    ("part", "longer"),
    [
        (Text(text="x"), Text(text="xyz")),
        (CALL, ToolCall(id="id", name="run", arguments='{"a":123}')),
        (CALL, ToolCall(id="id", name="runup", arguments='{"a":1}')),
        (CALL, ToolCall(id="id__", name="run", arguments='{"a":1}')),
        (RESULT, ToolResult(call_id="id__", content="output")),
        (RESULT, ToolResult(call_id="id", content="output__")),
        (Reasoning(text="t"), Reasoning(text="t__")),
        (Opaque(wire={"type": "x"}), Opaque(wire={"type": "xyz"})),
    ],
)
def test_every_value_counts(part: Any, longer: Any) -> None:
    """Two letters more in any value, ids included, are two tokens more (WE-06)."""
    counter = MessageCounter(Letters())
    assert counter.part(longer) == counter.part(part) + 2


def test_sealed_reasoning_counts_as_the_thought_it_holds() -> None:
    """A signature is no text: it and the text beside it are one thought, and the larger counts, in every vocabulary."""
    for counter in (MessageCounter(Letters()), MessageCounter(Letters()).upper):
        alone = counter.part(Reasoning(text=""))
        assert counter.part(Reasoning(text="", signature="s" * 400)) == alone + 100
        assert counter.part(Reasoning(text="t" * 30, signature="s" * 400)) == alone + 100
        assert counter.part(Reasoning(text="t" * 130, signature="s" * 400)) == alone + 130
        assert counter.part(Reasoning(text="t", signature="s")) == counter.part(Reasoning(text="t"))


@pytest.mark.spec("WE-06")
def test_media_costs_by_size_and_not_by_its_text() -> None:
    """A megabyte of base64 in the wire of an image changes nothing (WE-06)."""
    small = Media(kind="image", width_px=512, height_px=512, wire={"image_url": {"url": "data:image/png;base64,AA"}})
    large = Media(kind="image", width_px=512, height_px=512, wire={"image_url": {"url": "A" * 1_000_000}})
    counter = MessageCounter(Letters(), media=GPT_4O)
    assert counter.part(small) == counter.part(large) == 85 + 170 + OPENAI_CHAT.per_block
    shown = Message(role="tool", parts=(ToolResult(call_id="i", content="", media=(small,)),))
    assert counter.message(shown) - counter.message(
        Message(role="tool", parts=(ToolResult(call_id="i", content=""),))
    ) == counter.part(small)


@pytest.mark.parametrize(
    ("rule", "media", "tokens"),
    [
        (GPT_4O, {"width_px": 1024, "height_px": 1024, "detail": "high"}, 765),
        (GPT_4O, {"width_px": 2048, "height_px": 4096, "detail": "high"}, 1105),
        (GPT_4O, {"width_px": 4096, "height_px": 8192, "detail": "low"}, 85),
        (GPT_4O, {"width_px": 128, "height_px": 64, "detail": "high"}, 255),
        (GPT_4O, {}, 85 + 170 * 8),
        (GPT_4O_MINI, {"width_px": 128, "height_px": 64}, 8500),
        (media_rule("gpt-4.1-mini"), {"width_px": 1024, "height_px": 1024}, 1659),
        (media_rule("openai/gpt-4.1-nano-2025"), {"width_px": 10_000, "height_px": 10_000}, 3779),
        (CLAUDE, {"width_px": 200, "height_px": 200}, 64),
        (CLAUDE, {"width_px": 8000, "height_px": 8000}, 1600),
        (media_rule("claude-opus-4-7"), {}, 4784),
        (media_rule("gemini-2.5-pro"), {"width_px": 300, "height_px": 300}, 258),
        (media_rule("gemini-2.5-pro"), {"width_px": 1536, "height_px": 768}, 516),
        (GEMINI_3, {"width_px": 1, "height_px": 1}, 1120),
        (MOST_EXPENSIVE, {}, 4784),
    ],
)
def test_image_formulas(rule: MediaRule, media: dict[str, Any], tokens: int) -> None:
    """Providers' own examples, and the dearest for an unknown size."""
    assert rule.tokens(Media(kind="image", **media)) == tokens


@pytest.mark.parametrize("kind", ["image", "audio", "video", "file"])
@pytest.mark.parametrize(
    "size",
    [
        {},
        {"width_px": -1, "height_px": 0, "size_bytes": -5},
        {"width_px": 10**400, "height_px": 1, "size_bytes": 10**12},
    ],
)
def test_media_of_any_size_costs_something_sane(kind: Any, size: dict[str, int]) -> None:
    """Missing, negative and absurd sizes give a positive number; an image never more than its rule's dearest."""
    for rule in (GPT_4O, CLAUDE, GEMINI_3, media_rule("gpt-6"), media_rule("nobody's")):
        tokens = rule.tokens(Media(kind=kind, **size))
        assert tokens > 0
        if kind == "image":
            assert tokens <= rule.image.tokens_max


def test_sound_and_film_cost_by_the_second() -> None:
    """Ten seconds' worth of bytes are ten times a second's price."""
    assert GEMINI_3.tokens(Media(kind="audio", size_bytes=80_000)) == 320
    assert GEMINI_3.tokens(Media(kind="video", size_bytes=600_000)) == 2630


TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "Weather in a place",
            "parameters": {
                "type": "object",
                "properties": {"place": {"type": "string", "enum": ["a", "b"]}},
                "required": ["place"],
            },
        },
    },
    {
        "name": "get_weather",
        "description": "Weather in a place",
        "input_schema": {"type": "object", "properties": {"place": {"type": "string"}}},
    },
    {"type": "function", "name": "get_weather", "description": "天气", "parameters": {"type": "object"}},
]


def _values(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in _values(item)]
    if isinstance(value, list):
        return [text for item in value for text in _values(item)]
    return [value if isinstance(value, str) else json.dumps(value)]


@pytest.mark.spec("W0-21", "WE-06")
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("framing", [OPENAI_CHAT, ANTHROPIC])
def test_tools_cost_at_least_their_values(tool: dict[str, Any], framing: Framing) -> None:
    """A tool definition of any provider is at least the tokens of its JSON and of its values (WE-06, W0-21)."""
    exact = exact_counter("o200k_base")
    tokens = MessageCounter(exact, framing).tools([tool])
    assert tokens >= exact.count(json.dumps(tool, ensure_ascii=False))
    assert tokens >= sum(map(exact.count, _values(tool)))


def test_no_tools_cost_nothing() -> None:
    """No tools add nothing, not even what is added once."""
    assert MessageCounter(Letters(), ANTHROPIC).tools([]) == MessageCounter(Letters(), ANTHROPIC).tools(None) == 0


@pytest.mark.spec("S0-13")
@pytest.mark.parametrize("tool", TOOLS)
def test_the_published_tool_formula_is_less(tool: dict[str, Any]) -> None:
    """Name, description, bytes of the schema over four, and ten for each tool: never more than is counted here (S0-13)."""
    body = tool.get("function", tool)
    schema = compact_json(body.get("parameters") or body.get("input_schema"))
    published = tool_schema(body["name"], body["description"], schema, len)
    assert published == len(body["name"]) + len(body["description"]) + len(schema.encode()) // 4 + 10
    assert MessageCounter(Letters(), OPENAI_CHAT).tools([tool]) >= published


def _endless() -> dict[str, Any]:
    loop: dict[str, Any] = {"name": "again"}
    loop["self"] = loop
    return loop


def _deep() -> Any:
    value: Any = "bottom"
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        _endless,
        _deep,
        lambda: {"bytes": b"\xff", 1: {2, 3}},
        lambda: {(1, 2): "pair"},
        lambda: 10**5000,
        lambda: "\ud800",
        lambda: float("nan"),
    ],
)
def test_json_of_anything(make: Any) -> None:
    """Cycles, depth, huge integers and values that are no JSON give some text, and the count a number."""
    value = make()
    assert compact_json(value)
    assert MessageCounter(exact_counter("o200k_base")).part(Opaque(wire=value)) > 0


def test_what_json_cannot_say_is_still_counted() -> None:
    """The texts of a cyclic value are all in its replacement, once."""
    assert compact_json(_endless()).split() == ["name", "again", "self"]


def test_upper_counts_decide() -> None:
    """`upper` counts texts by the counter's upper count and leaves frames alone; an exact counter is its own."""
    guess = MessageCounter(Letters(exact=False))
    assert guess.message(SAY) == 3 + 4 + 5
    assert guess.upper.message(SAY) == 3 + 8 + 10
    assert guess.upper.upper is guess.upper
    assert not guess.upper.exact
    exact = MessageCounter(Letters())
    assert exact.upper is exact
    assert exact.exact


@pytest.mark.spec("S3-22")
@pytest.mark.spec("WE-10")
def test_long_texts_are_counted_once() -> None:
    """A second count of a history asks the tokenizer for no long text again, and the cache says so (WE-10)."""
    letters = Letters()
    counter = MessageCounter(letters)
    history = [text_message("user", f"{number} " + "x" * 1000) for number in range(20)]
    first = counter.messages(history)
    letters.asked.clear()
    assert counter.messages(history) == first
    assert letters.asked == []
    assert (counter.cache_info().hits, counter.cache_info().misses, counter.cache_info().entries) == (20, 20, 20)


@pytest.mark.spec("WE-10")
def test_the_cache_is_bounded_and_keeps_no_text() -> None:
    """Beyond its size the least recently asked count is forgotten; keys are numbers, not texts (WE-10)."""
    cache = CountCache(2)
    asked: list[str] = []
    count = lambda text: asked.append(text[0]) or len(text)  # noqa: E731 - one expression reads best here
    for letter in "abacb":
        assert cache.count(letter * 300, count) == 300
    assert asked == ["a", "b", "c", "b"]
    assert cache.info().entries == 2
    assert not any(isinstance(part, str) for key in cache._results for part in key)


def test_short_texts_are_not_cached() -> None:
    """Texts that are quicker to count than to find are counted again and take no room."""
    cache = CountCache()
    assert cache.count("short", len) == cache.count("short", len) == 5
    assert cache.info().entries == cache.info().hits == 0


def test_upper_counts_of_estimates_are_cached_apart() -> None:
    """A cached count is never given for an upper count."""
    counter = CachingCounter(Letters(exact=False))
    text = "x" * 500
    assert (counter.count(text), counter.upper(text)) == (500, 1000)
    assert (counter.count(text), counter.upper(text)) == (500, 1000)


def _floor(message: dict[str, Any], count: Any) -> int:
    """The contract's least for an OpenAI message, worked out from the wire object."""
    tokens = 3 + count(message["role"]) + sum(map(count, _values(message.get("content") or "")))
    if message.get("name"):
        tokens += count(message["name"]) + 1
    for call in message.get("tool_calls") or ():
        tokens += sum(map(count, _values(call)))
    return tokens + count(message.get("tool_call_id") or "")


WIRES = [
    {"role": "system", "content": "You are terse."},
    {"role": "user", "name": "bob", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "call_9", "type": "function", "function": {"name": "f", "arguments": '{"x": [1, 2]}'}}]
        * 3,
    },
    {"role": "tool", "tool_call_id": "call_9", "content": "result <|endoftext|> \ud800"},
    {
        "role": "tool",
        "tool_call_id": "call_9",
        "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
    },
    {"role": "developer", "content": "Be kind."},
    {"role": "assistant", "content": "", "refusal": "No, I cannot do that."},
]


@pytest.mark.parametrize("wire", WIRES)
def test_never_below_the_contract(wire: dict[str, Any]) -> None:
    """A decoded message costs at least three tokens, every value on its wire, and one for a name."""
    _, (message,) = decode_all([wire], "openai-chat")
    counter = message_counter_for("gpt-4o")
    least = _floor(wire, exact_counter("o200k_base").count)
    assert least <= counter.message(message) <= least + 30


@pytest.mark.slow
def test_real_conversations_are_never_below_the_contract() -> None:
    """No message of the recorded conversations is below the contract's least, and all together at most 6 % above it."""
    if not CONVERSATIONS.is_dir():
        pytest.skip("no ../shared/evals beside the checkout")
    count, counter = exact_counter("o200k_base").count, message_counter_for("gpt-4o")
    least = total = 0
    for path in sorted(CONVERSATIONS.glob("*.jsonl")):
        for line in path.read_text("utf-8").strip().split("\n")[:3]:
            wires = json.loads(line)["messages"]
            _, messages = decode_all(wires, "openai-chat")
            floors = [_floor(wire, count) for wire in wires]
            counts = [counter.message(message) for message in messages]
            assert all(found >= floor for found, floor in zip(counts, floors, strict=True))
            least, total = least + sum(floors), total + sum(counts)
    assert least < total < 1.06 * least


@pytest.mark.parametrize(
    "beside",
    [
        {"extra_content": {"google": {"thought_signature": "c2ln" * 100}}},
        {"provider_specific_fields": {"thought_signature": "c2ln" * 100}},
        {"callProviderMetadata": {"google": {"thoughtSignature": "c2ln" * 100}}},
    ],
)
def test_thought_signatures_beside_a_call_count(beside: dict[str, Any]) -> None:
    """Gemini counts the thought that it gets back beside a call or a text; other metadata is nobody's input."""
    counter = message_counter_for("gemini-3")
    call = ToolCall(id="c", name="read", arguments="{}", wire={"type": "function"})
    text = Text(text="words", wire={"type": "text", "text": "words"})

    for part in (call, text):
        signed = replace(part, wire={**(part.wire or {}), **beside})
        assert counter.part(signed) == counter.part(part) + 100
    assert counter.part(replace(call, wire={"providerMetadata": {"openai": {"itemId": "msg_1"}}})) == counter.part(call)
