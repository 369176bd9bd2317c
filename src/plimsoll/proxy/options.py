"""The options of a proxy, checked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from plimsoll.errors import SettingError
from plimsoll.light.dataclass import dataclass
from plimsoll.light.regex import regex
from plimsoll.policy.validation import integer, is_loopback, short_repr, token_or_none

PORT: Final = 8790
_HOST = regex(r"[a-z0-9.-]{1,253}(?::[0-9]{1,5})?|\[[0-9a-f:.]{2,45}\](?::[0-9]{1,5})?")
TOKEN_CHARS_MIN: Final = 16
"""A shorter token can be guessed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyOptions:
    """How a proxy listens, and where it sends requests."""

    upstream: str
    """The provider's API, without a trailing slash: the only place that anything is sent to."""
    host: str = "127.0.0.1"
    port: int = PORT
    token: str | None = None
    """What clients must show."""
    hosts: frozenset[str] = frozenset()
    """The values of the header Host that are taken, besides the address itself."""
    body_bytes_max: int = 64 * 1024 * 1024
    requests_max: int = 2_000
    """Requests at a time."""
    idle_timeout_s: float = 600.0
    """How long the upstream may be silent."""
    read_timeout_s: float = 60.0
    """How long a client may take to send a request."""
    header_timeout_s: float = 15.0
    """How long a connection may be open without a request, and a client silent while it sends one."""

    @property
    def is_loopback(self) -> bool:
        """True if only this computer can connect."""
        return is_loopback(self.host)


def checked_options(  # noqa: PLR0913 - the options of a proxy
    upstream: str,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    token: str | None = None,
    allow_hosts: Iterable[str] = (),
    body_bytes_max: int = 64 * 1024 * 1024,
    requests_max: int = 2_000,
    idle_timeout_s: float = 600.0,
) -> ProxyOptions:
    """The options. Raises SettingError for an invalid one, for one that would be unsafe, and for a proxy of itself."""
    token = token_or_none(token)
    if not is_loopback(host) and token is None:
        raise SettingError("token", f"is needed to listen on {short_repr(host)}, which others can reach (--token-file)")
    if token is not None and (len(token) < TOKEN_CHARS_MIN or not token.isascii() or not token.isprintable()):
        raise SettingError("token", f"must have at least {TOKEN_CHARS_MIN} printable ASCII characters")
    target = upstream_origin(upstream)
    listening = integer("port", port)
    if listening > 65_535:
        raise SettingError("port", "must be at most 65535")
    parts = urlsplit(target)
    if listening and parts.port == listening and is_loopback(parts.hostname or "") and is_loopback(host):
        raise SettingError("upstream", "is the proxy itself")
    return ProxyOptions(
        upstream=target,
        host=host,
        port=listening,
        token=token,
        hosts=frozenset(map(_host, allow_hosts)),
        body_bytes_max=integer("body_bytes_max", body_bytes_max, least=1),
        requests_max=integer("requests_max", requests_max, least=1),
        idle_timeout_s=idle_timeout_s,
    )


def upstream_origin(upstream: str) -> str:
    """The URL of a provider, without a trailing slash. Raises SettingError for anything but http(s)://host[:port][/path]."""
    try:
        parts = urlsplit(upstream)
        port = parts.port
    except (ValueError, AttributeError, TypeError):
        raise SettingError("upstream", "is no URL") from None
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or not upstream.isascii()
        or not upstream.isprintable()
    ):
        raise SettingError("upstream", "must be a URL such as https://api.openai.com")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment or "\\" in upstream:
        raise SettingError("upstream", "must have neither credentials, nor a query, nor a fragment")
    if " " in upstream or port == 0:
        raise SettingError("upstream", "is no URL")
    return upstream.rstrip("/")


def _host(value: str) -> str:
    found = value.lower()
    if not _HOST.fullmatch(found):
        raise SettingError("allow_hosts", f"{short_repr(value)} is no host name")
    return found
