"""A message with a paste that is cut for room keeps the lines that its own words point to."""

from __future__ import annotations

import pytest

import plimsoll
from plimsoll.tokens.counter import counter_for
from plimsoll.truncation.pointed import cut_said

NUMBERED = "\n".join(f"{n:5}  value {n * 7919 % 9973} by worker {n % 7}" for n in range(1, 6_000))
BARE = "\n".join(f"def call_{n * 31 % 9973}(): return {n * 17 % 1009}" for n in range(1, 6_000))
COUNTER = counter_for("gpt-4o")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (f"Why does line 4242 of this look different?\n\n{NUMBERED}", [4242]),
        (f"{NUMBERED}\n\nWhat is wrong with lines 17 to 4242, and with #3000?", [17, 4242, 3000]),
        (f"请看第4242行为什么不同？\n\n{NUMBERED}", [4242]),
        (f"L4242 is odd\n{NUMBERED}", [4242]),
    ],
)
@pytest.mark.parametrize("tokens_max", [250, 1_000])
def test_a_line_that_is_named_by_its_number_stays(text, wanted, tokens_max):
    """The request, both ends and the line are there, in order and within the room, with a mark where something is left out."""
    view = plimsoll.fit([{"role": "user", "content": text}], max_tokens=tokens_max)
    shown = view.messages[-1]["content"]
    lines = [f"{n:5}  value {n * 7919 % 9973} by worker {n % 7}" for n in sorted(wanted)]

    assert view.report.tokens_after <= tokens_max
    assert [line for line in lines if line not in shown] == []
    assert [shown.index(line) for line in lines] == sorted(shown.index(line) for line in lines)
    assert shown[:8] == text[:8]
    assert shown[-8:] == text[-8:]
    assert shown.count(" tokens cut ") + shown.count("[…]") + shown.count("标记") >= len(wanted)
    assert plimsoll.fit(view.messages, max_tokens=tokens_max).messages == view.messages


@pytest.mark.parametrize(
    "around",
    ["```\n{}\n```\nPlease explain line 4242.", "Explain line 4242:\n\n{}", "Explain line 4242:\n```py\n{}\n```"],
)
def test_a_line_without_a_number_is_counted_from_the_start_of_the_paste(around):
    """Behind a fence or an empty line."""
    shown = plimsoll.fit([{"role": "user", "content": around.format(BARE)}], max_tokens=300).messages[-1]["content"]

    assert f"\n{BARE.splitlines()[4241]}\n" in shown


@pytest.mark.parametrize(
    "words",
    [
        "Look at this:",
        "What is line 999999?",
        "Why line 2?",
        "It took 4242 s.",
        f"Lines {', '.join(map(str, range(900, 999)))}",
    ],
)
@pytest.mark.parametrize("tokens_max", [1, 9, 30, 60, 300])
def test_whatever_is_named_the_text_is_within_its_room(words, tokens_max):
    """Also where nothing is there to be shown, or all of it is too much."""
    cut = cut_said(f"{words}\n\n{NUMBERED}", tokens_max=tokens_max, counter=COUNTER)

    assert COUNTER.upper(cut) <= tokens_max
    assert tokens_max < 60 or cut.startswith(words[:5])


def test_a_named_line_that_is_larger_than_its_room_is_left_out():
    """It is not worth the rest of the message."""
    text = "Why line 50?\n\n" + "\n".join(f"{n} " + "word " * (9_000 if n == 50 else 3) for n in range(1, 200))
    cut = cut_said(text, tokens_max=200, counter=COUNTER)

    assert cut.startswith("Why line 50?")
    assert "199 word" in cut


CODE = "\n".join(f"    total_{n} = price_{n} * amount_{n}" for n in range(200))
WORDS = [f"Rule {n}: the total of order {n * 37} is never rounded before its tax is added." for n in range(12)]


@pytest.mark.parametrize("fence", ["```", "```python", "~~~"])
@pytest.mark.parametrize("tokens_max", [400, 600])
def test_fenced_code_is_cut_before_the_words_around_it(fence, tokens_max):
    """A request that is too long keeps all of its words, and as much of its code as fits, with a mark."""
    text = "\n\n".join([*WORDS[:6], f"{fence}\n{CODE}\n{fence[:3]}", *WORDS[6:]])
    cut = cut_said(text, tokens_max=tokens_max, counter=COUNTER, reference="blob:1")

    assert [words for words in WORDS if words not in cut] == []
    assert "total_0 =" in cut
    assert "blob:1" in cut
    assert tokens_max - 40 <= COUNTER.upper(cut) <= tokens_max


def test_blocks_of_code_leave_before_words_are_cut():
    """Where the words alone are too long, both of their ends are shown, and none of the code."""
    text = "\n\n".join([*(f"{words}\n```\n{CODE}\n```" for words in WORDS * 4), "Mend all of them."])
    cut = cut_said(text, tokens_max=300, counter=COUNTER)

    assert "total_" not in cut
    assert [words for words in (*WORDS[:3], "Mend all of them.") if words not in cut] == []
    assert "tokens cut" in cut
    assert COUNTER.upper(cut) <= 300


@pytest.mark.parametrize("tokens_max", [1, 9, 30, 60, 300])
def test_text_with_fences_is_within_its_room(tokens_max):
    """Also with blocks that are not closed, are empty or are many."""
    for text in (f"See\n```\n{CODE}", "```\n```\n" * 900, f"```\n{CODE}\n```\n" * 60, f"~~~\n{CODE}\n```\nWhy?"):
        assert COUNTER.upper(cut_said(text, tokens_max=tokens_max, counter=COUNTER)) <= tokens_max
