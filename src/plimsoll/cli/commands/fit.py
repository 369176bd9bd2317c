"""`plimsoll fit`: the view of a conversation within a budget."""

from __future__ import annotations

import argparse

from plimsoll.cli.options import FORMAT_NAMES, Commands, add_budget, add_file, add_out, command
from plimsoll.cli.refusal import DONE


def add(commands: Commands) -> None:
    """Its options."""
    parser = command(
        commands,
        "fit",
        run,
        "make a conversation fit into a budget",
        "Writes the view in the container and format of the input, and a report on standard error. With --json both are one "
        "object. Without --max-tokens the model's window is the budget, or gpt-4o's where no model is known; the report says so.",
    )
    add_file(parser)
    add_budget(parser)
    parser.add_argument(
        "--format",
        metavar="F",
        choices=FORMAT_NAMES,
        help=f"the messages' format: {', '.join(FORMAT_NAMES)} (default: look)",
    )
    parser.add_argument("--query", metavar="Q", help="what is asked next: what answers it stays longer")
    add_out(parser)


def run(arguments: argparse.Namespace) -> int:
    """Fit and write."""
    from plimsoll.api.fit import fit
    from plimsoll.cli.output import emit, json_text
    from plimsoll.cli.screen import note_findings, tell, working
    from plimsoll.cli.source import open_material

    material = open_material(arguments.file, arguments.store, format=arguments.format)
    model = arguments.model or material.model
    with working("fitting", size_bytes=material.size_bytes):
        fitted = fit(
            material.messages,
            max_tokens=arguments.max_tokens,
            model=model,
            tools=material.tools or None,
            policy=arguments.policy or "fill",
            query=arguments.query,
            format=material.format,
            system=material.system,
        )
    note_findings(material.findings)
    if arguments.json:
        result = {"format": material.format, **fitted.to_dict()}
        emit(f"{json_text(result, indent=2)}\n".encode(), arguments.output)
        return DONE
    emit(material.container.text(fitted.messages, fitted.system).encode(), arguments.output)
    from plimsoll.report.terminal import planned

    tell(planned(fitted.report))
    return DONE
