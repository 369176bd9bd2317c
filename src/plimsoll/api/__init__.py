"""The calls that need no session: fit, plan, window, check, shrink, files, evaluations, and models that write summaries."""
