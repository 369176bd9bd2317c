"""How much of the newest part of a conversation stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plimsoll.compaction.view_message import ViewMessage, exchanges_of
from plimsoll.compaction.windows import (
    keep_from,
    keep_window,
    last_fraction,
    last_messages,
    last_tokens,
    last_turns,
)
from plimsoll.compaction.working_view import WorkingView
from plimsoll.errors import CannotFit
from plimsoll.formats.exchange import group
from plimsoll.formats.registry import format_named
from plimsoll.message import Message, Text, ToolCall, ToolResult, text_message
from plimsoll.policy.policy import Policy, policy_named


class FourChars:
    """Counts four characters as a token, rounded up."""

    name = "four-chars"
    exact = True

    def count(self, text):
        """Tokens of the text."""
        return (len(text) + 3) // 4

    upper = count


COUNTER = FourChars()


def count_message(message):
    """Four tokens a message and its texts."""
    texts = [
        part.text if isinstance(part, Text) else part.content if isinstance(part, ToolResult) else part.arguments
        for part in message.parts
    ]
    return 4 + sum(map(COUNTER.upper, texts))


def call(*ids):
    """An answer that calls a tool once for each id."""
    return Message(role="assistant", parts=tuple(ToolCall(id=id, name="read", arguments="{}") for id in ids))


def result(id, text="ok"):
    """A tool's answer."""
    return Message(role="tool", parts=(ToolResult(call_id=id, content=text),))


TALK = [
    text_message("system", "be brief"),
    text_message("user", "one"),
    text_message("assistant", "1"),
    text_message("user", "two"),
    call("a", "b"),
    result("a"),
    result("b"),
    text_message("assistant", "2"),
    text_message("user", "three"),
    text_message("assistant", "3"),
]
EXCHANGES = group(TALK)
TOKENS = [10] * len(EXCHANGES)


def starts(cut):
    """The text or kind the tail begins with."""
    return EXCHANGES[cut].messages[0].text or "calls" if cut < len(EXCHANGES) else "nothing"


@pytest.mark.spec("S1-47", "S3-12")
@pytest.mark.parametrize(
    ("count", "first"),
    [(0, "nothing"), (1, "3"), (2, "three"), (3, "2"), (4, "2"), (5, "2"), (6, "calls"), (7, "two"), (100, "be brief")],
)
def test_last_messages_never_splits_an_exchange(count, first):
    """A call and its two results stay or leave together: where only some would fit, all leave."""
    assert starts(last_messages(EXCHANGES, count)) == first


@pytest.mark.parametrize(("count", "first"), [(1, "three"), (2, "two"), (3, "be brief"), (9, "be brief")])
def test_a_turn_is_a_request_and_all_that_follows(count, first):
    """A turn with tool calls is one turn, however many messages it has."""
    assert starts(last_turns(EXCHANGES, count)) == first


@pytest.mark.parametrize(("room", "first"), [(9, "nothing"), (10, "3"), (29, "three"), (30, "2"), (10**6, "be brief")])
def test_last_tokens_stops_at_the_first_that_does_not_fit(room, first):
    """The tail ends at the first exchange that does not fit."""
    assert starts(last_tokens(EXCHANGES, reversed(TOKENS), room)) == first


@pytest.mark.spec("S0-38")
def test_last_tokens_leaves_no_holes():
    """An older exchange that would fit is not kept when a newer one did not."""
    sizes = [1, 1, 1, 1, 100, 1, 1, 1]

    assert last_tokens(EXCHANGES, reversed(sizes), 50) == 5


@pytest.mark.parametrize(("fraction", "first"), [(0.01, "3"), (0.2, "three"), (0.23, "2"), (1.0, "be brief")])
def test_last_fraction_rounds_up(fraction, first):
    """A fifth of nine messages is two."""
    assert starts(last_fraction(EXCHANGES, fraction)) == first


