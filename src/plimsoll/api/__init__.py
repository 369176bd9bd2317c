"""Functions that need no session and no disk: fit, plan, window, check, shrink, files."""
