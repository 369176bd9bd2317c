"""The OpenAI Agents SDK: a session that keeps what is said, and a filter that keeps each model call inside the context window.

    memory = PlimsollSession("harbour")
    await Runner.run(agent, "hello", session=memory, run_config=RunConfig(call_model_input_filter=memory.filter))

The filter alone also works, for programs that keep the list of items themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Unpack

from plimsoll.errors import MissingExtra

try:
    from agents.items import TResponseInputItem
    from agents.memory import SessionABC, SessionSettings
    from agents.run_config import CallModelData, ModelInputData
except ImportError as error:
    raise MissingExtra("openai-agents", needed_for="plimsoll.adapters.openai_agents") from error

from plimsoll.adapters.calls import ConversationOptions, KeptList, Managed, Wire, session_name
from plimsoll.session.session import Session


class ItemDialect:
    """Items of the SDK are those of Responses."""

    def wires(self, message: Any) -> Sequence[Wire]:
        """The item itself."""
        return (message,)

    def built(self, wire: Wire, origin: Any) -> Any:  # noqa: ARG002 - an item has all of its metadata in it
        """The item as it is sent."""
        return wire


class PlimsollFilter(Managed[Any]):
    """A `call_model_input_filter` that sends each model call a view that fits, and keeps everything in a session.

    Conversations are recognised by their items, unless a name is given. It is not for runs whose history the server holds.
    """

    _dialect = ItemDialect()
    _format = "openai-responses"
    newest: list[Any] | None = None
    """The items of the newest call."""

    async def __call__(self, data: CallModelData[Any]) -> ModelInputData:
        """What to send for a call of the model. What is slow runs in a thread."""
        return await asyncio.to_thread(self._sent, data)

    def _sent(self, data: CallModelData[Any]) -> ModelInputData:
        given = data.model_data
        model = data.agent.model
        beside = {
            "model": model if isinstance(model, str) else getattr(model, "model", None),
            "instructions": given.instructions,
            "tools": [_described(tool) for tool in data.agent.tools if hasattr(tool, "params_json_schema")],
        }
        call = self._calls.prepare(given.input, name=self._name, beside=beside)
        call.released()
        self.newest = list(given.input)
        return ModelInputData(input=call.messages, instructions=given.instructions)


class PlimsollSession(SessionABC):
    """A session of the SDK that is one of plimsoll: `session`. Its `filter` sends each model call a view of it.

    It holds every item as the runner gave it, also between processes.
    """

    def __init__(self, session_id: str, **options: Unpack[ConversationOptions]) -> None:
        """Open a session, or create it.

        Args:
            session_id: Its name. One that a session of plimsoll cannot have is replaced by a name made from its hash.
            **options: As of PlimsollFilter.

        """
        self.session_id = session_id
        self.session_settings: SessionSettings | None = None
        self.filter = PlimsollFilter(name=session_name(session_id), **options)
        """For `RunConfig(call_model_input_filter=...)`."""
        self._kept = KeptList(self.filter.conversations, session_name(session_id), "openai-responses")
        self._items: list[Any] = []
        """What the runner has added so far, once it was read."""

    @property
    def session(self) -> Session:
        """The session of plimsoll. Raises StoreError, which is SessionBusy where another process has it open."""
        return self._kept.session

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The newest `limit` items, whole; None: all."""
        items = await asyncio.to_thread(self._read)
        return list(items if limit is None else items[max(0, len(items) - limit) :])

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items. Those that the filter has taken in already are there once."""
        await asyncio.to_thread(self._add, items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the newest item and return it. It stays in the log of the session."""
        items = await self.get_items()
        if not items:
            return None
        await asyncio.to_thread(self._hold, lambda held: held[:-1])
        return items[-1]

    async def clear_session(self) -> None:
        """Remove all items. They stay in the log of the session."""
        await asyncio.to_thread(self._hold, lambda _: [])

    def _read(self) -> list[Any]:
        with self._current():
            return self._items

    def _add(self, items: Sequence[Any]) -> None:
        with self._current() as session:
            held = [*self._items, *items]
            if self.filter.newest is None or self.filter.newest[: len(held)] != held:
                session.sync(held)
                self.filter.newest = held
            self._items = held

    def _hold(self, changed: Callable[[list[Any]], list[Any]]) -> None:
        with self._current() as session:
            held = changed(self._items)
            session.sync(held)
            self._items = self.filter.newest = held

    @contextmanager
    def _current(self) -> Iterator[Session]:
        """The session, of which the items are read anew where others may have changed them."""
        with self._kept.in_use() as (session, is_current):
            if not is_current:
                self._items, self.filter.newest = session.history(), None
            yield session


def _described(tool: Any) -> Wire:
    about = {"name": tool.name, "description": tool.description, "parameters": tool.params_json_schema}
    return {"type": "function", **about, "strict": bool(getattr(tool, "strict_json_schema", False))}
