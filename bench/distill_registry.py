"""Make src/plimsoll/tokens/models.json from the price list inside litellm's wheel (MIT licence).

    pip download --no-deps litellm && python bench/distill_registry.py litellm-*.whl

Keeps the models of their own makers under bare names; a provider's prefix is taken off when a model is looked up. What the list
no longer has (retired models) and never had (vocabularies, prompts that tools add) stands below with its source.
"""

from __future__ import annotations

import json
import re
import sys
import zipfile
from pathlib import Path

OUT = Path(__file__).parents[1] / "src/plimsoll/tokens/models.json"
LIST = "litellm/model_prices_and_context_window_backup.json"
FIELDS = [
    "provider",
    "window_tokens",
    "max_input_tokens",
    "max_output_tokens",
    "input_price",
    "cached_input_price",
    "cache_write_price",
    "output_price",
]

MAKERS = {
    "openai": "openai", "anthropic": "anthropic", "gemini": "google", "vertex_ai-language-models": "google", "mistral": "mistral",
    "xai": "xai", "deepseek": "deepseek", "moonshot": "moonshot", "zai": "zai", "dashscope": "alibaba", "meta_llama": "meta",
    "cohere_chat": "cohere", "cohere": "cohere", "minimax": "minimax", "groq": "groq",
}  # fmt: skip

RETIRED = {
    # makers' model pages at the time: window, most input, most output, dollars a million: input, cached, cache write, output
    "claude-2": ["anthropic", 200_000, 200_000, 4_096, 8, None, None, 24],
    "claude-instant": ["anthropic", 100_000, 100_000, 4_096, 0.8, None, None, 2.4],
    "claude-3-opus": ["anthropic", 200_000, 200_000, 4_096, 15, 1.5, 18.75, 75],
    "claude-3-sonnet": ["anthropic", 200_000, 200_000, 4_096, 3, None, None, 15],
    "claude-3-haiku": ["anthropic", 200_000, 200_000, 4_096, 0.25, 0.03, 0.3, 1.25],
    "claude-3-5-sonnet": ["anthropic", 200_000, 200_000, 8_192, 3, 0.3, 3.75, 15],
    "claude-3-5-haiku": ["anthropic", 200_000, 200_000, 8_192, 0.8, 0.08, 1, 4],
    "claude-3-7-sonnet": ["anthropic", 200_000, 200_000, 64_000, 3, 0.3, 3.75, 15],
    "claude-opus-4": ["anthropic", 200_000, 200_000, 32_000, 15, 1.5, 18.75, 75],
    "claude-opus-4-1": ["anthropic", 200_000, 200_000, 32_000, 15, 1.5, 18.75, 75],
    "claude-sonnet-4": ["anthropic", 200_000, 200_000, 64_000, 3, 0.3, 3.75, 15],
    "gemini-1.5-pro": ["google", 2_097_152, 2_097_152, 8_192, 1.25, 0.3125, None, 5],
    "gemini-1.5-flash": ["google", 1_048_576, 1_048_576, 8_192, 0.075, 0.01875, None, 0.3],
    "gemini-2.0-flash": ["google", 1_048_576, 1_048_576, 8_192, 0.1, 0.025, None, 0.4],
    "gemini-2.0-flash-lite": ["google", 1_048_576, 1_048_576, 8_192, 0.075, None, None, 0.3],
    "gpt-4-32k": ["openai", 32_768, 32_768, 4_096, 60, None, None, 120],
    "gpt-4-0125-preview": ["openai", 128_000, 128_000, 4_096, 10, None, None, 30],
    "gpt-4-vision-preview": ["openai", 128_000, 128_000, 4_096, 10, None, None, 30],
    "gpt-4.5-preview": ["openai", 128_000, 128_000, 16_384, 75, 37.5, None, 150],
    "chatgpt-4o-latest": ["openai", 128_000, 128_000, 16_384, 5, None, None, 15],
    "o1-mini": ["openai", 128_000, 128_000, 65_536, 1.1, 0.55, None, 4.4],
    "o1-preview": ["openai", 128_000, 128_000, 32_768, 15, 7.5, None, 60],
    "gpt-oss": ["openai", 131_072, 131_072, 32_768, None, None, None, None],
}

