"""Replies: passed on byte for byte wherever they are split, and read beside."""

from __future__ import annotations

import json
from typing import Any

import pytest

from loopback import agent
from loopback.chat import Chat
from loopback.messages import Messages
from loopback.responses import Responses
from plimsoll.formats.streams import EVENT_SIZE_BYTES_MAX, Event, EventReader, answer_reader
from plimsoll.proxy.reply import Reply

ANSWER = agent.Answer(
    "I look at both.", "Two files matter: ä, 界, 🚢.", [agent.Call("search", {"path": "a"}), agent.Call("search", {})]
)
QUESTION = [{"role": "user", "content": "Look."}]
APIS: dict[str, Any] = {
    "openai-chat": (Chat(), {"model": "gpt-4o", "messages": QUESTION}),
    "openai-responses": (Responses(), {"model": "gpt-4o", "input": QUESTION}),
    "anthropic": (
        Messages(),
        {"model": "claude-sonnet-4-6", "max_tokens": 4096, "messages": QUESTION, "thinking": {"type": "enabled"}},
    ),
}
STREAM = "text/event-stream; charset=utf-8"


def streamed(api: str) -> bytes:
    """An answer as its API streams it, with comments and other line ends."""
    dialect, body = APIS[api]
    lines = [": hello\r\n\r\n"]
    for number, (name, data) in enumerate(dialect.events(dialect.respond(ANSWER, 0, body))):
        end = ("\n", "\r\n", "\r")[number % 3]
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        lines.append(f"event: {name}{end}" if name else "")
        lines.append(f"data: {text}{end}{end}")
    return "".join(lines).encode()


def read(api: str, portions: list[bytes], *, status: int = 200, kind: str = STREAM) -> tuple[bytes, Reply]:
    """What is passed on of a reply, and its reader."""
    reply = Reply(api, status, kind, encoded=False, can_retry=True)
    passed = b"".join(map(reply.feed, portions))
    return passed + reply.end(), reply


def without_ids(messages: Any) -> Any:
    """Messages without what an API adds for its own use."""
    return [
        {key: value for key, value in message.items() if key not in ("refusal", "annotations", "model", "status")}
        for message in messages
    ]


