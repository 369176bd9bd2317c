"""What is known of models, and how a name is found."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import warnings
from typing import Any

import pytest

import plimsoll
from plimsoll.errors import SettingError, UnknownModelWarning
from plimsoll.tokens import registry
from plimsoll.tokens.registry import Vocabulary, model_info, register_model

ROOT = pathlib.Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def forgetful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing registered or warned about in one test is known in the next."""
    monkeypatch.setattr(registry, "_registered", {})
    monkeypatch.setattr(registry, "_warned", set())
    monkeypatch.delenv(registry.ENVIRONMENT, raising=False)
    registry.checked_models.cache_clear()
    registry.read_entries.cache_clear()


@pytest.mark.spec("S0-28", "W0-20")
@pytest.mark.parametrize(
    ("name", "window", "output"),
    [
        ("gpt-4o", 128_000, 16_384),
        ("gpt-4o-mini", 128_000, 16_384),
        ("GPT-4o", 128_000, 16_384),
        ("gpt-4o-2099-01-01", 128_000, 16_384),
        ("gpt-4", 8_192, 4_096),
        ("gpt-4-turbo", 128_000, 4_096),
        ("gpt-5", 400_000, 128_000),
        ("gpt-5-mini-2025-08-07", 400_000, 128_000),
        ("claude-3", 200_000, 4_096),
        ("claude-3.5", 200_000, 8_192),
        ("claude-3-5-sonnet", 200_000, 8_192),
        ("claude-3.5-sonnet", 200_000, 8_192),
        ("claude-3-5-sonnet-20241022", 200_000, 8_192),
        ("anthropic/claude-sonnet-4-5", 200_000, 64_000),
        ("bedrock/us.anthropic.claude-3-5-sonnet-20241022-v2:0", 200_000, 8_192),
        ("anthropic.claude-3-haiku-20240307-v1:0", 200_000, 4_096),
        ("vertex_ai/claude-opus-4@20250514", 200_000, 32_000),
        ("openrouter/openai/gpt-4o", 128_000, 16_384),
        ("claude-opus-4-7", 1_000_000, 128_000),
        ("gemini-1.5", 1_000_000, 8_192),
        ("gemini-2", 1_000_000, 8_192),
        ("gemini-1.5-pro", 2_097_152, 8_192),
        ("gemini/gemini-2.5-pro", 1_048_576, 65_535),
        ("models/gemini-2.0-flash-001", 1_048_576, 8_192),
        ("ft:gpt-4o-mini-2024-07-18:org::id", 128_000, 16_384),
        ("claude-epic-9", 200_000, 4_096),
    ],
)
def test_names_are_found(name: str, window: int, output: int) -> None:
    """Exact names, names with providers, dates and dots, and families, none of them by warning (S0-28, W0-20, C-23)."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        info = model_info(name)
    assert (info.name, info.window_tokens, info.max_output_tokens) == (name, window, output)


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("gpt-4o", "exact"),
        ("openai/gpt-4o", "exact"),
        ("gpt-4o-2099-01-01", "prefix"),
        ("gpt-4o2", "family"),
        ("gpt-5.99", "family"),
        ("claude-epic-9", "family"),
    ],
)
def test_how_a_name_was_found_is_said(name: str, match: str) -> None:
    """A longer name is the same model only where a separator follows; else only the family is known."""
    assert model_info(name).match == match


@pytest.mark.parametrize(
    ("name", "window"),
    [
        ("moonshotai/Kimi-K2-Instruct", 131_072),
        ("kimi-k2-0905-preview", 262_144),
        ("moonshotai.kimi-k2-thinking", 262_144),
        ("grok-3-mini", 131_072),
        ("x-ai/grok-4", 256_000),
        ("grok-4-fast-reasoning", 2_000_000),
        ("xai.grok-4-1-fast", 2_000_000),
        ("meta-llama/Meta-Llama-3-8B-Instruct", 8_192),
        ("meta-llama/Llama-3.1-70B", 128_000),
        ("us.meta.llama3-3-70b-instruct-v1:0", 128_000),
        ("llama3.2:3b", 128_000),
        ("accounts/fireworks/models/llama-v3p1-405b-instruct", 128_000),
        ("meta-llama/Llama-4-Maverick-17B-128E", 1_000_000),
        ("mistralai/Mistral-7B-Instruct-v0.3", 32_768),
        ("mixtral-8x7b-32768", 32_768),
        ("mistral-large-2411", 128_000),
        ("mistralai/Magistral-Small-2506", 40_000),
        ("devstral-small-2507", 128_000),
        ("Qwen/Qwen3-32B", 32_768),
        ("qwen2.5-coder:7b", 32_768),
        ("qwen3-coder:30b", 262_144),
        ("Qwen/Qwen3-235B-A22B-Instruct-2507", 262_144),
        ("zai-org/GLM-4.6-FP8", 200_000),
        ("glm-4-plus", 128_000),
        ("minimax/minimax-m2.7", 200_000),
        ("MiniMaxAI/MiniMax-M1-80k", 1_000_000),
        ("gpt-oss:20b", 131_072),
        ("gemma2:9b", 8_192),
        ("google/gemma-3-12b-it", 131_072),
        ("gemma3:1b", 32_768),
        ("gemma4:e4b", 131_072),
        ("deepseek-ai/DeepSeek-V3-0324", 65_536),
        ("microsoft/phi-4", 16_384),
        ("cohere.command-r-plus-v1:0", 128_000),
        ("us.amazon.nova-pro-v1:0", 300_000),
        ("ai21/jamba-large-1.7", 256_000),
    ],
)
def test_open_models_have_the_window_of_their_makers_page(name: str, window: int) -> None:
    """As hubs, gateways, clouds and local servers spell them, the smallest of a family where only that is known; no warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model_info(name).window_tokens == window


