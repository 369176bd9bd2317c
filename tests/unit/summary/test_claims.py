"""What of an answer counts as a fact: a line of prose that claims something, not its code, headings, lead-ins or offers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from summary_conversation import called

from plimsoll.message import text_message
from plimsoll.summary.ledger import Ledger, extend
from plimsoll.summary.ledger.prose import claims, is_code, is_lead_in, plain, spoken, without_code
from plimsoll.summary.ledger.sentences import has_digit
from plimsoll.summary.rules import render
from spent import cpu_s

ANSWER = """## Root cause

**Root cause**: `moor()` in `pier.py:31` drops the **last rope** because the loop ends early.

1. **Duplicate tide table** - Removed
2. __Old berth__ is gone from `berths.json` as well.

Because you might:

```go
for _, rope := range ropes {
	fmt.Println("the fix is 17 ropes")
}
```

type Rope struct {
// Suggested: keep it
state.Pending = &rope
| Pier | Depth |
|------|-------|
| **North** | 14 m of water at low tide |

- **Ship:** Marlow
- **Berth:** 14
- **Fee:** $105

I updated the table so that it holds all of the summer tides:
"""


def read(*messages: Any) -> Ledger:
    """The ledger of an agent's run that ends with these messages."""
    return extend(
        Ledger.empty(),
        [text_message("user", "Mend the pier."), *called("Read", {"file_path": "pier.py"}, "x"), *messages],
        0,
    )


def texts(ledger: Ledger, kind: Any) -> list[str]:
    """What the facts of a kind say."""
    return [fact.text for fact in ledger.of(kind)]


def test_findings_are_lines_of_prose() -> None:
    """No code, heading, lead-in or half of a bold word; rows and fields are lines that say what they belong to."""
    assert texts(read(text_message("assistant", ANSWER)), "decision") == [
        "Root cause: `moor()` in `pier.py:31` drops the last rope because the loop ends early.",
        "Duplicate tide table - Removed",
        "Old berth is gone from `berths.json` as well.",
        "North; 14 m of water at low tide",
        "Ship: Marlow; Berth: 14; Fee: $105",
        "I updated the table so that it holds all of the summer tides",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "for _, cp := range checkpoints {",
        "type SummaryInfo struct {",
        "// Suggested:",
        "summary := logging.WithComponent(ctx, x)",
        "const Pattern = /[0-9]/",
        "checkpoints.append(found)",
        "return total;",
        "<div class='x'>",
        "@pytest.fixture",
        "$ make test",
        "this.showError(",
    ],
)
def test_code_is_known_by_its_shape(line: str) -> None:
    """In whatever language, without a fence around it."""
    assert is_code(line)
    assert claims(f"The pump is mended now.\n{line}") == ("The pump is mended now.",)


@pytest.mark.parametrize(
    "line",
    [
        "The fix is in `x = y {` now and works.",
        "`cmd/root.go` — removed `Version`, now uses `build.Version`",
        "We chose berth 14; it is deep.",
        "I'd keep the table (it is short).",
        "因为循环提前结束，所以少了一根缆绳。",
    ],
)
def test_prose_about_code_is_prose(line: str) -> None:
    """Names set as code do not make a sentence code."""
    assert not is_code(line)
    assert len(claims(line)) >= 1


@pytest.mark.parametrize(
    ("line", "leads"),
    [
        ("Because you might:", True),
        ("Here is what I changed:", True),
        ("The remaining ones are:**", True),
        ("修改如下：", True),
        ("The `Entry` type of the tide table is only used by the following:", True),
        ("The fix is to skip every message that starts with the marker:", False),
        ("The fix is 14.", False),
    ],
)
def test_a_lead_in_says_nothing_without_what_follows(line: str, leads: bool) -> None:
    """But a whole sentence that happens to end in a colon does."""
    assert is_lead_in(line) is leads


@pytest.mark.parametrize(
    ("line", "bare"),
    [
        ("- **Duplicate** code** - Removed", "Duplicate code - Removed"),
        ("> 1) *very* good", "very good"),
        ("### **Plan** B", "Plan B"),
        ("`a*b*c` and 2*3*4 and \\s*( stay", "`a*b*c` and 2*3*4 and \\s*( stay"),
        ("__init__ of snake_case_name", "init of snake_case_name"),
        ("| a | **b** |", "a; b"),
        ("-5 degrees", "-5 degrees"),
    ],
)
def test_marks_of_emphasis_leave_whole(line: str, bare: str) -> None:
    """List markers, headings and bold go, balanced or not; code keeps its stars."""
    assert plain(line) == bare


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a\n```py\nb\n```\nc", "a\nc"),
        ("a\n~~~\nb\n```\n~~~\nc", "a\nc"),
        ("- x\n  ```\n  b\n  ```\nc", "- x\nc"),
        ("a\n````\n```\nb\n```\n````\nc", "a\nc"),
        ("a ```inline``` b\nc", "a ```inline``` b\nc"),
        ("```inline``` b\nc", "```inline``` b\nc"),
        ("a\n```\nb", "a"),
    ],
)
def test_fenced_code_is_taken_out(text: str, rest: str) -> None:
    """By the rules of Markdown, nested and unclosed fences too."""
    assert without_code(text) == rest


