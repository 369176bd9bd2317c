"""`python -m plimsoll`: the command line."""

from __future__ import annotations

import sys

from plimsoll.cli.main import main

sys.exit(main())
