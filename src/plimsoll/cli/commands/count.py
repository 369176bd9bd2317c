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
        "count tokens by role, kind and tool",
        "Shows the share of the window, the largest messages and, where it was written down, the newest request as the provider "
        "counted it. A file that is no JSON is counted as plain text.",
    )
    add_file(parser)
    add_model(parser)
    parser.add_argument(
        "--text",
        action="store_true",
        help="FILE is plain text, whatever it looks like: count it as it is, without any framing",
    )


def run(arguments: argparse.Namespace) -> int:
    """Weigh and show."""
    if arguments.text:
        from plimsoll.cli.source import read_raw

        return _count_text(arguments, read_raw(arguments.file).decode("utf-8", "replace"))
    from plimsoll.cli.measuring import gauge_of, measured
    from plimsoll.cli.output import print_json
    from plimsoll.cli.screen import note_findings, show, working
    from plimsoll.cli.source import PlainText, open_material
    from plimsoll.formats.registry import decode_all

    try:
        material = open_material(arguments.file, arguments.store)
    except PlainText as found:
        return _count_text(arguments, found.text)
    try:
        with working("counting", size_bytes=material.size_bytes):
            messages = decode_all(material.messages, material.format)[1]
            gauge = gauge_of(material, model=arguments.model)
            measure = measured(material, gauge, messages, model=arguments.model)
    finally:
        material.close()
    note_findings(material.findings)
    if arguments.json:
        print_json(measure.to_dict())
        return DONE
    from plimsoll.report.terminal import count_table

    show(count_table(measure))
    return DONE


def _count_text(arguments: argparse.Namespace, text: str) -> int:
    from plimsoll.cli.output import print_json
    from plimsoll.cli.screen import say
    from plimsoll.cli.source import label_of
    from plimsoll.compaction.meter import DEFAULT_MODEL
    from plimsoll.report.figures import counted
    from plimsoll.tokens.counter import counter_for

    model = arguments.model or DEFAULT_MODEL
    counter = counter_for(model)
    tokens = counter.upper(text)
    if arguments.json:
        about = {"label": label_of(arguments.file), "model": model, "counter": counter.name, "exact": counter.exact}
        print_json({**about, "tokens": tokens, "characters": len(text)})
    else:
        size = f"{counted(tokens, 'token')}, {counted(len(text), 'character')}"
        say(f"{label_of(arguments.file)}, plain text, {model}: {size}, by {counter.name}")
    return DONE
