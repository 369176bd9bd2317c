"""The model registry: windows, prices and vocabularies. Packaged data, extensible by a file or by calls."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from plimsoll.errors import SettingError, UnknownModelWarning, warn
from plimsoll.light.dataclass import dataclass, replace
from plimsoll.light.named_tuple import NamedTuple
from plimsoll.light.packages import package_file
from plimsoll.light.regex import regex
from plimsoll.limits import REGISTRY_FILE_SIZE_BYTES_MAX, REGISTRY_WARNINGS_MAX, SETTING_TOKENS_MAX
from plimsoll.policy.validation import text_or_none

DEFAULT_MODEL = "gpt-4o"
"""Model whose vocabulary counts tokens if the caller names none. It is public, so the count is exact."""

Match: TypeAlias = Literal["registered", "exact", "prefix", "family", "unknown"]


ENVIRONMENT = "PLIMSOLL_MODELS"
"""Path of a JSON file `{model name: {field of ModelInfo: value}}` that extends the packaged data."""


class Vocabulary(NamedTuple):
    """How to count for a model: the count in the public vocabulary `base`, times a ratio that depends on the text."""

    base: str = "o200k_base"
    ascii: float = 1.0
    other: float = 1.0
    """The ratio for non-ASCII text."""
    margin: float = 1.0
    """The true count should not exceed the estimate times this. 1.0 if the vocabulary is the model's own."""

    @property
    def exact(self) -> bool:
        """Whether `base` is the model's own vocabulary."""
        return self.ascii == self.other == self.margin == 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """One model. Prices are in US dollars per million tokens; None if unknown.

    Input and output share `window_tokens`; `max_input_tokens` may be less, if the provider limits input separately.
    """

    name: str
    provider: str = ""
    window_tokens: int = 32_000
    max_input_tokens: int = 32_000
    max_output_tokens: int = 4_096
    input_price: float | None = None
    cached_input_price: float | None = None
    cache_write_price: float | None = None
    output_price: float | None = None
    vocabulary: Vocabulary = Vocabulary()
    tool_prompt_tokens: int = 0
    """What the provider adds to the prompt if there are tools, besides their definitions."""
    binds_thinking: bool = False
    """Thinking is only valid behind the exact messages it was generated for: it is removed from a view that changes before it."""
    match: Match = "exact"
    """How the name was found: `prefix` by a known prefix, `family` by a guess, `unknown` not at all."""


_registered: dict[str, ModelInfo] = {}
_warned: set[str] = set()

_PROVIDERS = regex(
    r"^(?:models/|ft:|meta-(?=llama)|(?:[a-z]{2,6}\.)?(?:anthropic|amazon|meta|mistral|cohere|openai|deepseek|qwen|google"
    r"|moonshot(?:ai)?|minimax|zai|xai|ai21|nvidia)\.)"
)
_VERSION = regex(r"-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")
_NO_VERSION = (1_000,)
_INSIDE_NAME = regex(r"[a-z0-9.]")


def model_info(name: str | None) -> ModelInfo:
    """Look up a model. Never raises for a name; an unknown one gets 32,000 and 4,096 tokens and one warning.

    Tries the name, then the name without its provider (`openai/gpt-4o`, `bedrock/us.anthropic.claude-...`), then the longest known
    prefix, then the family. Registered models take precedence over the user's file, and that over the packaged data. None is an
    unknown model without the warning. Raises SettingError if the user's file is invalid.
    """
    found = look_up(name)
    if found.match == "unknown" and name is not None:
        _warn(name)
    return found


def look_up(name: str | None) -> ModelInfo:
    """`model_info` without the warning."""
    spellings, info = _resolved(text_or_none("model", name) or "")
    given = (_registered, _from_file())
    for key in spellings if any(given) else ():
        for models in given:
            if key in models:
                return models[key]
    return info


@lru_cache(maxsize=256)
def _resolved(name: str) -> tuple[tuple[str, ...], ModelInfo]:
    """The spellings of a name, and its packaged data."""
    spellings = _spellings(name.strip().lower())
    return tuple(spellings), replace(_packaged(spellings), name=name)


def register_model(name: str, **values: Any) -> ModelInfo:
    """Add or replace a model for this process and return it.

    `values` are fields of ModelInfo, and `vocabulary` a Vocabulary or a mapping of its fields. Missing fields keep their known
    values. Raises SettingError for unknown fields and invalid values; then nothing is registered.
    """
    info = _checked(name, values)
    _registered[name.strip().lower()] = info
    return info


def _warn(name: str) -> None:
    if name not in _warned and len(_warned) < REGISTRY_WARNINGS_MAX:
        _warned.add(name)
        warn(UnknownModelWarning(name))


def _spellings(name: str) -> list[str]:
    """The name, then with more and more of the provider's prefix removed. Versions of Claude are spelled with dashes."""
    names = [name]
    while "/" in names[-1]:
        names.append(names[-1].partition("/")[2])
    while (shorter := _PROVIDERS.sub("", names[-1])) != names[-1]:
        names.append(shorter)
    if names[-1].startswith("claude") and "." in names[-1]:
        names.append(names[-1].replace(".", "-"))
    return names


def _packaged(spellings: list[str]) -> ModelInfo:
    data = _data()
    for name in spellings:
        if name in data["models"]:
            return _info(name, data["models"][name], "exact")
    name = spellings[-1]
    begins = [key for key in data["models"] if name.startswith(key) and not _INSIDE_NAME.match(name, len(key))]
    if begins:
        return _info(name, data["models"][max(begins, key=len)], "prefix")
    family = _longest(name, data["families"])
    return _unknown(name) if family is None else _info(name, family, "family")


