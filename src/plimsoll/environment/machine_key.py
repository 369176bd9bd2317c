"""The key of this machine and user, for the tags of `plimsoll.provenance`. Nothing is written to disk."""

from __future__ import annotations

import hashlib
import hmac
import os
from functools import cache

ENVIRONMENT = "PLIMSOLL_KEY"
"""A key of the user's own: the same on several machines, or in containers that share no machine id."""

_APPLICATION_ID = bytes.fromhex("6f0e3a525c1f4b0e9d530c9d2f1a7e44")
_MACHINE_ID_FILES = ("/etc/machine-id", "/var/lib/dbus/machine-id")


def machine_key() -> bytes:
    """$PLIMSOLL_KEY if it is set, else a key derived from the machine's id and the user's. The same in every process.

    The id itself cannot be read out of the key (systemd's machine-id(5) asks for that).
    """
    given = os.environ.get(ENVIRONMENT)
    return _derived(f"given:{given}") if given else _derived(_identity())


@cache
def _derived(identity: str) -> bytes:
    return hmac.new(_APPLICATION_ID, identity.encode("utf-8", "surrogateescape"), hashlib.sha256).digest()


@cache
def _identity() -> str:
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    return f"machine:{_machine_id()}:{user}"


def _machine_id() -> str:
    """What names this installation; without systemd's or D-Bus's files, the hardware address of a network card."""
    for place in _MACHINE_ID_FILES:
        try:
            with open(place, encoding="ascii", errors="replace") as file:  # noqa: PTH123 - pathlib costs more than the read
                found = file.read(64).strip()
        except OSError:
            continue
        if found:
            return found
    from uuid import getnode  # noqa: PLC0415 - seldom needed, and slow to import

    return f"{getnode():012x}"
