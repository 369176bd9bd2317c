"""Divide exchanges into those that stay verbatim and those that leave, and share out the room under the goal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from operator import attrgetter

from plimsoll.compaction.importance import OPEN_ERROR, open_errors
from plimsoll.compaction.losses import least_cut
from plimsoll.compaction.notes import is_filler
from plimsoll.compaction.task import Task
from plimsoll.compaction.view_message import ViewExchange
from plimsoll.compaction.windows import keep_from
from plimsoll.compaction.working_view import WorkingView
from plimsoll.light.dataclass import dataclass
from plimsoll.light.regex import regex

HISTORY_GOALS_MAX = 13
"""A history is measured only up to this multiple of its goal; beyond it the shares no longer change."""

COUNTED_GOALS_MAX = 4
"""Of a history, the newest part up to this multiple of its goal is counted; the rest by its characters, as if it were like that.
The summary's share of the room is 0.94 for a history of that size, and 0.99 for the largest."""

SAMPLE_EXCHANGES = 32
"""Exchanges whose mean size stands for those that are gone."""

QUERY_SHARE = 0.3
"""Share of the tail's room for exchanges that match the query."""

ERRORS_SHARE, ERROR_TOKENS_MIN = 0.15, 100
"""Share of the tail's room for older exchanges with an error that is not resolved, and the least of it that is worth a search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The removable exchanges, divided, and the maximum tokens of the summary of those that leave."""

    stay: tuple[ViewExchange, ...]
    leave: tuple[ViewExchange, ...]
    summary_tokens_max: int

    @property
    def covers(self) -> tuple[int, int]:
        """The positions `[start, end)` that a summary of the leaving exchanges covers."""
        starts, ends = (set(map(attrgetter(name), self.leave)) - {None} for name in ("first", "last"))
        return min(starts, default=0), max(ends, default=-1) + 1


def split(view: WorkingView, task: Task, *, summary_tokens: int | None = None, after_failure: bool = False) -> Split:
    """Share the room between the summary, exchanges that match the query, and the tail.

    `summary_tokens` is the known size of the summary; None uses the policy's share. `after_failure` uses the tail size that the
    policy sets for a failed summariser. What the tail leaves, if no exchange can be cut to it, is the summary's.
    """
    movable = view.movable()
    held = view.reserve_tokens + sum(exchange.tokens for exchange in view.exchanges if exchange.kept_as is not None)
    free = task.goal_tokens - held
    summary = _summary_room(view, task, free) if summary_tokens is None else summary_tokens
    summary = max(summary, min(task.summary_tokens_min, task.budget_tokens - held), 0)
    matching = _matching(movable, task, int((free - summary) * QUERY_SHARE)) or _failing(movable, task, free - summary)
    room = free - summary - sum(exchange.tokens for exchange in matching)
    tail = _tail(view, movable, task, room, after_failure=after_failure)
    chosen = {id(exchange) for exchange in (*matching, *tail)}
    rest = room - sum(exchange.tokens for exchange in tail)
    if not task.policy.caps_tail and 0 < rest < least_cut(task.goal_tokens):
        summary = max(summary, min(summary + rest, task.summary_tokens_max))
    return Split(
        stay=tuple(exchange for exchange in movable if id(exchange) in chosen),
        leave=tuple(exchange for exchange in movable if id(exchange) not in chosen),
        summary_tokens_max=summary,
    )


def _summary_room(view: WorkingView, task: Task, free_tokens: int) -> int:
    """Tokens for the summary: of the free room, the share of the history that leaves, at least half, within the policy's limit.

    The further a history exceeds its goal, the less of it fits in a verbatim tail, and the more a fact in the summary is worth.
    """
    history = max(task.goal_tokens, history_tokens(view, task.goal_tokens)) + _replaced_tokens(view)
    share = max(0.5, 1 - (task.goal_tokens / max(1, history)) ** 2)
    earlier = sum(exchange.tokens for exchange in view.summaries())
    return min(task.summary_tokens_max, max(0, int(free_tokens * share), min(earlier, free_tokens)))


def history_tokens(view: WorkingView, goal_tokens: int) -> int:
    """About the tokens of the messages that are in the view."""
    older, tokens, chars = list(view.exchanges), 0, 0
    while older and tokens < goal_tokens * COUNTED_GOALS_MAX:
        exchange = older.pop()
        tokens += exchange.tokens
        chars += exchange.size_chars
    rest = sum([exchange.size_chars for exchange in older])
    tokens += tokens * rest // max(1, chars) + view.reserve_tokens
    return min(tokens, goal_tokens * HISTORY_GOALS_MAX)


