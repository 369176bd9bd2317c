"""Objects of the official SDKs, appended and fitted as the SDKs' own documents do it."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

import plimsoll
from plimsoll.errors import FormatError

anthropic = pytest.importorskip("anthropic.types")
chat = pytest.importorskip("openai.types.chat")
responses = pytest.importorskip("openai.types.responses")
pydantic = pytest.importorskip("pydantic")

Wire = dict[str, Any]
HI: Wire = {"role": "user", "content": "hi"}
TOOLS = [{"name": "read_file", "description": "reads", "input_schema": {"type": "object", "properties": {}}}]


def thinking() -> Any:
    """A signed thinking block."""
    return anthropic.ThinkingBlock(type="thinking", thinking="hm", signature="s")


def use(id: str = "t1") -> Any:
    """A tool_use block; its input holds a null of its own."""
    return anthropic.ToolUseBlock(type="tool_use", id=id, name="read_file", input={"path": "a", "line": None})


def text(words: str = "Let me see.") -> Any:
    """A text block as a response holds it."""
    return anthropic.TextBlock(type="text", text=words, citations=None)


def message(*blocks: Any) -> Any:
    """A whole response of the Messages API."""
    usage = anthropic.Usage(input_tokens=1, output_tokens=2)
    return anthropic.Message(
        id="msg_1",
        type="message",
        role="assistant",
        model="claude-x",
        content=list(blocks),
        usage=usage,
        stop_reason="tool_use",
    )


def result(id: str = "t1", content: str = "1") -> Wire:
    """The user's message with the result of a call."""
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": content}]}


def without_nulls(view: list[Wire]) -> list[Wire]:
    """The messages without the optional fields of blocks that a dump holds as null, which the API takes as absent."""
    blocks = (block for one in view if isinstance(one["content"], list) for block in one["content"])
    for block in blocks:
        for field in [field for field, value in block.items() if value is None]:
            assert field in ("citations", "toolset_name")
            del block[field]
    return view


ANSWER = [
    {"signature": "s", "thinking": "hm", "type": "thinking"},
    {"text": "Let me see.", "type": "text"},
    {"id": "t1", "input": {"path": "a", "line": None}, "name": "read_file", "type": "tool_use"},
]
VIEW = [HI, {"role": "assistant", "content": ANSWER}, result()]


@pytest.mark.parametrize(
    "answer",
    [
        lambda: {"role": "assistant", "content": [thinking(), text(), use()]},
        lambda: {"role": "assistant", "content": (thinking(), text().model_dump(), use())},
        lambda: message(thinking(), text(), use()),
        lambda: message(thinking(), text(), use()).model_dump(),
    ],
)
def test_an_anthropic_answer_is_taken_as_it_comes(answer: Callable[[], Any]) -> None:
    """`response.content`, `response` and its dump give the same request everywhere: blocks stay blocks, the rest is left out."""
    said = [HI, answer(), result()]
    with plimsoll.open("one", store="memory:", max_tokens=4_000, project=False) as session:
        for one in said:
            session.append(one)
        assert without_nulls(session.view()) == VIEW
        assert session.format == "anthropic"

    assert without_nulls(plimsoll.fit(said, max_tokens=4_000).messages) == VIEW
    assert without_nulls(plimsoll.window(said, max_tokens=4_000, policy="fill").messages) == VIEW
    assert plimsoll.count_tokens(said) == plimsoll.count_tokens(VIEW)
    assert plimsoll.check(said, max_tokens=4_000).current_tokens > 0
    assert without_nulls(plimsoll.convert(said, to="anthropic").messages) == VIEW
    assert [
        call["function"]["name"] for call in plimsoll.convert(said, to="openai-chat").messages[1]["tool_calls"]
    ] == ["read_file"]
    assert plimsoll.validate(VIEW) == []


