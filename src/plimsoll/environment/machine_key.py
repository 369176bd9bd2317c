"""The key of this machine and user, which signs the tags of `plimsoll.formats.provenance`. Nothing is written to disk."""

from __future__ import annotations

import hashlib
import hmac
import os
from functools import cache

ENVIRONMENT = "PLIMSOLL_KEY"
"""Sets a key explicitly, to share it between machines or containers without a machine id."""

_APPLICATION_ID = bytes.fromhex("6f0e3a525c1f4b0e9d530c9d2f1a7e44")
_MACHINE_ID_FILES = ("/etc/machine-id", "/var/lib/dbus/machine-id")


def machine_key() -> bytes:
    """$PLIMSOLL_KEY if set, else a key derived from the ids of the machine and the user. The same in every process.

    The machine id cannot be recovered from the key, as machine-id(5) of systemd demands.
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
    """The machine id of systemd or D-Bus, else the hardware address of a network card."""
    for place in _MACHINE_ID_FILES:
        try:
            with open(place, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - pathlib costs more than the read
                found = file.read(64).strip()
        except OSError:
            continue
        if found:
            return found
    from uuid import getnode  # noqa: PLC0415 - seldom needed, and slow to import

    return f"{getnode():012x}"