FAMILIES = {
    # for a name that no model above fits: the smallest window any model of the family has had since
    "gpt-4": ["openai", 128_000, 128_000, 4_096, None, None, None, None],
    "gpt-5": ["openai", 400_000, 272_000, 128_000, None, None, None, None],
    "gpt-6": ["openai", 400_000, 272_000, 128_000, None, None, None, None],
    "o1": ["openai", 128_000, 128_000, 32_768, None, None, None, None],
    "o3": ["openai", 200_000, 200_000, 100_000, None, None, None, None],
    "o4": ["openai", 200_000, 200_000, 100_000, None, None, None, None],
    "claude": ["anthropic", 200_000, 200_000, 4_096, None, None, None, None],
    "claude-3-5": ["anthropic", 200_000, 200_000, 8_192, None, None, None, None],
    "claude-haiku": ["anthropic", 200_000, 200_000, 32_000, None, None, None, None],
    "claude-opus": ["anthropic", 200_000, 200_000, 32_000, None, None, None, None],
    "claude-sonnet": ["anthropic", 200_000, 200_000, 32_000, None, None, None, None],
    "gemini": ["google", 1_000_000, 1_000_000, 8_192, None, None, None, None],
    # Kimi (Moonshot): K2 of July 2025 has 128 K, from its release of September on 256 K.
    "kimi": ["moonshot", 131_072, 131_072, 16_384, None, None, None, None],
    "kimi-k2-0905": ["moonshot", 262_144, 262_144, 16_384, None, None, None, None],
    "kimi-k2-thinking": ["moonshot", 262_144, 262_144, 16_384, None, None, None, None],
    "kimi-k2-turbo": ["moonshot", 262_144, 262_144, 16_384, None, None, None, None],
    "kimi-k3": ["moonshot", 1_048_576, 1_048_576, 16_384, None, None, None, None],
    # Grok (xAI, model pages): 2 and 3 have 128 K, 4 has 256,000; the fast ones of 4 and 4.1 have 2,000,000.
    "grok": ["xai", 131_072, 131_072, 8_192, None, None, None, None],
    "grok-2-vision": ["xai", 32_768, 32_768, 8_192, None, None, None, None],
    "grok-4": ["xai", 256_000, 256_000, 8_192, None, None, None, None],
    **{
        key: ["xai", 2_000_000, 2_000_000, 30_000, None, None, None, None]
        for key in ("grok-4-fast", "grok-4-1-fast", "grok-4.1-fast")
    },
    # Llama (Meta, model cards): 2 has 4 K, 3 has 8 K, from 3.1 on 128 K; 4 has a million (Maverick) or ten (Scout).
    "llama": ["meta", 8_192, 8_192, 4_096, None, None, None, None],
    **{key: ["meta", 4_096, 4_096, 2_048, None, None, None, None] for key in ("llama-2", "llama2", "llama-v2")},
    **{
        f"{key}{dot}{minor}": ["meta", 128_000, 128_000, 4_096, None, None, None, None]
        for key, dot in (("llama-3", "."), ("llama-3", "-"), ("llama3", "."), ("llama3", "-"), ("llama-v3", "p"))
        for minor in (1, 2, 3)
    },
    **{key: ["meta", 1_000_000, 1_000_000, 4_096, None, None, None, None] for key in ("llama-4", "llama4")},
    # Mistral (docs.mistral.ai, model cards): 32 K for 7B, Mixtral and the first Large and Codestral, 128 K since; Magistral 1.0 has 40 K.
    **{
        key: ["mistral", 32_768, 32_768, 8_192, None, None, None, None]
        for key in ("mistral", "mixtral", "open-mistral", "open-mixtral", "codestral", "voxtral", "mistral-large-2402")
    },
    **{
        key: ["mistral", 128_000, 128_000, 8_192, None, None, None, None]
        for key in (
            "mistral-large",
            "mistral-medium",
            "mistral-nemo",
            "mistral-small-3",
            "ministral",
            "devstral",
            "pixtral",
            "codestral-2501",
            "magistral-medium-2509",
            "magistral-small-2509",
        )
    },
    "magistral": ["mistral", 40_000, 40_000, 8_192, None, None, None, None],
    # Qwen (Alibaba, model cards): 32 K without extrapolation up to the first models of 3; 256 K for its coders, 2507, Next and 3.5 on.
    "qwen": ["alibaba", 32_768, 32_768, 8_192, None, None, None, None],
    "qwq": ["alibaba", 32_768, 32_768, 8_192, None, None, None, None],
    **{
        key: ["alibaba", 262_144, 262_144, 32_768, None, None, None, None]
        for key in (
            "qwen3-coder",
            "qwen3-next",
            "qwen3-4b-instruct-2507",
            "qwen3-4b-thinking-2507",
            "qwen3-30b-a3b-instruct-2507",
            "qwen3-30b-a3b-thinking-2507",
            "qwen3-235b-a22b-instruct-2507",
            "qwen3-235b-a22b-thinking-2507",
            "qwen3.5",
            "qwen3.6",
            "qwen3.7",
        )
    },
    "qwen3.8": ["alibaba", 131_072, 131_072, 16_384, None, None, None, None],
    # GLM (Z.ai, model cards): 8 K for ChatGLM, 32 K for GLM-4-0414, 128 K for the other 4, 200 K from 4.6 on.
    "chatglm": ["zai", 8_192, 8_192, 4_096, None, None, None, None],
    "glm": ["zai", 128_000, 128_000, 4_096, None, None, None, None],
    "glm-4-9b-0414": ["zai", 32_768, 32_768, 4_096, None, None, None, None],
    "glm-4-32b-0414": ["zai", 32_768, 32_768, 4_096, None, None, None, None],
    "glm-5": ["zai", 200_000, 200_000, 32_000, None, None, None, None],
    # MiniMax (model cards): Text-01 and M1 have a million, M2 has 200,000.
    "minimax": ["minimax", 200_000, 200_000, 8_192, None, None, None, None],
    "minimax-m1": ["minimax", 1_000_000, 1_000_000, 8_192, None, None, None, None],
    "minimax-text-01": ["minimax", 1_000_000, 1_000_000, 8_192, None, None, None, None],
    # Gemma (ai.google.dev/gemma): 8 K for 1 and 2; 3 has 128 K, its smallest 32 K; 4 has 128 K or 256 K.
    "gemma": ["google", 8_192, 8_192, 4_096, None, None, None, None],
    **{
        key: ["google", 131_072, 131_072, 8_192, None, None, None, None]
        for key in ("gemma-3", "gemma3", "gemma-4", "gemma4")
    },
    **{
        key: ["google", 32_768, 32_768, 8_192, None, None, None, None]
        for key in ("gemma-3-1b", "gemma-3-270m", "gemma-3n", "gemma3n", "gemma3:1b", "gemma3:270m")
    },
    # DeepSeek (api-docs.deepseek.com): 64 K for V3 and R1 at first, 128 K since, a million for V4.
    "deepseek": ["deepseek", 65_536, 65_536, 8_192, None, None, None, None],
    "deepseek-v4": ["deepseek", 1_000_000, 1_000_000, 131_072, None, None, None, None],
    # Model cards of Microsoft, Cohere, Amazon, AI21, IBM and Perplexity.
    "phi-3": ["microsoft", 4_096, 4_096, 2_048, None, None, None, None],
    "phi-3.5": ["microsoft", 128_000, 128_000, 4_096, None, None, None, None],
    "phi-4": ["microsoft", 16_384, 16_384, 4_096, None, None, None, None],
    "phi-4-mini": ["microsoft", 128_000, 128_000, 4_096, None, None, None, None],
    "phi-4-multimodal": ["microsoft", 128_000, 128_000, 4_096, None, None, None, None],
    "command-r": ["cohere", 128_000, 128_000, 4_096, None, None, None, None],
    "command-a": ["cohere", 128_000, 128_000, 8_000, None, None, None, None],
    "nova-micro": ["amazon", 128_000, 128_000, 5_000, None, None, None, None],
    "nova-lite": ["amazon", 300_000, 300_000, 5_000, None, None, None, None],
    "nova-pro": ["amazon", 300_000, 300_000, 5_000, None, None, None, None],
    "nova-premier": ["amazon", 1_000_000, 1_000_000, 10_000, None, None, None, None],
    "jamba": ["ai21", 256_000, 256_000, 4_096, None, None, None, None],
    **{
        key: ["ibm", 128_000, 128_000, 8_192, None, None, None, None]
        for key in ("granite-3.3", "granite-4", "granite4")
    },
    "sonar": ["perplexity", 128_000, 128_000, 8_000, None, None, None, None],
}

