"""`plimsoll.window`: the newest part of a conversation, valid, within the budget, and an honest account of the rest."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import plimsoll
import proof
from generated import FORMATS, random_broken_history, random_history
from plimsoll.errors import CannotFit, SettingError
from workloads import talk, work

WORK = work(71, 60)
POLICIES = (
    "five-turns",
    "ladder",
    plimsoll.Policy.named("ladder", keep_last_messages=4),
    plimsoll.Policy.named("ladder", keep_fraction=0.3, message_tokens_max=30),
)


def accounted(made: plimsoll.Windowed, messages: list[Any], start_seq: int) -> None:
    """Every message is in the window, covered, or in a hole; sizes add up; order is kept."""
    outside = {at for start, end in made.holes for at in range(start, end)}
    inside = [at for at in made.positions if at is not None]

    assert len(made.messages) == len(made.positions) == len(made.sizes)
    assert outside.isdisjoint(inside)
    assert outside | {at for at in inside if at >= start_seq} == set(range(start_seq, len(messages)))
    assert made.excluded_count == len(outside)
    assert made.covered_count == min(start_seq, len(messages)) - sum(at < start_seq for at in inside)


def check(number: int, format: Any) -> None:
    """Assert every promise of a window on a history, a budget and a start made from a number."""
    rng = random.Random(number)
    messages = (random_history if rng.random() < 0.5 else random_broken_history)(rng, format)
    before = json.dumps(messages)
    budget = max(5, int(plimsoll.count_tokens(messages, format=format) * rng.choice((0.02, 0.1, 0.3, 0.6, 1, 1.3))))
    start_seq = rng.choice((0, 0, len(messages) // 2, len(messages), len(messages) + 3))
    options: Any = {"policy": rng.choice(POLICIES), "start_seq": start_seq, "format": format}
    refused = 0
    try:
        made = plimsoll.window(messages, max_tokens=budget, **options)
    except CannotFit as refusal:
        refused, budget = refusal.budget_tokens, refusal.needed_tokens
        made = plimsoll.window(messages, max_tokens=budget, **options)

    assert refused < budget
    proof.fits(made.messages, budget, format)
    assert made.tokens <= made.budget == budget
    assert json.dumps(messages) == before
    accounted(made, messages, min(start_seq, len(messages)))


@pytest.mark.slow
@pytest.mark.spec("W0-15", "W0-16")
@pytest.mark.parametrize("format", FORMATS)
def test_any_history_has_a_window(format: Any) -> None:
    """Broken or not, at any budget and start: valid, within the budget, accounted for, the input untouched.

    A refusal names a budget that is enough (W0-15, W0-16).
    """
    for number in range(150):
        check(number, format)


@pytest.mark.spec("S3-08", "S3-09", "S3-10")
def test_a_window_is_the_newest_part_word_for_word() -> None:
    """The last five turns as they were said, after the system text; the hole names what is not there (S3-08, S3-09, S3-10)."""
    messages = talk(72, 8, words_each=20)
    made = plimsoll.window(messages)

    assert made.messages == [messages[0], *messages[7:]]
    assert made.positions == (0, *range(7, 17))
    assert made.holes == ((1, 7),)
    assert (made.first_included, made.last_included) == (0, 16)
    assert made.tokens == plimsoll.count_tokens(made.messages) == sum(made.sizes) + 3
    assert json.loads(json.dumps(made.to_dict()))["trimmed"] is True


@pytest.mark.spec("S3-10")
def test_what_is_cut_is_counted() -> None:
    """A message over the policy's limit keeps its two ends, and the window says that it is not all there (S3-10)."""
    messages = [
        *talk(78, 2),
        {"role": "assistant", "content": f"Begin. {'word ' * 2_000}End."},
        {"role": "user", "content": "So?"},
    ]
    made, whole = plimsoll.window(messages), plimsoll.window(messages[:5])

    assert (made.truncated_count, made.excluded_count, made.trimmed) == (1, 0, True)
    assert (whole.truncated_count, whole.excluded_count, whole.trimmed) == (0, 0, False)
    assert made.messages[5]["content"].startswith("Begin.")
    assert made.messages[5]["content"].endswith("End.")
    assert made.sizes[5] <= 810


