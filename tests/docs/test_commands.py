"""docs/commands.md says of every command and option what the program itself says.

After a change of the command line: `PYTHONPATH=src python tests/docs/test_commands.py` writes the sections again.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from plimsoll.cli.main import parser

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "commands.md"
README = DOCUMENT.parents[1] / "README.md"
MARK = "<!-- from here on: written by tests/docs/test_commands.py -->\n"


def commands():
    """Every command by name, with its parser."""
    subparsers = next(action for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    return dict(subparsers.choices)


def words(action):
    """An argument as it is typed."""
    value = f" {action.metavar}" if action.option_strings and action.metavar else ""
    return ", ".join(f"`{name}{value}`" for name in action.option_strings) or f"`{action.metavar}`"


def arguments(command):
    """The arguments of a command, `--help` aside: first what has no dash, last what all of them have."""
    found = [action for action in command._actions if not isinstance(action, argparse._HelpAction)]
    return sorted(found, key=lambda action: (bool(action.option_strings), action.dest in ("store", "json")))


def section(name, command):
    """The section of one command, from its parser."""
    rows = "\n".join(f"| {words(action)} | {action.help} |" for action in arguments(command))
    return f"## {name}\n\n{command.description}\n\n| argument | meaning |\n| --- | --- |\n{rows}\n"


def sections():
    """The sections of the document, by command."""
    text = DOCUMENT.read_text(encoding="utf-8").partition(MARK)[2]
    return {part.split("\n", 1)[0]: f"## {part.strip()}\n" for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]}


@pytest.mark.parametrize("name", commands())
def test_command_is_documented(name):
    """The section of a command has all of its arguments, in the words of its help."""
    assert sections().get(name) == section(name, commands()[name])


def test_no_command_is_invented():
    """The document has no section for a command that does not exist."""
    assert list(sections()) == list(commands())


@pytest.mark.slow
@pytest.mark.parametrize("name", commands())
def test_every_argument_has_help(name):
    """No argument of a command is without a word of help, and each says what to put after it."""
    assert [action.dest for action in arguments(commands()[name]) if not action.help] == []


@pytest.mark.parametrize("document", [DOCUMENT, README], ids=lambda path: path.name)
def test_examples_parse(document):
    """Every `plimsoll` line in a code block is one the program takes, but for commands that are still to come."""
    known, top = set(commands()), parser()
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    shell = [line for language, block in blocks if language in ("", "sh") for line in block.splitlines()]
    lines = [line for line in shell if line.startswith("plimsoll ")]
    typed = [re.split(r"\s{2,}|\s[|>]", line)[0].replace("[", "").replace("]", "").split()[1:] for line in lines]

    assert typed
    for line in typed:
        if line[0] in known:
            top.parse_args(line)


if __name__ == "__main__":
    before = DOCUMENT.read_text(encoding="utf-8").partition(MARK)[0]
    written = "\n".join(section(name, command) for name, command in commands().items())
    DOCUMENT.write_text(f"{before}{MARK}\n{written}", encoding="utf-8")
