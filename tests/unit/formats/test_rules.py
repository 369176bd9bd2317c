"""What providers refuse beyond the shape of a message: `validate` says it, and no view has it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import plimsoll
from plimsoll.formats.exchange import NO_RESULT
from plimsoll.tokens.framing import MessageCounter

Wire = dict[str, Any]
HI: Wire = {"role": "user", "content": "hi"}
MARK = {"cache_control": {"type": "ephemeral"}}
LONG_MARK = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}


def codes(messages: list[Wire], **options: Any) -> set[str]:
    """What is wrong with some messages."""
    return {found.code for found in plimsoll.validate(messages, **options)}


def taken(messages: list[Wire], format: str) -> list[Wire]:
    """The view of some messages, which is valid, the same by `fit` and by a session, and leaves the history alone."""
    before = json.dumps(messages)
    view = plimsoll.fit(messages, max_tokens=20_000, format=format).messages
    assert codes(view, format=format) == set()
    assert plimsoll.fit(view, max_tokens=20_000, format=format).messages == view
    with plimsoll.open("one", store="memory:", max_tokens=20_000, format=format, project=False) as session:
        for message in messages:
            session.append(message)
            assert codes(session.view(), format=format) == set()
        assert session.view() == view
        assert session.history() == json.loads(before)
    assert json.dumps(messages) == before
    return view


def chat_call(id: str, name: str = "f") -> Wire:
    """An assistant's message with a call."""
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": id, "type": "function", "function": {"name": name, "arguments": "{}"}}],
    }


def block_call(id: str, name: str = "f") -> Wire:
    """The same for Anthropic."""
    return {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": name, "input": {}}]}


def block_result(id: str, content: Any = "done", **more: Any) -> Wire:
    """A result for Anthropic."""
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content, **more}]}


def item_call(id: str, name: str = "f") -> Wire:
    """A call for Responses."""
    return {"type": "function_call", "call_id": id, "name": name, "arguments": "{}"}


@pytest.mark.parametrize(
    ("format", "call", "result", "id_chars", "name_chars"),
    [
        (
            "openai-chat",
            chat_call,
            lambda call_id: {"role": "tool", "tool_call_id": call_id, "content": "done"},
            40,
            64,
        ),
        (
            "openai-responses",
            item_call,
            lambda call_id: {"type": "function_call_output", "call_id": call_id, "output": "done"},
            64,
            128,
        ),
        ("anthropic", block_call, block_result, 64, 200),
    ],
)
def test_ids_and_names_are_as_long_as_the_provider_takes(
    format: str, call: Any, result: Any, id_chars: int, name_chars: int
) -> None:
    """A longer id is another one in call and result alike, a longer name is cut; those that fit stay."""
    fits = [HI, call("i" * id_chars, "n" * name_chars), result("i" * id_chars)]
    assert taken(fits, format) == fits
    for id, name, code in (
        ("i" * (id_chars + 1), "f", "bad_id"),
        ("a", "n" * (name_chars + 1), "bad_name"),
        ("i" * 100, "n" * 300, "bad_id"),
    ):
        messages = [HI, call(id, name), result(id)]
        assert code in codes(messages, format=format)
        view = taken(messages, format)
        assert NO_RESULT not in str(view)
        assert "done" in str(view)


@pytest.mark.parametrize("name", ["John Doe", "a/b", "x" * 65, "<|im|>", "", "\n"])
def test_the_name_of_who_speaks(name: str) -> None:
    """OpenAI refuses names with white space, slashes, angle brackets and bars; those signs become `_`."""
    messages = [{**HI, "name": name}]
    assert codes(messages) == {"bad_name"}
    assert 1 <= len(taken(messages, "openai-chat")[0]["name"]) <= 64


def marked(number: int, mark: dict[str, Any] = MARK) -> list[Wire]:
    """As many rounds with a mark on the newest message, as agents set it."""
    rounds = [
        (
            {"role": "user", "content": [{"type": "text", "text": f"t{n}", **mark}]},
            {"role": "assistant", "content": "ok"},
        )
        for n in range(number)
    ]
    return [message for round in rounds for message in round]


