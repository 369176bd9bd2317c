"""Who may use the proxy, where it may send to, and which headers go with it."""

from __future__ import annotations

import random
import sys

import pytest

from plimsoll.errors import SettingError
from plimsoll.proxy.access import Head, refusal
from plimsoll.proxy.headers import credentials, inbound, outbound
from plimsoll.proxy.options import checked_options
from plimsoll.proxy.server import BodyTooLarge, unpacked

PORT = 8790
LOCAL = checked_options("https://api.openai.com", port=PORT)
TOKEN = "a-token-of-sixteen-characters"
ELSEWHERE = checked_options(
    "https://api.openai.com", host="0.0.0.0", port=PORT, token=TOKEN, allow_hosts=["Proxy.lan:8790"]
)


def status(options, method="POST", target="/v1/messages", **headers):
    """The status of the refusal; None if there is none."""
    fields = {name.replace("_", "-"): value if isinstance(value, list) else [value] for name, value in headers.items()}
    found = refusal(Head(method=method, target=target, headers=fields), options, PORT)
    return found and found.status


HOSTS = {
    **dict.fromkeys(("127.0.0.1:8790", "localhost:8790", "LOCALHOST:8790", "[::1]:8790")),
    **dict.fromkeys(
        (
            *("", "127.0.0.1", "localhost", "localhost:80", "localhost:8791", "evil.example", "evil.example:8790"),
            *(
                "127.0.0.1.evil.example:8790",
                "localhost.evil.example:8790",
                "127.0.0.1:8790.evil.example",
                "0.0.0.0:8790",
            ),
            *(
                "127.1:8790",
                "2130706433:8790",
                "0x7f000001:8790",
                "127.0.0.2:8790",
                "[::ffff:127.0.0.1]:8790",
                "[::]:8790",
            ),
            *(
                " 127.0.0.1:8790",
                "127.0.0.1:8790 ",
                "127.0.0.1:08790",
                "127.0.0.1:8790@evil.example",
                "evil@127.0.0.1:8790",
            ),
            *("127.0.0.1:8790\t", "localhost.:8790", "ⓛocalhost:8790", "api.openai.com", "http://127.0.0.1:8790", "*"),
        ),
        403,
    ),
}


@pytest.mark.parametrize("host", HOSTS)
def test_only_exact_names_of_the_proxy_are_taken(host):
    """Whatever a name resolves to."""
    assert status(LOCAL, host=host) == HOSTS[host]


@pytest.mark.parametrize("hosts", [[], ["127.0.0.1:8790", "127.0.0.1:8790"], ["127.0.0.1:8790", "evil.example"]])
def test_there_is_one_host(hosts):
    """Neither none nor several."""
    assert status(LOCAL, host=hosts) == 403


ORIGINS = {
    **dict.fromkeys(("http://127.0.0.1:8790", "http://localhost:8790")),
    **dict.fromkeys(
        (
            *(
                "null",
                "",
                "https://evil.example",
                "http://127.0.0.1",
                "http://localhost:3000",
                "https://127.0.0.1:8790",
            ),
            *(
                "http://127.0.0.1:8790.evil.example",
                "http://127.0.0.1:8790/",
                "file://",
                "chrome-extension://abc",
                "http://[::1]",
            ),
        ),
        403,
    ),
}


@pytest.mark.parametrize("origin", ORIGINS)
def test_pages_of_others_are_refused(origin):
    """Browsers say where a request comes from."""
    assert status(LOCAL, host="127.0.0.1:8790", origin=origin) == ORIGINS[origin]
    assert status(LOCAL, "GET", "/plimsoll/status", host="127.0.0.1:8790", origin=origin) == ORIGINS[origin]


def test_fetches_across_sites_are_refused():
    """Also where a browser leaves the origin out, as with GET."""
    assert status(LOCAL, "GET", host="127.0.0.1:8790", sec_fetch_site="cross-site") == 403
    assert status(LOCAL, "GET", host="127.0.0.1:8790", sec_fetch_site="none") is None


@pytest.mark.parametrize(
    "target",
    [
        "http://evil.example/v1",
        "//evil.example/..",
        "/v1/../admin",
        "/v1/%2e%2e/admin",
        "/./v1",
        "/v1\\..\\x",
        "*",
        "evil:443",
        "/a#b",
        "/ä",
        "/a b",
        "",
    ],
)
def test_targets_are_paths(target):
    """Nothing that two parsers may read in two ways."""
    assert status(LOCAL, target=target, host="127.0.0.1:8790") == 400


@pytest.mark.parametrize("method", ["OPTIONS", "CONNECT", "TRACE", "post"])
def test_methods(method):
    """Preflights get no answer that a browser takes."""
    assert status(LOCAL, method, host="127.0.0.1:8790") == 405


def test_elsewhere_a_token_is_needed():
    """In a header of its own, once, and compared whole."""
    right = {"host": "proxy.lan:8790"}
    assert status(ELSEWHERE, **right, x_plimsoll_token=TOKEN) is None
    for given in ([], ["", TOKEN], [TOKEN, TOKEN], [TOKEN[:-1]], [TOKEN.upper()], ["Bearer " + TOKEN], ["ä"]):
        assert status(ELSEWHERE, **right, x_plimsoll_token=given) == 401
    assert status(ELSEWHERE, host="0.0.0.0:8790", x_plimsoll_token=TOKEN) == 403
    assert status(ELSEWHERE, "GET", "/plimsoll/status", **right) == 401