@pytest.mark.parametrize("api", APIS)
def test_a_stream_split_at_every_byte(api):
    """All bytes are passed on, in order, and the answer is that of the whole response."""
    dialect, body = APIS[api]
    data = streamed(api)
    whole = json.dumps(dialect.respond(ANSWER, 0, body)).encode()
    _, expected = read(api, [whole], kind="application/json")
    messages, usage = expected.answer()
    assert expected.is_complete
    assert usage
    passed, bytewise = read(api, [data[at : at + 1] for at in range(len(data))])
    assert passed == data
    assert bytewise.is_complete
    found, told = bytewise.answer()
    assert without_ids(found) == without_ids(messages)
    assert {**told, **usage} == told
    step = max(1, len(data) // 60)
    for at in range(0, len(data), step):
        passed, reply = read(api, [data[:at], data[at:]])
        assert passed == data
        assert reply.answer() == bytewise.answer()


@pytest.mark.parametrize("api", APIS)
def test_a_stream_that_breaks_off_is_no_answer(api):
    """What came is passed on, and is not taken for the whole."""
    data = streamed(api)
    for at in range(0, int(len(data) * 0.7), max(1, len(data) // 40)):
        passed, reply = read(api, [data[:at]])
        assert passed == data[:at]
        assert not reply.is_complete


OVERFLOWS = [
    (
        {
            "error": {
                "code": "context_length_exceeded",
                "message": "Your input exceeds the context window of this model.",
            }
        },
        None,
        None,
    ),
    (
        {
            "error": {
                "message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."
            }
        },
        8192,
        9001,
    ),
    (
        {
            "error": {
                "message": "This model's maximum context length is 4096 tokens. However, you requested 5,000 tokens (4000 in the messages, 1000 in the completion)."
            }
        },
        4096,
        5000,
    ),
    (
        {
            "type": "error",
            "error": {"type": "invalid_request_error", "message": "prompt is too long: 215000 tokens > 200000 maximum"},
        },
        200_000,
        215_000,
    ),
    (
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again",
            },
        },
        200_000,
        188_240,
    ),
    (
        {
            "error": {
                "code": 400,
                "message": "the request exceeds the available context size (4096 tokens), try increasing it",
                "type": "exceed_context_size_error",
            }
        },
        4096,
        None,
    ),
    (
        [
            {
                "error": {
                    "code": 400,
                    "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
                    "status": "INVALID_ARGUMENT",
                }
            }
        ],
        1_048_576,
        1_200_000,
    ),
    (
        {"error": {"message": "This model's maximum prompt length is 131072 but the request contains 140000 tokens."}},
        131_072,
        140_000,
    ),
    (
        {
            "object": "error",
            "message": "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        },
        32_768,
        40_000,
    ),
    ({"message": "Input is too long for requested model."}, None, None),
    (
        {
            "error": "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens",
            "type": "validation",
        },
        4_096,
        None,
    ),
]


@pytest.mark.parametrize(("error", "window", "counted"), OVERFLOWS)
def test_too_long_requests_are_recognised(error, window, counted):
    """In the words of each provider, with the numbers; nothing is passed on until it is known what to do."""
    data = json.dumps(error).encode()
    for api in APIS:
        passed, reply = read(api, [data[:9], data[9:]], status=400, kind="application/json")
        assert (passed, reply.may_retry) == (b"", True)
        assert (reply.overflow.window_tokens, reply.overflow.counted_tokens) == (window, counted)
        assert reply.given_back() == data


@pytest.mark.parametrize("name", ["temperature", "top_logprobs", "max_tokens"])
def test_a_limit_of_a_parameter_is_no_window(name):
    """Else all conversations with the model would be brought to a few tokens."""
    data = json.dumps({"error": {"message": f"{name} must be <= 2", "type": "invalid_request_error"}}).encode()
    _, reply = read("openai-chat", [data], status=400, kind="application/json")
    assert reply.overflow is None


def test_blocks_that_come_whole_are_bounded_too():
    """An answer that is too long is passed on, and neither kept nor recorded."""
    answer = answer_reader("anthropic")
    for index in range(5):
        answer.take(
            {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": "x" * 10**6}}
        )
    answer.take({"type": "message_stop"})
    assert answer.messages() == []


@pytest.mark.parametrize("status", [401, 429, 500, 529])
def test_other_errors_are_passed_on(status):
    """Nothing is tried again."""
    data = json.dumps({"error": {"message": "Overloaded", "type": "overloaded_error"}}).encode()
    passed, reply = read("anthropic", [data[:5], data[5:]], status=status, kind="application/json")
    assert passed == data
    assert not reply.may_retry
    assert not reply.is_complete


def test_too_long_requests_are_recognised_at_the_begin_of_a_stream():
    """Where an API answers 200 and then says so; once something was said it is too late."""
    created = b'event: response.created\ndata: {"type":"response.created","response":{"id":"resp_1"}}\n\n'
    error = b'event: error\ndata: {"type":"error","code":"context_length_exceeded","message":"Too long."}\n\n'
    delta = b'event: x\ndata: {"type":"response.output_text.delta","delta":"Hello"}\n\n'
    passed, reply = read("openai-responses", [created, error])
    assert (passed, reply.may_retry) == (b"", True)
    assert reply.given_back() == created + error
    passed, reply = read("openai-responses", [created, delta, error])
    assert (passed, reply.may_retry) == (created + delta + error, False)
    failed = (
        b'data: {"type":"response.failed","response":{"error":{"code":"context_length_exceeded","message":"x"}}}\n\n'
    )
    passed, reply = read("openai-responses", [created + failed])
    assert reply.may_retry


@pytest.mark.parametrize(
    "data",
    [
        b"data: {\n\n",
        b"data: [1, 2]\n\ndata: nul\n\n",
        b"\xff\xfe\n\n\n",
        b'data: {"choices": 3}\n\ndata: {"choices": [{"delta": {"tool_calls": [{"index": "x"}, {"function": 1}], "content": 7}}]}\n\n',
        b'data: {"type": "content_block_delta", "index": 9, "delta": 3}\n\ndata: {"type": "message_start", "message": []}\n\n',
        b'data: {"type": "response.output_item.done", "item": {}, "output_index": []}\n\n',
        b"data: " + b"[" * 100_000 + b"\n\n",
    ],
)
def test_malformed_streams_are_passed_on(data):
    """Whatever comes."""
    for api in APIS:
        passed, reply = read(api, [data[at : at + 7] for at in range(0, min(len(data), 9_000), 7)] + [data[9_002:]])
        assert passed == data[: len(passed)]
        assert len(passed) >= min(len(data), 9_000)
        reply.answer()


def test_an_event_without_end_is_given_up():
    """Memory is bounded, and what comes is passed on."""
    reader, piece = EventReader(), b"data: " + b"x" * (1 << 20)
    for _ in range(EVENT_SIZE_BYTES_MAX // len(piece) + 2):
        assert reader.feed(piece) == []
    assert reader.is_given_up
    assert reader.feed(b"\n\ndata: 1\n\n") == []


def test_events():
    """As the standard has it: several data lines, comments, names, white space."""
    assert EventReader().feed(b":c\nevent: a\ndata: 1\ndata:2\nid: 3\n\ndata\n\n\nevent: b\n\n") == [
        Event("a", "1\n2"),
        Event("", ""),
    ]


def test_an_encoded_reply_is_not_read():
    """It is passed on as it is."""
    reply = Reply("anthropic", 400, "application/json", encoded=True, can_retry=True)
    assert reply.feed(b"\x1f\x8b") == b"\x1f\x8b"
    assert reply.end() == b""
    assert not reply.may_retry
