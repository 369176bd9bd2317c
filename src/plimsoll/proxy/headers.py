"""Which headers are passed on, in both directions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

Fields = Sequence[tuple[str, str]]

_HOP_BY_HOP: Final = frozenset(
    "connection keep-alive proxy-connection proxy-authenticate proxy-authorization te trailer trailers transfer-encoding "
    "upgrade".split()
)
_OF_THE_CONNECTION: Final = frozenset("host content-length expect accept-encoding".split())
"""Written anew for the other connection."""

_OF_THE_CLIENT: Final = frozenset(
    "cookie origin forwarded via x-real-ip x-original-url x-rewrite-url x-http-method-override x-http-method "
    "x-method-override".split()
)
"""What says where a request came from, or would have a provider read it as another one."""

_OWN: Final = ("x-plimsoll-", "x-forwarded-", "sec-", "proxy-")
_OF_THE_UPSTREAM: Final = frozenset(
    {"set-cookie", "alt-svc", "strict-transport-security", "access-control-allow-origin"}
)
_CREDENTIALS: Final = ("authorization", "x-api-key", "api-key", "x-goog-api-key")


def outbound(fields: Fields, *, is_read: bool) -> list[tuple[str, str]]:
    """The headers of a request to the upstream. Of a reply that is read, no encoding is asked for."""
    named = _named(value for name, value in fields if name.lower() == "connection")
    left_out = _HOP_BY_HOP | _OF_THE_CONNECTION | _OF_THE_CLIENT | named
    kept = [
        (name, value) for name, value in fields if name.lower() not in left_out and not name.lower().startswith(_OWN)
    ]
    accepted = [(name, value) for name, value in fields if name.lower() == "accept-encoding"]
    return [*kept, *([("Accept-Encoding", "identity")] if is_read else accepted)]


def inbound(fields: Fields) -> list[tuple[str, str]]:
    """The headers of a reply to the client."""
    named = _named(value for name, value in fields if name.lower() == "connection")
    left_out = _HOP_BY_HOP | _OF_THE_UPSTREAM | named
    return [(name, value) for name, value in fields if name.lower() not in left_out]


def credentials(headers: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The keys in a request's headers, which are never recorded."""
    values = [value for name in _CREDENTIALS for value in headers.get(name, ())]
    return tuple(word for value in values for word in value.split())


def _named(values: Iterable[str]) -> frozenset[str]:
    """The headers that a Connection header names."""
    return frozenset(name.strip().lower() for value in values for name in value.split(","))
