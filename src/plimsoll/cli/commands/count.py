"""`plimsoll count`: how many tokens a conversation has, and where."""

from __future__ import annotations

import argparse

import plimsoll
from plimsoll.cli.options import DEFAULT_MODEL, add_file, add_model, flag
from plimsoll.cli.output import print_json, say, show, working
from plimsoll.cli.source import PlainText, is_session, label_of, open_session, preload, read, read_raw
from plimsoll.report.figures import pluralize
from plimsoll.report.terminal import count_table

ABOUT = (
    "Shows the share of the window, the largest messages and, where it was written down, the newest request as the "
    "provider counted it. A file that is no JSON is counted as plain text."
)


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_file(parser)
    add_model(parser)
    flag(parser, "--text", "FILE is plain text, whatever it looks like: count it as it is, without any framing")


def run(arguments: argparse.Namespace) -> None:
    """Weigh and show."""
    preload(arguments.file, arguments.model)
    if arguments.text:
        _count_text(arguments, read_raw(arguments.file).decode("utf-8", "replace"))
        return
    try:
        measure = _measured(arguments)
    except PlainText as found:
        _count_text(arguments, found.text)
        return
    if arguments.json:
        print_json(measure.to_dict())
    else:
        show(count_table(measure))


def _measured(arguments: argparse.Namespace) -> plimsoll.Measure:
    if is_session(arguments.file):
        options = {"model": arguments.model}
        with open_session(arguments.file, arguments.store, **options) as session, working("counting", session):
            return session.measure()
    loaded, size_bytes = read(arguments.file)
    with working("counting", size_bytes):
        return plimsoll.measure(loaded, model=arguments.model, label=label_of(arguments.file))


def _count_text(arguments: argparse.Namespace, text: str) -> None:
    model = arguments.model or DEFAULT_MODEL
    counter = plimsoll.token_counter(model)
    tokens = counter.upper(text)
    if arguments.json:
        about = {"label": label_of(arguments.file), "model": model, "counter": counter.name, "exact": counter.exact}
        print_json({**about, "tokens": tokens, "characters": len(text)})
    else:
        size = f"{pluralize(tokens, 'token')}, {pluralize(len(text), 'character')}"
        say(f"{label_of(arguments.file)}, plain text, {model}: {size}, by {counter.name}")