@pytest.mark.parametrize(
    ("answer", "work"),
    [
        ("All done. Shall we turn to the next rope? The remaining ones are:", []),
        ("Would you like me to do the remaining pier as a next step?", []),
        ("Let me update the todo list.", []),
        ("Now fix the remaining ropes of the north pier as well:", []),
        ("```\nstate.pending = rope\n```", []),
        ("I'd take option 1 next step, if you like.", []),
        ("The north pier is still to do: its ropes are old.", ["The north pier is still to do: its ropes are old."]),
        (
            "Two piers are done.\n\n## Next steps\n\n1. **Paint** the pier\n2. Call Ana\n\nThat is it.",
            ["Paint the pier; Call Ana"],
        ),
        ("剩余工作：\n- 粉刷码头\n- 打电话给安娜", ["粉刷码头; 打电话给安娜"]),
    ],
)
def test_open_work_is_neither_an_offer_nor_a_question(answer: str, work: list[str]) -> None:
    """What is left to do is named, with the list that follows it."""
    assert texts(read(text_message("assistant", answer)), "work") == work


def test_forms_that_are_hardly_filled_in_keep_what_they_say() -> None:
    """Of a row with many zeros, and with addresses that only extend another, the rest is a value."""
    row = (
        '{"user": {"id": 351934, "url": "https://api.example/u/ana", "followers_url": "https://api.example/u/ana/followers",'
        ' "gists_url": "https://api.example/u/ana/gists"}, "reactions": {"total_count": 0, "+1": 0, "-1": 0, "laugh": 0,'
        ' "hooray": 0}, "number": 133}'
    )
    values = " ".join(texts(read(*called("gh", {"pr": 133}, row, call_id="g1")), "identifier"))

    assert "id 351934 url https://api.example/u/ana" in values
    assert "number 133" in values
    assert not [word for word in ("followers", "gists", "laugh", "total_count") if word in values]


def test_lines_of_code_and_listings_are_no_errors() -> None:
    """An error is what a tool reports, not a line that handles one, nor a file of that name."""
    output = "} catch (error) {\nthis.showError(\n-rw-r--r-- 1 root 4492 Apr 30 error.h\nmake: *** [build] Error 2"
    ledger = read(*called("Bash", {"command": "make"}, output, call_id="m1", is_error=True))

    assert texts(ledger, "error") == ["make: *** [build] Error 2"]


def test_a_summary_of_a_run_has_no_noise(counter: Any) -> None:
    """Rendered, the same holds: no line ends in a colon but titles and groups, none has a brace or half of a bold word."""
    ledger = read(
        text_message("assistant", ANSWER),
        text_message("assistant", "Done. Ready for the next one? The remaining ones are:"),
    )
    for tokens_max in (60, 150, 300, 1_000):
        text = render(ledger, tokens_max=tokens_max, counter=counter).text
        items = [line for line in text.split("\n") if line.startswith("- ")]
        assert not [item for item in items if item.endswith((":", "{", "**")) or "**" in item]
        assert "remaining" not in text


@pytest.mark.slow
@given(st.text(alphabet="ab *_`|#:：-~\n1.{}(=", max_size=400))
def test_any_text_is_read(text: str) -> None:
    """Whatever it is: no error, and nothing is made up."""
    for found in (claims(text), spoken(text)):
        assert all(isinstance(sentence, str) for sentence in found)
    assert len(without_code(text)) <= len(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["*a ", "`", "**", "- ", "a: b\n", "a := ", "__x", "| a ", "a(", "a, ", "1. ", "```\n"]
)
def test_long_answers_are_read_in_linear_time(unit: str) -> None:
    """Twenty times the text takes nowhere near four hundred times as long."""
    assert cpu_s(claims, unit * (400_000 // len(unit))) < 4


@pytest.mark.parametrize("text", ["", "no", "9 tons", "room ²", "①那里", "٣ قلم", "½", "四个"])
def test_a_digit_is_what_python_calls_one(text):
    """A fast search for decimal digits finds no fewer digits than `str.isdigit`."""
    assert has_digit(text) == any(map(str.isdigit, text))


def test_findings_of_talk_are_kept_once_it_is_an_agents_run() -> None:
    """In a dialogue they are among what is said; when tools come in, what the assistant found by then stays as a finding."""
    talk = [
        text_message("user", "Why is the pier closed?"),
        text_message("assistant", "I found that the root cause is the lock of gate 7, which is rusty. Shall I go on?"),
    ]
    first = extend(Ledger.empty(), talk, 0)
    assert first.is_dialogue
    assert not first.of("decision")
    calls = [message for _ in range(4) for message in called("Read", {"file_path": "pier.py"}, "x")]
    later = extend(first, calls, 2)
    assert not later.is_dialogue
    assert texts(later, "decision") == ["I found that the root cause is the lock of gate 7, which is rusty."]


def test_the_heading_of_a_table_states_nothing():
    """The rows of a table are statements; the names of its columns are not."""
    text = (
        "| Hook | What it checks | Its purpose |\n|---|:--:|---|\n| Stop | nothing is checked | writes the transcript |"
    )

    assert claims(text) == ("Stop; nothing is checked; writes the transcript",)


def test_a_fence_closes_also_where_lines_end_with_a_carriage_return() -> None:
    """What follows a code block in such a text is prose again."""
    assert without_code("Before.\r\n```python\r\nx = 1\r\n```\r\nAfter.") == "Before.\r\nAfter."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<b>Never</b> touch the quay.", ["Never touch the quay."]),
        ("<p>Use <em>port</em> 9944.</p>", ["Use port 9944."]),
        ("<li>one more</li>", ["one more"]),
        ('<div class="x">hi</div>', []),
        ("<b>{name}</b>", []),
        ("The tag `<b>x</b>` is bold.", ["The tag `<b>x</b>` is bold."]),
    ],
)
def test_tags_of_emphasis_are_no_code(text: str, said: list[str]) -> None:
    """Editors of mails and chats write them; markup with attributes and templates is code."""
    assert list(spoken(text)) == said