TOKENIZERS = {
    # vocabulary, tokens for one of its in ASCII text and in other text, margin of `upper`
    # OpenAI: by tiktoken's model table.
    **{
        key: ["o200k_base", 1, 1, 1]
        for key in (
            "gpt-4o",
            "gpt-4.1",
            "gpt-4.5",
            "gpt-5",
            "gpt-6",
            "gpt-oss",
            "gpt-audio",
            "gpt-realtime",
            "gpt-daybreak",
            "gpt-rosalind",
            "daybreak",
            "chatgpt-",
            "chat-latest",
            "codex-",
            "computer-use",
            "o1",
            "o3",
            "o4",
        )
    },
    **{key: ["cl100k_base", 1, 1, 1] for key in ("gpt-4", "gpt-3.5", "gpt-35")},
    # Anthropic publishes none. Up to 4.6: same code in both, 1.20 to 1.24; from 4.7 on "about 30 % more tokens" in Latin
    # text and code (third parties: 1.13 to 1.53 over o200k), no more elsewhere.
    "claude": ["o200k_base", 1.5, 1.25, 1.15],
    **{
        key: ["o200k_base", 1.2, 1.2, 1.15]
        for key in ("claude-2", "claude-instant", "claude-3", "claude-opus-4", "claude-sonnet-4", "claude-haiku-4")
    },
    **{
        key: ["o200k_base", 1.5, 1.25, 1.15]
        for key in ("claude-opus-4-7", "claude-opus-4-8", "claude-opus-4-9", "claude-sonnet-4-7", "claude-sonnet-4-8")
    },
    # Ratios of the other makers' public vocabularies to o200k over the material of fit_estimator.py: means, and margins
    # that 99 slices in 100 kept to. Gemini by Gemma 3's, which Google says Gemini 2 uses.
    "gemini": ["o200k_base", 1.2, 1.05, 1.5],
    "gemma": ["o200k_base", 1.2, 1.05, 1.5],
    "deepseek": ["o200k_base", 1.09, 1.15, 1.4],
    "qwen": ["o200k_base", 1.15, 1.25, 1.7],
    "qwq": ["o200k_base", 1.15, 1.25, 1.7],
    "llama": ["o200k_base", 1.07, 1.27, 1.5],
    **{
        key: ["o200k_base", 1.14, 1.12, 1.6]
        for key in ("mistral", "ministral", "open-mistral", "codestral", "devstral", "magistral", "pixtral", "voxtral")
    },
    "glm": ["o200k_base", 1.08, 1.31, 1.5],
    "kimi": ["o200k_base", 1.09, 1.2, 1.4],
    "": ["o200k_base", 1.15, 1.25, 1.6],
}

