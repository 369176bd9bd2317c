"""`plimsoll inspect`: what fills the window, and what would leave it and why."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from plimsoll.cli.options import Commands, add_budget, add_file, command
from plimsoll.cli.refusal import DONE

if TYPE_CHECKING:
    from plimsoll.cli.source import Material
    from plimsoll.policy.policy import PolicyChoice
    from plimsoll.report.inspection import Inspection
    from plimsoll.session.session import Session


def add(commands: Commands) -> None:
    """Its options."""
    parser = command(
        commands,
        "inspect",
        run,
        "show what fills the window, what would leave it and why",
        "For a session, what `plimsoll compact` would do. Changes nothing.",
    )
    add_file(parser)
    add_budget(parser)
    parser.add_argument(
        "--html", metavar="OUT", help="write the report to this file, as one page of HTML without scripts"
    )


def run(arguments: argparse.Namespace) -> int:
    """Inspect and show."""
    from plimsoll.cli.output import emit, print_json
    from plimsoll.cli.screen import note_findings, show, working
    from plimsoll.cli.source import open_material
    from plimsoll.session.session import Session

    options = {"model": arguments.model, "max_tokens": arguments.max_tokens, "policy": arguments.policy}
    material = open_material(arguments.file, arguments.store, options=options)
    session = (
        None if material.session is None else Session(material.session)
    )  # closes it when nothing needs it any more
    with working("weighing", size_bytes=material.size_bytes):
        inspection = _of_messages(material, arguments) if session is None else _of_session(material, session, arguments)
        page = _page(material, inspection, arguments) if arguments.html is not None else b""
    material.close()
    note_findings(material.findings)
    if arguments.html is not None:
        emit(page, arguments.html)
    if arguments.json:
        print_json(inspection.to_dict())
    elif arguments.html is None:
        from plimsoll.report.terminal import inspected

        show(inspected(inspection))
    return DONE


def _of_messages(material: Material, arguments: argparse.Namespace) -> Inspection:
    from plimsoll.api.fit import plan
    from plimsoll.cli.measuring import gauge_of, measured
    from plimsoll.formats.registry import decode_all
    from plimsoll.report.inspection import inspect

    max_tokens = arguments.max_tokens
    policy: PolicyChoice = arguments.policy or "fill"
    gauge = gauge_of(material, model=arguments.model, max_tokens=max_tokens, policy=policy)
    made = plan(
        material.messages,
        max_tokens=gauge.budget.tokens + gauge.budget.tools_tokens,
        model=gauge.model,
        tools=material.tools or None,
        policy=gauge.policy,
        format=material.format,
        system=material.system,
        counter=None if gauge.counter.exact else gauge.counter,
    )
    messages = decode_all(material.messages, material.format)[1]
    measure = measured(material, gauge, messages, model=arguments.model, max_tokens=max_tokens)
    return inspect(measure, gauge, made.report, places=material.places)


def _page(material: Material, inspection: Inspection, arguments: argparse.Namespace) -> bytes:
    from plimsoll.cli.measuring import gauge_of, likely_counter
    from plimsoll.cli.telling import story_of
    from plimsoll.report.page import page

    counter = likely_counter(material, gauge_of(material, model=arguments.model), model=arguments.model)
    return page(inspection, story_of(material, inspection, counter)).encode()


def _of_session(material: Material, session: Session, arguments: argparse.Namespace) -> Inspection:
    from plimsoll.cli.measuring import measured
    from plimsoll.formats.registry import decode_all
    from plimsoll.report.inspection import inspect

    assert material.session is not None
    messages, gauge = decode_all(material.messages, material.format)[1], material.session.gauge
    measure = measured(material, gauge, messages, model=arguments.model, max_tokens=arguments.max_tokens)
    return inspect(measure, gauge, session.preview().report)
