"""Which facts a summary lost, and which of them are worth handing back."""

from __future__ import annotations

import pytest

from plimsoll.hooks.loss import HeldText, lost, values_in
from plimsoll.hooks.notes import write
from plimsoll.message import Message, Text, ToolCall, ToolResult
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.tokens.estimate import EstimatingCounter


def said(role, text):
    """A message of text."""
    return Message(role=role, parts=(Text(text=text),))


def ran(number, command, output):
    """A shell call with its output, as two messages."""
    call = ToolCall(id=f"c{number}", name="Bash", arguments=f'{{"command": "{command}"}}')
    return [
        Message(role="assistant", parts=(call,)),
        Message(role="user", parts=(ToolResult(call_id=f"c{number}", content=output),)),
    ]


def notes(messages, summary="", tokens_max=1500):
    """What is handed back of these messages after such a summary."""
    ledger = extend(Ledger.empty(), messages, 0)
    facts = lost(ledger, HeldText(summary), ledger.end)
    return write(facts, tokens_max=tokens_max, counter=EstimatingCounter(), head="head", foot="foot")


@pytest.mark.parametrize(
    ("value", "text", "held"),
    [
        ("rel-7f3a", "release rel-7f3a is live", True),
        ("rel-7f3a", "release rel-7f3a9 is live", False),
        ("REL-7F3A", "rel-7f3a", True),
        ("a  b", "x a\nb y", True),
        ("18077", "port 118077", False),
        ("", "x", True),
        ("检查", "先检查边界", True),
    ],
)
def test_a_value_is_held_as_a_whole_word(value, text, held):
    """A value inside a longer one is another value; case and line ends do not matter."""
    assert HeldText(text).has(value) is held


def test_a_file_is_held_by_the_end_of_its_path():
    """Summaries name files from the project's folder."""
    text = HeldText("changed src/lights/controller.py and main.go")

    assert text.has_path("/harbour/src/lights/controller.py")
    assert not text.has_path("/harbour/src/dark/controller.py")


@pytest.mark.parametrize(
    ("sentence", "is_said"),
    [
        ("Never touch the legal folder of the harbour", True),
        ("legal folder: never touch (harbour)", True),
        ("Never touch the pier of the harbour at night", False),
        ("检查边界条件", True),
        ("...", True),
    ],
)
def test_a_sentence_is_said_in_other_words(sentence, is_said):
    """Most of its words near each other say it; far apart they do not."""
    text = (
        "The user: never touch the legal folder of the harbour."
        + " other words" * 200
        + " pier night。先检查边界条件,然后再合并。"
    )

    assert HeldText(text).says(sentence) is is_said


def test_values_are_not_language():
    """Values have a digit, a sign inside or capitals inside."""
    text = "Look at src/app.py, HM-3019, getLast(), 18077 and the ordinary WORDS of a sentence."

    assert values_in(text) == ["src/app.py", "HM-3019", "getLast", "18077"]


def test_only_the_lost_sentences_of_a_request_come_back():
    """A long request of which the summary says half comes back by the other half."""
    text = notes(
        [said("user", "Move the harbour lights to the pier. Paint the crane green before Monday.")],
        "Harbour lights move to the pier.",
    )

    assert "Paint the crane green" in text
    assert "lights" not in text


def test_what_a_tool_writes_around_each_result_is_no_value():
    """Lines that differ in their numbers only, one for each result, are left out; values are not."""
    messages = [said("user", "Find the lamp.")]
    for number in range(12):
        messages += ran(
            number,
            f"lamp {number}",
            f"Chunk ID: {number:03}a{number:02}f\nlamp L-77000{number} in dock {'ABCDEFGHIJKL'[number]}",
        )

    text = notes(messages)

    assert "Chunk ID" not in text
    assert "L-770003 in dock D" in text


def test_a_condition_is_not_said_twice():
    """A condition that a request shows already has no line of its own."""
    text = notes([said("user", "Move the lights. Never touch src/legal/."), said("assistant", "Yes.")])

    assert text.count("src/legal/") == 1


def test_files_are_named_as_tools_take_them():
    """A file that is named by its whole path and from the project's folder is one file, and comes back by its whole path."""
    messages = [said("user", "Read it.")]
    for number, path in enumerate(("/harbour/src/lights/controller.py", "/harbour/src/lights/lamp.py")):
        call = ToolCall(id=f"r{number}", name="Read", arguments=f'{{"file_path": "{path}"}}')
        messages += [
            Message(role="assistant", parts=(call,)),
            Message(role="user", parts=(ToolResult(call_id=f"r{number}", content="class A: ..."),)),
        ]
    messages += ran(9, "git status", "modified:   src/lights/controller.py\nmodified:   src/lights/lamp.py")

    text = notes(messages)

    assert text.count("controller.py") == 1
    assert "- /harbour/src/lights/controller.py" in text


def test_the_most_valuable_come_first():
    """In less room the user's words and the values stay, and what is there is within the room."""
    messages = [said("user", "Never touch src/legal/ while the harbour is open.")]
    for number in range(40):
        messages += ran(number, f"deploy {number}", f"release rel-{number * 7919:08x} answers on port {18000 + number}")
    counter = EstimatingCounter()

    sizes = {tokens: counter.upper(notes(messages, tokens_max=tokens)) for tokens in (150, 300, 600, 1200)}

    assert all(size <= tokens for tokens, size in sizes.items())
    assert list(sizes.values()) == sorted(sizes.values())
    assert "Never touch src/legal/" in notes(messages, tokens_max=150)
