"""`background=True`: the model's summary is ready before it is due, and no view waits for a model."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

import plimsoll
from plimsoll.errors import SettingError

PROSE = "The user asked to keep port 7411 open; the crane controller stands in bay 12."


def said(number):
    """One message of about 60 tokens."""
    text = f"Turn {number}: crane {number} moved pallet {number * 37} to bay {number % 9}. " * 3
    return {"role": ("user", "assistant")[number % 2], "content": text}


class Writer:
    """A model that writes when it is let."""

    def __init__(self, *, fails=False):
        self.may_write = threading.Event()
        self.asked = threading.Event()
        self.calls = 0
        self.fails = fails

    def __call__(self, request):
        """The summary."""
        assert request.tokens_max > 0
        self.calls += 1
        self.asked.set()
        assert self.may_write.wait(20)
        if self.fails:
            raise ConnectionError("down")
        return PROSE


def opened(writer, **options):
    """A session of 4,000 tokens."""
    given = {
        "store": "memory:",
        "max_tokens": 4_000,
        "summarizer": writer,
        "background": True,
        "policy": "fill",
        **options,
    }
    return plimsoll.open(**given)


def talk(session, start, until):
    """Append messages and ask for the view after each, until `until` says so; the number of the next one."""
    number = start
    while not until():
        session.append(said(number))
        view = session.view()
        assert plimsoll.count_tokens(view) <= 4_000
        assert plimsoll.validate(view) == []
        if session._ahead is not None and session._ahead._is_planning():
            session._summarizer.asked.wait(20)  # a busy machine may be slow to begin
        number += 1
        assert number < 500
    return number


def test_a_summary_is_ready_when_it_is_due():
    """The model is asked before the line, and its words are in the first compaction; what came since follows them."""
    writer = Writer()
    with opened(writer) as session:
        number = talk(session, 0, writer.asked.is_set)
        assert session.compactions() == []
        session.append(said(number))
        writer.may_write.set()
        session._ahead.join(20)
        talk(session, number + 1, session.compactions)
        (compaction,) = session.compactions()

        assert compaction.stage == "model"
        assert compaction.trigger == "auto"
        assert "port 7411" in compaction.summary
        view = session.view()
        shown = " ".join(str(message["content"]) for message in view)
        assert all(said(late)["content"] in shown for late in range(number, session.message_count))
        assert len(session.history()) == session.message_count


@pytest.mark.slow
def test_no_view_waits_for_the_model():
    """While it writes, rules compact; its plan is for a view that is gone, and is not used."""
    writer = Writer()
    with opened(writer) as session:
        number = talk(session, 0, lambda: len(session.compactions()) == 1)
        assert session.compactions()[0].stage == "rules"
        assert writer.calls == 1
        writer.may_write.set()
        session._ahead.join(20)
        talk(session, number, lambda: len(session.compactions()) == 2)

        assert len(session.history()) == session.message_count


@pytest.mark.slow
def test_a_model_that_fails_is_asked_once_for_a_view():
    """Rules write, and the next view is planned for anew."""
    writer = Writer(fails=True)
    writer.may_write.set()
    with opened(writer, policy={"summarizer_attempts": 1}) as session:
        talk(session, 0, lambda: len(session.compactions()) == 2)

        assert {compaction.stage for compaction in session.compactions()} == {"rules"}
        assert 1 <= writer.calls <= 3


@pytest.mark.slow
@pytest.mark.parametrize("change", ["rollback", "pin"])
def test_a_plan_for_another_view_is_dropped(change):
    """What changes the view makes the plan void, and nothing of it is recorded."""
    writer = Writer()
    writer.may_write.set()
    with opened(writer) as session:
        number = talk(session, 0, writer.asked.is_set)
        session._ahead.join(20)
        if change == "rollback":
            session.compact()
            session.rollback()
        else:
            session.pin("m5")
        count = len(session.compactions())
        talk(session, number, lambda: len(session.compactions()) > count)

        assert plimsoll.validate(session.view()) == []
        if change == "pin":
            assert said(5)["content"] in str(session.view())


@pytest.mark.slow
def test_in_an_event_loop():
    """An async model is a task of the loop, and closing the session ends it."""
    asked = []

    async def write(request):
        asked.append(request)
        await asyncio.sleep(0)
        return PROSE

    async def never(request):
        asked.append(request)
        await asyncio.sleep(3600)

    async def run(writer, compactions):
        async with plimsoll.aopen(
            store="memory:", max_tokens=4_000, summarizer=writer, background=True, policy="fill"
        ) as session:
            number = 0
            while len(session.compactions()) < compactions:
                await session.aappend(said(number))
                view = await session.aview()
                assert plimsoll.count_tokens(view) <= 4_000
                await asyncio.sleep(0.01)
                number += 1
            return session.compactions()[-1].stage

    assert asyncio.run(run(write, 1)) == "model"
    started = time.monotonic()
    assert asyncio.run(run(never, 1)) == "rules"
    assert time.monotonic() - started < 600
    assert asked


@pytest.mark.slow
def test_the_session_may_be_closed_while_the_model_writes():
    """Its answer comes too late and changes nothing."""
    writer = Writer()
    session = opened(writer)
    talk(session, 0, writer.asked.is_set)
    session.close()
    writer.may_write.set()
    session._ahead.join(20)

    assert session._ahead._prepared is None


@pytest.mark.slow
def test_without_background_a_view_asks_the_model():
    """The option changes who waits."""
    writer = Writer()
    writer.may_write.set()
    with opened(writer, background=False) as session:
        talk(session, 0, session.compactions)
        assert session.compactions()[0].stage == "model"
        assert session._ahead is None


@pytest.mark.parametrize("value", [1, "yes", None])
def test_the_option_is_checked(value):
    """True or False."""
    with pytest.raises(SettingError):
        plimsoll.open(store="memory:", background=value)
