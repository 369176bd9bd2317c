"""Which modules of plimsoll a call enters: those of which at least one function runs. What a reader has to open to follow the call."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import plimsoll

ROOT = Path(plimsoll.__file__).parent


def walk(call: Callable[[], object]) -> Counter[str]:
    """The functions that ran in each module while `call` ran, by the module's path below the package."""
    found: Counter[str] = Counter()
    prefix = f"{ROOT}/"

    def note(frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(prefix) and frame.f_code.co_name != "<module>":
            found[name.removeprefix(prefix)] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    return found
