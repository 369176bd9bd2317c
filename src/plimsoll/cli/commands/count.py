"""`plimsoll count`: how many tokens a conversation has, and where."""

from __future__ import annotations

import argparse

from plimsoll.cli.options import Commands, add_file, add_model, command
from plimsoll.cli.refusal import DONE


def add(commands: Commands) -> None:
    """Its options."""
    parser = command(
        commands,
        "count",
        run,
        "count tokens by role and kind",
        "Shows the share of the model's window and the largest messages.",
    )
    add_file(parser)
    add_model(parser)


def run(arguments: argparse.Namespace) -> int:
    """Weigh and show."""
    from plimsoll.cli.output import print_json
    from plimsoll.cli.screen import note_findings, show, working
    from plimsoll.cli.source import open_material
    from plimsoll.formats.registry import decode_all
    from plimsoll.gauge import DEFAULT_MODEL
    from plimsoll.report.weights import weigh
    from plimsoll.systemtext import system_message
    from plimsoll.tokens.counter import message_counter_for
    from plimsoll.tokens.registry import model_info

    material = open_material(arguments.file, arguments.store)
    model = arguments.model or material.model or DEFAULT_MODEL
    window, counter = model_info(model).window_tokens, message_counter_for(model).upper
    apart = None if material.system is None else system_message(material.system)
    with working("counting", size_bytes=material.size_bytes):
        messages = decode_all(material.messages, material.format)[1]
        weights = weigh(messages, counter, tools=material.tools, system=apart)
    note_findings(material.findings)
    if arguments.json:
        about = {"label": material.label, "format": material.format, "model": model, "window_tokens": window}
        print_json({**about, "counter": counter.name, "exact": counter.exact, **weights.to_dict()})
        return DONE
    from plimsoll.report.terminal import counted

    label = f"{material.label}, {model}"
    show(counted(weights, window_tokens=window, label=label, counter=counter.name, exact=counter.exact))
    return DONE
