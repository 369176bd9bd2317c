"""Steps beside the loop: in order, those that nobody waits for a little later."""

from __future__ import annotations

import asyncio

from plimsoll.proxy.status import Metrics
from plimsoll.proxy.worker import Worker


def test_steps_run_in_order_and_records_wait_a_little():
    """A record is not begun while the reply it is of is passed on; a step that is waited for comes after those before it."""

    async def work() -> tuple[list[str], list[str], list[str]]:
        worker, done = Worker(Metrics()), list[str]()
        worker.later(lambda: done.append("one"))
        worker.later(lambda: done.append("two"))
        await asyncio.sleep(0)
        early = list(done)
        await worker.run(lambda: done.append("three"))
        waited = list(done)
        worker.later(lambda: done.append("four"))
        for _ in range(200):
            await asyncio.sleep(0.01)
            if len(done) == 4:
                break
        worker.later(lambda: done.append("five"))
        await worker.finish()
        return early, waited, done

    early, waited, done = asyncio.run(work())
    assert early == []
    assert waited == ["one", "two", "three"]
    assert done == ["one", "two", "three", "four", "five"]
