"""Results whose content comes again: the line in their place, the reference in it, and what becomes of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

import plimsoll
from plimsoll.policy.policy import LoadLines, Policy

REPEATS_ONLY = Policy(name="repeats", steps=("collapse",), lines=LoadLines(soft=0.7, warn=0.9, hard=0.95, target=0.6))
LINES = [f"line {n}: the {word} crane moved pallet {n * 37 % 991} to berth {n % 17}" for n, word in enumerate("old new red blue tall short heavy light".split() * 60)]  # fmt: skip
ENGLISH = "[The same content as in a later result of this conversation"
CHINESE = "[与本对话中较后的结果内容相同"


def read(id: str, content: str) -> list[dict[str, Any]]:
    """A call and its result."""
    call = {"id": id, "type": "function", "function": {"name": "read_file", "arguments": '{"path": "/srv/a.py"}'}}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id, "content": content},
    ]


def twice(content: str, request: str = "go on") -> list[dict[str, Any]]:
    """A file that is read, and read again."""
    return [
        {"role": "user", "content": request},
        *read("c1", content),
        {"role": "user", "content": request},
        *read("c2", content),
        {"role": "user", "content": request},
    ]


def in_session(messages: list[dict[str, Any]], **options: Any) -> plimsoll.Session:
    """A session in memory that holds these messages."""
    session = plimsoll.open("s", store="memory:", project=False, **options)
    session.extend(messages)
    return session


@pytest.mark.parametrize(
    ("request_text", "line"), [("go on with the work", ENGLISH), ("请继续修复这个问题，谢谢", CHINESE)]
)
def test_the_line_is_in_the_language_of_the_conversation(request_text: str, line: str) -> None:
    """In Chinese where the conversation is."""
    content = "\n".join(LINES[:80]) if line is ENGLISH else "船离开码头，工人记录货物的数量。" * 60
    messages = twice(content, request_text)
    budget = int(plimsoll.count_tokens(messages) * 1.2)
    view = plimsoll.fit(messages, max_tokens=budget, policy=REPEATS_ONLY).messages

    assert view[2]["content"].startswith(line)
    assert view[5]["content"] == content


@pytest.mark.parametrize("recall", [True, False])
def test_the_line_names_the_reference_where_a_tool_can_read_it(recall: bool) -> None:
    """The action names it in both cases, because the host can read it."""
    content = "\n".join(LINES[:80])
    messages = twice(content)
    budget = int(plimsoll.count_tokens(messages) * 1.2)
    session = in_session(messages, max_tokens=budget, policy=REPEATS_ONLY, recall_tools=recall)
    (made,) = session.compactions() if session.view() else ()
    shown = session.view()[2]["content"]
    (reference,) = [name for action in made.actions for name in action.references]

    assert shown.startswith(ENGLISH)
    assert (f", reference {reference} " in shown) is recall
    assert session.read(reference) == content


@pytest.mark.slow
@pytest.mark.parametrize("format", ["openai-chat", "openai-responses", "anthropic", "ui-parts"])
def test_the_line_does_not_outlive_the_result_it_points_to(format: Any) -> None:
    """A collapsed result that is asked about stays when the later one leaves: then it shows its content again, cut."""
    content = "ZQFIRST of the manifest\n" + "\n".join(LINES[:80])
    messages = [*twice(content), *({"role": "user", "content": f"{LINES[n]} {n}"} for n in range(90))]
    messages[1]["content"] = "Looking for the harbour manifest of Rotterdam."
    messages = plimsoll.convert(messages, to=format).messages
    session = in_session(messages, max_tokens=6_000, policy=REPEATS_ONLY, format=format)
    session.compact(focus="nothing")
    first = json.dumps(session.view())
    session.compact(focus="harbour manifest of Rotterdam", policy="ladder")
    shown = json.dumps(session.view())

    assert ENGLISH in first
    assert ('"c1"' in shown, '"c2"' in shown) == (True, False)
    assert ENGLISH not in shown
    assert "ZQFIRST" in shown


@pytest.mark.parametrize("is_pinned", [True, False])
def test_what_is_pinned_keeps_its_content(is_pinned: bool) -> None:
    """A pinned result is not collapsed onto one that may leave before it."""
    content = "\n".join(LINES[:80])
    messages = twice(content)
    session = in_session(messages, max_tokens=int(plimsoll.count_tokens(messages) * 1.2), policy=REPEATS_ONLY)
    if is_pinned:
        session.pin("m2")

    assert (session.view()[2]["content"] == content) is is_pinned


def changed(lines: list[str], *places: int) -> str:
    """Lines of which some were edited."""
    return "\n".join(f"edited {line}" if at in places else line for at, line in enumerate(lines))


def reread(*contents: str, request: str = "go on") -> list[dict[str, Any]]:
    """A file that is read several times and edited in between."""
    reads = [
        [*read(f"c{number}", content), {"role": "user", "content": request}] for number, content in enumerate(contents)
    ]
    return [{"role": "user", "content": request}, *(message for one in reads for message in one)]


@pytest.mark.parametrize(
    ("request_text", "line"),
    [
        ("go on with the work", "The same call was made again later"),
        ("请继续修复这个问题，谢谢", "后来再次进行了同一调用"),
    ],
)
def test_an_earlier_read_is_its_difference_to_the_newest(request_text: str, line: str) -> None:
    """Of a file that was edited between two reads the older one shows the changed lines alone, in the conversation's language."""
    lines = LINES[:80] if "again" in line else [f"第{n}行：船离开码头，工人记录货物的数量。" for n in range(80)]
    messages = reread("\n".join(lines), changed(lines, 3, 40), request=request_text)
    budget = int(plimsoll.count_tokens(messages) * 1.2)
    session = in_session(messages, max_tokens=budget, policy=REPEATS_ONLY)
    older, newest = (message["content"] for message in session.view() if message["role"] == "tool")
    (reference,) = [name for action in session.compactions()[0].actions for name in action.references]

    assert line in older
    assert newest == messages[-2]["content"]
    assert older.split("\n")[1:] == [
        "@ line 4", f"-{lines[3]}", f"+edited {lines[3]}", "@ line 41", f"-{lines[40]}", f"+edited {lines[40]}",
    ]  # fmt: skip
    assert session.read(reference) == "\n".join(lines)


