"""make demo: what plimsoll does to a long agent session, step by step. Offline, no model; the one session on disk is removed.

The conversation is examples/conversation.json, a recorded session (see record.py).
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

import plimsoll

CONVERSATION = Path(__file__).with_name("conversation.json")
WINDOWS = (64_000, 32_000, 16_000, 8_000)
LOADS = (0.50, 0.75, 0.90, 0.97)
"""How full the window is in the sweep: one load for each level."""

LOOP_TOKENS = 16_000
SMALLEST_TOKENS = 8_000
QUESTION = "which review numbers and constraints were given for PLM-214"
LOG_WIDTH = 118

Messages = list[dict[str, Any]]

console = Console(highlight=False, width=None if sys.stdout.isatty() else LOG_WIDTH)


def main() -> None:
    """The whole demonstration."""
    messages = json.loads(CONVERSATION.read_text(encoding="utf-8"))
    show_size(messages)
    show_levels(messages)
    show_loop(messages)
    show_life(messages)
    show_smallest(messages)


def heading(text: str) -> None:
    """One line above a part."""
    console.print(f"\n[bold]{text}[/bold]")


def table(columns: Sequence[str], rows: Iterator[Sequence[object]]) -> None:
    """Rows under their columns; numbers to the right."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        drawn.add_column(column.lstrip(">"), justify="right" if column.startswith(">") else "left")
    for row in rows:
        drawn.add_row(*(f"{value:,}" if isinstance(value, int) else str(value) for value in row))
    console.print(drawn)


def show_size(messages: Messages) -> None:
    """The conversation beside the windows it has to go into."""
    total = plimsoll.count_tokens(messages)
    heading(f"1. A recorded session: {len(messages)} messages, {total:,} tokens (exact, o200k)")
    table(
        [">window", ">of the window"],
        ((window, f"{total / window:.0%} {'fits' if total <= window else 'does not fit'}") for window in WINDOWS),
    )


def show_levels(messages: Messages) -> None:
    """The same conversation under growing load, then in windows it is far too large for."""
    total = plimsoll.count_tokens(messages)
    heading("2. The load lines: the more of the window is used, the stronger the step")
    budgets = [*(int(total / load) for load in LOADS), *WINDOWS]
    columns = ["level", ">window", ">load", ">before", ">after", "what happens to the exchanges", ">ms"]
    table(columns, (level_row(messages, budget) for budget in budgets))


def level_row(messages: Messages, budget: int) -> Sequence[object]:
    """One plan: its level, its tokens, and its actions by kind."""
    start = time.perf_counter()
    report = plimsoll.fit(messages, max_tokens=budget, policy="ladder").report
    spent_ms = round((time.perf_counter() - start) * 1000)
    kinds = Counter(action.decision for action in report.actions)
    actions = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    load = f"{report.tokens_before / budget:.0%}"
    return [level_name(report.level), budget, load, report.tokens_before, report.tokens_after, actions, spent_ms]


def level_name(level: Any) -> str:
    """none, normal, aggressive or emergency."""
    return str(getattr(level, "name", level))


def turns(messages: Messages) -> Iterator[Messages]:
    """The conversation as an agent meets it: a message that asks for tools comes with their results."""
    starts = [index for index, message in enumerate(messages) if message["role"] != "tool"]
    for start, end in pairwise([*starts, len(messages)]):
        yield messages[start:end]


def show_loop(messages: Messages) -> None:
    """An agent's loop: a line for each compaction, and how often the provider's prompt cache held."""
    heading(f"3. An agent's loop in a window of {LOOP_TOKENS:,} tokens: the view is asked for after every turn")
    with plimsoll.open("demo", store="memory:", max_tokens=LOOP_TOKENS) as session:
        grown = list(replay(session, messages))
        columns = [">turn", "level", "by", ">before", ">after", "covers messages"]
        table(columns, (row for _, row in grown if row))
        kept = sum(same_front for same_front, _ in grown)
        console.print(f"In {kept} of {len(grown)} turns the view began with the whole view of the turn before.")
        console.print(f"All {len(session.history())} messages are still in the history. Asked: {QUESTION}?")
        for hit in session.recall(QUESTION, max_tokens=300)[:2]:
            console.print(f"  {hit.reference}: {' '.join(hit.text.split())[:LOG_WIDTH]}", markup=False)


