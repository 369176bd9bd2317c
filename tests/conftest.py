"""Makes the helpers beside this file importable: tests run with --import-mode=importlib, which leaves `sys.path` alone.

Tags in views are made with a key of the tests' own, so that a view has the same tokens on every machine.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
os.environ["PLIMSOLL_KEY"] = "tests"
