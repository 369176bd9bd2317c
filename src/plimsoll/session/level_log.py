"""Changes of a session's level, told to the program's own log. Everything told here is also returned by `check`."""

from __future__ import annotations

from plimsoll.policy.budget import Check, Level

LOGGER = "plimsoll"
_SEVERITY = {Level.none: "DEBUG", Level.normal: "INFO", Level.aggressive: "WARNING", Level.emergency: "WARNING"}


def log_level_change(session: str, before: Level, found: Check) -> Level:
    """The level a check found. Where it is another than before, one record says so: its fields are in `extra`."""
    if found.level == before:
        return before
    import logging  # noqa: PLC0415 - most sessions never come here

    logger = logging.getLogger(LOGGER)
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())  # a program without a log of its own is told nothing
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