def _replaced_tokens(view: WorkingView) -> int:
    """About the tokens of the messages that earlier summaries stand for, as if they were like the newest ones."""
    if not view.replaced_count:
        return 0
    newest = [exchange for exchange in view.exchanges[-SAMPLE_EXCHANGES:] if not exchange.is_summary_or_notice]
    messages = sum(len(exchange.entries) for exchange in newest)
    return view.replaced_count * sum(exchange.tokens for exchange in newest) // max(1, messages)


def _matching(movable: Sequence[ViewExchange], task: Task, room: int) -> list[ViewExchange]:
    """The exchanges that match the query best for their size, within the room."""
    if not task.query or room <= 0:
        return []
    scored = [pair for pair in zip(relevance(movable, task.query), movable, strict=True) if pair[0] > 0]
    chosen = []
    for _, exchange in sorted(scored, key=lambda pair: -pair[0] / (pair[1].tokens + 50)):
        if exchange.tokens <= room:
            exchange.decide("keep", "answers what is asked")
            chosen.append(exchange)
            room -= exchange.tokens
    return chosen


def _failing(movable: Sequence[ViewExchange], task: Task, room: int) -> list[ViewExchange]:
    """The newest exchanges with an error that is not resolved, within their share of the room."""
    room = int(room * ERRORS_SHARE)
    if task.policy.caps_tail or room < ERROR_TOKENS_MIN:
        return []
    chosen = []
    for exchange in open_errors(movable):
        if exchange.tokens <= room:
            exchange.decide("keep", OPEN_ERROR)
            chosen.append(exchange)
            room -= exchange.tokens
    return chosen


def _tail(
    view: WorkingView, movable: Sequence[ViewExchange], task: Task, room: int, *, after_failure: bool
) -> list[ViewExchange]:
    """The newest removable exchanges without a gap, within the room and the policy's caps."""
    conversation = [
        exchange for exchange in view.exchanges if not exchange.is_summary and not exchange.original.is_system
    ]
    exchanges = [exchange.original for exchange in conversation]
    newest_first = (exchange.tokens for exchange in reversed(conversation))
    cut = keep_from(exchanges, newest_first, task.policy, budget_tokens=task.budget_tokens, after_failure=after_failure)
    allowed = {id(exchange) for exchange in conversation[cut:]}
    tail = []
    for exchange in reversed(movable):
        if is_filler(exchange.entries[0].message):
            continue
        room -= exchange.tokens
        if room < 0 or id(exchange) not in allowed:
            break
        tail.append(exchange)
    return tail


# --- relevance of exchanges to the query

_WORD = regex(r"[^\W_\u3040-\u9fff\uac00-\ud7af]+|[\u3040-\u9fff\uac00-\ud7af]")
_TEXT_CHARS_MAX = 20_000
_K1, _B = 1.2, 0.75
"""The usual BM25 constants (Robertson and Zaragoza, 2009)."""


def words(text: str) -> list[str]:
    """Lower-case words and numbers; each CJK character by itself."""
    return [word.lower() for word in _WORD.findall(text)]


def relevance(exchanges: Sequence[ViewExchange], query: str) -> list[float]:
    """BM25 score of each exchange over words, numbers and CJK characters, 0 without a shared term. Linear in the text.

    Only the beginning of a very long text is scored.
    """
    asked = set(words(query))
    found = [Counter(word for word in words(_said(exchange)) if word in asked) for exchange in exchanges]
    sizes = [
        min(sum(len(entry.message.text) for entry in exchange.entries), _TEXT_CHARS_MAX) + 1 for exchange in exchanges
    ]
    mean = sum(sizes) / max(1, len(sizes))
    spread = Counter(word for counts in found for word in counts)
    weight = {word: math.log(1 + (len(exchanges) - n + 0.5) / (n + 0.5)) for word, n in spread.items()}
    return [
        sum(weight[word] * n * (_K1 + 1) / (n + _K1 * (1 - _B + _B * size / mean)) for word, n in counts.items())
        for counts, size in zip(found, sizes, strict=True)
    ]


def _said(exchange: ViewExchange) -> str:
    texts = (
        "\n".join([entry.message.text, *(call.arguments for call in entry.message.calls)]) for entry in exchange.entries
    )
    return "\n".join(texts)[:_TEXT_CHARS_MAX]