def replay(session: plimsoll.Session, messages: Messages) -> Iterator[tuple[bool, Sequence[object]]]:
    """After each turn: whether the view only grew at its end, and the row of the compaction that it caused, if any."""
    before: Messages = []
    done = 0
    for number, turn in enumerate(turns(messages), 1):
        session.extend(turn)
        view = session.view()
        new = session.compactions()[done:]
        done += len(new)
        rows = [[number, level_name(c.level), c.stage, c.tokens_before, c.tokens_after, span(c.covers)] for c in new]
        yield view[: len(before)] == before, rows[-1] if rows else []
        before = view


def span(covers: Any) -> str:
    """Positions of messages, first and last."""
    return "–" if covers is None else f"{covers[0]} to {covers[1]}"


def show_life(messages: Messages) -> None:
    """A session on disk: closed, resumed, compacted after a preview, rolled back, each time with the views compared."""
    heading("4. A session on disk: resume, preview, compact, roll back")
    with tempfile.TemporaryDirectory() as store:
        with plimsoll.open("demo", store=store, max_tokens=2 * LOOP_TOKENS) as session:
            for turn in turns(messages):
                session.extend(turn)
                before = session.view()
        with plimsoll.open("demo", store=store) as session:
            say("resumed: the view is the same, byte for byte", same(session.view(), before))
            plan = session.preview()
            kinds = Counter(action.decision for action in plan.actions)
            console.print(
                f"  preview: {plan.report.tokens_before:,} -> {plan.report.tokens_after:,} tokens, {dict(kinds)}"
            )
            say("the preview changed nothing", same(session.view(), before))
            done = session.compact(plan.with_summary(f"{plan.summary}\nReviewed by hand."))
            edited = any("Reviewed by hand." in json.dumps(message) for message in session.view())
            say(f"compacted as {done.id}, with the edited summary in the view", edited)
            session.rollback()
            say("rolled back: the view is the one before", same(session.view(), before))
            session.reapply()
            compacted = session.view()
        with plimsoll.open("demo", store=store) as session:
            say("applied again and resumed: the compacted view is the same", same(session.view(), compacted))
            say("every message ever said is in the history", same(session.history(), messages))


def same(one: Messages, other: Messages) -> bool:
    """Whether two lists of messages are the same bytes of JSON."""
    return json.dumps(one) == json.dumps(other)


def say(claim: str, holds: bool) -> None:  # noqa: FBT001 - a claim and whether it holds
    """A claim that was just checked. One that does not hold ends the demonstration."""
    console.print(f"  {'yes' if holds else 'NO '}  {claim}", markup=False)
    if not holds:
        sys.exit(f"this should hold: {claim}")


def show_smallest(messages: Messages) -> None:
    """The smallest window: the summary, the exact count, and the proof that the provider will take it."""
    heading(f"5. One call, no session: plimsoll.fit(messages, max_tokens={SMALLEST_TOKENS:_})")
    fitted = plimsoll.fit(messages, max_tokens=SMALLEST_TOKENS)
    counted = plimsoll.count_tokens(fitted.messages)
    for line in (fitted.report.summary or "").splitlines()[:24]:
        console.print(f"  {line}", markup=False, no_wrap=True, overflow="ellipsis")
    problems = plimsoll.validate(fitted.messages)
    console.print(
        f"\n{counted:,} of {SMALLEST_TOKENS:,} tokens, {len(fitted.messages)} of {len(messages)} messages; "
        f"the provider would refuse: {problems or 'nothing'}; {len(fitted.report.lost)} exchanges left the view."
    )


if __name__ == "__main__":
    main()
