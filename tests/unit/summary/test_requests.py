"""The user's requests in a summary: whole where they fit, else cut with a mark, and nothing of them twice."""

from __future__ import annotations

import re
from typing import Any

import pytest
from summary_conversation import called

import plimsoll
from plimsoll.message import text_message
from plimsoll.summary import sections
from plimsoll.summary.labels import labels
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.summary.reread import reread
from plimsoll.summary.rules import render

STORY = "The sun was low over the bay and the crane stood idle. " * 6
LONG = [
    message
    for turn in range(30)
    for message in (
        text_message("user", f"Port part {turn} of the parser. {STORY}Never drop error position {turn}. {STORY}"),
        *called("Edit", {"file_path": f"src/part{turn}.py"}, "ok", call_id=f"e{turn}"),
        text_message("assistant", f"The fix is in `part{turn}.py`, because part {turn} was never read."),
    )
]
TALK = [
    message
    for turn in range(6)
    for message in (
        text_message("user", f"Never delete the rows of table {turn}. Look at part {turn} of the parser."),
        text_message("assistant", f"I looked at part {turn}. {STORY}"),
    )
]
MARK = re.compile(r" \[\+([0-9]+)(?: m([0-9]+))?\]$")


def ledger_of(messages: Any) -> Ledger:
    """The ledger of these messages."""
    return extend(Ledger.empty(), messages, 0)


def requests(text: str) -> list[str]:
    """The lines under the title of the requests."""
    lines = text.split("\n")
    at = next(place for place, line in enumerate(lines) if line.startswith("User requests"))
    others = (place for place, line in enumerate(lines) if place > at and not line.startswith(("- ", "  ")))
    end = next(others, len(lines))
    return lines[at + 1 : end]


@pytest.mark.parametrize("tokens_max", [250, 600, 1_200, 3_000])
def test_a_request_that_is_cut_says_by_how_much(tokens_max: int, counter: Any) -> None:
    """The mark counts the characters that are not shown, and the title explains it."""
    text = render(ledger_of(LONG), tokens_max=tokens_max, counter=counter).text
    asked = requests(text)

    assert "User requests (verbatim, in order; [+n]: n more characters):" in text
    assert asked
    for line in asked:
        found, turn = MARK.search(line), re.search(r"(?:part|position) ([0-9]+)", line)
        whole = LONG[4 * int(turn[1] if turn else 0)].text.strip()
        shown = (line[: found.start()] if found else line).removeprefix("- ").replace("…", "")
        assert abs(len(whole) - len(shown) - int(found[1] if found else 0)) <= 12
    assert any(map(MARK.search, asked))


@pytest.mark.parametrize("goal_is_shown", [False, True])
@pytest.mark.parametrize("messages", [TALK, TALK[:2], LONG], ids=["talk", "one request", "run"])
def test_no_request_is_cut_to_next_to_nothing(messages: Any, goal_is_shown: bool, counter: Any) -> None:
    """Where a request has no room for a few words it is left out: `- Ne… [+29]` says nothing, and takes a title and a mark."""
    for tokens_max in range(40, 400, 7):
        text = render(ledger_of(messages), tokens_max=tokens_max, counter=counter, goal_is_shown=goal_is_shown).text
        if "User requests" in text:
            assert all(len(MARK.sub("", line)) > 12 for line in requests(text)), text


def test_a_rule_in_a_request_without_room_is_a_constraint(counter: Any) -> None:
    """What the user insists on is whole in all summaries with room for it, also where its message is left out."""
    for tokens_max in range(60, 400, 3):
        text = render(ledger_of(TALK[:2]), tokens_max=tokens_max, counter=counter).text
        assert "Never delete the rows of table 0" in text, text
        assert "Never delete the rows of table" in render(ledger_of(TALK), tokens_max=tokens_max, counter=counter).text
    for tokens_max in range(68, 90, 4):  # the room of the requests is then for rules
        text = render(ledger_of(TALK), tokens_max=tokens_max, counter=counter).text
        assert "User requests" not in text
        assert text.count("Never delete") >= 2


def test_a_constraint_may_be_emphasised() -> None:
    """Marks of emphasis inside the words that constrain hide nothing."""
    ledger = ledger_of([text_message("user", "The ferry sails at noon. You do **not** touch the old quay.")])

    assert [fact.text for fact in ledger.of("constraint")] == ["You do not touch the old quay."]


def test_a_whole_request_has_no_mark(counter: Any) -> None:
    """Where everything fits nothing is marked, nor explained."""
    text = render(ledger_of(LONG), tokens_max=50_000, counter=counter).text

    assert "User requests (verbatim, in order):" in text
    assert "[+" not in text
    assert all(" ".join(message.text.split()) in text for message in LONG if message.role == "user")


@pytest.mark.slow
def test_a_mark_never_stands_for_less_than_itself(counter: Any) -> None:
    """A request is not cut to save fewer characters than its mark has."""
    for tokens_max in range(150, 1_500, 50):
        for line in requests(render(ledger_of(LONG), tokens_max=tokens_max, counter=counter).text):
            found = MARK.search(line)
            assert found is None or int(found[1]) >= len(found[0])


