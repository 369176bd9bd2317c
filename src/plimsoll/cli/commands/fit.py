"""`plimsoll fit`: the view of a conversation within a budget."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

import plimsoll
from plimsoll.cli.options import FORMAT_NAMES, add_budget, add_file, add_out, add_summarizer, option
from plimsoll.cli.output import emit, json_text, tell, working
from plimsoll.cli.source import is_session, open_session, preload, read, summarizer_of
from plimsoll.light.dataclass import replace

if TYPE_CHECKING:
    from plimsoll.cli.container import Container

ABOUT = (
    "Writes the view in the container and format of the input, and a report on standard error. With --json both are "
    "one object. Without --max-tokens the model's window is the budget, or gpt-4o's where no model is known; the "
    "report says so."
)


def add(parser: argparse.ArgumentParser) -> None:
    """Its options."""
    add_file(parser)
    add_budget(parser)
    option(
        parser, "--format F", f"the messages' format: {', '.join(FORMAT_NAMES)} (default: look)", choices=FORMAT_NAMES
    )
    option(parser, "--query Q", "what is asked next: what answers it stays longer")
    add_summarizer(parser)
    add_out(parser)


def run(arguments: argparse.Namespace) -> None:
    """Fit and write."""
    preload(arguments.file, arguments.model)
    messages, options, container, size_bytes = _read(arguments)
    with working("fitting", size_bytes):
        fitted = plimsoll.fit(
            messages,
            max_tokens=arguments.max_tokens,
            policy=arguments.policy or "fill",
            query=arguments.query,
            summarizer=summarizer_of(arguments),
            **{**options, "model": arguments.model or options["model"]},
        )
    if arguments.json:
        result = {"format": options["format"], **fitted.to_dict()}
        emit(f"{json_text(result, indent=2)}\n".encode(), out=arguments.output)
        return
    emit(container.text(fitted.messages, fitted.system).encode(), out=arguments.output)
    from plimsoll.report.terminal import planned

    tell(planned(fitted.report))


def _read(arguments: argparse.Namespace) -> tuple[list[Any], dict[str, Any], Container, int]:
    """The messages, the options that belong to them, the container they came in, and its size in bytes."""
    from plimsoll.cli.container import ARRAY, Container

    if is_session(arguments.file):
        with open_session(arguments.file, arguments.store) as session:
            view, known = session.peek(), session.options
            own = {"format": session.format, "system": session.system}
            options = {**own, "model": known["model"], "tools": known["tools"]}
            return view, options, ARRAY, sum(len(str(message)) for message in view)
    loaded, size_bytes = read(arguments.file)
    if arguments.format is not None and isinstance(loaded, plimsoll.Conversation):
        loaded = replace(loaded, format=arguments.format)
    own = {"format": loaded.format, "system": loaded.system}
    options = {**own, "model": loaded.model, "tools": loaded.tools or None}
    return loaded.view(), options, Container.of(loaded), size_bytes
