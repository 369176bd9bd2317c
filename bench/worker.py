"""One measurement in a process of its own: reads a request (JSON file), writes an answer (JSON file).

It runs under the interpreter of whoever is measured, so it imports only the standard library and that contestant.
usage: worker.py REQUEST ANSWER
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

FILLED_AT_ONCE = 500
"""Messages written in one go while a session is filled."""


HELLO = [{"role": role, "content": "unladen swallows: 检查 größere Lasten, зxq"} for role in ("user", "assistant")]
"""Words of several tokens: a vocabulary's tables may be built only when the first of those is met."""


def clock(call: Any, *arguments: Any) -> tuple[float, Any]:
    """Seconds a call takes, and what it returns."""
    start = time.perf_counter()
    result = call(*arguments)
    return time.perf_counter() - start, result


def one_shot(contestant: Any, request: dict[str, Any]) -> dict[str, Any]:
    """The same conversation fitted twice: never seen before, then seen."""
    messages = contestant.adopt(json.loads(Path(request["conversation"]).read_text(encoding="utf-8")))
    gc.collect()
    first_s, result = clock(contestant.fit, messages, request["max_tokens"])
    again_s, _ = clock(contestant.fit, messages, request["max_tokens"])
    return {"first_s": first_s, "again_s": again_s, "peak_mb": peak_mb(), "view": contestant.wire(result)}


def agent_loop(contestant: Any, request: dict[str, Any]) -> dict[str, Any]:
    """The view after each turn; the milliseconds of those that fall in the windows."""
    turns = [contestant.adopt(turn) for turn in json.loads(Path(request["turns"]).read_text(encoding="utf-8"))]
    asked = (with_state if contestant.STATEFUL else without_state)(contestant, turns, request)
    windows: dict[str, list[float]] = {}
    views = []
    for window, spent_s, view in asked:
        if window:
            windows.setdefault(window, []).append(spent_s * 1000)
            views.append(contestant.wire(view))
    return {"windows_ms": windows, "views": views, "peak_mb": peak_mb()}


def with_state(contestant: Any, turns: list[Any], request: dict[str, Any]) -> Iterator[tuple[str, float, Any]]:
    """A contestant that keeps the history is asked after every turn."""
    step = contestant.loop(request["max_tokens"])
    for turn, window in zip(turns, request["window_of_turn"], strict=True):
        yield window, *clock(step, turn)


def without_state(contestant: Any, turns: list[Any], request: dict[str, Any]) -> Iterator[tuple[str, float, Any]]:
    """A function of the whole history costs the same whatever was asked before, so it is asked in the windows only."""
    history: list[Any] = []
    for turn, window in zip(turns, request["window_of_turn"], strict=True):
        history.extend(turn)
        if window:
            yield window, *clock(contestant.fit, history, request["max_tokens"])


def appends(contestant: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Durable appends of each kind, and as often the same messages as JSON by one write and one fdatasync, in turn."""
    import workload

    found = {}
    for kind, count in request["kinds"].items():
        name = f"{kind}-{request['round']}"
        handle = contestant.open_session(request["place"], name, durable=True, max_tokens=request["max_tokens"])
        fd = os.open(f"{request['place']}/bare-{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        spent_ms: dict[str, list[float]] = {"append_ms": [], "bare_ms": []}
        for index, messages in enumerate(islice(workload.APPENDED[kind](request["round"]), count)):
            lines = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
            both = [("append_ms", contestant.extend, handle, messages), ("bare_ms", bare, fd, lines)]
            for key, call, *arguments in both if index % 2 else reversed(both):
                spent_ms[key].append(clock(call, *arguments)[0] * 1000)
        os.close(fd)
        contestant.close(handle)
        found[kind] = spent_ms
    return found


def shrink(contestant: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Each tool result shrunk once; seconds of processor time, of all threads."""
    texts, spent_s = [], []
    for case in json.loads(Path(request["cases"]).read_text(encoding="utf-8")):
        start = time.process_time()
        texts.append(contestant.shrink(case["text"], case["query"], request["max_tokens"]))
        spent_s.append(time.process_time() - start)
    return {"texts": texts, "spent_s": spent_s}


def session(contestant: Any, request: dict[str, Any]) -> dict[str, Any]:
    """For sessions of each length: opening up to the first view, and turns with a view after each."""
    import workload

    for length in request["lengths"]:
        fill(contestant, request, f"of-{length}", length)
    gc.collect()
    before_mb = resident_mb()
    opening_ms: dict[int, list[float]] = {length: [] for length in request["lengths"]}
    for _ in range(request["openings"]):
        for length, times in opening_ms.items():
            spent_s, (handle, shown) = clock(opened, contestant, request, f"of-{length}")
            times.append(spent_s * 1000)
            contestant.close(handle)
    turn_ms: dict[int, list[float]] = {}
    for length in request["lengths"]:
        handle, shown = opened(contestant, request, f"of-{length}")
        turn_ms[length] = [
            clock(take, contestant, handle, turn)[0] * 1000 for turn in islice(workload.turns(seed=9), request["turns"])
        ]
        contestant.close(handle)
    return {
        "opening_ms": opening_ms,
        "turn_ms": turn_ms,
        "view_messages": len(shown),
        "used_mb": resident_mb() - before_mb,
    }


def bare(fd: int, line: bytes) -> None:
    """A durable append with nothing around it."""
    os.write(fd, line)
    os.fdatasync(fd)


def opened(contestant: Any, request: dict[str, Any], name: str) -> tuple[Any, Any]:
    """The session, open, and its first view."""
    handle = contestant.open_session(request["place"], name, durable=False, max_tokens=request["max_tokens"])
    return handle, contestant.view(handle)


def fill(contestant: Any, request: dict[str, Any], name: str, length: int) -> None:
    """A session of that many messages, written quickly; what its contestant does as it grows is done now and then."""
    import workload

    stream = (message for turn in workload.turns(seed=7) for message in turn)
    handle = contestant.open_session(request["place"], name, durable=False, max_tokens=request["max_tokens"])
    for left in range(length, 0, -FILLED_AT_ONCE):
        contestant.extend(handle, list(islice(stream, min(left, FILLED_AT_ONCE))))
        contestant.view(handle)
    contestant.close(handle)


def take(contestant: Any, handle: Any, turn: list[Any]) -> Any:
    """One turn: its messages, then a view."""
    contestant.extend(handle, turn)
    return contestant.view(handle)


def resident_mb() -> float:
    """The memory this process holds now."""
    pages = Path("/proc/self/statm")
    held = int(pages.read_text().split()[1]) * resource.getpagesize() if pages.exists() else 0
    return held / 2**20


def peak_mb() -> float:
    """The most memory this process ever held, the conversation included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def ready(contestant: Any) -> None:
    """Everybody has loaded whatever it loads once before it is timed."""
    contestant.prepare()
    if hasattr(contestant, "fit"):
        contestant.fit(contestant.adopt(HELLO), 1_000)


def main() -> None:
    """Prepare the contestant, run the job, write the answer."""
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    contestant = importlib.import_module(f"contestants.{request['contestant']}")
    prepare_s, _ = clock(ready, contestant)
    jobs = {"one_shot": one_shot, "agent_loop": agent_loop, "session": session, "appends": appends, "shrink": shrink}
    answer = jobs[request["job"]](contestant, request)
    Path(sys.argv[2]).write_text(json.dumps({"prepare_s": prepare_s, **answer}), encoding="utf-8")


if __name__ == "__main__":
    main()
