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
    parser.add_argument(
        "--text", action="store_true", help="FILE is plain text: count it as it is, without any framing"
    )


def run(arguments: argparse.Namespace) -> int:
    """Weigh and show."""
    if arguments.text:
        return _count_text(arguments)
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
    window, counting = model_info(model).window_tokens, message_counter_for(model)
    counter = counting.upper
    apart = None if material.system is None else system_message(material.system)
    with working("counting", size_bytes=material.size_bytes):
        messages = decode_all(material.messages, material.format)[1]
        weights = weigh(messages, counter, tools=material.tools, system=apart)
        likely = counting.messages([*([] if apart is None else [apart]), *messages]) + counting.tools(material.tools)
    note_findings(material.findings)
    if arguments.json:
        about = {"label": material.label, "format": material.format, "model": model, "window_tokens": window}
        how = {"counter": counter.name, "exact": counter.exact, "estimate": likely}
        print_json({**about, **how, **weights.to_dict()})
        return DONE
    from plimsoll.report.terminal import counted

    label = f"{material.label}, {model}"
    estimate = None if counter.exact else likely
    show(counted(weights, window_tokens=window, label=label, counter=counter.name, estimate=estimate))
    return DONE


def _count_text(arguments: argparse.Namespace) -> int:
    from plimsoll.cli.output import print_json
    from plimsoll.cli.screen import say
    from plimsoll.cli.source import label_of, read_raw
    from plimsoll.gauge import DEFAULT_MODEL
    from plimsoll.report.figures import number
    from plimsoll.tokens.counter import counter_for

    text = read_raw(arguments.file).decode("utf-8", "replace")
    model = arguments.model or DEFAULT_MODEL
    counter = counter_for(model)
    tokens = counter.upper(text)
    if arguments.json:
        about = {"label": label_of(arguments.file), "model": model, "counter": counter.name, "exact": counter.exact}
        print_json({**about, "tokens": tokens, "characters": len(text)})
    else:
        say(
            f"{label_of(arguments.file)}, {model}: {number(tokens)} tokens, {number(len(text))} characters, by {counter.name}"
        )
    return DONE
