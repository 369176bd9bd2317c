"""The proxy's own pages, and the words of its own errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from plimsoll.conversations.conversation import HostConversation
from plimsoll.conversations.conversations import Conversations
from plimsoll.proxy.metrics import Metrics
from plimsoll.proxy.options import ProxyOptions

OWN_ROUTES: Final = frozenset({"/plimsoll/status", "/plimsoll/metrics", "/status", "/metrics"})
SHOWN_MAX: Final = 50
"""Conversations on the page of status: those used last."""


def own_page(path: str, options: ProxyOptions, metrics: Metrics, conversations: Conversations) -> tuple[str, str]:
    """The type and the text of an own page."""
    if path.endswith("metrics"):
        return "text/plain", metrics.to_text(len(conversations))
    newest = list(conversations)[: -SHOWN_MAX - 1 : -1]
    found = {
        "upstream": options.upstream,
        **metrics.to_dict(),
        "conversations": len(conversations),
        "newest": [dict(_facts(one)) for one in newest],
    }
    return "application/json", json.dumps(found, indent=2) + "\n"


def _facts(one: HostConversation) -> Iterator[tuple[str, Any]]:
    yield "session", one.name
    yield "format", one.format
    yield "tokens", one.load[0]
    yield "budget", one.load[1]
    yield "compacted", one.is_compacted
    yield "awaited", one.awaited


def error_body(status: int, reason: str) -> dict[str, Any]:
    """An error in a form that the SDKs of all three APIs read."""
    kind = "invalid_request_error" if status < 500 else "api_error"
    message = f"plimsoll: {reason}"
    return {"type": "error", "error": {"type": kind, "message": message, "code": f"plimsoll_{status}", "param": None}}
