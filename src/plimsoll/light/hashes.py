"""SHA-256 and its HMAC by the interpreter's own module: `hashlib` and `hmac` load OpenSSL, which takes 3 ms of a cold command.

OpenSSL is six times as fast, so a process that has loaded it anyway uses it.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module
from typing import Any

_BLOCK_BYTES = 64
_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))


def sha256(data: bytes) -> bytes:
    """The SHA-256 digest of the data."""
    found: bytes = (sys.modules.get("hashlib") or _own()).sha256(data).digest()
    return found


def hmac_sha256(key: bytes, data: bytes) -> bytes:
    """The HMAC of the data by SHA-256, as of RFC 2104."""
    block = (key if len(key) <= _BLOCK_BYTES else sha256(key)).ljust(_BLOCK_BYTES, b"\0")
    return sha256(block.translate(_OUTER) + sha256(block.translate(_INNER) + data))


@cache
def _own() -> Any:
    """The module of the interpreter that has SHA-256 without OpenSSL: its name is another from Python 3.12 on."""
    for name in ("_sha2", "_sha256"):
        try:
            return import_module(name)
        except ImportError:
            continue
    return import_module("hashlib")
