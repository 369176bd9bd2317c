"""What the rules of all three providers share: refusals, the shapes of objects, images, and an independent count of tokens."""

from __future__ import annotations

import base64
import binascii
import json
import re
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import proof

Wire = dict[str, Any]

NULLABLE = frozenset(
    "content refusal audio function_call annotations citations cache_control toolset_name phase encrypted_content caller "
    "system tools thinking temperature instructions user metadata".split()
)
"""Fields that may be null; of content the rules of its message say more."""

NAME = re.compile(r"[a-zA-Z0-9_-]+")
_MAGIC = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff", "image/gif": b"GIF8"}


class Refusal(Exception):
    """A request that the API refuses."""

    def __init__(self, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message, self.param, self.code = message, param, code


def need(fine: object, message: str, *, param: str | None = None, code: str | None = None) -> None:
    """Refuse the request unless it is fine."""
    if not fine:
        raise Refusal(message, param=param, code=code)


def objects(value: object, where: str) -> list[Wire]:
    """A list of objects, or a refusal."""
    need(isinstance(value, list), f"{where}: Input should be a valid list", param=where)
    assert isinstance(value, list)
    for position, item in enumerate(value):
        need(isinstance(item, dict), f"{where}.{position}: Input should be an object", param=where)
    return value


def only(wire: Mapping[str, Any], allowed: str, where: str, wording: str) -> None:
    """Refuse fields that are not among those that are allowed. `wording` has places for `where` and `field`."""
    for field, value in wire.items():
        need(field in allowed.split(), wording.format(where=where, field=field), param=where)
        known = value is not None or field in NULLABLE
        need(known, f"Invalid type for '{where}.{field}': expected a value, but got null instead.", param=where)


def twice(values: Iterable[str]) -> list[str]:
    """What comes more than once."""
    return [value for value, count in Counter(values).items() if count > 1]


def picture(media_type: object, data: object, where: str) -> tuple[int, int]:
    """Width and height of an image in base64; a refusal where it is none, or of another type than it is said to be."""
    need(media_type in _MAGIC, f"{where}: Input should be 'image/jpeg', 'image/png' or 'image/gif'")
    try:
        raw = base64.b64decode(str(data), validate=True)
    except binascii.Error:
        raise Refusal(f"{where}: invalid base64 data") from None
    need(raw.startswith(_MAGIC[str(media_type)]), f"{where}: Image does not match the provided media type {media_type}")
    if media_type != "image/png":
        return (0, 0)
    width, height = struct.unpack(">II", raw[16:24])
    return width, height


def words(texts: Iterable[str]) -> int:
    """Tokens of texts in o200k's vocabulary, each by itself."""
    return sum(map(proof.tokens, texts))


def leaves(value: object, skip: frozenset[str]) -> Iterator[str]:
    """Every text in plain data, but for what is under some keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item, skip)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in skip:
                yield from leaves(item, skip)


def compact(value: object) -> str:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def tools_tokens(tools: object) -> int:
    """Tokens of the definitions of tools."""
    return words(map(compact, tools if isinstance(tools, list) else ()))


def openai_error(refusal: Refusal) -> dict[str, Any]:
    """A refusal as OpenAI's APIs word it."""
    told = {"message": refusal.message, "type": "invalid_request_error", "param": refusal.param, "code": refusal.code}
    return {"error": told}