def test_a_cut_view_of_sdk_blocks_shows_no_json() -> None:
    """Cut to a fraction, thinking and calls from the SDK leave or stay whole; nothing is shown as the text of its JSON."""
    said: list[Any] = [HI]
    for number in range(20):
        said += [message(thinking(), text(), use(f"t{number}")), result(f"t{number}", "found " * 80)]
    fitted = plimsoll.fit(said, max_tokens=1_500)

    assert '{"signature' not in str(fitted.messages)
    assert plimsoll.validate(fitted.messages) == []


def test_history_keeps_the_whole_response() -> None:
    """What the view leaves out of a response is in the history: id, model and usage."""
    with plimsoll.open("one", store="memory:", max_tokens=4_000, project=False) as session:
        session.extend([HI, message(text())])
        assert session.history()[1]["usage"] == {"input_tokens": 1, "output_tokens": 2}
        assert session.view()[1] == {"role": "assistant", "content": [{"text": "Let me see.", "type": "text"}]}


def completion(content: str | None, **fields: Any) -> Any:
    """A whole chat completion."""
    said = chat.ChatCompletionMessage(role="assistant", content=content, refusal=None, annotations=[], **fields)
    choice = {"index": 0, "finish_reason": "stop", "message": said, "logprobs": None}
    return chat.ChatCompletion(id="c", object="chat.completion", created=1, model="gpt-4o", choices=[choice])


def call(id: str = "c1") -> Any:
    """A chat call with arguments that the SDK parsed."""
    parsed = pytest.importorskip("openai.types.chat.parsed_function_tool_call")
    function = parsed.ParsedFunction(name="read_file", arguments='{"path":"a"}', parsed_arguments={"path": "a"})
    return parsed.ParsedFunctionToolCall(id=id, type="function", function=function)


class Answer(pydantic.BaseModel):
    """What a structured answer is parsed into."""

    x: int


def test_chat_messages_and_whole_completions() -> None:
    """A message, a parsed message and a whole completion give the fields of a request and no others."""
    parsed = chat.ParsedChatCompletionMessage[Answer](
        role="assistant", content='{"x":1}', parsed=Answer(x=1), tool_calls=[call()]
    )
    answer = {"role": "tool", "tool_call_id": "c1", "content": "1"}
    said = [HI, completion("Hello."), HI, parsed, answer, completion("Done.").choices[0].message]
    function = {"name": "read_file", "arguments": '{"path":"a"}'}
    view = [
        HI,
        {"role": "assistant", "content": "Hello."},
        HI,
        {
            "role": "assistant",
            "content": '{"x":1}',
            "tool_calls": [{"id": "c1", "type": "function", "function": function}],
        },
        answer,
        {"role": "assistant", "content": "Done."},
    ]

    assert plimsoll.fit(said, max_tokens=4_000).messages == view
    with plimsoll.open("one", store="memory:", max_tokens=4_000, project=False) as session:
        for one in said:
            session.append(one)
        assert session.view() == view
        assert session.format == "openai-chat"
    assert {found.code for found in plimsoll.validate(said)} == {"unknown_field"}
    assert plimsoll.validate(view) == []


def test_a_completion_with_choices_has_to_be_chosen_from() -> None:
    """With several choices only the caller knows which one was said."""
    several = completion("a")
    several.choices *= 2
    with pytest.raises(FormatError, match="2 choices"):
        plimsoll.fit([HI, several], max_tokens=4_000)


def test_a_responses_response_is_its_output() -> None:
    """A whole response stands for the items in it, appended or fitted."""
    words = responses.ResponseOutputText(type="output_text", text="Let me see.", annotations=[])
    answer = responses.ResponseOutputMessage(
        id="m", type="message", role="assistant", status="completed", content=[words]
    )
    asked = responses.ResponseFunctionToolCall(
        type="function_call", call_id="c1", name="f", arguments="{}", id="fc", status="completed"
    )
    response = responses.Response.model_construct(id="r", object="response", output=[answer, asked])
    output = {"type": "function_call_output", "call_id": "c1", "output": "1"}
    with plimsoll.open("one", store="memory:", max_tokens=4_000, project=False) as session:
        session.append(HI)
        assert session.can_append(response)
        assert session.append(response) == "m2"
        session.append(output)
        view = session.view()
        assert session.format == "openai-responses"

    assert [item.get("type", "said") for item in view] == ["said", "message", "function_call", "function_call_output"]
    assert plimsoll.fit([HI, response, output], max_tokens=4_000).messages == view
    assert plimsoll.validate(view) == []


