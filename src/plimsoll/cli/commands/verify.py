"""`plimsoll verify`: prove that a session can be read, all of it; write a repaired copy of one that cannot."""

from __future__ import annotations

import argparse
from typing import Any

import plimsoll
from plimsoll.cli.options import add_name, flag, option
from plimsoll.cli.output import Refused, WrongUsage, print_json, say, show, working
from plimsoll.errors import SessionDamaged
from plimsoll.light.dataclass import asdict
from plimsoll.report.figures import pluralize
from plimsoll.report.terminal import table

ABOUT = "Ends with status 1 when something is damaged and no repaired copy was asked for."


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_name(parser)
    flag(parser, "--repair", "write what can be read into a new session; the damaged one stays as it is")
    option(parser, "--into SPEC", "with --repair: the store that the copy is written to (default: the same one)")


def run(arguments: argparse.Namespace) -> None:
    """Check, and repair if asked and needed."""
    if arguments.into is not None and not arguments.repair:
        raise WrongUsage("verify: --into needs --repair")

    with working("checking"):
        verified = plimsoll.verify(arguments.name, arguments.store)
        repaired = None
        if arguments.repair and not verified.ok:
            repaired = _repaired(arguments, verified)
    _report(verified, repaired, as_json=arguments.json)
    if not verified.ok and repaired is None:
        hint = "" if arguments.repair else "; --repair writes a copy of what can be read"
        raise Refused(f"{arguments.name} is damaged{hint}")


def _repaired(arguments: argparse.Namespace, verified: plimsoll.Verified) -> plimsoll.Repaired:
    """The copy. Raises Refused, saying how it can be made, where the store itself is too damaged to hold it."""
    try:
        return plimsoll.repair(arguments.name, arguments.store, into=arguments.into)
    except SessionDamaged as error:
        if arguments.into is not None or not verified.store_damage:
            raise
        raise Refused(f"{error}; --into SPEC writes the copy to another store") from error


def _report(verified: plimsoll.Verified, repaired: plimsoll.Repaired | None, *, as_json: bool) -> None:
    if as_json:
        print_json(_data(verified, repaired))
        return
    state = "all of it is whole" if verified.ok else "damaged"
    sizes = ((verified.records, "record"), (verified.messages, "message"), (verified.blobs, "blob"))
    held = ", ".join(pluralize(*size) for size in sizes)
    say(f"{verified.name}: {held}: {state}")
    rows: list[tuple[str, str, int, int, str]] = [
        (found.kind, f"record {found.seq}", found.records, found.size_bytes, found.reason) for found in verified.damage
    ]
    rows += [("blob", digest[:16], 1, 0, "its content has changed, or it is gone") for digest in verified.blobs_damaged]
    rows += [("store", "all of it", 0, 0, text) for text in verified.store_damage]
    rows += [("unknown", kind, 0, 0, "a newer plimsoll wrote it") for kind in verified.unknown_required]
    if rows:
        show(table(("damage", "where", ">records", ">bytes", "why"), rows))
    if repaired is not None:
        lost = f"{pluralize(repaired.lost, 'record')} and {pluralize(len(repaired.blobs_lost), 'blob')} lost"
        say(f"repaired copy: {repaired.name}, {pluralize(repaired.records, 'record')}, {lost}")


def _data(verified: plimsoll.Verified, repaired: plimsoll.Repaired | None) -> dict[str, Any]:
    return {
        **asdict(verified),
        "kinds": dict(verified.kinds),
        "ok": verified.ok,
        "repaired": None if repaired is None else asdict(repaired),
    }
