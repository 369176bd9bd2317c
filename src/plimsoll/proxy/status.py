"""The proxy's own pages: what it has done, as data and in the text format of Prometheus; and the words of its own errors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from plimsoll.conversations.conversation import HostConversation
from plimsoll.conversations.conversations import Conversations
from plimsoll.proxy.options import ProxyOptions

_HELP: Final = {
    "requests": "Requests that came in, by how they were decided.",
    "changed": "Requests that were sent with other messages than came.",
    "searches": "Replies that only searched the conversation, and were answered inside.",
    "retries": "Requests that the provider refused and that were sent once more, with less or repaired.",
    "replies": "Replies of the upstream, by status.",
    "refused": "Requests that were refused here, by status.",
    "failures": "Requests without a reply, by what failed.",
    "unrecorded": "Requests that were sent and not recorded, since too many were waiting to be.",
    "problems": "Things that went wrong while a request or an answer was recorded.",
}
_LABEL: Final = {"requests": "lane", "replies": "status", "refused": "status", "failures": "kind"}


class Metrics:
    """Counters since the start."""

    def __init__(self) -> None:
        self.active = 0
        """Requests that are under way."""
        self.waiting = 0
        """Records that are waiting to be written."""
        self.problem: str | None = None
        """The last thing that went wrong."""
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, name: str, label: str | int = "") -> None:
        """Count one."""
        self._counts[name, str(label)] += 1

    def problems(self, problem: str | None) -> None:
        """Note what went wrong, if anything."""
        if problem is not None:
            self.add("problems")
            self.problem = problem

    def _by_label(self, name: str) -> dict[str, int]:
        return {label: count for (key, label), count in sorted(self._counts.items()) if key == name}

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        found: dict[str, Any] = {}
        for name in _HELP:
            by_label = self._by_label(name)
            found[name] = by_label if name in _LABEL else sum(by_label.values())
        return {**found, "active": self.active, "waiting": self.waiting, "problem": self.problem}

    def to_text(self, conversations: int) -> str:
        """The text that Prometheus reads."""
        lines: list[str] = []
        for name, about in _HELP.items():
            full = f"plimsoll_{name}_total"
            lines += [f"# HELP {full} {about}", f"# TYPE {full} counter"]
            counts = self._by_label(name)
            if name not in _LABEL:
                lines.append(f"{full} {sum(counts.values())}")
            lines += [
                f'{full}{{{_LABEL[name]}="{label}"}} {count}' for label, count in counts.items() if name in _LABEL
            ]
        for name, value in (("active", self.active), ("waiting", self.waiting), ("conversations", conversations)):
            lines += [f"# TYPE plimsoll_{name} gauge", f"plimsoll_{name} {value}"]
        return "\n".join(lines) + "\n"


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