@pytest.mark.parametrize("name", ["meta-llama/Meta-Llama-3.1-8B", "devstral-small-2507", "qwq-32b"])
def test_an_open_model_is_counted_by_its_own_family(name: str) -> None:
    """The ratios of a measured vocabulary, not those of an unknown one."""
    assert model_info(name).vocabulary != model_info(None).vocabulary


def test_the_packaged_data_is_what_its_script_writes() -> None:
    """The families and ratios of the script, in its layout: the next run of it loses nothing."""
    spec = importlib.util.spec_from_file_location("distill", ROOT / "bench/distill_registry.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    data = dict(registry._data())

    assert script.OUT.read_text("utf-8") == script.written(data)
    assert data["families"] == script.FAMILIES
    assert data["tokenizers"] == script.TOKENIZERS
    assert data["binds_thinking"] == script.BINDS_THINKING
    assert data["tool_prompts"] == script.TOOL_PROMPTS


def test_input_may_be_less_than_the_window() -> None:
    """gpt-5 takes 272,000 tokens of input within a window of 400,000: both are stored."""
    info = model_info("gpt-5")
    assert (info.max_input_tokens, info.window_tokens) == (272_000, 400_000)


@pytest.mark.parametrize(
    ("name", "prices"), [("gpt-4o", (2.5, 1.25, None, 10.0)), ("claude-opus-4-7", (5.0, 0.5, 6.25, 25.0))]
)
def test_prices_are_dollars_a_million(name: str, prices: tuple[float | None, ...]) -> None:
    """Input, cached input, cache write and output, as the makers list them."""
    info = model_info(name)
    assert (info.input_price, info.cached_input_price, info.cache_write_price, info.output_price) == prices


def test_unknown_models_get_a_small_window_and_one_warning() -> None:
    """An unknown name is 32,000 and 4,096 tokens, warned about once, each name by itself (C-23)."""
    with pytest.warns(UnknownModelWarning, match="zebra-9") as caught:
        info = model_info("zebra-9")
    assert (info.window_tokens, info.max_output_tokens, info.match) == (32_000, 4_096, "unknown")
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model_info("zebra-9")
    with pytest.warns(UnknownModelWarning, match="zebra-10"):
        model_info("zebra-10")


def test_warnings_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flood of made-up names neither warns nor is remembered without end."""
    monkeypatch.setattr(registry, "REGISTRY_WARNINGS_MAX", 2)
    with pytest.warns(UnknownModelWarning) as caught:
        list(map(model_info, map(str, range(50))))
    assert len(caught) == len(registry._warned) == 2


@pytest.mark.parametrize("name", [None, ""])
def test_no_model_is_unknown_without_a_warning(name: str | None) -> None:
    """None is the small window, and nothing to warn about."""
    if name is None:
        assert model_info(name).window_tokens == 32_000
    else:
        with pytest.warns(UnknownModelWarning):
            assert model_info(name).window_tokens == 32_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["/", "///", "a" * 100_000, "anthropic." * 5_000, "x/" * 5_000, "\ud800", "models/", "\x00", "us.anthropic."],
)
def test_any_name_has_an_answer(name: str) -> None:
    """Absurd names are unknown models, found out in linear time."""
    with pytest.warns(UnknownModelWarning):
        assert model_info(name).match == "unknown"


def test_registering_a_model() -> None:
    """A registered model is found by its name in any case and prefix, and keeps what was known of the name before."""
    info = register_model("My-Model", window_tokens=50_000, max_output_tokens=2_000, input_price=0.1)
    assert model_info("acme/my-model") == info
    assert (info.window_tokens, info.max_input_tokens, info.match) == (50_000, 50_000, "registered")
    changed = register_model("gpt-4o", window_tokens=1_000_000)
    assert (changed.window_tokens, changed.max_output_tokens, changed.input_price) == (1_000_000, 16_384, 2.5)
    assert model_info("gpt-4o").vocabulary == Vocabulary()


def test_a_file_of_models(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's file comes before the packaged data and after registered models."""
    path = tmp_path / "models.json"
    path.write_text(
        json.dumps(
            {
                "Acme-1": {"window_tokens": 9_000, "vocabulary": {"ascii": 1.4, "margin": 1.2}},
                "gpt-4o": {"max_output_tokens": 5},
            }
        )
    )
    monkeypatch.setenv(registry.ENVIRONMENT, str(path))
    assert model_info("acme-1").window_tokens == 9_000
    assert model_info("acme-1").vocabulary == Vocabulary(ascii=1.4, margin=1.2)
    assert model_info("openai/gpt-4o").max_output_tokens == 5
    register_model("acme-1", window_tokens=10_000)
    assert model_info("acme-1").window_tokens == 10_000


def test_newer_claude_models_bind_their_thinking() -> None:
    """By the version in the name: dates are no versions, and what comes next is newer."""
    bound = (
        "claude-opus-5-5",
        "claude-fable-5-1",
        "claude-mythos-5-2",
        "claude-sonnet-6",
        "us.anthropic.claude-haiku-5-5-20260901-v1:0",
    )
    free = (
        "claude-opus-5",
        "claude-fable-5",
        "claude-sonnet-4-6",
        "claude-opus-4-20250514",
        "claude-3-7-sonnet-latest",
        "gpt-5.5",
        "x-9-9",
    )
    assert all(registry.look_up(name).binds_thinking for name in bound)
    assert not any(registry.look_up(name).binds_thinking for name in free)
    assert register_model("claude-opus-5-5", binds_thinking=False).binds_thinking is False


INVALID: list[tuple[Any, str]] = [
    ({"window": 5}, "models.m.window"),
    ({"window_tokens": 0}, "models.m.window_tokens"),
    ({"window_tokens": "9000"}, "models.m.window_tokens"),
    ({"window_tokens": True}, "models.m.window_tokens"),
    ({"window_tokens": 10**30}, "models.m.window_tokens"),
    ({"window_tokens": 1000, "max_input_tokens": 2000}, "models.m.max_input_tokens"),
    ({"tool_prompt_tokens": -1}, "models.m.tool_prompt_tokens"),
    ({"input_price": -0.1}, "models.m.input_price"),
    ({"output_price": float("nan")}, "models.m.output_price"),
    ({"provider": 3}, "models.m.provider"),
    ({"binds_thinking": 1}, "models.m.binds_thinking"),
    ({"vocabulary": "o200k_base"}, "models.m.vocabulary"),
    ({"vocabulary": {"ratio": 2}}, "models.m.vocabulary"),
    ({"vocabulary": {"base": "p50k"}}, "models.m.vocabulary.base"),
    ({"vocabulary": {"base": []}}, "models.m.vocabulary.base"),
    ({"vocabulary": {"margin": 0.9}}, "models.m.vocabulary.margin"),
    ({"vocabulary": {"ascii": "1"}}, "models.m.vocabulary.ascii"),
    (7, "models.m"),
]


@pytest.mark.parametrize(("values", "field"), INVALID)
def test_impossible_values_are_refused(
    values: Any, field: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both ways of adding a model name the field that is wrong, and register nothing."""
    if isinstance(values, dict):
        with pytest.raises(SettingError) as refused:
            register_model("m", **values)
        assert refused.value.field == field
        assert registry._registered == {}
    (tmp_path / "m.json").write_text(json.dumps({"m": values}))
    monkeypatch.setenv(registry.ENVIRONMENT, str(tmp_path / "m.json"))
    with pytest.raises(SettingError) as refused:
        model_info("anything")
    assert refused.value.field == field


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 100_000, b'"x"', b'{"m":{"window_tokens":1' + b"0" * 5000 + b"}}"],
)
def test_files_that_are_not_models_are_refused(
    content: bytes, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken, deep and wrong JSON is a SettingError that names the variable."""
    (tmp_path / "m.json").write_bytes(content)
    monkeypatch.setenv(registry.ENVIRONMENT, str(tmp_path / "m.json"))
    with pytest.raises(SettingError, match="PLIMSOLL_MODELS"):
        model_info("gpt-4o")


def test_missing_and_huge_files_are_refused(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not there, or larger than the limit, is refused and not read."""
    monkeypatch.setenv(registry.ENVIRONMENT, str(tmp_path / "none.json"))
    with pytest.raises(SettingError, match="cannot be read"):
        model_info("gpt-4o")
    monkeypatch.setattr(registry, "REGISTRY_FILE_SIZE_BYTES_MAX", 3)
    (tmp_path / "none.json").write_text('{"a": {}}')
    with pytest.raises(SettingError, match="larger than"):
        model_info("gpt-4o")


def test_packaged_data_is_sane() -> None:
    """Every packaged model has a window, room for output in it, and prices that rise from cached to output."""
    data = registry._data()
    assert len(data["models"]) > 200
    for name in (*data["models"], *data["families"]):
        info = model_info(name)
        assert 4_000 <= info.max_input_tokens <= info.window_tokens <= 20_000_000, name
        assert 0 < info.max_output_tokens <= info.window_tokens, name
        assert (info.cached_input_price or 0) <= (info.input_price or 1e9) * 1.01, name
        assert info.vocabulary.margin >= 1


@pytest.mark.parametrize(
    "call",
    [
        lambda name: plimsoll.check([], model=name),
        lambda name: plimsoll.fit([{"role": "user", "content": "hello"}], model=name),
        lambda name: plimsoll.open("x", store="memory:", model=name).close(),
    ],
    ids=["check", "fit", "open"],
)
def test_the_warning_points_at_the_caller(call, request):
    """An unknown model is warned of at the line that named it, not somewhere inside plimsoll."""
    with pytest.warns(UnknownModelWarning) as told:
        call(f"nobody-knows-{request.node.callspec.id}")

    assert told[0].filename == __file__
