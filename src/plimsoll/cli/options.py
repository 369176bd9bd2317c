"""Options that several commands share, with one wording each."""

from __future__ import annotations

import argparse
import re
from typing import Any

from plimsoll.errors import SettingError
from plimsoll.light.regex import regex

FORMAT_NAMES = ("openai-chat", "openai-responses", "anthropic", "ui-parts")
TOOL_NAMES = ("claude-code", "codex", "pi")
DEFAULT_MODEL = "gpt-4o"
"""As in the library, which is not loaded to print a help text; a test compares them."""

_TOKEN_CHARS_MAX = 4_096
_TOKENS = regex(r"([0-9][0-9_,]{0,20})(\.[0-9]{1,6})?([km]?)", re.IGNORECASE | re.ASCII)
_TIMES = {"": 1, "k": 1_000, "m": 1_000_000}


def option(parser: argparse._ActionsContainer, usage: str, help: str, **settings: Any) -> argparse.Action:
    """Add an option with a value, as it is typed: "--limit N"; or an argument, which is only a word: "FILE"."""
    *names, metavar = usage.split()
    return parser.add_argument(*(names or [metavar.lower()]), metavar=metavar, help=help, **settings)


def flag(parser: argparse._ActionsContainer, name: str, help: str, **settings: Any) -> None:
    """Add an option without a value."""
    parser.add_argument(name, action="store_true", help=help, **settings)


def add_file(parser: argparse.ArgumentParser) -> None:
    """The conversation to read."""
    option(
        parser,
        "FILE",
        "messages as JSON, JSON lines or a request body; a session file of Claude Code, Codex or pi; '-' for standard "
        "input; or a session's name",
    )
    add_store(parser)


def add_name(parser: argparse.ArgumentParser) -> None:
    """The session to work on."""
    option(parser, "NAME", "the session's name")
    add_store(parser)


def add_store(parser: argparse.ArgumentParser) -> None:
    """Where sessions are kept."""
    option(
        parser,
        "--store SPEC",
        "where sessions are kept: a directory, sqlite:///file.db, or project: for this project's own (default: "
        "$PLIMSOLL_HOME, else the user's data directory)",
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """Whose tokens and window."""
    option(parser, "--model M", "count and size for this model (default: the one the input names)")


def add_budget(parser: argparse.ArgumentParser) -> None:
    """The budget, the model and the policy."""
    option(
        parser,
        "--max-tokens N",
        "the budget, tools included; 32k means 32,000 (default: the model's window)",
        type=tokens,
    )
    add_model(parser)
    option(
        parser,
        "--policy P",
        "how to make it fit: fill, ladder, or another policy's name (default: fill; a session's own)",
    )


def budget_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of `add_budget`, as they were given."""
    return {name: getattr(arguments, name) for name in ("model", "max_tokens", "policy")}


def add_summarizer(parser: argparse.ArgumentParser) -> None:
    """The model that writes summaries."""
    option(
        parser,
        "--summarizer M",
        "let a model write the summary: openai:NAME or anthropic:NAME, with the key in the environment (default: rules)",
    )


def add_out(parser: argparse._ActionsContainer) -> None:
    """Where the result goes."""
    option(parser, "-o --output OUT", "write to this file, whole or not at all (default: standard output)")


def token_in(file: str) -> str:
    """The token in the first line of a file, which no list of processes shows. Raises SettingError, OSError."""
    with open(file, encoding="utf-8-sig", errors="replace") as stream:  # noqa: PTH123 - pathlib takes 3 ms to import
        line = stream.readline(_TOKEN_CHARS_MAX + 1)
    token = line.strip()
    if not token:
        raise SettingError("token", f"is empty: {file} has no token in its first line")
    if len(line) > _TOKEN_CHARS_MAX:
        raise SettingError("token", f"is too long: {file} has no token in its first line")
    return token


def tokens(text: str) -> int:
    """A number of tokens above 0: `32000`, `32,000`, `32k`, `1.5k`, `1m`. Raises ArgumentTypeError."""
    match = _TOKENS.fullmatch(text)
    value = 0 if match is None else _whole(re.sub("[_,]", "", match[1]), match[2] or "", _TIMES[match[3].lower()])
    if value < 1:
        raise argparse.ArgumentTypeError(f"a number of tokens is needed, such as 32000 or 32k, not {ascii(text)[:40]}")
    return value


def _whole(digits: str, decimals: str, times: int) -> int:
    """A decimal number of thousands or millions; 0 where it is not a whole number."""
    part, rest = divmod(int(decimals[1:] or 0) * times, 10 ** len(decimals[1:]))
    return 0 if rest else int(digits) * times + part


def count(text: str) -> int:
    """A whole number above 0. Raises ArgumentTypeError."""
    if not re.fullmatch("[0-9]{1,12}", text, re.ASCII) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"a number above 0 is needed, not {ascii(text)[:40]}")
    return int(text)


def whole(text: str) -> int:
    """A whole number from 0 on. Raises ArgumentTypeError."""
    if not re.fullmatch("[0-9]{1,12}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"a whole number from 0 on is needed, not {ascii(text)[:40]}")
    return int(text)