@pytest.mark.spec("S3-25", "W3-10")
def test_a_summary_takes_over_before_start_seq() -> None:
    """A summary of the first part and a window after it leave no hole between them, and fit together (S3-25, W3-10)."""
    messages = talk(77, 40)
    ((start, end),) = plimsoll.window(messages, max_tokens=2_000, policy="ladder").holes
    summary = [{"role": "user", "content": f"Summary of messages {start} to {end}."}]
    rest = plimsoll.window(messages, start_seq=end, max_tokens=2_000 + plimsoll.count_tokens(summary), policy="ladder")

    assert rest.holes == ()
    assert rest.covered_count == end - 1
    assert rest.messages == [messages[0], *messages[end:]]


@pytest.mark.slow
@pytest.mark.spec("S3-25")
def test_a_budget_replaces_the_policys() -> None:
    """`max_tokens` bounds the window, tools included; without it the policy's own window does (S3-25)."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    plain, small, tooled = (
        plimsoll.window(WORK, **options) for options in ({}, {"max_tokens": 900}, {"max_tokens": 900, "tools": tools})
    )

    assert (plain.budget, small.budget) == (4_000, 900)
    assert small.tokens <= 900
    assert tooled.budget == 900 - (plimsoll.count_tokens([], tools=tools, format="openai-chat") - 3)


@pytest.mark.spec("S0-33", "S0-37")
def test_system_text_stays_unless_it_is_sent_elsewhere() -> None:
    """System text is kept and paid first; with `keep_system` off none of it is there (S0-33, S0-37)."""
    messages = [
        *talk(73, 2),
        {"role": "system", "content": "The user is in a hurry."},
        {"role": "user", "content": "So?"},
    ]
    kept, left = plimsoll.window(messages), plimsoll.window(messages, keep_system=False)

    assert kept.messages == messages
    assert left.messages == [message for message in messages if message["role"] != "system"]
    assert left.holes == ((0, 1), (5, 6))


def test_anthropics_system_text_counts() -> None:
    """System text beside the messages takes room of the same budget."""
    messages = plimsoll.convert(talk(74, 4), to="anthropic").messages
    system = "Answer in verse. " * 40
    alone, beside = (
        plimsoll.window(messages, max_tokens=500, format="anthropic", system=text) for text in (None, system)
    )

    assert len(beside.messages) < len(alone.messages)
    assert beside.tokens <= 500
    with pytest.raises(CannotFit):
        plimsoll.window(messages, max_tokens=150, format="anthropic", system=system)


def test_a_window_for_anthropic_begins_with_the_user() -> None:
    """Where the tail begins with an answer, words of ours come first if there is room, and else the answer leaves."""
    messages = plimsoll.convert(talk(75, 4), to="anthropic").messages
    policy = plimsoll.Policy(keep_last_messages=3)
    opened = plimsoll.window(messages, max_tokens=1_000, policy=policy, format="anthropic")
    tight = plimsoll.window(messages, max_tokens=opened.tokens - 1, policy=policy, format="anthropic")

    assert opened.positions == (None, 5, 6, 7)
    assert tight.positions == (6, 7)
    for made in (opened, tight):
        proof.fits(made.messages, opened.tokens, "anthropic")


@pytest.mark.parametrize(
    "policy", ["five-turns", plimsoll.Policy(keep_fraction=0.2), plimsoll.Policy(keep_last_messages=6)]
)
def test_caps_are_kept(policy: Any) -> None:
    """A cap in turns, messages or as a share holds for the whole conversation."""
    messages = talk(76, 15, words_each=8)[1:]
    kept = plimsoll.window(messages, max_tokens=4_000, policy=policy).positions

    assert kept == tuple(range(30 - len(kept), 30))
    assert len(kept) == (10 if policy == "five-turns" else 6)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"start_seq": -1}, "start_seq"),
        ({"start_seq": True}, "start_seq"),
        ({"keep_system": 1}, "keep_system"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"policy": "sideways"}, "policy"),
    ],
)
def test_impossible_options_are_refused(options: Any, field: str) -> None:
    """By name."""
    with pytest.raises(SettingError) as raised:
        plimsoll.window(WORK, **options)

    assert raised.value.field == field


@pytest.mark.spec("S0-40")
def test_nothing_has_an_empty_window() -> None:
    """No messages, or all of them covered: an empty window, no error (S0-40)."""
    assert plimsoll.window([], format="openai-chat").messages == []
    assert plimsoll.window(WORK[1:], start_seq=len(WORK)).messages == []


@pytest.mark.spec("S3-09", "S3-10", "S3-25")
@pytest.mark.parametrize("format", ["ui-parts", "openai-chat", "anthropic"])
def test_start_seq_is_a_sequence_where_messages_have_one(format: Any) -> None:
    """Messages with `sequence` are left out by it and not by their place in the list, as a summary that covers them says."""
    roles = ("user", "assistant")
    if format == "ui-parts":
        messages: list[Any] = [
            {"id": f"m{n}", "role": roles[n % 2], "sequence": 100 + n, "parts": [{"type": "text", "text": f"t{n}"}]}
            for n in range(8)
        ]
    else:
        messages = [{"role": roles[n % 2], "sequence": 100 + n, "content": f"t{n}"} for n in range(8)]
    for start, covered in ((0, 0), (100, 0), (104, 4), (107, 7), (108, 8), (5_000, 8)):
        made = plimsoll.window(messages, start_seq=start, format=format)
        kept = [at for at in made.positions if at is not None]
        assert kept == list(range(covered, 8))
        assert (made.covered_count, made.excluded_count, made.holes) == (covered, 0, ())
        assert made.last_included_seq == (107 if covered < 8 else None)

    later = plimsoll.window(
        messages, start_seq=104, format=format, policy={"keep_last_messages": 2, "keep_last_turns": None}
    )
    assert [at for at in later.positions if at is not None] == [6, 7]
    assert (later.holes, later.excluded_count, later.covered_count) == (((4, 6),), 2, 4)


@pytest.mark.spec("S3-09")
def test_messages_without_a_sequence_follow_the_one_before() -> None:
    """A message that has none goes with the one before it; what is no whole number is none; without any, positions count."""
    numbers: list[Any] = [10, None, 11, True, "12", 14]
    messages = [
        {"id": f"m{at}", "role": "user" if at % 2 == 0 else "assistant", "parts": [{"type": "text", "text": f"t{at}"}]}
        | ({} if number is None else {"sequence": number})
        for at, number in enumerate(numbers)
    ]

    assert [at for at in plimsoll.window(messages, start_seq=11).positions if at is not None] == [2, 3, 4, 5]
    assert [at for at in plimsoll.window(messages, start_seq=10).positions if at is not None] == [0, 1, 2, 3, 4, 5]
    plain = [{key: value for key, value in message.items() if key != "sequence"} for message in messages]
    made = plimsoll.window(plain, start_seq=4)
    assert [at for at in made.positions if at is not None] == [4, 5]
    assert made.last_included_seq == made.last_included == 5


@pytest.mark.parametrize("budget", range(20, 90, 5))
def test_system_text_that_comes_to_stand_first_is_labelled(budget: int) -> None:
    """Anthropic takes system text between messages and not before them: where the tail begins with it, it has a label or is left out."""
    said = [{"role": "user", "content": "start"}]
    for _ in range(3):
        said += [
            {"role": "assistant", "content": [{"type": "text", "text": "b " * 50}]},
            {"role": "user", "content": "a " * 50},
        ]
    said += [
        {"role": "system", "content": "be brief"},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "last"},
    ]
    assert plimsoll.validate(said, format="anthropic") == []
    for policy in ("fill", "five-turns"):
        view = plimsoll.window(said, max_tokens=budget, format="anthropic", policy=policy)
        assert plimsoll.validate(view.messages, format="anthropic") == []
        assert plimsoll.count_tokens(view.messages, format="anthropic") <= view.tokens <= budget
        assert len(view.positions) == len(view.messages)


def test_outputs_in_plain_text_begin_no_turn() -> None:
    """What a command in the model's text printed comes as the user's message, and belongs to the turn of the request before it."""
    messages = [{"role": "user", "content": "Find the leak."}]
    for number in range(12):
        messages.append({"role": "assistant", "content": f"I look.\n```bash\ncat {number}.log\n```"})
        messages.append({"role": "user", "content": f"Observation: {number} lines"})
    assert plimsoll.window(messages, max_tokens=50_000).positions == tuple(range(len(messages)))