def marks(messages: list[Wire]) -> list[int]:
    """The positions of the marked messages."""
    return [at for at, message in enumerate(messages) if "cache_control" in json.dumps(message)]


def test_a_view_keeps_the_last_four_cache_marks() -> None:
    """The history keeps every mark, the view the last four; `validate` knows the limit."""
    messages = [*marked(7), HI]
    assert codes(messages) == {"too_many_cache_marks"}
    assert marks(taken(messages, "anthropic")) == [6, 8, 10, 12]
    assert taken(marked(4), "anthropic") == marked(4)
    assert marks(plimsoll.window(messages, max_tokens=20_000, policy="fill").messages) == [6, 8, 10, 12]


def test_marks_in_tools_and_system_text_count_too() -> None:
    """Four in all: what the tools and the system text have is not left for messages."""
    tools = [{"name": "f", "input_schema": {"type": "object"}, **MARK}]
    system: Any = [{"type": "text", "text": "be brief", **MARK}]
    beside: dict[str, Any] = {"tools": tools, "system": system}
    assert codes(marked(3), **beside) == {"too_many_cache_marks"}
    assert codes(marked(2), **beside) == set()
    fitted = plimsoll.fit(marked(5), max_tokens=20_000, **beside)
    assert marks(fitted.messages) == [6, 8]
    assert codes(fitted.messages, tools=tools, system=fitted.system) == set()
    with plimsoll.open("one", store="memory:", max_tokens=20_000, project=False, **beside) as session:
        session.extend(marked(5))
        assert session.view() == fitted.messages
        assert codes(session.preview().apply().messages, **beside) == set()
    many: Any = [{"type": "text", "text": f"rule {n}", **MARK} for n in range(6)]
    fitted = plimsoll.fit(marked(2), max_tokens=20_000, system=many)
    assert codes(fitted.messages, system=fitted.system) == set()
    assert json.dumps(many).count("cache_control") == 6


def test_marks_inside_results_count_too() -> None:
    """A mark on a block of a tool result is one of the four."""
    inner = [{"type": "text", "text": f"t{n}", **MARK} for n in range(5)]
    messages = [HI, block_call("a"), block_result("a", inner)]
    assert codes(messages) == {"too_many_cache_marks"}
    assert json.dumps(taken(messages, "anthropic")).count("cache_control") == 4


def test_a_long_lived_mark_comes_before_short_lived_ones() -> None:
    """Anthropic refuses ttl 1h after 5m: such a mark goes, the others stay."""
    messages = [*marked(1), *marked(1, LONG_MARK), HI]
    assert codes(messages) == {"cache_mark_order"}
    assert marks(taken(messages, "anthropic")) == [0]
    right = [*marked(1, LONG_MARK), *marked(1), HI]
    assert taken(right, "anthropic") == right


@pytest.mark.slow
def test_a_growing_view_of_marks_is_written_as_if_anew() -> None:
    """Marks that leave change nothing else, however long the view is."""
    messages = marked(120)
    with plimsoll.open("one", store="memory:", max_tokens=100_000, format="anthropic", project=False) as session:
        for message in messages:
            session.append(message)
            view = session.view()
            assert len(marks(view)) <= 4
        assert session.view() == plimsoll.fit(messages, max_tokens=100_000).messages
    plain = json.loads(json.dumps(messages).replace(f", {json.dumps(MARK)[1:-1]}", ""))
    unmarked = json.loads(json.dumps(view).replace(f", {json.dumps(MARK)[1:-1]}", ""))
    assert unmarked == plain