def test_all_earlier_reads_refer_to_the_newest() -> None:
    """Of many reads the newest is whole and each other one its difference to it; one of another file stays as it is."""
    contents = ["\n".join(LINES[:80]), changed(LINES[:80], 1), changed(LINES[:80], 1, 2)]
    other = [message for message in read("c9", "\n".join(LINES[100:180])) if message]
    other[0]["tool_calls"][0]["function"]["arguments"] = '{"path": "/srv/b.py"}'
    messages = [*other, *reread(*contents)]
    shown = plimsoll.fit(messages, max_tokens=int(plimsoll.count_tokens(messages) * 0.6), policy=REPEATS_ONLY).messages
    results = [message["content"] for message in shown if message["role"] == "tool"]

    assert results[0] == other[1]["content"]
    assert [text.count("\n-") for text in results[1:]] == [2, 1, 0]
    assert results[-1] == contents[-1]


def test_results_with_little_in_common_are_no_differences() -> None:
    """Where most lines differ, or too many to compare, the older result is not replaced by a longer text."""
    for contents in (
        ("\n".join(LINES[:80]), "\n".join(LINES[200:280])),
        ("\n".join(LINES), changed(LINES, *range(0, 480, 2))),
    ):
        messages = reread(*contents)
        shown = plimsoll.fit(
            messages, max_tokens=int(plimsoll.count_tokens(messages) * 1.2), policy=REPEATS_ONLY
        ).messages
        assert "made again later" not in json.dumps(shown)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["openai-chat", "openai-responses", "anthropic", "ui-parts"])
def test_a_difference_does_not_outlive_the_newest(format: Any) -> None:
    """When the newest read leaves the view, what stays of an older one is its content again, cut."""
    lines = ["ZQFIRST of the manifest", *LINES[:80]]
    messages = [
        *reread("\n".join(lines), changed(lines, 5)),
        *({"role": "user", "content": f"{LINES[n]} {n}"} for n in range(90)),
    ]
    messages[1]["content"] = "Looking for the harbour manifest of Rotterdam."
    messages = plimsoll.convert(messages, to=format).messages
    session = in_session(messages, max_tokens=6_000, policy=REPEATS_ONLY, format=format)
    session.compact(focus="nothing")
    first = json.dumps(session.view())
    session.compact(focus="harbour manifest of Rotterdam", policy="ladder")
    shown = json.dumps(session.view())

    assert "The same call was made again later" in first
    assert plimsoll.validate(session.view(), format=format) == []
    if '"c0"' in shown and '"c1"' not in shown:
        assert "The same call was made again later" not in shown
        assert "ZQFIRST" in shown
    assert session.history() == messages


def test_a_result_that_differences_refer_to_stays() -> None:
    """When the file is read once more, the read that older ones are shown as differences to is not collapsed itself."""
    first = reread("\n".join(LINES[:80]), changed(LINES[:80], 1))
    session = in_session(first, max_tokens=int(plimsoll.count_tokens(first) * 1.3), policy=REPEATS_ONLY)
    session.compact()
    session.extend([*read("c7", changed(LINES[:80], 1, 2)), {"role": "user", "content": "and now?"}])
    session.compact(target_tokens=10)
    results = [message["content"] for message in session.view() if message["role"] == "tool"]

    assert [text.startswith("[The same call was made again later") for text in results] == [True, False, False]
