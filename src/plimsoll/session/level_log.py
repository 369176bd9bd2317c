"""Logging of changes of a session's load level. Everything logged is also returned by `check`."""

from __future__ import annotations

from plimsoll.policy.budget import Check, Level

LOGGER = "plimsoll"
_SEVERITY = {Level.none: "DEBUG", Level.normal: "INFO", Level.aggressive: "WARNING", Level.emergency: "WARNING"}


def log_level_change(session: str, before: Level, found: Check) -> Level:
    """Log a change of level, with its fields in `extra`. Returns the new level."""
    if found.level == before:
        return before
    import logging  # noqa: PLC0415 - not needed by most sessions

    logger = logging.getLogger(LOGGER)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())  # otherwise warnings go to stderr in programs without logging
    logger.log(
        getattr(logging, _SEVERITY[found.level]),
        "session %s: level %s, was %s: %s",
        session,
        found.level,
        before,
        found.recommendation,
        extra={
            "session": session,
            "load_level": str(found.level),
            "load_level_before": str(before),
            "current_tokens": found.current_tokens,
            "max_tokens": found.max_tokens,
        },
    )
    return found.level