BINDS_THINKING = {
    # the first version whose thinking is valid only behind the messages it was generated for
    "claude": [5, 5], "claude-fable": [5, 1], "claude-mythos": [5, 1],
}  # fmt: skip

TOOL_PROMPTS = {
    # Anthropic, "Tool use": tokens of the system prompt that tools add, the larger of tool_choice auto and any
    "claude": 804, "claude-3": 530, "claude-opus-4": 346, "claude-opus-4-1": 346, "claude-sonnet-4": 346, "claude-opus-4-5": 588,
    "claude-sonnet-4-5": 588, "claude-haiku-4-5": 588, "claude-opus-4-6": 589, "claude-sonnet-4-6": 589, "claude-opus-4-7": 804,
    "claude-opus-4-8": 410, "claude-sonnet-5": 474,
}  # fmt: skip


def price(row: dict[str, object], key: str) -> float | None:
    value = row.get(key)
    return None if value is None else round(float(str(value)) * 1e6, 6)


def entry(row: dict[str, object]) -> list[object] | None:
    most_input, most_output = row.get("max_input_tokens"), row.get("max_output_tokens")
    if not isinstance(most_input, int) or not isinstance(most_output, int) or most_input < 4000:
        return None
    window = 400_000 if most_input == 272_000 else most_input  # OpenAI lists input beside 128,000 of output here
    prices = [
        price(row, f"{key}_token") if key.endswith("per") else price(row, key)
        for key in (
            "input_cost_per",
            "cache_read_input_token_cost",
            "cache_creation_input_token_cost",
            "output_cost_per",
        )
    ]
    return [MAKERS[str(row["litellm_provider"])], window, most_input, min(most_output, window), *prices]


