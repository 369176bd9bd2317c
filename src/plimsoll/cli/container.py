"""What messages came in, so that they go out in the same: a list, JSON lines, or a request body with all else in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import plimsoll
from plimsoll.cli.output import json_text
from plimsoll.formats.rules import RULES
from plimsoll.light.dataclass import dataclass, field
from plimsoll.message import FormatName


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """Where messages and the system text were in what was read. `body` is the request that held them, whole."""

    kind: Literal["array", "lines", "body"]
    body: Mapping[str, Any] = field(default_factory=dict, repr=False)
    messages_key: str = "messages"
    system_key: str = "system"

    @classmethod
    def of_request(cls, format: FormatName, *, has_system: bool) -> Container:
        """A list; or a request body where there is system text, which a list has no place for."""
        if not has_system:
            return ARRAY
        rules = RULES[format]
        return cls(kind="body", messages_key=rules.messages_key, system_key=rules.system_key)

    @classmethod
    def of(cls, loaded: plimsoll.Transcript | plimsoll.Conversation) -> Container:
        """The container that a file's messages were in; for a tool's own file that of a request."""
        if isinstance(loaded, plimsoll.Transcript):
            return cls.of_request(loaded.format, has_system=loaded.system is not None)
        if loaded.body is None:
            return LINES if loaded.is_lines else ARRAY
        key = "messages" if isinstance(loaded.body.get("messages"), list) else "input"
        apart = "instructions" if key == "input" and "system" not in loaded.body else "system"
        return cls(kind="body", body=loaded.body, messages_key=key, system_key=apart)

    def text(self, messages: Sequence[Any], system: Any) -> str:
        """The same container around these messages, with a line feed at its end."""
        match self.kind:
            case "lines":
                return "".join(f"{json_text(message)}\n" for message in messages)
            case "array":
                inner = ",\n".join(map(json_text, messages))
                return f"[\n{inner}\n]\n" if messages else "[]\n"
            case "body":
                return f"{json_text(self._filled(messages, system))}\n"

    def _filled(self, messages: Sequence[Any], system: Any) -> dict[str, Any]:
        apart = {} if system is None else {self.system_key: system}
        changed = {**apart, self.messages_key: self._like_before(messages)}
        return {**self.body, **changed}

    def _like_before(self, messages: Sequence[Any]) -> Any:
        """The Responses API takes one text for one user message."""
        before = self.body.get(self.messages_key)
        if isinstance(before, str) and len(messages) == 1 and isinstance(messages[0].get("content"), str):
            return messages[0]["content"]
        return list(messages)


ARRAY = Container(kind="array")
LINES = Container(kind="lines")
