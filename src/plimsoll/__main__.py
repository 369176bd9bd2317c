"""`python -m plimsoll`: the command line."""

from __future__ import annotations

from plimsoll.cli.main import command

command()
