"""How fast texts are counted: ordinary kinds in MB/s of UTF-8, hostile ones in seconds, a fresh long conversation in ms.

PYTHONPATH=src python bench/count_speed.py
"""

from __future__ import annotations

import base64
import json
import random
import string
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

from plimsoll.message import text_message
from plimsoll.tokens.estimate import EstimatingCounter
from plimsoll.tokens.exact import exact_counter
from plimsoll.tokens.framing import MessageCounter

RNG = random.Random(1)
ORDINARY = {
    "python": (Path(sysconfig.get_path("stdlib")) / "typing.py").read_text("utf-8") * 8,
    "json": json.dumps([{"id": RNG.getrandbits(64), "name": "worker queue", "ok": True} for _ in range(15_000)]),
    "russian": "Съешь же ещё этих мягких французских булок, да выпей чаю. " * 9_000,
    "chinese": "今天天气很好，我们一起去公园散步吧。" * 18_000,
    "base64": base64.encodebytes(RNG.randbytes(600_000)).decode(),
}
HOSTILE = {
    "1 MB of one letter": "a" * 1_000_000,
    "1.1 M spaces": " " * 1_100_000,
    "1 MB of random letters": "".join(RNG.choices(string.ascii_lowercase, k=1_000_000)),
    "1 M emoji": "😀" * 1_000_000,
    "1 M lone surrogates": "\ud800" * 1_000_000,
    "20 MB in one line": "lorem ipsum dolor, " * 1_050_000,
}


def seconds(count: Callable[[str], int], text: str) -> float:
    start = time.perf_counter()
    count(text)
    return time.perf_counter() - start


def main() -> None:
    exact, estimate = exact_counter("o200k_base"), EstimatingCounter()
    estimate.count("loads the weights")
    for name, text in ORDINARY.items():
        size_mb = len(text.encode()) / 1e6
        cold = seconds(exact.count, text)
        speeds = [size_mb / min(seconds(count, text) for _ in range(3)) for count in (exact.count, estimate.count)]
        print(f"{name:24} exact {size_mb / cold:6.1f} cold {speeds[0]:6.1f} warm, estimate {speeds[1]:6.1f} MB/s")
    for name, text in HOSTILE.items():
        print(f"{name:24} exact {seconds(exact.count, text):6.2f} s, estimate {seconds(estimate.count, text):6.2f} s")
    history = [
        text_message("user", f"{number} " + ORDINARY["python"][number * 300 : number * 300 + 2500])
        for number in range(1600)
    ]
    counter = MessageCounter(exact_counter("cl100k_base"))
    for time_name in ("fresh", "again"):
        start = time.perf_counter()
        tokens = counter.messages(history)
        print(f"{len(history)} messages, {tokens} tokens, {time_name}: {(time.perf_counter() - start) * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
