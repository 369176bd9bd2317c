"""Shared by the summary tests."""

import importlib.util
import sys
from pathlib import Path

import pytest

# Tests are imported by path (importmode=importlib), so a module beside them has to be loaded by hand, once.
_NAME = "summary_conversation"
if _NAME not in sys.modules:
    _SPEC = importlib.util.spec_from_file_location(_NAME, Path(__file__).with_name("conversation.py"))
    _MODULE = importlib.util.module_from_spec(_SPEC)
    sys.modules[_NAME] = _MODULE
    _SPEC.loader.exec_module(_MODULE)


@pytest.fixture
def counter():
    """A counter that needs no vocabulary."""
    return sys.modules[_NAME].Quarters()