def _info(name: str, row: Sequence[Any], match: Match) -> ModelInfo:
    known = dict(zip(_data()["fields"], row, strict=True))
    return replace(_unknown(name), **known, match=match)


def _unknown(name: str) -> ModelInfo:
    base, in_ascii, other, margin = _longest(name, _data()["tokenizers"])
    return ModelInfo(
        name=name,
        vocabulary=Vocabulary(base=base, ascii=in_ascii, other=other, margin=margin),
        tool_prompt_tokens=_longest(name, _data()["tool_prompts"]) or 0,
        binds_thinking=_version(name) >= tuple(_longest(name, _data()["binds_thinking"]) or _NO_VERSION),
        match="unknown",
    )


def _version(name: str) -> tuple[int, ...]:
    """Major and minor version in a model's name, ignoring dates."""
    found = _VERSION.search(name)
    return (0, 0) if found is None else (int(found[1]), int(found[2] or 0))


def _longest(name: str, by_prefix: Mapping[str, Any]) -> Any:
    fits = [prefix for prefix in by_prefix if name.startswith(prefix)]
    return by_prefix[max(fits, key=len)] if fits else None


@cache
def _data() -> Mapping[str, Any]:
    data = json.loads(package_file("plimsoll.tokens", "models.json"))
    models = {
        name: tuple(row) for name, row in data["models"].items()
    }  # unlike lists, no garbage collection visits them
    return MappingProxyType({**data, "models": models})


def _from_file() -> Mapping[str, ModelInfo]:
    path = os.environ.get(ENVIRONMENT)
    return checked_models(path) if path else {}


@cache
def checked_models(path: str) -> Mapping[str, ModelInfo]:
    """The models of a user's JSON file, by lower-case name. Raises SettingError for invalid values."""
    return {name.strip().lower(): _checked(name, values) for name, values in read_entries(path).items()}


def _checked(name: str, values: Any) -> ModelInfo:
    if not isinstance(values, Mapping):
        raise SettingError(f"models.{name}", "must be an object of fields")
    for field, value in values.items():
        _check(name, field, value)
    given = dict(values)
    if "vocabulary" in given:
        given["vocabulary"] = _vocabulary(name, given["vocabulary"])
    if "window_tokens" in given:
        given.setdefault("max_input_tokens", given["window_tokens"])
    spellings = _spellings(name.strip().lower())
    info = replace(_packaged(spellings), **given, name=name, match="registered")
    if not info.max_input_tokens <= info.window_tokens:
        raise SettingError(f"models.{name}.max_input_tokens", "must not be more than window_tokens")
    return info


_TOKENS = {"window_tokens", "max_input_tokens", "max_output_tokens"}
_PRICES = {"input_price", "cached_input_price", "cache_write_price", "output_price"}


def _check(name: str, field: str, value: Any) -> None:
    where = f"models.{name}.{field}"
    if field in _TOKENS or field == "tool_prompt_tokens":
        least = 1 if field in _TOKENS else 0
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= SETTING_TOKENS_MAX:
            raise SettingError(where, f"must be a whole number of tokens, at least {least}")
    elif field in _PRICES:
        if value is not None and not _is_number(value, 0.0, 1e9):
            raise SettingError(where, "must be a price of at least 0, or null")
    elif field == "provider":
        if not isinstance(value, str):
            raise SettingError(where, "must be text")
    elif field == "binds_thinking":
        if not isinstance(value, bool):
            raise SettingError(where, "must be true or false")
    elif field != "vocabulary":
        known = _TOKENS | _PRICES | {"provider", "vocabulary", "binds_thinking"}
        raise SettingError(where, f"is not one of {', '.join(sorted(known))}")


def _is_number(value: Any, least: float, most: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most


def _vocabulary(name: str, value: Any) -> Vocabulary:
    where = f"models.{name}.vocabulary"
    if isinstance(value, Vocabulary):
        return value
    if not isinstance(value, Mapping) or not set(value) <= set(Vocabulary._fields):
        raise SettingError(where, "must be an object with base, ascii, other and margin")
    if value.get("base", "o200k_base") not in ("o200k_base", "cl100k_base"):  # a tuple, as the value may be unhashable
        raise SettingError(f"{where}.base", "must be o200k_base or cl100k_base")
    for field in ("ascii", "other", "margin"):
        if not _is_number(value.get(field, 1.0), 1.0 if field == "margin" else 0.1, 10.0):
            raise SettingError(f"{where}.{field}", "must be a number from 0.1 (margin: from 1) to 10")
    return Vocabulary(**value)


@cache
def read_entries(path: str) -> Mapping[str, Any]:
    """The unvalidated entries of a file by model name. Read once per process and path.

    Raises SettingError if it cannot be read, is too large, or is not one JSON object.
    """
    try:
        entries = json.loads(_small(path))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise SettingError(ENVIRONMENT, f"{path} cannot be read as JSON: {error}") from error
    except ValueError as error:
        if isinstance(error, SettingError):
            raise
        raise SettingError(ENVIRONMENT, f"{path} has a number that is too long") from error
    if not isinstance(entries, dict):
        raise SettingError(ENVIRONMENT, f"{path} must hold one JSON object, by model name")
    return entries


def _small(name: str) -> bytes:
    from pathlib import Path  # noqa: PLC0415 - takes 3 ms to import

    path = Path(name)
    if path.stat().st_size > REGISTRY_FILE_SIZE_BYTES_MAX:
        raise SettingError(ENVIRONMENT, f"{path} is larger than {REGISTRY_FILE_SIZE_BYTES_MAX} bytes")
    return path.read_bytes()
