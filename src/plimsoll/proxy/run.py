"""Running a proxy until it is told to stop."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from plimsoll.conversations.conversations import Conversations
from plimsoll.proxy.options import ProxyOptions, checked_options
from plimsoll.proxy.server import Proxy
from plimsoll.store.open import StoreSpec

SWITCH_S: Final = 0.0005
"""How long requests may wait for the thread that records, in a process of the proxy alone: a tenth of Python's own value."""


def serve(options: ProxyOptions, *, listening: Callable[[str], None], **kept: Any) -> None:
    """Serve until the process is interrupted or terminated.

    `listening` is called with the URL; `kept` are the options of `Conversations`. Raises SettingError, OSError, and StoreUnusable
    or StoreFull where no conversation could be kept: a store that fails later stops no request.
    """
    sys.setswitchinterval(SWITCH_S)
    with Conversations(**kept) as conversations:
        conversations.check_store()
        asyncio.run(_serve(options, conversations, listening))


async def _serve(options: ProxyOptions, conversations: Conversations, listening: Callable[[str], None]) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, RuntimeError):  # Windows, or not the main thread
            loop.add_signal_handler(number, stopped.set)
    proxy = Proxy(options, conversations)
    await proxy.start()
    try:
        listening(_url(proxy))
        await stopped.wait()
    finally:
        await proxy.stop()


@contextmanager
def running(options: ProxyOptions, conversations: Conversations) -> Iterator[Proxy]:
    """A proxy in a thread of its own, for programs and tests; its URL is `http://HOST:proxy.port`. Raises OSError."""
    started: list[Proxy | BaseException] = []
    ready, stopped = threading.Event(), threading.Event()

    async def work() -> None:
        proxy = Proxy(options, conversations)
        try:
            await proxy.start()
            started.append(proxy)
        except BaseException as error:  # noqa: BLE001 - raised where it was started
            started.append(error)
            return
        finally:
            ready.set()
        await asyncio.to_thread(stopped.wait)
        await proxy.stop()

    thread = threading.Thread(target=lambda: asyncio.run(work()), name="plimsoll-proxy", daemon=True)
    thread.start()
    ready.wait()
    found = started[0]
    if isinstance(found, BaseException):
        thread.join()
        raise found
    try:
        yield found
    finally:
        stopped.set()
        thread.join()


@contextmanager
def serving(upstream: str, *, store: StoreSpec = None, max_tokens: int | None = None, **options: Any) -> Iterator[str]:
    """A proxy on a free port of this computer, for the time of a block. Gives its URL.

    Args:
        upstream: The provider's URL.
        store: Where the sessions are kept, as in `plimsoll.open`.
        max_tokens: The budget of messages and tools; None: the model's window less the reply that a request asks for.
        options: Others of `Conversations`.

    Raises: SettingError, OSError.

    """
    with (
        Conversations(store, max_tokens=max_tokens, **options) as conversations,
        running(checked_options(upstream, port=0), conversations) as proxy,
    ):
        yield _url(proxy)


def _url(proxy: Proxy) -> str:
    host = proxy.options.host
    return f"http://{f'[{host}]' if ':' in host else host}:{proxy.port}"
