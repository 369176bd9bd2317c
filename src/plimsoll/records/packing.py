"""Compression of the large fields of compaction records."""

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
"""The fields that grow with the amount compacted."""

_PACKED_CHARS_MIN = 2_000
"""Shorter fields stay uncompressed and readable."""

_ACTIONS_CHARS_MAX = 20_000
"""Longer actions are compressed separately, since opening a session does not need them."""


def packed(data: Mapping[str, Any], *, compresses: bool = True) -> dict[str, Any]:
    """A compaction payload with its large fields deflated (zlib) in `z`, as JSON in base64.

    Uncompressed summaries would make the log half as long again. Long actions are always deflated in `y`, even if not `compresses`.
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
    """Inverse of `packed`, except for long actions (see `action_rows`). Raises FormatError if `z` is invalid."""
    return _with_fields(data, _Checked.taken(data["z"])) if "z" in data else data


def checked(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same for a check of the record, which is usually read next: then it is not inflated again."""
    return _with_fields(data, _Checked.kept(data["z"])) if "z" in data else data


def _with_fields(data: Mapping[str, Any], fields: Any) -> Mapping[str, Any]:
    return {**data, **fields} if isinstance(fields, dict) else data


class _Checked:
    """The fields that were inflated last for a check, until they are taken. Whoever takes them is the only one to hold them."""

    _last: tuple[Any, Any] = (None, None)
    """The deflated text and its fields."""

    @classmethod
    def kept(cls, text: Any) -> Any:
        """Inflate a text, and keep its fields to be taken."""
        fields = _inflated(text)
        cls._last = text, fields
        return fields

    @classmethod
    def taken(cls, text: Any) -> Any:
        """The fields of a text, inflated unless they were kept."""
        known, fields = cls._last
        cls._last = None, None
        return fields if known is text and text is not None else _inflated(text)


def action_rows(data: Mapping[str, Any]) -> Any:
    """The actions in an unpacked payload, as stored. Raises FormatError if they cannot be inflated."""
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
