"""Several hosts of one conversation in a process: the one that uses its session has it, and the others give it up."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import plimsoll
from plimsoll.conversations import conversation
from plimsoll.conversations.conversations import Conversations
from plimsoll.errors import SessionBusy

NAMES = ["harbour", None]


def body(turns: int) -> dict[str, Any]:
    """A list of so many questions, with the answers between them."""
    messages = [
        {"role": role, "content": f"{role} {number}"} for number in range(turns) for role in ("user", "assistant")
    ]
    return {"model": "gpt-4o", "messages": messages[:-1]}


@pytest.mark.parametrize("name", NAMES)
def test_a_host_for_each_request_has_one_session(name: str | None, tmp_path: Any) -> None:
    """Programs that make an adapter anew for each request, and close none, have one session all the same."""
    hosts = []
    for turns in range(1, 6):
        hosts.append(Conversations(str(tmp_path)))
        prepared = hosts[-1].prepare(body(turns), name=name)
        assert prepared.problem is None
        assert prepared.conversation is not None
        assert prepared.conversation.answered({"role": "assistant", "content": f"assistant {turns - 1}"}) is None

    [found] = plimsoll.sessions(str(tmp_path))
    assert found.name == name or name is None
    assert prepared.conversation.session.history() == body(6)["messages"][:-1]
    [first] = hosts[0]
    assert first.session.history() == body(6)["messages"][:-1]


def test_hosts_take_turns(tmp_path: Any) -> None:
    """Of many that ask at once each gets the session, and no message is in another one."""
    hosts = [Conversations(str(tmp_path)) for _ in range(4)]

    def ask(number: int) -> str | None:
        problems = {hosts[number].prepare(body(2), name="harbour").problem for _ in range(4)}
        return next(iter(problems - {None}), None)

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(ask, range(4))) == {None}
    assert [found.name for found in plimsoll.sessions(str(tmp_path))] == ["harbour"]


def test_a_session_that_is_not_given_up(tmp_path: Any, monkeypatch: Any) -> None:
    """Where the program has it open itself a request goes on with another one, which is said once; a memory of it is refused."""
    monkeypatch.setattr(conversation, "WAIT_S", 0.0)
    with plimsoll.open("harbour", store=str(tmp_path)) as mine:
        host = Conversations(str(tmp_path))
        prepared = host.prepare(body(1), name="harbour")
        assert prepared.conversation is not None
        assert "already open in this process" in str(prepared.problem)
        assert f"is kept as {prepared.conversation.name!r}" in str(prepared.problem)
        again = host.prepare(body(2), name="harbour")
        assert (again.problem, again.conversation) == (None, prepared.conversation)
        with pytest.raises(SessionBusy):
            Conversations(str(tmp_path)).find([], format="openai-chat", name="harbour").own_session()
        assert mine.history() == []


@pytest.mark.slow
def test_another_process_is_waited_for(tmp_path: Any) -> None:
    """A memory of which another process has the session open gets it when that process ends."""
    script = (
        "import plimsoll, sys\nsession = plimsoll.open('harbour', store=sys.argv[1])\nprint(1, flush=True)\ninput()"
    )
    words = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other, ThreadPoolExecutor(1) as pool:
        assert other.stdout is not None
        assert other.stdout.readline() == b"1\n"
        found = Conversations(str(tmp_path)).find([], format="openai-chat", name="harbour")
        waiting = pool.submit(found.own_session)
        other.communicate(b"\n")
        assert waiting.result(30).history() == []
