"""What holds for every counter and every text."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from amounts import examples
from plimsoll.message import Media, Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from plimsoll.tokens.calibrate import Calibrator
from plimsoll.tokens.counter import counter_for, message_counter_for
from plimsoll.tokens.estimate import EstimatingCounter
from plimsoll.tokens.exact import SplintrEngine, exact_counter, slices, without_surrogates
from plimsoll.tokens.framing import ANTHROPIC, OPENAI_CHAT, Framing, MessageCounter
from plimsoll.tokens.table import VocabularyTable, lines_apart
from published_counts import FORMULAS

quick = settings(max_examples=examples(150), deadline=None)
pieces = st.sampled_from(
    [
        "the",
        " quick",
        "Fox",
        "1234",
        "\n",
        "\r\n",
        "    ",
        "、",
        "中文",
        "한국",
        "ка",
        "é",
        "😀",
        "\ud800",
        "\udc00",
        "<|endoftext|>",
        "==",
        '{"',
        "a1b2",
        "\x00",
        "/",
        "'s",
        "\t",
    ]
)
texts = st.text(max_size=60) | st.lists(pieces, max_size=30).map("".join) | st.text(st.characters(), max_size=30)
"""Surrogates included."""
counters = st.sampled_from(
    [
        EstimatingCounter("o200k_base"), EstimatingCounter("cl100k_base"), exact_counter("o200k_base"), exact_counter("cl100k_base"),
        counter_for("claude-opus-5"), counter_for("gemini-3"), counter_for(None), *(counter_for(None, choice=formula) for formula in FORMULAS.values()),
    ]
)  # fmt: skip
ENGINES = {vocabulary: SplintrEngine(vocabulary) for vocabulary in ("o200k_base", "cl100k_base")}
estimators = st.sampled_from([EstimatingCounter("o200k_base"), EstimatingCounter("cl100k_base")])


@quick
@given(st.sampled_from(sorted(ENGINES)), texts)
def test_the_table_counts_as_the_engine(vocabulary: str, text: str) -> None:
    """Whatever a vocabulary's table counts, splintr counts the same."""
    text = without_surrogates(text)
    assert VocabularyTable(vocabulary).count(text) in {None, ENGINES[vocabulary].count(text)}


@quick
@given(counters, texts)
def test_every_counter_is_total(counter: object, text: str) -> None:
    """Any text has a count, 0 only for the empty one, the same when asked again, and `upper` is not below it."""
    count = counter.count(text)
    assert isinstance(count, int)
    assert (count == 0) == (text == "")
    assert count == counter.count(text) <= counter.upper(text)


@pytest.mark.spec("WE-03")
@quick
@given(estimators, texts, texts)
@example(EstimatingCounter(), "中" * 50, "a" * 30)
def test_the_estimate_is_monotone(counter: EstimatingCounter, text: str, more: str) -> None:
    """Text appended never lowers the estimate or its upper count (WE-03)."""
    assert counter.count(text) <= counter.count(text + more)
    assert counter.upper(text) <= counter.upper(text + more)


@pytest.mark.spec("WE-02", "WE-03")
@quick
@given(estimators, texts, texts)
@example(EstimatingCounter(), "x" * 9, "9")
@example(EstimatingCounter(), "今天天气很好，" * 9, "the quick brown fox jumps " * 9)
def test_the_estimate_is_additive(counter: EstimatingCounter, text: str, more: str) -> None:
    """The estimate of two texts together is that of each, within 2, in scripts of very different density too (WE-02, WE-03)."""
    assert abs(counter.count(text + more) - counter.count(text) - counter.count(more)) <= 2


@quick
@given(estimators, st.lists(texts, max_size=6))
def test_the_estimate_adds_up_exactly_over_lines(counter: EstimatingCounter, lines: list[str]) -> None:
    """Before rounding, lines with their line feeds add up exactly."""
    whole = [f"{line}\n" for line in lines]
    assert counter.units("".join(whole)) == sum(map(counter.units, whole))


@quick
@given(st.lists(pieces, max_size=60).map("".join), st.sampled_from(["o200k_base", "cl100k_base"]), st.integers(1, 30))
def test_exact_counts_add_up_over_safe_cuts(text: str, vocabulary: str, size: int) -> None:
    """Slices of any size, cut where it is safe, add up to the count of the whole."""
    counter = exact_counter(vocabulary)
    assert sum(map(counter.count, slices(text, size))) == counter.count(text)


@quick
@given(st.lists(pieces, max_size=60).map("".join), st.sampled_from(["o200k_base", "cl100k_base"]))
def test_exact_counts_add_up_over_lines(text: str, vocabulary: str) -> None:
    """The lines that are counted apart are the whole text, and add up to its count."""
    counter = exact_counter(vocabulary)
    assert "".join(lines_apart(text)) == text
    assert counter.count_by_lines(text) == counter.count(text)


parts = st.one_of(
    st.builds(Text, text=texts),
    st.builds(Reasoning, text=texts, signature=st.none() | texts),
    st.builds(ToolCall, id=texts, name=texts, arguments=texts),
    st.builds(ToolResult, call_id=texts, content=texts),
    st.builds(
        Media,
        kind=st.sampled_from(["image", "audio", "video", "file"]),
        width_px=st.none() | st.integers(),
        height_px=st.none() | st.integers(),
        size_bytes=st.none() | st.integers(),
    ),
    st.builds(
        Opaque, wire=st.dictionaries(texts, st.recursive(texts | st.integers() | st.none() | st.floats(), st.lists))
    ),
)
messages = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    parts=st.lists(parts, max_size=4).map(tuple),
    name=st.none() | texts,
)


@quick
@given(st.lists(messages, max_size=3), st.sampled_from([OPENAI_CHAT, ANTHROPIC]), estimators)
def test_messages_of_anything_have_a_count(
    history: list[Message], framing: Framing, counter: EstimatingCounter
) -> None:
    """Any parts in any framing count; a request is the sum of its messages and the reply; upper counts are not below."""
    counting = MessageCounter(counter, framing)
    counts = [counting.message(message) for message in history]
    assert counting.messages(history) == sum(counts) + framing.reply_priming
    assert all(found >= framing.per_message for found in counts)
    assert counting.upper.messages(history) >= counting.messages(history)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["gpt-4o", "claude-opus-5", None])
@quick
@given(message=messages, part=parts)
def test_another_part_never_makes_a_message_cheaper(model: str | None, message: Message, part: object) -> None:
    """A message with one more part costs at least as much."""
    counting = message_counter_for(model)
    assert counting.message(message.with_parts((*message.parts, part))) >= counting.message(message)


@quick
@given(st.lists(st.tuples(st.integers(-5, 10**7), st.integers(-5, 10**7)), max_size=12))
def test_calibration_stays_in_its_bounds(calls: list[tuple[int, int]]) -> None:
    """Whatever is reported, the ratio stays between 0.5 and 3, the margin at least 1, and the state survives writing."""
    state = Calibrator()
    for ours, theirs in calls:
        state = state.record(counted=ours, reported=theirs)
    assert 0.5 <= state.ratio <= 3
    assert state.margin(1.15) >= 1
    assert Calibrator.from_dict(state.to_dict()) == state
