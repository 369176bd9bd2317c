"""What is planted at random in a large result is in its preview, or found by one recall in the session that holds the whole."""

from __future__ import annotations

import functools
import json
import pathlib
import random
from collections.abc import Callable
from typing import Any

import pytest

import plimsoll

TOOL_OUTPUTS = pathlib.Path(__file__).parents[3].parent / "shared/evals/tool_outputs"
CAPS = (300, 1_000, 4_000)
NOUNS = "berth buoy cargo crane deck ferry hull jetty keel mast mooring pier pilot quay rudder sail tide tug winch yard".split()


def log(rng: random.Random) -> list[str]:
    """A service's log."""
    return [
        f"2026-03-01 04:{n // 60 % 60:02}:{n % 60:02},{rng.randrange(1_000):03} INFO [w-{rng.randrange(9)}] {rng.choice(NOUNS)} {n} moved"
        for n in range(1_500)
    ]


def code(rng: random.Random) -> list[str]:
    """A module of small functions."""
    return [
        line
        for n in range(250)
        for line in (
            f"def {rng.choice(NOUNS)}_{n}(tide):",
            f"    {rng.choice(NOUNS)} = tide + {n}",
            f"    return {n}",
            "",
        )
    ]


def diff(rng: random.Random) -> list[str]:
    """A change of many files."""
    return [
        line
        for n in range(60)
        for line in (
            f"diff --git a/src/{rng.choice(NOUNS)}{n}.py b/src/x{n}.py",
            "@@ -1,9 +1,9 @@",
            *(
                f"{rng.choice('  +-')}    {rng.choice(NOUNS)} = {rng.choice(NOUNS)} + {rng.randrange(99)}"
                for _ in range(16)
            ),
        )
    ]


def search(rng: random.Random) -> list[str]:
    """Hits in many files."""
    return [f"src/{NOUNS[n % 20]}/m{n // 60}.py:{n % 60 + 1}:    {rng.choice(NOUNS)} = load({n})" for n in range(1_200)]


def listed(rng: random.Random) -> list[str]:
    """Paths."""
    return [f"src/{NOUNS[n % 20]}/{NOUNS[n % 7]}/{rng.choice(NOUNS)}_{n}.py" for n in range(1_500)]


PLANTED: dict[str, tuple[Callable[[random.Random], list[str]], str, str]] = {
    "an error line": (
        log,
        "2026-03-01 04:00:00,000 ERROR [w-1] ledger write failed, journal {}",
        "ledger write failed {}",
    ),
    "one function": (
        code,
        "def weigh_anchor_{0}(tide):\n    return tide * 2",
        "what does the function weigh_anchor_{} do",
    ),
    "one changed line": (diff, "+    capstan = capstan_{} + 1", "where was capstan_{} changed"),
    "one hit": (search, "src/odd/lamp.py:7:    lantern_{0} = light()", "which file has lantern_{}"),
    "one path": (listed, "src/odd/lantern_{}.py", "lantern_{}.py"),
}


def found(text: str, key: str, query: str, caps: tuple[int, ...]) -> list[tuple[bool, bool]]:
    """For each limit, whether the key is in the preview, and whether it is there or in the answer to one recall."""
    shown = [key in plimsoll.shrink("run", text, max_tokens=cap).text for cap in caps]
    return [(one, one or recalled(text, key, query)) for one in shown]


@functools.cache
def recalled(text: str, key: str, query: str) -> bool:
    """Whether one recall finds the key in a session that holds the text as a tool's result."""
    call = {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}}
    with plimsoll.open("a", store="memory:", max_tokens=8_000) as session:
        session.append({"role": "user", "content": "Look at it."})
        session.append({"role": "assistant", "content": None, "tool_calls": [call]})
        session.append({"role": "tool", "tool_call_id": "c1", "content": text})
        session.view()
        return any(key in hit.text for hit in session.recall(query))


def plant(make: Callable[[random.Random], list[str]], line: str, rng: random.Random, key: str) -> str:
    """Lines with one more at a random place."""
    lines = make(rng)
    lines.insert(rng.randrange(2, len(lines)), line.format(key))
    return "\n".join(lines)


@pytest.mark.parametrize("kind", PLANTED)
@pytest.mark.parametrize("cap", [300, pytest.param(4_000, marks=pytest.mark.slow)])
def test_what_is_planted_is_found_again(kind: str, cap: int) -> None:
    """In the preview or by one recall; an error in the preview itself."""
    make, line, query = PLANTED[kind]
    key = f"7x{cap}"
    [(shown, again)] = found(plant(make, line, random.Random(key), key), key, query.format(key), (cap,))
    assert again
    assert shown or kind != "an error line"


@pytest.mark.slow
def test_needles_in_real_results_are_found_again() -> None:
    """Of needles in all sample files at all limits, 99 % in the preview or by one recall; errors and odd rows, 95 % in the preview."""
    if not TOOL_OUTPUTS.exists():
        pytest.skip("no ../shared/evals/tool_outputs beside the checkout")
    rng = random.Random(8)
    names = sorted(path.name for path in TOOL_OUTPUTS.iterdir() if path.name != "MANIFEST.json")
    results = [
        (name, needle, hit)
        for name in names
        for needle in ("error", "line")
        for hit in found(*planted(name, needle, rng), CAPS)
    ]
    errors = [shown for _, needle, (shown, _) in results if needle == "error"]
    missed = [(name, needle) for name, needle, (_, again) in results if not again]

    assert len(missed) <= 0.01 * len(results), missed
    assert sum(errors) >= 0.95 * len(errors), [(name, hit) for name, needle, hit in results if needle == "error"]


def planted(name: str, needle: str, rng: random.Random) -> tuple[str, str, str]:
    """A sample with an error or an ordinary line or field at a random place, the word that tells it, and a question for it."""
    whole = (TOOL_OUTPUTS / name).read_text(encoding="utf-8", errors="replace")
    key = f"lantern{rng.randrange(10_000, 99_999)}"
    if name.endswith(".json"):
        value = json.loads(whole)
        row = rng.choice(max(groups(value), key=len))
        row["status" if needle == "error" else "remark"] = (
            f"failed: disk failure {key}" if needle == "error" else f"of {key}"
        )
        return json.dumps(value), key, f"disk failure {key}" if needle == "error" else f"remark of {key}"
    lines = whole.split("\n")
    at = rng.randrange(1, len(lines))
    if name.startswith("html"):
        at = 1 + rng.choice(
            [index for index, line in enumerate(lines) if line.rstrip().endswith(("</p>", "</div>", "</li>"))]
        )
        line = f"<p>{'ERROR: disk failure' if needle == 'error' else 'Of harbours:'} {key}</p>"
    else:
        line = f"{lines[at][:24]} ERROR: disk failure {key}" if needle == "error" else f"{lines[at]} {key}"
    return (
        "\n".join([*lines[:at], line, *lines[at:]]),
        key,
        f"disk failure {key}" if needle == "error" else f"where is {key}",
    )


def groups(value: Any) -> list[list[dict[str, Any]]]:
    """The objects in each list or object of a value."""
    inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    return [[item for item in inner if isinstance(item, dict)], *(group for item in inner for group in groups(item))]