IMAGE = {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (block_result("a", [IMAGE], is_error=True), "failed_result_not_text"),
        (block_result("a", [{"type": "text", "text": "no"}, IMAGE], is_error=True), "failed_result_not_text"),
        (block_result("a", [{"type": "tool_use", "id": "b", "name": "f", "input": {}}]), "wrong_place"),
        (block_result("a", [{"type": "thinking", "thinking": "hm", "signature": "s"}]), "wrong_place"),
        (block_result("a", [{"type": "image", "source": {"type": "base64", "data": "aa"}}]), "wrong_type"),
        (block_result("a", "done", cache_control={"type": "forever"}), "wrong_type"),
        (block_result("a", "done", note="mine"), "unknown_field"),
    ],
)
def test_results_hold_what_anthropic_takes(message: Wire, code: str) -> None:
    """Media in a failed result, blocks that stand elsewhere, media without bytes, odd marks: words take their place."""
    messages = [HI, block_call("a"), message]
    assert code in codes(messages, format="anthropic")
    taken(messages, "anthropic")


@pytest.mark.parametrize(
    ("messages", "format"),
    [
        ([HI, {"role": "user", "content": None, "id": "m1"}], "openai-chat"),
        ([HI, {"role": "user", "content": None, "extra_content": {"a": 1}}], "openai-chat"),
        ([HI, {"role": "assistant", "content": "a"}, {"role": "user", "content": "", "timestamp": 5}, HI], "anthropic"),
        ([HI, {"role": "assistant", "content": "a", "id": "m", "created_at": 5, "usage": {}}], "openai-chat"),
        ([HI, {"type": "message", "role": "user", "content": [], "timestamp": 5}], "openai-responses"),
        (
            [
                HI,
                {
                    "role": "assistant",
                    "content": [{"type": "text", "text": "a", "parsed_output": {"x": 1}}],
                    "model": "m",
                },
            ],
            "anthropic",
        ),
    ],
)
def test_fields_of_the_host_stay_in_the_history(messages: list[Wire], format: str) -> None:
    """Fields that a request may not have are named, kept in the history and not sent; without them a message may be empty."""
    assert codes(messages, format=format) & {"unknown_field", "empty_content"}
    view = taken(messages, format)
    for field in ("timestamp", "created_at", "usage", "parsed_output", "model"):
        assert field not in json.dumps(view)


@pytest.mark.parametrize(
    ("messages", "tools"),
    [
        (
            [HI],
            [{"type": "function", "function": {"name": "read"}}, {"type": "function", "function": {"name": "read"}}],
        ),
        (
            [HI],
            [
                {"type": "function", "name": "read", "parameters": {}},
                {"type": "function", "name": "read", "parameters": {}},
            ],
        ),
        ([HI], [{"name": "read", "input_schema": {}}, {"name": "read", "input_schema": {}}]),
    ],
)
def test_tools_have_names_of_their_own(messages: list[Wire], tools: list[Wire]) -> None:
    """Two tools of one name, and names that no provider takes, are named, without a position."""
    found = plimsoll.validate(messages, tools=tools)
    assert [(one.code, one.position) for one in found] == [("duplicate_tool", None)]
    assert codes(messages, tools=tools[:1]) == set()
    odd = json.loads(json.dumps(tools[:1]).replace("read", "read it"))
    assert codes(messages, tools=odd) == {"bad_name"}


@pytest.mark.spec("S3-13", "W3-02")
@pytest.mark.parametrize("to", ["openai-chat", "openai-responses", "anthropic", "ui-parts"])
@pytest.mark.parametrize(
    ("messages", "format"),
    [
        ([HI, chat_call("c1"), {"role": "user", "content": "go on"}], "openai-chat"),
        ([HI, item_call("c1"), {"role": "user", "content": "go on"}], "openai-responses"),
        ([HI, block_call("c1")], "anthropic"),
        ([{"id": "1", "role": "user", "parts": [{"type": "text", "text": "hi"}]}, {"id": "2", "role": "assistant", "parts": [{"type": "tool-f", "toolCallId": "c1", "state": "input-available", "input": {}}]}], "ui-parts"),
        ([HI, chat_call("c1"), {"role": "user", "content": "never mind"}, chat_call("c1"), {"role": "tool", "tool_call_id": "c1", "content": "done"}], "openai-chat"),
    ],
)  # fmt: skip
def test_a_pending_call_is_converted_with_words_for_its_result(messages: list[Wire], format: Any, to: Any) -> None:
    """A call that nobody answered is in the losses, and what it becomes is valid."""
    if to == format:
        return
    converted = plimsoll.convert(messages, to=to, format=format)
    assert codes(converted.messages, format=to) == set()
    assert [loss.what for loss in converted.losses].count("tool call") == 1
    assert json.dumps(converted.messages).count(NO_RESULT) == 1
    assert "[tool error]" not in json.dumps(converted.messages)


