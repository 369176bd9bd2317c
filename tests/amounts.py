"""How many random examples a property is tried with: few where people wait, all where machines do."""

from __future__ import annotations

import os

THOROUGH = os.environ.get("PLIMSOLL_TESTS") == "all"
"""Set by `make test-all` and `make soak`."""

QUICK_SHARE = 0.1
QUICK_MIN = 5


def examples(number: int) -> int:
    """That number of examples, or a tenth of it in a quick run."""
    return number if THOROUGH else max(QUICK_MIN, int(number * QUICK_SHARE))