@pytest.mark.parametrize(
    ("policy", "first"),
    [
        (Policy(), "be brief"),
        (Policy(keep_last_turns=2), "two"),
        (Policy(keep_last_turns=2, keep_last_messages=2), "three"),
        (Policy(keep_last_turns=1, keep_last_messages=100), "three"),
        (Policy(keep_last_turns=2, keep_tokens=30), "2"),
        (Policy(keep_tokens=0.1), "3"),
        (Policy(keep_tokens=(0.9, 20)), "three"),
        (Policy(keep_tokens=(0.2, 100)), "three"),
        (Policy(keep_fraction=0.2), "three"),
        (Policy(keep_tokens=5), "3"),
    ],
)
def test_the_tightest_cap_wins_and_the_newest_stays(policy, first):
    """All caps hold at once; the newest exchange stays even when a cap would not have it."""
    assert starts(keep_from(EXCHANGES, reversed(TOKENS), policy, budget_tokens=100)) == first


def test_shares_of_an_unknown_budget_do_not_hold():
    """Without a budget a cap that is a share of it cannot hold; its absolute part does."""
    assert keep_from(EXCHANGES, reversed(TOKENS), Policy(keep_tokens=0.1)) == 0
    assert starts(keep_from(EXCHANGES, reversed(TOKENS), Policy(keep_tokens=(0.1, 20)))) == "three"


def test_more_stays_after_a_failed_summary():
    """Where nobody could summarise, the policy's other fraction holds."""
    policy = policy_named("threshold-80")

    assert starts(keep_from(EXCHANGES, reversed(TOKENS), policy)) == "three"
    assert starts(keep_from(EXCHANGES, reversed(TOKENS), policy, after_failure=True)) == "2"


def test_an_empty_conversation_has_an_empty_tail():
    """Nothing in, nothing kept, no error."""
    policy = Policy(keep_last_turns=1, keep_last_messages=1, keep_tokens=1, keep_fraction=0.5)

    assert keep_from([], [], policy) == 0


@pytest.mark.slow
@given(st.lists(st.integers(0, 50), max_size=12), st.integers(1, 12), st.integers(1, 200))
def test_the_tail_is_the_largest_within_its_caps(sizes, count, room):
    """Every longer tail breaks a cap, and the tail itself breaks one only if it is the newest exchange alone."""
    exchanges = group([text_message("user", "x") for _ in sizes])
    cut = keep_from(exchanges, reversed(sizes), Policy(keep_last_messages=count, keep_tokens=max(2, room)))

    def holds(at):
        return len(sizes) - at <= count and sum(sizes[at:]) <= max(2, room)

    assert holds(cut) or cut == len(sizes) - 1
    assert not any(holds(at) for at in range(cut))


class Window:
    """What is left of messages in a window."""

    def __init__(self, messages, policy=None, start=0, budget=4_000, count=count_message):
        entries = [ViewMessage(shown=one, count_message=count, position=at) for at, one in enumerate(messages)]
        view = WorkingView(
            exchanges=exchanges_of(entries),
            format=format_named("openai-chat"),
            count_message=count,
            counter=COUNTER,
            reserve_tokens=0,
        )
        keep_window(view, policy or policy_named("five-turns"), budget, start)
        self.messages = [entry.message for entry in view.entries()]
        self.positions = [entry.position for entry in view.entries()]
        self.tokens = sum(map(count_message, self.messages))


def test_a_window_holds_the_last_five_turns():
    """Of eight turns the last five are in the window."""
    talk = [text_message(role, f"{role} {turn}") for turn in range(8) for role in ("user", "assistant")]

    assert Window(talk).messages == talk[6:]


@pytest.mark.spec("W3-11")
def test_what_a_summary_covers_is_left_out():
    """What lies before the start is not in the window."""
    talk = [text_message(role, f"{role} {turn}") for turn in range(8) for role in ("user", "assistant")]

    assert Window(talk, start=4).messages == talk[6:]
    assert Window(talk, start=10).messages == talk[10:]
    assert Window(talk, start=99).messages == []


@pytest.mark.spec("W3-06")
def test_long_messages_are_cut_but_never_the_newest_request():
    """A message over the limit keeps its two ends; what is being answered comes whole."""
    talk = [
        text_message("user", "old " * 2_000),
        text_message("assistant", "yes"),
        text_message("user", "new " * 1_000),
    ]
    made = Window(talk)

    assert count_message(made.messages[0]) <= 804
    assert made.messages[0].edited
    assert made.messages[1:] == talk[1:]


