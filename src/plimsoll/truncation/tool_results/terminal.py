"""What a terminal shows of the output of a program: without colours, and of lines that were written over the last state."""

from __future__ import annotations

from plimsoll.light.regex import regex
from plimsoll.truncation.tool_results.errors import SEVERE, severity, stems_in

_CONTROLS = regex(
    r"\x1b(?:\[[0-?]{0,64}[ -/]{0,8}[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)|[()][A-Z0-9]|[=>78A-Z])|.\x08|\x08"
)
"""Colours, movements of the cursor, titles of windows, and characters that were taken back."""


def as_shown(text: str) -> str:
    """The text without control sequences; of a line with carriage returns the last state, and errors that were written over."""
    if "\x1b" in text or "\x08" in text:
        text = _CONTROLS.sub("", text)
    if "\r" not in text:
        return text
    text = text.replace("\r\n", "\n")
    if "\r" not in text or "\n" not in text:
        return text.replace("\r", "\n")
    return "\n".join([_last_state(line) if "\r" in line else line for line in text.split("\n")])


def _last_state(line: str) -> str:
    states = [state for state in line.split("\r") if state.strip()]
    stems = stems_in(line)
    errors = [state for state in states[:-1] if severity(state, stems) == SEVERE] if stems else []
    return "\n".join([*dict.fromkeys(errors), *states[-1:]])
