"""Processor time, which other programs on the machine do not change, unlike the time of a clock."""

from __future__ import annotations

import time
from collections.abc import Callable


def cpu_s(work: Callable[[str], object], text: str) -> float:
    """The processor time in seconds that the work takes for a text."""
    began = time.process_time()
    work(text)
    return time.process_time() - began
