"""Who is asked for a summary while a host's whole list is taken over: `sync`, from within the summarizer too."""

from __future__ import annotations

import asyncio
import threading

import pytest

import plimsoll

BUDGET = 3_000


def talk(count: int) -> list[dict[str, str]]:
    """So many messages, of which a budget holds about twenty."""
    return [
        {"role": ("user", "assistant")[n % 2], "content": f"{n}: berth {n * 37} is free of ships again. " * 12}
        for n in range(count)
    ]


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_summarizer_may_sync_the_session_that_asks_it(is_async: bool) -> None:
    """It is not asked again from within, where rules compact, and both views fit."""
    inner: list[plimsoll.View] = []
    asked: list[plimsoll.SummaryRequest] = []

    def write(request: plimsoll.SummaryRequest) -> str:
        asked.append(request)
        inner.append(session.sync(talk(41)))
        return "Many berths are free."

    async def write_later(request: plimsoll.SummaryRequest) -> str:
        asked.append(request)
        inner.append(await session.sync_async(talk(41)))
        return "Many berths are free."

    summarizer = write_later if is_async else write
    with plimsoll.open("quay", store="memory:", max_tokens=BUDGET, summarizer=summarizer) as session:
        view = asyncio.run(session.sync_async(talk(40))) if is_async else session.sync(talk(40))

        assert len(asked) == len(inner) == 1
        assert {compaction.stage for compaction in session.compactions()} == {"rules"}
        assert all(plimsoll.count_tokens(each) <= BUDGET for each in (view, *inner))


def test_a_sync_in_the_background_waits_for_no_model() -> None:
    """With `background=True` the caller's own thread asks nobody: rules compact where no plan is ready."""
    asked_in: list[int] = []

    def write(_: plimsoll.SummaryRequest) -> str:
        asked_in.append(threading.get_ident())
        return "Many berths are free."

    with plimsoll.open("quay", store="memory:", max_tokens=BUDGET, summarizer=write, background=True) as session:
        view = session.sync(talk(40))

        assert session.compactions()[0].stage == "rules"
        assert plimsoll.count_tokens(view) <= BUDGET
        assert threading.get_ident() not in asked_in
