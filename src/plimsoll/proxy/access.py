"""Who may use the proxy: decided by the head of a request, before anything is looked up."""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from plimsoll.light.dataclass import dataclass
from plimsoll.proxy.options import ProxyOptions

METHODS: Final = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"})
TOKEN_HEADER: Final = "x-plimsoll-token"  # noqa: S105 - the name of a header


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The head of a request. Names of headers are in lower case, each with all its values."""

    method: str
    target: str
    """As in the request line."""
    headers: Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not carried out."""

    status: int
    reason: str


def refusal(head: Head, options: ProxyOptions, port: int) -> Refusal | None:
    """Why a request is refused; None if it is not.

    A page in a browser can send requests to this computer. So Host must be a name of the proxy, and Origin, which browsers add,
    must be absent or the proxy's own.
    """
    known = _hosts(options, port)
    if head.method not in METHODS:
        return Refusal(405, "this method is not supported")
    if not _is_path(head.target):
        return Refusal(400, "the target must be a path without . and .. in it")
    host = head.headers.get("host", ())
    if len(host) != 1 or host[0].lower() not in known:
        return Refusal(403, "the header Host is not a name of this proxy; --allow-host adds one")
    if _is_of_a_page(head.headers, known):
        return Refusal(403, "requests from web pages are not taken")
    if options.token is not None and not _shows(head.headers, options.token):
        return Refusal(401, f"the header {TOKEN_HEADER} with the proxy's token is needed")
    return None


def _is_path(target: str) -> bool:
    if not target.startswith("/") or not target.isascii() or not target.isprintable() or set(target) & set("\\# "):
        return False
    segments = unquote(target.partition("?")[0]).replace("\\", "/").split("/")
    return not {".", ".."} & set(segments)


def _is_of_a_page(headers: Mapping[str, Sequence[str]], known: frozenset[str]) -> bool:
    origin = headers.get("origin", ())
    if origin and (len(origin) != 1 or origin[0].lower() not in {f"http://{name}" for name in known}):
        return True
    return any(value.lower() in ("cross-site", "same-site") for value in headers.get("sec-fetch-site", ()))


def _hosts(options: ProxyOptions, port: int) -> frozenset[str]:
    names = {"127.0.0.1", "localhost", "[::1]", f"[{options.host}]" if ":" in options.host else options.host.lower()}
    own = {f"{name}:{port}" for name in names - {"0.0.0.0", "[::]"}}  # noqa: S104 - not bound here
    return frozenset(own | (names if port == 80 else set()) | options.hosts)


def _shows(headers: Mapping[str, Sequence[str]], token: str) -> bool:
    given = headers.get(TOKEN_HEADER, ())
    return len(given) == 1 and hmac.compare_digest(given[0].encode("utf-8", "surrogateescape"), token.encode())