def test_positions_are_those_of_the_list_that_was_given() -> None:
    """A whole response is one message of its list, for all that names messages by their positions."""
    said = [HI]
    for number in range(6):
        calls = [
            responses.ResponseFunctionToolCall(
                type="function_call", call_id=f"{name}{number}", name="f", arguments='{"path": "src/a.py"}'
            )
            for name in "ab"
        ]
        said.append(responses.Response.model_construct(id="r", object="response", output=calls))
        said += [
            {"type": "function_call_output", "call_id": f"{name}{number}", "output": f"{number} {name} words " * 80}
            for name in "ab"
        ]
    last = len(said) - 1

    plan = plimsoll.plan(said, max_tokens=900)
    assert [(act.first, act.last) for act in plan.actions] == [(0, 0), *((n, n + 2) for n in range(1, last, 3))]
    report = plan.report
    assert (report.actions[-1].last, report.messages_before) == (last, len(said))
    assert report.lost[-1].last < last
    assert report.messages_kept == len({at for where in plan.apply().origins for at in where})

    window = plimsoll.window(said, max_tokens=900)
    assert window.positions == (0, last - 2, last - 2, last - 1, last)
    assert (window.excluded_count, window.holes) == (last - 3, ((1, last - 2),))
    assert (window.last_included, window.last_included_seq) == (last, last)
    assert plimsoll.window(said, start_seq=last - 2).positions == (last - 2, last - 2, last - 1, last)

    open_call = {"type": "function_call", "call_id": "open", "name": "f", "arguments": "{}"}
    assert [loss.position for loss in plimsoll.convert([*said, open_call, HI], to="openai-chat").losses] == [last + 1]
    orphan = {"type": "function_call_output", "call_id": "none", "output": "1"}
    assert [found.position for found in plimsoll.validate([*said, orphan])] == [last + 1]
    assert plimsoll.files_mentioned(said)[0].last_mentioned == last - 2
    for call in (plimsoll.fit, plimsoll.validate, plimsoll.window):
        with pytest.raises(FormatError, match=f"message {last + 1}") as error:
            call([*said, {"role": "user", "content": 5 if call is not plimsoll.validate else {1, 2}}])
        assert error.value.position == last + 1


def test_the_id_of_a_whole_response_is_that_of_its_last_item_and_an_empty_one_adds_nothing() -> None:
    """By `append` and by `aappend`. Only where nothing was said yet is there no id to give."""
    words = responses.ResponseOutputText(type="output_text", text="Let me see.", annotations=[])
    said = [
        responses.ResponseOutputMessage(id=id, type="message", role="assistant", status="completed", content=[words])
        for id in ("msg_1", "msg_2")
    ]
    full, empty = (
        responses.Response.model_construct(id="r", object="response", output=output) for output in (said, [])
    )

    async def appended(session: plimsoll.Session) -> list[str]:
        return [await session.aappend(response) for response in (full, empty)]

    with plimsoll.open("one", store="memory:", format="openai-responses") as session:
        with pytest.raises(FormatError, match="without output"):
            session.append(empty)
        session.append(HI)
        assert [session.append(full), session.append(empty)] == ["m2", "m2"]
        assert asyncio.run(appended(session)) == ["m4", "m4"]
        assert len(session.history()) == 5


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"model": "claude-sonnet-4-5"}, "anthropic"),
        ({"model": "us.anthropic.claude-sonnet-4-5-20250929-v1:0"}, "anthropic"),
        ({"model": "openrouter/anthropic/claude-sonnet-4.5"}, "openai-chat"),
        ({"model": "gpt-4o"}, "openai-chat"),
        ({"system": "Be brief."}, "anthropic"),
        ({"tools": TOOLS}, "anthropic"),
        ({"tools": [{"type": "function", "function": {"name": "f"}}], "model": "claude-sonnet-4-5"}, "openai-chat"),
        ({"tools": [{"type": "function", "name": "f", "parameters": {}}]}, "openai-responses"),
    ],
)
def test_what_stands_beside_messages_tells_their_format(options: dict[str, Any], expected: str) -> None:
    """Tools, a system text and the model's name tell the format of messages that could be in several."""
    said = [{"role": "assistant", "content": "Hello, how can I help?"}, HI]
    with plimsoll.open("one", store="memory:", max_tokens=4_000, project=False, **options) as session:
        session.extend(said)
        assert session.format == expected
        assert plimsoll.validate(session.view(), format=expected) == []
    opens = "first_not_user" in {found.code for found in plimsoll.validate(said, **options)}
    assert opens == (expected == "anthropic")
    assert plimsoll.validate(plimsoll.fit(said, max_tokens=4_000, **options).messages, format=expected) == []