@pytest.mark.parametrize("numbered", [True, False])
def test_the_message_is_named_where_it_can_be_read(numbered: bool, counter: Any) -> None:
    """`[+440 m12]` for a reader with a tool to read message 12, else `[+440]`."""
    asked = requests(render(ledger_of(LONG), tokens_max=900, counter=counter, numbered=numbered).text)
    marks = [found for line in asked if (found := MARK.search(line))]

    assert len(marks) > 3
    assert all((found[2] is not None) == numbered for found in marks)
    assert not numbered or all(LONG[int(found[2])].role == "user" for found in marks)


@pytest.mark.slow
def test_a_session_with_tools_names_messages_that_it_reads() -> None:
    """The number in a mark is the one that `read` takes, and gives the whole request."""
    for tools in (True, False):
        with plimsoll.open("marks", store="memory:", max_tokens=2_500, recall_tools=tools) as session:
            for turn in range(30):
                call = {"id": f"c{turn}", "type": "function", "function": {"name": "port", "arguments": "{}"}}
                session.append({"role": "user", "content": f"Port part {turn}. {STORY}Never drop position {turn}."})
                session.append({"role": "assistant", "content": None, "tool_calls": [call]})
                session.append({"role": "tool", "tool_call_id": f"c{turn}", "content": "ported"})
                view = session.view()
            numbers = re.findall(r" \[\+[0-9]+ m([0-9]+)\]", str(view))

            assert bool(numbers) == tools
            assert all(session.read(f"m{number}").startswith("Port part") for number in numbers)
            assert tools or " [+" in str(view)


def test_marks_add_up_when_a_summary_is_cut_again(counter: Any) -> None:
    """Read back and cut further, a request says how much is missing of what was asked, not of what was shown."""
    first = render(ledger_of(LONG[:4]), tokens_max=120, counter=counter).text
    again = render(reread(first), tokens_max=84, counter=counter).text
    (line,), whole = requests(again), len(LONG[0].text)
    found = MARK.search(line)

    assert found is not None
    assert abs(whole - len(line.removeprefix("- ")[: found.start() - 2].replace("…", "")) - int(found[1])) <= 16
    assert render(reread(first), tokens_max=120, counter=counter).text.split("\n")[:2] == first.split("\n")[:2]


def test_a_users_own_words_in_brackets_stay(counter: Any) -> None:
    """A request that happens to end like a mark says the same after any number of summaries."""
    text = render(
        ledger_of([text_message("user", "Raise the limit [+5]"), *LONG[1:4]]), tokens_max=900, counter=counter
    ).text
    for _ in range(3):
        text = render(reread(text), tokens_max=900, counter=counter).text

    assert "- Raise the limit [+5]\n" in text


@pytest.mark.parametrize("tokens_max", [200, 300, 500, 800, 1_200, 2_500])
def test_constraints_are_not_said_twice(tokens_max: int, counter: Any) -> None:
    """Not as a whole and not as the beginning of a request that is cut in the middle of one."""
    messages = [
        message
        for turn in range(25)
        for message in (
            text_message(
                "user",
                f"- **Never** touch berth {turn}, which must stay as it is until harbour master {turn} has signed for it.",
            ),
            *called("Edit", {"file_path": f"src/part{turn}.py"}, "ok", call_id=f"e{turn}"),
        )
    ]
    text = render(ledger_of(messages), tokens_max=tokens_max, counter=counter).text

    assert "touch berth" in text
    assert [turn for turn in range(25) if len(re.findall(rf"berth {turn}\b", text)) > 1] == []


def test_code_is_the_first_to_leave_a_request(counter: Any) -> None:
    """What is asked stays before what was pasted."""
    paste = "```go\n" + "x := 1 // the old code\n" * 60 + "```"
    text = render(
        ledger_of([text_message("user", f"Mend this:\n{paste}\nIt fails at startup. Keep the name."), *LONG[1:]]),
        tokens_max=300,
        counter=counter,
    ).text

    assert "It fails at startup. Keep the name." in text
    assert "old code" not in text


def test_a_correction_with_numbers_comes_before_a_question_that_was_answered() -> None:
    """Where one request has no room, it is not the one that says how many and when."""
    said = (
        "Please plan the tasting.",
        "We are 26 people, not 18, on the 9th.",
        "Which of them has light from the north?",
    )
    messages = [text_message("user", text) for text in (*said, "Please go on with the wine list for it.")]
    for at in (3, 2, 1):
        messages[at:at] = called("look", {"at": str(at)}, "seen", call_id=f"l{at}")
    found = sections.requests(ledger_of(messages), labels("en"), 10_000)
    values = {item.text: item.value for item in found}

    assert values[said[1]] > values[said[2]]


def test_the_notice_that_a_user_stopped_the_agent_is_no_request():
    """A coding agent writes it in the user's place; what the user then says is the request."""
    messages = [
        text_message("user", "Port the parser."),
        text_message("user", "[Request interrupted by user for tool use]"),
    ]

    assert [fact.text for fact in ledger_of(messages).of("request")] == ["Port the parser."]
