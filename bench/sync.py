"""What a turn costs by the way in which a host hands over its conversation: `fit` on the whole list, a session, or `sync`.

Each way plays the same agent's loop and asks for a view before every request. Beside the time it is noted how many views begin with
the whole view before, and what share of all tokens sent begins as the request before did: that much a provider reads from its
prompt cache.

Lists of SDK objects are timed where the SDKs are installed. Run it alone, by `python bench/sync.py`.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from statistics import median
from typing import Any, NamedTuple

import plimsoll
import workload
from table import markdown

MESSAGES = 1_000
"""Calls are timed from this length of the list on."""

CALLS, CALLS_OF_FIT = 60, 5
"""So many calls are timed."""

LOOP_TURNS = 200
"""Turns of the loop whose views are compared."""

MAX_TOKENS = 32_000
UNBOUNDED_TOKENS = 100_000_000

Message = Any
View = list[dict[str, Any]]


class Way(NamedTuple):
    """How a view is asked for: called with the whole list, and what is new at its end."""

    ask: Callable[[list[Message], list[Message]], View]
    close: Callable[[], None] = lambda: None


def by_fit(max_tokens: int) -> Way:
    """Nothing is kept between calls."""
    return Way(lambda held, _: plimsoll.fit(held, max_tokens=max_tokens).messages)


def by_fit_on(max_tokens: int) -> Way:
    """What was fitted before and what is new: the rest is gone."""
    view: View = []

    def ask(_: list[Message], new: list[Message]) -> View:
        view[:] = plimsoll.fit([*view, *new], max_tokens=max_tokens).messages
        return view

    return Way(ask)


def by_session(max_tokens: int) -> Way:
    """What is new is appended."""
    session = plimsoll.open("bench", store="memory:", max_tokens=max_tokens)

    def ask(_: list[Message], new: list[Message]) -> View:
        session.extend(new)
        return session.view()

    return Way(ask, session.close)


def by_sync(max_tokens: int) -> Way:
    """The whole list is handed over."""
    session = plimsoll.open("bench", store="memory:", max_tokens=max_tokens)
    return Way(lambda held, _: session.sync(held), session.close)


WAYS: dict[str, Callable[[int], Way]] = {
    "fit, the whole list": by_fit,
    "fit, its last result and what is new": by_fit_on,
    "session": by_session,
    "sync": by_sync,
}


def requests() -> Iterator[list[dict[str, Any]]]:
    """What is new before each request of an agent: its own last answer, and what that got for an answer."""
    new: list[dict[str, Any]] = []
    for turn in workload.turns(seed=3):
        new += turn
        if turn[-1]["role"] != "assistant":
            yield new
            new = []


def as_openai(message: dict[str, Any]) -> Message:
    """An answer as the SDK of OpenAI hands it out; all else is written by the host."""
    from openai.types.chat import ChatCompletionMessage

    return ChatCompletionMessage.model_validate(message) if message["role"] == "assistant" else message


def as_anthropic(message: dict[str, Any]) -> Message:
    """The same for Anthropic: the blocks of an answer are objects."""
    from anthropic.types import TextBlock, ToolUseBlock

    match message["role"]:
        case "system":
            return {"role": "user", "content": message["content"]}
        case "tool":
            result = {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}
            return {"role": "user", "content": [result]}
        case "assistant":
            calls = [
                ToolUseBlock(
                    type="tool_use",
                    id=call["id"],
                    name=call["function"]["name"],
                    input=json.loads(call["function"]["arguments"]),
                )
                for call in message.get("tool_calls", ())
            ]
            return {"role": "assistant", "content": [TextBlock(type="text", text=message["content"]), *calls]}
        case _:
            return message


LISTS: dict[str, tuple[str, Callable[[dict[str, Any]], Message]]] = {
    "dicts": ("json", lambda message: message),
    "openai objects": ("openai", as_openai),
    "anthropic objects": ("anthropic", as_anthropic),
}
"""What a host's list holds: the module that it takes, and how a message is written."""


def timed(way: Way, convert: Callable[[dict[str, Any]], Message], calls: int) -> float:
    """Median milliseconds of so many calls at a list of `MESSAGES` and more. What is done before is not timed."""
    held: list[Message] = []
    new: list[Message] = []
    spent: list[float] = []
    for request in requests():
        new += map(convert, request)
        if len(held) + len(new) < MESSAGES:
            continue
        held += new
        start = time.perf_counter()
        view = way.ask(held, new)
        spent.append(time.perf_counter() - start)
        del view
        new = []
        if len(spent) > calls:
            break
    way.close()
    return median(spent[1:]) * 1000


def alike(way: Way) -> dict[str, float]:
    """How many of the views of a loop begin with the whole view before, and the share of their tokens that is as it was before."""
    held: list[Message] = []
    views: list[list[str]] = []
    for _, new in zip(range(LOOP_TURNS), requests(), strict=False):
        held += new
        views.append([json.dumps(message) for message in way.ask(held, new)])
    way.close()
    whole = same = total = 0
    for before, after in pairwise(views):
        shared = next(
            (at for at, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), len(before)
        )
        shared = min(shared, len(after))
        whole += shared == len(before)
        same += sum(map(len, after[:shared]))
        total += sum(map(len, after))
    return {"begins_with_view_before": whole / (len(views) - 1), "text_as_before": same / total}


def measure() -> dict[str, Any]:
    """Every way with every list, compacting and not, and how alike its views are."""
    found: dict[str, Any] = {}
    for name, make in WAYS.items():
        row: dict[str, Any] = {}
        for kind, (module, convert) in LISTS.items():
            for load, max_tokens in (("compacting", MAX_TOKENS), ("whole", UNBOUNDED_TOKENS)):
                is_there = importlib.util.find_spec(module) is not None
                gc.collect()
                row[f"{kind}, {load}"] = (
                    timed(make(max_tokens), convert, CALLS_OF_FIT if name.startswith("fit") else CALLS)
                    if is_there
                    else None
                )
        found[name] = {"median_ms": row, **alike(make(MAX_TOKENS))}
    return found


def table(found: dict[str, Any]) -> str:
    """One row for each way."""
    kinds = list(found["sync"]["median_ms"])
    rows = [
        [name, *row["median_ms"].values(), row["begins_with_view_before"], row["text_as_before"]]
        for name, row in found.items()
    ]
    return markdown(["ms a call", *kinds, "begins with view before", "text as before"], rows)


if __name__ == "__main__":
    print(table(measure()))