def test_a_request_larger_than_the_budget_is_cut_not_lost():
    """The window is never empty while there is a request: it keeps its two ends."""
    talk = [text_message("user", f"Begin. {'word ' * 20_000} The end.")]
    made = Window(talk)

    assert made.tokens <= 4_000
    assert made.messages[0].text.startswith("Begin.")
    assert made.messages[0].text.rstrip().endswith("The end.")


def test_the_newest_request_stays_before_a_long_turn():
    """Where the tail does not reach back to the request that is being worked on, the request stays before it."""
    turn = [message for n in range(40) for message in (call(f"c{n}"), result(f"c{n}", "x" * 1_000))]
    made = Window(
        [text_message("user", "old"), text_message("assistant", "done"), text_message("user", "the task"), *turn]
    )

    assert made.messages[0].text == "the task"
    assert made.tokens <= 4_000
    assert (made.positions[0], made.positions[-1]) == (2, 82)
    assert all(message.calls or message.results for message in made.messages[1:])
    assert len([m for m in made.messages if m.calls]) == len([m for m in made.messages if m.results])


@pytest.mark.spec("W0-18")
def test_system_text_stays_where_it_stands():
    """Leading system text is kept and paid first; later system text stays in its place in the tail."""
    talk = [
        text_message("system", "rules"),
        text_message("user", "a"),
        text_message("system", "later rule"),
        text_message("user", "b"),
    ]

    assert [message.text for message in Window(talk).messages] == ["rules", "a", "later rule", "b"]


@pytest.mark.spec("W3-09")
def test_tool_results_count_by_their_content():
    """A result of many tokens is not taken for fifty: what would pass the budget with it leaves, whole exchanges of it."""
    steps = [[call(f"c{n}"), result(f"c{n}", "y" * 2_000)] for n in range(6)]
    talk = [text_message("user", "go"), *(message for step in steps for message in step)]
    made = Window(talk, budget=1_200)

    assert Window(talk).messages == talk
    assert made.positions == [0, 9, 10, 11, 12]
    assert made.messages == [talk[at] for at in made.positions]


@pytest.mark.spec("W0-16")
@pytest.mark.parametrize(
    ("talk", "part"),
    [
        ([text_message("system", "s" * 400), text_message("user", "hi")], "system text"),
        ([text_message("user", "hi"), call("a", "b", "c")], "newest exchange"),
        ([text_message("user", "hello " * 90), call("a"), result("a", "z" * 900)], "newest exchange"),
        ([text_message("system", "s" * 400), text_message("user", "hello " * 90)], "system text"),
    ],
)
def test_a_budget_below_the_frame_names_what_does_not_fit(talk, part):
    """Where not even the frame fits, the error names the part."""
    with pytest.raises(CannotFit) as raised:
        Window(talk, budget=5)

    assert raised.value.part == part
    enough = Window(talk, budget=raised.value.needed_tokens)
    assert enough.tokens == raised.value.needed_tokens
    assert all(message.text or message.calls for message in enough.messages)


def test_a_share_of_all_messages_is_kept_once():
    """A cap as a share is of the whole conversation, not again of what it left."""
    talk = [text_message("user", f"message {number}") for number in range(30)]

    assert len(Window(talk, Policy(keep_fraction=0.2)).messages) == 6


@pytest.mark.slow
def test_what_caps_leave_out_is_not_weighed():
    """A window of five turns costs the same however long the conversation is."""
    weighed = []
    talk = [text_message(role, f"{role} {turn}") for turn in range(2_000) for role in ("user", "assistant")]
    Window(talk, count=lambda message: weighed.append(message) or count_message(message))

    assert len(weighed) < 100


def test_windows_change_no_input():
    """Messages given are messages kept, unchanged."""
    talk = [text_message("user", "long " * 3_000), text_message("assistant", "ok"), text_message("user", "q")]
    before = list(talk)
    Window(talk)

    assert talk == before


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.integers(0, 4_000)), min_size=1, max_size=12),
    st.integers(40, 3_000),
)
def test_a_window_is_always_within_its_budget(shapes, budget):
    """Whatever the messages, the window fits and is in order, and the newest message is in it."""
    talk = [text_message(role, "ab cd. " * (size // 7)) for role, size in shapes]
    made = Window(talk, budget=budget)

    assert made.tokens <= budget
    assert made.positions == sorted(set(made.positions))
    assert made.positions[-1] == len(talk) - 1