def bare(name: str) -> str:
    return re.sub(r"^(ft:|models/)", "", name.rsplit("/", 1)[-1].lower())


def distil(rows: dict[str, dict[str, object]]) -> dict[str, list[object]]:
    models: dict[str, list[object]] = {}
    for name, row in rows.items():
        if (
            row.get("litellm_provider") in MAKERS
            and row.get("mode") in {"chat", "responses"}
            and not name.startswith("ft:")
        ):
            found = entry(row)
            if found:
                models.setdefault(bare(name), found)
    for name, found in RETIRED.items():
        models.setdefault(name, found)
    return {name: found for name, found in sorted(models.items()) if not follows(name, found, models)}


def follows(name: str, found: list[object], models: dict[str, list[object]]) -> bool:
    """Whether a shorter name of the same model says the same."""
    shorter = [other for other in models if name.startswith((f"{other}-", f"{other}@", f"{other}:"))]
    return bool(shorter) and models[max(shorter, key=len)] == found


def written(data: dict[str, object]) -> str:
    """The data as JSON, one line for each entry."""
    lines = [
        f'"{key}":{json.dumps(value)}'
        if not isinstance(value, dict)
        else f'"{key}":{{\n'
        + ",\n".join(f"{json.dumps(name)}:{json.dumps(row, separators=(',', ':'))}" for name, row in value.items())
        + "}"
        for key, value in data.items()
    ]
    return "{" + ",\n".join(lines) + "}\n"


def main() -> None:
    wheel = Path(sys.argv[1])
    with zipfile.ZipFile(wheel) as archive:
        models = distil(json.loads(archive.read(LIST)))
    data = {
        "source": f"{wheel.name.split('-')[0]} {wheel.name.split('-')[1]} (MIT licence), distilled by bench/distill_registry.py; prices in US dollars a million tokens",
        "fields": FIELDS, "models": models, "families": FAMILIES, "tokenizers": TOKENIZERS,
        "binds_thinking": BINDS_THINKING, "tool_prompts": TOOL_PROMPTS,
    }  # fmt: skip
    OUT.write_text(written(data), encoding="utf-8")
    print(len(models), "models,", OUT.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
