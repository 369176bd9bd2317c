"""The command line is written on the public API: what it can, every program can."""

from __future__ import annotations

EXCEPTIONS = {
    "light.dataclass": "data classes that are made faster, for the time a command takes to start",
    "errors": "public: the errors that a command turns into one line",
    "limits": "public: the largest file that is read",
    "light.regex": "patterns that are compiled when first used, so that --help is fast",
    "formats.rules": "which keys a provider's request has, for a file that holds one",
    "message": "the type of a format's name",
    "transcripts.atomic_files": "files that are written whole or not at all, in one way everywhere",
    "mcp": "the server that one of the commands starts",
    "proxy": "the server that another of them starts",
    "hooks": "what coding agents call, which no program does",
}
"""Modules that it may import besides the public names, `cli` and `report`, and why."""


def test_commands_use_the_public_api(sources):
    """A module of `cli` imports `plimsoll` itself, `cli`, `report`, and the few modules above."""
    allowed = ("cli", "report", *EXCEPTIONS)
    inner = [
        f"{source.place}:{found.line} imports {found.target}"
        for source in sources
        if source.name.split(".")[0] == "cli"
        for found in source.imports
        if found.target.startswith("plimsoll.")
        and not found.target.removeprefix("plimsoll.").startswith(tuple(f"{name}." for name in allowed))
    ]

    assert inner == []


def test_every_exception_is_needed(sources):
    """An exception that no command uses any more is taken off the list."""
    used = {found.target for source in sources if source.name.startswith("cli") for found in source.imports}

    assert [name for name in EXCEPTIONS if not any(target.startswith(f"plimsoll.{name}.") for target in used)] == []