@pytest.mark.parametrize(
    "upstream",
    [
        *(
            "",
            "api.openai.com",
            "ftp://a",
            "http://",
            "https://key@host",
            "https://u:p@host",
            "https://h/?a=b",
            "https://h/#x",
            "https://h:99999",
        ),
        *(
            "https://h\n.evil",
            "https://hä",
            "https://h:0",
            "http://127.0.0.1:8790",
            "http://localhost:8790/v1",
            "http://[::1]:8790",
            "https://a\\@b",
        ),
    ],
)
def test_upstreams_are_plain_and_not_the_proxy(upstream):
    """A URL with nothing that could be read in two ways."""
    with pytest.raises(SettingError):
        checked_options(upstream, port=PORT)


@pytest.mark.parametrize(
    "options",
    [
        {"host": "0.0.0.0"},
        {"host": "192.168.1.2"},
        {"host": "::"},
        {"token": "short"},
        {"token": "ä" * 20},
        {"port": 70_000},
        {"allow_hosts": ["a/b"]},
    ],
)
def test_unsafe_options_are_refused(options):
    """A proxy that others can reach has a token."""
    with pytest.raises(SettingError):
        checked_options("https://api.openai.com", **options)


def test_headers_to_the_upstream():
    """Keys and the client's own headers go on; those of the connection, of the proxy and of browsers do not."""
    kept = [
        ("Authorization", "Bearer sk-1"),
        ("x-api-key", "k"),
        ("anthropic-beta", "a"),
        ("anthropic-beta", "b"),
        ("User-Agent", "x"),
    ]
    dropped = [
        *(
            ("Host", "h"),
            ("Connection", "keep-alive, X-Secret"),
            ("X-Secret", "1"),
            ("Keep-Alive", "5"),
            ("Transfer-Encoding", "chunked"),
        ),
        *(
            ("TE", "trailers"),
            ("Upgrade", "h2c"),
            ("Proxy-Authorization", "p"),
            ("Content-Length", "3"),
            ("Expect", "100-continue"),
        ),
        *(
            ("X-Plimsoll-Token", "t"),
            ("x-plimsoll-session", "s"),
            ("X-Forwarded-For", "1"),
            ("Forwarded", "1"),
            ("Via", "v"),
        ),
        *(
            ("Cookie", "c"),
            ("Origin", "o"),
            ("Sec-Fetch-Site", "none"),
            ("X-HTTP-Method-Override", "GET"),
            ("Accept-Encoding", "gzip"),
        ),
    ]
    assert outbound([*kept, *dropped], is_read=True) == [*kept, ("Accept-Encoding", "identity")]
    assert outbound([*kept, *dropped], is_read=False) == [*kept, ("Accept-Encoding", "gzip")]


def test_headers_to_the_client():
    """What the client acts by goes on."""
    kept = [
        ("retry-after", "3"),
        ("request-id", "r"),
        ("x-ratelimit-remaining-tokens", "7"),
        ("Content-Type", "application/json"),
    ]
    dropped = [
        ("Connection", "x-hop"),
        ("x-hop", "1"),
        ("Transfer-Encoding", "chunked"),
        ("Set-Cookie", "c"),
        ("Access-Control-Allow-Origin", "*"),
    ]
    assert inbound([*kept, *dropped]) == kept


def test_credentials_of_a_request():
    """All that may be a key, for the log to leave out."""
    assert credentials({"authorization": ["Bearer sk-1"], "x-api-key": ["k-2"], "accept": ["x"]}) == (
        "Bearer",
        "sk-1",
        "k-2",
    )


@pytest.mark.slow
def test_bodies_are_unpacked_within_a_limit():
    """Bombs are refused, and what cannot be read is left alone."""
    import gzip
    import zlib

    text = b'{"a": 1}' * 100
    assert unpacked(text, "", 10_000) is text
    assert unpacked(gzip.compress(text), "GZIP", 10_000) == text
    assert unpacked(zlib.compress(text), "deflate", 10_000) == text
    for broken in (gzip.compress(text)[:-9], b"x", gzip.compress(text) + b"more"):
        assert unpacked(broken, "gzip", 10_000) is None
    assert unpacked(b"x", "br", 10_000) is None
    assert unpacked(b"x", "gzip, gzip", 10_000) is None
    with pytest.raises(BodyTooLarge):
        unpacked(gzip.compress(b"\0" * 50_000_000), "gzip", 1_000_000)


def test_zstd_bodies_are_unpacked_within_a_limit(monkeypatch):
    """Those of Codex are; bombs are refused, and what is damaged, or more than a frame, or cannot be read here, is left alone."""
    import zstandard

    text = b'{"a": 1}' * 1_000
    packed = zstandard.compress(text)
    assert unpacked(packed, "zstd", 10_000) == text
    assert unpacked(zstandard.compress(random.Random(7).randbytes(9_000)), "ZSTD", 10_000) is not None
    for broken in (packed[:-3], b"", b"x", packed + b"more", packed + packed, packed + b"\0" * 2_000):
        assert unpacked(broken, "zstd", 10_000) is None
    with pytest.raises(BodyTooLarge):
        unpacked(zstandard.compress(b"\0" * 20_000_000), "zstd", 1_000_000)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression", None)
    assert unpacked(packed, "zstd", 10_000) is None


def test_a_zstd_bomb_is_not_unpacked_before_it_is_refused():
    """A few kilobytes that say a quarter of a gigabyte take little memory: they are unpacked in steps."""
    import tracemalloc

    import zstandard

    packer = zstandard.ZstdCompressor().compressobj()
    packed = b"".join([*(packer.compress(bytes(1 << 20)) for _ in range(256)), packer.flush()])
    tracemalloc.start()
    try:
        with pytest.raises(BodyTooLarge):
            unpacked(packed, "zstd", 1_000_000)
        assert tracemalloc.get_traced_memory()[1] < 128 << 20
    finally:
        tracemalloc.stop()
