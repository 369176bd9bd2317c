"""Results that do not directly follow their calls: each is shown behind its call, whenever and wherever it comes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import plimsoll
import proof
from plimsoll.compaction.settle import NO_RESULT
from plimsoll.formats.openai_chat.codec import legacy_call_id

Wire = dict[str, Any]
HI: Wire = {"role": "user", "content": "hi"}


def user(text: str) -> Wire:
    """What a person says."""
    return {"role": "user", "content": text}


def said(text: str) -> Wire:
    """What the model says."""
    return {"role": "assistant", "content": text}


def chat_calls(*ids: str) -> list[Wire]:
    """One answer with calls."""
    calls = [{"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}} for id in ids]
    return [{"role": "assistant", "content": None, "tool_calls": calls}]


def chat_result(id: str) -> Wire:
    """A tool's answer."""
    return {"role": "tool", "tool_call_id": id, "content": f"found {id}"}


def item_calls(*ids: str) -> list[Wire]:
    """The same as Responses items."""
    return [{"type": "function_call", "call_id": id, "name": "f", "arguments": "{}"} for id in ids]


def item_result(id: str) -> Wire:
    """The same as a Responses item."""
    return {"type": "function_call_output", "call_id": id, "output": f"found {id}"}


def block_calls(*ids: str) -> list[Wire]:
    """The same as an Anthropic message."""
    return [{"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "f", "input": {}} for id in ids]}]


def block_result(id: str, *words: str) -> Wire:
    """The same as an Anthropic message, with the user's words beside it."""
    result = {"type": "tool_result", "tool_use_id": id, "content": f"found {id}"}
    return {"role": "user", "content": [result, *({"type": "text", "text": text} for text in words)]}


MAKERS: dict[str, tuple[Callable[..., list[Wire]], Callable[[str], Wire]]] = {
    "openai-chat": (chat_calls, chat_result),
    "openai-responses": (item_calls, item_result),
    "anthropic": (block_calls, block_result),
}
BETWEEN = {
    "user": [user("wait")],
    "system": [{"role": "system", "content": "approved"}],
    "assistant": [said("still at work")],
    "more": [user("wait"), said("I wait."), user("go on")],
}


def spread(format: str, between: list[Wire]) -> list[Wire]:
    """A history in which other messages come before, between and after the results of two calls."""
    calls, result = MAKERS[format]
    return [HI, *calls("a", "b"), *between, result("b"), *between, result("a"), said("Both are there."), user("thanks")]


def session_of(messages: list[Wire], **options: Any) -> plimsoll.Session:
    """A session that was told these messages one by one, and asked for its view after each."""
    session = plimsoll.open("one", **{"store": "memory:", "max_tokens": 4_000, "project": False, **options})
    for one in messages:
        session.append(one)
        view = session.view()
        assert plimsoll.validate(view, format=session.format) == []
        assert session.status().current_tokens >= plimsoll.count_tokens(view, format=session.format)
    return session


@pytest.mark.slow
@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize("format", MAKERS)
def test_a_message_between_leaves_no_orphan(tmp_path: Path, format: Any, between: str) -> None:
    """Whatever is said between calls and results, both are in every view, fitted, compacted, undone and opened again."""
    messages = spread(format, BETWEEN[between])
    expected = plimsoll.fit(messages, max_tokens=4_000, format=format).messages
    with session_of(messages, format=format, store=tmp_path) as session:
        view = session.view()
        session.extend([said("alpha beta " * 300), user("and now?")])
        long = session.view()
        done = session.compact()
        compacted = session.view()
        assert done.id is not None
        assert plimsoll.validate(compacted, format=format) == []
        session.rollback(done.id)
        assert session.view() == long
        session.reapply(done.id)
    with plimsoll.open("one", store=tmp_path) as session:
        assert session.view() == compacted
        assert session.history()[: len(messages)] == messages

    assert view == expected
    assert plimsoll.validate(view, format=format) == []
    assert NO_RESULT not in str(view)
    assert "not shown" not in str(view)
    assert all(f"found {id}" in str(view) for id in "ab")


@pytest.mark.parametrize("format", MAKERS)
def test_what_validate_passes_a_session_shows(format: Any) -> None:
    """A history that the provider takes as it is comes back as it is, results in a row joined where the provider joins them."""
    for between in BETWEEN.values():
        messages = spread(format, between)
        if not plimsoll.validate(messages, format=format):
            assert session_of(messages, format=format).view() == messages
            assert plimsoll.fit(messages, max_tokens=4_000, format=format).messages == messages


@pytest.mark.parametrize("words", [(), ("as you asked",)])
def test_parallel_results_one_message_each_go_out_as_one(words: tuple[str, ...]) -> None:
    """Results that answer one Anthropic message are joined, before what the user says beside them."""
    messages = [
        HI,
        *block_calls("a", "b", "c"),
        block_result("a", *words),
        block_result("b"),
        block_result("c"),
        said("done"),
    ]
    joined = [block for one in messages[2:5] for block in one["content"]]
    joined.sort(key=lambda block: block["type"] != "tool_result")
    view = [*messages[:2], {"role": "user", "content": joined}, messages[5]]

    assert session_of(messages).view() == view
    fitted = plimsoll.fit(messages, max_tokens=4_000)
    assert fitted.messages == view
    assert fitted.origins == ((0,), (1,), (2, 3, 4), (5,))
    assert plimsoll.window(messages, max_tokens=4_000, policy="fill").messages == view


def test_a_late_result_beside_words_moves_alone() -> None:
    """An Anthropic message that answers an older call and says something is two: the result moves up, the words stay."""
    messages = [HI, *block_calls("a"), user("wait"), said("I wait."), block_result("a", "there it is"), said("Thanks.")]
    view = session_of(messages).view()

    assert view[2]["content"] == [*block_result("a")["content"], {"type": "text", "text": "wait"}]
    assert view[4]["content"] == [{"type": "text", "text": "there it is"}]
    assert plimsoll.fit(messages, max_tokens=4_000).messages == view


@pytest.mark.parametrize("format", MAKERS)
def test_an_id_used_again_belongs_to_the_newer_call(format: Any) -> None:
    """A result answers the newest call of its id; an older one that waits for it gets a placeholder."""
    calls, result = MAKERS[format]
    messages = [HI, *calls("a"), user("never mind"), *calls("a"), result("a"), said("done")]
    view = session_of(messages, format=format).view()

    assert json.dumps(view).index(NO_RESULT) < json.dumps(view).index("never mind") < json.dumps(view).index("found a")
    assert plimsoll.fit(messages, max_tokens=4_000, format=format).messages == view


def codex_file(between: str) -> bytes:
    """A Codex session in which a developer's message stands between a call and its output."""
    lines: list[Wire] = [{"type": "session_meta", "payload": {"id": "s1", "cwd": "/x", "cli_version": "0.1"}}]

    def item(**payload: Any) -> None:
        lines.append({"type": "response_item", "payload": payload})

    def message(role: str, text: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        item(type="message", role=role, content=[{"type": kind, "text": text}])

    message("user", "Fix the tests")
    for number in range(6):
        message("user", f"now part {number} " + "alpha " * 100)
        message("assistant", f"part {number} done " + "beta " * 100)
    message("assistant", "I will look. " + "gamma " * 3000)
    item(type="function_call", name="exec_command", arguments='{"cmd":"ls"}', call_id="call_1")
    message(between, "approved")
    item(type="function_call_output", call_id="call_1", output="a.py b.py")
    message("assistant", "I see two files.")
    return "".join(json.dumps({"timestamp": "2026-01-01T00:00:00Z", **line}) + "\n" for line in lines).encode()


@pytest.mark.slow
@pytest.mark.parametrize("between", ["developer", "user", "assistant"])
def test_an_imported_message_between_leaves_no_orphan(between: str) -> None:
    """A view as another tool left it is put in order for a compaction: call and output stay or leave together."""
    from plimsoll.session.transfer.import_file import import_file

    with import_file(codex_file(between), name="x", store="memory:") as session:
        assert plimsoll.validate(session.view(), format="openai-responses") == []
        assert session.compact().id is not None
        for _ in range(3):
            view = session.view()
            assert plimsoll.validate(view, format="openai-responses") == []
            session.extend([user("and now? " + "delta " * 2_000), said("done")])
            session.compact()


@pytest.mark.slow
@pytest.mark.parametrize(
    "first",
    [
        [said("Hello, how can I help?"), HI],
        [{"role": "system", "content": "Be brief"}, HI],
        [HI, said(""), user("x")],
        [HI, {"role": "assistant", "content": []}, user("x")],
    ],
)
@pytest.mark.parametrize("compacts", [False, True])
def test_messages_before_the_format_was_known_are_repaired(tmp_path: Path, first: list[Wire], compacts: bool) -> None:
    """Once a message tells that the session is Anthropic's, those before it follow its rules, also opened again."""
    told = [*block_calls("a"), block_result("a")]
    padding = [said("alpha beta " * 400), user("go on")] if compacts else []
    with plimsoll.open("one", store=tmp_path, max_tokens=1_000, project=False) as session:
        session.extend([*first, *padding])
        if compacts:
            session.compact()
        session.extend(told)
        view = session.view()
        assert plimsoll.validate(view, format="anthropic") == []
    with plimsoll.open("one", store=tmp_path) as session:
        assert session.view() == view

    if not compacts:
        assert view == plimsoll.fit([*first, *told], max_tokens=1_000).messages


@pytest.mark.slow
@pytest.mark.parametrize(
    "call",
    [
        {"type": "custom_tool_call", "call_id": "c1", "name": "t", "input": "x"},
        {
            "type": "local_shell_call",
            "call_id": "c1",
            "id": "i",
            "status": "completed",
            "action": {"type": "exec", "command": ["ls"], "env": {}},
        },
        {"type": "shell_call", "call_id": "c1", "action": {"commands": ["ls"]}},
        {
            "type": "apply_patch_call",
            "call_id": "c1",
            "status": "completed",
            "operation": {"type": "delete_file", "path": "a"},
        },
    ],
)
def test_a_pending_call_keeps_its_kind_of_placeholder(tmp_path: Path, call: Wire) -> None:
    """A call of any kind waits with the placeholder that answers it, through a preview, a compaction and another opening."""
    with plimsoll.open("one", store=tmp_path, max_tokens=3_000, project=False) as session:
        for number in range(6):
            session.extend([user(f"do {number} " + "word " * 200), said("done " * 100)])
        session.append(call)
        kind = session.view()[-1]["type"]
        plan = session.preview()
        previewed = plan.apply().messages
        session.compact(plan)
        view = session.view()
    with plimsoll.open("one", store=tmp_path) as session:
        assert session.view() == view == previewed
        assert view[-1]["type"] == kind == call["type"] + "_output"
        proof.fits(view, 3_000, "openai-responses")


def test_an_id_like_that_of_a_legacy_call_is_an_id() -> None:
    """Only a `function_call` needs no answer; a call that merely has such an id does."""
    legacy = {"role": "assistant", "content": None, "function_call": {"name": "search", "arguments": "{}"}}
    converted = plimsoll.convert([HI, legacy, user("go on")], to="openai-responses").messages
    asked = [HI, *chat_calls(legacy_call_id("f")), user("go on")]
    for messages, format in ((converted, "openai-responses"), (asked, "openai-chat")):
        view = plimsoll.fit(messages, max_tokens=4_000, format=format).messages
        assert NO_RESULT in str(view)
        assert plimsoll.validate(view, format=format) == []
    assert plimsoll.fit([HI, legacy, user("go on")], max_tokens=4_000).messages == [HI, legacy, user("go on")]


def approval(approved: bool) -> list[Wire]:
    """A UI conversation that goes on after an approval was answered."""
    tool = {
        "type": "tool-rm",
        "toolCallId": "c1",
        "state": "approval-responded",
        "input": {"a": 1},
        "approval": {"id": "ap", "approved": approved},
    }
    return [
        {"id": "1", "role": "user", "parts": [{"type": "text", "text": "delete it"}]},
        {"id": "2", "role": "assistant", "parts": [tool]},
        {"id": "3", "role": "user", "parts": [{"type": "text", "text": "well?"}]},
    ]


@pytest.mark.parametrize("approved", [True, False])
def test_an_approval_that_was_answered_waits_only_at_the_end(approved: bool) -> None:
    """An answered approval may still be run while it is the newest message; once the conversation goes on it has no result."""
    messages = approval(approved)
    with session_of(messages[:2], format="ui-parts") as session:
        assert session.view() == messages[:2]
        session.append(messages[2])
        view = session.view()
        assert plimsoll.validate(view) == []
        assert NO_RESULT in str(view)
        assert session.history() == messages
        assert session.status().current_tokens == plimsoll.count_tokens(view)
    assert plimsoll.fit(messages, max_tokens=4_000).messages == view


def test_an_answer_that_says_nothing_yet_stays_while_it_is_the_last() -> None:
    """Anthropic takes an empty answer at the very end; once something follows it has words for nothing."""
    for content in ("", []):
        messages = [HI, {"role": "assistant", "content": content}]
        with session_of(messages, format="anthropic") as session:
            assert session.view() == messages
            session.append(user("well?"))
            assert [message["role"] for message in session.view()] == ["user", "assistant", "user"]
            assert "(empty)" in str(session.view()[1]["content"])
            assert plimsoll.fit(session.history(), max_tokens=4_000, format="anthropic").messages == session.view()


@pytest.mark.parametrize("format", MAKERS)
def test_a_result_that_comes_twice_parts_no_other_from_its_call(format: Any) -> None:
    """The second is a note; the results of the other calls stay results."""
    calls, result = MAKERS[format]
    messages = [HI, *calls("a", "b"), result("a"), result("a"), result("b"), said("done")]
    view = session_of(messages, format=format).view()

    assert NO_RESULT not in str(view)
    assert str(view).count("not shown") == 1
    assert plimsoll.fit(messages, max_tokens=4_000, format=format).messages == view


@pytest.mark.parametrize(
    "between",
    [
        [user("wait")],
        [{"role": "system", "content": "approved"}],
        [{"role": "function", "name": "other", "content": "x"}],
    ],
    ids=["user", "system", "other"],
)
def test_a_legacy_result_stays_where_it_came(between: list[Wire]) -> None:
    """No provider wants a `function` message behind its call, so it is not moved."""
    calls = [{"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}}] * 2
    messages = [HI, *calls, *between, {"role": "function", "name": "old", "content": "y"}, said("done")]
    assert plimsoll.validate(messages) == []
    assert plimsoll.fit(messages, max_tokens=10_000).messages == messages
    with plimsoll.open("s", store="memory:", max_tokens=10_000) as session:
        session.extend(messages)
        assert session.view() == messages


def test_a_message_that_is_emptied_still_parts_a_result_from_its_call() -> None:
    """Thinking in the user's role leaves, and the words in its place stand between the call and its result."""
    calls = [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}]
    emptied = {"role": "user", "content": [{"type": "redacted_thinking", "data": "RXJy"}]}
    answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "x"}]}
    with plimsoll.open("s", store="memory:", max_tokens=10_000, format="anthropic") as session:
        for message in [HI, *calls, emptied, answer]:
            session.append(message)
            assert plimsoll.validate(session.view(), format="anthropic") == []
        assert session.view() == plimsoll.fit(session.history(), max_tokens=10_000, format="anthropic").messages


def test_results_of_one_answer_go_out_as_one_message_also_where_all_fits() -> None:
    """A list that fits is given back as a session and a plan give it."""
    blocks = [{"type": "tool_use", "id": id, "name": "f", "input": {}} for id in ("a", "b")]
    answers = [
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": id}]} for id in ("a", "b")
    ]
    messages: list[Wire] = [HI, {"role": "assistant", "content": blocks}, *answers]
    fitted = plimsoll.fit(messages, max_tokens=10_000)
    assert [len(message["content"]) for message in fitted.messages] == [2, 2, 2]
    assert fitted.messages == plimsoll.plan(messages, max_tokens=10_000).apply().messages
    assert fitted.origins == ((0,), (1,), (2, 3))
