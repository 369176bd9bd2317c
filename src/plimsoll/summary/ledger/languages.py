"""Programming languages, from fenced code and file extensions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from plimsoll.light.regex import regex
from plimsoll.summary.ledger.fact import Fact, Origin

if TYPE_CHECKING:
    from collections.abc import Iterator

_FENCE = regex(r"^```([A-Za-z][\w+#-]{0,15})", re.MULTILINE)
_BY_EXTENSION = {
    "py": "python", "rs": "rust", "go": "go", "ts": "typescript", "tsx": "typescript", "js": "javascript", "java": "java",
    "c": "c", "h": "c", "cpp": "c++", "cc": "c++", "cs": "c#", "rb": "ruby", "php": "php", "kt": "kotlin", "swift": "swift",
    "scala": "scala", "sql": "sql", "sh": "bash", "lua": "lua", "ex": "elixir", "hs": "haskell", "zig": "zig",
}  # fmt: skip
_ALIASES = {
    **_BY_EXTENSION,
    "shell": "bash",
    "golang": "go",
    "text": "",
    "txt": "",
    "diff": "",
    "output": "",
    "console": "",
}


def from_text(text: str, position: int, origin: Origin) -> Iterator[Fact]:
    """Yield the languages of fenced code blocks."""
    if "```" in text:
        for tag in _FENCE.findall(text[:40_000])[:20]:
            name = _ALIASES.get(tag.lower(), tag.lower())
            if name:
                yield Fact("language", name, name, position, origin)


def from_path(path: str, position: int) -> Iterator[Fact]:
    """Yield the language of a file, by its extension."""
    name = _BY_EXTENSION.get(path.rsplit(".", 1)[-1].lower())
    if name is not None:
        yield Fact("language", name, name, position, "tool")
