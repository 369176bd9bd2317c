"""The rooms of plimsoll from the bottom up: what each is for, and what may be in it. The tests and the page on architecture go by it."""

from __future__ import annotations

from typing import NamedTuple


class Room(NamedTuple):
    """A module or package directly under plimsoll."""

    name: str
    layer: str
    about: str


ROOMS = (
    Room("light", "values", "light stand-ins for parts of the standard library"),
    Room("errors", "values", "every error and warning, and running what may fail"),
    Room("limits", "values", "every limit, with its unit"),
    Room("message", "values", "one message and its parts"),
    Room("policy", "values", "budgets, load lines, policies and presets, and checks of option values"),
    Room("protocols", "ports", "what the core and sessions need from outside, as Protocols"),
    Room("formats", "core", "providers' message formats: read, write, check, convert"),
    Room("tokens", "core", "counting tokens, and what is known of models"),
    Room("truncation", "core", "cutting one text, one JSON value, one tool result"),
    Room("summary", "core", "the ledger of facts, and summaries by rules and models"),
    Room("compaction", "core", "planning a view that fits"),
    Room("records", "core", "what a session's log says, and the state it leads to"),
    Room("environment", "outside", "the computer and project around a session"),
    Room("store", "outside", "logs on disk, in a database, in memory"),
    Room("recall", "outside", "searching and reading what left the view"),
    Room("memory", "outside", "facts kept across sessions, with their origins"),
    Room("report", "outside", "what a conversation weighs, as tables, in a terminal and on an HTML page"),
    Room("transcripts", "outside", "the session files of coding agents"),
    Room("session", "app", "sessions: opening, appending, viewing, compacting, synchronising, importing"),
    Room("api", "app", "the calls that need no session, evaluations and models that write summaries among them"),
    Room(
        "conversations",
        "app",
        "conversations of hosts that send the whole list with each request, and clients of the official SDKs that do",
    ),
    Room("", "app", "the public names"),
    Room("mcp", "edges", "the MCP server"),
    Room("hooks", "edges", "what coding agents call before and after they compact"),
    Room("adapters", "edges", "adapters to agent frameworks, one module each"),
    Room("proxy", "edges", "a proxy in front of a provider's API"),
    Room("cli", "edges", "the command line"),
    Room("__main__", "edges", "`python -m plimsoll`"),
)
"""From the bottom up: a module imports from its own layer and those before it, and packages have an order without circles."""

LAYERS = tuple(dict.fromkeys(room.layer for room in ROOMS))
LAYER_OF = {room.name: room.layer for room in ROOMS}


def table() -> str:
    """The rooms as the page on architecture shows them, from the top down."""
    rows = [f"| {room.layer} | `{room.name or '__init__'}` | {room.about} |" for room in reversed(ROOMS)]
    return "\n".join(["| layer | place | what it is for |", "| --- | --- | --- |", *rows])
