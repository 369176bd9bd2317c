"""Opening a session without blocking the event loop, not even by importing modules."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from plimsoll.errors import SessionBusy
from plimsoll.session.concurrency import in_worker, pauses_s

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Unpack

    from plimsoll.compaction.drive import AsyncSummarizer
    from plimsoll.environment.layers import Filter, Storage
    from plimsoll.formats.format import SystemText
    from plimsoll.memory.opening import MemorySpec
    from plimsoll.message import FormatName
    from plimsoll.policy.policy import PolicyChoice
    from plimsoll.protocols import Durability
    from plimsoll.session.environment import Project
    from plimsoll.session.session import Session
    from plimsoll.store.open import StoreSpec
    from plimsoll.tokens.counter import CounterChoice


class OpenOptions(TypedDict, total=False):
    """The options of `open` and `aopen`."""

    store: StoreSpec
    model: str | None
    max_tokens: int | None
    policy: PolicyChoice | None
    tools: Sequence[Mapping[str, Any]] | None
    summarizer: AsyncSummarizer | None
    format: FormatName | None
    recall_tools: bool | Mapping[str, str] | None
    system: SystemText
    project: Project
    user_id: str | None
    preferences: Mapping[str, Any] | None
    configuration: Mapping[str, Any] | None
    default_filter: Filter | Mapping[str, Any] | None
    title: str | None
    max_sessions: int | None
    """Each new session above this number archives the least recently changed one; opening that one lists it again."""
    durability: Durability
    counter: CounterChoice
    """As in `fit`. A custom counter is not recorded: CounterWarning is given if the next call has another one, or none."""
    stats: bool | None
    storage: Storage | Mapping[str, Any] | None
    agent_id: str | None
    memory: MemorySpec
    create: bool
    read_only: bool
    wait_s: float
    background: bool


def aopen(name: str | None = None, **options: Unpack[OpenOptions]) -> Opening:
    """Async `open` with the same options: `await plimsoll.aopen(...)`, or `async with plimsoll.aopen(...)`, which also closes the
    session. Opening, closing and `wait_s` do not block the event loop.
    """
    pauses = pauses_s(options.pop("wait_s", 0))
    return Opening(partial(_open, name, options), pauses)


def _open(name: str | None, options: OpenOptions) -> Session:
    from plimsoll.session.open import open as open_session  # noqa: PLC0415 - imported in the worker thread

    return open_session(name, **options)


class Opening:
    """A session to be opened: await it, or use it with `async with`."""

    def __init__(self, attempt: Callable[[], Session], pauses: Iterator[float]) -> None:
        self._attempt = attempt
        self._pauses = pauses
        self._session: Session | None = None

    def __await__(self) -> Generator[Any, None, Session]:
        return self._opened().__await__()

    async def __aenter__(self) -> Session:
        """The open session."""
        self._session = await self._opened()
        return self._session

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.aclose()

    async def _opened(self) -> Session:
        from asyncio import sleep  # noqa: PLC0415 - not needed by sync callers

        while True:
            try:
                return await in_worker(self._attempt)
            except SessionBusy:
                pause_s = next(self._pauses, None)
                if pause_s is None:
                    raise
            await sleep(pause_s)