def test_messages_tell_more_than_the_model() -> None:
    """A system message, or a call, says that a router is spoken to: its format is not that of the model's maker."""
    system = {"role": "system", "content": "Be brief."}
    with plimsoll.open("one", store="memory:", model="claude-sonnet-4-5", max_tokens=4_000, project=False) as session:
        session.extend([system, HI])
        assert session.format == "openai-chat"
        assert session.view() == [system, HI]
    assert plimsoll.fit([system, HI], model="claude-sonnet-4-5").messages == [system, HI]


@dataclasses.dataclass
class ModelRequest:
    """A message of a framework."""

    parts: list[Any]


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("langchain_core.messages.human", "LangChain: .*convert_to_openai_messages"),
        ("pydantic_ai.messages", "Pydantic AI: .*VercelAIAdapter.dump_messages"),
    ],
)
def test_a_message_of_a_framework_names_what_converts_it(
    module: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Objects of agent frameworks are refused with their name and the function that makes messages of them."""
    monkeypatch.setattr(ModelRequest, "__module__", module)
    item: Any = ModelRequest(parts=[])
    with plimsoll.open("one", store="memory:", project=False) as session:
        for take in (plimsoll.validate, plimsoll.count_tokens, plimsoll.fit, session.extend):
            with pytest.raises(FormatError, match=words) as caught:
                take([HI, item])
            assert caught.value.position == 1


def test_a_dumped_langchain_message_is_known_too() -> None:
    """Its `type` is a role's name, and it has no role."""
    with pytest.raises(FormatError, match="convert_to_openai_messages"):
        plimsoll.validate([{"type": "human", "content": "hi", "additional_kwargs": {}}])


def test_what_is_no_message_is_told_what_to_give() -> None:
    """A piece of a stream and a list of messages are refused with what to do instead."""
    piece = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Hel"}}]}
    with plimsoll.open(store="memory:") as session:
        with pytest.raises(FormatError, match="a piece of a stream"):
            session.append(piece)
        with pytest.raises(FormatError, match="is for `extend`"):
            session.append([{"role": "user", "content": "Hello."}])  # type: ignore[arg-type]
        assert session.history() == []


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({"model": "gpt-4o", "messages": []}, "not dict: give the 'messages' of the request"),
        ({"model": "gpt-5", "input": []}, "not dict: give the 'input' of the request"),
        ({"role": "user", "content": "Hello."}, "not dict; put a single message into a list"),
        ({"text": "Hello."}, "must be a list, not dict; nothing"),
        ("Hello.", "must be a list, not str; nothing"),
    ],
)
def test_what_is_no_list_is_told_what_to_give(given: Any, hint: str) -> None:
    """A whole request or a single message in place of a list is refused with what to give."""
    with pytest.raises(FormatError, match=hint):
        plimsoll.fit(given, max_tokens=100)
    with plimsoll.open(store="memory:") as session, pytest.raises(FormatError, match=hint):
        session.extend(given)
