"""A client that asks a provider without a socket and without the SDK's own work on a request: for very many requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

from anthropic.types import Message
from openai.types.chat import ChatCompletion
from openai.types.responses import Response

from loopback.server import Provider


class Refused(Exception):
    """The provider refused a request."""


def direct(provider: Provider) -> Any:
    """What has the methods of both SDKs' clients that hosts use, and gives the SDKs' objects."""

    def asking(path: str, kind: Any) -> SimpleNamespace:
        return SimpleNamespace(create=partial(_create, provider, path, kind.model_validate))

    return SimpleNamespace(
        chat=SimpleNamespace(completions=asking("/v1/chat/completions", ChatCompletion)),
        responses=asking("/v1/responses", Response),
        messages=asking("/v1/messages", Message),
    )


def _create(provider: Provider, path: str, read: Callable[[Any], Any], **given: Any) -> Any:
    body = json.loads(json.dumps(given, default=lambda found: found.model_dump(exclude_unset=True, by_alias=True)))
    status, answer, _ = provider.answer(path, body)
    if status != 200:
        raise Refused(provider.refused[-1])
    return read(answer)
