"""Which counter a model gets."""

from __future__ import annotations

import pytest

from plimsoll.tokens import counter as counters
from plimsoll.tokens.cache import CachingCounter
from plimsoll.tokens.counter import ScaledCounter, clear_cache, counter_for, message_counter_for
from plimsoll.tokens.estimate import EstimatingCounter
from plimsoll.tokens.exact import exact_counter
from plimsoll.tokens.framing import ANTHROPIC, OPENAI_CHAT
from plimsoll.tokens.registry import Vocabulary

TEXT = "def f(x):\n    return {'a': x}  # 中文 комментарий\n" * 20


@pytest.mark.spec("S1-19", "WE-09")
@pytest.mark.parametrize(
    ("model", "vocabulary"),
    [
        ("gpt-4o", "o200k_base"),
        ("openai/gpt-5.5", "o200k_base"),
        ("gpt-4.1-nano", "o200k_base"),
        ("o3", "o200k_base"),
        ("chatgpt-4o-latest", "o200k_base"),
        ("gpt-6-sol", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4-turbo", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
    ],
)
def test_openai_models_are_counted_exactly(model: str, vocabulary: str) -> None:
    """Each model has its own vocabulary, not gpt-4's for all (WE-09, S1-19)."""
    found = counter_for(model)
    assert found.exact
    assert found.name == vocabulary
    assert found.count(TEXT) == found.upper(TEXT) == exact_counter(vocabulary).count(TEXT)


@pytest.mark.parametrize(
    ("model", "ratio"),
    [
        ("claude-3-5-sonnet", 1.2),
        ("claude-sonnet-4-6", 1.2),
        ("claude-opus-4-7", 1.5),
        ("claude-sonnet-5", 1.5),
        ("bedrock/us.anthropic.claude-3-haiku-20240307-v1:0", 1.2),
        ("gemini-2.5-pro", 1.2),
        ("zebra", 1.15),
        (None, 1.15),
    ],
)
def test_others_are_estimated_with_a_margin(model: str | None, ratio: float) -> None:
    """Where the vocabulary is not public, ASCII text counts as o200k's count times the prior, `upper` more, and says so."""
    found, text = counter_for(model), "plain english text, and some more of it\n" * 40
    base = exact_counter("o200k_base").count(text)
    assert not found.exact
    assert found.count(text) == pytest.approx(base * ratio, abs=1)
    assert found.upper(text) > 1.1 * found.count(text)


def test_newer_claude_counts_other_scripts_less() -> None:
    """For text that is mostly not ASCII the newer tokenizer's ratio is the lower one."""
    text = "这个函数计算文本的长度。" * 40
    assert counter_for("claude-opus-5").count(text) == pytest.approx(
        exact_counter("o200k_base").count(text) * 1.25, rel=0.01
    )


@pytest.mark.spec("WE-03")
def test_more_text_is_never_fewer_tokens() -> None:
    """Chinese after English moves the ratio down, but never the count (WE-03)."""
    counter = ScaledCounter(EstimatingCounter(), Vocabulary(ascii=1.5, other=1.25, margin=1.15))
    text = "hello world, this is text. " * 40 + "这个函数计算文本的长度。" * 40 + "and back again " * 20
    counts = [counter.count(text[:size]) for size in range(0, len(text), 3)]
    assert counts == sorted(counts)


@pytest.mark.parametrize("text", ["", "\ud800", "\x00", "é", "中\ud800"])
def test_scaled_counts_are_total(text: str) -> None:
    """Every text has a scaled count."""
    counter = counter_for("claude-opus-5")
    assert counter.upper(text) >= counter.count(text) >= (1 if text else 0)


@pytest.mark.spec("WE-10")
def test_counters_of_one_vocabulary_share_a_cache() -> None:
    """Two models with one vocabulary do not count a long text twice (WE-10)."""
    one, other = counter_for("gpt-4o"), counter_for("openai/o3")
    assert isinstance(one, CachingCounter)
    assert one is other
    text = "a text that no other test counts " * 30
    one.count(text)
    hits = one.cache_info().hits
    other.count(text)
    assert one.cache_info().hits == hits + 1


@pytest.mark.spec("S1-18")
def test_counts_can_be_forgotten() -> None:
    """A cleared cache holds nothing, and what is counted again is the same (S1-18)."""
    text = "a text that is counted, forgotten and counted again " * 30
    before = counter_for("gpt-4o").count(text)
    assert counter_for("gpt-4o").cache_info().entries
    clear_cache()

    assert counter_for("gpt-4o").cache_info().entries == 0
    assert counter_for("gpt-4o").count(text) == before
    assert message_counter_for("gpt-4o").cache_info().entries == 1


def test_without_an_engine_the_estimator_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing exact is installed the estimator takes its place, and says that it is not exact."""

    def none(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(counters, "exact_counter", none)
    assert isinstance(counters._base("cl100k_base"), EstimatingCounter)


@pytest.mark.parametrize(
    ("model", "once"), [("claude-opus-4-8", 410), ("claude-3-5-sonnet", 530), ("anthropic/claude-sonnet-4-6", 589)]
)
def test_claude_pays_for_the_prompt_that_tools_add(model: str, once: int) -> None:
    """Anthropic's framing, with the prompt documented for that model, once however many tools there are."""
    counter = message_counter_for(model)
    assert counter.framing.name == ANTHROPIC.name
    one, two = counter.tools([{"name": "a"}]), counter.tools([{"name": "a"}] * 2)
    assert one - (two - one) == once


def test_others_have_openais_framing() -> None:
    """Models of other providers, and none, are framed as OpenAI's chat, which most of them speak."""
    assert message_counter_for("gemini-2.5-pro").framing is message_counter_for(None).framing is OPENAI_CHAT
