"""SHA-256 and its HMAC without OpenSSL are those of the standard library."""

import hashlib
import hmac
import subprocess
import sys

import pytest

from plimsoll.light import hashes

TEXTS = (b"", b"abc", bytes(range(256)) * 40)


@pytest.fixture(params=["OpenSSL", "the interpreter's own", "neither of its names"])
def module(request, monkeypatch):
    """What SHA-256 comes from."""
    hashes._own.cache_clear()
    if request.param != "OpenSSL":
        monkeypatch.delitem(sys.modules, "hashlib")
    if request.param == "neither of its names":
        for name in ("_sha2", "_sha256"):
            monkeypatch.setitem(sys.modules, name, None)
    yield
    hashes._own.cache_clear()


@pytest.mark.parametrize("data", TEXTS)
@pytest.mark.usefixtures("module")
def test_a_digest_is_that_of_hashlib(data):
    """The digest of any data is the one that hashlib gives."""
    assert hashes.sha256(data) == hashlib.sha256(data).digest()


@pytest.mark.parametrize("data", TEXTS)
@pytest.mark.parametrize("key", [b"", b"k", b"k" * 63, b"k" * 64, b"k" * 65, bytes(range(200))])
@pytest.mark.usefixtures("module")
def test_a_keyed_digest_is_that_of_hmac(key, data):
    """Keys shorter than a block, of its size, and longer ones give the tags that hmac gives."""
    assert hashes.hmac_sha256(key, data) == hmac.digest(key, data, "sha256")


def test_a_fit_does_not_load_openssl():
    """A conversation is compacted, and its summary tagged, in a process that has not loaded OpenSSL."""
    code = """if True:
        import sys, plimsoll
        messages = [{"role": "user", "content": f"look at part {n} " + "word " * 400} for n in range(20)]
        assert len(plimsoll.fit(messages, max_tokens=2_000).messages) < 20
        print(*sorted({"hashlib", "hmac", "_hashlib"} & set(sys.modules)))
    """
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == ""
