"""The official SDKs' own request types accept what is written."""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest

from generated import FORMATS, random_history
from plimsoll.formats.convert import convert
from plimsoll.formats.registry import decode_all

pydantic = pytest.importorskip("pydantic")


def _adapter(format: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if format == "anthropic":
            types = pytest.importorskip("anthropic.types")
            return pydantic.TypeAdapter(types.MessageParam)
        openai = pytest.importorskip("openai.types")
        if format == "openai-chat":
            return pydantic.TypeAdapter(openai.chat.ChatCompletionMessageParam)
        return pydantic.TypeAdapter(openai.responses.ResponseInputItemParam)


@pytest.fixture(scope="module", params=["openai-chat", "openai-responses", "anthropic"])
def target(request: pytest.FixtureRequest) -> tuple[str, Any]:
    """A format and the validator of its request type."""
    return request.param, _adapter(request.param)


@pytest.mark.slow
def test_conversions_satisfy_the_sdk(target: tuple[str, Any]) -> None:
    """Every message converted from every format passes the SDK's request type."""
    format, adapter = target
    for source in FORMATS:
        for seed in range(40):
            wires = random_history(random.Random(seed), source)
            for wire in convert(wires, to=format, format=source).messages:
                adapter.validate_python(wire)


@pytest.mark.slow
def test_encoded_parts_satisfy_the_sdk(target: tuple[str, Any]) -> None:
    """Messages encoded from their parts after an edit pass the SDK's request type."""
    format, adapter = target
    for seed in range(60):
        found, messages = decode_all(random_history(random.Random(seed), format), format)
        for message in messages:
            adapter.validate_python(found.encode(message.with_parts(message.parts)))
