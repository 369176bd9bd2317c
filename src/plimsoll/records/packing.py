"""The large fields of a compaction's record, deflated."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any
from zlib import compress, decompressobj
from zlib import error as InflateError  # noqa: N812 - it is a class

from plimsoll.errors import FormatError
from plimsoll.formats.wire import json_text
from plimsoll.limits import RECORD_SIZE_BYTES_MAX

_PACKED = ("summary", "written", "view", "actions", "ledger")
"""The fields of a compaction's record that grow with what it did."""

_PACKED_CHARS_MIN = 2_000
"""Shorter ones stay readable as they are."""

_ACTIONS_CHARS_MAX = 20_000
"""Longer actions are packed by themselves: there is one for each exchange, and a session that is opened does not need them."""


def packed(data: Mapping[str, Any], *, compresses: bool = True) -> dict[str, Any]:
    """The payload of a compaction's record with its large fields deflated (zlib) in `z`: a JSON object, in base64.

    A summary repeats what the history says in other words, and compactions are many: unpacked they would make the log half as
    long again. Very many actions are in `y`, by themselves and also without `compresses`.
    """
    kept, actions = dict(data), json_text(data.get("actions"))
    if len(actions) > _ACTIONS_CHARS_MAX:
        del kept["actions"]
        kept["y"] = _deflated(actions)
    large = {name: kept[name] for name in _PACKED if name in kept}
    text = json_text(large)
    if not compresses or len(text) < _PACKED_CHARS_MIN:
        return kept
    return {**{name: value for name, value in kept.items() if name not in large}, "z": _deflated(text)}


def unpacked(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The payload that `packed` was given; its actions are read by `actions_in`. Raises FormatError for what it would not write."""
    if "z" not in data:
        return data
    fields = _inflated(data["z"])
    return {**data, **fields} if isinstance(fields, dict) else data


def action_rows(data: Mapping[str, Any]) -> Any:
    """What an unpacked payload has in the place of its actions. Raises FormatError where that cannot be inflated."""
    return _inflated(data["y"]) if "y" in data else data.get("actions")


def _deflated(text: str) -> str:
    return b64encode(compress(text.encode("utf-8", "surrogatepass"))).decode("ascii")


def _inflated(text: Any) -> Any:
    try:
        inflater = decompressobj()
        found = inflater.decompress(b64decode(text, validate=True), RECORD_SIZE_BYTES_MAX)
        return json.loads(found.decode("utf-8", "surrogatepass"))
    except (ValueError, TypeError, RecursionError, InflateError) as error:
        raise FormatError("a compaction's packed fields cannot be read") from error
