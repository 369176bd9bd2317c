"""Makes the helpers beside this file importable: tests run with --import-mode=importlib, which leaves `sys.path` alone."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