def test_one_id_for_a_custom_tool_and_then_a_function() -> None:
    """Each output of a conversion to Responses is of the kind of its call."""
    custom = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "f", "input": "x"}}],
    }
    answer = {"role": "tool", "tool_call_id": "c", "content": "done"}
    for first, second in ((custom, chat_call("c")), (chat_call("c"), custom)):
        items = plimsoll.convert([HI, first, answer, second, answer], to="openai-responses").messages[1:]
        kinds = [item["type"] for item in items]
        assert [kinds[1], kinds[3]] == [f"{kinds[0]}_output", f"{kinds[2]}_output"]
        assert codes(items, format="openai-responses") == set()


@pytest.mark.parametrize("to", ["openai-chat", "openai-responses", "anthropic"])
def test_long_ids_are_converted(to: Any) -> None:
    """Ids longer than the target takes are other ones, the same in call and result."""
    source = "openai-responses" if to != "openai-responses" else "ui-parts"
    id = "x" * 300
    if source == "ui-parts":
        part = {"type": "tool-f", "toolCallId": id, "state": "output-available", "input": {}, "output": "done"}
        messages: list[Wire] = [
            {"id": "1", "role": "user", "parts": [{"type": "text", "text": "hi"}]},
            {"id": "2", "role": "assistant", "parts": [part]},
        ]
    else:
        messages = [HI, item_call(id), {"type": "function_call_output", "call_id": id, "output": "done"}]
    assert codes(plimsoll.convert(messages, to=to, format=source).messages, format=to) == set()


def test_text_beside_a_document_in_a_result_is_counted() -> None:
    """The context and the title of a document inside a tool result cost what they say."""
    words = "word and other " * 1_000
    document = {
        "type": "document",
        "source": {"type": "base64", "media_type": "application/pdf", "data": "aaaa"},
        "context": words,
    }
    messages = [HI, block_call("a"), block_result("a", [document])]

    assert plimsoll.count_tokens(messages) > plimsoll.count_tokens(words)
    assert plimsoll.count_tokens(plimsoll.fit(messages, max_tokens=1_000).messages, format="anthropic") <= 1_000


@pytest.mark.slow
@pytest.mark.parametrize("same", [True, False])
def test_many_parts_in_one_message_are_weighed_a_few_times(same: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times as many results in one message are about four times the work, not sixteen times."""
    weighed = 0
    part = MessageCounter.part

    def counting(self: MessageCounter, one: Any) -> int:
        nonlocal weighed
        weighed += 1
        return part(self, one)

    monkeypatch.setattr(MessageCounter, "part", counting)

    def work(number: int) -> int:
        nonlocal weighed
        texts = ["out " * 50 if same else f"{n} " * 60 for n in range(number)]
        calls = [{"type": "tool_use", "id": f"t{n}", "name": "f", "input": {"a": "b " * 20}} for n in range(number)]
        results = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": text} for n, text in enumerate(texts)]
        messages = [
            HI,
            {"role": "assistant", "content": calls},
            {"role": "user", "content": results},
            *[{"role": "assistant", "content": "ok"}, HI] * 3,
        ]
        weighed = 0
        plimsoll.fit(messages, max_tokens=2_000, policy="ladder")
        return weighed

    assert work(400) < 8 * work(100)
