"""The real conversations beside the checkout, and their scorer."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

EVALS = Path(__file__).resolve().parents[2] / "shared/evals"


def scorer() -> Any:
    """The module `score.py` of the conversations."""
    spec = importlib.util.spec_from_file_location("evals_score", EVALS / "score.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
