"""Mistakes that a type checker has to find: each marked line is one."""

from __future__ import annotations

from typing import Any

import plimsoll


def mistakes(messages: list[dict[str, Any]]) -> None:
    """Names, presets, fields, formats, triggers and levels that do not exist."""
    plimsoll.fti(messages)  # error
    plimsoll.fit(messages, max_tokens="8000")  # error
    plimsoll.fit(messages, policy="laddr")  # error
    plimsoll.fit(messages, format="openai")  # error
    plimsoll.fit(messages, maxtokens=8_000)  # error
    plimsoll.Policy.named("laddr")  # error
    plimsoll.Policy.named("ladder", keep_last_tuns=3)  # error
    plimsoll.open("x", durability="never")  # error
    session = plimsoll.open("x")
    session.compact(trigger="whatever")  # error
    session.append("hello")  # error
    session.tools("openai")  # error
    session.pinn("m1")  # error
    plimsoll.convert(messages, to="gemini")  # error
    _ = plimsoll.check(messages).level == "normal"  # error
    _ = plimsoll.fit(messages).report.stage == "ruled"  # error
