"""Makes the helpers beside this file importable: tests run with --import-mode=importlib, which leaves `sys.path` alone.

Tags in views are made with a key of the tests' own, so that a view has the same tokens on every machine. At the end a run says how
much of the processors it used, and what it left out.
"""

import gc
import os
import resource
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from amounts import THOROUGH

os.environ["PLIMSOLL_KEY"] = "tests"


def pytest_collection_finish() -> None:
    """Leave the thousands of collected tests, which stay to the end, out of every collection of garbage."""
    gc.freeze()


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count the slow tests that were left out."""
    slow = [item for item in items if item.get_closest_marker("slow") and not item.get_closest_marker("soak")]
    if slow:
        slow[0].config.stash[LEFT_OUT] = slow[0].config.stash.get(LEFT_OUT, 0) + len(slow)


LEFT_OUT = pytest.StashKey[int]()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """What the run cost, and what it left out."""
    used_s = sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )
    terminalreporter.write_line(f"{used_s:.0f} s of processor time")
    if left_out := config.stash.get(LEFT_OUT, 0):
        few = "" if THOROUGH else " and nine of ten random examples"
        terminalreporter.write_line(f"left out: {left_out:,} slow tests{few} (make test-all), long runs (make soak)")
